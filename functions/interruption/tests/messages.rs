//! Every kind of message, as AWS documents it.

#![expect(clippy::unwrap_used, reason = "what cannot be read ends the test")]

use controllers::interruption::{Notice, NoticeKind};
use domain::Timestamp;
use interruption::{Message, MessageError, MessageKind};

fn body(name: &str) -> String {
    let path = format!("{}/tests/messages/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn said() -> Timestamp {
    at("2026-01-05T09:30:00Z")
}

#[track_caller]
fn reads(name: &str, kind: MessageKind, notices: &[(&str, NoticeKind)]) {
    let message = Message::parse(&body(name)).unwrap();
    let notices: Vec<Notice> = notices
        .iter()
        .map(|(id, kind)| Notice { instance_id: (*id).into(), at: said(), kind: *kind })
        .collect();
    assert_eq!(message, Message { kind, at: said(), notices });
}

const INSTANCE: &str = "i-0b662ef9931388ba0";

#[test]
fn a_spot_interruption_warning() {
    let kind = NoticeKind::SpotInterruption;
    reads("spot-interruption", MessageKind::SpotInterrupted, &[(INSTANCE, kind)]);
}

#[test]
fn a_rebalance_recommendation() {
    let kind = NoticeKind::RebalanceRecommendation;
    reads("rebalance-recommendation", MessageKind::RebalanceRecommendation, &[(INSTANCE, kind)]);
}

#[test]
fn changes_of_state() {
    let stopped = [(INSTANCE, NoticeKind::Stopped)];
    reads("state-stopping", MessageKind::InstanceStopped, &stopped);
    reads("state-stopped", MessageKind::InstanceStopped, &stopped);
    let terminated = [(INSTANCE, NoticeKind::Terminated)];
    reads("state-shutting-down", MessageKind::InstanceTerminated, &terminated);
    reads("state-terminated", MessageKind::InstanceTerminated, &terminated);
    reads("state-running", MessageKind::Noop, &[]);
}

#[test]
fn a_capacity_reservation_that_is_taken_back() {
    let kind = NoticeKind::ReservationInterruption { ends: Some(at("2026-01-05T09:32:10Z")) };
    for name in
        ["capacity-reservation-interruption", "interruptible-capacity-reservation-interruption"]
    {
        reads(name, MessageKind::CapacityReservationInterrupted, &[(INSTANCE, kind)]);
    }
}

#[test]
fn a_capacity_block_that_ends_soon_names_no_instance() {
    reads("capacity-block-expiration", MessageKind::CapacityBlockExpiring, &[]);
}

#[test]
fn a_scheduled_change_of_health_names_instances_and_a_date() {
    let kind = NoticeKind::ScheduledChange { starts: Some(at("2026-01-19T16:00:00Z")) };
    let named = [(INSTANCE, kind), ("i-0123456789abcdef0", kind)];
    reads("health-scheduled-change", MessageKind::ScheduledChange, &named);
}

#[test]
fn what_of_health_is_over_or_is_no_change_of_ec2_needs_nothing_done() {
    for name in ["health-scheduled-change-closed", "health-issue", "health-of-another-service"] {
        reads(name, MessageKind::Noop, &[]);
    }
}

#[test]
fn what_is_not_known_needs_nothing_done() {
    reads("unknown-event", MessageKind::Noop, &[]);
}

#[test]
fn what_is_no_event_is_told_without_repeating_it() {
    let whole = body("spot-interruption");
    let account = "111122223333";
    let broken = [
        String::new(),
        "hello".to_owned(),
        format!("\"{account}\""),
        "[]".to_owned(),
        "{}".to_owned(),
        whole[..whole.len() / 2].to_owned(),
        whole.replace("2026-01-05T09:30:00Z", account),
        whole.replace("\"instance-id\"", "\"instance\""),
        whole.replace(INSTANCE, "../../etc"),
        whole.replace(INSTANCE, "i-"),
        whole.replace(&format!("\"{INSTANCE}\""), account),
        body("state-stopped").replace("\"state\"", "\"mood\""),
        body("health-scheduled-change").replace("\"service\"", "\"servant\""),
    ];
    for body in broken {
        let error = Message::parse(&body).unwrap_err();
        assert!(!error.to_string().contains(account), "{error}");
    }
}

#[test]
fn an_error_says_what_is_wrong_and_where() {
    let error = Message::parse("{\"source\": 7}").unwrap_err();
    assert_eq!(error, MessageError::NotAnEvent { kind: "data", line: 1, column: 12 });
    let dateless = body("spot-interruption").replace("2026-01-05T09:30:00Z", "yesterday");
    assert_eq!(Message::parse(&dateless), Err(MessageError::Time));
}

#[test]
fn a_date_that_cannot_be_read_is_none_and_loses_no_message() {
    let odd = body("health-scheduled-change").replace("Mon, 19 Jan 2026 16:00:00 GMT", "soon");
    let message = Message::parse(&odd).unwrap();
    assert_eq!(message.notices[0].kind, NoticeKind::ScheduledChange { starts: None });
}

#[test]
fn every_sample_is_read_by_some_test() {
    let folder = format!("{}/tests/messages", env!("CARGO_MANIFEST_DIR"));
    let source =
        std::fs::read_to_string(format!("{}/tests/messages.rs", env!("CARGO_MANIFEST_DIR")));
    let source = source.unwrap();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(source.contains(&format!("\"{name}\"")), "{name} is read by no test");
    }
}

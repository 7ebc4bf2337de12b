use std::sync::Arc;

use controllers::ports::cloud::{Instance, InstanceState};
use controllers::record::claim::{EndReason, Ending, PodsFingerprint};
use controllers::record::command::CommandPhase;
use controllers::record::launch::{LaunchAttempt, LaunchChoices, LaunchRequest};
use controllers::record::spot::SpotRecord;
use domain::instance_type::CapacityType;
use domain::label::Labels;
use domain::money::UsdPerHour;
use domain::node_claim::{
    Condition, ConditionStatus, ConditionType, InstanceNetwork, NodeClaim, NodeClaimStatus,
};
use domain::node_pool::{NeverOr, NodeClassRef};
use domain::plan::{LaunchOffering, Placement, PlannedDisruption, PlannedNodeClaim};
use domain::pod::PodKey;
use domain::reason::DisruptionReason;
use domain::requirement::{Operator, Requirement};
use domain::resource::Resources;
use domain::spot::{OfferingHistory, SpotHistory};
use domain::taint::{Taint, TaintEffect};
use domain::{SignedDuration, Text};
use proptest::prelude::*;
use serde_json::Value as Json;

use super::*;
use crate::store::attribute::key_of;
use crate::store::spot::OfCluster;

/// Numbers that decide how a record looks.
struct Draw(std::vec::IntoIter<u32>);

impl Draw {
    fn number(&mut self, below: usize) -> usize {
        self.0.next().unwrap_or(0) as usize % below
    }

    fn one_of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.number(values.len())].clone()
    }

    fn maybe<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.number(2) == 1).then(|| value(self))
    }

    fn some<T>(&mut self, mut value: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.number(4)).map(|_| value(self)).collect()
    }

    fn text(&mut self) -> Text {
        let words = ["", "a", "default", "m7i.large", "eu-west-1a", "häfen \"x\"", "a/b#c", "0"];
        format!("{}{}", self.one_of(&words), self.number(50)).into()
    }

    fn amount(&mut self) -> i64 {
        let factor = self.one_of(&[1, 1_000, 1 << 30, -1, 99_999_999]);
        i64::try_from(self.number(1_000)).unwrap() * factor
    }

    fn time(&mut self) -> Timestamp {
        let nanoseconds = self.one_of(&[0, 1, 123_456_789, 999_999_999]);
        let seconds = 1_700_000_000 + i64::try_from(self.number(1 << 30)).unwrap();
        Timestamp::new(seconds, nanoseconds).unwrap()
    }

    fn duration(&mut self) -> SignedDuration {
        SignedDuration::new(self.amount().abs(), self.one_of(&[0, 5, 999_999_999]))
    }

    fn labels(&mut self) -> Labels {
        self.some(|draw| (draw.text(), draw.text())).into_iter().collect()
    }

    fn resources(&mut self) -> Resources {
        self.some(|draw| (draw.text(), draw.amount())).into_iter().collect()
    }

    fn pod(&mut self) -> PodKey {
        PodKey::new(self.text(), self.text())
    }

    fn taint(&mut self) -> Taint {
        let effects =
            [TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule, TaintEffect::NoExecute];
        Taint { key: self.text(), value: self.text(), effect: self.one_of(&effects) }
    }

    fn requirement(&mut self) -> Requirement {
        Requirement {
            key: self.text(),
            operator: self.one_of(Operator::ALL),
            values: self.some(Self::text),
            min_values: self.maybe(|draw| u32::try_from(draw.number(9)).unwrap()),
        }
    }

    fn capacity(&mut self) -> CapacityType {
        self.one_of(&CapacityType::ALL)
    }

    fn price(&mut self) -> UsdPerHour {
        UsdPerHour::from_nanos(self.amount())
    }

    fn disruption_reason(&mut self) -> DisruptionReason {
        self.one_of(&[
            DisruptionReason::Empty,
            DisruptionReason::Underutilized,
            DisruptionReason::Drifted,
            DisruptionReason::Expired,
            DisruptionReason::Unhealthy,
            DisruptionReason::Interrupted,
            DisruptionReason::ScaledDown,
        ])
    }

    fn condition(&mut self) -> Condition {
        let statuses = [ConditionStatus::True, ConditionStatus::False, ConditionStatus::Unknown];
        Condition {
            kind: self.one_of(ConditionType::ALL),
            status: self.one_of(&statuses),
            reason: self.text(),
            message: self.text(),
            changed: self.maybe(Self::time),
        }
    }

    fn status(&mut self) -> NodeClaimStatus {
        NodeClaimStatus {
            node_name: self.maybe(Self::text),
            provider_id: self.maybe(Self::text),
            image_id: self.maybe(Self::text),
            capacity: self.resources(),
            allocatable: self.resources(),
            last_pod_event: self.maybe(Self::time),
            network: self.maybe(|draw| InstanceNetwork {
                subnet: draw.text(),
                security_groups: draw.some(Self::text),
            }),
            conditions: self.some(Self::condition),
        }
    }

    fn node_claim(&mut self) -> NodeClaim {
        NodeClaim {
            name: self.text(),
            uid: self.text(),
            created: self.maybe(Self::time),
            deleted: self.maybe(Self::time),
            labels: self.labels(),
            annotations: self.labels(),
            requirements: self.some(Self::requirement).into(),
            requests: self.resources(),
            taints: self.some(Self::taint),
            startup_taints: self.some(Self::taint),
            node_class_ref: NodeClassRef {
                group: self.text(),
                kind: self.text(),
                name: self.text(),
            },
            termination_grace_period: self.maybe(Self::duration),
            expire_after: self.maybe(Self::duration).map_or(NeverOr::Never, NeverOr::After),
            status: self.status(),
        }
    }

    fn offering(&mut self) -> LaunchOffering {
        LaunchOffering {
            price: self.price(),
            instance_type: self.text(),
            zone: self.text(),
            capacity_type: self.capacity(),
            reservation_id: self.maybe(Self::text),
        }
    }

    fn instance(&mut self) -> Instance {
        let states = [
            InstanceState::Pending,
            InstanceState::Running,
            InstanceState::Stopping,
            InstanceState::Stopped,
            InstanceState::ShuttingDown,
            InstanceState::Terminated,
        ];
        Instance {
            id: self.text(),
            provider_id: self.text(),
            instance_type: self.text(),
            zone: self.text(),
            capacity_type: self.capacity(),
            reservation_id: self.maybe(Self::text),
            price: self.maybe(Self::price),
            image_id: self.text(),
            launched: self.time(),
            state: self.one_of(&states),
            claim: self.maybe(Self::text),
            claim_uid: self.maybe(Self::text),
            installation: self.maybe(Self::text),
            node_pool: self.maybe(Self::text),
        }
    }

    fn end_reason(&mut self) -> EndReason {
        let disrupted = EndReason::Disrupted(self.disruption_reason());
        self.one_of(&[
            disrupted,
            EndReason::NodeClaimDeleted,
            EndReason::NodeDeleted,
            EndReason::LaunchTimeout,
            EndReason::RegistrationTimeout,
            EndReason::InstanceGone,
            EndReason::ReplacementNotNeeded,
        ])
    }

    fn attempt(&mut self) -> LaunchAttempt {
        LaunchAttempt {
            number: u32::try_from(self.number(5)).unwrap(),
            since: self.time(),
            choices: self.maybe(|draw| LaunchChoices {
                subnets: draw.labels().iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
                is_overlaid: draw.one_of(&[false, true]),
            }),
            is_over: self.one_of(&[false, true]),
        }
    }

    fn claim(&mut self) -> ClaimRecord {
        ClaimRecord {
            claim: self.node_claim(),
            launch: LaunchRequest {
                token: self.text(),
                claim: self.text(),
                node_pool: self.text(),
                node_class: self.text(),
                offerings: self.some(Self::offering),
                labels: self.labels(),
                taints: self.some(Self::taint),
                wants_efa: self.one_of(&[false, true]),
                attempt: self.attempt(),
            }
            .into(),
            launch_failures: u32::try_from(self.number(5)).unwrap(),
            launch_not_before: self.maybe(Self::time),
            instance: self.maybe(Self::instance),
            pods: self.some(Self::pod),
            replaces: self.maybe(Self::text),
            pods_fingerprint: self.maybe(|draw| PodsFingerprint(draw.text())),
            ending: self.maybe(|draw| Ending {
                since: draw.time(),
                reason: draw.end_reason(),
                deadline: draw.maybe(Self::time),
            }),
        }
    }

    fn planned(&mut self) -> PlannedNodeClaim {
        PlannedNodeClaim {
            name: self.text(),
            node_pool: self.text(),
            node_class: self.text(),
            instance_types: self.some(Self::text),
            requirements: self.some(Self::requirement),
            offering: self.offering(),
            offerings: vec![self.offering(), self.offering()],
            labels: self.labels(),
            taints: self.some(Self::taint),
            startup_taints: self.some(Self::taint),
            requests: self.resources(),
            pods: self.some(Self::pod),
        }
    }

    fn command(&mut self) -> CommandRecord {
        let pods = self.some(Self::pod);
        let moved = pods.clone();
        let since = self.time();
        CommandRecord {
            id: self.text(),
            disruption: PlannedDisruption {
                reason: self.disruption_reason(),
                nodes: self.some(Self::text),
                replacements: self.some(Self::planned),
                moves: self.some(|draw| Placement {
                    pod: draw
                        .one_of(&moved.iter().cloned().chain([draw_pod()]).collect::<Vec<_>>()),
                    node: draw.text(),
                }),
                pods,
                savings: self.price(),
            },
            candidates: self.some(Self::text),
            proposed: self.time(),
            phase: self.one_of(&[
                CommandPhase::Proposed,
                CommandPhase::Starting { since },
                CommandPhase::Waiting { since },
                CommandPhase::Ending { since },
            ]),
        }
    }
}

/// A pod that no command lists.
fn draw_pod() -> PodKey {
    PodKey::new("elsewhere", "pod")
}

/// What a reader gets of what a writer wrote.
fn stored<R: Stored>(record_in: &R) -> Versioned<R> {
    let item = item("prod", record_in, Version(7), "w").unwrap();
    assert_eq!(key_of(&item), record_in.key());
    assert!(record_in.key().starts_with(R::PREFIX));
    record(&item).unwrap()
}

proptest! {
    #[test]
    fn a_claim_is_read_as_it_was_written(numbers in prop::collection::vec(any::<u32>(), 0..300)) {
        let claim = Draw(numbers.into_iter()).claim();
        prop_assert_eq!(stored(&claim), Versioned { record: claim, version: Version(7) });
    }

    #[test]
    fn a_command_is_read_as_it_was_written(numbers in prop::collection::vec(any::<u32>(), 0..300)) {
        let command = Draw(numbers.into_iter()).command();
        prop_assert_eq!(stored(&command).record, command);
    }

    #[test]
    fn small_records_are_read_as_they_were_written(
        numbers in prop::collection::vec(any::<u32>(), 0..60),
    ) {
        let mut draw = Draw(numbers.into_iter());
        let nomination =
            Nomination { node: draw.text(), pods: draw.some(Draw::pod), until: draw.time() };
        prop_assert_eq!(stored(&nomination).record, nomination);
        let offering = UnavailableOffering {
            instance_type: draw.text(),
            zone: draw.text(),
            capacity_type: draw.capacity(),
            code: draw.text(),
            until: draw.time(),
        };
        prop_assert_eq!(stored(&offering).record, offering);
        let pool = PoolRecord {
            node_pool: draw.text(),
            uid: draw.text(),
            generation: draw.amount(),
            node_class_generation: draw.amount(),
            registrations: draw.some(|draw| draw.number(2) == 1),
        };
        prop_assert_eq!(stored(&pool).record, pool);
    }
}

/// A claim to which nothing is attached.
fn plain_claim() -> ClaimRecord {
    Draw(Vec::new().into_iter()).claim()
}

/// Words without any pattern that compression could find: from a generator with a fixed start.
fn noise(length: usize, state: &mut u64) -> Text {
    let letters = b"abcdefghijklmnopqrstuvwxyz0123456789-.";
    (0..length)
        .map(|_| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let index = usize::try_from(*state >> 33).unwrap() % letters.len();
            char::from(letters[index])
        })
        .collect::<String>()
        .into()
}

#[test]
fn the_largest_claim_fits_into_an_item() {
    let mut state = 42;
    let mut claim = plain_claim();
    let types: Vec<Text> = (0..1_500).map(|_| noise(16, &mut state)).collect();
    claim.claim.requirements =
        vec![Requirement::is_in("node.kubernetes.io/instance-type", types.clone())].into();
    Arc::make_mut(&mut claim.launch).offerings = types
        .iter()
        .flat_map(|name| (0..6).map(move |zone| (name.clone(), zone)))
        .map(|(instance_type, zone)| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            LaunchOffering {
                price: UsdPerHour::from_nanos(i64::try_from(state >> 31).unwrap()),
                instance_type,
                zone: format!("ap-southeast-{zone}").into(),
                capacity_type: CapacityType::Spot,
                reservation_id: None,
            }
        })
        .collect();
    // As many pods as a node can have, their names as long as Kubernetes allows.
    claim.pods =
        (0..1_000).map(|_| PodKey::new(noise(63, &mut state), noise(253, &mut state))).collect();
    let item = item("prod", &claim, Version(1), "w").unwrap();
    assert!(bytes(&item) > 200_000, "the case is a hard one: {}", bytes(&item));
    assert_eq!(record::<ClaimRecord>(&item).unwrap().record, claim);
}

#[test]
fn a_command_that_moves_twenty_thousand_pods_fits_into_an_item() {
    let mut state = 7;
    let mut command = Draw(Vec::new().into_iter()).command();
    command.disruption.nodes =
        (0..200).map(|node| format!("ip-10-0-{node}-7.ec2.internal").into()).collect();
    command.disruption.pods = (0..20_000)
        .map(|pod| {
            let set = format!("service-{}-{}", pod / 20, noise(9, &mut state));
            PodKey::new(format!("team-{}", pod / 500), format!("{set}-{}", noise(5, &mut state)))
        })
        .collect();
    command.disruption.moves = command
        .disruption
        .pods
        .iter()
        .enumerate()
        .map(|(index, pod)| Placement {
            pod: pod.clone(),
            node: format!("ip-10-1-{}-7.ec2.internal", index % 250).into(),
        })
        .collect();
    let item = item("prod", &command, Version(1), "w").unwrap();
    assert_eq!(record::<CommandRecord>(&item).unwrap().record, command);
}

#[test]
fn what_no_item_can_hold_is_refused_before_it_is_sent() {
    let mut state = 1;
    let mut claim = plain_claim();
    claim.pods = (0..3_000).map(|_| PodKey::new("a", noise(253, &mut state))).collect();
    let refused = item("prod", &claim, Version(1), "w").unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Invalid);
    assert!(refused.to_string().contains("409600 in an item"), "{refused}");
}

#[test]
fn a_record_of_a_later_version_says_so() {
    let mut item = item("prod", &plain_claim(), Version(1), "w").unwrap();
    item.insert(FORMAT.to_owned(), number(OUR_FORMAT + 1));
    let error = record::<ClaimRecord>(&item).unwrap_err();
    assert!(error.to_string().contains("format 2"), "{error}");
}

#[test]
fn a_body_that_is_damaged_is_an_error_and_no_panic() {
    let whole = item("prod", &plain_claim(), Version(1), "w").unwrap();
    let body = whole[BODY].as_b().unwrap().as_ref().to_vec();
    for damaged in [vec![], vec![0; 40], body[..body.len() / 2].to_vec()] {
        let mut item = whole.clone();
        item.insert(BODY.to_owned(), AttributeValue::B(Blob::new(damaged)));
        assert!(matches!(record::<ClaimRecord>(&item), Err(DocumentError::Body(_))));
    }
    let mut item = whole;
    item.remove(BODY);
    assert_eq!(record::<ClaimRecord>(&item).unwrap_err(), DocumentError::Attribute(BODY));
}

#[test]
fn only_what_ends_by_itself_has_a_time_to_live() {
    let claim = item("prod", &plain_claim(), Version(1), "w").unwrap();
    assert!(!claim.contains_key(EXPIRES));
    let until: Timestamp = "2026-01-01T00:00:00.5Z".parse().unwrap();
    let nomination = Nomination { node: "n".into(), pods: Vec::new(), until };
    let item = item("prod", &nomination, Version(1), "w").unwrap();
    let expires: i64 = integer(&item, EXPIRES).unwrap();
    assert!(expires > until.as_second(), "never before its end");
}

/// A claim and a command in which every field has a value, as the version before this one stored
/// them.
const EARLIER: &str = include_str!("earlier.json");

/// What keeps the version before from reading a document: it passes over fields that it does not
/// know, and wants those that it knows to be there and to mean what they meant.
fn changes(before: &Json, now: &Json, path: &str) -> Vec<String> {
    match (before, now) {
        (Json::Object(before), Json::Object(now)) => before
            .iter()
            .flat_map(|(key, value)| {
                let path = format!("{path}.{key}");
                match now.get(key) {
                    Some(now) => changes(value, now, &path),
                    None => vec![format!("{path} is gone")],
                }
            })
            .collect(),
        (Json::Array(before), Json::Array(now)) if before.len() == now.len() => {
            let pairs = before.iter().zip(now).enumerate();
            pairs.flat_map(|(at, (a, b))| changes(a, b, &format!("{path}[{at}]"))).collect()
        }
        _ if before == now => Vec::new(),
        _ => vec![format!("{path} was {before} and is {now}")],
    }
}

#[test]
fn the_version_before_reads_what_this_one_writes_and_the_other_way_round() {
    let full = || Draw(vec![1; 1_000].into_iter());
    let (claim, command) = (full().claim(), full().command());
    let now = serde_json::json!({ "claim": claim.document(), "command": command.document() });
    let earlier: Json = serde_json::from_str(EARLIER).unwrap();
    assert_eq!(changes(&earlier, &now, "$"), Vec::<String>::new());

    let read = serde_json::from_value(earlier["claim"].clone()).unwrap();
    let mut read = ClaimRecord::from_document(read).unwrap();
    assert_eq!(read.instance.as_ref().unwrap().installation, None, "it is newer");
    read.instance.as_mut().unwrap().installation = claim.instance.clone().unwrap().installation;
    assert_eq!(read, claim);
    let read = serde_json::from_value(earlier["command"].clone()).unwrap();
    assert_eq!(CommandRecord::from_document(read).unwrap(), command);
}

#[test]
fn what_is_remembered_of_a_region_stays_below_the_size_of_an_item() {
    let own = |n: u32| OfferingHistory {
        launches: f64::from(n % 97) * 1.37,
        node_hours: f64::from(n % 1009) * 7.919,
        interruptions: f64::from(n % 13) * 0.731,
        rebalances: f64::from(n % 7) * 0.533,
        capacity_errors: f64::from(n % 5) * 0.317,
        last_interruption: Timestamp::from_second(1_767_000_000 + i64::from(n) * 977).ok(),
    };
    let names = (0..1_300).flat_map(|name| (0..6).map(move |zone| (name, zone)));
    let offerings = names.map(|(name, zone)| {
        let of = format!("x{}gdn-{}.{}xlarge", name % 40, name / 40, name % 48);
        (Text::from(of), Text::from(format!("us-east-1{zone}")), own(name * 6 + zone))
    });
    let history = SpotHistory::new(Timestamp::UNIX_EPOCH, offerings);
    assert_eq!(history.iter().count(), 7_800);
    let seen =
        (0..1_024_u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15), Timestamp::UNIX_EPOCH));
    let record = SpotRecord { history, counted_until: None, seen: seen.collect() };
    let own = OfCluster { cluster: "a".into(), record };
    let item = item("region/spot", &own, Version(1), "w").unwrap();
    assert!(bytes(&item) < ITEM_BYTES_MAX, "{} bytes", bytes(&item));
    let back = super::record::<OfCluster>(&item).unwrap().record;
    assert_eq!(back.record.history.iter().count(), 7_800);
}

use super::*;
use crate::ports::Version;
use crate::testing::{at, record};

fn announcement(name: &str, made: i64) -> Announcement {
    Announcement::new(name.into(), at(made))
}

fn announced(latest: &str, open: &[Announcement]) -> Announced {
    Announced { latest: Some(latest.into()), open: open.to_vec(), ..Announced::default() }
}

fn claims() -> Vec<Versioned<ClaimRecord>> {
    vec![Versioned { record: record("a"), version: Version(1) }]
}

#[test]
fn claims_are_kept_for_as_long_as_nobody_announces_a_write() {
    let cache = ClaimCache::default();
    let nothing = Announced::default();
    assert_eq!(cache.get(&nothing, at(0)), None, "it is right when empty");
    cache.put(&nothing, at(0), &claims());
    assert_eq!(cache.get(&nothing, at(60)), Some(claims()));
    assert_eq!(cache.get(&announced("w1", &[]), at(61)), None);
    assert_eq!(cache.get(&nothing, at(62)), None, "what is no longer there is forgotten");
}

#[test]
fn nothing_is_kept_while_a_writer_may_be_writing() {
    let cache = ClaimCache::default();
    let open = announced("w1", &[announcement("w1", 0)]);
    cache.put(&open, at(1), &claims());
    assert_eq!(cache.get(&open, at(2)), None);
    // Withdrawn: all of its writes were answered before this was read.
    let closed = announced("w1", &[]);
    assert_eq!(cache.get(&closed, at(3)), None, "what was read meanwhile may lack some of them");
    cache.put(&closed, at(3), &claims());
    assert_eq!(cache.get(&closed, at(4)), Some(claims()));
}

#[test]
fn what_a_dead_writer_left_open_counts_until_no_process_of_its_time_is_alive() {
    let cache = ClaimCache::default();
    let left = announced("w1", &[announcement("w1", 0)]);
    cache.put(&left, at(20 * 60 - 1), &claims());
    assert_eq!(cache.get(&left, at(20 * 60)), None);
    cache.put(&left, at(20 * 60), &claims());
    assert_eq!(cache.get(&left, at(20 * 60 + 1)), Some(claims()));
}

#[test]
fn what_was_read_is_read_anew_after_twenty_minutes_whatever_is_announced() {
    let cache = ClaimCache::default();
    let same = announced("w1", &[]);
    cache.put(&same, at(0), &claims());
    assert!(cache.get(&same, at(20 * 60 - 1)).is_some());
    assert_eq!(cache.get(&same, at(20 * 60)), None);
    cache.put(&same, at(100), &claims());
    assert_eq!(cache.get(&same, at(99)), None, "nor is a clock that went back believed");
}

#[test]
fn a_run_that_announces_nothing_is_noticed_by_its_lease() {
    let cache = ClaimCache::default();
    let with = |runs: u64, silent_until: Option<i64>| Announced {
        silent_runs: BTreeMap::from([("provisioning".into(), runs)]),
        silent_until: silent_until.map(at),
        ..announced("w1", &[])
    };
    cache.put(&with(3, None), at(0), &claims());
    assert!(cache.get(&with(3, None), at(1)).is_some());
    assert_eq!(cache.get(&with(4, Some(60)), at(2)), None, "one has begun");
    cache.put(&with(4, Some(60)), at(2), &claims());
    assert_eq!(cache.get(&with(4, Some(60)), at(3)), None, "it may be writing");
    cache.put(&with(4, Some(60)), at(60), &claims());
    assert!(cache.get(&with(4, Some(60)), at(61)).is_some(), "it is dead");
}

#[test]
fn writes_at_one_time_share_an_announcement_and_the_last_withdraws_it() {
    let mut writes = ClaimWrites::default();
    assert_eq!(writes.join(at(0)), None);
    let own = announcement("w1", 0);
    writes.begin(own.clone());
    assert_eq!(writes.join(at(1)), Some(own.clone()));
    assert!(!writes.end(&own, true));
    assert!(writes.end(&own, true));
    assert_eq!(writes.join(at(2)), None, "the next is announced anew");
}

#[test]
fn a_write_without_an_answer_leaves_its_announcement_open() {
    let mut writes = ClaimWrites::default();
    let own = announcement("w1", 0);
    writes.begin(own.clone());
    assert_eq!(writes.join(at(1)), Some(own.clone()));
    assert!(!writes.end(&own, false));
    assert_eq!(writes.join(at(2)), None, "what begins now is announced anew");
    let next = announcement("w2", 2);
    writes.begin(next.clone());
    assert!(!writes.end(&own, true), "the first stays open, although another write was answered");
    assert!(writes.end(&next, true));
}

#[test]
fn no_write_begins_under_an_announcement_that_may_no_longer_count_when_it_ends() {
    let mut writes = ClaimWrites::default();
    let own = announcement("w1", 0);
    writes.begin(own.clone());
    assert_eq!(writes.join(at(5 * 60 - 1)), Some(own));
    assert_eq!(writes.join(at(5 * 60)), None);
}

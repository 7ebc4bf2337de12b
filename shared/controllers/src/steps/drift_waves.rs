//! Drift that halts: which nodes of a NodePool did not come up, and whether drift goes on.
//!
//! What is recorded stands in annotations of the NodePool, so that plans see it and users can take
//! it back.

use domain::drift_target::{drift_target, is_made_from, is_soaked};
use domain::drift_waves::{
    DriftFailure, DriftFailures, DriftHalt, DriftWaves, INITIALIZATION_TIMEOUT,
};
use domain::label::{DRIFT_FAILURES, DRIFT_HALTED, Labels};
use domain::node::Node;
use domain::node_claim::{ConditionType, NodeClaim};
use domain::node_class::Ec2NodeClass;
use domain::node_pool::NodePool;
use domain::{Text, Timestamp};

use super::condition::since;
use crate::record::claim::{ClaimRecord, EndReason};

/// A node of a NodePool, be it on its way out.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The claim.
    pub record: &'a ClaimRecord,
    /// Its Node, once it has joined.
    pub node: Option<&'a Node>,
}

/// What is known of drift of a NodePool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriftState {
    /// Nodes that did not come up.
    pub failures: DriftFailures,
    /// Why drift is halted.
    pub halted: Option<DriftHalt>,
    /// Whether it is halted from now on.
    pub is_new: bool,
}

impl DriftState {
    /// Annotations of the NodePool that say so, where they do not yet. One that says nothing is
    /// emptied, not removed, and not written where it is not there.
    pub fn annotations(&self, pool: &NodePool) -> Labels {
        let failures = match self.failures.claims.as_slice() {
            [] => String::new(),
            _ => self.failures.to_string(),
        };
        let halted = self.halted.as_ref().map(ToString::to_string).unwrap_or_default();
        let texts = [(DRIFT_FAILURES, failures), (DRIFT_HALTED, halted)];
        let is_news = |(key, text): &(&str, String)| {
            **text != *pool.annotations.get(*key).map_or("", |own| &**own)
        };
        let news = texts.into_iter().filter(is_news);
        news.map(|(key, text)| (key.into(), text.into())).collect()
    }
}

/// How a node did not come up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Failed {
    #[error("it did not join")]
    Absent,
    #[error("it joined and did not get ready")]
    Unready,
    #[error("it did not stay ready")]
    Unsteady,
}

/// What is known of drift of a NodePool now; `None` where it neither drifts in waves nor halts.
///
/// Failures count in a row, by when claims were made: one is forgotten once a claim that was made
/// later has been ready for the soak.
pub fn drift_state(
    pool: &NodePool,
    class: Option<&Ec2NodeClass>,
    attempts: &[Attempt<'_>],
    now: Timestamp,
) -> Option<DriftState> {
    let waves = pool.options.drift_waves.as_ref()?;
    let target = drift_target(pool, class);
    let halted = waves.recorded_halt(&target).cloned();
    let of_target = |own: &&Attempt| is_made_from(&own.record.claim, pool, class);
    let attempts: Vec<&Attempt> = attempts.iter().filter(of_target).collect();
    let soaked = attempts.iter().filter(|own| {
        own.record.ending.is_none() && is_soaked(&own.record.claim, own.node, waves.soak, now)
    });
    let success = soaked.filter_map(|own| own.record.claim.created).max();
    let mut failures = if waves.failures.target == target {
        waves.failures.clone()
    } else {
        DriftFailures { target: target.clone(), claims: Vec::new() }
    };
    let exists = |claim: &str| attempts.iter().any(|own| **own.record.name() == *claim);
    failures.claims.retain(|own| {
        if own.is_settled {
            exists(&own.claim)
        } else {
            success.is_none_or(|success| own.created >= success)
        }
    });
    let mut last: Option<(Timestamp, &Text, Failed)> = None;
    for Attempt { record, node } in &attempts {
        let claim = &record.claim;
        let created = claim.created.unwrap_or(now);
        if failures.contains(&claim.name) || success.is_some_and(|success| created < success) {
            continue;
        }
        if let Some(how) = failed(record, *node, waves, now) {
            let name = &claim.name;
            let failure = DriftFailure { claim: name.clone(), created, is_settled: false };
            failures.claims.push(failure);
            if last.is_none_or(|(time, ..)| time <= created) {
                last = Some((created, name, how));
            }
        }
    }
    failures.claims.sort_by(|a, b| (a.created, &a.claim).cmp(&(b.created, &b.claim)));
    let count = failures.unsettled().count();
    let is_too_many =
        waves.halt_after.is_some_and(|most| usize::try_from(most).is_ok_and(|most| count >= most));
    if halted.is_some() || !is_too_many {
        return Some(DriftState { failures, halted, is_new: false });
    }
    let last = last.map(|(_, name, how)| {
        let image = attempts.iter().find(|own| own.record.name() == name);
        let image = image.and_then(|own| own.record.claim.status.image_id.clone());
        let image = image.map(|image| format!(" of image {image}")).unwrap_or_default();
        format!(", the last of them {name}{image}: {how}")
    });
    let last = last.unwrap_or_default();
    let cause = match count {
        1 => format!("a node did not come up{last}"),
        _ => format!("{count} nodes in a row did not come up{last}"),
    };
    failures.claims.iter_mut().for_each(|own| own.is_settled = true);
    failures.claims.retain(|own| exists(&own.claim));
    let halted = Some(DriftHalt { target: Some(target), cause: cause.into() });
    Some(DriftState { failures, halted, is_new: true })
}

/// Whether a node did not come up, or went away from Ready within the soak. One that ends for
/// another reason, such as an interruption or a lack of capacity, has not failed.
fn failed(
    record: &ClaimRecord,
    node: Option<&Node>,
    waves: &DriftWaves,
    now: Timestamp,
) -> Option<Failed> {
    if let Some(ending) = &record.ending {
        return (ending.reason == EndReason::RegistrationTimeout).then_some(Failed::Absent);
    }
    let claim = &record.claim;
    if claim.is(ConditionType::Initialized) {
        return is_unready_within_soak(claim, node?, waves).then_some(Failed::Unsteady);
    }
    let registered = claim.is(ConditionType::Registered);
    let waited = since(claim, ConditionType::Registered, now).filter(|_| registered)?;
    (waited >= INITIALIZATION_TIMEOUT).then_some(Failed::Unready)
}

fn is_unready_within_soak(claim: &NodeClaim, node: &Node, waves: &DriftWaves) -> bool {
    let ready = node.condition("Ready").filter(|_| node.is_not_ready());
    let initialized = claim.condition(ConditionType::Initialized).and_then(|own| own.changed);
    ready
        .and_then(|own| own.changed)
        .zip(initialized)
        .is_some_and(|(unready, initialized)| unready.duration_since(initialized) < waves.soak)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, initialized_record, launched_record, node_class, node_of, node_pool};
    use domain::node_claim::ConditionStatus;

    fn pool(waves: DriftWaves) -> NodePool {
        let mut pool = node_pool("default");
        pool.options.drift_waves = Some(waves);
        pool
    }

    fn halting() -> DriftWaves {
        DriftWaves { halt_after: Some(2), ..DriftWaves::default() }
    }

    fn class() -> Ec2NodeClass {
        let mut class = node_class("default");
        class.status.amis = vec![testkit::ami("ami-new")];
        class
    }

    /// A claim of the new image that was made at a second.
    fn of_image(mut record: ClaimRecord, created: i64) -> ClaimRecord {
        record.claim.status.image_id = Some("ami-new".into());
        record.claim.created = Some(at(created));
        record
    }

    fn not_joined(name: &str, created: i64) -> ClaimRecord {
        let record = of_image(launched_record(name, at(created)), created);
        record.ended(at(created + 900), EndReason::RegistrationTimeout, None)
    }

    fn state(pool: &NodePool, records: &[ClaimRecord], now: i64) -> DriftState {
        let nodes: Vec<Node> = records.iter().map(node_of).collect();
        let attempts: Vec<Attempt<'_>> = records
            .iter()
            .zip(&nodes)
            .map(|(record, node)| {
                let node = record.claim.is(ConditionType::Registered).then_some(node);
                Attempt { record, node }
            })
            .collect();
        drift_state(pool, Some(&class()), &attempts, at(now)).unwrap()
    }

    /// The pool once a state is written on it and read again.
    fn with(mut pool: NodePool, state: &DriftState) -> NodePool {
        let waves = pool.options.drift_waves.as_mut().unwrap();
        waves.failures.clone_from(&state.failures);
        waves.halted.clone_from(&state.halted);
        pool.annotations.extend(state.annotations(&pool));
        pool
    }

    #[test]
    fn drift_halts_after_nodes_in_a_row_that_do_not_join() {
        let records = [not_joined("a", 0)];
        let once = state(&pool(halting()), &records, 900);
        assert_eq!((once.failures.claims.len(), &once.halted), (1, &None));
        let pool = with(pool(halting()), &once);
        // The first is gone by now, and remembered.
        let twice = state(&pool, &[not_joined("b", 1000)], 1900);
        assert!(twice.is_new);
        assert_eq!(
            &*twice.halted.as_ref().unwrap().cause,
            "2 nodes in a row did not come up, the last of them b of image ami-new: it did not join"
        );
        let pool = with(pool, &twice);
        let again = state(&pool, &[not_joined("b", 1000)], 1960);
        assert!(!again.is_new && again.halted == twice.halted);
        assert!(again.annotations(&pool).is_empty());
    }

    #[test]
    fn whoever_removes_the_annotation_lets_drift_go_on_until_nodes_fail_again() {
        let failed = [not_joined("a", 0), not_joined("b", 10)];
        let halted = state(&pool(halting()), &failed, 1000);
        let mut pool = with(pool(halting()), &halted);
        pool.options.drift_waves.as_mut().unwrap().halted = None;
        assert_eq!(state(&pool, &failed, 1010).halted, None);
        let one_more = [failed.to_vec(), vec![not_joined("c", 1100)]].concat();
        assert_eq!(state(&pool, &one_more, 2000).halted, None);
        let two_more = [one_more, vec![not_joined("d", 1200)]].concat();
        assert!(state(&pool, &two_more, 2100).is_new);
    }

    #[test]
    fn a_node_that_stays_ready_ends_the_row() {
        let good = of_image(initialized_record("good", at(100)), 100);
        let failed = not_joined("a", 0);
        let soaked = state(&pool(halting()), &[failed.clone(), good.clone()], 1000);
        assert!(soaked.failures.claims.is_empty());
        let later = [good, not_joined("b", 200)];
        assert_eq!(state(&pool(halting()), &later, 1200).failures.claims.len(), 1);
        let not_yet = of_image(initialized_record("good", at(900)), 100);
        assert_eq!(state(&pool(halting()), &[failed, not_yet], 1000).failures.claims.len(), 1);
    }

    #[test]
    fn a_node_that_is_not_ready_has_failed_only_within_the_soak() {
        let fails = |record: &ClaimRecord, unready: Option<i64>, now: i64| {
            let mut node = node_of(record);
            if let Some(since) = unready {
                node.conditions[0].status = ConditionStatus::False;
                node.conditions[0].changed = Some(at(since));
            }
            failed(record, Some(&node), &halting(), at(now))
        };
        let ready = of_image(initialized_record("a", at(100)), 0);
        assert_eq!(fails(&ready, None, 200), None);
        assert_eq!(fails(&ready, Some(300), 310), Some(Failed::Unsteady));
        assert_eq!(fails(&ready, Some(800), 810), None);
        let mut joined = ready;
        crate::steps::condition::clear(&mut joined.claim, ConditionType::Initialized);
        assert_eq!(fails(&joined, Some(100), 699), None);
        assert_eq!(fails(&joined, Some(100), 700), Some(Failed::Unready));
        let interrupted = joined.ended(at(700), EndReason::InstanceGone, None);
        assert_eq!(fails(&interrupted, Some(100), 800), None);
    }

    #[test]
    fn a_new_image_starts_anew() {
        let failed = [not_joined("a", 0), not_joined("b", 10)];
        let pool = with(pool(halting()), &state(&pool(halting()), &failed, 1000));
        let mut next = class();
        next.status.amis = vec![testkit::ami("ami-next")];
        let attempts = failed.each_ref().map(|record| Attempt { record, node: None });
        let state = drift_state(&pool, Some(&next), &attempts, at(1100)).unwrap();
        assert_eq!((state.halted.as_ref(), state.failures.claims.len()), (None, 0));
        let texts: Vec<_> = state.annotations(&pool).values().cloned().collect();
        assert_eq!(texts, ["".into(), "".into()] as [Text; 2]);
    }
}

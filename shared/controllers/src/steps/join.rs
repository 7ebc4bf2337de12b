//! Taking a claim from an instance to an initialized node: Launched → Registered → Initialized,
//! with time limits.
//!
//! Source: <https://karpenter.sh/docs/concepts/nodeclaims/>.

use domain::label;
use domain::node::Node;
use domain::node_claim::{ConditionStatus, ConditionType, NodeClaim};
use domain::taint::{Taint, TaintEffect, UNREGISTERED};
use domain::{SignedDuration, Text, Timestamp};

use super::condition::{ConditionState, set_condition, set_true, since, update_ready};
use crate::ports::cluster::{FinalizerChange, NodeClaimObject, NodePatch, ObjectRef};
use crate::record::claim::{ClaimRecord, EndReason};

/// How long a claim may lack an instance.
pub const LAUNCH_TIMEOUT: SignedDuration = SignedDuration::from_mins(5);
/// How long an instance may take to register as a Node.
pub const REGISTRATION_TIMEOUT: SignedDuration = SignedDuration::from_mins(15);

/// Why a claim that is not launched or registered in time must end; `None` while there is time.
pub fn overdue(record: &ClaimRecord, now: Timestamp) -> Option<EndReason> {
    let claim = &record.claim;
    let is_late = |kind: ConditionType, limit: SignedDuration| {
        !claim.is(kind) && since(claim, kind, now).is_some_and(|waited| waited >= limit)
    };
    if record.instance.is_none() {
        return is_late(ConditionType::Launched, LAUNCH_TIMEOUT)
            .then_some(EndReason::LaunchTimeout);
    }
    is_late(ConditionType::Registered, REGISTRATION_TIMEOUT)
        .then_some(EndReason::RegistrationTimeout)
}

/// How long a Node that is not ready keeps taint `karpenter.sh/unregistered`: a network plugin that
/// does not tolerate it makes no node ready.
const REGISTERED_UNREADY_AFTER: SignedDuration = SignedDuration::from_secs(20);

/// Whether a Node that joined may be registered: it is ready, or has been there for a while.
///
/// While it bears the taint no pod can be scheduled to it, and its pods lose their nomination each
/// time kube-scheduler tries them. Karpenter removes the taint at once.
pub fn takes_pods_soon(node: &Node, now: Timestamp) -> bool {
    let is_ready = node.condition("Ready").is_some_and(|own| own.status == ConditionStatus::True);
    let is_tainted = node.taints.iter().any(|taint| &*taint.key == UNREGISTERED);
    let age = node.created.map(|created| now.duration_since(created));
    is_ready || !is_tainted || age.is_none_or(|age| age >= REGISTERED_UNREADY_AFTER)
}

/// The registration of a Node: what to write on it, and the claim afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The change of the Node.
    pub patch: NodePatch,
    /// The claim afterwards.
    pub record: ClaimRecord,
    /// The Node joined without taint `karpenter.sh/unregistered`.
    pub taint_was_missing: bool,
}

/// Registers a Node: adds the claim's labels, annotations and taints, the finalizer, the NodeClaim
/// as owner and label `karpenter.sh/registered`; removes taint `karpenter.sh/unregistered`.
///
/// Taints are left alone on a Node with `karpenter.sh/do-not-sync-taints`: its kubelet has set
/// them, and startup taints that were removed since must not come back.
pub fn register(
    mut record: ClaimRecord,
    node: &Node,
    object: Option<&NodeClaimObject>,
    now: Timestamp,
) -> Registration {
    let claim = &mut record.claim;
    let mut labels = claim.labels.clone();
    labels.insert(label::REGISTERED.into(), "true".into());
    let syncs_taints =
        node.labels.get(label::DO_NOT_SYNC_TAINTS).is_none_or(|own| &**own != "true");
    let add_taints = if syncs_taints {
        [claim.taints.as_slice(), claim.startup_taints.as_slice()].concat()
    } else {
        Vec::new()
    };
    let remove_taints: Vec<(Text, TaintEffect)> = node
        .taints
        .iter()
        .filter(|taint| &*taint.key == UNREGISTERED)
        .map(|taint| (taint.key.clone(), taint.effect))
        .collect();
    let taint_was_missing = remove_taints.is_empty();
    let annotations = claim.annotations.clone();
    claim.status.node_name = Some(node.name.clone());
    set_true(claim, ConditionType::Registered, now);
    let state = ConditionState::unknown("NodeNotReady", "the Node is not ready for pods yet");
    set_condition(claim, ConditionType::Initialized, state, now);
    update_ready(claim, now);
    Registration {
        patch: NodePatch {
            labels,
            annotations,
            add_taints,
            remove_taints,
            finalizer: FinalizerChange::Add,
            owner: object.map(|object| ObjectRef {
                name: object.claim.name.clone(),
                uid: object.claim.uid.clone(),
            }),
            ..NodePatch::default()
        },
        record,
        taint_was_missing,
    }
}

/// Sets Registered to False on a claim with whose provider id several Nodes joined.
pub fn ambiguous(mut record: ClaimRecord, nodes: usize, now: Timestamp) -> ClaimRecord {
    let message = format!("{nodes} Nodes have its provider ID");
    let state = ConditionState::new(ConditionStatus::False, "MultipleNodesFound", &message);
    let claim = &mut record.claim;
    set_condition(claim, ConditionType::Registered, state, now);
    update_ready(claim, now);
    record
}

/// Why a Node is not initialized, as reason and message; `None` when it is.
///
/// It must be ready, have no startup or ephemeral taint, and report some of each requested
/// resource: device plugins register late.
pub fn not_initialized(claim: &NodeClaim, node: &Node) -> Option<(&'static str, String)> {
    let ready = node.condition("Ready").map(|condition| condition.status);
    if ready != Some(ConditionStatus::True) {
        return Some(("NodeNotReady", "the Node is not ready".to_owned()));
    }
    let same = |own: &Taint, other: &Taint| own.key == other.key && own.effect == other.effect;
    let startup = |taint: &&Taint| claim.startup_taints.iter().any(|own| same(own, taint));
    if let Some(taint) = node.taints.iter().find(startup) {
        return Some(("StartupTaintsExist", format!("startup taint {taint} has not been removed")));
    }
    if let Some(taint) = node.taints.iter().find(|taint| taint.is_ephemeral()) {
        return Some(("KnownEphemeralTaintsExist", format!("taint {taint} is still there")));
    }
    claim
        .requests
        .iter()
        .find(|(name, amount)| *amount > 0 && node.allocatable.get(name) <= 0)
        .map(|(name, _)| ("ResourceNotRegistered", format!("the Node reports no {name} yet")))
}

/// Updates condition Initialized.
pub fn initialize(mut record: ClaimRecord, node: &Node, now: Timestamp) -> ClaimRecord {
    let claim = &mut record.claim;
    match not_initialized(claim, node) {
        None => set_true(claim, ConditionType::Initialized, now),
        Some((reason, message)) => {
            let state = ConditionState::unknown(reason, &message);
            set_condition(claim, ConditionType::Initialized, state, now);
        }
    }
    update_ready(claim, now);
    record
}

/// The change of a Node that is initialized.
pub fn initialized_patch() -> NodePatch {
    NodePatch {
        labels: [(label::INITIALIZED.into(), "true".into())].into(),
        ..NodePatch::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, launched_record, node_of, record, taint};
    use domain::resource::NVIDIA_GPU;

    #[test]
    fn a_node_that_joins_gets_labels_taints_and_the_finalizer() {
        let mut claim = launched_record("web-1", at(0));
        claim.claim.taints = vec![taint("team")];
        let registration = register(claim.clone(), &node_of(&claim), None, at(40));
        assert_eq!(registration.patch.add_taints, [taint("team")]);
        assert_eq!(registration.patch.finalizer, FinalizerChange::Add);
        assert_eq!(registration.patch.remove_taints.len(), 1);
        assert!(registration.patch.labels.contains_key(label::REGISTERED));
        assert!(!registration.taint_was_missing);
        assert!(registration.record.claim.is(ConditionType::Registered));
    }

    #[test]
    fn taints_that_the_kubelet_set_are_not_written_again() {
        let mut claim = launched_record("web-1", at(0));
        claim.claim.startup_taints = vec![taint("cilium")];
        let mut node = node_of(&claim);
        node.labels.insert(label::DO_NOT_SYNC_TAINTS.into(), "true".into());
        assert!(register(claim, &node, None, at(40)).patch.add_taints.is_empty());
    }

    #[test]
    fn a_node_is_initialized_once_nothing_of_its_start_is_left() {
        let mut claim = launched_record("web-1", at(0)).claim;
        claim.startup_taints = vec![taint("cilium")];
        claim.requests = claim.requests.with(NVIDIA_GPU, 1);
        let record = ClaimRecord { claim: claim.clone(), ..record("web-1") };
        let mut node = node_of(&launched_record("web-1", at(0)));
        let lacks = |node: &Node| not_initialized(&record.claim, node).map(|(reason, _)| reason);
        node.conditions.clear();
        assert_eq!(lacks(&node), Some("NodeNotReady"));
        node = node_of(&launched_record("web-1", at(0)));
        node.taints = vec![taint("cilium")];
        assert_eq!(lacks(&node), Some("StartupTaintsExist"));
        node.taints = vec![taint("readiness.k8s.io/storage")];
        assert_eq!(lacks(&node), Some("KnownEphemeralTaintsExist"));
        node.taints.clear();
        assert_eq!(lacks(&node), Some("ResourceNotRegistered"));
        node.allocatable = node.allocatable.with(NVIDIA_GPU, 1);
        assert_eq!(lacks(&node), None);
    }

    #[test]
    fn a_claim_is_given_up_after_five_minutes_without_instance_and_fifteen_without_node() {
        let waiting = record("web-1");
        assert_eq!(overdue(&waiting, at(299)), None);
        assert_eq!(overdue(&waiting, at(300)), Some(EndReason::LaunchTimeout));
        let booting = launched_record("web-1", at(100));
        assert_eq!(overdue(&booting, at(100 + 899)), None);
        assert_eq!(overdue(&booting, at(100 + 900)), Some(EndReason::RegistrationTimeout));
    }
}

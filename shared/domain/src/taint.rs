//! Taints and tolerations.
//!
//! Source: <https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/>.

use std::fmt;

use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::{Text, Timestamp};

/// `karpenter.sh/disrupted`: the node is going away.
pub const DISRUPTED: &str = "karpenter.sh/disrupted";
/// `outrigger.dev/disruption-candidate`: later disruptions are going to remove the node, as things
/// stand. Only a preference: kube-scheduler puts pods elsewhere while others have room.
pub const CANDIDATE: &str = "outrigger.dev/disruption-candidate";
/// `karpenter.sh/unregistered`: the node has joined but its NodeClaim has not been matched to it.
pub const UNREGISTERED: &str = "karpenter.sh/unregistered";
/// `node.kubernetes.io/unschedulable`: what a cordoned node means to the scheduler.
pub const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// What a taint does to pods that do not tolerate it.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
pub enum TaintEffect {
    /// Keeps pods from being scheduled.
    NoSchedule,
    /// A preference against the node.
    PreferNoSchedule,
    /// Keeps pods off and evicts those there.
    NoExecute,
}

impl TaintEffect {
    /// The word of the Kubernetes API.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Reads the word of the Kubernetes API.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// A taint of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taint {
    /// The key.
    pub key: Text,
    /// The value; empty when there is none.
    pub value: Text,
    /// The effect.
    pub effect: TaintEffect,
}

impl Taint {
    /// The taint that marks a node as going away.
    pub fn disrupted() -> Self {
        Self { key: DISRUPTED.into(), value: "".into(), effect: TaintEffect::NoSchedule }
    }

    /// The taint that marks a node as one of the next to go, since a moment: its value, in seconds
    /// of Unix time, as values of taints hold no colons.
    pub fn candidate(since: Timestamp) -> Self {
        let value = since.as_second().to_string().into();
        Self { key: CANDIDATE.into(), value, effect: TaintEffect::PreferNoSchedule }
    }

    /// Since when it marks a node as one of the next to go. `None` for any other taint, and for one
    /// that does not say it.
    pub fn candidate_since(&self) -> Option<Timestamp> {
        let seconds = self.value.parse().ok().filter(|_| &*self.key == CANDIDATE)?;
        Timestamp::from_second(seconds).ok()
    }

    /// Whether pods without a toleration are kept off (a preference keeps nobody off).
    pub fn repels(&self) -> bool {
        self.effect != TaintEffect::PreferNoSchedule
    }

    /// Whether a node wears it only while it starts, so that a pod need not tolerate it on a node
    /// that is not initialized yet.
    ///
    /// Source: Karpenter's known ephemeral taints.
    pub fn is_ephemeral(&self) -> bool {
        matches!(
            &*self.key,
            "node.kubernetes.io/not-ready"
                | "node.kubernetes.io/unreachable"
                | "node.cloudprovider.kubernetes.io/uninitialized"
                | UNREGISTERED
        ) || self.key.starts_with("readiness.k8s.io/")
    }
}

impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equals = if self.value.is_empty() { "" } else { "=" };
        write!(f, "{}{equals}{}:{}", self.key, self.value, self.effect.as_str())
    }
}

/// A toleration of a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Toleration {
    /// The key; `None` with `exists` tolerates every taint.
    pub key: Option<Text>,
    /// Operator Exists (any value) rather than Equal.
    pub exists: bool,
    /// The value that operator Equal compares with; empty when there is none.
    pub value: Text,
    /// The effect; `None` means every effect.
    pub effect: Option<TaintEffect>,
}

impl Toleration {
    /// Whether it covers the taint.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        if self.effect.is_some_and(|effect| effect != taint.effect) {
            return false;
        }
        match &self.key {
            None => self.exists,
            Some(key) => *key == taint.key && (self.exists || self.value == taint.value),
        }
    }
}

/// Whether one of the tolerations covers the taint.
pub fn tolerated(tolerations: &[Toleration], taint: &Taint) -> bool {
    tolerations.iter().any(|toleration| toleration.tolerates(taint))
}

/// The first NoSchedule or NoExecute taint that no toleration covers.
pub fn first_untolerated<'a>(tolerations: &[Toleration], taints: &'a [Taint]) -> Option<&'a Taint> {
    taints.iter().find(|taint| taint.repels() && !tolerated(tolerations, taint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint(key: &str, value: &str) -> Taint {
        Taint { key: key.into(), value: value.into(), effect: TaintEffect::NoSchedule }
    }

    #[test]
    fn a_candidate_says_since_when_it_is_one() {
        let since = Timestamp::from_second(1_767_603_316).unwrap();
        assert_eq!(Taint::candidate(since).candidate_since(), Some(since));
        assert_eq!(taint(CANDIDATE, "").candidate_since(), None, "of an older version");
        assert_eq!(taint("team", "1767603316").candidate_since(), None);
    }

    #[test]
    fn a_toleration_covers_by_key_value_and_effect() {
        let equal = |value: &str, effect| Toleration {
            key: Some("team".into()),
            exists: false,
            value: value.into(),
            effect,
        };
        assert!(equal("blue", None).tolerates(&taint("team", "blue")));
        assert!(!equal("red", None).tolerates(&taint("team", "blue")));
        assert!(!equal("blue", Some(TaintEffect::NoExecute)).tolerates(&taint("team", "blue")));
        let everything = Toleration { key: None, exists: true, value: "".into(), effect: None };
        assert!(everything.tolerates(&taint("anything", "")));
    }

    #[test]
    fn a_preference_keeps_nobody_off() {
        let soft = Taint { effect: TaintEffect::PreferNoSchedule, ..taint("soft", "") };
        assert_eq!(
            first_untolerated(&[], &[soft, taint("hard", "")]).unwrap().to_string(),
            "hard:NoSchedule"
        );
    }
}

//! Which kinds are read, in which versions of their APIs, and by which function.

use crate::error::Problem;
use crate::field::Field;
use crate::object::{Kind, Object};
use crate::{karpenter, kubernetes};

/// The document of instance types that `--catalog` takes: no object of a cluster.
const INSTANCE_CATALOG: Kind = Kind {
    group: "outrigger.dev",
    name: "InstanceCatalog",
    versions: &["v1alpha1"],
    read: |root| root.value().map(|value| Object::InstanceCatalog(value.clone().into_owned())),
};

/// Groups of Kubernetes' own API, in none of which a kind of another group can be meant.
const KUBERNETES_GROUPS: [&str; 8] = [
    "",
    "apps",
    "autoscaling",
    "batch",
    "extensions",
    "policy",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Most letters by which a kind or a group may differ from the one that was meant.
const LETTERS_MAX: usize = 2;
/// Longest text that is compared with names; comparing takes time by the product of both lengths.
const COMPARED_MAX: usize = 64;

/// Why an object is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is of a kind that is none of ours: its name, with its group where a kind of ours is
    /// called the same.
    OtherKind(String),
    /// Its kind or its group is misspelt.
    Misspelt(Misspelling),
}

/// What is wrong with `kind` or `apiVersion`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Misspelling {
    /// The kind exists, in another group.
    #[error("{kind} is a kind of another API: write {api_version}")]
    Group {
        /// The kind.
        kind: &'static str,
        /// `GROUP/VERSION` as it should be.
        api_version: String,
    },
    /// There is no such kind, and one that is called nearly the same.
    #[error("there is no kind {kind:?}: did you mean {meant}?")]
    Kind {
        /// As written.
        kind: String,
        /// What is called nearly the same.
        meant: &'static str,
    },
}

impl Misspelling {
    /// Notes it at the field that is wrong.
    pub(super) fn note(self, root: Field<'_>) {
        let field = match self {
            Self::Group { .. } => "apiVersion",
            Self::Kind { .. } => "kind",
        };
        root.get(field).note(Problem::rule(self));
    }
}

/// The API group; `None` where the object does not say which version of the API it is written in.
pub(super) fn group_of(root: Field<'_>) -> Option<&str> {
    let version = root.get("apiVersion").str()?;
    Some(version.rsplit_once('/').map_or("", |(group, _)| group))
}

/// Notes a version that is not read.
pub(super) fn check_version(root: Field<'_>, kind: &Kind) {
    let field = root.get("apiVersion");
    let Some((_, version)) = field.str().and_then(|version| version.rsplit_once('/')) else {
        return;
    };
    if !kind.versions.is_empty() && !kind.versions.contains(&version) {
        field.note_rule(format!(
            "{} is not read in version {version}, only in {}",
            kind.name,
            kind.versions.join(", ")
        ));
    }
}

/// How a kind is read, or why it is not.
///
/// Without an API version the kind alone decides; a known kind of a foreign group (Volcano's Job)
/// is another kind, distinguished by its group.
pub(super) fn reader_of(group: Option<&str>, name: &str) -> Result<&'static Kind, Unread> {
    let Some(kind) = kinds().find(|kind| kind.name == name) else {
        return Err(match nearest(group, name) {
            Some(meant) => Unread::Misspelt(Misspelling::Kind { kind: name.to_owned(), meant }),
            None => Unread::OtherKind(name.to_owned()),
        });
    };
    match group {
        Some(other) if other != kind.group => Err(if is_mistaken_for(other, kind.group) {
            Unread::Misspelt(Misspelling::Group {
                kind: kind.name,
                api_version: kind.api_version(),
            })
        } else {
            Unread::OtherKind(format!("{name}.{other}"))
        }),
        _ => Ok(kind),
    }
}

fn kinds() -> impl Iterator<Item = &'static Kind> {
    const CATALOG: &[Kind] = &[INSTANCE_CATALOG];
    const KUBERNETES: &[Kind] = &kubernetes::KINDS;
    const KARPENTER: &[Kind] = &karpenter::KINDS;
    KUBERNETES.iter().chain(KARPENTER).chain(CATALOG)
}

/// The groups of kinds beyond Kubernetes' own.
fn extension_groups() -> impl Iterator<Item = &'static str> {
    kinds().map(|kind| kind.group).filter(|group| !KUBERNETES_GROUPS.contains(group))
}

/// Whether whoever wrote one group for a kind of another meant the kind that is known: no other
/// project has groups of these names.
fn is_mistaken_for(group: &str, own: &str) -> bool {
    KUBERNETES_GROUPS.contains(&group)
        || extension_groups().any(|known| known == group)
        || are_near(group, own)
}

/// The letters by which two texts differ, if they are few for texts of that length: short names
/// are near to many others.
fn letters_between(written: &str, known: &str) -> Option<usize> {
    let is_comparable = written.len() <= COMPARED_MAX;
    let letters = is_comparable.then(|| strsim::osa_distance(written, known))?;
    (letters <= LETTERS_MAX && letters * 3 <= known.len()).then_some(letters)
}

fn are_near(written: &str, known: &str) -> bool {
    letters_between(written, known).is_some()
}

/// The kind that was meant by one that does not exist, if one of that group is called nearly so.
fn nearest(group: Option<&str>, name: &str) -> Option<&'static str> {
    let is_candidate = |kind: &&Kind| {
        group.is_none_or(|group| {
            are_near(group, kind.group)
                || extension_groups().any(|known| known == group)
                    && !KUBERNETES_GROUPS.contains(&kind.group)
        })
    };
    let lower = name.to_lowercase();
    kinds()
        .filter(is_candidate)
        .filter_map(|kind| Some((letters_between(&lower, &kind.name.to_lowercase())?, kind.name)))
        .min()
        .map(|(_, meant)| meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unread(api_version: &str, kind: &str) -> String {
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        match reader_of(Some(group), kind).map(|kind| kind.name) {
            Ok(name) => format!("{name} is read"),
            Err(Unread::OtherKind(name)) => format!("{name} is skipped"),
            Err(Unread::Misspelt(misspelling)) => misspelling.to_string(),
        }
    }

    #[test]
    fn a_misspelt_kind_is_an_error_with_the_one_that_was_meant() {
        for (api_version, kind, meant) in [
            ("karpenter.sh/v1", "NodePol", "NodePool"),
            ("karpenter.sh/v1", "nodepool", "NodePool"),
            ("karpenter.sh/v1", "EC2Nodeclass", "EC2NodeClass"),
            ("karpenter.s/v1", "NodePools", "NodePool"),
            ("outrigger.dev/v1alpha1", "PrewarmShedule", "PrewarmSchedule"),
            ("keda.sh/v1alpha1", "ScaledObjct", "ScaledObject"),
            ("apps/v1", "Deploymnt", "Deployment"),
            ("v1", "Namespac", "Namespace"),
        ] {
            let expected = format!("there is no kind {kind:?}: did you mean {meant}?");
            assert_eq!(unread(api_version, kind), expected);
        }
        let without_version = reader_of(None, "PodDisruptionBugdet").err();
        assert!(matches!(without_version, Some(Unread::Misspelt(_))), "{without_version:?}");
    }

    #[test]
    fn a_kind_in_a_wrong_group_is_an_error_with_the_right_one() {
        for (api_version, kind, right) in [
            ("karpenter.k8s.aws/v1", "NodePool", "karpenter.sh/v1"),
            ("v1", "NodePool", "karpenter.sh/v1"),
            ("karpenter.sh", "NodePool", "karpenter.sh/v1"),
            ("v1", "Deployment", "apps/v1"),
            ("app/v1", "Deployment", "apps/v1"),
            ("extensions/v1beta1", "Deployment", "apps/v1"),
            ("apps/v1", "Pod", "v1"),
            ("karpenter.sh/v1alpha1", "PrewarmSchedule", "outrigger.dev/v1alpha1"),
        ] {
            let expected = format!("{kind} is a kind of another API: write {right}");
            assert_eq!(unread(api_version, kind), expected, "{api_version}");
        }
    }

    #[test]
    fn kinds_of_other_projects_are_skipped_whatever_they_are_called() {
        for (api_version, kind, skipped) in [
            ("batch.volcano.sh/v1alpha1", "Job", "Job.batch.volcano.sh"),
            ("container.gcp.upbound.io/v1beta1", "NodePool", "NodePool.container.gcp.upbound.io"),
            ("eks.amazonaws.com/v1", "NodeClass", "NodeClass"),
            ("keda.sh/v1alpha1", "ScaledJob", "ScaledJob"),
            ("batch/v1", "CronJob", "CronJob"),
            ("rbac.authorization.k8s.io/v1", "Role", "Role"),
            ("storage.k8s.io/v1", "CSIDriver", "CSIDriver"),
            ("karpenter.sh/v1alpha5", "Machine", "Machine"),
            ("v1", "Event", "Event"),
        ] {
            assert_eq!(unread(api_version, kind), format!("{skipped} is skipped"));
        }
    }
}

//! One object as it is kept: a compact domain value with its key.

use std::fmt;

use controllers::ports::cluster::UnreadableSource;
use controllers::status::{CapacityBufferStatus, NodeClassStatus, NodePoolStatus, Observed};
use domain::Text;
use domain::pod::{ObjectKey, VirtualPodSource};
use manifests::{ApiKind, Field, Interner, ManifestError, Object, PodObject, read_api_object};

use crate::state;

/// An object. Pods, of which there may be tens of thousands, take no more memory than they need.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all items are pods")]
pub(crate) enum Item {
    Pod(PodObject),
    /// Any other object, with the status that only a live cluster has.
    Other(Box<(Object, ObservedStatus)>),
    /// A schedule or a buffer that cannot be read: an event tells its author.
    Unreadable(Box<(UnreadableSource, ObservedStatus)>),
}

/// The status of an object, which only a live cluster has.
#[derive(Clone, Debug)]
pub(crate) enum ObservedStatus {
    Nothing,
    NodePool(Observed<NodePoolStatus>),
    NodeClass(Observed<NodeClassStatus>),
    CapacityBuffer(Observed<CapacityBufferStatus>),
}

/// The key of an object, and its resource version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ItemMetadata {
    /// Namespace (empty outside namespaces) and name.
    pub(crate) key: Option<ObjectKey>,
    /// `metadata.resourceVersion`.
    pub(crate) resource_version: String,
}

/// An object that could not be read, and is left out, or was read in a way its author may not
/// expect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectProblem {
    /// Kind and name: `NodePool web`.
    pub object: String,
    /// The field, where the problem is in one.
    pub field: Option<String>,
    /// What is wrong.
    pub what: String,
    /// Whether the object counts as absent.
    pub is_left_out: bool,
}

impl fmt::Display for ObjectProblem {
    /// `NodePool web is left out: spec.weight: weight 101 is out of range`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, field, what, is_left_out } = self;
        f.write_str(object)?;
        if *is_left_out {
            f.write_str(" is left out")?;
        }
        if let Some(field) = field {
            write!(f, ": {field}")?;
        }
        write!(f, ": {what}")
    }
}

/// The result of decoding one object.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) metadata: ItemMetadata,
    /// `None` where it could not be read, unless an event is to tell its author.
    pub(crate) item: Option<Item>,
    pub(crate) problems: Vec<ObjectProblem>,
}

/// Decodes one object of an API server.
pub(crate) fn decode(json: &str, kind: &ApiKind, interner: &Interner) -> Decoded {
    let mut metadata = ItemMetadata::default();
    let mut source = None;
    let read = read_api_object(json, kind, interner, |root| {
        metadata = metadata_of(root);
        let observed = match &*kind.kind {
            "NodePool" => ObservedStatus::NodePool(state::node_pool(root)),
            "EC2NodeClass" => ObservedStatus::NodeClass(state::node_class(root)),
            "CapacityBuffer" => ObservedStatus::CapacityBuffer(state::capacity_buffer(root)),
            _ => ObservedStatus::Nothing,
        };
        source =
            source_of(kind, root, &metadata).map(|(source, uid)| (source, uid, observed.clone()));
        observed
    });
    let warnings = read.warnings.into_iter().map(|warning| ObjectProblem {
        object: named(kind, warning.place.as_ref().and_then(|place| place.object.as_deref())),
        field: warning.place.as_ref().and_then(|place| place.field.clone()),
        what: warning.what,
        is_left_out: false,
    });
    let mut problems: Vec<ObjectProblem> = warnings.collect();
    let item = match read.result {
        Ok((Object::Pod(pod), _)) => Some(Item::Pod(pod)),
        Ok((object, observed)) => Some(Item::Other(Box::new((object, observed)))),
        Err(errors) => {
            let wrong: Vec<ObjectProblem> =
                errors.iter().map(|error| left_out(kind, error)).collect();
            let item = unreadable(source, &wrong);
            problems.extend(wrong);
            item
        }
    };
    // Readers leave objects out with a warning; others are logged here.
    if item.is_none() && problems.is_empty() {
        tracing::debug!(kind = &*kind.kind, key = ?metadata.key, "object skipped");
    }
    Decoded { metadata, item, problems }
}

/// A schedule or a buffer as a source of virtual pods, and its uid; `None` for other kinds.
fn source_of(
    kind: &ApiKind,
    root: Field<'_>,
    metadata: &ItemMetadata,
) -> Option<(VirtualPodSource, Text)> {
    let key = metadata.key.clone()?;
    let source = match &*kind.kind {
        "CapacityBuffer" => VirtualPodSource::CapacityBuffer(key),
        "ScaledObject" => VirtualPodSource::ScaledObject(key),
        "PrewarmSchedule" => VirtualPodSource::PrewarmSchedule(key),
        _ => return None,
    };
    Some((source, root.get("metadata").get("uid").text()?))
}

/// A schedule or a buffer with its problems; `None` where it has none.
fn unreadable(
    source: Option<(VirtualPodSource, Text, ObservedStatus)>,
    wrong: &[ObjectProblem],
) -> Option<Item> {
    let (source, uid, observed) = source?;
    let problems = wrong.iter().map(|problem| match &problem.field {
        Some(field) => format!("{field}: {}", problem.what),
        None => problem.what.clone(),
    });
    let problem: Text = problems.collect::<Vec<_>>().join("; ").into();
    (!problem.is_empty())
        .then(|| Item::Unreadable(Box::new((UnreadableSource { source, uid, problem }, observed))))
}

fn metadata_of(root: Field<'_>) -> ItemMetadata {
    let fields = root.get("metadata");
    let word = |key| fields.get(key).str().unwrap_or_default();
    let namespace = root.reader().interner().text(word("namespace"));
    ItemMetadata {
        key: Some(ObjectKey { namespace, name: Text::from(word("name")) }),
        resource_version: word("resourceVersion").to_owned(),
    }
}

fn left_out(kind: &ApiKind, error: &ManifestError) -> ObjectProblem {
    ObjectProblem {
        object: named(kind, error.place.object.as_deref()),
        field: error.place.field.clone(),
        what: error.problem.to_string(),
        is_left_out: true,
    }
}

fn named(kind: &ApiKind, name: Option<&str>) -> String {
    format!("{} {}", kind.kind, name.unwrap_or("(unnamed)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str, kind: &str) -> Decoded {
        let kind = ApiKind { kind: kind.into(), api_version: "v1".into() };
        decode(json, &kind, &Interner::default())
    }

    #[test]
    fn an_object_that_cannot_be_read_keeps_its_stamp() {
        let json = r#"{"metadata": {"namespace": "shop", "name": "web", "resourceVersion": "7"},
            "spec": {"containers": [{"resources": {"requests": {"cpu": "lots"}}}]}}"#;
        let decoded = read(json, "Pod");
        assert!(decoded.item.is_none());
        assert_eq!(decoded.metadata.key, Some(ObjectKey::new("shop", "web")));
        assert_eq!(decoded.metadata.resource_version, "7");
        assert_eq!(
            decoded.problems[0].to_string(),
            "Pod shop/web is left out: spec.containers[0].resources.requests.cpu: \"lots\" is not a quantity: it has no digits"
        );
    }

    #[test]
    fn a_field_of_a_newer_api_is_a_warning_about_an_object_in_use() {
        let json = r#"{"metadata": {"name": "web", "uid": "u1"}, "spec": {"template": {"spec": {
            "somethingNew": 1, "requirements": [],
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "web"}}}}}"#;
        let kind = ApiKind { kind: "NodePool".into(), api_version: "karpenter.sh/v1".into() };
        let decoded = decode(json, &kind, &Interner::default());
        assert!(matches!(decoded.item, Some(Item::Other(_))), "{decoded:?}");
        let shown: Vec<String> = decoded.problems.iter().map(ToString::to_string).collect();
        let unknown = "the field is not known to this version: it has no effect";
        assert_eq!(shown, [format!("NodePool web: spec.template.spec.somethingNew: {unknown}")]);
    }

    #[test]
    fn a_schedule_that_cannot_be_read_is_kept_with_what_is_wrong() {
        let json = r#"{"metadata": {"namespace": "shop", "name": "noon", "uid": "u7"}, "spec": {
            "scaleTargetRef": {"name": "web"}, "triggers": [{"type": "cron", "metadata":
                {"timezone": "Asia/Soul", "start": "0 9 * *", "end": "0 18 * * *", "desiredReplicas": "3"}}]}}"#;
        let kind = ApiKind { kind: "ScaledObject".into(), api_version: "keda.sh/v1alpha1".into() };
        let decoded = decode(json, &kind, &Interner::default());
        let Some(Item::Unreadable(unreadable)) = decoded.item else { panic!("{decoded:?}") };
        let UnreadableSource { source, uid, problem } = unreadable.0;
        let key = ObjectKey::new("shop", "noon");
        assert_eq!((source, &*uid), (VirtualPodSource::ScaledObject(key), "u7"));
        for part in [
            "spec.triggers[0].metadata.timezone: \"Asia/Soul\" is not an IANA time zone",
            "\"0 9 * *\" is not a cron schedule: it has 4 fields instead of 5",
        ] {
            assert!(problem.contains(part), "{problem}");
        }
        assert_eq!(decoded.problems.len(), 2);
    }

    #[test]
    fn a_pod_among_thousands_costs_hundreds_of_bytes() {
        assert!(size_of::<Item>() <= 320, "{}", size_of::<Item>());
    }
}

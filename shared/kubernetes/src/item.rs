//! One object as it is kept: a compact domain value with its key.

use std::fmt;

use controllers::event::Subject;
use controllers::ports::cluster::{UnreadableObject, UnreadableSource};
use controllers::status::{CapacityBufferStatus, NodeClassStatus, NodePoolStatus, Observed};
use domain::Text;
use domain::pod::{ObjectKey, VirtualPodSource};
use manifests::{
    ApiKind, Field, Interner, ManifestError, Object, PodObject, read_api_object,
    unreadable_cluster_limit,
};

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
    /// Another object that cannot be read and of which an event tells its author.
    LeftOut(Box<UnreadableObject>),
}

/// The status of an object, which only a live cluster has.
#[derive(Clone, Debug)]
pub(crate) enum ObservedStatus {
    Nothing,
    NodePool(Observed<NodePoolStatus>),
    NodeClass(Observed<NodeClassStatus>),
    CapacityBuffer(Observed<CapacityBufferStatus>),
    /// It cannot be read, and the object stands for what holds in its place.
    Unreadable(UnreadableObject),
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
    let (mut source, mut uid) = (None, Text::default());
    let read = read_api_object(json, kind, interner, |root| {
        metadata = metadata_of(root);
        uid = root.get("metadata").get("uid").text().unwrap_or_default();
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
            let mut wrong: Vec<ObjectProblem> =
                errors.iter().map(|error| left_out(kind, error)).collect();
            let name = metadata.key.as_ref().map(|key| key.name.clone()).unwrap_or_default();
            let item = match &*kind.kind {
                "ClusterLimit" => Some(in_its_place(name, uid, &errors, &mut wrong)),
                "Commitment" => {
                    let problem = format!("it has no effect: {}", shown(&wrong)).into();
                    let about = Subject::Commitment(name, uid);
                    Some(Item::LeftOut(Box::new(UnreadableObject { about, problem })))
                }
                _ => unreadable(source, &wrong),
            };
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

/// What is wrong with one object, with the fields.
fn shown(wrong: &[ObjectProblem]) -> String {
    let problems = wrong.iter().map(|problem| match &problem.field {
        Some(field) => format!("{field}: {}", problem.what),
        None => problem.what.clone(),
    });
    problems.collect::<Vec<_>>().join("; ")
}

/// A ClusterLimit that cannot be read: none of it is left out, it allows nothing.
fn in_its_place(
    name: Text,
    uid: Text,
    errors: &[ManifestError],
    wrong: &mut [ObjectProblem],
) -> Item {
    const HOLDS: &str = "nothing new is launched until it can be read";
    let problem = format!("{HOLDS}: {}", shown(wrong)).into();
    for own in wrong {
        own.is_left_out = false;
        own.what = format!("{}: {HOLDS}", own.what);
    }
    let limit = unreadable_cluster_limit(&name, errors);
    let unreadable = UnreadableObject { about: Subject::ClusterLimit(name, uid), problem };
    Item::Other(Box::new((Object::ClusterLimit(limit), ObservedStatus::Unreadable(unreadable))))
}

/// A schedule or a buffer with its problems; `None` where it has none.
fn unreadable(
    source: Option<(VirtualPodSource, Text, ObservedStatus)>,
    wrong: &[ObjectProblem],
) -> Option<Item> {
    let (source, uid, observed) = source?;
    let problem: Text = shown(wrong).into();
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
    use domain::cluster_limit::ClusterLimit;

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
    fn a_cluster_limit_that_cannot_be_read_allows_nothing_new() {
        let json =
            r#"{"metadata": {"name": "all", "uid": "u1"}, "spec": {"limits": {"cpu": "lots"}}}"#;
        let api_version = "outrigger.dev/v1alpha1";
        let kind = ApiKind { kind: "ClusterLimit".into(), api_version: api_version.into() };
        let decoded = decode(json, &kind, &Interner::default());
        let Some(Item::Other(other)) = decoded.item else { panic!("{decoded:?}") };
        let (Object::ClusterLimit(limit), ObservedStatus::Unreadable(shown_to_author)) = *other
        else {
            panic!("{other:?}")
        };
        let wrong = "spec.limits.cpu: \"lots\" is not a quantity: it has no digits";
        assert_eq!(limit, ClusterLimit::unreadable("all", wrong));
        assert_eq!(shown_to_author.about, Subject::ClusterLimit("all".into(), "u1".into()));
        let holds = "nothing new is launched until it can be read";
        assert_eq!(&*shown_to_author.problem, format!("{holds}: {wrong}"));
        let logged: Vec<String> = decoded.problems.iter().map(ToString::to_string).collect();
        assert_eq!(logged, [format!("ClusterLimit all: {wrong}: {holds}")]);
    }

    #[test]
    fn a_commitment_that_cannot_be_read_has_no_effect_and_its_author_is_shown_why() {
        let json = r#"{"metadata": {"name": "plan", "uid": "u2"}, "spec": {"type": "Gift"}}"#;
        let api_version = "outrigger.dev/v1alpha1";
        let kind = ApiKind { kind: "Commitment".into(), api_version: api_version.into() };
        let decoded = decode(json, &kind, &Interner::default());
        let Some(Item::LeftOut(shown_to_author)) = decoded.item else { panic!("{decoded:?}") };
        assert_eq!(shown_to_author.about, Subject::Commitment("plan".into(), "u2".into()));
        assert!(
            shown_to_author.problem.starts_with("it has no effect: spec.type: "),
            "{shown_to_author:?}"
        );
        assert!(decoded.problems.iter().all(|own| own.is_left_out), "{:?}", decoded.problems);
    }

    #[test]
    fn a_pod_among_thousands_costs_hundreds_of_bytes() {
        assert!(size_of::<Item>() <= 320, "{}", size_of::<Item>());
    }
}

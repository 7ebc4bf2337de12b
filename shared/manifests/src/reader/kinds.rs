//! Which kinds are read, in which versions of their APIs, and by which function.

use crate::field::Field;
use crate::object::{Object, ReadKind};
use crate::{karpenter, kubernetes};

/// The API group; `None` where the object does not say which version of the API it is written in.
pub(super) fn group_of(root: Field<'_>) -> Option<&str> {
    let version = root.get("apiVersion").str()?;
    Some(version.rsplit_once('/').map_or("", |(group, _)| group))
}

/// Notes a version that is not read, of kinds whose fields differ between versions. Kubernetes' own
/// kinds are read in every version: the fields that count are the same in all.
pub(super) fn check_version(root: Field<'_>, kind: &str) {
    let read: &[&str] = match kind {
        "NodePool" | "NodeClaim" | "EC2NodeClass" => &["v1"],
        "NodeOverlay" | "ScaledObject" | "PrewarmSchedule" | "InstanceCatalog" => &["v1alpha1"],
        "CapacityBuffer" => &["v1beta1", "v1alpha1"],
        _ => return,
    };
    let field = root.get("apiVersion");
    let Some((_, version)) = field.str().and_then(|version| version.rsplit_once('/')) else {
        return;
    };
    if !read.contains(&version) {
        field.note_rule(format!(
            "{kind} is not read in version {version}, only in {}",
            read.join(", ")
        ));
    }
}

/// How a kind is read, or what it is called among those that are not.
///
/// Without an API version the kind alone decides; a known kind of a foreign group (Volcano's Job)
/// is another kind, distinguished by its group.
pub(super) fn reader_of(group: Option<&str>, kind: &str) -> Result<ReadKind, String> {
    let known = kubernetes::reader_of(kind)
        .or_else(|| karpenter::reader_of(kind))
        .or_else(|| catalog_reader(kind));
    match (known, group) {
        (None, _) => Err(kind.to_owned()),
        (Some((own, _)), Some(foreign)) if foreign != own => Err(format!("{kind}.{foreign}")),
        (Some((_, read)), _) => Ok(read),
    }
}

fn catalog_reader(kind: &str) -> Option<(&'static str, ReadKind)> {
    fn catalog(root: Field<'_>) -> Option<Object> {
        root.value().map(|value| Object::InstanceCatalog(value.clone().into_owned()))
    }
    (kind == "InstanceCatalog").then_some(("outrigger.dev", catalog as ReadKind))
}

//! Objects as an API server sends them: one by one, in the current version, with their status.

use std::sync::Arc;

use documents::{Data, Origin, Place, SyntaxProblem, Value, value_without};

use super::kinds::{Unread, check_version, group_of, reader_of};
use crate::error::{ManifestError, Warning};
use crate::field::{Field, ObjectReader};
use crate::intern::Interner;
use crate::object::Object;

/// What an API server was asked for. Items of its lists need not repeat it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKind {
    /// The kind: also what errors name in place of a file.
    pub kind: Arc<str>,
    /// `GROUP/VERSION`, or `VERSION` of the core group.
    pub api_version: Arc<str>,
}

/// What one object was read as.
#[derive(Debug)]
pub struct ApiRead<T> {
    /// The object and what was read beside it, or everything that is wrong with it.
    pub result: Result<(Object, T), Vec<ManifestError>>,
    /// What was read in a way its author may not expect.
    pub warnings: Vec<Warning>,
}

/// Reads one object of an API server from its JSON, and beside it whatever `beside` takes from the
/// same cursor. `metadata.managedFields`, often half of the text, is passed over.
///
/// An object is never converted: only versions that are read are asked for.
pub fn read_api_object<T>(
    json: &str,
    kind: &ApiKind,
    interner: &Interner,
    beside: impl FnOnce(Field<'_>) -> T,
) -> ApiRead<T> {
    let origin = Origin { file: kind.kind.clone(), line: 0, json: None };
    let value = match value_without(json, &["metadata", "managedFields"]) {
        Ok(value) => complete(value, kind),
        Err(error) => {
            let problem = SyntaxProblem::Refused(format!("not an object in JSON: {error}")).into();
            let errors = vec![ManifestError { problem, place: Place::line(origin.file, 0) }];
            return ApiRead { result: Err(errors), warnings: Vec::new() };
        }
    };
    let reader = ObjectReader::named(&value, &origin, interner);
    let root = reader.root();
    let object = match reader_of(group_of(root), &kind.kind) {
        Ok(kind) => {
            check_version(root, kind);
            (kind.read)(root)
        }
        Err(Unread::Misspelt(misspelling)) => {
            misspelling.note(root);
            None
        }
        Err(Unread::OtherKind(name)) => {
            root.get("kind").note_rule(format!("{name} is a kind that is not read"));
            None
        }
    };
    let beside = beside(root);
    let (result, warnings) = reader.finish(object);
    ApiRead { result: result.map(|object| (object, beside)), warnings }
}

/// Says what the object is where it does not.
fn complete<'t>(mut value: Value<'t>, kind: &ApiKind) -> Value<'t> {
    if let Data::Object(members) = &mut value.data {
        for (key, word) in [("kind", &kind.kind), ("apiVersion", &kind.api_version)] {
            if !members.iter().any(|(known, _)| known == key) {
                members.push((key.into(), Value::text(0, word.to_string())));
            }
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str, kind: &str, api_version: &str) -> ApiRead<i64> {
        let kind = ApiKind { kind: kind.into(), api_version: api_version.into() };
        read_api_object(json, &kind, &Interner::default(), |root| {
            root.get("metadata").get("generation").integer().unwrap_or_default()
        })
    }

    #[test]
    fn an_item_of_a_list_is_read_without_its_kind_and_without_managed_fields() {
        let pod = r#"{"metadata": {"name": "a", "generation": 3, "managedFields": [{"manager": 1}]},
            "spec": {"nodeName": "n1"}}"#;
        let (object, generation) = read(pod, "Pod", "v1").result.unwrap();
        let Object::Pod(pod) = object else { panic!("{object:?}") };
        assert_eq!((pod.pod.node_name.as_deref(), generation), (Some("n1"), 3));
    }

    #[test]
    fn strict_kinds_do_not_mind_that_managed_fields_were_left_out() {
        let overlay = r#"{"metadata": {"name": "a", "managedFields": []}, "spec": {"price": "1",
            "requirements": [{"key": "karpenter.sh/nodepool", "operator": "In", "values": ["a"]}]}}"#;
        read(overlay, "NodeOverlay", "karpenter.sh/v1alpha1").result.unwrap();
    }

    #[test]
    fn what_is_wrong_names_the_object_and_the_field() {
        let pool =
            r#"{"metadata": {"name": "web"}, "spec": {"template": {"spec": {}}, "weight": 101}}"#;
        let errors = read(pool, "NodePool", "karpenter.sh/v1").result.unwrap_err();
        let place = &errors.iter().find(|error| error.to_string().contains("101")).unwrap().place;
        assert_eq!(
            (place.object.as_deref(), place.field.as_deref()),
            (Some("web"), Some("spec.weight"))
        );
        assert!(read("[]", "Pod", "v1").result.is_err());
        assert!(read("{}", "Lease", "coordination.k8s.io/v1").result.is_err());
    }
}

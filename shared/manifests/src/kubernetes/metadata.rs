//! `metadata`, as every kind has it.

use domain::label::Labels;
use domain::pod::ObjectKey;
use domain::{Text, Timestamp};

use crate::field::Field;

/// `metadata` of an object.
#[derive(Clone, Debug)]
pub(crate) struct Metadata {
    /// The name; empty where it is missing, which is noted.
    pub(crate) name: Text,
    /// The uid; empty for objects that were never applied.
    pub(crate) uid: Text,
    /// When it was made.
    pub(crate) created: Option<Timestamp>,
    /// When its deletion was asked for.
    pub(crate) deleted: Option<Timestamp>,
    /// Labels.
    pub(crate) labels: Labels,
    /// Annotations.
    pub(crate) annotations: Labels,
}

/// Where an object is that does not say.
const DEFAULT_NAMESPACE: &str = "default";

impl Metadata {
    /// Of an object that lives outside namespaces.
    pub(crate) fn of(object: Field<'_>) -> Self {
        let name = name(object);
        if !name.is_empty() {
            object.reader().set_name(name.to_string());
        }
        Self::named(object, name)
    }

    /// Of an object that lives in a namespace, with its key.
    pub(crate) fn namespaced(object: Field<'_>) -> (Self, ObjectKey) {
        let namespace = object.get("metadata").get("namespace").text();
        let namespace = namespace
            .filter(|namespace| !namespace.is_empty())
            .unwrap_or_else(|| object.reader().interner().text(DEFAULT_NAMESPACE));
        let name = name(object);
        let key = ObjectKey { namespace, name: name.clone() };
        // Problems found from here on shall name the object in full.
        if !name.is_empty() {
            object.reader().set_name(key.to_string());
        }
        (Self::named(object, name), key)
    }

    fn named(object: Field<'_>, name: Text) -> Self {
        let metadata = object.get("metadata");
        Self {
            name,
            uid: metadata.get("uid").own_text().unwrap_or_default(),
            created: metadata.get("creationTimestamp").timestamp(),
            deleted: metadata.get("deletionTimestamp").timestamp(),
            labels: metadata.get("labels").labels(),
            annotations: metadata.get("annotations").labels(),
        }
    }
}

fn name(object: Field<'_>) -> Text {
    object.get("metadata").get("name").required().own_text().unwrap_or_default()
}

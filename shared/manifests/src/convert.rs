//! Older versions of Karpenter's API, turned into v1.

use crate::error::{ManifestError, Warning};
use crate::field::Origin;
use crate::value::Value;

/// What an object of an older version stands for.
#[derive(Debug, Default)]
pub(crate) struct Upgraded<'a> {
    /// Objects of the current version, lines kept.
    pub(crate) objects: Vec<Value<'a>>,
    /// What has no equal.
    pub(crate) warnings: Vec<Warning>,
    /// What is wrong.
    pub(crate) errors: Vec<ManifestError>,
}

/// The objects of the current version that an object of an older one stands for; `None` if it is not older.
pub(crate) fn upgrade<'a>(_object: &Value<'a>, _origin: &Origin<'_>) -> Option<Upgraded<'a>> {
    None
}

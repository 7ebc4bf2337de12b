//! What the document says it is.

/// `apiVersion` of the document.
pub const API_VERSION: &str = "outrigger.dev/v1alpha1";
/// `kind` of the document.
pub const KIND: &str = "InstanceCatalog";

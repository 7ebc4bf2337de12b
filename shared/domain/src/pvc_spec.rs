//! What a PersistentVolumeClaim requests.

use crate::Text;

/// `spec` of a PersistentVolumeClaim, or of a template that one is created from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PvcSpec {
    /// `storageClassName`: `None` means the default class, empty means none.
    pub storage_class: Option<Text>,
    /// `volumeName`: the PersistentVolume that the claim is bound to.
    pub volume_name: Option<Text>,
    /// The only access mode is ReadWriteOncePod: one pod at a time.
    pub one_pod_only: bool,
}

//! Service, of which the scheduler reads whose pods it selects.

use domain::workload::Service;

use super::metadata::Metadata;
use crate::field::Field;

pub(super) fn read(root: Field<'_>) -> Service {
    let (_, key) = Metadata::namespaced(root);
    Service { key, selector: root.get("spec").get("selector").labels() }
}

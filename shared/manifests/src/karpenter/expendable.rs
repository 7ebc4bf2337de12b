//! Annotation `outrigger.dev/expendable-below` of a NodePool.

use crate::field::Field;

/// The priority below which pods are expendable. What is no priority counts as not there: the safe
/// side is that every pod gets its node, as without the annotation.
pub(super) fn read_expendable(field: Field<'_>) -> Option<i32> {
    let text = field.str()?;
    let priority = text.trim().parse().ok();
    if priority.is_none() {
        field.warn(format!(
            "{text:?} is no pod priority, a whole number such as 0 or -10: no pod is expendable"
        ));
    }
    priority
}

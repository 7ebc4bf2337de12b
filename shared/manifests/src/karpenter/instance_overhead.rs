//! Annotations `outrigger.dev/vm-memory-overhead-percent` and `reserved-enis` of an EC2NodeClass.

use domain::instance_overhead::{
    InstanceOverhead, InvalidOverhead, parse_memory_overhead, parse_reserved_enis,
};
use domain::label::{RESERVED_ENIS, VM_MEMORY_OVERHEAD_PERCENT};

use crate::field::Field;

/// What pods of the class's instances cannot use. What cannot be read counts as not there: what the
/// installation says holds, as without the annotation.
pub(super) fn read_instance_overhead(annotations: Field<'_>) -> InstanceOverhead {
    InstanceOverhead {
        vm_memory_overhead_ppm: read(
            annotations.get(VM_MEMORY_OVERHEAD_PERCENT),
            parse_memory_overhead,
        ),
        reserved_enis: read(annotations.get(RESERVED_ENIS), parse_reserved_enis),
    }
}

fn read(field: Field<'_>, parse: fn(&str) -> Result<u32, InvalidOverhead>) -> Option<u32> {
    match parse(field.str()?) {
        Ok(value) => Some(value),
        Err(error) => {
            field.warn(format!("{error}: it has no effect"));
            None
        }
    }
}

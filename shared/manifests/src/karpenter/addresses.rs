//! Annotations `outrigger.dev/addresses-per-pod`, `min-free-addresses` and `free-addresses` of an
//! EC2NodeClass.

use domain::addresses::{AddressPolicy, FreeAddresses, free_addresses_entries};
use domain::label::{ADDRESSES_PER_POD, FREE_ADDRESSES, MIN_FREE_ADDRESSES};

use crate::field::Field;

/// What a class says of addresses. What is no count counts as not there: pods get their nodes, as
/// without the annotation.
pub(super) fn read_addresses(annotations: Field<'_>) -> Option<AddressPolicy> {
    let per_pod = read_count(annotations.get(ADDRESSES_PER_POD));
    let min_free = read_count(annotations.get(MIN_FREE_ADDRESSES));
    if per_pod.is_none() && min_free.is_none() {
        // What was counted for an earlier policy is of no use.
        return None;
    }
    Some(AddressPolicy {
        per_pod: per_pod.unwrap_or(AddressPolicy::PER_POD),
        min_free: min_free.unwrap_or(0),
        daemon_pods: 0,
        free: read_free(annotations.get(FREE_ADDRESSES)),
    })
}

fn read_count(field: Field<'_>) -> Option<u32> {
    let text = field.str()?;
    let count = text.trim().parse().ok();
    if count.is_none() {
        field.warn(format!("{text:?} is no count of addresses such as 32: it has no effect"));
    }
    count
}

fn read_free(field: Field<'_>) -> Vec<FreeAddresses> {
    let mut subnets = Vec::new();
    for entry in free_addresses_entries(field.str().unwrap_or_default()) {
        match entry {
            Ok(own) => subnets.push(own),
            Err(error) => field.warn(format!("{error}: its zone is taken to have enough")),
        }
    }
    subnets.sort();
    subnets
}

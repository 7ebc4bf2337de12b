//! By what they are about.

mod adoption;
mod capacity;
mod cluster_objects;
mod conversion;
mod crashes;
mod demand_checks;
mod heartbeats;
mod idle;
mod interruption;
mod lambda;
mod landing;
mod lifecycle;
mod measures;
mod migration;
mod outages;
mod permissions;
mod provisioning;
mod recordings;
mod rig;
mod rollouts;
mod safety;
mod scale_down;
mod slow;
mod strict;
mod upgrade;
mod validation;
mod wakes;
mod watcher;

use crate::case::Case;
pub(super) use upgrade::OTHER_VERSION;

/// All cases, by what they are about: `provisioning::a_hundred_pending_pods_…`. The longest come
/// first, so that none is left running when all others are done; those that run alone come last, so
/// that nobody waits for them.
pub(super) fn all() -> Vec<(String, Case)> {
    let groups: [(&str, &[Case]); 37] = [
        ("crashes", crashes::CASES),
        ("lifecycle", lifecycle::CASES),
        ("safety", safety::fuses::CASES),
        ("safety", safety::pausing::CASES),
        ("safety", safety::restoring::CASES),
        ("safety", safety::ownership::CASES),
        ("safety", safety::observing::CASES),
        ("safety", safety::uninstalling::CASES),
        ("landing", landing::CASES),
        ("scale_down", scale_down::CASES),
        ("wakes", wakes::CASES),
        ("heartbeats", heartbeats::CASES),
        ("idle", idle::CASES),
        ("demand_checks", demand_checks::CASES),
        ("watcher", watcher::CASES),
        ("provisioning", provisioning::CASES),
        ("recordings", recordings::CASES),
        ("permissions", permissions::CASES),
        ("interruption", interruption::CASES),
        ("adoption", adoption::CASES),
        ("migration", migration::CASES),
        ("rollouts", rollouts::CASES),
        ("strict", strict::attempts::CASES),
        ("strict", strict::ending::CASES),
        ("strict", strict::reading::CASES),
        ("strict", strict::answers::CASES),
        ("strict", strict::others::CASES),
        ("strict", strict::nodes::CASES),
        ("upgrade", upgrade::CASES),
        ("validation", validation::CASES),
        ("outages", outages::CASES),
        ("capacity", capacity::CASES),
        ("cluster_objects", cluster_objects::CASES),
        ("conversion", conversion::CASES),
        ("rig", rig::CASES),
        ("lambda", lambda::CASES),
        ("measures", measures::CASES),
    ];
    let named = groups.into_iter().flat_map(|(about, cases)| {
        cases.iter().map(move |case| (format!("{about}::{}", case.name), *case))
    });
    let mut cases: Vec<_> = named.collect();
    cases.sort_by_key(|(_, case)| case.is_alone);
    cases
}

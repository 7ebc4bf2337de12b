//! By what they are about.

mod adoption;
mod capacity;
mod crashes;
mod interruption;
mod lambda;
mod lifecycle;
mod measures;
mod outages;
mod permissions;
mod provisioning;
mod rig;

use crate::Case;

/// All cases, by what they are about: `provisioning::a_hundred_pending_pods_…`.
pub(super) fn all() -> impl Iterator<Item = (String, crate::Steps)> {
    [
        ("rig", rig::CASES),
        ("lambda", lambda::CASES),
        ("provisioning", provisioning::CASES),
        ("lifecycle", lifecycle::CASES),
        ("adoption", adoption::CASES),
        ("capacity", capacity::CASES),
        ("interruption", interruption::CASES),
        ("outages", outages::CASES),
        ("permissions", permissions::CASES),
        ("crashes", crashes::CASES),
        ("measures", measures::CASES),
    ]
    .into_iter()
    .flat_map(|(about, cases): (_, &[Case])| {
        cases.iter().map(move |(name, steps)| (format!("{about}::{name}"), *steps))
    })
}

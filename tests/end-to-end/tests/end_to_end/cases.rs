//! By what they are about.

mod capacity;
mod crashes;
mod lifecycle;
mod measures;
mod outages;
mod permissions;
mod provisioning;
mod rig;

use crate::Case;

pub(crate) fn all() -> impl Iterator<Item = Case> {
    [
        rig::CASES,
        provisioning::CASES,
        lifecycle::CASES,
        capacity::CASES,
        outages::CASES,
        permissions::CASES,
        crashes::CASES,
        measures::CASES,
    ]
    .into_iter()
    .flatten()
    .copied()
}

//! What commitments cover of instances that are billed, moment by moment.

use domain::commitment::{Commitment, Commitments, Instance, Usage};
use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;

use super::World;
use crate::ec2;

impl World {
    /// Commitments that hold now; `None` where none does.
    pub(super) fn commitments(&self) -> Option<Commitments> {
        let all: Vec<Commitment> = self.api.list::<Commitment>().cloned().collect();
        Commitments::of(&all, self.now)
    }

    /// What commitments cover of all instances that are billed.
    pub(crate) fn covered_hourly(&self) -> UsdPerHour {
        let covered = |own: Commitments| own.apply(&usage_of(self.ec2.billed())).covered;
        self.commitments().map_or(UsdPerHour::ZERO, covered)
    }
}

/// What instances cost beyond commitments, as far as those are on demand; the others at their
/// prices.
pub(super) fn cost_beyond(commitments: &Commitments, instances: &[&ec2::Instance]) -> UsdPerHour {
    let others = instances.iter().filter(|own| !is_on_demand(own)).map(|own| own.price);
    others.sum::<UsdPerHour>() + commitments.remaining(&usage_of(instances.iter().copied()))
}

fn usage_of<'i>(instances: impl Iterator<Item = &'i ec2::Instance>) -> Usage {
    let mut usage = Usage::new();
    for own in instances.filter(|own| is_on_demand(own)) {
        let (instance_type, zone) = (own.pool.instance_type.clone(), own.pool.zone.clone());
        usage.add(&Instance { instance_type, zone }, own.price);
    }
    usage
}

fn is_on_demand(instance: &ec2::Instance) -> bool {
    instance.pool.capacity_type == CapacityType::OnDemand
}

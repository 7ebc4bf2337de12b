//! Instances of the world's EC2 as port `Cloud` shows them.

use controllers::ports::{Instance, InstanceState};
use domain::label;

use crate::ec2;
use crate::world::World;

/// The tag that distinguishes claims of one name.
pub(crate) const CLAIM_UID_TAG: &str = "outrigger.dev/claim-uid";
/// The tag that names an instance's claim.
pub(crate) const CLAIM_TAG: &str = "karpenter.sh/nodeclaim";

/// Instances that EC2 shows with their tags, except those that it shows as terminated.
pub(super) fn described(world: &World) -> impl Iterator<Item = Instance> {
    world
        .ec2
        .described(world.now)
        .filter(|(_, state)| *state != ec2::InstanceState::Terminated)
        .map(|(own, shown_as)| Instance { price: None, state: state(shown_as), ..shown(own) })
}

/// An instance as it is, with its tags.
pub(super) fn shown(instance: &ec2::Instance) -> Instance {
    let tag = |key: &str| instance.tags.get(key).cloned();
    Instance {
        id: instance.id.clone(),
        provider_id: instance.provider_id(),
        instance_type: instance.pool.instance_type.clone(),
        zone: instance.pool.zone.clone(),
        capacity_type: instance.pool.capacity_type,
        reservation_id: instance.reservation.clone(),
        price: Some(instance.price),
        image_id: instance.image.clone(),
        launched: instance.launched,
        state: state(instance.state),
        claim: tag(CLAIM_TAG),
        claim_uid: tag(CLAIM_UID_TAG),
        installation: None,
        node_pool: tag(label::NODE_POOL),
    }
}

fn state(state: ec2::InstanceState) -> InstanceState {
    match state {
        ec2::InstanceState::Pending => InstanceState::Pending,
        ec2::InstanceState::Running => InstanceState::Running,
        ec2::InstanceState::ShuttingDown => InstanceState::ShuttingDown,
        ec2::InstanceState::Terminated => InstanceState::Terminated,
    }
}

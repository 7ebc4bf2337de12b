//! CreateFleet and TerminateInstances, for one instance at a time.

use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::{Text, Timestamp};

use super::capacity_pool::CapacityPool;
use super::cloud::Ec2;
use super::fleet_request::{FleetAnswer, FleetError, FleetOverride, FleetRequest};
use super::instance::{Instance, InstanceState};

/// The share of spot pools that are shallow: `price-capacity-optimized` skips them while there are
/// others.
const SHALLOW_POOLS_PER_MILLE: u32 = 150;

/// Addresses that nodes get their names from, of a network of 16 bits.
const NODE_ADDRESSES: u64 = 256 * 254;

struct Choice {
    wanted: FleetOverride,
    pool: CapacityPool,
    price: UsdPerHour,
    is_shallow: bool,
}

impl Ec2 {
    /// Launches one instance: on-demand the cheapest there is (`lowest-price`), on spot the
    /// cheapest of the deep pools (`price-capacity-optimized`). Equal prices go by type and zone.
    pub fn create_fleet(
        &mut self,
        request: &FleetRequest,
        now: Timestamp,
    ) -> Result<FleetAnswer, FleetError> {
        if self.is_throttled() {
            return Err(FleetError::Throttled);
        }
        if let Some(answer) = self.answers.get(&request.client_token) {
            return Ok(answer.clone());
        }
        let mut draw = self.seed.draw("launch", &format!("{} {now}", request.client_token));
        if draw.happens(self.faults.launches_failed_per_mille) {
            return Err(FleetError::Internal);
        }
        let choices = self.choices(request);
        if choices.is_empty() {
            return Err(FleetError::NothingOffered);
        }
        let mut insufficient = Vec::new();
        let chosen = choices.into_iter().find(|choice| {
            let is_left = !self.is_exhausted(&choice.pool, now);
            if !is_left {
                insufficient.push(choice.pool.clone());
            }
            is_left
        });
        let instance = chosen.map(|choice| self.launch(request, choice, now));
        let answer = FleetAnswer { instance, insufficient };
        if answer.instance.is_some() {
            self.answers.insert(request.client_token.clone(), answer.clone());
            if draw.happens(self.faults.answers_lost_per_mille) {
                return Err(FleetError::AnswerLost);
            }
        }
        Ok(answer)
    }

    /// Terminates an instance; false if there is none by that id. Repeating it changes nothing.
    pub fn terminate(&mut self, id: &str) -> bool {
        match self.instances.get(id) {
            None => false,
            Some(own) if own.is_billed() => self.set_state(id, InstanceState::ShuttingDown),
            Some(_) => true,
        }
    }

    fn choices(&self, request: &FleetRequest) -> Vec<Choice> {
        let mut choices: Vec<Choice> = request
            .overrides
            .iter()
            .filter_map(|wanted| {
                let pool = CapacityPool {
                    instance_type: wanted.instance_type.clone(),
                    zone: wanted.zone.clone(),
                    capacity_type: request.capacity_type,
                };
                let (_, offering) = self.offering(&request.node_class, &pool)?;
                offering.available.then(|| Choice {
                    wanted: wanted.clone(),
                    price: offering.price,
                    is_shallow: self.is_shallow(&pool),
                    pool,
                })
            })
            .collect();
        choices.sort_by(|a, b| {
            (a.is_shallow.cmp(&b.is_shallow))
                .then_with(|| a.price.cmp(&b.price))
                .then_with(|| a.pool.cmp(&b.pool))
        });
        choices
    }

    fn is_shallow(&self, pool: &CapacityPool) -> bool {
        pool.capacity_type == CapacityType::Spot
            && self.seed.draw("depth", &pool.to_string()).happens(SHALLOW_POOLS_PER_MILLE)
    }

    fn launch(&mut self, request: &FleetRequest, choice: Choice, now: Timestamp) -> Text {
        let mut draw = self.seed.draw("instance", &request.client_token);
        let id: Text = format!("i-{}", draw.hex(17)).into();
        let address = (draw.below(64), draw.below(254) + 1);
        let mut registration = request.registration.clone();
        if registration.node_name.is_empty() {
            registration.node_name = self.node_name(address);
        }
        let (capacity, allocatable) = self
            .offering(&request.node_class, &choice.pool)
            .map(|(own, _)| (own.capacity.clone(), own.allocatable.clone()))
            .unwrap_or_default();
        let instance = Instance {
            id: id.clone(),
            pool: choice.pool,
            price: choice.price,
            launched: now,
            state: InstanceState::Pending,
            reclaimed_at: None,
            tags: request.tags.clone(),
            image: request.image.clone(),
            reservation: choice.wanted.reservation,
            capacity,
            allocatable,
            registration,
        };
        self.bill(instance);
        id
    }

    /// `ip-10-0-X-Y.REGION.compute.internal`, counted up until no other instance bears it.
    fn node_name(&self, (third, fourth): (u64, u64)) -> Text {
        let region = self.types.region.as_deref().unwrap_or("us-east-1");
        let taken =
            |name: &str| self.instances.values().any(|own| &*own.registration.node_name == name);
        (0..NODE_ADDRESSES)
            .map(|step| {
                let (third, fourth) = ((third + step / 254) % 256, (fourth + step) % 254 + 1);
                format!("ip-10-0-{third}-{fourth}.{region}.compute.internal")
            })
            .find(|name| !taken(name))
            .unwrap_or_default()
            .into()
    }
}

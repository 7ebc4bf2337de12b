//! CreateFleet and TerminateInstances, for one instance at a time.

use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::{Text, Timestamp};

use super::behaviour::{FailedToken, RepeatedLaunch};
use super::capacity_pool::CapacityPool;
use super::cloud::{Ec2, UsedToken};
use super::fleet_request::{
    CallRefusal, FleetAnswer, FleetError, FleetErrorCode, FleetOverride, FleetRequest, PoolError,
};
use super::instance::{Instance, InstanceState};
use crate::seed::Draw;

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
    ///
    /// Errors are those of the whole call. An answer, with an instance or without, uses the token
    /// up.
    pub fn create_fleet(
        &mut self,
        request: &FleetRequest,
        now: Timestamp,
    ) -> Result<FleetAnswer, FleetError> {
        if self.is_throttled() {
            return Err(FleetError::Refused(CallRefusal::Throttled));
        }
        if let Some(refusal) = self.call_refusal(request, now) {
            return Err(FleetError::Refused(refusal));
        }
        if let Some(answer) = self.answer_to_repetition(request) {
            return answer;
        }
        let mut draw = self.seed.draw("launch", &format!("{} {now}", request.client_token));
        if draw.happens(self.faults.launches_failed_per_mille) {
            return Err(FleetError::Internal);
        }
        let choices = self.choices(request);
        if choices.is_empty() {
            return Err(FleetError::NothingOffered);
        }
        let answer = match self.refusal(request, &choices, now) {
            Some(refusal) => refusal,
            None => self.launch_first(request, choices, now),
        };
        let used = UsedToken { request: request.clone(), answer: answer.clone() };
        self.used_tokens.insert(request.client_token.clone(), used);
        if draw.happens(self.faults.answers_lost_per_mille) {
            return Err(FleetError::AnswerLost);
        }
        Ok(answer)
    }

    /// A refusal of the whole call, whatever its token was used for: AWS does not say which of the
    /// two is looked at first.
    fn call_refusal(&self, request: &FleetRequest, now: Timestamp) -> Option<CallRefusal> {
        let mut draw = self.seed.draw("refuse-call", &format!("{} {now}", request.client_token));
        if !draw.happens(self.behaviour.refused_calls_per_mille) {
            return None;
        }
        let index = draw.below(CallRefusal::ALL.len() as u64);
        let drawn = usize::try_from(index).ok().and_then(|index| CallRefusal::ALL.get(index));
        self.behaviour.call_refusal.or_else(|| drawn.copied())
    }

    /// The answer to a token that was used before; `None` where the request is carried out.
    fn answer_to_repetition(
        &self,
        request: &FleetRequest,
    ) -> Option<Result<FleetAnswer, FleetError>> {
        let UsedToken { request: first, answer } = self.used_tokens.get(&request.client_token)?;
        if first != request {
            return Some(Err(FleetError::ParameterMismatch));
        }
        if answer.instance.is_none() {
            return match self.behaviour.failed_token {
                FailedToken::NewAttempt => None,
                FailedToken::SameAnswer => Some(Ok(answer.clone())),
                FailedToken::Mismatch => Some(Err(FleetError::ParameterMismatch)),
            };
        }
        Some(Ok(match self.behaviour.repeated_launch {
            RepeatedLaunch::SameInstance => answer.clone(),
            RepeatedLaunch::Nothing => FleetAnswer::default(),
            RepeatedLaunch::Refused(code) => {
                let pools = request.overrides.iter().map(|own| pool_of(request, own));
                let errors = pools.take(1).map(|pool| PoolError { pool, code }).collect();
                FleetAnswer { instance: None, errors }
            }
        }))
    }

    /// An answer that nothing was launched, although pools may have capacity.
    fn refusal(
        &self,
        request: &FleetRequest,
        choices: &[Choice],
        now: Timestamp,
    ) -> Option<FleetAnswer> {
        let own = &self.behaviour;
        let is_spot = request.capacity_type == CapacityType::Spot;
        let mut draw = self.seed.draw("refuse", &format!("{} {now}", request.client_token));
        if is_spot && own.lacks_spot_role {
            return Some(self.refused(choices, FleetErrorCode::SpotRoleMissing, &mut draw));
        }
        if draw.happens(own.empty_answers_per_mille) {
            return Some(FleetAnswer::default());
        }
        if !draw.happens(own.refusals_per_mille) {
            return None;
        }
        let code = own.refusal.unwrap_or_else(|| drawn_refusal(request, &mut draw));
        Some(self.refused(choices, code, &mut draw))
    }

    /// An answer without an instance: the true cause for one pool, at any place in the list.
    fn refused(&self, choices: &[Choice], code: FleetErrorCode, draw: &mut Draw) -> FleetAnswer {
        let tried = if self.behaviour.has_fillers { choices } else { &choices[..1] };
        let cause = draw.below(tried.len() as u64);
        let errors = (0..)
            .zip(tried)
            .map(|(index, choice): (u64, &Choice)| PoolError {
                pool: choice.pool.clone(),
                code: if index == cause { code } else { FleetErrorCode::Unfulfillable },
            })
            .collect();
        FleetAnswer { instance: None, errors }
    }

    /// Launches from the first pool that has anything left.
    fn launch_first(
        &mut self,
        request: &FleetRequest,
        mut choices: Vec<Choice>,
        now: Timestamp,
    ) -> FleetAnswer {
        let left = choices.iter().position(|choice| !self.is_exhausted(&choice.pool, now));
        let insufficient = |choice: &Choice| PoolError {
            pool: choice.pool.clone(),
            code: FleetErrorCode::InsufficientCapacity,
        };
        let Some(left) = left else {
            let mut errors: Vec<PoolError> = choices.iter().map(insufficient).collect();
            if self.behaviour.has_fillers {
                errors.iter_mut().skip(1).for_each(|own| own.code = FleetErrorCode::Unfulfillable);
            }
            return FleetAnswer { instance: None, errors };
        };
        let mut errors: Vec<PoolError> = choices[..left].iter().map(insufficient).collect();
        let mut draw = self.seed.draw("beside", &request.client_token);
        if draw.happens(self.behaviour.errors_beside_success_per_mille)
            && let Some(beside) = choices.get(left + 1)
        {
            let code = drawn_refusal(request, &mut draw);
            errors.push(PoolError { pool: beside.pool.clone(), code });
        }
        let instance = Some(self.launch(request, choices.swap_remove(left), now));
        FleetAnswer { instance, errors }
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
                let pool = pool_of(request, wanted);
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

fn pool_of(request: &FleetRequest, wanted: &FleetOverride) -> CapacityPool {
    CapacityPool {
        instance_type: wanted.instance_type.clone(),
        zone: wanted.zone.clone(),
        capacity_type: request.capacity_type,
    }
}

/// A limit of spot instances concerns nothing else.
fn drawn_refusal(request: &FleetRequest, draw: &mut Draw) -> FleetErrorCode {
    let is_spot = request.capacity_type == CapacityType::Spot;
    let mut drawn = || {
        let index = draw.below(FleetErrorCode::REFUSALS.len() as u64);
        FleetErrorCode::REFUSALS[usize::try_from(index).unwrap_or(0)]
    };
    loop {
        let code = drawn();
        if is_spot || code != FleetErrorCode::SpotCount {
            return code;
        }
    }
}

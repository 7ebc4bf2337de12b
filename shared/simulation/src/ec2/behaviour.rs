//! How EC2 behaves where its documentation leaves room, and where it has been seen to be less kind
//! than the documentation reads.
//!
//! The default is what is documented, with no delays, and lets a failed fleet be tried again. Each
//! field is one behaviour, so that each can be tested alone; [`Ec2Behaviour::strict`] turns all of
//! them on. What is documented, seen or assumed stands in `docs/ec2-behaviour.md`.

use domain::SignedDuration;

use super::fleet_request::{CallRefusal, FleetErrorCode};
use crate::seed::{Draw, Seed};

/// The longest that EC2 may not describe a new instance, where that is strict. AWS names no bound.
const DESCRIBED_AFTER_MAX: SignedDuration = SignedDuration::from_secs(30);
/// The longest that tags may be later than their instance, where that is strict.
const TAGS_AFTER_MAX: SignedDuration = SignedDuration::from_secs(15);
/// The longest that reads may go back in time, where that is strict.
const STALE_READS_MAX: SignedDuration = SignedDuration::from_secs(10);

/// How EC2 behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ec2Behaviour {
    /// An instance is not described for up to so long after its launch; drawn for each. Until then
    /// lists lack it, and calls with its id say that there is none.
    pub described_after_max: SignedDuration,
    /// Its tags are shown up to so much later; drawn for each. Until then filters by tag lack it.
    pub tags_after_max: SignedDuration,
    /// For up to so long after an instance was terminated, about every other list shows it as
    /// running; drawn for each instance.
    pub stale_reads_max: SignedDuration,
    /// What becomes of a client token whose fleet launched nothing.
    pub failed_token: FailedToken,
    /// What is answered to a repetition of a request that launched an instance.
    pub repeated_launch: RepeatedLaunch,
    /// Fleets that launch nothing for a reason inside the answer, of a thousand.
    pub refusals_per_mille: u32,
    /// The reason; one of [`FleetErrorCode::REFUSALS`] is drawn where this is `None`.
    pub refusal: Option<FleetErrorCode>,
    /// Calls of CreateFleet that are refused as a whole, of a thousand.
    pub refused_calls_per_mille: u32,
    /// With what; one of [`CallRefusal::ALL`] is drawn where this is `None`.
    pub call_refusal: Option<CallRefusal>,
    /// Fleets with an instance and an error about another pool, of a thousand.
    pub errors_beside_success_per_mille: u32,
    /// Answers with neither an instance nor an error, of a thousand.
    pub empty_answers_per_mille: u32,
    /// An answer without an instance names every pool of the request, of which one has the true
    /// cause; all others have `UnfulfillableCapacity`.
    pub has_fillers: bool,
    /// The account lacks the service-linked role for spot, and we may not create it.
    pub lacks_spot_role: bool,
    /// Instances that EC2 ends within seconds of their launch, since it has no room for them after
    /// all, of a thousand.
    pub early_ends_per_mille: u32,
}

/// What becomes of a client token whose fleet launched nothing. Not documented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailedToken {
    /// The same request is tried anew.
    #[default]
    NewAttempt,
    /// The same request gets the same answer, for good.
    SameAnswer,
    /// Any request with it is refused with `IdempotentParameterMismatch`.
    Mismatch,
}

/// What is answered to a repetition of a request that launched an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatedLaunch {
    /// The same instance, as is documented.
    #[default]
    SameInstance,
    /// Neither an instance nor an error.
    Nothing,
    /// An error inside the answer.
    Refused(FleetErrorCode),
}

impl Ec2Behaviour {
    /// Everything at once. Of behaviours that exclude each other, seeds in a row take each
    /// combination in turn: 48 of them have all. How long delays are and how often answers hold
    /// errors is drawn.
    pub fn strict(seed: u64) -> Self {
        let mut draw = Seed::new(seed).draw("ec2-behaviour", "");
        let (tokens, rest) = (seed % 3, seed / 3);
        let (repetitions, rest) = (rest % 4, rest / 4);
        let mut lag = |most: SignedDuration| draw.between(SignedDuration::ZERO, most);
        let (described_after_max, tags_after_max) = (lag(DESCRIBED_AFTER_MAX), lag(TAGS_AFTER_MAX));
        let stale_reads_max = lag(STALE_READS_MAX);
        let mut share = |most: u64| per_mille(&mut draw, most);
        Self {
            described_after_max,
            tags_after_max,
            stale_reads_max,
            failed_token: match tokens {
                0 => FailedToken::NewAttempt,
                1 => FailedToken::SameAnswer,
                _ => FailedToken::Mismatch,
            },
            repeated_launch: match repetitions {
                0 => RepeatedLaunch::SameInstance,
                1 => RepeatedLaunch::Nothing,
                2 => RepeatedLaunch::Refused(FleetErrorCode::Internal),
                _ => RepeatedLaunch::Refused(FleetErrorCode::Unfulfillable),
            },
            refusals_per_mille: share(200),
            refusal: None,
            errors_beside_success_per_mille: share(200),
            empty_answers_per_mille: share(50),
            refused_calls_per_mille: share(200),
            call_refusal: None,
            has_fillers: rest % 2 == 1,
            lacks_spot_role: (rest / 2) % 2 == 1,
            early_ends_per_mille: share(100),
        }
    }
}

fn per_mille(draw: &mut Draw, most: u64) -> u32 {
    u32::try_from(draw.below(most + 1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_eight_seeds_have_every_combination_and_each_delay() {
        let all: Vec<Ec2Behaviour> = (0..48).map(Ec2Behaviour::strict).collect();
        let mut combinations: Vec<String> = all
            .iter()
            .map(|own| {
                let Ec2Behaviour { failed_token, repeated_launch, has_fillers, .. } = own;
                format!(
                    "{failed_token:?} {repeated_launch:?} {has_fillers} {}",
                    own.lacks_spot_role
                )
            })
            .collect();
        combinations.sort();
        combinations.dedup();
        assert_eq!(combinations.len(), 48);
        let half = SignedDuration::from_secs(15);
        assert!(all.iter().any(|own| own.described_after_max > half));
        assert!(all.iter().all(|own| own.described_after_max <= DESCRIBED_AFTER_MAX));
        assert!(all.iter().any(|own| own.refusals_per_mille > 100));
    }
}

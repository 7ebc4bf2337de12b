//! What a NodePool makes of interruptions, by its annotations.

use std::fmt;

use super::rate::InterruptionRate;
use crate::label::{
    Labels, SPOT_INTERRUPTION_COST, SPOT_INTERRUPTION_COST_DO_NOT_DISRUPT, SPOT_INTERRUPTIONS_MAX,
};
use crate::money::UsdPerHour;
use crate::{SignedDuration, Text};

/// The dearest interruption of a pod, in dollars.
const DOLLARS_MAX: f64 = 1e6;
/// The longest time that an interruption may cost.
const TIME_MAX: SignedDuration = SignedDuration::from_hours(24 * 366);

/// What an interruption costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InterruptionCost {
    /// What its node costs in so long: `15m`.
    NodeTime(SignedDuration),
    /// So much for each of its pods: `$0.02`. In billionths of a dollar.
    PerPod(i64),
}

/// What a NodePool makes of interruptions. Without annotations, nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpotPolicy {
    /// What an interruption costs: annotation `outrigger.dev/spot-interruption-cost`.
    pub cost: Option<InterruptionCost>,
    /// Above which rate an offering is left out while another remains: annotation
    /// `outrigger.dev/spot-interruptions-max`, in 100 node-hours.
    pub max: Option<InterruptionRate>,
    /// What an interruption costs of pods that EC2's notice does not do for: annotation
    /// `outrigger.dev/spot-interruption-cost-do-not-disrupt`. Without it, as much as of others.
    pub do_not_disrupt: Option<InterruptionCost>,
}

/// Why an annotation says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpotPolicyError {
    /// It is neither a time nor dollars.
    #[error(
        "{0:?} is no cost of an interruption: it takes a duration such as 15m, of a node's price, \
         or dollars for each pod, such as $0.02"
    )]
    Cost(Text),
    /// It is no number.
    #[error("{0:?} is no number of interruptions in 100 node-hours, such as 2 or 0.5")]
    Max(Text),
}

impl SpotPolicy {
    /// What annotations say; one that says nothing is left out.
    pub fn of(annotations: &Labels) -> Self {
        Self {
            cost: cost_of(annotations, SPOT_INTERRUPTION_COST).unwrap_or_default(),
            max: max_of(annotations).unwrap_or_default(),
            do_not_disrupt: cost_of(annotations, SPOT_INTERRUPTION_COST_DO_NOT_DISRUPT)
                .unwrap_or_default(),
        }
    }

    /// Whether it chooses among offerings by more than their prices.
    pub const fn is_set(&self) -> bool {
        self.cost.is_some() || self.max.is_some() || self.do_not_disrupt.is_some()
    }

    /// What is wrong with annotations, by key.
    pub fn errors(annotations: &Labels) -> Vec<(&'static str, SpotPolicyError)> {
        let costs = [SPOT_INTERRUPTION_COST, SPOT_INTERRUPTION_COST_DO_NOT_DISRUPT];
        let costs = costs.map(|key| cost_of(annotations, key).err().map(|error| (key, error)));
        let max = max_of(annotations).err().map(|error| (SPOT_INTERRUPTIONS_MAX, error));
        costs.into_iter().flatten().chain(max).collect()
    }
}

impl InterruptionCost {
    /// From an annotation's text: `15m`, `$0.02`, or none at all, `0s`. `None` of anything else.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(dollars) = text.strip_prefix('$') {
            let dollars = decimal(dollars).filter(|own| *own <= DOLLARS_MAX)?;
            return Some(Self::PerPod(UsdPerHour::from_f64(dollars)?.nanos()));
        }
        duration(text).filter(|own| *own <= TIME_MAX).map(Self::NodeTime)
    }

    /// Whether it is nothing.
    pub const fn is_zero(self) -> bool {
        match self {
            Self::NodeTime(time) => time.is_zero(),
            Self::PerPod(nanos) => nanos == 0,
        }
    }
}

impl fmt::Display for InterruptionCost {
    /// As an annotation says it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeTime(time) => match time.as_secs() {
                0 => f.write_str("0s"),
                seconds => {
                    let parts =
                        [(seconds / 3600, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')];
                    parts
                        .into_iter()
                        .filter(|(number, _)| *number > 0)
                        .try_for_each(|(number, unit)| write!(f, "{number}{unit}"))
                }
            },
            Self::PerPod(nanos) => {
                let (whole, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
                let rest = format!("{rest:09}");
                match rest.trim_end_matches('0') {
                    "" => write!(f, "${whole}"),
                    rest => write!(f, "${whole}.{rest}"),
                }
            }
        }
    }
}

fn cost_of(annotations: &Labels, key: &str) -> Result<Option<InterruptionCost>, SpotPolicyError> {
    let Some(text) = annotations.get(key) else { return Ok(None) };
    let cost = InterruptionCost::parse(text).ok_or_else(|| SpotPolicyError::Cost(text.clone()))?;
    Ok((!cost.is_zero()).then_some(cost))
}

fn max_of(annotations: &Labels) -> Result<Option<InterruptionRate>, SpotPolicyError> {
    let Some(text) = annotations.get(SPOT_INTERRUPTIONS_MAX) else { return Ok(None) };
    let count = decimal(text).filter(|own| *own <= DOLLARS_MAX);
    let count = count.ok_or_else(|| SpotPolicyError::Max(text.clone()))?;
    Ok(Some(InterruptionRate::per_100_node_hours(count)))
}

/// Digits with at most one point: neither a sign nor an exponent.
fn decimal(text: &str) -> Option<f64> {
    let is_plain = text.chars().all(|c| c.is_ascii_digit() || c == '.')
        && text.starts_with(|c: char| c.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

/// Whole numbers, each with its unit, as in durations of Karpenter's API.
fn duration(text: &str) -> Option<SignedDuration> {
    let (mut seconds, mut rest) = (0_i64, text);
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = rest[..unit_at].parse().ok()?;
        let times = match rest.as_bytes()[unit_at] {
            b'h' => 3600,
            b'm' => 60,
            b's' => 1,
            _ => return None,
        };
        seconds = seconds.checked_add(number.checked_mul(times)?)?;
        rest = &rest[unit_at + 1..];
    }
    (!text.is_empty()).then(|| SignedDuration::from_secs(seconds))
}

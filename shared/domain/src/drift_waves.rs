//! Drift in waves that halt: `outrigger.dev/drift-waves`, `drift-soak` and `drift-halt-after` of a
//! NodePool.
//!
//! A NodePool, its EC2NodeClass and the images of that class say what its nodes drift to: the
//! target. Nodes made from it are counted, not replacements: a node that a pending pod asked for
//! proves an image as well as one that replaces another.

use std::fmt;
use std::str::FromStr;

use crate::label::DRIFT_WAVES;
use crate::pdb::CountOrPercent;
use crate::{SignedDuration, Text, Timestamp};

/// How long nodes of a wave have to be ready where `drift-soak` does not say.
pub const DEFAULT_SOAK: SignedDuration = SignedDuration::from_mins(10);

/// How long a Node may be registered without being initialized before it counts as one that does
/// not come up: as long as a disruption waits for its replacements.
pub const INITIALIZATION_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

/// In which waves nodes of a NodePool drift, and when that stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriftWaves {
    /// How many nodes have been replaced at the end of each wave, as numbers or shares of the
    /// NodePool's nodes. After the last come all others. Empty where waves do not matter.
    pub sizes: Vec<CountOrPercent>,
    /// Whether the sizes could not be read: then nothing drifts.
    pub is_unreadable: bool,
    /// How long nodes have to be ready before the next wave.
    pub soak: SignedDuration,
    /// After how many failures in a row nothing more drifts; never, where unset. At least 1.
    pub halt_after: Option<u32>,
    /// Nodes made from the target that have failed, as lifecycle recorded them.
    pub failures: DriftFailures,
    /// What drift was stopped for, as lifecycle recorded it.
    pub halted: Option<DriftHalt>,
}

impl Default for DriftWaves {
    fn default() -> Self {
        Self {
            sizes: Vec::new(),
            is_unreadable: false,
            soak: DEFAULT_SOAK,
            halt_after: None,
            failures: DriftFailures::default(),
            halted: None,
        }
    }
}

impl DriftWaves {
    /// How many of so many nodes have been replaced at the end of each wave: ascending, the last
    /// all of them. At least one wave where there is a node.
    pub fn sizes_of(&self, total: u32) -> Vec<u32> {
        let mut sizes: Vec<u32> = Vec::with_capacity(self.sizes.len() + 1);
        for size in &self.sizes {
            let size = size.of(total).clamp(1, total.max(1));
            if sizes.last().is_none_or(|last| *last < size) {
                sizes.push(size);
            }
        }
        if sizes.last().is_none_or(|last| *last < total) {
            sizes.push(total);
        }
        sizes
    }

    /// What is recorded of a halt of drift towards a target.
    pub fn recorded_halt(&self, target: &str) -> Option<&DriftHalt> {
        self.halted.as_ref().filter(|halt| halt.target.as_deref().is_none_or(|own| own == target))
    }

    /// Why nothing drifts towards a target.
    pub fn halt_of(&self, target: &str) -> Option<Text> {
        let unreadable =
            || self.is_unreadable.then(|| format!("{DRIFT_WAVES} has no waves").into());
        self.recorded_halt(target).map(|halt| halt.cause.clone()).or_else(unreadable)
    }
}

/// How far the nodes of a NodePool are on their way to the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriftProgress {
    /// All nodes of the NodePool that are not leaving, those in flight included.
    pub total: u32,
    /// Those of them that are made from the target and have been ready for the soak.
    pub soaked: u32,
    /// Those of them that are made from the target, and are starting or have not been ready for so
    /// long.
    pub starting: u32,
}

/// A wave of drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriftWave {
    /// Its number, from 1.
    pub number: u32,
    /// How many there are.
    pub of: u32,
    /// How many nodes are made from the target at its end.
    pub size: u32,
    /// How far they are.
    pub progress: DriftProgress,
    /// How long they have to be ready before the next wave.
    pub soak: SignedDuration,
}

impl DriftWave {
    /// The wave that a NodePool is in: the first of which not all nodes have been ready for the
    /// soak, else the last.
    pub fn of(waves: &DriftWaves, progress: DriftProgress) -> Self {
        let sizes = waves.sizes_of(progress.total);
        let last = sizes.len() - 1;
        let index = sizes.iter().position(|size| *size > progress.soaked).unwrap_or(last);
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            number: count(index + 1),
            of: count(sizes.len()),
            size: sizes[index],
            progress,
            soak: waves.soak,
        }
    }

    /// How many more nodes may be replaced in it.
    pub const fn left(&self) -> u32 {
        self.size.saturating_sub(self.progress.soaked + self.progress.starting)
    }
}

impl fmt::Display for DriftWave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, of, size, progress, soak } = *self;
        let DriftProgress { total, soaked, starting } = progress;
        write!(
            f,
            "wave {number} of {of} ends at {size} of {total} nodes, {soaked} are replaced and have \
             been ready for {soak:#}, {starting} have not yet"
        )
    }
}

/// Nodes made from a target that did not come up, or did not stay ready for the soak: annotation
/// `outrigger.dev/drift-failures`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriftFailures {
    /// The target ([`crate::drift_target`]); failures towards another say nothing of the current
    /// one.
    pub target: Text,
    /// The failures, by NodeClaim.
    pub claims: Vec<DriftFailure>,
}

/// A node that did not come up, or did not stay ready.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriftFailure {
    /// Its NodeClaim.
    pub claim: Text,
    /// When the claim was made.
    pub created: Timestamp,
    /// Whether drift has been halted for it already, so that it does not count again.
    pub is_settled: bool,
}

impl DriftFailures {
    /// Whether a claim is one of them.
    pub fn contains(&self, claim: &str) -> bool {
        self.claims.iter().any(|own| *own.claim == *claim)
    }

    /// Those that count towards a halt.
    pub fn unsettled(&self) -> impl Iterator<Item = &DriftFailure> {
        self.claims.iter().filter(|own| !own.is_settled)
    }
}

impl fmt::Display for DriftFailures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.target)?;
        for DriftFailure { claim, created, is_settled } in &self.claims {
            let mark = if *is_settled { "!" } else { "" };
            write!(f, " {claim}={created}{mark}")?;
        }
        Ok(())
    }
}

/// An entry of annotation `outrigger.dev/drift-failures` that says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no NodeClaim with a time, such as default-1=2026-11-30T00:00:00Z")]
pub struct NoDriftFailure(String);

impl FromStr for DriftFailures {
    type Err = NoDriftFailure;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = text.split_whitespace();
        let target = words.next().unwrap_or_default().into();
        let claims: Result<_, _> = words
            .map(|word| {
                let (claim, created) =
                    word.split_once('=').ok_or_else(|| NoDriftFailure(word.to_owned()))?;
                let time = created.strip_suffix('!');
                let is_settled = time.is_some();
                let created = time.unwrap_or(created).parse();
                let created = created.map_err(|_| NoDriftFailure(word.to_owned()))?;
                Ok(DriftFailure { claim: claim.into(), created, is_settled })
            })
            .collect();
        Ok(Self { target, claims: claims? })
    }
}

/// Why drift towards a target is halted: annotation `outrigger.dev/drift-halted`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriftHalt {
    /// The target ([`crate::drift_target`]); `None` for any.
    pub target: Option<Text>,
    /// What happened.
    pub cause: Text,
}

impl DriftHalt {
    /// Reads the annotation. Without a cause it is what a user wrote: drift is halted whatever the
    /// target.
    pub fn read(text: &str) -> Self {
        match text.split_once(' ') {
            Some((target, cause)) if is_target(target) => {
                Self { target: Some(target.into()), cause: cause.into() }
            }
            _ => Self { target: None, cause: text.into() },
        }
    }
}

fn is_target(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl fmt::Display for DriftHalt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Some(target) => write!(f, "{target} {}", self.cause),
            None => f.write_str(&self.cause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waves(sizes: &[CountOrPercent]) -> DriftWaves {
        DriftWaves { sizes: sizes.to_vec(), ..DriftWaves::default() }
    }

    #[test]
    fn waves_ascend_to_all_nodes() {
        use CountOrPercent::{Count, Percent};
        let of = |sizes: &[CountOrPercent], total| waves(sizes).sizes_of(total);
        let usual = [Count(1), Percent(10), Percent(50), Percent(100)];
        assert_eq!(of(&usual, 40), [1, 4, 20, 40]);
        assert_eq!(of(&usual, 7), [1, 4, 7]);
        assert_eq!(of(&[Count(1)], 40), [1, 40]);
        assert_eq!(of(&[Count(50)], 40), [40]);
        assert_eq!(of(&[Percent(50), Count(1)], 40), [20, 40]);
        assert_eq!(of(&[], 40), [40]);
        assert_eq!(of(&usual, 0), [1]);
    }

    #[test]
    fn the_next_wave_begins_once_all_nodes_of_the_last_have_soaked() {
        let usual = waves(&[CountOrPercent::Count(1), CountOrPercent::Count(4)]);
        let wave = |soaked, starting| {
            let wave = DriftWave::of(&usual, DriftProgress { total: 40, soaked, starting });
            (wave.number, wave.size, wave.left())
        };
        assert_eq!(wave(0, 0), (1, 1, 1));
        assert_eq!(wave(0, 1), (1, 1, 0));
        assert_eq!(wave(1, 0), (2, 4, 3));
        assert_eq!(wave(3, 1), (2, 4, 0));
        assert_eq!(wave(4, 0), (3, 40, 36));
        assert_eq!(wave(40, 0), (3, 40, 0));
    }

    #[test]
    fn failures_and_halts_are_written_and_read() {
        let created = Timestamp::UNIX_EPOCH;
        let failure =
            |claim: &str, is_settled| DriftFailure { claim: claim.into(), created, is_settled };
        let failures = DriftFailures {
            target: "0123456789abcdef".into(),
            claims: vec![failure("default-1", true), failure("default-2", false)],
        };
        assert_eq!(failures.to_string().parse(), Ok(failures.clone()));
        assert_eq!(failures.unsettled().count(), 1);
        assert!("x default-1".parse::<DriftFailures>().is_err());
        assert!("x default-1=soon".parse::<DriftFailures>().is_err());
        let halt = DriftHalt {
            target: Some("0123456789abcdef".into()),
            cause: "image ami-2: a did not join".into(),
        };
        assert_eq!(DriftHalt::read(&halt.to_string()), halt);
        let by_hand = DriftHalt { target: None, cause: "not this week".into() };
        assert_eq!(DriftHalt::read("not this week"), by_hand);
        let waves = DriftWaves { halted: Some(halt), ..DriftWaves::default() };
        assert!(waves.halt_of("0123456789abcdef").is_some());
        assert!(waves.halt_of("fedcba9876543210").is_none());
    }
}

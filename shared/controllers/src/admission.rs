//! Whether functions may act in a cluster, asked at the beginning of every run: an operator may have
//! paused it, and it may belong to somebody else.

use domain::{SignedDuration, Text, Timestamp};
use futures_util::future::try_join3;

use crate::fuses::{Fuses, Urgency};
use crate::ports::cluster::ControlsObject;
use crate::ports::error::{ErrorKind, PortError};
use crate::ports::{ClaimStore, Clock, Cluster, Ports};
use crate::record::controls::{Controls, Mode, UnreadableControl};
use crate::run::Run;

/// A Karpenter whose lease was renewed more recently than this runs. It renews it every two seconds
/// and loses it after fifteen; the rest is for clocks that differ.
const KARPENTER_LEASE_AGE_MAX: SignedDuration = SignedDuration::from_secs(60);

/// What holds for an installation unless an operator has said something else of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Safeguards {
    /// The installation's id, as NAME/UUID of its stack: clusters and instances bear it.
    pub installation: Text,
    /// Whether functions act.
    pub mode: Mode,
    /// How much they may do.
    pub fuses: Fuses,
}

/// That a run may take place, and within which bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// What it may change.
    pub scope: Scope,
    /// How much it may do.
    pub fuses: Fuses,
    /// Instances without a claim are terminated however many there are: an operator has confirmed
    /// that they are orphans.
    pub ends_orphans: bool,
}

/// What a run may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything that it is for.
    All,
    /// What replaces and drains nodes that EC2 interrupts.
    Interruptions,
    /// Nothing: it plans, and writes events and the plan.
    Nothing,
}

/// Why functions do nothing in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// An operator paused it.
    #[error("the cluster is {0}: `outrigger resume` ends that")]
    Paused(Mode),
    /// The cluster bears the mark of another installation.
    #[error("the cluster belongs to installation {owner}: `outrigger take-over` would change that")]
    OwnedByAnother {
        /// Its id.
        owner: Text,
    },
    /// Karpenter runs in the cluster.
    #[error("Karpenter runs in the cluster, and renewed its lease at {renewed}: stop it first")]
    KarpenterRuns {
        /// When.
        renewed: Timestamp,
    },
    /// The ConfigMap is missing.
    #[error("ConfigMap kube-system/outrigger is missing: apply infra/kubernetes")]
    NoConfigMap,
    /// What an operator said cannot be read.
    #[error("{place}: {error}")]
    Unreadable {
        /// The table, or the ConfigMap.
        place: &'static str,
        /// Which value.
        error: UnreadableControl,
    },
}

impl Stopped {
    /// Whether an operator wants it so, and nobody needs to be told.
    pub const fn is_wanted(&self) -> bool {
        matches!(self, Self::Paused(_))
    }
}

/// Asks whether a run may take place. The first run in a cluster that belongs to nobody marks it as
/// this installation's.
///
/// # Errors
///
/// When table or cluster cannot be asked. Nothing may be done then.
pub async fn admit<P: Ports>(
    ports: &P,
    run: &Run<'_>,
) -> Result<Result<Admission, Stopped>, PortError> {
    let cluster = ports.cluster();
    let asked =
        try_join3(ports.store().controls(), cluster.controls(), cluster.karpenter_renewed());
    let (stored, object, karpenter) = asked.await?;
    let stored = match Controls::read(|key| stored.get(key).map(|value| &**value)) {
        Ok(controls) => controls,
        Err(error) => return Ok(Err(Stopped::Unreadable { place: "table", error })),
    };
    let said = object.as_ref().map(|own| Controls::read(|key| own.value(key))).transpose();
    let said = match said {
        Ok(said) => said.unwrap_or_default(),
        Err(error) => {
            let place = "ConfigMap kube-system/outrigger";
            return Ok(Err(Stopped::Unreadable { place, error }));
        }
    };
    let owner = said.installation.clone();
    let controls = stored.and(said);
    let now = ports.clock().now();
    let admission = |scope| Admission {
        scope,
        fuses: controls.fuses.over(&run.safeguards.fuses),
        ends_orphans: controls.end_orphans_until.is_some_and(|until| now < until),
    };
    let scope = match controls.mode.unwrap_or(run.safeguards.mode) {
        Mode::Active => Scope::All,
        // Whoever acts in the cluster, watching does no harm.
        Mode::Observe => return Ok(Ok(admission(Scope::Nothing))),
        Mode::PausedExceptInterruptions => Scope::Interruptions,
        paused @ Mode::Paused => return Ok(Err(Stopped::Paused(paused))),
    };
    let Some(object) = object else { return Ok(Err(Stopped::NoConfigMap)) };
    if let Some(owner) = owner.clone().filter(|own| *own != run.safeguards.installation) {
        return Ok(Err(Stopped::OwnedByAnother { owner }));
    }
    if let Some(renewed) =
        karpenter.filter(|own| now.duration_since(*own) < KARPENTER_LEASE_AGE_MAX)
    {
        return Ok(Err(Stopped::KarpenterRuns { renewed }));
    }
    if owner.is_none()
        && let Some(stopped) = mark(ports, run, &object).await?
    {
        return Ok(Err(stopped));
    }
    Ok(Ok(admission(scope)))
}

/// Marks the cluster as this installation's. Where another function, or another installation, was
/// faster, what it wrote counts.
async fn mark<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    object: &ControlsObject,
) -> Result<Option<Stopped>, PortError> {
    let installation = &run.safeguards.installation;
    match ports.cluster().mark_owner(installation, object).await {
        Ok(()) => return Ok(None),
        Err(error) if error.kind == ErrorKind::Conflict => {}
        Err(error) => return Err(error),
    }
    let now_there = ports.cluster().controls().await?;
    let owner = now_there.as_ref().and_then(|own| own.value(crate::record::controls::INSTALLATION));
    match owner {
        Some(owner) if *owner == **installation => Ok(None),
        Some(owner) => Ok(Some(Stopped::OwnedByAnother { owner: owner.into() })),
        None => Err(PortError::new(
            ErrorKind::Conflict,
            "mark the cluster",
            "ConfigMap kube-system/outrigger was changed concurrently",
        )),
    }
}

impl Admission {
    /// Whether launches may be made at all, and how urgent they are.
    pub(crate) const fn launches(&self, urgency: Urgency) -> bool {
        match self.scope {
            Scope::All => true,
            Scope::Interruptions => matches!(urgency, Urgency::Interruption),
            Scope::Nothing => false,
        }
    }
}

#[cfg(test)]
mod tests;

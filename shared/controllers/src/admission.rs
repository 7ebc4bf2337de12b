//! Asks at the beginning of every run whether anything may be done in the cluster: an operator may
//! have paused it, and it may belong to somebody else.

use domain::SignedDuration;
use futures_util::future::try_join3;

use crate::ports::cluster::ControlsObject;
use crate::ports::error::{ErrorKind, PortError};
use crate::ports::{ClaimStore, Clock, Cluster, Ports};
use crate::record::controls::{Controls, Mode};
use crate::run::Run;
use crate::safeguards::{Admission, Scope, Stopped};

/// A Karpenter whose lease was renewed more recently than this runs. It renews it every two seconds
/// and loses it after fifteen; the rest is for clocks that differ.
const KARPENTER_LEASE_AGE_MAX: SignedDuration = SignedDuration::from_secs(60);

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

#[cfg(test)]
mod tests;

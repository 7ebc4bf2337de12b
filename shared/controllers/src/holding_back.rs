//! Counting launches and terminations, and holding back what is too much.

use std::collections::BTreeSet;

use domain::Text;
use domain::money::UsdPerHour;

use crate::event::{Event, EventReason, Subject};
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, Clock, Ports, Version, Versioned};
use crate::record::claim::ClaimRecord;
use crate::record::fuses::{Counted, Fuses, HeldBack, RecentActions};
use crate::run::Run;
use crate::steps::snapshot::ClusterState;

/// Which of several launches may be made alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// Any: the others follow later.
    Some,
    /// None: they replace something together.
    All,
}

/// The counts of one kind, as read, to be written before anything is done.
pub(crate) struct Tally {
    what: Counted,
    version: Option<Version>,
    pub(crate) recent: RecentActions,
}

impl Tally {
    pub(crate) async fn read<S: ClaimStore>(store: &S, what: Counted) -> Result<Self, PortError> {
        let stored = store.recent_actions(what).await?;
        let version = stored.as_ref().map(|own| own.version);
        let recent = stored.map(|Versioned { record, .. }| record).unwrap_or_default();
        Ok(Self { what, version, recent })
    }

    /// Counts actions that come next.
    pub(crate) async fn count<P: Ports>(
        &mut self,
        ports: &P,
        count: usize,
    ) -> Result<(), PortError> {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.recent.add(ports.clock().now(), count);
        let version = self.version;
        let written = ports.store().put_recent_actions(self.what, &self.recent, version).await?;
        self.version = Some(written);
        Ok(())
    }
}

/// Keeps the claims that may be launched now, in order, and counts them.
///
/// # Errors
///
/// When the counts could not be read or written: nothing may be launched then.
pub(crate) async fn hold_back_launches<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    (fuses, share): (&Fuses, Share),
    mut records: Vec<ClaimRecord>,
    observed: &ClusterState,
) -> Result<(Vec<ClaimRecord>, Option<HeldBack>), PortError> {
    if records.is_empty() {
        return Ok((records, None));
    }
    let mut tally = Tally::read(ports.store(), Counted::Launches).await?;
    let prices: Vec<UsdPerHour> = records.iter().map(ClaimRecord::price).collect();
    let running = observed.claims.iter().map(|claim| &claim.record);
    let running = running.filter(|record| record.ending.is_none()).map(ClaimRecord::price).sum();
    let when = (ports.clock().now(), run.urgency);
    let (count, fuse) = fuses.launches(&tally.recent, when, running, &prices);
    let count = if share == Share::All && fuse.is_some() { 0 } else { count };
    let held = records.split_off(count);
    if !records.is_empty() {
        tally.count(ports, records.len()).await?;
    }
    let held = fuse.map(|fuse| HeldBack {
        what: Counted::Launches,
        count: held.len(),
        fuse,
        node_pools: pools(&held),
    });
    Ok((records, held))
}

/// NodePools of claims, sorted.
fn pools(records: &[ClaimRecord]) -> Vec<Text> {
    let pools: BTreeSet<Text> =
        records.iter().filter_map(|own| own.claim.node_pool().cloned()).collect();
    pools.into_iter().collect()
}

impl HeldBack {
    /// The events that say so.
    pub(crate) fn events(&self) -> impl Iterator<Item = Event> {
        self.node_pools.iter().map(move |pool| {
            Event::new(Subject::NodePool(pool.clone()), EventReason::HeldBackByFuse, self)
        })
    }
}

//! Interruption: EC2 takes an instance back, or says that it will.
//!
//! A notice names an instance and no cluster: the index leads to its claim, and from there to its cluster.
//! What a notice comes to is stored first: the offering is not tried for a while, and the claim is marked
//! for its end. Then each cluster is looked at once for all of its notices: the Nodes are tainted, one plan
//! launches replacements for all of their pods, and lifecycle takes its first step. Whatever is left goes
//! on in the ticks of provisioning and lifecycle, which find the marks.
//!
//! Notices may come twice, late and out of order: an end that is decided keeps its first reason and its
//! earliest deadline. A notice has been dealt with once its mark is stored, and only then.

mod clusters;
mod health;
mod mark;
mod notice;
mod react;

use std::collections::{BTreeMap, BTreeSet};

use domain::settings::Settings;
use domain::{Text, Timestamp};
use futures_util::future::join_all;

use crate::core::Core;
use crate::event::Event;
use crate::lifecycle::LifecycleReport;
use crate::ports::error::{ErrorKind, PortError};
use crate::ports::{ClaimPlace, Ports};
use crate::provisioning::ProvisioningReport;
use crate::run::{Problems, Run, is_over};

pub use clusters::Clusters;
pub use health::{HealthReport, Unhealthy, check_health};
pub use notice::{Notice, NoticeKind, SPOT_NOTICE};

use mark::{Marked, mark};

/// So many instances are looked up, or claims written, at once.
const CLAIMS_CONCURRENCY_MAX: usize = 25;

/// The terms of a run for whichever clusters notices concern.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Settings.
    pub settings: &'a Settings,
    /// Who decides.
    pub core: Core,
    /// Unique to this run; holds its leases.
    pub id: &'a str,
    /// When nothing new is begun: what is left waits for the ticks of other functions.
    pub deadline: Timestamp,
}

/// What came of notices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct InterruptionReport {
    /// What was done about each, in order. One with an error must come again: nothing is lost by that, and
    /// nothing is done twice.
    pub outcomes: Vec<Result<NoticeOutcome, PortError>>,
    /// What was done in the clusters concerned.
    pub clusters: Vec<ClusterReport>,
}

/// What was done about a notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticeOutcome {
    /// No claim has the instance.
    NotOurs,
    /// It is remembered with the claim, which stays.
    Noted(ClaimPlace),
    /// The claim ends.
    Ending {
        /// The claim.
        place: ClaimPlace,
        /// Its NodePool.
        node_pool: Text,
        /// Its end was decided, or made more urgent, by this notice.
        is_news: bool,
        /// By when its pods are gone.
        deadline: Option<Timestamp>,
    },
    /// The claim had gone meanwhile, or its instance was being ended already.
    AlreadyGone(ClaimPlace),
}

/// What was done in a cluster. All of it goes on without the notice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterReport {
    /// The cluster.
    pub cluster: Text,
    /// Nodes that take no more pods and no more traffic.
    pub tainted: Vec<Text>,
    /// What was planned and launched; `None` where another run held the lease all the time and plans itself.
    pub provisioning: Option<ProvisioningReport>,
    /// The first step of the drain; `None` where another run is at it.
    pub lifecycle: Option<LifecycleReport>,
    /// What did not work.
    pub problems: Problems,
}

/// Handles notices, for whichever clusters they are. What goes wrong for one notice, or in one cluster,
/// leaves all others alone.
pub async fn handle<C: Clusters>(
    clusters: &C,
    terms: &Terms<'_>,
    notices: &[Notice],
) -> InterruptionReport {
    let places = locate(clusters, notices).await;
    let mut outcomes: Vec<Result<NoticeOutcome, PortError>> = Vec::with_capacity(notices.len());
    let mut work: BTreeMap<Text, Work<'_>> = BTreeMap::new();
    for (index, notice) in notices.iter().enumerate() {
        outcomes.push(match places.get(&notice.instance_id) {
            Some(Ok(Some(place))) => {
                let claims = &mut work.entry(place.cluster.clone()).or_default().0;
                claims.entry(place.claim.clone()).or_default().push((index, notice));
                // Overwritten by what comes of it.
                Ok(NoticeOutcome::AlreadyGone(place.clone()))
            }
            Some(Err(error)) => Err(error.clone()),
            Some(Ok(None)) | None => Ok(NoticeOutcome::NotOurs),
        });
    }
    let done =
        join_all(work.iter().map(|(cluster, work)| in_cluster(clusters, terms, cluster, work)))
            .await;
    let mut reports = Vec::with_capacity(done.len());
    for (cluster_outcomes, report) in done {
        for (index, outcome) in cluster_outcomes {
            outcomes[index] = outcome;
        }
        reports.extend(report);
    }
    InterruptionReport { outcomes, clusters: reports }
}

/// What there is to do in a cluster: notices and their numbers, by claim.
#[derive(Default)]
struct Work<'n>(BTreeMap<Text, Vec<(usize, &'n Notice)>>);

type Place = Result<Option<ClaimPlace>, PortError>;

/// Whose instances notices are about, each asked once.
async fn locate<'n, C: Clusters>(clusters: &C, notices: &'n [Notice]) -> BTreeMap<&'n Text, Place> {
    let ids: BTreeSet<&Text> = notices.iter().map(|notice| &notice.instance_id).collect();
    let ids: Vec<&Text> = ids.into_iter().collect();
    let mut places = BTreeMap::new();
    for ids in ids.chunks(CLAIMS_CONCURRENCY_MAX) {
        let found = join_all(ids.iter().map(|id| clusters.claim_of_instance(id))).await;
        places.extend(ids.iter().copied().zip(found));
    }
    places
}

type Outcomes = Vec<(usize, Result<NoticeOutcome, PortError>)>;

/// Stores what the notices of a cluster come to, then acts upon it. `None` where there is nothing to act
/// upon.
async fn in_cluster<C: Clusters>(
    clusters: &C,
    terms: &Terms<'_>,
    cluster: &Text,
    work: &Work<'_>,
) -> (Outcomes, Option<ClusterReport>) {
    let mut report = ClusterReport { cluster: cluster.clone(), ..ClusterReport::default() };
    let store = match clusters.records(cluster) {
        Ok(store) => store,
        Err(error) => {
            let all = work.0.values().flatten();
            return (all.map(|(index, _)| (*index, Err(error.clone()))).collect(), None);
        }
    };
    let claims: Vec<(&Text, &Vec<(usize, &Notice)>)> = work.0.iter().collect();
    let now = clusters.now();
    let mut outcomes = Outcomes::new();
    let (mut urgent, mut events): (BTreeSet<Text>, Vec<Event>) = Default::default();
    for batch in claims.chunks(CLAIMS_CONCURRENCY_MAX) {
        let marked = join_all(batch.iter().map(|(claim, notices)| {
            let notices: Vec<&Notice> = notices.iter().map(|(_, notice)| *notice).collect();
            mark(&*store, now, claim, notices)
        }))
        .await;
        for ((claim, notices), marked) in batch.iter().zip(marked) {
            let place = ClaimPlace { cluster: cluster.clone(), claim: (*claim).clone() };
            for (index, notice) in *notices {
                outcomes.push((*index, outcome(notice, &place, &marked)));
            }
            if let Ok(mut marked) = marked {
                events.append(&mut marked.events);
                report.problems.0.append(&mut marked.problems.0);
                if marked.is_urgent {
                    urgent.insert((*claim).clone());
                }
            }
        }
    }
    if urgent.is_empty() && events.is_empty() {
        return (outcomes, (!report.problems.0.is_empty()).then_some(report));
    }
    let opened = clusters.open(cluster).await;
    if let Some(ports) = report.problems.note(|| format!("open cluster {cluster}"), opened) {
        let run = Run {
            cluster,
            settings: terms.settings,
            core: terms.core,
            id: terms.id,
            deadline: terms.deadline,
        };
        act(&*ports, &run, &urgent, &events, &mut report).await;
    }
    (outcomes, Some(report))
}

async fn act<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    urgent: &BTreeSet<Text>,
    events: &[Event],
    report: &mut ClusterReport,
) {
    if !urgent.is_empty() && !is_over(ports, run) {
        react::react(ports, run, urgent, report).await;
    }
    crate::run::record_events(ports.cluster(), events, &mut report.problems).await;
}

fn outcome(
    notice: &Notice,
    place: &ClaimPlace,
    marked: &Result<Marked, PortError>,
) -> Result<NoticeOutcome, PortError> {
    let marked = marked.as_ref().map_err(Clone::clone)?;
    let Some(record) = marked.record.as_ref().filter(|_| !marked.is_past) else {
        return Ok(NoticeOutcome::AlreadyGone(place.clone()));
    };
    if notice.kind == NoticeKind::RebalanceRecommendation {
        return Ok(NoticeOutcome::Noted(place.clone()));
    }
    let Some(ending) = &record.ending else {
        let what = format!("claim {} was to end and does not", place.claim);
        return Err(PortError::new(ErrorKind::Unknown, "mark a claim", what));
    };
    Ok(NoticeOutcome::Ending {
        place: place.clone(),
        node_pool: record.launch.node_pool.clone(),
        is_news: marked.is_news,
        deadline: ending.deadline,
    })
}

#[cfg(test)]
mod tests;

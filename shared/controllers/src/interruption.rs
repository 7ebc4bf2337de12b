//! Interruption: EC2 interrupts an instance, or announces that it will.
//!
//! A notice names an instance but no cluster: an index leads to its claim, and so to its cluster.
//! The consequences are stored first: the offering is marked unavailable, and the claim is marked
//! as ending. Then each cluster is listed once for all of its notices: Nodes are tainted, one plan
//! launches replacements for all of their pods, and lifecycle takes its first step. What is left to
//! do is done by later runs of provisioning and lifecycle, which find the marks.
//!
//! Notices may arrive twice, late and out of order: a claim that is ending keeps its first reason
//! and its earliest deadline. A notice is handled once its consequences are stored, and only then.

mod clusters;
mod health;
mod mark;
mod notice;
mod react;
mod report;

use std::collections::{BTreeMap, BTreeSet};

use domain::settings::Settings;
use domain::spot::SpotEventKind;
use domain::{Text, Timestamp};
use futures_util::future::join_all;

use crate::core::Core;
use crate::event::Event;
use crate::ports::error::{ErrorKind, PortError};
use crate::ports::{ClaimPlace, ClaimStore};
use crate::record::fuses::Urgency;
use crate::record::spot::Sighting;
use crate::run::Run;
use crate::safeguards::Safeguards;
use crate::spot;

pub use clusters::Clusters;
pub use health::{HealthReport, Unhealthy, check_health};
pub use notice::{Notice, NoticeKind, SPOT_NOTICE};
pub use report::{ClusterReport, InterruptionReport, NoticeOutcome};

use mark::{CLAIMS_CONCURRENCY_MAX, Marked, mark};
use react::act;

/// Parameters of a run that handles notices for any clusters.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Settings.
    pub settings: &'a Settings,
    /// What holds unless an operator has said something else of a cluster.
    pub safeguards: &'a Safeguards,
    /// The planner and checker, or a test's own.
    pub core: Core,
    /// Id of the run, unique to it; holder of its leases.
    pub id: &'a str,
    /// When no new work is started; what is left is done by other functions.
    pub deadline: Timestamp,
    /// When the process is ended at the latest, whatever it does then.
    pub process_ends: Timestamp,
    /// As [`Run::wakes`].
    pub wakes: bool,
}

/// Handles notices of any clusters. A failure for one notice, or in one cluster, does not affect
/// the others.
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
                // Replaced by the outcome of handling it.
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

/// Notices of a cluster with their indices, by claim.
#[derive(Default)]
struct Work<'n>(BTreeMap<Text, Vec<(usize, &'n Notice)>>);

type Place = Result<Option<ClaimPlace>, PortError>;

/// The claims of the instances that notices name, each looked up once.
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

/// Stores the consequences of a cluster's notices, then acts on them. The report is `None` when
/// there is nothing to act on.
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
    let mut sightings: Vec<Sighting> = Vec::new();
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
                sightings.append(&mut marked.sightings);
                report.problems.0.append(&mut marked.problems.0);
                if marked.is_urgent {
                    urgent.insert((*claim).clone());
                }
            }
        }
    }
    if urgent.is_empty() && events.is_empty() {
        let counted = count_seen(&*store, now, &sightings, &mut report).await;
        let says_nothing = report.problems.0.is_empty() && report.spot_interruptions.is_empty();
        let outcomes = counted_or_again(outcomes, counted, work, &sightings);
        return (outcomes, (!says_nothing).then_some(report));
    }
    let acting = act_in(clusters, terms, &urgent, &events, &mut report);
    if clusters.within(terms.deadline, acting).await.is_none() {
        // Waiting for it would take the notices of all other clusters with it.
        let why = "its API server, or AWS, did not answer before the deadline";
        let late = PortError::new(ErrorKind::Unavailable, "act on notices", why);
        report.problems.record(|| format!("act in cluster {cluster}"), Err::<(), _>(late));
    }
    let counted = count_seen(&*store, now, &sightings, &mut report).await;
    (counted_or_again(outcomes, counted, work, &sightings), Some(report))
}

/// Connects to the cluster of a report and acts there.
async fn act_in<C: Clusters>(
    clusters: &C,
    terms: &Terms<'_>,
    urgent: &BTreeSet<Text>,
    events: &[Event],
    report: &mut ClusterReport,
) {
    let cluster = report.cluster.clone();
    let opened = clusters.open(&cluster).await;
    let connecting = || format!("connect to cluster {cluster}");
    let Some(ports) = report.problems.record(connecting, opened) else { return };
    let run = Run {
        cluster: &cluster,
        settings: terms.settings,
        safeguards: terms.safeguards,
        urgency: Urgency::Interruption,
        core: terms.core,
        id: terms.id,
        deadline: terms.deadline,
        process_ends: terms.process_ends,
        wakes: terms.wakes,
        continues: None,
    };
    act(&*ports, &run, urgent, events, report).await;
}

/// Counts what notices say of spot offerings, once everything urgent is done.
async fn count_seen<S: ClaimStore>(
    store: &S,
    now: Timestamp,
    sightings: &[Sighting],
    report: &mut ClusterReport,
) -> Result<(), PortError> {
    for Sighting { event, .. } in spot::count(store, sightings, now).await? {
        if event.kind == SpotEventKind::Interruption {
            let offering = (event.instance_type, event.zone);
            *report.spot_interruptions.entry(offering).or_default() += 1;
        }
    }
    Ok(())
}

/// The outcomes, where notices that could not be counted must be delivered again.
fn counted_or_again(
    mut outcomes: Outcomes,
    counted: Result<(), PortError>,
    work: &Work<'_>,
    sightings: &[Sighting],
) -> Outcomes {
    let Err(error) = counted else { return outcomes };
    let notices = work.0.values().flatten();
    let uncounted: BTreeSet<usize> = notices
        .filter(|(_, notice)| sightings.iter().any(|own| own.id == notice.instance_id))
        .map(|(index, _)| *index)
        .collect();
    for (index, outcome) in &mut outcomes {
        if uncounted.contains(index) {
            *outcome = Err(error.clone());
        }
    }
    outcomes
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
        let what = format!("claim {} was marked as ending but is not", place.claim);
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

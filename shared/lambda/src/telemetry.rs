//! What an invocation did, as logs, as metrics and in its answer.
//!
//! Names and labels of metrics are Karpenter's where it has the metric
//! (<https://karpenter.sh/docs/reference/metrics/>); ours begin with `outrigger_`.

use std::cell::RefCell;

use controllers::handback::is_of_hand_back;
use controllers::launch::{ClaimLaunch, LaunchReport, LaunchResult};
use controllers::ports::{ErrorKind, PortError};
use controllers::record::fuses::HeldBack;
use controllers::run::{Problems, RunOutcome};
use controllers::safeguards::Stopped;
use domain::Text;
use tracing::field::display;

use crate::failure::Failure;
use crate::hand_back::HandBackAnswer;
use crate::metrics::{Metrics, Unit};
use crate::summary::Summary;

/// Logs, metrics and summary of one invocation, as far as they concern one cluster.
#[derive(Debug)]
pub struct Telemetry {
    metrics: Metrics,
    /// Field `cluster` of log lines; `None` where an invocation serves a single cluster.
    logged_cluster: Option<Text>,
    ledger: RefCell<Ledger>,
}

/// What decides how an invocation ends.
#[derive(Debug, Default)]
struct Ledger {
    summary: Summary,
    /// The first failure that retrying cannot mend. The invocation reports it once it has done what
    /// it could.
    needs_operator: Option<Failure>,
    /// Why the latest failed run failed.
    run_error: Option<PortError>,
}

impl Telemetry {
    /// For an invocation that serves a single cluster, or the region as a whole.
    pub fn new(metrics: Metrics) -> Self {
        Self { metrics, logged_cluster: None, ledger: RefCell::default() }
    }

    /// For one of several clusters that an invocation serves: log lines name it.
    pub fn of_cluster(metrics: Metrics, cluster: &Text) -> Self {
        Self { logged_cluster: Some(cluster.clone()), ..Self::new(metrics) }
    }

    /// The metrics of the cluster.
    pub const fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Whether a run took place, or did not because nothing is to be done in the cluster.
    pub fn has_run(&self) -> bool {
        let summary = &self.ledger.borrow().summary;
        summary.runs > 0 || summary.stopped.is_some()
    }

    /// Records a run of the function's controller. `record_report` is given the report of a run
    /// that took place.
    pub fn record_run<R>(
        &self,
        result: Result<RunOutcome<R>, PortError>,
        record_report: impl FnOnce(&R),
    ) {
        match result {
            Ok(RunOutcome::Ran(report)) => {
                self.ledger.borrow_mut().summary.runs += 1;
                self.metrics.count("outrigger_runs_total", &[], 1);
                self.not_acting(false);
                record_report(&report);
            }
            Ok(RunOutcome::Held(lease)) if is_of_hand_back(&lease) => self.record_handed_back(),
            Ok(RunOutcome::Held(lease)) => {
                self.ledger.borrow_mut().summary.held += 1;
                self.metrics.count("outrigger_runs_held_total", &[], 1);
                tracing::info!(
                    holder = %lease.holder,
                    until = %lease.until,
                    "skipping run: another run holds the lease"
                );
            }
            Ok(RunOutcome::Stopped(why)) => self.record_stopped(&why),
            Ok(RunOutcome::Superseded) => {
                tracing::debug!("skipping run: another has taken over");
            }
            Err(error) => {
                tracing::error!(%error, kind = %error.kind, "run failed");
                self.count_error(&error);
                let mut ledger = self.ledger.borrow_mut();
                ledger.summary.failed += 1;
                ledger.note_failure(&error);
                ledger.run_error = Some(error);
            }
        }
    }

    /// Records that nothing is done in the cluster, and why. A pause is no trouble: alarms take it
    /// for a run that succeeded.
    pub fn record_stopped(&self, why: &Stopped) {
        let cluster = self.logged_cluster.as_ref().map(display);
        self.ledger.borrow_mut().summary.stopped = Some(why.to_string());
        if why.is_wanted() {
            self.metrics.count("outrigger_runs_total", &[], 1);
            tracing::info!(cluster, %why, "skipping run");
        } else {
            tracing::error!(cluster, %why, "skipping run");
        }
        self.not_acting(!why.is_wanted());
    }

    /// Whether something keeps functions from acting that an operator has to know of.
    fn not_acting(&self, is_so: bool) {
        let value = if is_so { 1.0 } else { 0.0 };
        self.metrics.gauge("outrigger_not_acting", &[], Unit::Count, value);
        self.record_needs_operator(is_so);
    }

    /// Counts what an operator has to look at: one alarm is about all of it. What it is has a
    /// metric of its own, which is on the dashboard, and a line of the log.
    pub fn record_needs_operator(&self, is_so: bool) {
        self.metrics.count("outrigger_needs_operator", &[], usize::from(is_so));
    }

    /// Records what fuses hold back.
    pub fn record_held_back(&self, held: Option<&HeldBack>) {
        let cluster = self.logged_cluster.as_ref().map(display);
        if let Some(held) = held {
            tracing::warn!(cluster, what = %held.what, count = held.count, fuse = %held.fuse, "held back by a fuse");
        }
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let count = held.map_or(0, |own| own.count) as f64;
        self.metrics.gauge("outrigger_held_back", &[], Unit::Count, count);
        self.record_needs_operator(held.is_some());
    }

    /// Records that nothing is done, because the cluster was handed back to Karpenter.
    pub fn record_handed_back(&self) {
        self.ledger.borrow_mut().summary.is_handed_back = true;
        self.metrics.count("outrigger_runs_held_total", &[], 1);
        tracing::warn!(
            "skipping run: this cluster was handed back to Karpenter; to take it over again, \
             invoke lifecycle with {{\"cluster\": \"NAME\", \"handBack\": false}}; disable its \
             schedules until then"
        );
    }

    /// Puts into the summary how far handing the cluster back has come.
    pub fn set_hand_back(&self, answer: HandBackAnswer) {
        self.ledger.borrow_mut().summary.hand_back = Some(answer);
    }

    /// Records operations that failed in a run that went on.
    pub fn record_problems(&self, problems: &Problems) {
        for problem in &problems.0 {
            self.record_problem(&problem.operation, &problem.error);
        }
    }

    /// Records an operation that failed in a run that went on.
    pub fn record_problem(&self, doing: &str, error: &PortError) {
        let cluster = self.logged_cluster.as_ref().map(display);
        tracing::warn!(cluster, %error, kind = %error.kind, doing, "operation failed");
        self.count_error(error);
        self.ledger.borrow_mut().note_failure(error);
    }

    /// Counts an error that was logged elsewhere.
    pub fn count_error(&self, error: &PortError) {
        self.metrics.count("outrigger_errors_total", &[("kind", error.kind.label())], 1);
    }

    /// Records that a plan broke rules and was not carried out. Without violations there is nothing
    /// to record.
    pub fn record_refused_plan(&self, violations: &[Text]) {
        if violations.is_empty() {
            return;
        }
        let cluster = self.logged_cluster.as_ref().map(display);
        let violations = violations.join("; ");
        tracing::error!(cluster, violations, "plan refused by the checker");
        self.metrics.count("outrigger_plans_refused_total", &[], 1);
        self.record_needs_operator(true);
        let refused = || Failure::Refused(violations);
        self.ledger.borrow_mut().needs_operator.get_or_insert_with(refused);
    }

    /// Records launches. `reason` is why their claims were created, a label of the metric.
    pub fn record_launches(&self, report: &LaunchReport, reason: &str) {
        for launch in &report.launches {
            self.record_launch(launch, reason);
        }
        self.record_problems(&report.problems);
    }

    fn record_launch(&self, launch: &ClaimLaunch, reason: &str) {
        let cluster = self.logged_cluster.as_ref().map(display);
        let (claim, pool) = (&launch.claim, ("nodepool", &*launch.node_pool));
        match &launch.result {
            LaunchResult::Launched(instance) => {
                tracing::info!(
                    cluster,
                    %claim,
                    instance = %instance.id,
                    instance_type = %instance.instance_type,
                    zone = %instance.zone,
                    capacity_type = %instance.capacity_type,
                    pods = launch.pods.len(),
                    "launched"
                );
                let labels = [pool, ("reason", reason)];
                self.metrics.count("karpenter_nodeclaims_created_total", &labels, 1);
                self.record_done("launched", 1);
            }
            LaunchResult::GaveUp(why) => {
                tracing::warn!(
                    cluster,
                    %claim,
                    ?why,
                    "launch given up, its pods will be planned for again"
                );
                let name = "karpenter_cloudprovider_instance_launch_failures_total";
                self.metrics.count(name, &[pool], 1);
                self.record_done("gaveUp", 1);
            }
            LaunchResult::WillRetry(error) => {
                self.record_problem(&format!("launch {claim}"), error);
            }
            LaunchResult::ClaimGone => self.record_done("claimGone", 1),
        }
    }

    /// Adds to what the summary says was done.
    pub fn record_done(&self, what: &'static str, count: usize) {
        if count > 0 {
            *self.ledger.borrow_mut().summary.done.entry(what).or_default() += count;
        }
    }

    /// What the invocation answers. It fails where an operator is needed, and where no run took
    /// place for another reason than a lease.
    pub(crate) fn outcome(&self) -> Result<Summary, Failure> {
        let Ledger { summary, needs_operator, run_error } = self.ledger.take();
        if let Some(failure) = needs_operator {
            return Err(failure);
        }
        match run_error {
            Some(error) if summary.runs == 0 => Err(error.into()),
            _ => Ok(summary),
        }
    }
}

impl Ledger {
    fn note_failure(&mut self, error: &PortError) {
        if needs_operator(error.kind) {
            self.needs_operator.get_or_insert_with(|| error.clone().into());
        }
    }
}

/// Whether the same call fails again until somebody changes permissions or configuration.
const fn needs_operator(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Denied | ErrorKind::Invalid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Detail;

    fn telemetry() -> Telemetry {
        Telemetry::new(Metrics::new("Outrigger", Detail::All, "prod"))
    }

    fn error(kind: ErrorKind) -> PortError {
        PortError::new(kind, "CreateFleet", "no")
    }

    #[test]
    fn a_demand_check_that_finds_no_pod_is_no_run() {
        let telemetry = telemetry();
        assert!(!telemetry.has_run());
        telemetry.record_run(Ok(RunOutcome::Ran(())), |()| ());
        assert!(telemetry.has_run());
    }

    #[test]
    fn whatever_an_operator_has_to_look_at_is_counted_in_one_metric() {
        let counted = |record: &dyn Fn(&Telemetry)| {
            let telemetry = telemetry();
            record(&telemetry);
            telemetry.metrics().lines(domain::Timestamp::UNIX_EPOCH)[0]["outrigger_needs_operator"]
                .as_f64()
                .map(|count| format!("{count}"))
        };
        let none = |telemetry: &Telemetry| telemetry.record_held_back(None);
        assert_eq!(counted(&none).as_deref(), Some("0"));
        let refused = |telemetry: &Telemetry| {
            telemetry.record_held_back(None);
            telemetry.record_refused_plan(&["a rule".into()]);
        };
        assert_eq!(counted(&refused).as_deref(), Some("1"));
    }

    #[test]
    fn a_denied_call_fails_the_invocation_though_the_run_took_place() {
        let telemetry = telemetry();
        telemetry.record_run(Ok(RunOutcome::Ran(())), |()| {
            telemetry.record_problem("launch a", &error(ErrorKind::Throttled));
            telemetry.record_problem("launch b", &error(ErrorKind::Denied));
        });
        assert!(
            matches!(telemetry.outcome(), Err(Failure::Call(own)) if own.kind == ErrorKind::Denied)
        );
    }

    #[test]
    fn a_failed_run_fails_the_invocation_unless_another_run_took_place() {
        let telemetry = telemetry();
        telemetry.record_run(Err::<RunOutcome<()>, _>(error(ErrorKind::Throttled)), |()| ());
        assert!(telemetry.outcome().is_err());
        telemetry.record_run(Err::<RunOutcome<()>, _>(error(ErrorKind::Throttled)), |()| ());
        telemetry.record_run(Ok(RunOutcome::Ran(())), |()| telemetry.record_done("launched", 2));
        let summary = telemetry.outcome().unwrap();
        assert_eq!((summary.runs, summary.failed, summary.done["launched"]), (1, 1, 2));
    }

    #[test]
    fn launches_are_counted_by_pool_and_reason() {
        let telemetry = telemetry();
        let launch = |result| ClaimLaunch {
            claim: "default-1".into(),
            node_pool: "default".into(),
            pods: Vec::new(),
            result,
        };
        let report = LaunchReport {
            launches: vec![
                launch(LaunchResult::ClaimGone),
                launch(LaunchResult::WillRetry(error(ErrorKind::Throttled))),
            ],
            ..LaunchReport::default()
        };
        telemetry.record_launches(&report, "provisioned");
        let lines = telemetry.metrics().lines(domain::Timestamp::UNIX_EPOCH);
        assert_eq!(lines[0]["outrigger_errors_total"], 1.0);
        assert_eq!(lines[0]["kind"], ErrorKind::Throttled.label());
        assert_eq!(telemetry.outcome().unwrap().done["claimGone"], 1);
    }
}

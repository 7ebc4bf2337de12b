//! `outrigger diff`: what a change of manifests does to a cluster; with `--observed`, what
//! functions that only observe would have done.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::thread;

use domain::Text;
use domain::drift::DriftReason;
use domain::plan::Plan;
use domain::snapshot::ClusterSnapshot;
use manifests::{Object, Objects, Source};

use crate::args::diff::{DiffArgs, DiffFormat};
use crate::change::{Applied, Change, with_new_nodes};
use crate::commands::{CommandError, controls};
use crate::console::{self, Progress};
use crate::snapshot_source::{self, LoadedSnapshot, SnapshotSource};
use crate::status::Status;
use crate::terminal::Canvas;
use crate::view::diff::{ClusterDiff, Pair, Parts};
use crate::view::outcome::Outcome;
use crate::view::pod_names::counted;
use crate::view::threshold::Thresholds;
use crate::wire::basis::{self, BasisDocument, BasisOptions};
use crate::wire::diff::{DiffDocument, Remarks};
use crate::wire::json;
use crate::{clock, html, input, markdown, revision, text};

/// Compares, or reads what was observed.
pub(crate) fn run(args: &DiffArgs) -> Result<Status, CommandError> {
    if let Some(observed) = args.observed() {
        return controls::observed(&observed);
    }
    let given = Given::read(args)?;
    let compared = compare(args, &given)?;
    console::write(&rendered(args, &compared)?)?;
    Ok(compared.status())
}

/// Everything that is compared, as it was read.
struct Given {
    names: [String; 2],
    cluster: Objects,
    old: Objects,
    new: Objects,
    /// What the sources left open, as printed.
    warnings: Vec<String>,
    /// Objects of the cluster and of the new manifests that are invalid, as printed.
    errors: Vec<String>,
}

impl Given {
    fn read(args: &DiffArgs) -> Result<Self, CommandError> {
        check_standard_input(args)?;
        let (names, [old, new]) = sides(args)?;
        let cluster = input::sources(&args.cluster_files)?;
        let [mut cluster, old, new] = [&cluster, &old, &new].map(|own| manifests::read(own));
        let mut warnings = Vec::new();
        let mut errors = Vec::new();
        // What an API server refused cannot be part of what is there, and a change may mend it.
        for error in &old.errors {
            warnings.push(format!("left out of what there was: {error}"));
        }
        for warning in &warnings {
            console::warning(warning);
        }
        for objects in [&cluster, &new] {
            snapshot_source::print_problems(objects);
            errors.extend(objects.errors.iter().map(ToString::to_string));
            warnings.extend(objects.warnings.iter().map(ToString::to_string));
        }
        add_catalog(&mut cluster, [&new, &old]);
        Ok(Self { names, cluster, old, new, warnings, errors })
    }
}

/// Standard input can be read once.
fn check_standard_input(args: &DiffArgs) -> Result<(), CommandError> {
    let paths = args.paths.iter().map(String::as_str);
    let files = args.cluster_files.iter().chain(&args.catalog).filter_map(|path| path.to_str());
    if paths.chain(files).filter(|name| *name == "-").count() > 1 {
        return Err(CommandError::Usage("standard input (-) can be read once only".to_owned()));
    }
    if args.catalog.as_ref().is_some_and(|path| path.as_os_str() == "-") {
        let what = "--catalog takes a file here: it is read by the old and by the new manifests";
        return Err(CommandError::Usage(what.to_owned()));
    }
    Ok(())
}

/// Names and sources of the old and the new manifests.
fn sides(args: &DiffArgs) -> Result<([String; 2], [Vec<Source>; 2]), CommandError> {
    if let Some(range) = &args.git {
        let range = revision::Range::resolved(range)?;
        return Ok((range.names(), range.sources(&args.paths)?));
    }
    let [old, new] = args.paths.as_slice() else {
        return Err(CommandError::Usage(format!(
            "there are two things to compare, OLD and NEW, and {} given; each file of the cluster \
             has a -f of its own",
            match args.paths.len() {
                1 => "one is".to_owned(),
                count => format!("{count} are"),
            }
        )));
    };
    let side = |name: &String| -> Result<Vec<Source>, CommandError> {
        if revision::is_in_repository(name) {
            Ok(revision::sources(name)?)
        } else {
            Ok(input::sources(&[name.into()])?)
        }
    };
    Ok(([old.clone(), new.clone()], [side(old)?, side(new)?]))
}

/// A catalogue among the manifests counts for both, where the cluster comes without one.
fn add_catalog(cluster: &mut Objects, sides: [&Objects; 2]) {
    let is_catalog = |object: &Object| matches!(object, Object::InstanceCatalog(_));
    if !cluster.objects.iter().any(|own| is_catalog(&own.value)) {
        let mut all = sides.into_iter().flat_map(|side| &side.objects);
        cluster.objects.extend(all.find(|own| is_catalog(&own.value)).cloned());
    }
}

/// A diff, with all that is said beside it.
struct Compared {
    diff: ClusterDiff,
    /// The new side, for its prices and its moment.
    loaded: LoadedSnapshot,
    open: Vec<String>,
    warnings: Vec<String>,
    errors: Vec<String>,
    violations: Vec<String>,
}

impl Compared {
    fn status(&self) -> Status {
        if !self.errors.is_empty() {
            Status::BadInput
        } else if !self.violations.is_empty() {
            Status::Unmet
        } else if !self.diff.exceeded.is_empty() {
            Status::Worse
        } else {
            Status::Done
        }
    }
}

fn compare(args: &DiffArgs, given: &Given) -> Result<Compared, CommandError> {
    let Given { names, cluster, old, new, warnings, errors } = given;
    let now = args.now.unwrap_or_else(clock::now);
    let change = Change::new(cluster, [old, new], now);
    let source = SnapshotSource {
        files: &[],
        context: None,
        catalog: args.catalog.as_deref(),
        refresh_catalog: false,
        table: None,
        region: args.settings.region.as_deref(),
        now: Some(now),
        scheduler_config: args.settings.scheduler_config.as_deref(),
        settings: args.settings.settings(),
    };
    let (before, after) = (change.before(), change.after());
    let open: BTreeSet<String> = before.open.iter().chain(&after.open).cloned().collect();
    let load = |applied: Applied| snapshot_source::of_objects(applied.objects, &source, None);
    let (before, after) = (load(before)?, load(after)?);

    let mut warnings = warnings.clone();
    for warning in before.warnings.iter().chain(&after.warnings) {
        if !warnings.contains(warning) {
            console::warning(warning);
            warnings.push(warning.clone());
        }
    }
    let (next_tick, all_replaced, violations) = planned(&before.snapshot, &after.snapshot);
    for violation in &violations {
        console::error_text(&format!("a plan breaks a rule: {violation}"));
    }
    let there = Outcome::of(&before.snapshot, &Plan::default());
    let has_managed_nodes = !before.snapshot.node_claims.is_empty()
        || before
            .snapshot
            .objects
            .nodes
            .iter()
            .any(|node| node.labels.contains_key(domain::label::NODE_POOL));
    let pods = after.snapshot.objects.pods.iter().map(|pod| pod.key.clone()).collect();
    let parts = Parts {
        names: names.clone(),
        changes: change.differences(),
        now: there.nodes,
        leaving: there.leaving,
        has_managed_nodes,
        next_tick,
        all_replaced,
        drifted: [drifted(&before.snapshot), drifted(&after.snapshot)],
        pods,
    };
    let thresholds = Thresholds {
        cost: args.max_cost_increase,
        unschedulable: args.max_newly_unschedulable,
        spot: args.max_spot_increase,
        drifted: args.max_newly_drifted,
    };
    Ok(Compared {
        diff: ClusterDiff::new(parts, &thresholds),
        loaded: after,
        open: open.into_iter().collect(),
        warnings,
        errors: errors.clone(),
        violations,
    })
}

/// The outcomes of four plans, which are made at the same time, and the rules that they break.
fn planned(old: &ClusterSnapshot, new: &ClusterSnapshot) -> (Pair, Pair, Vec<String>) {
    let pods = counted(new.objects.pods.len(), "pod");
    let _progress = Progress::start(&format!("planning for {pods}, four times"));
    let plan = |snapshot: &ClusterSnapshot| {
        let plan = planning::plan(snapshot);
        let broken = checker::check(snapshot, &plan).iter().map(ToString::to_string).collect();
        (Outcome::of(snapshot, &plan), broken)
    };
    let plans: [(Outcome, Vec<String>); 4] = thread::scope(|scope| {
        let tasks = [
            scope.spawn(|| plan(old)),
            scope.spawn(|| plan(new)),
            scope.spawn(|| plan(&with_new_nodes(old))),
            scope.spawn(|| plan(&with_new_nodes(new))),
        ];
        tasks.map(|task| task.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let [tick_old, tick_new, replaced_old, replaced_new] = plans;
    let pair = |old: (Outcome, Vec<String>), new: (Outcome, Vec<String>)| {
        let broken: BTreeSet<String> = old.1.into_iter().chain(new.1).collect();
        (Pair { old: old.0, new: new.0 }, broken)
    };
    let (next_tick, broken) = pair(tick_old, tick_new);
    let (all_replaced, more) = pair(replaced_old, replaced_new);
    (next_tick, all_replaced, broken.union(&more).cloned().collect())
}

/// Drifted nodes, by name.
fn drifted(snapshot: &ClusterSnapshot) -> BTreeMap<Text, DriftReason> {
    let mut drifted = planning::disruption::drifted(snapshot);
    let claims = snapshot.node_claims.iter();
    claims
        .filter_map(|claim| {
            let reason = drifted.remove(&claim.name)?;
            Some((claim.status.node_name.clone().unwrap_or_else(|| claim.name.clone()), reason))
        })
        .collect()
}

fn rendered(args: &DiffArgs, compared: &Compared) -> Result<String, serde_json::Error> {
    let Compared { diff, loaded, open, warnings, errors, violations } = compared;
    let prices = loaded.price_note();
    match args.output {
        DiffFormat::Text => Ok(text::diff::diff(diff, open, &prices, Canvas::of_stdout())),
        DiffFormat::Markdown => Ok(markdown::diff::diff(diff, open, errors, &prices)),
        DiffFormat::Html => html::diff::diff(diff, open, errors, &prices),
        DiffFormat::Json => {
            let catalog = basis::catalog(args.catalog.as_deref(), false);
            let options = BasisOptions { cluster: args.settings.cluster.clone(), catalog };
            let remarks = Remarks {
                basis: BasisDocument::new(loaded.snapshot.now, &prices, options),
                open: open.clone(),
                warnings: warnings.clone(),
                errors: errors.clone(),
                violations: violations.clone(),
            };
            json(&DiffDocument::new(diff, remarks))
        }
    }
}

//! `outrigger suggest`: candidates from what a recording holds, each replayed before it is shown.

mod again;

use std::collections::BTreeMap;
use std::path::Path;

use domain::Text;
use domain::schedule::time_zone;
use domain::scheduler::SchedulerConfig;
use manifests::{Object, Source};
use recording::{Recording, WorkloadKey};
use serde_json::{Value, json};
use simulation::scenario::{CatalogChoice, Scenario};
use suggestion::{Candidate, CandidateKind, Manifests, NodePoolUse, PeakTerms, UnusedRequests};

use crate::args::suggest::{SuggestArgs, SuggestFormat};
use crate::commands::replay::{self, Loaded};
use crate::commands::replay_error::ReplayError;
use crate::commands::scenario::{self, SimulateError};
use crate::commands::{CommandError, series};
use crate::snapshot_source::catalog_file;
use crate::status::Status;
use crate::terminal::Canvas;
use crate::view::series::{Run, Series};
use crate::view::suggestions::{Suggestion, Suggestions, Together, Tried, why_not};
use crate::wire::json;
use crate::wire::suggestions::SuggestionsDocument;
use crate::{console, input, text};

/// What the replays with nothing changed are called.
const BEFORE: &str = "before";
/// What the replay is called that is only looked at.
const FIRST: &str = "first";

/// Looks for settings that would have been better, replays them, and prints those that were.
pub(crate) fn run(args: &SuggestArgs) -> Result<Status, CommandError> {
    let Loaded { name, mut recording, mut has_problems } =
        replay::load(&args.recording).map_err(SimulateError::from)?;
    let zone = time_zone(&args.timezone)
        .map_err(|error| CommandError::Usage(format!("--timezone: {error}")))?;
    let given = input::sources(&args.files)?;
    let (_, have_problems) = replay::objects_of(&given, &mut recording);
    has_problems |= have_problems;
    let replays = Replays::new(&name, recording, given, args)?;
    let terms = PeakTerms { zone, days_min: usize::from(args.periods) };
    let found = suggestions(&replays, &terms, args)?;
    let output = match args.output {
        SuggestFormat::Text => {
            text::suggestions::suggestions(&found, &again::commands(args), Canvas::of_stdout())?
        }
        SuggestFormat::Json => json(&SuggestionsDocument::new(&found))?,
        SuggestFormat::Yaml => manifests::to_yaml(&found.manifests())?,
    };
    console::write(&output)?;
    Ok(if has_problems { Status::BadInput } else { Status::Done })
}

/// All replays of one recording.
struct Replays<'a> {
    name: Text,
    recording: Recording,
    /// Objects that stand in place of recorded ones in every replay.
    given: Vec<Source>,
    /// Manifests that stand at the end, those given among them.
    manifests: Manifests,
    catalog: Option<CatalogChoice>,
    under: Option<Scenario>,
    scheduler: Option<SchedulerConfig>,
    seeds: Vec<u64>,
    args: &'a SuggestArgs,
}

/// A change that is to be replayed.
#[derive(Clone)]
struct Change {
    candidate: Candidate,
    unchanged: Vec<Value>,
    requests: Option<UnusedRequests>,
}

impl<'a> Replays<'a> {
    fn new(
        name: &str,
        recording: Recording,
        given: Vec<Source>,
        args: &'a SuggestArgs,
    ) -> Result<Self, CommandError> {
        let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(name);
        let catalog = match &args.catalog {
            None => None,
            Some(path) => Some(CatalogChoice::Given(Box::new(catalog_file(path)?))),
        };
        let under = args.under.as_deref().map(scenario::load).transpose()?;
        let scheduler = scenario::scheduler_config(args.settings.scheduler_config.as_deref())?;
        let manifests = manifests_of(&recording, &given);
        let seeds = (0..u64::from(args.seeds)).map(|own| args.seed.wrapping_add(own)).collect();
        let name = stem.into();
        let own =
            Self { name, recording, given, manifests, catalog, under, scheduler, seeds, args };
        if !own.case(FIRST, &[], None)?.1.has_node_pool() {
            return Err(SimulateError::from(ReplayError::NoNodePool(own.name.to_string())).into());
        }
        Ok(own)
    }

    /// A replay with objects in place, as `simulate --from` has it with a file of them.
    fn case(
        &self,
        name: &str,
        changed: &[&Value],
        requests: Option<&UnusedRequests>,
    ) -> Result<(Text, Scenario), SimulateError> {
        let mut recording = self.recording.clone();
        if let Some(own) = requests {
            recording.request(&own.workload, &own.changed());
        }
        let mut sources = self.given.clone();
        if !changed.is_empty() {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": changed});
            sources.push(Source::new("suggestion", list.to_string()));
        }
        let (read, _) = replay::read_over(&sources, &mut recording);
        let objects: Vec<Object> = read.objects.into_iter().map(|own| own.value).collect();
        let mut scenario = Scenario::of_recording(&self.name, &recording);
        if let Some(catalog) = &self.catalog {
            scenario.catalog = catalog.clone();
        }
        scenario = scenario.with_objects(objects);
        if let Some(under) = &self.under {
            scenario = under.clone().over(scenario);
        }
        if let Some(config) = &self.scheduler {
            scenario = scenario::with_scheduler_config(scenario, config);
        }
        // They are those of the first replay, which prints them.
        let warnings = scenario::set_region(&mut scenario, self.args.settings.region.as_deref())?;
        if name == FIRST {
            for warning in &warnings {
                console::warning(warning);
            }
        }
        Ok((name.into(), scenario))
    }

    fn case_of(&self, change: &Change) -> Result<(Text, Scenario), SimulateError> {
        let all: Vec<&Value> = change.candidate.manifests.iter().chain(&change.unchanged).collect();
        self.case(&change.candidate.id, &all, change.requests.as_ref())
    }

    fn run(&self, cases: &[(Text, Scenario)], seeds: &[u64]) -> Result<Vec<Series>, SimulateError> {
        series::run(cases, seeds, &self.args.settings.settings_of_functions())
    }

    fn run_changes(&self, changes: &[Change], seeds: &[u64]) -> Result<Vec<Series>, SimulateError> {
        let cases = changes.iter().map(|own| self.case_of(own)).collect::<Result<Vec<_>, _>>()?;
        self.run(&cases, seeds)
    }
}

/// The manifests of a recording, with those of sources in place of them, as a replay has it.
fn manifests_of(recording: &Recording, given: &[Source]) -> Manifests {
    let mut own = Vec::new();
    for source in given {
        own.extend(
            manifests::documents(source).into_iter().flatten().map(|own| own.value.to_json()),
        );
    }
    let own = Manifests::of(own);
    let is_given_whole = own.of_kind("NodePool").next().is_some();
    let recorded = recording.manifests.iter().filter(|manifest| {
        !(is_given_whole && manifest.get("kind").and_then(Value::as_str) == Some("NodePool"))
    });
    Manifests::of(recorded.cloned()).with(own.into_values())
}

/// NodePools that stay as they are beside changed ones; none where no NodePool changes.
fn unchanged(manifests: &Manifests, changed: &[Value]) -> Vec<Value> {
    let kind = |own: &Value| own.get("kind").and_then(Value::as_str) == Some("NodePool");
    let name = |own: &Value| own.pointer("/metadata/name").cloned();
    let changed: Vec<_> = changed.iter().filter(|own| kind(own)).map(name).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    manifests.of_kind("NodePool").filter(|own| !changed.contains(&name(own))).cloned().collect()
}

/// All that is worth suggesting, and what was tried beside it, each replayed.
fn suggestions(
    replays: &Replays<'_>,
    terms: &PeakTerms,
    args: &SuggestArgs,
) -> Result<Suggestions, CommandError> {
    let before = replays.run(&[replays.case(BEFORE, &[], None)?], &replays.seeds)?;
    let before = before.into_iter().next().unwrap_or(Series { name: BEFORE.into(), runs: vec![] });
    let (changes, notes) = changes(replays, terms, &before, args);
    let changes = only(changes, &args.only)?;
    let (promising, mut tried) = screened(replays, &before, changes)?;
    let series = replays.run_changes(&promising, &replays.seeds)?;
    let mut suggested = Vec::new();
    for (Change { candidate, unchanged, requests }, after) in promising.into_iter().zip(series) {
        match why_not(candidate.kind, &before, &after) {
            None => {
                let was = |own| replays.manifests.same_object(own).cloned();
                let was = candidate.manifests.iter().map(was).collect();
                suggested.push(Suggestion { candidate, was, unchanged, requests, after });
            }
            Some(why_not) => {
                let Candidate { id, what, .. } = candidate;
                tried.push(Tried { id, what, why_not });
            }
        }
    }
    let saved = |own: &Suggestion| own.after.difference(&before, |run| run.cost_usd).mean;
    suggested.sort_by(|one, other| {
        let by_cost = saved(one).total_cmp(&saved(other));
        one.candidate.kind.cmp(&other.candidate.kind).then(by_cost)
    });
    tried.sort_by(|one, other| one.id.cmp(&other.id));
    let together = together(replays, &before, &suggested)?;
    Ok(Suggestions { before, suggested, together, tried, notes })
}

/// All that is worth replaying, and what was looked for and not found.
fn changes(
    replays: &Replays<'_>,
    terms: &PeakTerms,
    before: &Series,
    args: &SuggestArgs,
) -> (Vec<Change>, Vec<String>) {
    let Replays { recording, manifests, .. } = replays;
    let mut notes = Vec::new();
    let mut candidates = suggestion::node_pools(manifests, &uses(manifests, before));
    let peaks = suggestion::peaks(recording, terms);
    if peaks.is_empty() {
        notes.push(format!(
            "no peak: no workload gained two replicas and 30 % at one time of the day on {} days",
            args.periods
        ));
    }
    candidates.extend(suggestion::schedules(&peaks, &args.timezone));
    let budgets = suggestion::budgets(recording, manifests);
    if budgets.is_empty() {
        notes.push("no PodDisruptionBudget that never allows an eviction".to_owned());
    }
    candidates.extend(budgets);
    let mut changes: Vec<Change> = candidates
        .into_iter()
        .map(|candidate| {
            let unchanged = unchanged(manifests, &candidate.manifests);
            Change { candidate, unchanged, requests: None }
        })
        .collect();
    let measured = suggestion::measured_pods(recording);
    if measured == 0 {
        notes
            .push("no usage is recorded: which requests are never used cannot be known".to_owned());
    }
    let unused = suggestion::unused_requests(recording);
    if measured > 0 && unused.is_empty() {
        notes.push(format!("{measured} pods were measured, and used what they request"));
    }
    changes.extend(unused.into_iter().map(|own| Change {
        candidate: requests(&own),
        unchanged: Vec::new(),
        requests: Some(own),
    }));
    (changes, notes)
}

/// How NodePools are used in replays with nothing changed.
fn uses(manifests: &Manifests, before: &Series) -> Vec<NodePoolUse> {
    let mut launched: BTreeMap<&Text, usize> = BTreeMap::new();
    for run in &before.runs {
        for (pool, count) in &run.launched_for {
            *launched.entry(pool).or_default() += count;
        }
    }
    let names = manifests.of_kind("NodePool").filter_map(|own| own.pointer("/metadata/name"));
    let uses = names.filter_map(Value::as_str).map(|name| {
        let name = Text::from(name);
        let launched = launched.get(&name).copied().unwrap_or(0);
        let limit = format!("NodePool {name}: limit ");
        let mut whys = before.runs.iter().flat_map(|run| &run.unschedulable);
        let is_at_its_limits = whys.any(|why| why.contains(&limit));
        NodePoolUse { name, launched, is_at_its_limits }
    });
    uses.collect()
}

fn requests(own: &UnusedRequests) -> Candidate {
    let WorkloadKey { namespace, name, .. } = &own.workload;
    let id: Text = format!("requests-{namespace}/{name}").into();
    let shown = |of: &domain::resource::Resources| {
        let shown =
            of.iter().filter(|(name, _)| own.used.find(name).is_some()).map(|(name, own)| {
                format!("{name} {}", domain::resource::RoundedAmount { name, amount: own })
            });
        shown.collect::<Vec<_>>().join(", ")
    };
    Candidate {
        group: id.clone(),
        id,
        kind: CandidateKind::Requests,
        what: format!("{} requests {}", own.workload, shown(&own.enough)),
        why: format!(
            "its pods request {}, and none of {} ever used more than {}",
            shown(&own.requested),
            own.pods,
            shown(&own.used)
        ),
        manifests: own.manifest().into_iter().collect(),
    }
}

/// Those that are wanted by their names; all where none is named.
fn only(changes: Vec<Change>, wanted: &[String]) -> Result<Vec<Change>, CommandError> {
    if wanted.is_empty() {
        return Ok(changes);
    }
    let known: Vec<String> = changes.iter().map(|own| own.candidate.id.to_string()).collect();
    if let Some(unknown) = wanted.iter().find(|own| !known.contains(own)) {
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(CommandError::Usage(format!(
            "--only {unknown}: nothing of that name could be suggested, there is {known}"
        )));
    }
    let is_wanted = |own: &Change| wanted.iter().any(|wanted| *wanted == *own.candidate.id);
    Ok(changes.into_iter().filter(is_wanted).collect())
}

/// Those that look better with the first seed, of each group the cheapest; and the others.
fn screened(
    replays: &Replays<'_>,
    before: &Series,
    changes: Vec<Change>,
) -> Result<(Vec<Change>, Vec<Tried>), SimulateError> {
    let first =
        Series { name: before.name.clone(), runs: before.runs.iter().take(1).cloned().collect() };
    let seeds: Vec<u64> = replays.seeds.iter().copied().take(1).collect();
    let series = replays.run_changes(&changes, &seeds)?;
    let cost = |own: &Series| own.estimate(|run: &Run| run.cost_usd).mean;
    let mut best: BTreeMap<Text, (Change, Series)> = BTreeMap::new();
    let mut tried = Vec::new();
    let mut pass_over = |own: Change, why_not: String| {
        let Candidate { id, what, .. } = own.candidate;
        tried.push(Tried { id, what, why_not });
    };
    for (change, after) in changes.into_iter().zip(series) {
        if let Some(why_not) = why_not(change.candidate.kind, &first, &after) {
            pass_over(change, why_not);
            continue;
        }
        let group = change.candidate.group.clone();
        let cheaper = match best.remove(&group) {
            None => (change, after),
            Some(other) => {
                let (kept, left) = if cost(&after) < cost(&other.1) {
                    ((change, after), other)
                } else {
                    (other, (change, after))
                };
                let why_not = format!("saves, but {} saves more", kept.0.candidate.id);
                pass_over(left.0, why_not);
                kept
            }
        };
        best.insert(group, cheaper);
    }
    Ok((best.into_values().map(|(change, _)| change).collect(), tried))
}

/// All suggestions at once: NodePools take one change after the other, for as long as the cost with
/// the first seed does not rise by one.
fn together(
    replays: &Replays<'_>,
    before: &Series,
    suggested: &[Suggestion],
) -> Result<Option<Together>, SimulateError> {
    // What pods request can stand beside others where it is known of their containers.
    let objects: Vec<&Suggestion> =
        suggested.iter().filter(|own| !own.candidate.manifests.is_empty()).collect();
    if objects.len() < 2 {
        return Ok(None);
    }
    let seeds: Vec<u64> = replays.seeds.iter().copied().take(1).collect();
    let uses = uses(&replays.manifests, before);
    let mut changed: Vec<Value> = Vec::new();
    let mut ids = Vec::new();
    let mut cost = f64::INFINITY;
    for own in objects {
        let manifests = replays.manifests.clone().with(changed.clone());
        let of_pool = matches!(own.candidate.kind, CandidateKind::NodePool | CandidateKind::Limits);
        let candidate = if of_pool {
            suggestion::node_pools(&manifests, &uses)
                .into_iter()
                .find(|candidate| candidate.id == own.candidate.id)
        } else {
            Some(own.candidate.clone())
        };
        let Some(candidate) = candidate else { continue };
        let next = Manifests::of(changed.clone()).with(candidate.manifests.clone()).into_values();
        if candidate.kind == CandidateKind::NodePool {
            let unchanged = unchanged(&replays.manifests, &next);
            let all: Vec<&Value> = next.iter().chain(&unchanged).collect();
            let runs = replays.run(&[replays.case("together", &all, None)?], &seeds)?;
            let with = runs.first().map_or(cost, |own| own.estimate(|run| run.cost_usd).mean);
            if with > cost {
                continue;
            }
            cost = with;
        }
        changed = next;
        ids.push(own.candidate.id.clone());
    }
    let unchanged = unchanged(&replays.manifests, &changed);
    let all: Vec<&Value> = changed.iter().chain(&unchanged).collect();
    let runs = replays.run(&[replays.case("together", &all, None)?], &replays.seeds)?;
    let after = runs.into_iter().next();
    Ok(after.map(|after| Together { ids, manifests: changed, unchanged, after }))
}

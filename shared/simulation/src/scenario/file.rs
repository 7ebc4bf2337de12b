//! Scenario files.

use std::collections::BTreeMap;
use std::path::Path;

use domain::pod::ObjectKey;
use domain::scheduler::scoring::{ScoringStrategy, ScoringType};
use domain::scheduler::{SchedulerConfig, SchedulerProfile};
use domain::settings::{FeatureGates, MinValuesPolicy, PreferencePolicy};
use domain::workload::WorkloadKind;
use domain::{SignedDuration, Text, Timestamp};
use manifests::{
    Data, Field, Interner, ManifestError, Object, ObjectReader, Origin, PODS_MAX, Problem,
    ReadSchedulerConfig, Reader, Source, Warning, documents, read_scheduler_config,
};

use super::definition::{
    Action, Announcement, CatalogChoice, ProvisioningMode, Scenario, ScenarioError, SettingsChange,
    Step, Variant,
};
use super::duration::duration;
use super::expectation::{self, Expectation};
use super::filter::{FILTER_FIELDS, InstanceFilter, SpotInterruptions};
use super::not_simulated::not_simulated;
use crate::api::{Kind, WorkloadId};
use crate::ec2::{Ec2Behaviour, Faults, PublishedImage};
use crate::region::SaidBy;
use crate::world::DeleteTarget;

/// A Monday morning, 2026-01-05T09:00:00Z, so that schedules of working days apply.
const DEFAULT_START_SECONDS: i64 = 1_767_603_600;
/// When simulated time may begin, in seconds: from 1970 until the end of 2199. Clocks of the
/// simulation go beyond the end by the longest of its durations.
const START_SECONDS: std::ops::Range<i64> = 0..7_258_118_400;
const DEFAULT_REGION: &str = "us-east-1";
const DEFAULT_JOB_DURATION: SignedDuration = SignedDuration::from_mins(5);
const DEFAULT_NAMESPACE: &str = "default";

const SPEC_FIELDS: [&str; 20] = [
    "about",
    "start",
    "duration",
    "seed",
    "region",
    "catalog",
    "scoring",
    "schedulerConfig",
    "provisioning",
    "jobDuration",
    "boot",
    "podStart",
    "podStop",
    "settings",
    "faults",
    "spotInterruptions",
    "images",
    "timeline",
    "expect",
    "variants",
];

impl Scenario {
    /// Reads a scenario. `name` is its path, or what errors call it; files that it names are
    /// relative to the folder of that path.
    pub fn read(name: &str, text: &str) -> Result<Self, ScenarioError> {
        read(name, text)
    }
}

fn read(name: &str, text: &str) -> Result<Scenario, ScenarioError> {
    let source = Source::new(name, text);
    let mut all = documents(&source);
    if all.is_empty() {
        return Err(ScenarioError::Empty);
    }
    let document = all.remove(0).map_err(|error| ScenarioError::Invalid(vec![error.into()]))?;
    let interner = Interner::default();
    let reader = ObjectReader::new(&document.value, &document.origin, &interner);
    let mut folder = Folder::of(name, &document.origin);
    let scenario = scenario(reader.root(), &mut folder);
    let (scenario, mut warnings) = reader.finish(scenario);
    if let Some(error) = folder.unreadable {
        return Err(error);
    }
    warnings.append(&mut folder.warnings);
    warnings.extend(not_simulated(&folder.skipped));
    match scenario {
        Ok(scenario) if folder.errors.is_empty() => Ok(Scenario { warnings, ..scenario }),
        Ok(_) => Err(ScenarioError::Invalid(folder.errors)),
        Err(mut errors) => {
            errors.append(&mut folder.errors);
            Err(ScenarioError::Invalid(errors))
        }
    }
}

/// Where files that a scenario names are, and what reading objects came to.
struct Folder<'d> {
    path: &'d Path,
    origin: &'d Origin<'d>,
    errors: Vec<ManifestError>,
    warnings: Vec<Warning>,
    /// Objects of kinds that are not read, by kind.
    skipped: BTreeMap<String, usize>,
    unreadable: Option<ScenarioError>,
    /// Manifests of the objects that were read last.
    manifests: Vec<serde_json::Value>,
}

impl<'d> Folder<'d> {
    fn of(name: &'d str, origin: &'d Origin<'d>) -> Self {
        let path = Path::new(name).parent().unwrap_or(Path::new(""));
        Self {
            path,
            origin,
            errors: Vec::new(),
            warnings: Vec::new(),
            skipped: BTreeMap::new(),
            unreadable: None,
            manifests: Vec::new(),
        }
    }

    fn text(&mut self, file: &str) -> Option<String> {
        let path = self.path.join(file);
        match std::fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(source) => {
                let path = path.display().to_string();
                self.unreadable.get_or_insert(ScenarioError::File { path, source });
                None
            }
        }
    }

    /// The objects of a list of objects and files.
    fn objects(&mut self, list: Field<'_>) -> Vec<Object> {
        let mut reader = Reader::default();
        self.manifests.clear();
        for item in list.items() {
            let Some(value) = item.value() else { continue };
            if let Data::Text(file) = &value.data {
                let Some(text) = self.text(file) else { continue };
                let source = Source::new(file.as_ref(), text);
                reader.read_source(&source);
                let read = documents(&source).into_iter().flatten();
                self.manifests.extend(read.map(|document| document.value.to_json()));
            } else {
                let line = if value.line > 0 { value.line } else { self.origin.line };
                self.manifests.push(value.to_json());
                reader.read_value(value, &Origin { line, ..self.origin.clone() });
            }
        }
        let read = reader.into_objects();
        self.errors.extend(read.errors);
        self.warnings.extend(read.warnings);
        for (kind, count) in read.skipped {
            *self.skipped.entry(kind).or_default() += count;
        }
        read.objects.into_iter().map(|located| located.value).collect()
    }
}

fn scenario(root: Field<'_>, folder: &mut Folder<'_>) -> Option<Scenario> {
    root.only(&["apiVersion", "kind", "metadata", "spec"]);
    root.get("kind").required().choice(&[((), "Scenario")]);
    root.get("apiVersion").required().choice(&[((), "outrigger.dev/v1alpha1")]);
    let name = root.get("metadata").get("name").required().text().unwrap_or_default();
    let spec = root.get("spec").required();
    spec.only(&SPEC_FIELDS);
    let seed = seed(spec.get("seed"));
    let (timeline, manifests) = timeline(spec.get("timeline"), folder);
    let last = timeline.iter().map(|step| step.at).max().unwrap_or_default();
    let length = spec.get("duration").required().parsed(duration).unwrap_or_default();
    if length < last {
        spec.get("duration").note_rule("the timeline goes on for longer");
    }
    let start = start(spec.get("start"))?;
    Some(Scenario {
        name,
        about: spec.get("about").text().unwrap_or_default(),
        start,
        duration: length,
        seed,
        catalog: catalog_choice(spec, folder)?,
        own_scheduler: own_scheduler(spec, folder),
        provisioning: spec
            .get("provisioning")
            .choice(&[
                (ProvisioningMode::Watch, "watch"),
                (ProvisioningMode::Tick, "tick"),
                (ProvisioningMode::Poll, "poll"),
            ])
            .unwrap_or_default(),
        job_duration: spec.get("jobDuration").parsed(duration).unwrap_or(DEFAULT_JOB_DURATION),
        boot: spec.get("boot").parsed(duration),
        pod_start: spec.get("podStart").parsed(duration),
        pod_stop: spec.get("podStop").parsed(duration),
        settings: settings(spec.get("settings")),
        faults: faults(spec.get("faults")),
        spot_interruptions: spot_interruptions(spec.get("spotInterruptions")),
        images: published_images(spec.get("images"), start),
        ec2: Ec2Behaviour::default(),
        every_run: false,
        timeline,
        expectations: expectations(spec, length),
        variants: variants(spec.get("variants"), folder, length),
        replay: None,
        manifests,
        warnings: Vec::new(),
    })
}

/// How kube-scheduler is configured: `schedulerConfig`, in full or as a file, or `scoring` alone.
/// `None` where neither is given, and where something was noted.
fn own_scheduler(spec: Field<'_>, folder: &mut Folder<'_>) -> Option<SchedulerConfig> {
    let (scoring, field) = (spec.get("scoring"), spec.get("schedulerConfig"));
    if let Some(kind) = scoring.choice(&[(false, "LeastAllocated"), (true, "MostAllocated")]) {
        if field.exists() {
            scoring.note_rule("schedulerConfig says it: only one of the two is needed");
        }
        let kind = if kind { ScoringType::MostAllocated } else { ScoringType::LeastAllocated };
        let scoring = ScoringStrategy { kind, ..ScoringStrategy::default() };
        let profile = SchedulerProfile { scoring, ..SchedulerProfile::default() };
        return Some(SchedulerConfig { profiles: vec![profile] });
    }
    let value = field.value()?;
    let (name, text) = match value.as_str() {
        Some(file) => (file, folder.text(file)?),
        None => ("schedulerConfig", value.to_json().to_string()),
    };
    let ReadSchedulerConfig { result, warnings } = read_scheduler_config(name, &text);
    folder.warnings.extend(warnings);
    match result {
        Ok(config) => Some(config),
        Err(errors) => {
            folder.errors.extend(errors);
            None
        }
    }
}

fn seed(field: Field<'_>) -> u64 {
    let seed = field.integer().map(u64::try_from);
    if let Some(Err(_)) = seed {
        field.note_rule("a seed is not negative");
    }
    seed.and_then(Result::ok).unwrap_or(0)
}

/// What is expected of a scenario that lasts so long.
fn expectations(field: Field<'_>, length: SignedDuration) -> Vec<Expectation> {
    let mut expectations = Vec::new();
    for item in field.get("expect").items() {
        let Some(expectation) = expectation::read(item) else { continue };
        if expectation.at.is_some_and(|at| at > length) {
            item.get("at").note_rule("the scenario ends before");
        }
        expectations.push(expectation);
    }
    expectations
}

fn variants(list: Field<'_>, folder: &mut Folder<'_>, length: SignedDuration) -> Vec<Variant> {
    let mut variants: Vec<Variant> = Vec::new();
    for item in list.items() {
        item.only(&["name", "apply", "expect"]);
        let Some(name) = item.get("name").required().text() else { continue };
        if variants.iter().any(|known| known.name == name) {
            item.get("name").note_rule("another variant has this name");
        }
        let objects = folder.objects(item.get("apply"));
        let manifests = std::mem::take(&mut folder.manifests);
        let expectations = expectations(item, length);
        variants.push(Variant { name, objects, manifests, expectations });
    }
    variants
}

fn start(field: Field<'_>) -> Option<Timestamp> {
    let given = field.timestamp();
    if given.is_some_and(|given| !START_SECONDS.contains(&given.as_second())) {
        field.note_rule("simulated time begins between 1970 and 2199");
    }
    given.or_else(default_start)
}

fn default_start() -> Option<Timestamp> {
    Timestamp::from_second(DEFAULT_START_SECONDS).ok()
}

fn catalog_choice(spec: Field<'_>, folder: &mut Folder<'_>) -> Option<CatalogChoice> {
    let field = spec.get("catalog");
    let Some(value) = field.value() else {
        return Some(region(spec.get("region")));
    };
    let types = match value.as_str() {
        Some(file) => catalog::document::read(&folder.text(file)?),
        None => catalog::document::from_value(value),
    };
    match types {
        Ok(types) => Some(CatalogChoice::Given(Box::new(types))),
        Err(error) => {
            field.note_rule(error);
            None
        }
    }
}

fn region(field: Field<'_>) -> CatalogChoice {
    let Some(region) = field.text() else {
        return CatalogChoice::Region(DEFAULT_REGION.into(), SaidBy::Nothing);
    };
    match catalog::embedded() {
        Ok(catalog) if !catalog.knows_region(&region) => {
            let known: Vec<&str> = catalog.regions().map(|(name, _)| &**name).collect();
            let known = known.join(", ");
            field
                .note_rule(format!("{region} is no region of the embedded catalogue: {known} are"));
        }
        Ok(_) => {}
        Err(error) => field.note_rule(error),
    }
    CatalogChoice::Region(region, SaidBy::Scenario)
}

fn settings(field: Field<'_>) -> SettingsChange {
    field.only(&["featureGates", "preferencePolicy", "minValuesPolicy"]);
    let gates = field.get("featureGates");
    gates.parsed(|text| FeatureGates::default().with(text));
    SettingsChange {
        feature_gates: gates.text(),
        preference_policy: field.get("preferencePolicy").choice(&[
            (PreferencePolicy::Respect, "Respect"),
            (PreferencePolicy::Ignore, "Ignore"),
        ]),
        min_values_policy: field.get("minValuesPolicy").choice(&[
            (MinValuesPolicy::Strict, "Strict"),
            (MinValuesPolicy::BestEffort, "BestEffort"),
        ]),
    }
}

fn spot_interruptions(list: Field<'_>) -> Vec<SpotInterruptions> {
    let known = ["instanceType", "zone", "perNodeHour"];
    let mut all = Vec::new();
    for item in list.items() {
        item.only(&known);
        let field = item.get("perNodeHour").required();
        let Some(value) = field.value() else { continue };
        let text = match &value.data {
            Data::Integer(number) => number.to_string(),
            Data::Decimal(text) | Data::Text(text) => text.to_string(),
            _ => String::new(),
        };
        match text.parse::<f64>() {
            Ok(rate) if (0.0..=3600.0).contains(&rate) => {
                let filter = InstanceFilter::of(item);
                all.push(SpotInterruptions { filter, per_node_hour: rate });
            }
            _ => field.note_rule("it is not a number of interruptions an hour, from 0 to 3600"),
        }
    }
    all
}

/// Images: published `age` before the start, or `at` some time after it.
fn published_images(list: Field<'_>, start: Timestamp) -> Vec<PublishedImage> {
    let mut images = Vec::new();
    for item in list.items() {
        item.only(&["id", "alias", "age", "at", "joins"]);
        let (age, at) = (item.get("age"), item.get("at"));
        if age.exists() == at.exists() {
            item.note_rule("exactly one of age and at is needed");
        }
        let since_start = age
            .parsed(duration)
            .map(|age| -age)
            .or_else(|| at.parsed(duration))
            .unwrap_or_default();
        let (id, alias) = (item.get("id").required().text(), item.get("alias").required().text());
        if let (Some(id), Some(alias)) = (id, alias) {
            let created = start.checked_add(since_start).unwrap_or(start);
            let joins = item.get("joins").bool().unwrap_or(true);
            images.push(PublishedImage { id, alias, created, joins });
        }
    }
    images
}

fn faults(field: Field<'_>) -> Faults {
    field.only(&[
        "throttledPerMille",
        "answersLostPerMille",
        "launchesFailedPerMille",
        "crashesPerMille",
        "crashAfterCall",
        "eventsDoubledPerMille",
        "eventsLatePerMille",
        "callMillisMax",
    ]);
    let count = |key| field.get(key).count().unwrap_or(0);
    let share = |key| {
        let share = count(key);
        if share > 1000 {
            field.get(key).note_rule("it is a number of cases in a thousand, from 0 to 1000");
        }
        share
    };
    Faults {
        throttled_per_mille: share("throttledPerMille"),
        answers_lost_per_mille: share("answersLostPerMille"),
        launches_failed_per_mille: share("launchesFailedPerMille"),
        crashes_per_mille: share("crashesPerMille"),
        crash_after_call: field.get("crashAfterCall").count().map(u64::from),
        events_doubled_per_mille: share("eventsDoubledPerMille"),
        events_late_per_mille: share("eventsLatePerMille"),
        call_millis_max: count("callMillisMax"),
    }
}

/// Manifests, and when they are applied.
type Manifests = Vec<(SignedDuration, serde_json::Value)>;

/// Steps by time: each at its own `at`, or where the one before left off; and the manifests of what
/// they apply.
fn timeline(list: Field<'_>, folder: &mut Folder<'_>) -> (Vec<Step>, Manifests) {
    let (mut steps, mut manifests) = (Vec::new(), Manifests::new());
    let mut now = SignedDuration::ZERO;
    for item in list.items() {
        if let Some(at) = item.get("at").parsed(duration) {
            if at < now {
                item.get("at").note_rule("it is earlier than the step before");
            }
            now = at;
        }
        let action = item.entries().find(|(key, _)| *key != "at");
        let Some((kind, body)) = action else {
            item.note(Problem::rule("it does nothing"));
            continue;
        };
        item.only(&["at", kind]);
        if kind == "advance" {
            now = now.saturating_add(body.parsed(duration).unwrap_or_default());
        } else if let Some(action) = self::action(kind, body, folder) {
            manifests
                .extend(std::mem::take(&mut folder.manifests).into_iter().map(|own| (now, own)));
            steps.push(Step { at: now, action });
        }
    }
    (steps, manifests)
}

fn action(kind: &str, body: Field<'_>, folder: &mut Folder<'_>) -> Option<Action> {
    match kind {
        "apply" => Some(Action::Apply(folder.objects(body))),
        "scale" => scale(body),
        "delete" => delete(body),
        "interrupt" => {
            let known: Vec<&str> = FILTER_FIELDS.into_iter().chain(["count"]).collect();
            body.only(&known);
            let count = body.get("count").count().unwrap_or(1);
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            Some(Action::Interrupt { filter: InstanceFilter::of(body), count })
        }
        "recommendRebalance" => Some(announce(body, Announcement::RebalanceRecommendation, &[])),
        "impair" => Some(announce(body, Announcement::Impairment, &[])),
        "retire" => {
            let after = body.get("in").required().parsed(duration)?;
            Some(announce(body, Announcement::Retirement(after), &["in"]))
        }
        "outOfCapacity" => {
            body.only(&["instanceType", "zone", "capacityType", "cheapest", "for"]);
            let cheapest = body.get("cheapest").count();
            Some(Action::OutOfCapacity {
                filter: InstanceFilter::of(body),
                cheapest: cheapest.map(|count| usize::try_from(count).unwrap_or(usize::MAX)),
                lasts: body.get("for").required().parsed(duration)?,
            })
        }
        "loseRecords" => {
            body.only(&[]);
            Some(Action::LoseRecords)
        }
        "mark" => Some(Action::Mark(body.text()?)),
        _ => {
            body.note(Problem::UnknownField(None));
            None
        }
    }
}

fn announce(body: Field<'_>, what: Announcement, own: &[&'static str]) -> Action {
    let known: Vec<&str> =
        FILTER_FIELDS.into_iter().chain(["count"]).chain(own.iter().copied()).collect();
    body.only(&known);
    let count = body.get("count").count().unwrap_or(1);
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    Action::Announce { what, filter: InstanceFilter::of(body), count }
}

const WORKLOADS: [(WorkloadKind, &str); 4] = [
    (WorkloadKind::Deployment, "Deployment"),
    (WorkloadKind::StatefulSet, "StatefulSet"),
    (WorkloadKind::ReplicaSet, "ReplicaSet"),
    (WorkloadKind::Job, "Job"),
];

pub(super) const NAMESPACED: [(Kind, &str); 8] = [
    (Kind::Pod, "Pod"),
    (Kind::DaemonSet, "DaemonSet"),
    (Kind::PodTemplate, "PodTemplate"),
    (Kind::PodDisruptionBudget, "PodDisruptionBudget"),
    (Kind::PersistentVolumeClaim, "PersistentVolumeClaim"),
    (Kind::CapacityBuffer, "CapacityBuffer"),
    (Kind::ScaledObject, "ScaledObject"),
    (Kind::PrewarmSchedule, "PrewarmSchedule"),
];

pub(super) const OF_CLUSTER: [(Kind, &str); 10] = [
    (Kind::ClusterLimit, "ClusterLimit"),
    (Kind::Commitment, "Commitment"),
    (Kind::Node, "Node"),
    (Kind::NodePool, "NodePool"),
    (Kind::EC2NodeClass, "EC2NodeClass"),
    (Kind::NodeClaim, "NodeClaim"),
    (Kind::NodeOverlay, "NodeOverlay"),
    (Kind::PersistentVolume, "PersistentVolume"),
    (Kind::StorageClass, "StorageClass"),
    (Kind::Namespace, "Namespace"),
];

fn key(body: Field<'_>) -> Option<ObjectKey> {
    let namespace = body.get("namespace").text().unwrap_or_else(|| DEFAULT_NAMESPACE.into());
    Some(ObjectKey { namespace, name: body.get("name").required().text()? })
}

fn scale(body: Field<'_>) -> Option<Action> {
    body.only(&["kind", "namespace", "name", "replicas"]);
    let kind = body.get("kind").choice(&WORKLOADS).unwrap_or(WorkloadKind::Deployment);
    let workload = WorkloadId { kind, key: key(body)? };
    let replicas = body.get("replicas").required().count()?;
    if u64::from(replicas) > PODS_MAX {
        body.get("replicas").note_rule(format!("at most {PODS_MAX} pods are simulated"));
    }
    Some(Action::Scale { workload, replicas })
}

fn delete(body: Field<'_>) -> Option<Action> {
    body.only(&["kind", "namespace", "name"]);
    let kind = body.get("kind").required().str()?;
    let find = |table: &[(Kind, &str)]| {
        table.iter().find(|(_, word)| *word == kind).map(|(kind, _)| *kind)
    };
    let own = key(body)?;
    let workload = WORKLOADS.iter().find(|(_, word)| *word == kind);
    let (target, shown): (_, Text) = if let Some((kind, _)) = workload {
        let id = WorkloadId { kind: *kind, key: own };
        let shown = id.to_string().into();
        (DeleteTarget::Workload(id), shown)
    } else if let Some(kind) = find(&NAMESPACED) {
        let shown = format!("{kind} {own}").into();
        (DeleteTarget::Namespaced(kind, own), shown)
    } else if let Some(kind) = find(&OF_CLUSTER) {
        let shown = format!("{kind} {}", own.name).into();
        (DeleteTarget::Cluster(kind, own.name), shown)
    } else {
        body.get("kind").note(Problem::rule(format!("{kind} cannot be deleted in a scenario")));
        return None;
    };
    Some(Action::Delete { target, shown })
}

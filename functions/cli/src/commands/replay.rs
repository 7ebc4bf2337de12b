//! Recordings that are replayed: loaded, and made into scenarios.

use std::path::{Path, PathBuf};

use domain::Text;
use manifests::{Located, Object, Objects, Source};
use recording::{ObjectChange, ReadRecording, Recording, WorkloadKey};
use simulation::scenario::{CatalogChoice, Scenario};

use crate::args::SimulateArgs;
use crate::bundled;
use crate::commands::replay_error::ReplayError;
use crate::commands::scenario::{self, SimulateError};
use crate::snapshot_source::{
    add_missing_node_classes, catalog_file, node_classes, print_problems,
};
use crate::{console, input};

/// A recording that was loaded, and whether all of it could be read.
pub(crate) struct Loaded {
    /// What it is called.
    pub(crate) name: String,
    /// The recording.
    pub(crate) recording: Recording,
    /// Lines were left out.
    pub(crate) has_problems: bool,
}

/// Loads a recording: a file, standard input for `-`, or a bundled one. Lines that are wrong are
/// reported, and the rest goes on.
pub(crate) fn load(wanted: &str) -> Result<Loaded, ReplayError> {
    let path = Path::new(wanted);
    let (name, text) = if wanted == "-" || path.exists() {
        (wanted.to_owned(), input::text(path)?)
    } else {
        let known = || bundled::RECORDINGS.map(|own| own.name).join(", ");
        let own = bundled::find_recording(wanted)
            .ok_or_else(|| ReplayError::Unknown(wanted.to_owned(), known()))?;
        (own.name.to_owned(), own.text.to_owned())
    };
    let ReadRecording { recording, problems } = recording::read(&name, &text)?;
    for problem in &problems {
        console::error_text(problem);
    }
    if recording.pods.is_empty() {
        return Err(ReplayError::NoPod(name));
    }
    Ok(Loaded { name, recording, has_problems: !problems.is_empty() })
}

/// The objects of files, as [`objects_of`] has them.
fn objects(
    files: &[PathBuf],
    recording: &mut Recording,
) -> Result<(Vec<Object>, bool), ReplayError> {
    Ok(objects_of(&input::sources(files)?, recording))
}

/// The objects of sources, with the recorded EC2NodeClasses that they do not name anew, and a
/// default for each that is missing; and whether some could not be read, which is said. Recorded
/// pods request what Deployments, StatefulSets and ReplicaSets among the objects say.
pub(super) fn objects_of(sources: &[Source], recording: &mut Recording) -> (Vec<Object>, bool) {
    let (read, warnings) = read_over(sources, recording);
    print_problems(&read);
    for warning in &warnings {
        console::warning(warning);
    }
    let has_problems = !read.errors.is_empty();
    (read.objects.into_iter().map(|located| located.value).collect(), has_problems)
}

/// Takes the workloads out of what was read, and lets their recorded pods request what they say.
fn take_requests(read: &mut Objects, recording: &mut Recording, warnings: &mut Vec<String>) {
    let mut workloads = Vec::new();
    read.objects.retain(|located| match &located.value {
        Object::Workload(own) => {
            workloads.push(own.workload.clone());
            false
        }
        _ => true,
    });
    for own in workloads {
        let key = WorkloadKey {
            namespace: own.key.namespace.clone(),
            kind: own.kind,
            name: own.key.name.clone(),
        };
        // Of a workload nothing but the requests is taken: it may be as little of one as
        // server-side apply takes.
        let object = Some(own.key.to_string());
        read.warnings
            .retain(|warning| warning.place.as_ref().is_none_or(|place| place.object != object));
        let requests = &own.template.spec.requests;
        if recording.request(&key, requests) == 0 {
            warnings.push(format!("{key} changes nothing: no pod of it is recorded"));
        } else if requests.is_empty() {
            warnings.push(format!("{key} changes nothing: its containers name no requests"));
        }
    }
}

/// What [`objects_of`] gives, with what there is to say of it.
pub(super) fn read_over(sources: &[Source], recording: &mut Recording) -> (Objects, Vec<String>) {
    if sources.is_empty() {
        return (Objects::default(), Vec::new());
    }
    let mut read = manifests::read(sources);
    let mut warnings = Vec::new();
    take_requests(&mut read, recording, &mut warnings);
    let given = node_classes(&read);
    let recorded = recording.objects.iter().filter_map(|own| match &own.change {
        ObjectChange::Applied(object) => Some(&**object),
        ObjectChange::Gone { .. } => None,
    });
    let is_kept = |object: &&Object| matches!(object, Object::Ec2NodeClass(own) if given.iter().all(|new| new.name != own.name));
    let kept = recorded.filter(is_kept).cloned();
    read.objects.extend(kept.map(|value| Located { file: "".into(), line: 0, value }));
    warnings.extend(add_missing_node_classes(&mut read));
    (read, warnings)
}

/// What is to be run: scenarios by name, the first without one where it is alone.
pub(crate) struct Replays {
    /// Each with the name of its variant.
    pub(crate) cases: Vec<(Text, Scenario)>,
    /// Something of the input was left out.
    pub(crate) has_problems: bool,
}

/// The scenario that replays the recording of the arguments, and one for each comparison.
pub(crate) fn scenarios(wanted: &str, args: &SimulateArgs) -> Result<Replays, SimulateError> {
    let Loaded { name, mut recording, mut has_problems } = load(wanted)?;
    let stem = Path::new(&name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(&name);
    let catalog = match &args.replay.catalog {
        None => None,
        Some(path) => {
            let types = catalog_file(path);
            let types = types.map_err(|error| ReplayError::Catalog(Box::new(error)))?;
            Some(CatalogChoice::Given(Box::new(types)))
        }
    };
    let scenario_of = |recording: &Recording| {
        let mut own = Scenario::of_recording(stem, recording);
        if let Some(catalog) = &catalog {
            own.catalog = catalog.clone();
        }
        own
    };
    let (given, have_problems) = objects(&args.replay.files, &mut recording)?;
    has_problems |= have_problems;
    let recorded = scenario_of(&recording).with_objects(given.clone());
    let with_scenario = |recorded: Scenario| match &args.scenario {
        None => Ok(recorded),
        Some(wanted) => Ok::<_, SimulateError>(scenario::load(wanted)?.over(recorded)),
    };
    let as_given = if args.replay.files.is_empty() { "as recorded" } else { "as given" };
    let mut cases = vec![(Text::from(as_given), with_scenario(recorded.clone())?)];
    for own in &args.replay.compare {
        let mut compared = recording.clone();
        let (objects, have_problems) = objects(std::slice::from_ref(&own.file), &mut compared)?;
        has_problems |= have_problems;
        let case = scenario_of(&compared).with_objects(given.clone()).with_objects(objects);
        let case = with_scenario(case)?;
        cases.push((own.name.as_str().into(), case));
    }
    if cases.iter().any(|(_, case)| !case.has_node_pool()) {
        return Err(ReplayError::NoNodePool(name).into());
    }
    Ok(Replays { cases, has_problems })
}

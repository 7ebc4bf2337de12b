//! From files to the snapshot that plans are made from.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use catalog::{Catalog, CatalogError, CatalogOptions};
use domain::instance_type::InstanceTypes;
use domain::label::Labels;
use domain::node_class::{Ec2NodeClass, Ec2NodeClassSpec, Ec2NodeClassStatus};
use domain::settings::Settings;
use domain::snapshot::ClusterSnapshot;
use domain::{Text, Timestamp};
use manifests::{Located, Object, Objects};

use crate::args::ObservationArgs;
use crate::console;
use crate::input::{self, InputError};
use crate::live::{self, LiveError};

/// One look at what the files say.
#[derive(Debug)]
pub(crate) struct Observation {
    /// What to plan from.
    pub(crate) snapshot: ClusterSnapshot,
    /// What the input left open, as it was told on standard error.
    pub(crate) warnings: Vec<String>,
    /// Some object was left out because something is wrong with it.
    pub(crate) has_bad_input: bool,
}

/// Why nothing could be observed at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ObservationError {
    /// A file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The file of `--catalog` is no catalogue.
    #[error("{path} is no usable catalogue")]
    CatalogFile {
        /// The file.
        path: String,
        /// Why not.
        #[source]
        source: CatalogError,
    },
    /// The live cluster cannot be looked at.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The embedded catalogue has nothing to offer.
    #[error("the embedded catalogue cannot be used")]
    EmbeddedCatalog(#[source] CatalogError),
}

/// What to observe, and how.
#[derive(Clone, Debug)]
pub(crate) struct Sight<'a> {
    /// Files; none for the live cluster.
    pub(crate) files: &'a [PathBuf],
    /// `--context`.
    #[cfg_attr(
        not(feature = "live"),
        expect(dead_code, reason = "without a Kubernetes client no context is looked up")
    )]
    pub(crate) context: Option<&'a str>,
    /// `--catalog`.
    pub(crate) catalog: Option<&'a Path>,
    /// `--region`.
    pub(crate) region: Option<&'a str>,
    /// `--now`.
    pub(crate) now: Option<Timestamp>,
    /// What the core is told.
    pub(crate) settings: Settings,
}

impl<'a> From<&'a ObservationArgs> for Sight<'a> {
    fn from(args: &'a ObservationArgs) -> Self {
        let ObservationArgs { files, live: _, context, catalog, now, settings } = args;
        Self {
            files,
            context: context.as_deref(),
            catalog: catalog.as_deref(),
            region: settings.region.as_deref(),
            now: *now,
            settings: settings.settings(),
        }
    }
}

/// Reads everything; tells errors, warnings and skipped kinds on standard error.
pub(crate) fn observe(sight: &Sight<'_>) -> Result<Observation, ObservationError> {
    if sight.files.is_empty() { live::observe(sight) } else { observe_files(sight) }
}

fn observe_files(sight: &Sight<'_>) -> Result<Observation, ObservationError> {
    let sources = input::sources(sight.files)?;
    // Decoding the embedded catalogue takes about as long as reading a thousand pods.
    let (mut objects, embedded_catalog) = thread::scope(|scope| {
        let decoding = sight.catalog.is_none().then(|| scope.spawn(catalog::embedded));
        let objects = manifests::read(&sources);
        let decoded =
            decoding.map(|decoding| decoding.join().unwrap_or_else(|panic| resume_unwind(panic)));
        (objects, decoded)
    });
    let has_bad_input = !objects.errors.is_empty();
    tell(&objects);

    let mut warnings: Vec<String> = objects.warnings.iter().map(ToString::to_string).collect();
    for warning in add_missing_node_classes(&mut objects) {
        console::warning(&warning);
        warnings.push(warning);
    }
    let node_classes = node_classes(&objects);
    let region = sight.region;
    let mut instance_types = match (sight.catalog, inline_catalog(&objects)) {
        (Some(path), _) => catalog_file(path)?,
        (None, Some((file, document))) => catalog::document::from_value(document)
            .map_err(|source| ObservationError::CatalogFile { path: file.to_owned(), source })?,
        (None, None) => {
            let catalog = embedded_catalog.unwrap_or_else(catalog::embedded);
            seen_by(&catalog.map_err(ObservationError::EmbeddedCatalog)?, &node_classes, region)
        }
    };
    if let Some(warning) = region.and_then(|region| settle_region(&mut instance_types, region)) {
        console::warning(&warning);
        warnings.push(warning);
    }
    let now = sight.now.unwrap_or_else(Timestamp::now);
    let (snapshot, more) =
        manifests::snapshot(objects, now, sight.settings.clone(), instance_types);
    for warning in more {
        console::warning(&warning);
        warnings.push(warning.to_string());
    }
    Ok(Observation { snapshot, warnings, has_bad_input })
}

/// Errors and warnings of reading, and how many objects of which unknown kinds were passed over.
pub(crate) fn tell(objects: &Objects) {
    for error in &objects.errors {
        console::error_text(error);
    }
    for warning in &objects.warnings {
        console::warning(warning);
    }
    if let Some(skipped) = skipped(objects) {
        console::note(&skipped);
    }
}

/// `skipped 12 objects of kinds that are not read: ConfigMap 10, Service 2`.
fn skipped(objects: &Objects) -> Option<String> {
    let total: usize = objects.skipped.values().sum();
    let kinds: Vec<_> =
        objects.skipped.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let objects = crate::view::pod_names::counted(total, "object");
    (total > 0)
        .then(|| format!("skipped {objects} of kinds that are not read: {}", kinds.join(", ")))
}

/// Sets the region of a catalogue that names none. One that names another keeps it, with a warning: its zones and
/// prices are of there.
pub(crate) fn settle_region(instance_types: &mut InstanceTypes, wanted: &str) -> Option<String> {
    match &instance_types.region {
        Some(own) if **own == *wanted => None,
        Some(own) => {
            Some(format!("--region {wanted} has no effect: the catalogue is of region {own}"))
        }
        None => {
            instance_types.region = Some(wanted.into());
            None
        }
    }
}

/// The first InstanceCatalog among the objects, and the file it stands in.
fn inline_catalog(objects: &Objects) -> Option<(&str, &serde_json::Value)> {
    objects.objects.iter().find_map(|located| match &located.value {
        Object::InstanceCatalog(document) => Some((&*located.file, document)),
        _ => None,
    })
}

/// Adds a default node class for each name that a NodePool refers to and nobody defines, and says so.
fn add_missing_node_classes(objects: &mut Objects) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, file, line) in missing_node_classes(objects) {
        warnings.push(format!(
            "EC2NodeClass {name} is not in the input: a default one (AL2023) takes its place ({file}:{line})"
        ));
        let value = Object::Ec2NodeClass(Box::new(default_node_class(name)));
        objects.objects.push(Located { file, line, value });
    }
    warnings
}

/// The node classes among the objects, as written.
pub(crate) fn node_classes(objects: &Objects) -> Vec<Ec2NodeClass> {
    let classes = objects.objects.iter().filter_map(|located| match &located.value {
        Object::Ec2NodeClass(class) => Some((**class).clone()),
        _ => None,
    });
    classes.collect()
}

/// Node classes that NodePools refer to and that are not in the input, each with the first NodePool's place.
fn missing_node_classes(objects: &Objects) -> Vec<(Text, Arc<str>, u32)> {
    let known: BTreeSet<&Text> = objects
        .objects
        .iter()
        .filter_map(|located| match &located.value {
            Object::Ec2NodeClass(class) => Some(&class.name),
            _ => None,
        })
        .collect();
    let mut missing: BTreeMap<Text, (Arc<str>, u32)> = BTreeMap::new();
    for located in &objects.objects {
        if let Object::NodePool(pool) = &located.value {
            let name = &pool.template.node_class_ref.name;
            if !known.contains(name) {
                missing.entry(name.clone()).or_insert((located.file.clone(), located.line));
            }
        }
    }
    missing.into_iter().map(|(name, (file, line))| (name, file, line)).collect()
}

/// An EC2NodeClass of which nothing is known but its name: Amazon Linux 2023, everything else at its default.
fn default_node_class(name: Text) -> Ec2NodeClass {
    Ec2NodeClass {
        name,
        uid: "".into(),
        annotations: Labels::new(),
        is_deleting: false,
        spec: Ec2NodeClassSpec::default(),
        status: Ec2NodeClassStatus::default(),
    }
}

/// The catalogue in a file.
pub(crate) fn catalog_file(path: &Path) -> Result<InstanceTypes, ObservationError> {
    catalog::document::read(&input::text(path)?).map_err(|source| ObservationError::CatalogFile {
        path: path.display().to_string(),
        source,
    })
}

/// The embedded catalogue, as the node classes see it.
pub(crate) fn embedded(
    node_classes: &[Ec2NodeClass],
    region: Option<&str>,
) -> Result<InstanceTypes, ObservationError> {
    let catalog = catalog::embedded().map_err(ObservationError::EmbeddedCatalog)?;
    Ok(seen_by(&catalog, node_classes, region))
}

fn seen_by(
    catalog: &Catalog,
    node_classes: &[Ec2NodeClass],
    region: Option<&str>,
) -> InstanceTypes {
    let mut options = CatalogOptions::default();
    if let Some(region) = region {
        options.region = region.into();
    }
    catalog.instance_types(node_classes, &options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_region(region: Option<&str>) -> InstanceTypes {
        InstanceTypes { region: region.map(Text::from), ..InstanceTypes::default() }
    }

    #[test]
    fn a_catalogue_without_a_region_takes_the_one_asked_for() {
        let mut types = of_region(None);
        assert_eq!(settle_region(&mut types, "eu-west-1"), None);
        assert_eq!(types.region.as_deref(), Some("eu-west-1"));
    }

    #[test]
    fn a_catalogue_of_another_region_keeps_it_and_says_so() {
        let mut types = of_region(Some("us-east-1"));
        let warning = settle_region(&mut types, "eu-west-1").unwrap();
        assert!(warning.contains("the catalogue is of region us-east-1"), "{warning}");
        assert_eq!(types.region.as_deref(), Some("us-east-1"));
    }
}

//! A snapshot from manifests: what users apply, or what `kubectl get -o yaml` prints.

use catalog::{Catalog, CatalogError};
use domain::instance_type::InstanceTypes;
use manifests::{Object, Objects, Source, Warning};
use parallel::both;

use super::error::SnapshotError;
use super::instance_types::{catalog_file, take_embedded, take_given};
use super::node_classes::add_missing_node_classes;
use super::scheduler_config::use_scheduler_config;
use super::source::{LoadedSnapshot, SnapshotSource};
use crate::view::pod_names::counted;
use crate::{clock, console, input};

/// Reads the files of a source.
pub(super) fn load(source: &SnapshotSource<'_>) -> Result<LoadedSnapshot, SnapshotError> {
    let sources = input::sources(source.files)?;
    // Decoding the embedded catalogue takes about as long as reading a thousand pods.
    let (objects, embedded_catalog) =
        both(|| manifests::read(&sources), || source.catalog.is_none().then(catalog::embedded));
    let mut objects = objects;
    if objects.objects.is_empty() && objects.errors.is_empty() && objects.skipped.is_empty() {
        check_not_empty(&sources)?;
        objects.warnings.push(Warning { what: "the input holds no objects".into(), place: None });
    }
    print_problems(&objects);
    let said = objects.warnings.len();
    let loaded = of_objects(objects, source, embedded_catalog)?;
    for warning in loaded.warnings.iter().skip(said) {
        console::warning(warning);
    }
    Ok(loaded)
}

/// Input without any document is no cluster without objects: whatever should have written it has
/// failed.
fn check_not_empty(sources: &[Source]) -> Result<(), SnapshotError> {
    if sources.iter().any(|source| !manifests::documents(source).is_empty()) {
        return Ok(());
    }
    let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    Err(SnapshotError::Empty(names.join(", ")))
}

/// The snapshot of objects that were read already, with the embedded catalogue where it is needed
/// and decoded. Nothing is printed: its warnings begin with those of the objects.
pub(crate) fn of_objects(
    mut objects: Objects,
    source: &SnapshotSource<'_>,
    embedded_catalog: Option<Result<Catalog, CatalogError>>,
) -> Result<LoadedSnapshot, SnapshotError> {
    let errors: Vec<String> = objects.errors.iter().map(ToString::to_string).collect();
    let has_bad_input = !errors.is_empty();
    let mut warnings: Vec<String> = objects.warnings.iter().map(ToString::to_string).collect();
    warnings.extend(add_missing_node_classes(&mut objects));
    let given = match (source.catalog, inline_catalog(&objects)) {
        (Some(path), _) => Some(catalog_file(path)?),
        (None, Some((file, document))) => Some(
            catalog::document::from_value(document)
                .map_err(|source| SnapshotError::CatalogFile { path: file.to_owned(), source })?,
        ),
        (None, None) => None,
    };
    let now = source.now.unwrap_or_else(clock::now);
    let settings = source.settings.clone();
    let (mut snapshot, more) =
        manifests::snapshot(objects, now, settings, InstanceTypes::default());
    let chosen = if let Some(types) = given {
        take_given(&mut snapshot, types, source.region)
    } else {
        let catalog = embedded_catalog.unwrap_or_else(catalog::embedded);
        let catalog = catalog.map_err(SnapshotError::EmbeddedCatalog)?;
        take_embedded(&mut snapshot, catalog, source.region)?
    };
    warnings.extend(more.iter().map(ToString::to_string).chain(chosen.warnings));
    warnings.extend(use_scheduler_config(&mut snapshot, source.scheduler_config)?);
    let region_said_by = chosen.said_by;
    Ok(LoadedSnapshot {
        snapshot,
        region_said_by,
        is_catalog_fetched: false,
        warnings,
        errors,
        has_bad_input,
    })
}

/// Prints errors and warnings of reading, and the number of skipped objects by kind, to standard
/// error.
pub(crate) fn print_problems(objects: &Objects) {
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

/// `skipped 12 objects of kinds that are not read: ConfigMap 10, Secret 2`.
fn skipped(objects: &Objects) -> Option<String> {
    let total: usize = objects.skipped.values().sum();
    let kinds: Vec<_> =
        objects.skipped.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let objects = counted(total, "object");
    (total > 0)
        .then(|| format!("skipped {objects} of kinds that are not read: {}", kinds.join(", ")))
}

/// The first InstanceCatalog among the objects, with the name of its file.
fn inline_catalog(objects: &Objects) -> Option<(&str, &manifests::Value<'static>)> {
    objects.objects.iter().find_map(|located| match &located.value {
        Object::InstanceCatalog(document) => Some((&*located.file, document)),
        _ => None,
    })
}

//! Instance types of a snapshot: of a catalogue in a file, or of the embedded one.

use std::path::Path;

use catalog::{Catalog, CatalogOptions};
use domain::instance_type::InstanceTypes;
use domain::node_class::Ec2NodeClass;

use super::error::SnapshotError;
use crate::input;

/// The catalogue in a file.
pub(crate) fn catalog_file(path: &Path) -> Result<InstanceTypes, SnapshotError> {
    catalog::document::read(&input::text(path)?)
        .map_err(|source| SnapshotError::CatalogFile { path: path.display().to_string(), source })
}

/// The embedded catalogue with the node classes applied.
pub(crate) fn embedded(
    node_classes: &[Ec2NodeClass],
    region: Option<&str>,
) -> Result<InstanceTypes, SnapshotError> {
    let catalog = catalog::embedded().map_err(SnapshotError::EmbeddedCatalog)?;
    Ok(with_node_classes(&catalog, node_classes, region))
}

/// A catalogue with node classes applied: they set the allocatable resources of each type.
pub(super) fn with_node_classes(
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

/// Sets the region of a catalogue that names none.
///
/// A catalogue that names another region keeps it, as its zones and prices are of that region; the
/// warning says so.
pub(super) fn set_region(instance_types: &mut InstanceTypes, wanted: &str) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use domain::Text;

    use super::*;

    fn of_region(region: Option<&str>) -> InstanceTypes {
        InstanceTypes { region: region.map(Text::from), ..InstanceTypes::default() }
    }

    #[test]
    fn a_catalogue_without_a_region_takes_the_given_one() {
        let mut types = of_region(None);
        assert_eq!(set_region(&mut types, "eu-west-1"), None);
        assert_eq!(types.region.as_deref(), Some("eu-west-1"));
    }

    #[test]
    fn a_catalogue_of_another_region_keeps_it_with_a_warning() {
        let mut types = of_region(Some("us-east-1"));
        let warning = set_region(&mut types, "eu-west-1").unwrap();
        assert!(warning.contains("the catalogue is of region us-east-1"), "{warning}");
        assert_eq!(types.region.as_deref(), Some("us-east-1"));
    }
}

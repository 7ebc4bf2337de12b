//! Instance types of a snapshot: of a catalogue in a file, or of the embedded one.

use std::path::Path;

use catalog::price::PRICED_REGION;
use catalog::{Catalog, CatalogOptions};
use domain::Text;
use domain::instance_type::InstanceTypes;
use domain::node_class::Ec2NodeClass;
use domain::snapshot::ClusterSnapshot;

use super::error::SnapshotError;
use super::region::{self, Region};
use crate::input;
use crate::view::pricing::SaidBy;

/// The catalogue in a file.
pub(crate) fn catalog_file(path: &Path) -> Result<InstanceTypes, SnapshotError> {
    catalog::document::read(&input::text(path)?)
        .map_err(|source| SnapshotError::CatalogFile { path: path.display().to_string(), source })
}

/// The embedded catalogue with the node classes applied, of the region that is wanted, or else the
/// one that the subnets of the node classes are in.
pub(crate) fn embedded(
    node_classes: &[Ec2NodeClass],
    wanted: Option<&str>,
) -> Result<(InstanceTypes, Chosen), SnapshotError> {
    let catalog = catalog::embedded().map_err(SnapshotError::EmbeddedCatalog)?;
    let (options, chosen) =
        choose(&catalog, region::of_node_classes(node_classes).as_ref(), wanted)?;
    let types = catalog.priced_in(&options.region).instance_types(node_classes, &options);
    Ok((types, chosen))
}

/// Whether the catalogue knows a region that somebody asked for.
pub(crate) fn check_region(catalog: &Catalog, region: Option<&str>) -> Result<(), SnapshotError> {
    match region {
        Some(region) if !catalog.knows_region(region) => {
            let known: Vec<&str> = catalog.regions().map(|(name, _)| &**name).collect();
            Err(SnapshotError::UnknownRegion { region: region.to_owned(), known: known.join(", ") })
        }
        _ => Ok(()),
    }
}

/// What instance types and their region were taken from.
pub(crate) struct Chosen {
    /// What says which region they are of.
    pub(crate) said_by: SaidBy,
    /// What its author may not expect.
    pub(crate) warnings: Vec<String>,
}

/// Gives a snapshot the types of the embedded catalogue, for the region of `--region`, or else the
/// one that its objects say.
pub(super) fn take_embedded(
    snapshot: &mut ClusterSnapshot,
    catalog: Catalog,
    wanted: Option<&str>,
) -> Result<Chosen, SnapshotError> {
    let (options, chosen) = choose(&catalog, region::of_objects(snapshot).as_ref(), wanted)?;
    let options = options.with_running(&snapshot.objects.nodes);
    let catalog = catalog.priced_in(&options.region);
    snapshot.instance_types = catalog.instance_types(&snapshot.objects.node_classes, &options);
    Ok(chosen)
}

/// The region of the embedded catalogue for objects: the one that is wanted, or else the one that
/// they say.
pub(crate) fn region_for(
    snapshot: &ClusterSnapshot,
    wanted: Option<&str>,
) -> Result<(Text, Chosen), SnapshotError> {
    let catalog = catalog::embedded().map_err(SnapshotError::EmbeddedCatalog)?;
    let (options, chosen) = choose(&catalog, region::of_objects(snapshot).as_ref(), wanted)?;
    Ok((options.region, chosen))
}

/// Gives a snapshot the types of a catalogue that was fetched for the region that is wanted, or
/// else for the one that the objects say.
#[cfg(feature = "live")]
pub(super) fn take_fetched(
    snapshot: &mut ClusterSnapshot,
    catalogue: &ec2::catalogue::Catalogue,
    wanted: Option<&str>,
) -> Chosen {
    let said = region::of_objects(snapshot);
    let warnings = said.as_ref().and_then(|said| other_regions(said, wanted));
    let said_by = match (wanted, said) {
        (None, Some(said)) => said.said_by,
        _ => SaidBy::Option,
    };
    let options = CatalogOptions {
        pricing: catalogue.pricing(),
        spot_prices: catalogue.spot_prices.clone(),
        ..CatalogOptions::of(&catalogue.region).with_running(&snapshot.objects.nodes)
    };
    let node_classes = &snapshot.objects.node_classes;
    snapshot.instance_types = catalogue.catalog.instance_types(node_classes, &options);
    Chosen { said_by, warnings: warnings.into_iter().collect() }
}

/// The region that is wanted, or else said, as options of the embedded catalogue; without either,
/// us-east-1.
fn choose(
    catalog: &Catalog,
    said: Option<&Region>,
    wanted: Option<&str>,
) -> Result<(CatalogOptions, Chosen), SnapshotError> {
    check_region(catalog, wanted)?;
    let mut warnings = Vec::new();
    if let Some(said) = said {
        warnings.extend(other_regions(said, wanted));
        if wanted.is_none() && !catalog.knows_region(&said.name) {
            warnings.push(format!(
                "region {} is not in the embedded catalogue: every type is taken to be sold in \
                 its zones a, b and c; give --catalog",
                said.name
            ));
        }
    }
    let said_by = match (wanted, said) {
        (Some(_), _) => SaidBy::Option,
        (None, Some(said)) => said.said_by.clone(),
        (None, None) => SaidBy::Nothing,
    };
    let region = wanted.or(said.map(|said| &*said.name));
    let options = region.map_or_else(CatalogOptions::default, CatalogOptions::of);
    Ok((options, Chosen { said_by, warnings }))
}

/// Gives a snapshot the types of a catalogue that was given. A catalogue that names no region is
/// of the one that is wanted, or else of the one that the objects say.
pub(super) fn take_given(
    snapshot: &mut ClusterSnapshot,
    mut types: InstanceTypes,
    wanted: Option<&str>,
) -> Chosen {
    let said = region::of_objects(snapshot);
    let mut warnings = Vec::new();
    let mut said_by = SaidBy::Catalog;
    match (&types.region, wanted) {
        (Some(own), Some(wanted)) if **own != *wanted => warnings
            .push(format!("--region {wanted} has no effect: the catalogue is of region {own}")),
        (Some(own), _) => {
            warnings.extend(said.as_ref().and_then(|said| other_regions(said, Some(own))));
        }
        (None, Some(wanted)) => {
            types.region = Some(wanted.into());
            said_by = SaidBy::Option;
        }
        (None, None) => {
            if let Some(said) = said {
                types.region = Some(said.name);
                said_by = said.said_by;
            }
        }
    }
    let region = types.region.as_deref().unwrap_or(PRICED_REGION);
    types.fargate = Some(catalog::price::fargate(region));
    snapshot.instance_types = types;
    Chosen { said_by, warnings }
}

/// A warning where objects are of another region than the one that is planned for.
fn other_regions(said: &Region, wanted: Option<&str>) -> Option<String> {
    let planned = wanted.unwrap_or(&said.name);
    let SaidBy::Objects { kind, count } = said.said_by else { return None };
    let own = (said.name.clone(), count);
    let all = said.others.clone().into_iter().chain([own]);
    let mut elsewhere: Vec<(Text, usize)> = all.filter(|(name, _)| **name != *planned).collect();
    elsewhere.sort();
    let listed: Vec<String> =
        elsewhere.iter().map(|(name, count)| format!("{count} in {name}")).collect();
    (!listed.is_empty()).then(|| {
        format!(
            "planning for region {planned}, while some of the {kind}s are elsewhere: {}",
            listed.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use domain::label;

    use super::*;
    use crate::testing;

    fn of_region(region: Option<&str>) -> InstanceTypes {
        InstanceTypes { region: region.map(Text::from), ..InstanceTypes::default() }
    }

    #[test]
    fn a_catalogue_without_a_region_takes_the_given_one() {
        let mut snapshot = testing::snapshot();
        let chosen = take_given(&mut snapshot, of_region(None), Some("eu-west-1"));
        assert_eq!((chosen.said_by, chosen.warnings), (SaidBy::Option, vec![]));
        assert_eq!(snapshot.instance_types.region.as_deref(), Some("eu-west-1"));
    }

    #[test]
    fn a_catalogue_of_another_region_keeps_it_with_a_warning() {
        let mut snapshot = testing::snapshot();
        let types = of_region(Some("us-east-1"));
        let Chosen { said_by, warnings } = take_given(&mut snapshot, types, Some("eu-west-1"));
        assert_eq!(said_by, SaidBy::Catalog);
        assert!(warnings[0].contains("the catalogue is of region us-east-1"), "{warnings:?}");
        assert_eq!(snapshot.instance_types.region.as_deref(), Some("us-east-1"));
    }

    #[test]
    fn a_catalogue_of_another_region_than_the_nodes_is_a_warning() {
        let mut snapshot = testing::snapshot();
        let types = of_region(Some("ap-northeast-2"));
        let Chosen { warnings, .. } = take_given(&mut snapshot, types, None);
        let expected = "planning for region ap-northeast-2, while some of the nodes are elsewhere: \
                        2 in us-east-1";
        assert_eq!(warnings, [expected]);
        let Chosen { warnings, .. } =
            take_given(&mut testing::snapshot(), of_region(Some("us-east-1")), None);
        assert!(warnings.is_empty(), "{warnings:?}");
    }

    #[test]
    fn a_region_that_nobody_knows_is_refused_by_name() {
        let catalog = catalog::embedded().unwrap();
        let error = check_region(&catalog, Some("us-esat-1")).unwrap_err().to_string();
        assert!(error.starts_with("region us-esat-1 is not known: "), "{error}");
        assert!(error.contains("us-east-1, us-east-2"), "{error}");
        assert!(check_region(&catalog, Some("ap-northeast-2")).is_ok());
    }

    #[test]
    fn a_region_that_only_the_nodes_know_is_planned_for_with_a_warning() {
        let mut snapshot = testing::snapshot();
        for node in &mut snapshot.objects.nodes {
            node.labels.insert(label::REGION.into(), "us-gov-west-1".into());
        }
        let catalog = catalog::embedded().unwrap();
        let chosen = take_embedded(&mut snapshot, catalog, None).unwrap();
        assert_eq!(snapshot.instance_types.region.as_deref(), Some("us-gov-west-1"));
        assert!(
            chosen.warnings[0].starts_with("region us-gov-west-1 is not in the embedded catalogue"),
            "{:?}",
            chosen.warnings
        );
    }

    #[test]
    fn the_embedded_catalogue_is_that_of_the_nodes_region() {
        let mut snapshot = testing::snapshot();
        for node in &mut snapshot.objects.nodes {
            node.labels.insert(label::REGION.into(), "ap-northeast-2".into());
        }
        let catalog = catalog::embedded().unwrap();
        let chosen = take_embedded(&mut snapshot, catalog.clone(), None).unwrap();
        assert_eq!(snapshot.instance_types.region.as_deref(), Some("ap-northeast-2"));
        assert!(chosen.warnings.is_empty(), "{:?}", chosen.warnings);
        let chosen = take_embedded(&mut snapshot, catalog, Some("eu-west-1")).unwrap();
        assert_eq!(chosen.said_by, SaidBy::Option);
        assert!(chosen.warnings[0].contains("in ap-northeast-2"), "{:?}", chosen.warnings);
    }
}

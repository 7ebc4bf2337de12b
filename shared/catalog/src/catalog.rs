//! The catalogue: facts of all types, and what node classes see of them.

use std::collections::BTreeMap;

use domain::Text;
use domain::instance_type::{InstanceType, InstanceTypeList, InstanceTypes};
use domain::money::UsdPerHour;
use domain::node_class::Ec2NodeClass;
use parallel::both;

use crate::capacity::capacity;
use crate::compatibility::is_compatible;
use crate::error::CatalogError;
use crate::facts::{Feature, InstanceTypeFacts};
use crate::labels::{self, TypeLabels};
use crate::offerings::{Zones, offerings};
use crate::options::CatalogOptions;
use crate::overhead::allocatable;
use crate::price;
use crate::region::{self, Region};
use crate::table;
use crate::text::Texts;
use crate::view::NodeClassView;

/// Facts of instance types and of the regions that sell them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    types: Vec<InstanceTypeFacts>,
    /// Those of the types that can be nodes.
    nodes: Vec<NodeType>,
    regions: BTreeMap<Text, Region>,
}

/// An instance type that can be a node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NodeType {
    /// Its index in the catalogue.
    index: usize,
    /// The labels that it has with every node class.
    labels: TypeLabels,
}

/// The catalogue that is part of the program: every type that EC2 described when it was built, at
/// the list prices of us-east-1.
///
/// It decodes in some two milliseconds. An error means that the program was built from damaged
/// tables.
pub fn embedded() -> Result<Catalog, CatalogError> {
    let types = table::decode(include_str!("../data/instance-types.tsv"))?;
    let regions = region::decode(include_str!("../data/regions.tsv"), types.len())?;
    Ok(Catalog { nodes: node_types(&types), types, regions })
}

/// The embedded catalogue with prices as they are in a region, by its factor.
pub fn embedded_in(region: &str) -> Result<Catalog, CatalogError> {
    Ok(embedded()?.priced_in(region))
}

impl Catalog {
    /// A catalogue of facts in any order, the last of a name counting, and of regions whose bits
    /// are in the order of those names.
    pub fn of(types: Vec<InstanceTypeFacts>, regions: BTreeMap<Text, Region>) -> Self {
        let by_name: BTreeMap<Text, InstanceTypeFacts> =
            types.into_iter().map(|facts| (facts.name.clone(), facts)).collect();
        let types: Vec<InstanceTypeFacts> = by_name.into_values().collect();
        Self { nodes: node_types(&types), types, regions }
    }

    /// The same with the prices of another region, where those here are us-east-1's.
    #[must_use]
    pub fn priced_in(mut self, region: &str) -> Self {
        for facts in &mut self.types {
            facts.on_demand = facts.on_demand.map(|own| price::on_demand(own, region));
        }
        self
    }

    /// The catalogue with on-demand prices of some types replaced; all others keep theirs.
    #[must_use]
    pub fn with_prices(mut self, on_demand: &BTreeMap<Text, UsdPerHour>) -> Self {
        for facts in &mut self.types {
            if let Some(price) = on_demand.get(&facts.name) {
                facts.on_demand = Some(*price);
            }
        }
        self
    }

    /// The catalogue without any on-demand price.
    #[must_use]
    pub fn without_prices(mut self) -> Self {
        for facts in &mut self.types {
            facts.on_demand = None;
        }
        self
    }

    /// The facts, by name of the type.
    pub fn types(&self) -> &[InstanceTypeFacts] {
        &self.types
    }

    /// The facts of one type.
    pub fn find(&self, name: &str) -> Option<&InstanceTypeFacts> {
        let index = self.types.binary_search_by(|facts| (*facts.name).cmp(name)).ok()?;
        self.types.get(index)
    }

    /// The zones of a region in which a type is sold, by name; none where the region is not known.
    pub fn zones_of(&self, region: &str, instance_type: &str) -> impl Iterator<Item = &Text> {
        let index = self.types.binary_search_by(|facts| (*facts.name).cmp(instance_type)).ok();
        let region = self.regions.get(region);
        let zones = region.zip(index).map(|(region, index)| region.zones_of(index));
        zones.into_iter().flatten()
    }

    /// Whether it is known what the region sells.
    pub fn knows_region(&self, region: &str) -> bool {
        self.regions.contains_key(region)
    }

    /// The regions whose offerings are known, by name.
    pub fn regions(&self) -> impl Iterator<Item = (&Text, &Region)> {
        self.regions.iter()
    }

    /// What each node class sees in the region, and as the default what one without settings sees
    /// (AL2023). Node classes that see the same share one list.
    ///
    /// Types that Kubernetes cannot run on (Macs, paravirtual ones) and types that the region does
    /// not sell are left out. Zone ids are those of the node classes' subnets: a zone's id depends
    /// on the account, so the catalogue cannot know it.
    pub fn instance_types(
        &self,
        node_classes: &[Ec2NodeClass],
        options: &CatalogOptions,
    ) -> InstanceTypes {
        let region = self.regions.get(&options.region).cloned();
        let region = region.unwrap_or_else(|| Region::unknown(&options.region, self.types.len()));
        let mut distinct = vec![NodeClassView::plain()];
        let mut place_of = |view: NodeClassView| {
            distinct.iter().position(|known| *known == view).unwrap_or_else(|| {
                distinct.push(view);
                distinct.len() - 1
            })
        };
        let places: Vec<usize> =
            node_classes.iter().map(|class| place_of(NodeClassView::of(class, options))).collect();
        let lists_of = |views: &[NodeClassView]| -> Vec<InstanceTypeList> {
            views.iter().map(|view| self.seen_by(view, &region, options)).collect()
        };
        let lists = match distinct.split_at(distinct.len() / 2) {
            ([], all) => lists_of(all),
            (some, others) => {
                let (some, others) = both(|| lists_of(some), || lists_of(others));
                [some, others].concat()
            }
        };
        let by_node_class = node_classes
            .iter()
            .zip(places)
            .map(|(class, place)| (class.name.clone(), lists[place].clone()))
            .collect();
        let subnets = node_classes.iter().flat_map(|class| &class.status.subnets);
        InstanceTypes {
            region: Some(options.region.clone()),
            pricing: options.pricing.clone(),
            fargate: Some(price::fargate(&options.region)),
            zone_ids: subnets
                .filter_map(|subnet| Some((subnet.zone.clone(), subnet.zone_id.clone()?)))
                .collect(),
            default: lists[0].clone(),
            by_node_class,
        }
    }

    /// The types that nodes of a node class can be.
    fn seen_by(
        &self,
        view: &NodeClassView,
        region: &Region,
        options: &CatalogOptions,
    ) -> InstanceTypeList {
        let mut texts = Texts::default();
        let seen = self.nodes.iter().map(|NodeType { index, labels }| {
            let facts = &self.types[*index];
            let labels = labels::with_family(labels.clone(), view.ami_family, &mut texts);
            let capacity = capacity(facts, view, options);
            let is_compatible = is_compatible(facts, view, &labels);
            InstanceType {
                name: facts.name.clone(),
                labels,
                allocatable: allocatable(&capacity, facts, view, options),
                capacity,
                offerings: offerings(
                    facts,
                    &zones(facts, region.zones_of(*index), options),
                    view,
                    options,
                    is_compatible,
                ),
            }
        });
        seen.filter(|instance_type| !instance_type.offerings.is_empty()).collect()
    }
}

/// The types that can be nodes.
fn node_types(types: &[InstanceTypeFacts]) -> Vec<NodeType> {
    let mut texts = Texts::default();
    types
        .iter()
        .enumerate()
        .filter(|(_, facts)| facts.architecture.is_some() && facts.features.has(Feature::Hvm))
        .map(|(index, facts)| NodeType { index, labels: labels::of_type(facts, &mut texts) })
        .collect()
}

/// Zones in which a type is listed, and those in which it runs nevertheless.
fn zones<'z>(
    facts: &InstanceTypeFacts,
    listed: impl Iterator<Item = &'z Text>,
    options: &'z CatalogOptions,
) -> Zones<'z> {
    let listed: Vec<&Text> = listed.collect();
    let own = options.running.iter().filter(|(name, _)| *name == facts.name);
    let unlisted = own.map(|(_, zone)| zone).filter(|zone| !listed.contains(zone)).collect();
    Zones { listed, unlisted }
}

#[cfg(test)]
mod tests;

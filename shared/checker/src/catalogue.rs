//! What EC2 offers to the nodes of one node class, and which labels that decides.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use domain::Text;
use domain::instance_type::{InstanceType, InstanceTypeList, InstanceTypes, Offering};
use domain::label::{
    ARCH, CAPACITY_TYPE, INSTANCE_TYPE, OF_RESERVATION, OS, REGION, ZONE, ZONE_ID,
};

use crate::label_state::{ABSENT, LabelState};
use crate::terms::{LabelView, Terms};

/// Labels that an offering decides rather than its instance type.
pub(crate) fn is_market_label(key: &str) -> bool {
    matches!(key, ZONE | CAPACITY_TYPE | ZONE_ID) || OF_RESERVATION.contains(&key)
}

/// Where, and how, an instance type is bought: what many offerings have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Market {
    labels: Vec<(&'static str, LabelState)>,
}

impl Market {
    fn of(offering: &Offering, zone_ids: &BTreeMap<Text, Text>) -> Self {
        let mut labels = vec![
            (ZONE, LabelState::one(offering.zone.clone())),
            (CAPACITY_TYPE, LabelState::one(offering.capacity_type.as_str().into())),
        ];
        if let Some(id) = zone_ids.get(&offering.zone) {
            labels.push((ZONE_ID, LabelState::one(id.clone())));
        }
        if let Some(reservation) = &offering.reservation {
            labels.extend(
                OF_RESERVATION
                    .into_iter()
                    .filter_map(|key| Some((key, LabelState::one(reservation.label(key)?.into())))),
            );
        }
        Self { labels }
    }

    /// What it decides of a label, if it does.
    pub(crate) fn find(&self, key: &str) -> Option<&LabelState> {
        self.labels.iter().find(|(own, _)| *own == key).map(|(_, state)| state)
    }
}

/// The instance types that one node class sees.
pub(crate) struct Catalogue<'a> {
    pub(crate) types: &'a InstanceTypeList,
    /// Every market that some type is offered in; those of [`Catalogue::market_of`].
    pub(crate) markets: Vec<Market>,
    pub(crate) region: Option<&'a Text>,
    zone_ids: &'a BTreeMap<Text, Text>,
    market_numbers: FxHashMap<(&'a Text, &'static str, Option<&'a Text>), usize>,
    known_keys: FxHashSet<&'a str>,
}

fn market_key(offering: &Offering) -> (&Text, &'static str, Option<&Text>) {
    let reservation = offering.reservation.as_ref().map(|reservation| &reservation.id);
    (&offering.zone, offering.capacity_type.as_str(), reservation)
}

impl<'a> Catalogue<'a> {
    /// What the node class sees.
    pub(crate) fn of(all: &'a InstanceTypes, node_class: &str) -> Self {
        let types = all.of(node_class);
        let mut catalogue = Self {
            types,
            markets: Vec::new(),
            region: all.region.as_ref(),
            zone_ids: &all.zone_ids,
            market_numbers: FxHashMap::default(),
            known_keys: [ZONE, CAPACITY_TYPE, ARCH, OS, INSTANCE_TYPE]
                .into_iter()
                .chain(OF_RESERVATION)
                .collect(),
        };
        if all.region.is_some() {
            catalogue.known_keys.insert(REGION);
        }
        if !all.zone_ids.is_empty() {
            catalogue.known_keys.insert(ZONE_ID);
        }
        catalogue.known_keys.extend(types.summary().label_keys.keys().map(|key| &**key));
        for instance_type in types.iter() {
            for offering in &instance_type.offerings {
                catalogue.number_market(offering);
            }
        }
        catalogue
    }

    fn number_market(&mut self, offering: &'a Offering) {
        let next = self.markets.len();
        if *self.market_numbers.entry(market_key(offering)).or_insert(next) == next {
            self.markets.push(Market::of(offering, self.zone_ids));
        }
    }

    /// The market that an offering is of, as an index of [`Catalogue::markets`].
    pub(crate) fn market_of(&self, offering: &Offering) -> usize {
        self.market_numbers.get(&market_key(offering)).copied().unwrap_or_default()
    }

    /// Where a type stands in [`Catalogue::types`].
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.types.position(name)
    }

    /// A type by name.
    pub(crate) fn find(&self, name: &str) -> Option<&'a InstanceType> {
        self.position(name).map(|index| &self.types[index])
    }

    /// Whether instance types or offerings decide the label.
    pub(crate) fn knows(&self, key: &str) -> bool {
        self.known_keys.contains(key)
    }

    /// Whether some offering, available or not, may meet the terms in some NodePool.
    pub(crate) fn may_offer(&self, terms: &Terms) -> bool {
        let unknown = LabelState::unknown();
        self.types.iter().any(|instance_type| {
            let labels = type_labels(instance_type);
            instance_type.offerings.iter().any(|offering| {
                let market = Some(&self.markets[self.market_of(offering)]);
                terms.possible(&InAnyPool {
                    catalogue: self,
                    market,
                    labels: &labels,
                    unknown: &unknown,
                })
            })
        })
    }
}

/// One of [`type_labels`].
pub(crate) fn type_label(instance_type: &InstanceType, key: &str) -> Option<LabelState> {
    let name = || (key == INSTANCE_TYPE).then(|| LabelState::one(instance_type.name.clone()));
    let values = instance_type.labels.get(key);
    values.map(|values| LabelState::any_of(values.iter().cloned())).or_else(name)
}

/// The labels that an instance type decides.
pub(crate) fn type_labels(instance_type: &InstanceType) -> BTreeMap<Text, LabelState> {
    let labels = instance_type.labels.iter();
    let mut labels: BTreeMap<Text, LabelState> = labels
        .map(|(key, values)| (key.clone(), LabelState::any_of(values.iter().cloned())))
        .collect();
    labels
        .entry(INSTANCE_TYPE.into())
        .or_insert_with(|| LabelState::one(instance_type.name.clone()));
    labels
}

/// An offering in a NodePool that is not known: what the catalogue does not decide, the pool may.
struct InAnyPool<'v, 'a> {
    catalogue: &'v Catalogue<'a>,
    market: Option<&'v Market>,
    labels: &'v BTreeMap<Text, LabelState>,
    unknown: &'v LabelState,
}

impl LabelView for InAnyPool<'_, '_> {
    fn state(&self, key: &str) -> &LabelState {
        let decided = self.market.and_then(|market| market.find(key));
        decided
            .or_else(|| self.labels.get(key))
            .unwrap_or_else(|| if self.catalogue.knows(key) { &ABSENT } else { self.unknown })
    }
}

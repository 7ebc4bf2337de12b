//! NodePools, and everything that each of them may launch.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use domain::Text;
use domain::address_ledger::AddressLedger;
use domain::instance_type::{InstanceType, Offering};
use domain::label::{HOSTNAME, INITIALIZED, NODE_POOL, REGION, REGISTERED};
use domain::money::UsdPerHour;
use domain::node_pool::NodePool;
use domain::resource::{MEMORY, Resources, is_huge_pages};

use crate::catalogue::{Catalogue, Market, is_market_label, type_label, type_labels};
use crate::label_state::{ABSENT, Expression, LabelState};
use crate::overlay::{Overlays, replaced};
use crate::terms::{LabelView, NODE_NAME};
use crate::weight::Weights;

/// Stands for the name and host name of a node that is not there yet.
pub(crate) const NEW_NODE: &str = "new node";

/// A NodePool beside the catalogue that its node class sees.
pub(crate) struct Pool<'a> {
    pub(crate) spec: &'a NodePool,
    pub(crate) catalogue: Rc<Catalogue<'a>>,
    /// Labels that every node of the pool has besides the template's.
    own: Rc<BTreeMap<Text, LabelState>>,
}

/// Everything that a NodePool may launch: available offerings under its labels and requirements.
pub(crate) struct PoolOffer<'a> {
    /// By the position of the type in the catalogue; `None` for types that the pool cannot launch.
    pub(crate) types: Vec<Option<TypeOffer<'a>>>,
    /// Whether some type has room for the DaemonSets of its nodes, once somebody asked.
    pub(crate) hosts_daemons: OnceCell<bool>,
}

/// What a NodePool may launch of one instance type.
pub(crate) struct TypeOffer<'a> {
    pub(crate) instance_type: &'a InstanceType,
    pub(crate) labels: NodeLabels<'a>,
    pub(crate) offers: Vec<Offer<'a>>,
    /// What such nodes have; several only where NodeOverlays tell offerings apart.
    pub(crate) equipment: Vec<Equipment<'a>>,
}

/// What is known of the labels of a pool's nodes of one type, but for those that the offering
/// decides.
pub(crate) struct NodeLabels<'a> {
    instance_type: &'a InstanceType,
    region: Option<&'a Text>,
    /// Of every node of the pool.
    of_pool: Rc<BTreeMap<Text, LabelState>>,
    /// Those that the pool's template speaks of, narrowed to what it wants.
    narrowed: Vec<(Text, LabelState)>,
    /// All of them, once somebody has asked: of most types nobody does.
    all: OnceCell<BTreeMap<Text, LabelState>>,
}

impl NodeLabels<'_> {
    /// What is known of one of them.
    pub(crate) fn get(&self, key: &str) -> Option<&LabelState> {
        let narrowed = self.narrowed.iter().find(|(own, _)| &**own == key).map(|(_, state)| state);
        narrowed.or_else(|| self.all().get(key))
    }

    fn all(&self) -> &BTreeMap<Text, LabelState> {
        self.all.get_or_init(|| {
            let mut labels = (*self.of_pool).clone();
            labels.extend(type_labels(self.instance_type));
            if let Some(region) = self.region {
                labels.insert(REGION.into(), LabelState::one(region.clone()));
            }
            labels.extend(self.narrowed.iter().cloned());
            labels
        })
    }

    /// One of them, as it would be if the template did not speak of it.
    fn by_itself(&self, key: &str) -> Option<LabelState> {
        let Self { instance_type, region, of_pool, .. } = self;
        match region.filter(|_| key == REGION) {
            Some(region) => Some(LabelState::one(region.clone())),
            None => type_label(instance_type, key).or_else(|| of_pool.get(key).cloned()),
        }
    }
}

/// One offering of a type.
pub(crate) struct Offer<'a> {
    pub(crate) offering: &'a Offering,
    /// An index of the catalogue's markets.
    pub(crate) market: usize,
    /// Every price that it may be quoted at, lowest first; at least one, several only where
    /// NodeOverlays of one weight disagree.
    pub(crate) prices: Vec<UsdPerHour>,
    /// What it is to be chosen at for each price.
    pub(crate) weighted: Vec<UsdPerHour>,
    /// It is wanted only where no other offering is left.
    pub(crate) is_unwanted: bool,
    /// An index of the type's equipment.
    pub(crate) equipment: usize,
}

impl Offer<'_> {
    /// The lowest price that it may be quoted at.
    pub(crate) fn lowest_price(&self) -> UsdPerHour {
        self.prices.first().copied().unwrap_or(UsdPerHour::MAX)
    }

    /// The least that it may be chosen at.
    pub(crate) fn lowest_weighted(&self) -> UsdPerHour {
        self.weighted.first().copied().unwrap_or(UsdPerHour::MAX)
    }

    /// The most that it may be chosen at.
    pub(crate) fn highest_weighted(&self) -> UsdPerHour {
        self.weighted.last().copied().unwrap_or(UsdPerHour::MAX)
    }
}

/// What a node has, and what of it pods may use.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Equipment<'a> {
    pub(crate) allocatable: Cow<'a, Resources>,
    pub(crate) capacity: Cow<'a, Resources>,
}

impl<'a> Pool<'a> {
    /// A NodePool, with what its node class sees.
    pub(crate) fn new(spec: &'a NodePool, catalogue: Rc<Catalogue<'a>>) -> Self {
        let new_node = || LabelState::one(NEW_NODE.into());
        let mut own: BTreeMap<Text, LabelState> = [
            (NODE_NAME.into(), new_node()),
            (HOSTNAME.into(), new_node()),
            (NODE_POOL.into(), LabelState::one(spec.name.clone())),
            (INITIALIZED.into(), LabelState::one("true".into())),
            (REGISTERED.into(), LabelState::one("true".into())),
        ]
        .into();
        let class = &spec.template.node_class_ref;
        if !class.group.is_empty() && !class.kind.is_empty() && !class.name.is_empty() {
            let key = format!("{}/{}", class.group, class.kind.to_lowercase());
            own.insert(key.into(), LabelState::one(class.name.clone()));
        }
        Self { spec, catalogue, own: Rc::new(own) }
    }

    /// Whether nodes of the pool can carry the label: the catalogue, the template or a requirement
    /// names it.
    pub(crate) fn defines(&self, key: &str) -> bool {
        self.catalogue.knows(key)
            || self.own.contains_key(key)
            || self.spec.template.labels.contains_key(key)
            || self.spec.template.requirements.iter().any(|requirement| &*requirement.key == key)
    }

    /// The template's labels and requirements, as one list.
    fn wanted(&self) -> Vec<Expression> {
        let template = &self.spec.template;
        let labels = template.labels.iter().map(|(key, value)| Expression::is(key, value));
        let requirements =
            template.requirements.iter().filter(|requirement| &*requirement.key != HOSTNAME);
        labels.chain(requirements.map(Expression::of)).collect()
    }

    /// Everything that it may launch.
    pub(crate) fn offer(
        &self,
        overlays: &Overlays<'_>,
        weights: &Weights,
        addresses: Option<&AddressLedger>,
    ) -> PoolOffer<'a> {
        let wanted = self.wanted();
        let (of_market, of_type): (Vec<_>, Vec<_>) =
            wanted.iter().partition(|e| is_market_label(&e.key) && self.catalogue.knows(&e.key));
        let admitted: Vec<bool> =
            self.catalogue.markets.iter().map(|market| admits(market, &of_market)).collect();
        let types = self.catalogue.types.iter();
        let types = types
            .map(|instance_type| {
                let terms = (&of_type[..], &admitted[..]);
                self.type_offer(instance_type, terms, (overlays, weights), addresses)
            })
            .collect();
        PoolOffer { types, hosts_daemons: OnceCell::new() }
    }

    fn type_offer(
        &self,
        instance_type: &'a InstanceType,
        (wanted, admitted): (&[&Expression], &[bool]),
        (overlays, weights): (&Overlays<'_>, &Weights),
        addresses: Option<&AddressLedger>,
    ) -> Option<TypeOffer<'a>> {
        let class = &self.spec.template.node_class_ref.name;
        // A zone without addresses for a node with one pod is no offering.
        let has_addresses = |offering: &Offering| {
            addresses.is_none_or(|own| own.has_room(class, &offering.zone, 1))
        };
        let usable: Vec<(&'a Offering, usize)> = instance_type
            .offerings
            .iter()
            .filter(|offering| offering.is_usable() && has_addresses(offering))
            .map(|offering| (offering, self.catalogue.market_of(offering)))
            .filter(|(_, market)| admitted[*market])
            .collect();
        if usable.is_empty() {
            return None;
        }
        let labels = self.node_labels(instance_type, wanted)?;
        let mut equipment = Vec::new();
        let offers = usable
            .into_iter()
            .map(|(offering, market)| {
                let view = Labelled { market: &self.catalogue.markets[market], labels: &labels };
                let fitted = fitted(instance_type, &overlays.devices(&view));
                let number = equipment.iter().position(|known| *known == fitted);
                let number = number.unwrap_or_else(|| {
                    equipment.push(fitted);
                    equipment.len() - 1
                });
                let prices = overlays.prices(&view, offering.price);
                let bought = (&*offering.zone, offering.capacity_type);
                let weigh =
                    |price: &UsdPerHour| weights.weighted(self.spec, instance_type, bought, *price);
                Offer {
                    offering,
                    market,
                    weighted: prices.iter().map(weigh).collect(),
                    is_unwanted: weights.is_unwanted(self.spec, instance_type, bought),
                    prices,
                    equipment: number,
                }
            })
            .collect();
        Some(TypeOffer { instance_type, labels, offers, equipment })
    }

    /// Labels of the pool's nodes of a type; `None` if the pool's requirements exclude the type.
    fn node_labels(
        &self,
        instance_type: &'a InstanceType,
        wanted: &[&Expression],
    ) -> Option<NodeLabels<'a>> {
        // Most types are excluded by what they are, whatever else is known of such nodes.
        if wanted.iter().any(|expression| excludes(instance_type, expression)) {
            return None;
        }
        let mut labels = NodeLabels {
            instance_type,
            region: self.catalogue.region,
            of_pool: Rc::clone(&self.own),
            narrowed: Vec::new(),
            all: OnceCell::new(),
        };
        for expression in wanted {
            let key = &expression.key;
            let known = labels.narrowed.iter().position(|(own, _)| own == key);
            let state = match known {
                Some(place) => labels.narrowed.swap_remove(place).1,
                None => labels.by_itself(key).unwrap_or_else(|| {
                    if self.catalogue.knows(key) { ABSENT.clone() } else { LabelState::unknown() }
                }),
            };
            let narrowed = state.narrowed(expression);
            if !narrowed.is_possible() {
                return None;
            }
            labels.narrowed.push((key.clone(), narrowed));
        }
        Some(labels)
    }
}

/// Whether a label that the type itself decides cannot meet the expression.
fn excludes(instance_type: &InstanceType, expression: &Expression) -> bool {
    let decided = instance_type.labels.get(&expression.key);
    decided.filter(|_| &*expression.key != REGION).is_some_and(|values| {
        let state = LabelState::any_of(values.iter().cloned());
        !state.allows(expression)
    })
}

/// Whether what an offering's market decides meets expressions on such labels.
pub(crate) fn admits(market: &Market, wanted: &[&Expression]) -> bool {
    wanted
        .iter()
        .all(|expression| market.find(&expression.key).unwrap_or(&ABSENT).allows(expression))
}

fn fitted<'a>(instance_type: &'a InstanceType, devices: &Resources) -> Equipment<'a> {
    if devices.is_empty() {
        return Equipment {
            allocatable: Cow::Borrowed(&instance_type.allocatable),
            capacity: Cow::Borrowed(&instance_type.capacity),
        };
    }
    let mut allocatable = replaced(&instance_type.allocatable, devices);
    let pages = devices.iter().filter(|(name, _)| is_huge_pages(name));
    let from_memory: i64 =
        pages.map(|(name, amount)| amount - instance_type.allocatable.get(name)).sum();
    if from_memory != 0 {
        let left = allocatable.get(MEMORY) - from_memory;
        allocatable.set(&MEMORY.into(), left.max(0));
    }
    Equipment {
        allocatable: Cow::Owned(allocatable),
        capacity: Cow::Owned(replaced(&instance_type.capacity, devices)),
    }
}

struct Labelled<'v> {
    market: &'v Market,
    labels: &'v NodeLabels<'v>,
}

impl LabelView for Labelled<'_> {
    fn state(&self, key: &str) -> &LabelState {
        self.market.find(key).unwrap_or_else(|| self.labels.get(key).unwrap_or(&ABSENT))
    }
}

//! A claim before it is launched: everything that the cloud may answer it with.
//!
//! The listed instance types, each in every available offering that meets the requirements of the
//! claim and of its NodePool. A rule holds for the claim only if it holds for all of them. Claims
//! of one NodePool with the same requirements share what is worked out here.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use domain::Text;
use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::pod::HostPort;
use domain::resource::Resources;
use domain::taint::Taint;

use crate::catalogue::{Market, is_market_label};
use crate::cluster_index::ClusterIndex;
use crate::daemons::Overhead;
use crate::label_state::{ABSENT, Expression, LabelState};
use crate::pods::TermsId;
use crate::pool::{Offer, PoolOffer, TypeOffer, admits};
use crate::terms::{LabelView, Terms, Verdict};

/// What a NodePool may launch under further requirements.
pub(crate) struct Narrowing<'w> {
    cluster: &'w ClusterIndex<'w>,
    pub(crate) pool: usize,
    offer: &'w PoolOffer<'w>,
    /// Requirements on labels that the instance type or the pool decides.
    wanted: Vec<Expression>,
    /// Which of the catalogue's markets meet the requirements.
    admitted: Vec<bool>,
    /// The DaemonSets that tolerate the node's taints.
    tolerant: Vec<usize>,
    /// What may be launched under the requirements on markets alone: types on whose labels the
    /// others say nothing new are the same there, and are worked out once.
    base: Option<Rc<Narrowing<'w>>>,
    types: RefCell<FxHashMap<usize, Option<Rc<TypeLaunch<'w>>>>>,
}

/// What may be launched of one instance type; at least one offering.
pub(crate) struct TypeLaunch<'w> {
    pub(crate) of: &'w TypeOffer<'w>,
    pub(crate) offers: Vec<&'w Offer<'w>>,
    /// Differing combinations of what such a node has and what its DaemonSets take of it.
    pub(crate) loads: Vec<Load<'w>>,
    /// By offering, its load.
    pub(crate) load_of: Vec<usize>,
    pub(crate) prices: Prices,
    markets: &'w [Market],
    /// The markets of its offerings, each once.
    distinct_markets: Vec<usize>,
    /// Labels that the requirements narrow further than the pool does.
    narrowed: Vec<(Text, LabelState)>,
    verdicts: RefCell<FxHashMap<TermsId, Verdict>>,
}

/// What the offerings of a type cost, with what their interruptions come to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prices {
    /// The lowest that any offering may be quoted at.
    pub(crate) lowest: Option<UsdPerHour>,
    /// The lowest price without reserved offerings, which another claim may use up.
    pub(crate) lowest_unreserved: Option<UsdPerHour>,
    /// The lowest that no unreserved offering can be denied to have.
    pub(crate) cheapest_for_sure: Option<UsdPerHour>,
    /// Whether NodeOverlays leave several prices open.
    pub(crate) are_disputed: bool,
}

impl Prices {
    /// Of offerings that may be chosen at so little, and so much.
    pub(crate) fn of<'o, 'w>(
        offers: &[&'o Offer<'w>],
        range: impl Fn(&Offer<'w>) -> [UsdPerHour; 2],
    ) -> Self {
        let is_unreserved =
            |offer: &&&Offer<'_>| offer.offering.capacity_type != CapacityType::Reserved;
        let unreserved = || offers.iter().filter(is_unreserved);
        Self {
            lowest: offers.iter().map(|offer| range(offer)[0]).min(),
            lowest_unreserved: unreserved().map(|offer| range(offer)[0]).min(),
            cheapest_for_sure: unreserved().map(|offer| range(offer)[1]).min(),
            are_disputed: offers.iter().any(|offer| offer.prices.len() > 1),
        }
    }
}

/// What a node has, and what its DaemonSets take of it.
pub(crate) struct Load<'w> {
    pub(crate) allocatable: &'w Resources,
    pub(crate) capacity: &'w Resources,
    pub(crate) daemons: Rc<Overhead>,
}

/// Everything that one claim may be launched as.
pub(crate) struct Launch<'w> {
    /// The listed types, as far as they can be launched.
    pub(crate) types: Vec<Rc<TypeLaunch<'w>>>,
    /// Host ports that a DaemonSet may open on the node.
    pub(crate) daemon_ports: Vec<HostPort>,
    /// By topology key, the domains that the node may be in.
    pub(crate) domains: BTreeMap<Text, LabelState>,
    /// Of each resource, the most that any node launched for the claim has.
    pub(crate) largest_capacity: Resources,
    verdicts: RefCell<FxHashMap<TermsId, Verdict>>,
}

/// A type in one of its markets.
pub(crate) struct TypeView<'v, 'w> {
    launch: &'v TypeLaunch<'w>,
    market: Option<&'v Market>,
}

impl LabelView for TypeView<'_, '_> {
    fn state(&self, key: &str) -> &LabelState {
        let decided = self.market.and_then(|market| market.find(key));
        decided.or_else(|| self.launch.find(key)).unwrap_or(&ABSENT)
    }
}

impl<'w> Narrowing<'w> {
    /// What the pool may launch in markets that meet the requirements, with those taints; `None` if
    /// the pool's offer has not been worked out.
    pub(crate) fn of_markets(
        cluster: &'w ClusterIndex<'w>,
        pool: usize,
        of_market: &[Expression],
        taints: &[Taint],
    ) -> Option<Self> {
        let of_market: Vec<_> = of_market.iter().collect();
        let markets = cluster.pools[pool].catalogue.markets.iter();
        Some(Self {
            cluster,
            pool,
            offer: cluster.offers[pool].as_ref()?,
            wanted: Vec::new(),
            admitted: markets.map(|market| admits(market, &of_market)).collect(),
            tolerant: cluster.daemons.tolerant(taints),
            base: None,
            types: RefCell::default(),
        })
    }

    /// What is left of it under requirements on labels that the instance type or the pool decides.
    pub(crate) fn further(base: &Rc<Self>, wanted: Vec<Expression>) -> Self {
        Self {
            cluster: base.cluster,
            pool: base.pool,
            offer: base.offer,
            wanted,
            admitted: base.admitted.clone(),
            tolerant: base.tolerant.clone(),
            base: Some(Rc::clone(base)),
            types: RefCell::default(),
        }
    }

    /// What may be launched of the type at a position of the catalogue.
    pub(crate) fn of_type(&self, position: usize) -> Option<Rc<TypeLaunch<'w>>> {
        if let Some(known) = self.types.borrow().get(&position) {
            return known.clone();
        }
        let launch = self.offer.types[position].as_ref().and_then(|of| {
            let narrowed = self.narrowed_labels(of)?;
            match &self.base {
                Some(base) if narrowed.is_empty() => base.of_type(position),
                _ => self.launch(of, narrowed).map(Rc::new),
            }
        });
        self.types.borrow_mut().insert(position, launch.clone());
        launch
    }

    /// All types of the catalogue that may be launched, in its order.
    pub(crate) fn all_types(&self) -> impl Iterator<Item = Rc<TypeLaunch<'w>>> {
        (0..self.offer.types.len()).filter_map(|position| self.of_type(position))
    }

    /// Labels that the requirements narrow further than the pool does; `None` if they exclude the
    /// type.
    fn narrowed_labels(&self, of: &TypeOffer<'_>) -> Option<Vec<(Text, LabelState)>> {
        let mut narrowed: Vec<(Text, LabelState)> = Vec::new();
        for expression in &self.wanted {
            let index = narrowed.iter().position(|(key, _)| *key == expression.key);
            let before = index.map_or_else(
                || of.labels.get(&expression.key).unwrap_or(&ABSENT),
                |index| &narrowed[index].1,
            );
            if !before.may_be_absent() && before.guarantees(expression) {
                continue; // it says nothing new
            }
            let after = before.narrowed(expression);
            if !after.is_possible() {
                return None;
            }
            if after == *before {
                continue;
            }
            match index {
                Some(index) => narrowed[index].1 = after,
                None => narrowed.push((expression.key.clone(), after)),
            }
        }
        Some(narrowed)
    }

    fn launch(
        &self,
        of: &'w TypeOffer<'w>,
        narrowed: Vec<(Text, LabelState)>,
    ) -> Option<TypeLaunch<'w>> {
        let offers: Vec<_> = of.offers.iter().filter(|offer| self.admitted[offer.market]).collect();
        if offers.is_empty() {
            return None;
        }
        let mut distinct_markets: Vec<_> = offers.iter().map(|offer| offer.market).collect();
        distinct_markets.sort_unstable();
        distinct_markets.dedup();
        let mut launch = TypeLaunch {
            of,
            prices: Prices::of(&offers, |own| [own.lowest_weighted(), own.highest_weighted()]),
            offers,
            loads: Vec::new(),
            load_of: Vec::new(),
            markets: &self.cluster.pools[self.pool].catalogue.markets,
            distinct_markets,
            narrowed,
            verdicts: RefCell::default(),
        };
        self.add_loads(&mut launch);
        Some(launch)
    }

    fn add_loads(&self, launch: &mut TypeLaunch<'w>) {
        let daemons = &self.cluster.daemons;
        let one_load = launch.of.equipment.len() == 1 && !daemons.look_at_markets(&self.tolerant);
        let looked_at = if one_load { 1 } else { launch.offers.len() };
        let mut known: Vec<(usize, *const Overhead)> = Vec::new();
        for offer in &launch.offers[..looked_at] {
            let overhead = daemons.overhead(&self.tolerant, &launch.view(Some(offer.market)));
            let load = (offer.equipment, Rc::as_ptr(&overhead));
            let number = known.iter().position(|other| *other == load);
            launch.load_of.push(number.unwrap_or(known.len()));
            if number.is_some() {
                continue;
            }
            known.push(load);
            let equipment = &launch.of.equipment[offer.equipment];
            launch.loads.push(Load {
                allocatable: &equipment.allocatable,
                capacity: &equipment.capacity,
                daemons: overhead,
            });
        }
        launch.load_of.resize(launch.offers.len(), 0);
    }
}

impl<'w> TypeLaunch<'w> {
    fn find(&self, key: &str) -> Option<&LabelState> {
        let narrowed = self.narrowed.iter().find(|(own, _)| &**own == key).map(|(_, state)| state);
        narrowed.or_else(|| self.of.labels.get(key))
    }

    /// Its labels in one market, or those that hold in every market.
    pub(crate) fn view(&self, market: Option<usize>) -> TypeView<'_, 'w> {
        TypeView { launch: self, market: market.map(|market| &self.markets[market]) }
    }

    /// The markets of its offerings, each once.
    pub(crate) fn distinct_markets(&self) -> &[usize] {
        &self.distinct_markets
    }

    /// How terms fare on it, over all its offerings.
    pub(crate) fn verdict(&self, id: TermsId, terms: &Terms) -> Verdict {
        if let Some(known) = self.verdicts.borrow().get(&id) {
            return *known;
        }
        let verdict = if terms.mention(is_market_label) {
            let verdicts = self.distinct_markets.iter();
            verdicts.map(|market| terms.verdict(&self.view(Some(*market)))).fold(
                Verdict { certain: true, possible: false },
                |all, one| Verdict {
                    certain: all.certain && one.certain,
                    possible: all.possible || one.possible,
                },
            )
        } else {
            terms.verdict(&self.view(None))
        };
        self.verdicts.borrow_mut().insert(id, verdict);
        verdict
    }

    /// Every value that the label may have on it, over all its offerings.
    pub(crate) fn label(&self, key: &str) -> LabelState {
        if !is_market_label(key) {
            return self.find(key).unwrap_or(&ABSENT).clone();
        }
        let mut joined = LabelState::impossible();
        for market in &self.distinct_markets {
            joined.join(self.view(Some(*market)).state(key));
        }
        joined
    }
}

impl<'w> Launch<'w> {
    /// From the listed types; `topology_keys` are the labels whose domains will be asked for.
    pub(crate) fn new(types: Vec<Rc<TypeLaunch<'w>>>, topology_keys: &[&Text]) -> Self {
        let mut domains = BTreeMap::new();
        for key in topology_keys {
            let mut joined = LabelState::impossible();
            for launch in &types {
                joined.join(&launch.label(key));
            }
            domains.insert(Text::clone(key), joined);
        }
        let mut daemon_ports: Vec<HostPort> = Vec::new();
        for load in types.iter().flat_map(|launch| &launch.loads) {
            for port in &load.daemons.ports {
                if !daemon_ports.contains(port) {
                    daemon_ports.push(port.clone());
                }
            }
        }
        let mut largest_capacity = Resources::new();
        for load in types.iter().flat_map(|launch| &launch.loads) {
            largest_capacity.raise_to(load.capacity);
        }
        Self { types, daemon_ports, domains, largest_capacity, verdicts: RefCell::default() }
    }

    /// How terms fare on it, over everything that may be launched; nothing is certain of nothing.
    pub(crate) fn verdict(&self, id: TermsId, terms: &Terms) -> Verdict {
        if let Some(known) = self.verdicts.borrow().get(&id) {
            return *known;
        }
        let mut all = Verdict { certain: !self.types.is_empty(), possible: false };
        for launch in &self.types {
            let one = launch.verdict(id, terms);
            all.certain &= one.certain;
            all.possible |= one.possible;
        }
        self.verdicts.borrow_mut().insert(id, all);
        all
    }

    /// Every value of a label that can be counted out, over everything that may be launched.
    pub(crate) fn label_values(&self, key: &str) -> usize {
        let mut joined = LabelState::impossible();
        for launch in &self.types {
            let state = launch.label(key);
            if state.listed().is_some() {
                joined.join(&state);
            }
        }
        joined.listed().map_or(0, <[Text]>::len)
    }
}

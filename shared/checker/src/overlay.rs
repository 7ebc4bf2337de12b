//! NodeOverlays, as the checker reads them: what an offering may be quoted at, and what devices it
//! adds.
//!
//! Overlays of one weight that change the price of some same offering differently are in conflict;
//! the documentation leaves such an overlay out without saying which, so each of their prices may
//! be right.

use domain::Text;
use domain::money::UsdPerHour;
use domain::overlay::NodeOverlay;
use domain::resource::Resources;

use crate::catalogue::Catalogue;
use crate::label_state::Expression;
use crate::terms::{LabelView, Terms};

/// The NodeOverlays that count, heaviest first.
pub(crate) struct Overlays<'a> {
    heaviest_first: Vec<Overlay<'a>>,
}

struct Overlay<'a> {
    spec: &'a NodeOverlay,
    terms: Terms,
    disputed: bool,
}

impl<'a> Overlays<'a> {
    /// Reads overlays; the catalogues say which of them can meet on one offering.
    pub(crate) fn read(specs: &'a [NodeOverlay], catalogues: &[&Catalogue<'a>]) -> Self {
        let expressions =
            |spec: &NodeOverlay| spec.requirements.iter().map(Expression::of).collect::<Vec<_>>();
        let mut specs: Vec<_> = specs.iter().collect();
        specs.sort_by(|a, b| (b.weight, &b.name).cmp(&(a.weight, &a.name)));
        let disagree = |a: &NodeOverlay, b: &NodeOverlay| {
            a.weight == b.weight
                && a.name != b.name
                && a.price.is_some()
                && b.price.is_some()
                && a.price != b.price
        };
        let meet = |a: &NodeOverlay, b: &NodeOverlay| {
            let both = Terms::all([expressions(a), expressions(b)].concat());
            catalogues.iter().any(|catalogue| catalogue.may_offer(&both))
        };
        let heaviest_first = specs
            .iter()
            .map(|spec| Overlay {
                spec,
                terms: Terms::all(expressions(spec)),
                disputed: specs.iter().any(|other| disagree(spec, other) && meet(spec, other)),
            })
            .collect();
        Self { heaviest_first }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.heaviest_first.is_empty()
    }

    /// Every price that an offering of that price and labels may be quoted at, lowest first.
    pub(crate) fn prices(&self, view: &impl LabelView, price: UsdPerHour) -> Vec<UsdPerHour> {
        let mut prices = Vec::with_capacity(1);
        let mut settled: Option<u32> = None;
        for overlay in self.matching(view) {
            let Some(change) = overlay.spec.price else { continue };
            if settled.is_some_and(|weight| overlay.spec.weight < weight) {
                break;
            }
            prices.push(change.apply(price));
            if !overlay.disputed {
                settled = Some(overlay.spec.weight);
            }
        }
        if settled.is_none() {
            prices.push(price);
        }
        prices.sort_unstable();
        prices.dedup();
        prices
    }

    /// The devices that an offering of those labels has besides its type's; empty for most.
    pub(crate) fn devices(&self, view: &impl LabelView) -> Resources {
        let mut devices = Resources::new();
        for overlay in self.matching(view) {
            devices.raise_to(&overlay.spec.capacity);
        }
        devices
    }

    fn matching(&self, view: &impl LabelView) -> impl Iterator<Item = &Overlay<'a>> {
        self.heaviest_first.iter().filter(|overlay| overlay.terms.possible(view))
    }
}

/// Resources with some of them set to other amounts.
pub(crate) fn replaced(resources: &Resources, by: &Resources) -> Resources {
    let mut replaced = resources.clone();
    for (name, amount) in by.iter() {
        replaced.set(&Text::clone(name), amount);
    }
    replaced
}

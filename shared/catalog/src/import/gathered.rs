//! All rows of all documents, and those of one region among them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use documents::{Data, Document, Place, Source, SyntaxError, Value, documents, with_short_quotes};
use domain::Text;

use super::fault::{ImportFault, ImportProblem};
use super::remark::ImportRemark;
use super::row::{self, Row, RowFault, SpotPrice};
use super::row_kind::RowKind;
use crate::describe::{Described, Offered, region_of};
use crate::price_list::{OnDemandPrice, OnDemandPrices, Product};
use crate::spot_history::{LINUX, LatestSpotPrices};

/// Rows of one document that are reported one by one when they cannot be read; the rest is counted.
const ROW_PROBLEMS_MAX: usize = 10;

/// Rows of Local Zones and Wavelength Zones, in words that follow a count.
const OF_LOCAL_ZONES: &str = "of Local Zones and Wavelength Zones";

/// The rows of all documents.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    types: Vec<Described>,
    offerings: Vec<Located<Offered>>,
    spot: Vec<Located<SpotPrice>>,
    prices: Vec<Located<OnDemandPrice>>,
    /// Places of the documents that rows are of.
    places: Vec<Place>,
    /// How many documents there are of each list, and how many of them say that it goes on.
    pages: BTreeMap<RowKind, (usize, usize)>,
    left_out: LeftOut,
    pub(super) problems: Vec<ImportProblem>,
}

/// A row, and the index of its document.
#[derive(Debug)]
struct Located<T> {
    document: usize,
    row: T,
}

/// How many rows of each list are of no use, by why.
type LeftOut = BTreeMap<RowKind, BTreeMap<&'static str, usize>>;

/// The rows of one region.
#[derive(Debug, Default)]
pub(super) struct OfRegion {
    pub(super) types: Vec<Described>,
    pub(super) offerings: Vec<Offered>,
    pub(super) on_demand: OnDemandPrices,
    pub(super) spot: LatestSpotPrices,
    pub(super) zone_ids: BTreeMap<Text, Text>,
    pub(super) problems: Vec<ImportProblem>,
    pub(super) remarks: Vec<ImportRemark>,
}

impl Gathered {
    /// Reads all documents of a source.
    pub(super) fn read(&mut self, source: &Source) {
        for document in documents(source) {
            match document {
                Ok(document) => self.document(&document),
                Err(error) => self.problems.push(syntax(error)),
            }
        }
    }

    fn document(&mut self, document: &Document<'_>) {
        let value = &document.value;
        let position = document.origin.position_of(value, value);
        self.places.push(Place::line(document.origin.file.clone(), position.line));
        if let Data::List(rows) = &value.data {
            return self.bare_rows(document, rows);
        }
        let lists = RowKind::ALL.map(|kind| Some((kind, value.get(kind.list())?)));
        let mut is_known = false;
        for (kind, list) in lists.into_iter().flatten() {
            is_known = true;
            let (pages, continued) = self.pages.entry(kind).or_default();
            *pages += 1;
            let token = value.get("NextToken").and_then(Value::as_str);
            *continued += usize::from(token.is_some_and(|token| !token.is_empty()));
            match list.as_list() {
                Some(rows) => self.rows(document, kind, rows),
                None => self.problem(document, list, ImportFault::NoList(kind, list.described())),
            }
        }
        match RowKind::of(value) {
            _ if is_known => {}
            Some(kind) => self.rows(document, kind, std::slice::from_ref(value)),
            None => self.problem(document, value, ImportFault::UnknownDocument),
        }
    }

    /// A list without the object around it, as `--query` leaves it.
    fn bare_rows(&mut self, document: &Document<'_>, rows: &[Value<'_>]) {
        match rows.first().and_then(RowKind::of) {
            Some(kind) => self.rows(document, kind, rows),
            None => self.problem(document, &document.value, ImportFault::UnknownDocument),
        }
    }

    fn rows(&mut self, document: &Document<'_>, kind: RowKind, rows: &[Value<'_>]) {
        let mut unreadable = 0;
        for value in rows {
            match row::read(kind, value) {
                Ok(row) => self.row(row),
                Err(fault) => {
                    unreadable += 1;
                    if unreadable <= ROW_PROBLEMS_MAX {
                        self.row_problem(document, value, fault);
                    }
                }
            }
        }
        if let Some(count) = unreadable.checked_sub(ROW_PROBLEMS_MAX).filter(|more| *more > 0) {
            self.problem(document, &document.value, ImportFault::More { kind, count });
        }
    }

    fn row(&mut self, row: Row) {
        let document = self.places.len().saturating_sub(1);
        match row {
            Row::InstanceType(described) => self.types.push(*described),
            Row::Offering(row) => match region_of(&row.location) {
                Some(_) => self.offerings.push(Located { document, row }),
                None => self.leave_out(RowKind::Offering, OF_LOCAL_ZONES),
            },
            Row::SpotPrice(row) if !LINUX.contains(&row.product.as_str()) => {
                self.leave_out(RowKind::SpotPrice, "of another operating system");
            }
            Row::SpotPrice(row) => match region_of(&row.zone) {
                Some(_) => self.spot.push(Located { document, row }),
                None => self.leave_out(RowKind::SpotPrice, OF_LOCAL_ZONES),
            },
            Row::Product(Product::OnDemand(row)) => self.prices.push(Located { document, row }),
            Row::Product(Product::Other(why)) => self.leave_out(RowKind::Product, why.into()),
        }
    }

    fn leave_out(&mut self, kind: RowKind, why: &'static str) {
        *self.left_out.entry(kind).or_default().entry(why).or_default() += 1;
    }

    fn problem(&mut self, document: &Document<'_>, value: &Value<'_>, fault: ImportFault) {
        let place = place(document, value);
        self.problems.push(ImportProblem { fault, place });
    }

    fn row_problem(&mut self, document: &Document<'_>, value: &Value<'_>, fault: RowFault) {
        let RowFault { field, fault } = fault;
        let mut place = place(document, value);
        place.object = row::name(value);
        place.field = match (place.field, field.is_empty()) {
            (around, true) => around,
            (None, false) => Some(field),
            (Some(around), false) => Some(format!("{around}.{field}")),
        };
        self.problems.push(ImportProblem { fault, place });
    }

    /// The region that most offerings are of; without offerings, most spot prices, else most
    /// on-demand prices. Of several that are named as often, the first by name.
    pub(super) fn region(&self) -> Option<Text> {
        let zones = self.offerings.iter().map(|own| own.row.location.as_str());
        let spot_zones = self.spot.iter().map(|own| own.row.zone.as_str());
        let listed = self.prices.iter().filter_map(|own| own.row.region.as_deref());
        most(zones.filter_map(region_of))
            .or_else(|| most(spot_zones.filter_map(region_of)))
            .or_else(|| most(listed))
    }

    /// The rows of a region; those of others are a problem for each document that holds them.
    pub(super) fn of_region(self, region: &Text) -> OfRegion {
        let Self { types, offerings, spot, prices, places, pages, left_out, problems } = self;
        let mut others: BTreeMap<(usize, RowKind), BTreeMap<Text, usize>> = BTreeMap::new();
        let mut is_own = |kind: RowKind, document: usize, of: Option<&str>| match of {
            Some(other) if *other != **region => {
                let found = others.entry((document, kind)).or_default();
                *found.entry(other.into()).or_default() += 1;
                false
            }
            _ => true,
        };
        let mut own = OfRegion { types, problems, ..OfRegion::default() };
        for Located { document, row } in offerings {
            if is_own(RowKind::Offering, document, region_of(&row.location)) {
                own.offerings.push(row);
            }
        }
        for Located { document, row } in spot {
            if is_own(RowKind::SpotPrice, document, region_of(&row.zone)) {
                own.spot.add(&row.instance_type, &row.zone, row.since, row.price);
                own.zone_ids.extend(row.zone_id.map(|id| (row.zone.into(), id)));
            }
        }
        for Located { document, row } in prices {
            if is_own(RowKind::Product, document, row.region.as_deref()) {
                own.on_demand.add(row);
            }
        }
        for ((document, kind), found) in others {
            let Some(place) = places.get(document).cloned() else { continue };
            let fault = ImportFault::OtherRegions { kind, found, region: region.clone() };
            own.problems.push(ImportProblem { fault, place });
        }
        let goes_on = pages.iter().filter(|(_, (pages, continued))| continued >= pages);
        own.remarks.extend(goes_on.map(|(kind, _)| ImportRemark::Continues(*kind)));
        let left_out = left_out.into_iter();
        own.remarks.extend(left_out.map(|(kind, why)| ImportRemark::LeftOut { kind, why }));
        own
    }
}

/// Where a value of a document stands.
fn place(document: &Document<'_>, value: &Value<'_>) -> Place {
    let position = document.origin.position_of(&document.value, value);
    let field = (!position.path.is_empty()).then(|| position.path.to_string());
    Place { field, ..Place::line(document.origin.file.clone(), position.line) }
}

fn syntax(error: SyntaxError) -> ImportProblem {
    let fault = ImportFault::Syntax(with_short_quotes(&error.problem.to_string()));
    ImportProblem { fault, place: error.place }
}

/// The word that comes most often; of several, the first in order.
fn most<'w>(words: impl Iterator<Item = &'w str>) -> Option<Text> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    counts
        .into_iter()
        .min_by_key(|(word, count)| (Reverse(*count), *word))
        .map(|(word, _)| word.into())
}

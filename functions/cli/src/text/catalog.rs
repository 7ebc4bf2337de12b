//! Instance types as a table.

use comfy_table::{Attribute, Cell, CellAlignment, Color};
use domain::instance_type::{CapacityType, InstanceType};
use domain::label;
use domain::money::UsdPerHour;
use domain::resource::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources, RoundedAmount};
use domain::spot::{InterruptionRate, SpotRates};

use crate::terminal::Canvas;
use crate::text::layout::{cell, hide_until_it_fits, plain_table, table_text};
use crate::view::spot::In100;

const HEADER: [&str; 10] =
    ["TYPE", "ARCH", "CPU", "MEMORY", "PODS", "FOR PODS", "ALSO HAS", "ZONES", "ON-DEMAND", "SPOT"];

/// Columns to do without on a narrow terminal, the least missed first: ZONES, ARCH, ALSO HAS, PODS,
/// FOR PODS.
const DISPENSABLE: [usize; 5] = [7, 1, 6, 4, 5];

/// One row a type: what it has, what pods may use of it, its lowest prices, and with `rates` how
/// often EC2 takes instances back, in 100 node-hours.
pub(crate) fn catalog(
    instance_types: &[InstanceType],
    rates: Option<&SpotRates>,
    canvas: Canvas,
) -> String {
    let mut table = plain_table(canvas);
    let header = HEADER.into_iter().chain(rates.map(|_| "TAKEN IN 100H"));
    table.set_header(header.map(|title| Cell::new(title).add_attribute(Attribute::Dim)));
    for instance_type in instance_types {
        let taken = rates.map(|rates| Cell::new(taken_back(instance_type, rates)));
        table.add_row(cells(instance_type).into_iter().chain(taken));
    }
    hide_until_it_fits(&mut table, canvas, &DISPENSABLE);
    for column in [2, 3, 4, 8, 9, 10] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = table_text(&table);
    text.push('\n');
    text
}

fn cells(instance_type: &InstanceType) -> [Cell; 10] {
    let InstanceType { name, labels, capacity, allocatable, offerings } = instance_type;
    let shown = |resource| RoundedAmount { name: resource, amount: capacity.get(resource) };
    let for_pods = |resource| RoundedAmount { name: resource, amount: allocatable.get(resource) };
    let mut zones: Vec<&str> = offerings.iter().map(|offering| &*offering.zone).collect();
    zones.sort_unstable();
    zones.dedup();
    [
        cell(name).fg(Color::DarkCyan),
        cell(&labels.get(label::ARCH).map_or_else(String::new, |values| values.join(","))),
        Cell::new(shown(CPU)),
        Cell::new(shown(MEMORY)),
        Cell::new(shown(PODS)),
        Cell::new(format!("{} {}", for_pods(CPU), for_pods(MEMORY))),
        cell(&devices(capacity)),
        Cell::new(zones.len()),
        Cell::new(lowest(instance_type, CapacityType::OnDemand)),
        Cell::new(lowest(instance_type, CapacityType::Spot)),
    ]
}

/// Devices: resources other than cpu, memory, storage and pod slots.
///
/// Network interfaces of the VPC are left out, as nearly every type has them.
fn devices(capacity: &Resources) -> String {
    capacity
        .iter()
        .filter(|(name, amount)| {
            !matches!(&***name, CPU | MEMORY | PODS | EPHEMERAL_STORAGE)
                && !name.starts_with("vpc.amazonaws.com/")
                && *amount != 0
        })
        .map(|(name, amount)| format!("{} {name}", RoundedAmount { name, amount }))
        .collect::<Vec<_>>()
        .join(", ")
}

fn lowest(instance_type: &InstanceType, capacity_type: CapacityType) -> String {
    instance_type
        .offerings
        .iter()
        .filter(|offering| offering.capacity_type == capacity_type && offering.is_usable())
        .map(|offering| offering.price)
        .min()
        .map_or_else(|| "-".to_owned(), |price: UsdPerHour| price.to_string())
}

/// Interruptions in 100 node-hours: of the best zone to that of the worst, `0.4-12`.
fn taken_back(instance_type: &InstanceType, rates: &SpotRates) -> String {
    let spot = instance_type.offerings.iter().filter(|own| own.capacity_type == CapacityType::Spot);
    let mut all: Vec<InterruptionRate> =
        spot.map(|own| rates.get(&instance_type.name, &own.zone).rate).collect();
    all.sort_unstable();
    match (all.first(), all.last()) {
        (Some(least), Some(most)) => {
            let (least, most) = (In100(*least).to_string(), In100(*most).to_string());
            if least == most { least } else { format!("{least}-{most}") }
        }
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use domain::spot::{OfferingHistory, SpotHistory};

    use super::*;
    use crate::testing;

    #[test]
    fn a_history_adds_how_often_instances_are_taken_back() {
        let types = testing::snapshot().instance_types.default;
        let own = OfferingHistory {
            node_hours: 100.0,
            interruptions: 30.0,
            ..OfferingHistory::default()
        };
        let history =
            SpotHistory::new(testing::now(), [("m7i.large".into(), "us-east-1a".into(), own)]);
        let rates = SpotRates::of(&history, testing::now());
        let text = catalog(&types, Some(&rates), Canvas::PLAIN);
        assert!(text.lines().next().unwrap().ends_with("TAKEN IN 100H"), "{text}");
        let row = text.lines().find(|line| line.contains("m7i.large")).unwrap();
        let taken = row.split_whitespace().next_back().unwrap();
        let most: f64 = taken.rsplit('-').next().unwrap().parse().unwrap();
        assert!((15.0..32.0).contains(&most), "{row}");
    }

    #[test]
    fn a_type_shows_what_it_has_and_its_lowest_prices() {
        let types = testing::snapshot().instance_types.default;
        let text = catalog(&types, None, Canvas::PLAIN);
        let row = text.lines().find(|line| line.contains("m7i.large")).unwrap();
        for part in ["8Gi", "1.9 7Gi", "$0.1008/h", "$0.0403/h"] {
            assert!(row.contains(part), "{part} in {row}");
        }
    }

    #[test]
    fn a_type_has_one_line_on_a_narrow_terminal() {
        let mut types = testing::snapshot().instance_types.default.to_vec();
        types[0].name = "u7inh-32tb.480xlarge".into();
        types[0].capacity.set(&"nvidia.com/gpu".into(), 8);
        for width in [60, 80, 100] {
            let text = catalog(&types, None, Canvas { color: false, width: Some(width) });
            assert_eq!(text.lines().count(), 1 + types.len(), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= width.into()), "{text}");
        }
    }

    #[test]
    fn a_type_that_cannot_be_had_has_no_price() {
        let mut types = testing::snapshot().instance_types.default.to_vec();
        for offering in types.iter_mut().flat_map(|known| &mut known.offerings) {
            offering.available = false;
        }
        let text = catalog(&types, None, Canvas::PLAIN);
        assert!(!text.contains('$'), "{text}");
    }
}

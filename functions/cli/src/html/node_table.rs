//! The table of nodes.

use maud::{Markup, html};

use crate::text::age::age;
use crate::view::node_row::{NodeRow, NodeState, Usage};
use crate::view::spot::{PassedOver, Remembered};

/// One row a node, with bars.
pub(crate) fn node_table(rows: &[NodeRow]) -> Markup {
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        @for title in ["Node", "Pool", "Type", "Zone", "Capacity", "CPU", "Memory"] {
                            th { (title) }
                        }
                        @for title in ["Pods", "Age", "$/hour"] { th.number { (title) } }
                        th { "State" }
                    }
                }
                tbody { @for row in rows { (node(row)) } }
            }
        }
    }
}

fn node(row: &NodeRow) -> Markup {
    let NodeRow {
        name,
        node_pool,
        instance_type,
        zone,
        capacity_type,
        cpu,
        memory,
        pods: _,
        virtual_pods: _,
        age: since,
        price,
        spot,
        spot_passed_over,
        state,
    } = row;
    let price = price.map(|price| price.to_string());
    let passed_over = || spot_passed_over.as_ref().map(|own| PassedOver(own).to_string());
    let about_spot = spot.map(|own| Remembered(own).to_string()).or_else(passed_over);
    html! {
        tr {
            td.name { (name) }
            td { (node_pool.as_deref().unwrap_or("–")) }
            td { (instance_type.as_deref().unwrap_or("–")) }
            td { (zone.as_deref().unwrap_or("–")) }
            td { (capacity_type.map_or("–", |capacity_type| capacity_type.as_str())) }
            td { (bar(*cpu)) }
            td { (bar(*memory)) }
            td.number { (row.shown_pods()) }
            td.number { (since.map_or_else(|| "–".to_owned(), age)) }
            td.number title=[about_spot] {
                (price.as_deref().map_or("–", |price| price.trim_end_matches("/h")))
            }
            td class=(tone(*state)) { (state.as_str()) }
        }
    }
}

fn bar(usage: Usage) -> Markup {
    let Some(percent) = usage.percent() else {
        return html! { "–" };
    };
    let width = format!("width:{}%", percent.min(100));
    html! { span.bar { i style=(width) {} } (percent) "%" }
}

fn tone(state: NodeState) -> &'static str {
    match state {
        NodeState::Ready => "soft",
        NodeState::Planned | NodeState::Launching | NodeState::Joining => "good",
        NodeState::Disrupted(_) | NodeState::Draining => "warn",
        NodeState::NotReady => "bad",
    }
}

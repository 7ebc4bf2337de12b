//! A cluster at one moment, or before and after something.

use std::collections::HashMap;

use domain::money::UsdPerHour;
use domain::node_offering::NodeCapacityType;
use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};

use super::lives::cut;
use super::texts::{NONE, Texts};
use crate::view::node_row::{NodeRow, NodeState};

const MEBI: i64 = 1 << 20;

/// One cluster, or two to compare. Units are those of runs.
#[derive(Debug, Serialize)]
pub(crate) struct SideBlock {
    name: i64,
    about: i64,
    /// What both sides are called; one of a cluster alone.
    labels: Vec<i64>,
    nodes: NodeColumns,
}

/// Nodes of both sides. What a node holds on a side stands in `use…`, [`NONE`] where it is not
/// there.
#[derive(Debug, Default, Serialize)]
struct NodeColumns {
    name: Vec<i64>,
    pool: Vec<i64>,
    zone: Vec<i64>,
    kind: Vec<i64>,
    capacity: Vec<i64>,
    price: Vec<i64>,
    cpu: Vec<i64>,
    memory: Vec<i64>,
    state: Vec<i64>,
    text: Vec<i64>,
    #[serde(rename = "useCpu")]
    used_cpu: Vec<Vec<i64>>,
    #[serde(rename = "useMemory")]
    used_memory: Vec<Vec<i64>>,
    #[serde(rename = "usePods")]
    used_pods: Vec<Vec<i64>>,
}

/// A node on one or two sides.
#[derive(Debug)]
pub(crate) struct SideNode<'a> {
    /// It as each side has it, in the order of the labels.
    pub(crate) rows: Vec<Option<&'a NodeRow>>,
    /// Everything that is said about it, in lines.
    pub(crate) text: Option<String>,
}

impl<'a> SideNode<'a> {
    /// Nodes of two sides, matched by name where they are one node; sorted by name.
    pub(crate) fn matched(old: &'a [NodeRow], new: &'a [NodeRow]) -> Vec<Self> {
        let by_name = |rows: &'a [NodeRow]| -> HashMap<&'a str, &'a NodeRow> {
            rows.iter().map(|row| (&*row.name, row)).collect()
        };
        let (of_old, of_new) = (by_name(old), by_name(new));
        // Two plans may give different nodes one name.
        let is_one = |a: &NodeRow, b: &NodeRow| {
            a.instance_type == b.instance_type
                && a.zone == b.zone
                && a.capacity_type == b.capacity_type
                && a.price == b.price
        };
        let mut nodes: Vec<Self> = old
            .iter()
            .map(|own| {
                let same = of_new.get(&*own.name).copied().filter(|row| is_one(row, own));
                Self { rows: vec![Some(own), same], text: None }
            })
            .collect();
        let is_new = |row: &&NodeRow| !of_old.get(&*row.name).is_some_and(|own| is_one(own, row));
        let added = new.iter().filter(is_new);
        nodes.extend(added.map(|row| Self { rows: vec![None, Some(row)], text: None }));
        nodes
    }
}

impl SideBlock {
    /// Nodes with what is compared.
    pub(crate) fn new(
        (name, about): (&str, &str),
        labels: &[&str],
        nodes: &[SideNode<'_>],
        texts: &mut Texts,
    ) -> Self {
        let mut all = NodeColumns {
            used_cpu: vec![Vec::new(); labels.len()],
            used_memory: vec![Vec::new(); labels.len()],
            used_pods: vec![Vec::new(); labels.len()],
            ..NodeColumns::default()
        };
        for node in nodes {
            // What it is called and costs is the same on both sides.
            let Some(own) = node.rows.iter().rev().flatten().next() else { continue };
            let NodeRow { name, node_pool, instance_type, zone, capacity_type, price, .. } = own;
            all.name.push(texts.place(name));
            all.pool.push(texts.place_of(node_pool.as_deref()));
            all.zone.push(texts.place_of(zone.as_deref()));
            all.kind.push(texts.place_of(instance_type.as_deref()));
            all.capacity.push(texts.place_of(capacity_type.map(NodeCapacityType::as_str)));
            all.price.push(price.map_or(NONE, UsdPerHour::nanos));
            all.cpu.push(own.cpu.allocatable);
            all.memory.push(own.memory.allocatable / MEBI);
            all.state.push(texts.place(state(node)));
            all.text.push(texts.place_of(node.text.as_deref()));
            for (side, row) in node.rows.iter().enumerate() {
                // A node that the plan takes away is not there afterwards.
                let row = row.filter(|row| !matches!(row.state, NodeState::Disrupted(_)));
                let pods = |row: &NodeRow| i64::try_from(row.pods).unwrap_or(i64::MAX);
                all.used_cpu[side].push(row.map_or(NONE, |row| row.cpu.used));
                all.used_memory[side].push(row.map_or(NONE, |row| row.memory.used / MEBI));
                all.used_pods[side].push(row.map_or(NONE, pods));
            }
        }
        Self {
            name: texts.place(name),
            about: texts.place_of(Some(about)),
            labels: labels.iter().map(|label| texts.place(label)).collect(),
            nodes: all,
        }
    }
}

/// How far the node is, or what becomes of it.
fn state(node: &SideNode<'_>) -> &'static str {
    match node.rows.as_slice() {
        [_, None] => "goes",
        [None, Some(_)] => "new",
        rows => rows.iter().rev().flatten().next().map_or("", |row| row.state.as_str()),
    }
}

/// A pod before and after.
#[derive(Debug)]
pub(crate) struct PodRow<'a> {
    /// `namespace/name`.
    pub(crate) name: String,
    /// The node that it is on.
    pub(crate) from: Option<&'a str>,
    /// The node that it goes to, where that is another.
    pub(crate) to: Option<&'a str>,
    /// What becomes of it, in a word or two.
    pub(crate) state: &'static str,
    /// CPU that it requests, in millicores, and memory, in bytes.
    pub(crate) requests: (i64, i64),
    /// Everything that is said about it, in lines.
    pub(crate) text: Option<String>,
}

/// Pods before and after.
#[derive(Debug, Default, Serialize)]
pub(crate) struct PodTable {
    stem: Column,
    rest: Vec<String>,
    from: Column,
    to: Column,
    state: Column,
    cpu: Column,
    memory: Column,
    text: Column,
}

/// Whole numbers of which many in a row are the same, as of the replicas of a workload: such a row
/// is written as `[value, count]`.
#[derive(Debug, Default)]
struct Column(Vec<i64>);

/// As many of the same are written one by one.
const ONE_BY_ONE_MAX: usize = 3;

impl Column {
    fn push(&mut self, value: i64) {
        self.0.push(value);
    }
}

impl Serialize for Column {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut written = serializer.serialize_seq(None)?;
        for same in self.0.chunk_by(|one, next| one == next) {
            match same {
                [value, ..] if same.len() > ONE_BY_ONE_MAX => {
                    let count = i64::try_from(same.len()).unwrap_or(i64::MAX);
                    written.serialize_element(&[*value, count])?;
                }
                few => few.iter().try_for_each(|value| written.serialize_element(value))?,
            }
        }
        written.end()
    }
}

impl PodTable {
    pub(super) fn new(rows: &[PodRow<'_>], texts: &mut Texts) -> Self {
        let mut all = Self::default();
        for row in rows {
            let (stem, rest) = cut(&row.name);
            all.stem.push(texts.place(&stem));
            all.rest.push(rest);
            all.from.push(texts.place_of(row.from));
            all.to.push(texts.place_of(row.to));
            all.state.push(texts.place(row.state));
            all.cpu.push(row.requests.0);
            all.memory.push(row.requests.1 / MEBI);
            all.text.push(texts.place_of(row.text.as_deref()));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_of_the_same_in_a_row_are_written_once() {
        let column = Column(vec![7, 7, 7, -1, 5, 5, 5, 5]);
        assert_eq!(serde_json::to_string(&column).unwrap(), "[7,7,7,-1,[5,4]]");
    }
}

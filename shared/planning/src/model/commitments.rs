//! Commitments beside the nodes of a cluster: what of them is used, and what is left to fill.
//!
//! A commitment is paid for in any case. So an on-demand node costs what removing it would save,
//! which is nothing while commitments cover it and have some left, and a new one costs what it adds
//! beyond them. Everything here works on kinds of instances, of which there are few.

use std::collections::BTreeMap;

use domain::Text;
use domain::commitment::{Commitment, CommitmentUse, Commitments, Instance, Usage};
use domain::instance_type::{CapacityType, InstanceType};
use domain::label;
use domain::money::UsdPerHour;
use domain::node_claim::NodeClaim;
use domain::requirement::Requirements;
use domain::resource::Resources;
use domain::snapshot::ClusterSnapshot;

use super::node::NodeView;
use crate::ids::{IndexVec, NodeIx};

/// Commitments that hold now, and the on-demand nodes that they are applied to.
pub(crate) struct ModelCommitments {
    /// The commitments.
    pub(crate) commitments: Commitments,
    /// On-demand nodes and claims that stay.
    pub(crate) usage: Usage,
    /// Those that stay and those that leave.
    all: Usage,
    /// By node, what it is to commitments; `None` where none could cover it, or it leaves.
    of_node: IndexVec<NodeIx, Option<OnDemand>>,
}

/// An on-demand instance at its price.
#[derive(Clone, Debug)]
pub(crate) struct OnDemand {
    /// The instance.
    pub(crate) instance: Instance,
    /// What it costs on demand.
    pub(crate) price: UsdPerHour,
}

/// The name under which limits count what nodes draw of a commitment.
pub(crate) fn budget_name(commitment: &Commitment) -> Text {
    format!("outrigger.dev/commitment/{}", commitment.name).into()
}

/// What a node of the type draws of each commitment, added to what limits count. `offerings` are
/// zone and price of those on demand.
pub(crate) fn counted(
    commitments: &Commitments,
    instance_type: &InstanceType,
    offerings: &[(&Text, UsdPerHour)],
    mut capacity: Resources,
) -> Resources {
    for commitment in commitments.iter() {
        let drawn = offerings.iter().filter_map(|(zone, price)| {
            let (instance_type, zone) = (instance_type.name.clone(), Text::clone(zone));
            commitment.drawn_by(&Instance { instance_type, zone }, *price)
        });
        if let Some(drawn) = drawn.max() {
            capacity.set(&budget_name(commitment), drawn);
        }
    }
    capacity
}

impl ModelCommitments {
    /// Those of a snapshot; `None` where none holds now. Nodes are priced by what removing them
    /// would save from here on.
    pub(super) fn of(
        snapshot: &ClusterSnapshot,
        nodes: &mut IndexVec<NodeIx, NodeView>,
    ) -> Option<Self> {
        let commitments = Commitments::of(&snapshot.objects.commitments, snapshot.now)?;
        let (mut usage, mut all) = (Usage::new(), Usage::new());
        let mut of_node = IndexVec::filled(None, nodes.len());
        for (index, node) in nodes.iter_enumerated() {
            let Some(own) = on_demand(snapshot, node) else { continue };
            all.add(&own.instance, own.price);
            if !node.is_leaving() {
                usage.add(&own.instance, own.price);
                of_node[index] = Some(own);
            }
        }
        let own = Self { commitments, usage, all, of_node };
        let mut saved: BTreeMap<Instance, UsdPerHour> = BTreeMap::new();
        for (index, node) in nodes.iter_mut_enumerated() {
            if let Some(OnDemand { instance, .. }) = &own.of_node[index] {
                let price = *saved
                    .entry(instance.clone())
                    .or_insert_with(|| own.saved_without(&own.usage, [instance]));
                node.reprice(price);
            }
        }
        Some(own)
    }

    /// What a node is to commitments; `None` where none could cover it, or it leaves.
    pub(crate) fn of_node(&self, node: NodeIx) -> Option<&OnDemand> {
        self.of_node[node].as_ref()
    }

    /// Nodes and claims that commitments are applied to, those that leave among them.
    pub(crate) fn all(&self) -> &Usage {
        &self.all
    }

    /// What is saved of a usage without some of its instances.
    pub(crate) fn saved_without<'i>(
        &self,
        usage: &Usage,
        instances: impl IntoIterator<Item = &'i Instance>,
    ) -> UsdPerHour {
        let mut rest = usage.clone();
        for instance in instances {
            rest.remove(instance);
        }
        self.commitments.remaining(usage) - self.commitments.remaining(&rest)
    }

    /// What more instances add to a usage.
    pub(crate) fn added_by<'i>(
        &self,
        usage: &Usage,
        instances: impl IntoIterator<Item = &'i OnDemand>,
    ) -> UsdPerHour {
        let mut more = usage.clone();
        for own in instances {
            more.add(&own.instance, own.price);
        }
        self.commitments.remaining(&more) - self.commitments.remaining(usage)
    }

    /// The most, in billionths of a dollar an hour at on-demand prices, that commitments may cover
    /// of new nodes: all that they could cover at their largest discounts, less what they cover.
    ///
    /// `sold` is what could be launched. A commitment that covers a running node may come to cover
    /// a new one in its place, and another one that node: so this is worked out over all together.
    pub(crate) fn coverable(&self, sold: &[OnDemand]) -> i64 {
        let bill = self.commitments.apply(&self.usage);
        let uses = self.commitments.iter().zip(&bill.commitments);
        let most = |(commitment, own): (&Commitment, &CommitmentUse)| {
            let sold = sold.iter().map(|own| (&own.instance, own.price));
            let covered = sold.chain(self.usage.instances()).filter_map(|(instance, price)| {
                let drawn = i128::from(commitment.drawn_by(instance, price)?);
                Some((i128::from(own.budget) * i128::from(price.nanos()) + drawn - 1) / drawn)
            });
            let most = covered.max().unwrap_or(0) - i128::from(own.covered.nanos());
            i64::try_from(most.max(0)).unwrap_or(i64::MAX)
        };
        uses.map(most).fold(0, i64::saturating_add)
    }
}

/// A node as an on-demand instance. Windows is left out: it costs more than the catalogue says.
fn on_demand(snapshot: &ClusterSnapshot, node: &NodeView) -> Option<OnDemand> {
    let is_windows = node.labels.get(label::OS).is_some_and(|own| &**own == "windows");
    if node.capacity_type() != Some(CapacityType::OnDemand) || is_windows {
        return None;
    }
    if let (Some(price), Some(own), Some(zone)) =
        (node.list_price(), node.instance_type, node.labels.get(label::ZONE))
    {
        let instance = Instance { instance_type: own.name.clone(), zone: zone.clone() };
        return Some(OnDemand { instance, price });
    }
    node.claim.filter(|_| node.node.is_none()).and_then(|claim| cheapest_of(snapshot, claim))
}

/// A claim that leaves its instance type or its zone open, as the cheapest that it may become.
fn cheapest_of(snapshot: &ClusterSnapshot, claim: &NodeClaim) -> Option<OnDemand> {
    let requirements = Requirements::of(claim.requirements.iter());
    let allows = |key: &str, value: &Text| {
        requirements.get(key).is_none_or(|own| own.values.contains(value))
    };
    let named = requirements.get(label::INSTANCE_TYPE)?.values.as_list()?;
    let types = snapshot.instance_types.of(&claim.node_class_ref.name);
    let offerings = named.iter().filter_map(|name| types.named(name)).flat_map(|own| {
        let bought = own.offerings.iter().filter(|offering| {
            offering.capacity_type == CapacityType::OnDemand
                && offering.price > UsdPerHour::ZERO
                && allows(label::ZONE, &offering.zone)
        });
        bought.map(|offering| OnDemand {
            instance: Instance { instance_type: own.name.clone(), zone: offering.zone.clone() },
            price: offering.price,
        })
    });
    offerings.min_by(|a, b| (a.price, &a.instance).cmp(&(b.price, &b.instance)))
}

//! What may hold savings back in a cluster.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::instance_type::CapacityType;
use domain::label;
use domain::node_pool::{ConsolidationPolicy, NeverOr, NodePool};
use domain::pdb::CountOrPercent;
use domain::pod::{OwnerKind, Pod};
use domain::reason::DisruptionReason;
use domain::requirement::Requirements;
use domain::resource::{CPU, MEMORY, Resources};
use domain::snapshot::ClusterSnapshot;

use super::pods::{is_spread_over_zones, owner_of};
use super::{Blocker, Kind};
use crate::stable::Owners;

/// Everything that may hold back, by kind and name.
pub(super) fn candidates(snapshot: &ClusterSnapshot, owners: &Owners) -> Vec<Blocker> {
    let managed = Managed::of(snapshot);
    let mut found = budgets(snapshot, &managed);
    let refuses = |pod: &Pod| pod.refuses_disruption(snapshot.now);
    found.extend(by_owner(Kind::DoNotDisruptPods, &managed, owners, refuses));
    found.extend(nodes(snapshot));
    found.extend(pools(snapshot, &managed));
    let is_spot = |node: &&domain::node::Node| {
        managed.nodes.contains(&node.name)
            && domain::node_offering::capacity_type_of(&node.labels) == Some(CapacityType::Spot)
    };
    let spot = snapshot.objects.nodes.iter().filter(is_spot).count();
    if spot > 0 && !snapshot.settings.feature_gates.spot_to_spot_consolidation {
        let names = Vec::new();
        found.push(Blocker { names, ..Blocker::of(Kind::SpotToSpotOff, "".into(), spot) });
    }
    found.extend(by_owner(Kind::ZoneSpread, &managed, owners, is_spread_over_zones));
    found.extend(daemon_sets(snapshot, &managed));
    found
}

/// Nodes that have a claim, and the pods on them.
struct Managed<'a> {
    nodes: BTreeSet<&'a Text>,
    pods: Vec<(&'a Text, &'a Pod)>,
}

impl<'a> Managed<'a> {
    fn of(snapshot: &'a ClusterSnapshot) -> Self {
        let claims = snapshot.node_claims.iter();
        let ids: BTreeSet<&Text> =
            claims.clone().filter_map(|claim| claim.status.provider_id.as_ref()).collect();
        let names: BTreeSet<&Text> =
            claims.filter_map(|claim| claim.status.node_name.as_ref()).collect();
        let has_claim = |node: &&domain::node::Node| {
            names.contains(&node.name)
                || node.provider_id.as_ref().is_some_and(|id| ids.contains(id))
        };
        let nodes: BTreeSet<&Text> =
            snapshot.objects.nodes.iter().filter(has_claim).map(|node| &node.name).collect();
        let on_them = |pod: &'a Pod| {
            let node = pod.node_name.as_ref()?;
            (nodes.contains(node) && !pod.is_terminal()).then_some((node, pod))
        };
        let pods = snapshot.objects.pods.iter().filter_map(on_them).collect();
        Self { nodes, pods }
    }

    /// On how many nodes there are pods of a sort.
    fn nodes_with(&self, is_meant: impl Fn(&Pod) -> bool) -> usize {
        let meant = self.pods.iter().filter(|(_, pod)| is_meant(pod));
        meant.map(|(node, _)| node).collect::<BTreeSet<_>>().len()
    }
}

fn budgets(snapshot: &ClusterSnapshot, managed: &Managed<'_>) -> Vec<Blocker> {
    let all = &snapshot.objects.pod_disruption_budgets;
    let guards = |pod: &Pod| all.iter().filter(|budget| budget.guards(pod)).count();
    let mut found = Vec::new();
    for budget in all {
        let is_held = |pod: &Pod| {
            pod.is_reschedulable()
                && budget.guards(pod)
                && (budget.allows_none() || guards(pod) > 1)
        };
        let nodes = managed.nodes_with(is_held);
        if nodes > 0 {
            let name = budget.key.to_string().into();
            found.push(Blocker::of(Kind::PodDisruptionBudget, name, nodes));
        }
    }
    found.sort_by(|a, b| a.names.cmp(&b.names));
    found
}

fn by_owner(
    kind: Kind,
    managed: &Managed<'_>,
    owners: &Owners,
    is_meant: impl Fn(&Pod) -> bool,
) -> Vec<Blocker> {
    let mut nodes: BTreeMap<Text, BTreeSet<&Text>> = BTreeMap::new();
    for (node, pod) in &managed.pods {
        if pod.is_reschedulable() && is_meant(pod) {
            nodes.entry(owner_of(pod, owners)).or_default().insert(node);
        }
    }
    let blocker = |(owner, nodes): (Text, BTreeSet<&Text>)| Blocker::of(kind, owner, nodes.len());
    nodes.into_iter().map(blocker).collect()
}

fn nodes(snapshot: &ClusterSnapshot) -> Vec<Blocker> {
    let is_held = |own: &domain::label::Labels| {
        own.get(label::DO_NOT_DISRUPT).is_some_and(|word| &**word == "true")
    };
    let claims = snapshot.node_claims.iter().filter(|claim| is_held(&claim.annotations));
    let claimed = claims.filter_map(|claim| claim.status.node_name.as_ref());
    let nodes = snapshot.objects.nodes.iter().filter(|node| is_held(&node.annotations));
    let names: BTreeSet<&Text> = nodes.map(|node| &node.name).chain(claimed).collect();
    let blocker = |name: &Text| Blocker::of(Kind::DoNotDisruptNode, name.clone(), 1);
    names.into_iter().map(blocker).collect()
}

fn pools(snapshot: &ClusterSnapshot, managed: &Managed<'_>) -> Vec<Blocker> {
    let mut found = Vec::new();
    let mut pools: Vec<&NodePool> = snapshot.objects.node_pools.iter().collect();
    pools.sort_by(|a, b| a.name.cmp(&b.name));
    for pool in pools {
        let is_its = |node: &&domain::node::Node| {
            managed.nodes.contains(&node.name)
                && node.labels.get(label::NODE_POOL) == Some(&pool.name)
        };
        let nodes = snapshot.objects.nodes.iter().filter(is_its).count();
        if nodes == 0 {
            continue;
        }
        let rules = &pool.disruption;
        let when_empty = rules.consolidation_policy == ConsolidationPolicy::WhenEmpty;
        let never = rules.consolidate_after == NeverOr::Never;
        for (kind, holds) in [
            (Kind::OnDemandOnly, is_spot_forbidden(pool)),
            (Kind::WhenEmpty, when_empty && !never),
            (Kind::NeverConsolidated, never),
            (Kind::NoBudget, never_lets_go(pool)),
        ] {
            if holds {
                found.push(Blocker::of(kind, pool.name.clone(), nodes));
            }
        }
    }
    found
}

/// Whether a NodePool's nodes cannot be spot ones.
pub fn is_spot_forbidden(pool: &NodePool) -> bool {
    let requirements = Requirements::of(&pool.template.requirements);
    let spot = CapacityType::Spot.as_str();
    requirements
        .iter()
        .any(|(key, required)| &**key == label::CAPACITY_TYPE && !required.values.contains(spot))
}

/// Whether a budget never lets an underutilized node go.
pub(super) fn never_lets_go(pool: &NodePool) -> bool {
    pool.disruption.budgets.iter().any(|budget| {
        budget.window.is_none()
            && matches!(budget.nodes, CountOrPercent::Count(0) | CountOrPercent::Percent(0))
            && budget
                .reasons
                .as_ref()
                .is_none_or(|reasons| reasons.contains(&DisruptionReason::Underutilized))
    })
}

fn daemon_sets(snapshot: &ClusterSnapshot, managed: &Managed<'_>) -> Vec<Blocker> {
    let mut found: BTreeMap<Text, (BTreeSet<&Text>, Resources)> = BTreeMap::new();
    for (node, pod) in &managed.pods {
        if let Some(owner) = pod.owner.as_ref().filter(|own| own.kind == OwnerKind::DaemonSet) {
            let name = format!("{}/{}", pod.key.namespace, owner.name);
            let (nodes, requests) = found.entry(name.into()).or_default();
            nodes.insert(node);
            requests.add(&pod.spec.requests);
        }
    }
    let mut all = Resources::new();
    for node in snapshot.objects.nodes.iter().filter(|node| managed.nodes.contains(&node.name)) {
        all.add(&node.allocatable);
    }
    let blocker = |(name, (nodes, requests)): (Text, (BTreeSet<&Text>, Resources))| Blocker {
        nodes: nodes.len(),
        share_permille: [CPU, MEMORY].into_iter().map(|own| permille(&requests, &all, own)).max(),
        ..Blocker::of(Kind::DaemonSet, name, 0)
    };
    found.into_iter().map(blocker).collect()
}

/// What is requested of a resource, in thousandths of what there is, rounded to the nearest.
fn permille(requests: &Resources, all: &Resources, resource: &str) -> u32 {
    let (own, all) = (i128::from(requests.get(resource)), i128::from(all.get(resource)));
    if all <= 0 { 0 } else { u32::try_from((own * 1000 + all / 2) / all).unwrap_or(u32::MAX) }
}

//! What nodes cost, split among the pods that request them.
//!
//! The rule is OpenCost's: the price of a node is divided over its CPU, memory and GPUs in the
//! proportion of their usual prices, and a pod pays for what it requests of each. What nobody
//! requests is idle. Two things are simpler here: a pod pays for requests alone, since usage is not
//! in the cluster's objects, and a node has what pods may use of it (its allocatable), so that what
//! the kubelet keeps is paid for by all who are on the node.
//!
//! Source: `pkg/cloud/models` and `configs/default.json` of <https://github.com/opencost/opencost>.

use std::collections::{BTreeMap, HashMap};

use domain::Text;
use domain::money::UsdPerHour;
use domain::node_offering::NodeCapacityType;
use domain::pod::Pod;
use domain::resource::{AMD_GPU, CPU, MEMORY, NVIDIA_GPU, Resources};
use domain::snapshot::ClusterSnapshot;

use super::node_row::{NodeRow, Usage};
use crate::args::split::SplitBy;

/// OpenCost's default price of a CPU for an hour, in billionths of a dollar for a millicore.
const CPU_NANOS_PER_MILLI: i128 = 31_611;
/// OpenCost's default price of a GiB for an hour, in billionths of a dollar.
const MEMORY_NANOS_PER_GIB: i128 = 4_237_000;
/// OpenCost's default price of a GPU for an hour, in billionths of a dollar.
const GPU_NANOS: i128 = 950_000_000;

/// What one group of pods requests and costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// The namespace, the NodePool or the label's value; `None` for pods that have none.
    pub(crate) name: Option<Text>,
    /// Pods on nodes.
    pub(crate) pods: usize,
    /// CPU that they request, in millicores.
    pub(crate) cpu: i64,
    /// Memory that they request, in bytes.
    pub(crate) memory: i64,
    /// What they cost.
    pub(crate) price: UsdPerHour,
}

/// The cost of all nodes that have a price. Shares and what is idle add up to it exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CostSplit {
    /// What it is split by.
    pub(crate) by: SplitBy,
    /// The dearest first, then by name.
    pub(crate) shares: Vec<Share>,
    /// CPU that nobody requests, in millicores.
    pub(crate) idle_cpu: i64,
    /// Memory that nobody requests, in bytes.
    pub(crate) idle_memory: i64,
    /// What nobody requests costs.
    pub(crate) idle: UsdPerHour,
}

impl CostSplit {
    /// Of the nodes of a snapshot, which rows show.
    pub(crate) fn of(snapshot: &ClusterSnapshot, rows: &[NodeRow], by: SplitBy) -> Self {
        let mut pods: HashMap<&str, Vec<&Pod>> = HashMap::new();
        for pod in snapshot.objects.pods.iter().filter(|pod| !pod.is_terminal()) {
            if let Some(node) = &pod.node_name {
                pods.entry(node).or_default().push(pod);
            }
        }
        let nodes: HashMap<&str, &Resources> =
            snapshot.objects.nodes.iter().map(|node| (&*node.name, &node.allocatable)).collect();
        let mut shares: BTreeMap<Option<Text>, Share> = BTreeMap::new();
        let mut split =
            Self { by, shares: Vec::new(), idle_cpu: 0, idle_memory: 0, idle: UsdPerHour::ZERO };
        for row in rows {
            let own = pods.get(&*row.name).map_or(&[][..], Vec::as_slice);
            let nothing = Resources::new();
            let allocatable = nodes.get(&*row.name).copied().unwrap_or(&nothing);
            split.add_node(row, allocatable, own, &mut shares);
        }
        split.shares = shares.into_values().collect();
        split.shares.sort_by(|a, b| b.price.cmp(&a.price).then_with(|| a.name.cmp(&b.name)));
        split
    }

    fn add_node(
        &mut self,
        row: &NodeRow,
        allocatable: &Resources,
        pods: &[&Pod],
        shares: &mut BTreeMap<Option<Text>, Share>,
    ) {
        let worths: Vec<i128> = pods.iter().map(|pod| worth(&pod.spec.requests)).collect();
        let requested: i128 = worths.iter().sum();
        // What Fargate charges is what its pod has: nothing of it is idle.
        let is_fargate = row.capacity_type == Some(NodeCapacityType::Fargate);
        let whole = if is_fargate && requested > 0 { 0 } else { worth(allocatable) };
        // More may be requested than there is: of static pods, and where a node has shrunk.
        let whole = whole.max(requested);
        let price = row.price.unwrap_or_default();
        let mut divided = Divided::new(price, whole);
        for (pod, worth) in pods.iter().zip(worths) {
            let name = self.group(pod, row);
            let share = shares.entry(name.clone()).or_insert_with(|| Share {
                name,
                pods: 0,
                cpu: 0,
                memory: 0,
                price: UsdPerHour::ZERO,
            });
            share.pods += 1;
            share.cpu = share.cpu.saturating_add(pod.spec.requests.get(CPU));
            share.memory = share.memory.saturating_add(pod.spec.requests.get(MEMORY));
            share.price += divided.next(worth);
        }
        self.idle += divided.rest();
        let left = |usage: Usage| usage.allocatable.saturating_sub(usage.used).max(0);
        if !is_fargate {
            self.idle_cpu = self.idle_cpu.saturating_add(left(row.cpu));
            self.idle_memory = self.idle_memory.saturating_add(left(row.memory));
        }
    }

    fn group(&self, pod: &Pod, row: &NodeRow) -> Option<Text> {
        match &self.by {
            SplitBy::Namespace => Some(pod.key.namespace.clone()),
            SplitBy::NodePool => row.node_pool.clone(),
            SplitBy::Label(key) => pod.labels.get(key).cloned(),
        }
    }
}

/// What resources are worth beside each other, by their usual prices. Billionths of a dollar an
/// hour, times 2^30, so that bytes divide without a remainder.
fn worth(resources: &Resources) -> i128 {
    let of = |name: &str| i128::from(resources.get(name).max(0));
    let gpus = of(NVIDIA_GPU) + of(AMD_GPU);
    ((of(CPU) * CPU_NANOS_PER_MILLI + gpus * GPU_NANOS) << 30) + of(MEMORY) * MEMORY_NANOS_PER_GIB
}

/// A price that is divided in parts, which add up to it exactly: each part ends where the sum of
/// the parts so far does, rounded down.
struct Divided {
    price: i128,
    whole: i128,
    reached: i128,
    given: i128,
}

impl Divided {
    fn new(price: UsdPerHour, whole: i128) -> Self {
        Self { price: price.nanos().into(), whole, reached: 0, given: 0 }
    }

    /// The next part.
    fn next(&mut self, worth: i128) -> UsdPerHour {
        self.reached += worth;
        let until = if self.whole == 0 { 0 } else { self.price * self.reached / self.whole };
        let part = until - self.given;
        self.given = until;
        UsdPerHour::from_nanos(i64::try_from(part).unwrap_or(i64::MAX))
    }

    /// What no part took.
    fn rest(self) -> UsdPerHour {
        UsdPerHour::from_nanos(i64::try_from(self.price - self.given).unwrap_or(i64::MAX))
    }
}

/// What stands for pods that have no namespace, NodePool or value.
pub(crate) fn shown_name(share: &Share, by: &SplitBy) -> String {
    match (&share.name, by) {
        (Some(name), _) => name.to_string(),
        (None, SplitBy::NodePool) => "(no NodePool)".to_owned(),
        (None, SplitBy::Label(key)) => format!("(no label {key})"),
        (None, SplitBy::Namespace) => "(none)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::view::cluster_use::ClusterUse;
    use domain::plan::Plan;
    use domain::snapshot::ClusterObjects;

    fn split(snapshot: &ClusterSnapshot, by: SplitBy) -> (CostSplit, UsdPerHour) {
        let ClusterUse { rows, price, .. } = ClusterUse::of(snapshot, &Plan::default());
        (CostSplit::of(snapshot, &rows, by), price)
    }

    fn sum(split: &CostSplit) -> UsdPerHour {
        split.shares.iter().map(|share| share.price).sum::<UsdPerHour>() + split.idle
    }

    #[test]
    fn parts_add_up_to_the_billionth_whatever_they_are() {
        let mut divided = Divided::new(UsdPerHour::from_nanos(100), 7);
        let parts: Vec<i64> = [1, 1, 1, 2].map(|worth| divided.next(worth).nanos()).to_vec();
        assert_eq!(parts, [14, 14, 14, 29]);
        assert_eq!(divided.rest().nanos(), 29);
    }

    #[test]
    fn a_pod_pays_for_its_requests_and_nobody_for_the_rest() {
        let mut snapshot = testing::snapshot();
        let name = snapshot.objects.nodes[0].name.clone();
        let half = Resources::new().with(CPU, 950).with(MEMORY, 7168 << 19);
        let mut pod = testkit::pod("half").build();
        std::sync::Arc::make_mut(&mut pod.spec).requests = half;
        pod.node_name = Some(name.clone());
        snapshot.objects.nodes.retain(|node| node.name == name);
        let pods = vec![pod].into();
        snapshot.objects =
            ClusterObjects { nodes: snapshot.objects.nodes, pods, ..Default::default() };
        let (split, price) = split(&snapshot, SplitBy::Namespace);
        assert_eq!(price, testing::usd(0.1008));
        assert_eq!((split.shares.len(), split.shares[0].pods), (1, 1));
        assert_eq!(split.shares[0].price, testing::usd(0.0504));
        assert_eq!(split.idle, testing::usd(0.0504));
        assert_eq!((split.idle_cpu, split.idle_memory), (950, 7168 << 19));
    }

    #[test]
    fn every_way_to_split_adds_up_to_what_nodes_cost() {
        let snapshot = testing::snapshot();
        for by in [SplitBy::Namespace, SplitBy::NodePool, SplitBy::Label("app".into())] {
            let (split, price) = split(&snapshot, by.clone());
            assert_eq!(sum(&split), price, "{by}");
        }
        let (split, _) = split(&snapshot, SplitBy::Label("app".into()));
        assert_eq!(shown_name(&split.shares[0], &split.by), "(no label app)");
    }

    #[test]
    fn pods_that_request_more_than_there_is_pay_for_the_node_and_no_more() {
        let mut snapshot = testing::snapshot();
        for node in &mut snapshot.objects.nodes {
            node.allocatable = testing::requests(100, 100, 10);
        }
        let (split, price) = split(&snapshot, SplitBy::NodePool);
        assert_eq!((sum(&split), split.idle), (price, UsdPerHour::ZERO));
    }
}

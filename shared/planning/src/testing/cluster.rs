//! A cluster, built up by what a test is about.

use domain::buffer::{BufferSource, CapacityBuffer};
use domain::instance_type::{InstanceType, InstanceTypes};
use domain::label;
use domain::node_pool::NodePool;
use domain::pdb::PodDisruptionBudget;
use domain::plan::{Plan, PlannedDisruption};
use domain::reason::NotDisruptable;
use domain::resource::Resources;
use domain::snapshot::ClusterSnapshot;
use domain::workload::{DaemonSet, PodTemplate, PodTemplateObject};

use super::catalogue::catalogue;
use super::node::{NodeMaker, node};
use super::plan::is_disrupted;
use super::pod::{PodMaker, pod};
use super::pool::node_pool;
use super::values::{now, pod_key};

/// Pool `default`, the catalogue and nothing else.
pub(crate) fn cluster() -> Cluster {
    let mut snapshot = ClusterSnapshot::empty(now());
    snapshot.instance_types = InstanceTypes {
        region: Some("region-1".into()),
        zone_ids: ["a", "b", "c"].map(|zone| (zone.into(), format!("id-{zone}").into())).into(),
        default: catalogue().into(),
        ..InstanceTypes::default()
    };
    Cluster(snapshot).pool(node_pool("default"))
}

#[derive(Clone)]
pub(crate) struct Cluster(pub(crate) ClusterSnapshot);

impl Cluster {
    /// Adds a pool, or replaces the one of its name.
    pub(crate) fn pool(mut self, pool: NodePool) -> Self {
        self.0.objects.node_pools.retain(|own| own.name != pool.name);
        self.0.objects.node_pools.push(pool);
        self
    }

    /// Changes pool `default`.
    pub(crate) fn default_pool(self, change: impl FnOnce(&mut NodePool)) -> Self {
        self.with(|snapshot| {
            let pool = snapshot.objects.node_pools.iter_mut().find(|pool| &*pool.name == "default");
            change(pool.unwrap());
        })
    }

    /// Sells these instance types and no others.
    pub(crate) fn selling(self, mut types: Vec<InstanceType>) -> Self {
        types.sort_by(|a, b| a.name.cmp(&b.name));
        self.with(|snapshot| snapshot.instance_types.default = types.into())
    }

    pub(crate) fn pod(self, pod: PodMaker) -> Self {
        self.with(|snapshot| snapshot.objects.pods.push(pod.make()))
    }

    /// Adds `count` pods like one, named `NAME-0`, `NAME-1` and so on.
    pub(crate) fn pods(mut self, count: usize, like: &PodMaker) -> Self {
        for index in 0..count {
            let key = pod_key(&format!("{}-{index}", like.pod.key.name));
            self = self.pod(like.clone().having(|pod| pod.key = key));
        }
        self
    }

    pub(crate) fn node(self, maker: NodeMaker) -> Self {
        self.with(|snapshot| {
            let NodeMaker { mut node, mut claim } = maker;
            let name = &node.labels[label::INSTANCE_TYPE];
            let of_type = snapshot.instance_types.default.iter().find(|own| own.name == *name);
            if let Some(known) = of_type {
                node.capacity = known.capacity.clone();
                node.allocatable = known.allocatable.clone();
                claim.status.capacity = known.capacity.clone();
                claim.status.allocatable = known.allocatable.clone();
            }
            snapshot.objects.nodes.push(node);
            snapshot.node_claims.push(claim);
        })
    }

    /// Adds the claim of a node that has not joined.
    pub(crate) fn in_flight(self, maker: NodeMaker) -> Self {
        let mut cluster = self.node(maker.starting().with_claim(|claim| {
            claim.status.node_name = None;
            claim.labels.remove(label::HOSTNAME);
        }));
        cluster.0.objects.nodes.pop();
        cluster
    }

    pub(crate) fn daemon_set(self, daemon_set: DaemonSet) -> Self {
        self.with(|snapshot| snapshot.objects.daemon_sets.push(daemon_set))
    }

    /// Adds CapacityBuffer `headroom`: room for so many pods of so many millicores.
    pub(crate) fn buffer(self, count: u32, millis: i64) -> Self {
        let chunk = pod("chunk").cpu(millis).make();
        self.with(|snapshot| {
            snapshot.objects.pod_templates.push(PodTemplateObject {
                key: pod_key("chunk"),
                generation: 1,
                template: PodTemplate { labels: chunk.labels, spec: chunk.spec },
            });
            snapshot.objects.capacity_buffers.push(CapacityBuffer {
                key: pod_key("headroom"),
                uid: "u".into(),
                provisioning_strategy: "buffer.x-k8s.io/active-capacity".into(),
                source: BufferSource::PodTemplate("chunk".into()),
                replicas: Some(count),
                percentage: None,
                limits: Resources::new(),
            });
        })
    }

    pub(crate) fn pdb(self, pdb: PodDisruptionBudget) -> Self {
        self.with(|snapshot| snapshot.objects.pod_disruption_budgets.push(pdb))
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut ClusterSnapshot)) -> Self {
        change(&mut self.0);
        self
    }

    /// The cluster once a plan's disruptions are carried out: nodes are removed, replacements have
    /// joined, and pods are where the plan says.
    pub(crate) fn after(&self, plan: &Plan) -> Self {
        let mut world = self.clone();
        for disruption in &plan.disruptions {
            let is_gone = |name: &domain::Text| disruption.nodes.contains(name);
            world
                .0
                .node_claims
                .retain(|claim| !claim.status.node_name.as_ref().is_some_and(is_gone));
            world.0.objects.nodes.retain(|node| !is_gone(&node.name));
            for claim in &disruption.replacements {
                let offering = &claim.offering;
                let maker = node(&claim.name)
                    .of_type(&offering.instance_type)
                    .in_zone(&offering.zone)
                    .label(label::CAPACITY_TYPE, offering.capacity_type.as_str());
                world = world.node(maker);
            }
            let of_claims = disruption
                .replacements
                .iter()
                .flat_map(|claim| claim.pods.iter().map(|pod| (pod, &claim.name)));
            let moves = disruption.moves.iter().map(|own| (&own.pod, &own.node));
            for (key, to) in moves.chain(of_claims) {
                for pod in world.0.objects.pods.iter_mut().filter(|pod| pod.key == *key) {
                    pod.node_name = Some(to.clone());
                }
            }
        }
        world
    }

    /// The whole plan; every plan that a test makes is also compared with a second one.
    #[track_caller]
    pub(crate) fn plan(&self) -> Plan {
        let plan = crate::plan(&self.0);
        assert_eq!(plan, crate::plan(&self.0), "the same snapshot gives the same plan");
        plan
    }

    /// The only disruption of a plan.
    #[track_caller]
    pub(crate) fn disruption(&self) -> PlannedDisruption {
        let plan = self.plan();
        assert_eq!(plan.disruptions.len(), 1, "{:?} {:?}", plan.disruptions, plan.blocked);
        plan.disruptions.into_iter().next().unwrap()
    }

    /// Why a node is not disrupted.
    #[track_caller]
    pub(crate) fn blocked(&self, node: &str) -> NotDisruptable {
        let plan = self.plan();
        assert!(!is_disrupted(&plan, node), "{node} is disrupted: {:?}", plan.disruptions);
        let blocked = plan.blocked.iter().find(|blocked| &*blocked.node == node);
        blocked.unwrap_or_else(|| panic!("{:?} names {node}", plan.blocked)).reason.clone()
    }
}

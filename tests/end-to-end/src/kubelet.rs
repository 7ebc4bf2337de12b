//! What runs on instances, and what the cloud's controller does for them: a stand-in for kubelet,
//! for the node agent of EKS that reads user data, and for AWS's cloud controller manager. Images
//! are not pulled and nothing is executed; everything that the API server sees of a node is there:
//! Node, Lease, CSINode, conditions, and pods that start and end.

mod boot;
mod node;
mod pods;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client};
use tokio::task::JoinHandle;

use crate::cloud::{Cloud, Instance};
use crate::control_plane::ControlPlane;
use boot::{BootConfig, ExpectedCluster};

/// How often instances and pods are polled.
const EVERY: Duration = Duration::from_millis(300);

/// How often leases are renewed; kubelet's own interval.
const RENEW_EVERY: Duration = Duration::from_secs(10);

/// How nodes behave. May be changed at any time.
#[derive(Clone, Debug)]
pub struct Habits {
    /// From a running instance to a Node.
    pub boot: Duration,
    /// How much longer each further machine takes to boot, in the order in which they came.
    pub stagger: Duration,
    /// From a Node to a ready one.
    pub ready: Duration,
    /// How long a pod needs to end once it is asked to, unless its grace period is shorter.
    pub pod_ends: Duration,
    /// Instances boot and never join.
    pub never_joins: bool,
    /// Nothing is done at all, as if every node were cut off.
    pub paused: bool,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            boot: Duration::from_millis(500),
            stagger: Duration::ZERO,
            ready: Duration::from_millis(300),
            pod_ends: Duration::from_millis(300),
            never_joins: false,
            paused: false,
        }
    }
}

/// The running stand-in.
#[derive(Debug)]
pub struct Kubelets {
    shared: Arc<Shared>,
    working: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    habits: Mutex<Habits>,
    failures: Mutex<BTreeMap<String, String>>,
}

impl Shared {
    fn habits(&self) -> Habits {
        self.habits.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Kubelets {
    fn drop(&mut self) {
        self.working.abort();
    }
}

impl Kubelets {
    /// Starts it for the instances of a cluster. `endpoint` is what user data has to name as the
    /// API server.
    pub async fn start(
        cloud: Arc<Cloud>,
        control_plane: Arc<ControlPlane>,
        cluster: &str,
        endpoint: &str,
    ) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let fleet = Fleet {
            client: control_plane.administrator().await?,
            expected: ExpectedCluster {
                name: cluster.to_owned(),
                endpoint: endpoint.to_owned(),
                authority: crate::control_plane::base64(&control_plane.authority),
            },
            cloud,
            control_plane,
            shared: Arc::clone(&shared),
            machines: BTreeMap::new(),
            ending: pods::Ending::default(),
        };
        Ok(Self { shared, working: tokio::spawn(fleet.work()) })
    }

    /// Changes how nodes behave.
    pub fn change(&self, change: impl FnOnce(&mut Habits)) {
        change(&mut self.shared.habits.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Instances that could not join, and why.
    pub fn failures(&self) -> BTreeMap<String, String> {
        self.shared.failures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets failures and habits.
    pub fn reset(&self) {
        self.change(|habits| *habits = Habits::default());
        self.shared.failures.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// All machines of the cluster.
struct Fleet {
    client: Client,
    expected: ExpectedCluster,
    cloud: Arc<Cloud>,
    control_plane: Arc<ControlPlane>,
    shared: Arc<Shared>,
    machines: BTreeMap<String, Machine>,
    ending: pods::Ending,
}

/// One machine.
struct Machine {
    /// When it was first seen running.
    since: Instant,
    /// How long it takes from then to a Node.
    boot: Duration,
    node: String,
    stage: Stage,
    renewed: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Booting,
    Joined(Instant),
    Ready,
    /// It could not join, or it is gone.
    Off,
}

impl Fleet {
    async fn work(mut self) {
        let mut interval = tokio::time::interval(EVERY);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            let habits = self.shared.habits();
            if habits.paused {
                continue;
            }
            // A poll that failed is repeated at the next, as controllers do.
            if let Ok(instances) = self.cloud.instances().await {
                self.sync(&instances, &habits).await;
            }
            let nodes = self.running_nodes();
            if !nodes.is_empty() {
                let _ = pods::bring_on(&self.client, &nodes, &habits, &mut self.ending).await;
            }
        }
    }

    /// Nodes whose kubelet runs.
    fn running_nodes(&self) -> BTreeSet<String> {
        let is_on = |machine: &&Machine| matches!(machine.stage, Stage::Joined(_) | Stage::Ready);
        self.machines.values().filter(is_on).map(|machine| machine.node.clone()).collect()
    }

    /// Goes on with the machine of each instance.
    async fn sync(&mut self, instances: &[Instance], habits: &Habits) {
        let known: BTreeSet<_> = instances.iter().map(|instance| instance.id.as_str()).collect();
        self.machines.retain(|id, _| known.contains(id.as_str()));
        for instance in instances {
            match instance.state.as_str() {
                "running" => self.run(instance, habits).await,
                "terminated" => self.forget(instance).await,
                _ => {}
            }
        }
    }

    async fn run(&mut self, instance: &Instance, habits: &Habits) {
        let now = Instant::now();
        let earlier = u32::try_from(self.machines.len()).unwrap_or(u32::MAX);
        let machine = self.machines.entry(instance.id.clone()).or_insert_with(|| Machine {
            since: now,
            boot: habits.boot + habits.stagger * earlier,
            node: instance.private_dns_name.clone(),
            stage: Stage::Booting,
            renewed: now,
        });
        match machine.stage {
            Stage::Booting if machine.since.elapsed() >= machine.boot && !habits.never_joins => {
                let joined = join(instance, &self.expected, &self.control_plane).await;
                let machine = self.machines.get_mut(&instance.id);
                let stage = match joined {
                    Ok(()) => Stage::Joined(Instant::now()),
                    Err(error) => {
                        let mut failures =
                            self.shared.failures.lock().unwrap_or_else(PoisonError::into_inner);
                        failures.insert(instance.id.clone(), format!("{error:#}"));
                        Stage::Off
                    }
                };
                if let Some(machine) = machine {
                    machine.stage = stage;
                }
            }
            Stage::Joined(at)
                if at.elapsed() >= habits.ready
                    && node::become_ready(&self.client, instance).await.is_ok() =>
            {
                machine.stage = Stage::Ready;
            }
            Stage::Ready if machine.renewed.elapsed() >= RENEW_EVERY => {
                machine.renewed = now;
                let _ = node::renew(&self.client, &machine.node).await;
            }
            _ => {}
        }
    }

    /// A machine that is gone says nothing more; the cloud's controller deletes its Node.
    async fn forget(&mut self, instance: &Instance) {
        let Some(machine) = self.machines.get_mut(&instance.id) else { return };
        if machine.stage == Stage::Off {
            return;
        }
        let had_node = machine.stage != Stage::Booting;
        machine.stage = Stage::Off;
        if had_node {
            let nodes: Api<Node> = Api::all(self.client.clone());
            let _ = nodes.delete(&machine.node, &DeleteParams::default()).await;
        }
    }
}

/// Reads the user data and registers the Node, as the node itself: what a node may not say of
/// itself is refused.
async fn join(
    instance: &Instance,
    expected: &ExpectedCluster,
    control_plane: &ControlPlane,
) -> Result<()> {
    let config = BootConfig::of(instance)?;
    config.check(instance, expected)?;
    let client = control_plane.node(&instance.private_dns_name).await?;
    node::register(&client, instance, &config).await
}

/// Pods of a node that have not ended.
pub async fn pods_on(client: &Client, node: &str) -> Result<Vec<Pod>> {
    let of_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
    Ok(Api::<Pod>::all(client.clone()).list(&of_node).await?.items)
}

//! Everything at once: one cluster in one account, and the functions that manage it.

pub mod controls;
mod installation;
mod recording;

pub use installation::{
    DISRUPTION_WAKES, Installation, LIFECYCLE_WAKES, OTHERS, OURS, PROVISIONING_WAKES, TABLE,
    access_key, access_key_of,
};

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::cache::{Cache, repository};
use crate::cloud::{Cloud, Session};
use crate::control_plane::ControlPlane;
use crate::dynamodb::DynamoDb;
use crate::gate::{Gate, Side, Traffic, Usage};
use crate::kubelet::Kubelets;
use crate::lambda::{Deployment, Function};
use crate::process::{Workplace, free_port};
use crate::table;
use installation::{entry, session};

/// The cluster's name.
pub const CLUSTER: &str = "rig";

/// The version that DescribeCluster tells.
const VERSION: &str = "1.34";

/// How long anything that has to happen may take, on a machine that does other things as well.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// The functions that there are.
pub const FUNCTIONS: [&str; 6] =
    ["provisioning", "watcher", "lifecycle", "disruption", "interruption", "catalog"];

/// Those that the template gives a cluster's name, whose connections they open while they start.
const WITH_CLUSTER: [&str; 4] = ["provisioning", "watcher", "lifecycle", "disruption"];

/// The running world.
pub struct World {
    /// What passes between functions and the rest.
    pub traffic: Arc<Traffic>,
    /// AWS.
    pub cloud: Arc<Cloud>,
    /// Kubernetes.
    pub control_plane: Arc<ControlPlane>,
    /// The machines.
    pub kubelets: Kubelets,
    /// A client that may do everything.
    pub client: Client,
    dynamodb: DynamoDb,
    gates: Gates,
    workplace: Workplace,
    /// What each function's role may do, as the template has it.
    actions: BTreeMap<String, BTreeSet<String>>,
    /// What function `catalog` stored; it takes long to gather and is the same for every case.
    catalogue: OnceCell<Vec<Value>>,
}

struct Gates {
    aws: Gate,
    dynamodb: Gate,
    kubernetes: Gate,
}

impl World {
    /// Starts everything, and installs what `infra/kubernetes` ships.
    pub async fn start(workplace: Workplace) -> Result<Self> {
        let cache = Cache::find()?;
        let cloud_port = free_port()?;
        let webhook = Cloud::token_webhook(cloud_port);
        let (cloud, dynamodb, control_plane) = tokio::try_join!(
            Cloud::start(&cache, &workplace, cloud_port),
            DynamoDb::start(&cache, &workplace),
            ControlPlane::start(&cache, &workplace, &webhook),
        )?;
        let (cloud, control_plane) = (Arc::new(cloud), Arc::new(control_plane));
        let traffic = Arc::new(Traffic::default());
        let gates = Gates {
            aws: Gate::plain(Side::Aws, &cloud.endpoint, Arc::clone(&traffic)).await?,
            dynamodb: Gate::plain(Side::DynamoDb, &dynamodb.endpoint, Arc::clone(&traffic)).await?,
            kubernetes: Gate::tls(
                Side::Kubernetes,
                &control_plane.endpoint,
                &control_plane.authority,
                &control_plane.server_identity,
                Arc::clone(&traffic),
            )
            .await?,
        };
        let endpoint = gates.kubernetes.endpoint.clone();
        cloud.know_cluster(CLUSTER, &endpoint, &control_plane.authority, VERSION).await?;
        let entries = [&OURS, &OTHERS].into_iter().flat_map(|installation| {
            FUNCTIONS
                .map(|name| (session(installation, name).access_key, entry(installation, name)))
        });
        cloud.admit(&entries.collect()).await?;
        let actions =
            cloud.assume_roles(&FUNCTIONS.map(|name| (name, session(&OURS, name))).into()).await?;
        for (function, actions) in &actions {
            traffic.permit(&access_key(function), actions.clone());
        }
        let shipped = repository().join("infra/kubernetes");
        control_plane
            .kubectl(&["apply", "--server-side", "--kustomize", &shipped.display().to_string()])
            .await?;
        for definition in ["nodepools", "nodeclaims", "nodeoverlays"] {
            let name = format!("crd/{definition}.karpenter.sh");
            control_plane.kubectl(&["wait", "--for=condition=established", &name]).await?;
        }
        let kubelets =
            Kubelets::start(Arc::clone(&cloud), Arc::clone(&control_plane), CLUSTER, &endpoint)
                .await?;
        table::create(&dynamodb.endpoint, TABLE).await?;
        let client = control_plane.administrator().await?;
        Ok(Self {
            traffic,
            cloud,
            control_plane,
            kubelets,
            client,
            dynamodb,
            gates,
            workplace,
            actions,
            catalogue: OnceCell::new(),
        })
    }

    /// A function of the stack, not running yet.
    pub fn function(&self, name: &str) -> Result<Function> {
        self.function_of(&OURS, name)
    }

    /// A function of an installation, not running yet.
    pub fn function_of(&self, installation: &Installation, name: &str) -> Result<Function> {
        let binary = binary();
        if !binary.exists() {
            bail!("{} is not built: tests/end-to-end/run builds it", binary.display());
        }
        let Session { access_key, secret, session_token } = session(installation, name);
        let environment = [
            ("AWS_ACCESS_KEY_ID", access_key),
            ("AWS_SECRET_ACCESS_KEY", secret),
            ("AWS_SESSION_TOKEN", session_token),
            ("AWS_ENDPOINT_URL", self.gates.aws.endpoint.clone()),
            ("AWS_ENDPOINT_URL_DYNAMODB", self.gates.dynamodb.endpoint.clone()),
            ("TABLE_NAME", installation.table.to_owned()),
            ("INSTALLATION_ID", installation.id.to_owned()),
            // Why nodes are kept is logged at level debug.
            ("LOG_LEVEL", "info,disruption=debug".to_owned()),
        ];
        let mut environment: BTreeMap<String, String> =
            environment.map(|(key, value)| (key.to_owned(), value)).into();
        if WITH_CLUSTER.contains(&name) {
            environment.insert("CLUSTER_NAME".to_owned(), CLUSTER.to_owned());
        }
        let deployment = Deployment {
            name: format!("{name}{}", installation.mark),
            handler: name.to_owned(),
            binary,
            environment,
            timeout: Duration::from_mins(1),
            memory_mib: if name == "watcher" { 128 } else { 512 },
        };
        Ok(Function::new(deployment, self.workplace.clone()))
    }

    /// Where functions find AWS.
    pub fn aws_endpoint(&self) -> &str {
        &self.gates.aws.endpoint
    }

    /// Where functions and nodes find the API server.
    pub fn cluster_endpoint(&self) -> &str {
        &self.gates.kubernetes.endpoint
    }

    /// Takes an action out of a function's role, or gives back what was taken.
    pub async fn without_right(&self, function: &str, action: Option<&str>) -> Result<()> {
        let mut actions = self.actions.get(function).context("a function's role")?.clone();
        if let Some(action) = action {
            anyhow::ensure!(actions.remove(action), "{function} may not do {action} anyway");
        }
        self.traffic.permit(&access_key(function), actions.clone());
        self.cloud.permit(function, &actions).await
    }

    /// Has machines do nothing until the next case begins.
    pub fn rest(&self) {
        self.kubelets.change(|habits| habits.paused = true);
    }

    /// Leaves the world as it was after the start.
    pub async fn reset(&self) -> Result<()> {
        self.rest();
        let workloads = "deployments,daemonsets,statefulsets,replicasets,jobs,poddisruptionbudgets";
        let arguments = ["delete", workloads, "--namespace=default", "--all", "--wait=false"];
        self.control_plane.kubectl(&arguments).await?;
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "default");
        // Until controllers have heard that there is nothing to keep up any more.
        let cleared = async || {
            self.remove(&pods).await?;
            Ok(self.pods().await?.len())
        };
        eventually("no pods", cleared, |left| *left == 0).await?;
        self.remove::<Event>(&Api::namespaced(self.client.clone(), "default")).await?;
        for (group, version, kind) in [
            ("karpenter.sh", "v1", "NodePool"),
            ("karpenter.sh", "v1", "NodeClaim"),
            ("karpenter.sh", "v1alpha1", "NodeOverlay"),
            ("karpenter.k8s.aws", "v1", "EC2NodeClass"),
            ("outrigger.dev", "v1alpha1", "Commitment"),
        ] {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
            let objects: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
            for object in objects.list(&ListParams::default()).await? {
                force(&objects, &object.name_any()).await?;
            }
        }
        let nodes: Api<Node> = Api::all(self.client.clone());
        for node in nodes.list(&ListParams::default()).await? {
            force(&nodes, &node.name_any()).await?;
        }
        for function in self.actions.keys() {
            self.without_right(function, None).await?;
        }
        self.forget_controls().await?;
        self.set_karpenter_lease(None).await?;
        self.cloud.clean().await?;
        table::create(&self.dynamodb.endpoint, TABLE).await?;
        self.traffic.reset();
        self.kubelets.reset();
        Ok(())
    }

    async fn remove<K>(&self, api: &Api<K>) -> Result<()>
    where
        K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let at_once = DeleteParams::default().grace_period(0);
        api.delete_collection(&at_once, &ListParams::default()).await?;
        Ok(())
    }

    /// Creates or changes an object by server-side apply.
    pub async fn apply(&self, object: &Value) -> Result<()> {
        self.apply_by(object, &PatchParams::apply("rig").force()).await
    }

    /// Has the API server say whether it would take an object, without keeping it.
    pub async fn try_apply(&self, object: &Value) -> Result<()> {
        self.apply_by(object, &PatchParams::apply("rig").force().dry_run()).await
    }

    async fn apply_by(&self, object: &Value, params: &PatchParams) -> Result<()> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let api_version = text("/apiVersion").context("apiVersion")?;
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let kind = text("/kind").context("kind")?;
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let client = self.client.clone();
        let api: Api<DynamicObject> = match text("/metadata/namespace") {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        };
        let name = text("/metadata/name").context("metadata.name")?;
        let applied = api.patch(name, params, &Patch::Apply(object)).await;
        applied.with_context(|| format!("apply {kind} {name}"))?;
        Ok(())
    }

    /// Pods of the namespace `default`.
    pub async fn pods(&self) -> Result<Vec<Pod>> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "default");
        Ok(pods.list(&ListParams::default()).await?.items)
    }

    /// Nodes.
    pub async fn nodes(&self) -> Result<Vec<Node>> {
        Ok(Api::<Node>::all(self.client.clone()).list(&ListParams::default()).await?.items)
    }

    /// How many pods of the namespace `default` run, and how many there are.
    pub async fn running(&self) -> Result<(usize, usize)> {
        let pods = self.pods().await?;
        let is_running = |pod: &&Pod| {
            pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running")
                && pod.metadata.deletion_timestamp.is_none()
        };
        Ok((pods.iter().filter(is_running).count(), pods.len()))
    }

    /// Records of the table.
    pub async fn records(&self) -> Result<Vec<Value>> {
        table::scan(&self.dynamodb.endpoint, TABLE).await
    }

    /// Has all leases run out: what time does to those of a process that was killed.
    pub async fn end_leases(&self) -> Result<()> {
        table::end_leases(&self.dynamodb.endpoint, TABLE).await
    }

    /// Sets back when a function succeeded last.
    pub async fn age_success(&self, function: &str, by: Duration) -> Result<()> {
        table::age_success(&self.dynamodb.endpoint, TABLE, function, by).await
    }

    /// Sets back every moment that claims know of.
    pub async fn age_claims(&self, by: Duration) -> Result<()> {
        table::age_claims(&self.dynamodb.endpoint, TABLE, by).await
    }

    /// Sets back the moment of every disruption that was proposed and not validated yet.
    pub async fn age_proposals(&self, by: Duration) -> Result<()> {
        table::age_proposals(&self.dynamodb.endpoint, TABLE, by).await
    }

    /// Has the catalogue stored: by `gather` the first time, as it was then every other time.
    pub async fn store_catalogue(&self, gather: impl AsyncFnOnce() -> Result<()>) -> Result<()> {
        let is_new = !self.catalogue.initialized();
        let items = self
            .catalogue
            .get_or_try_init(async || {
                gather().await?;
                let is_of_catalogue = |item: &Value| {
                    let key = item["record"]["S"].as_str().unwrap_or_default();
                    key.starts_with("catalog#")
                };
                let records = self.records().await?;
                anyhow::Ok(records.into_iter().filter(is_of_catalogue).collect())
            })
            .await?;
        if is_new {
            return Ok(());
        }
        table::put(&self.dynamodb.endpoint, TABLE, items).await
    }

    /// Empties the table of all but the catalogue: as in a cluster that somebody else has
    /// managed so far.
    pub async fn forget_records(&self) -> Result<()> {
        self.make_table(&OURS).await
    }

    /// Makes an installation's table, with the catalogue that was stored in ours and nothing else.
    pub async fn make_table(&self, installation: &Installation) -> Result<()> {
        table::create(&self.dynamodb.endpoint, installation.table).await?;
        let catalogue = self.catalogue.get().context("no catalogue was stored")?;
        table::put(&self.dynamodb.endpoint, installation.table, catalogue).await
    }

    /// Puts another table of the same name in the table's place, with these items: what restoring a
    /// backup comes to.
    pub async fn replace_records(&self, items: &[Value]) -> Result<()> {
        table::create(&self.dynamodb.endpoint, TABLE).await?;
        table::put(&self.dynamodb.endpoint, TABLE, items).await
    }

    /// Documents of the records of a kind, such as `claim#`, in an installation's table.
    pub async fn documents(&self, installation: &Installation, kind: &str) -> Result<Vec<Value>> {
        table::documents(&self.dynamodb.endpoint, installation.table, kind).await
    }

    /// Changes the documents of all records of a kind.
    pub async fn change_documents(&self, kind: &str, change: impl Fn(&mut Value)) -> Result<()> {
        table::rewrite(&self.dynamodb.endpoint, TABLE, kind, change).await
    }

    /// Has minutes pass for what was counted of launches and terminations.
    pub async fn age_counts(&self, minutes: i64) -> Result<()> {
        let age = |document: &mut Value| {
            for counted in document["minutes"].as_array_mut().into_iter().flatten() {
                if let Some(minute) = counted[0].as_i64() {
                    counted[0] = (minute - minutes).into();
                }
            }
        };
        self.change_documents("recent#", age).await
    }

    /// What was called since the start, and what IAM had to permit for that at all services but
    /// DynamoDB.
    pub async fn usage(&self) -> Result<(Usage, Vec<Value>)> {
        Ok((self.traffic.usage(), self.cloud.permissions().await?))
    }

    /// A folder for what a case wants to keep.
    pub const fn workplace(&self) -> &Workplace {
        &self.workplace
    }
}

/// Looks again and again until something holds; fails with what was found last.
pub async fn eventually<T: std::fmt::Debug>(
    what: &str,
    read: impl AsyncFn() -> Result<T>,
    holds: impl Fn(&T) -> bool,
) -> Result<T> {
    let started = Instant::now();
    loop {
        let found = read().await;
        match found {
            Ok(found) if holds(&found) => return Ok(found),
            found if started.elapsed() > PATIENCE => {
                bail!("{what}: not so after {PATIENCE:?}; last found: {found:?}")
            }
            _ => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

/// Deletes an object whatever its finalizers say.
async fn force<K>(api: &Api<K>, name: &str) -> Result<()>
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    let without = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    match api.patch(name, &PatchParams::default(), &without).await {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
        other => other.map(drop)?,
    }
    match api.delete(name, &DeleteParams::default().grace_period(0)).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => Ok(other.map(drop)?),
    }
}

/// Where the binary of all functions is: in the folder that `run` names, else where cargo puts it.
fn binary() -> PathBuf {
    let folder = std::env::var_os("OUTRIGGER_FUNCTIONS")
        .map_or_else(|| repository().join("target/debug"), PathBuf::from);
    folder.join("bootstrap")
}

/// What is left to say of a map in an error.
pub fn listed(map: &BTreeMap<String, String>) -> String {
    map.iter().map(|(key, value)| format!("{key}: {value}")).collect::<Vec<_>>().join("\n")
}

//! The cloud: moto with the additions of `moto/`, and what the rig asks of it beside AWS's own API.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use hyper::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::behaviour::Behaviour;
use crate::cache::{Cache, repository};
use crate::http;
use crate::process::{Server, Workplace};

/// The region that everything is in.
pub const REGION: &str = "us-east-1";

/// The account of everything.
pub const ACCOUNT: &str = "123456789012";

/// The role that instances get; it is there once the cluster is known.
pub const NODE_ROLE: &str = "rig-node";

/// The running cloud.
#[derive(Debug)]
pub struct Cloud {
    /// Where AWS's API is.
    pub endpoint: String,
    _server: Server,
}

/// Who may enter the cluster with an access key: what an access entry says, and the key's secret.
#[derive(Clone, Debug, Serialize)]
pub struct AccessEntry {
    /// The secret access key.
    pub secret: String,
    /// The Kubernetes user.
    pub username: String,
    /// Its groups.
    pub groups: Vec<String>,
}

/// The keys with which a function's role is assumed: what Lambda puts into its environment.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The access key id.
    pub access_key: String,
    /// The secret access key.
    pub secret: String,
    /// The session token.
    pub session_token: String,
}

/// Offerings that fail. What is not given stands for any.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shortage {
    /// The instance type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    /// The zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// `spot` or `on-demand`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_type: Option<String>,
    /// EC2's error code; `InsufficientInstanceCapacity` when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// An instance and what it was launched with.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    /// `i-…`.
    pub id: String,
    /// The instance type.
    #[serde(rename = "type")]
    pub instance_type: String,
    /// The zone's name.
    pub zone: String,
    /// The zone's id.
    pub zone_id: String,
    /// When it was launched, as in RFC 3339.
    pub launched: String,
    /// `pending`, `running`, `shutting-down`, `terminated`.
    pub state: String,
    /// `spot` or `on-demand`.
    pub capacity_type: String,
    /// The id of its image.
    pub image_id: String,
    /// The name of its image.
    pub image: String,
    /// Who runs it, where that is somebody else.
    pub maker: Option<String>,
    /// Its name in the VPC's DNS, which is the Node's.
    pub private_dns_name: String,
    /// Its address.
    pub private_ip: String,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// The instance profile it can get credentials from.
    pub instance_profile: Option<String>,
    /// Its security groups.
    pub security_groups: Vec<String>,
    /// Its volumes; none once it is terminated.
    pub volumes: Vec<Volume>,
    /// `required` or `optional`.
    pub http_tokens: String,
    /// What it boots with, decoded.
    pub user_data: Option<String>,
    /// CPUs of the type.
    pub vcpus: u32,
    /// Memory of the type.
    #[serde(rename = "memoryMiB")]
    pub memory_mib: u64,
    /// GPUs of the type.
    pub gpus: u32,
    /// `amd64` or `arm64`.
    pub architecture: String,
    /// How many network interfaces the type can have.
    pub network_interfaces: u32,
    /// How many addresses each of them can have.
    pub addresses_per_interface: u32,
}

/// A volume of an instance.
#[derive(Clone, Debug, Deserialize)]
pub struct Volume {
    /// Such as `/dev/xvda`.
    pub device: String,
    /// Its size.
    pub gib: u32,
    /// Such as `gp3`.
    #[serde(rename = "type")]
    pub volume_type: String,
}

/// Who else runs instances in the cluster.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Maker {
    /// EKS Auto Mode.
    AutoMode,
    /// A managed node group.
    NodeGroup,
    /// A Karpenter that has Provisioners, not NodePools.
    OldKarpenter,
}

impl Instance {
    /// Whether it is there and nobody has asked for its end.
    pub fn is_alive(&self) -> bool {
        matches!(self.state.as_str(), "pending" | "running")
    }

    /// `aws:///ZONE/ID`.
    pub fn provider_id(&self) -> String {
        format!("aws:///{}/{}", self.zone, self.id)
    }

    /// The claim it was launched for, by its tag.
    pub fn claim(&self) -> Option<&str> {
        self.tags.get("karpenter.sh/nodeclaim").map(String::as_str)
    }
}

impl Cloud {
    /// Starts it on a port.
    pub async fn start(cache: &Cache, workplace: &Workplace, port: u16) -> Result<Self> {
        let endpoint = format!("http://127.0.0.1:{port}");
        let mut command = Command::new(cache.python());
        command
            .arg(repository().join("tests/end-to-end/moto/server.py"))
            .arg(format!("--port={port}"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("AWS_DEFAULT_REGION", REGION)
            .env("AWS_ACCESS_KEY_ID", "moto")
            .env("AWS_SECRET_ACCESS_KEY", "moto");
        let health = format!("{endpoint}/rig/health");
        let server = Server::start(workplace, "moto", &mut command)?
            .ready(async || http::answers(&health).await)
            .await?;
        let cloud = Self { endpoint, _server: server };
        cloud.ask(Method::GET, "health", None).await?;
        Ok(cloud)
    }

    /// The webhook that the API server asks about tokens, once the cloud on that port is up.
    pub fn token_webhook(port: u16) -> String {
        format!("http://127.0.0.1:{port}/rig/token-review")
    }

    /// Makes DescribeCluster answer for a cluster whose API server is at `endpoint`, and tags
    /// subnets and the security group for discovery by its name.
    pub async fn know_cluster(
        &self,
        name: &str,
        endpoint: &str,
        authority: &str,
        version: &str,
    ) -> Result<()> {
        let cluster = json!({
            "name": name,
            "endpoint": endpoint,
            "certificateAuthority": crate::control_plane::base64(authority),
            "version": version,
            "serviceCidr": crate::control_plane::SERVICE_CIDR,
        });
        self.ask(Method::PUT, "cluster", Some(cluster)).await?;
        Ok(())
    }

    /// Says who may enter, by access key.
    pub async fn admit(&self, entries: &BTreeMap<String, AccessEntry>) -> Result<()> {
        self.ask(Method::PUT, "access-entries", Some(serde_json::to_value(entries)?)).await?;
        Ok(())
    }

    /// Makes the functions' roles as the template has them, assumed with these keys. Returns their
    /// actions.
    pub async fn assume_roles(
        &self,
        sessions: &BTreeMap<&str, Session>,
    ) -> Result<BTreeMap<String, BTreeSet<String>>> {
        let actions = self.ask(Method::PUT, "roles", Some(serde_json::to_value(sessions)?)).await?;
        serde_json::from_value(actions).context("actions of roles")
    }

    /// Says what a function's role may do from now on.
    pub async fn permit(&self, function: &str, actions: &BTreeSet<String>) -> Result<()> {
        let path = format!("roles/{function}");
        // moto asks for an action of the call's name; IAM has none of its own for a batch.
        let batch = actions.contains("sqs:SendMessage").then(|| "sqs:SendMessageBatch".to_owned());
        let actions: BTreeSet<&String> = actions.iter().chain(&batch).collect();
        self.ask(Method::PUT, &path, Some(serde_json::to_value(actions)?)).await.map(drop)
    }

    /// What functions have needed of IAM so far, at all services but DynamoDB.
    pub async fn permissions(&self) -> Result<Vec<Value>> {
        serde_json::from_value(self.ask(Method::GET, "permissions", None).await?)
            .context("permissions that were needed")
    }

    /// Why tokens were refused since the start.
    pub async fn refusals(&self) -> Result<Vec<String>> {
        Ok(serde_json::from_value(self.ask(Method::GET, "refusals", None).await?)?)
    }

    /// Has offerings fail from now on; none when the list is empty.
    pub async fn run_out(&self, offerings: &[Shortage]) -> Result<()> {
        self.ask(Method::PUT, "shortage", Some(serde_json::to_value(offerings)?)).await?;
        Ok(())
    }

    /// Sets all knobs: how the cloud behaves from now on.
    pub async fn behave(&self, behaviour: &Behaviour) -> Result<()> {
        let knobs = serde_json::to_value(behaviour)?;
        self.ask(Method::PUT, "behaviour", Some(knobs)).await.map(drop)
    }

    /// All instances of the functions, those that ended among them.
    pub async fn instances(&self) -> Result<Vec<Instance>> {
        Ok(self.everyones().await?.into_iter().filter(|own| own.maker.is_none()).collect())
    }

    /// All instances of somebody else.
    pub async fn others(&self) -> Result<Vec<Instance>> {
        Ok(self.everyones().await?.into_iter().filter(|own| own.maker.is_some()).collect())
    }

    async fn everyones(&self) -> Result<Vec<Instance>> {
        serde_json::from_value(self.ask(Method::GET, "instances", None).await?)
            .context("instances of the rig's cloud")
    }

    /// Launches an instance as somebody else does, an hour ago.
    pub async fn launch_as(&self, maker: Maker, cluster: &str) -> Result<()> {
        let request = json!({"maker": maker, "cluster": cluster});
        self.ask(Method::POST, "others", Some(request)).await.map(drop)
    }

    /// Instances that are there and not ending.
    pub async fn alive(&self) -> Result<Vec<Instance>> {
        Ok(self.instances().await?.into_iter().filter(Instance::is_alive).collect())
    }

    /// Ends an instance, as AWS does when its hardware fails.
    pub async fn end(&self, instance_id: &str) -> Result<()> {
        self.ask(Method::POST, &format!("instances/{instance_id}/end"), None).await?;
        Ok(())
    }

    /// Takes an instance away: whoever wants to change it does not find it, and reads show it for
    /// as long as [`Behaviour::stale_read_seconds`] says.
    pub async fn vanish(&self, instance_id: &str) -> Result<()> {
        self.ask(Method::POST, &format!("instances/{instance_id}/vanish"), None).await.map(drop)
    }

    /// Sets back the launch of every instance: what time does to those that nothing happens to.
    pub async fn age(&self, by: Duration) -> Result<()> {
        let request = json!({"seconds": by.as_secs()});
        self.ask(Method::POST, "instances/age", Some(request)).await.map(drop)
    }

    /// Leaves no instance, launch template, instance profile, shortage and client token, and every
    /// knob as it was at first.
    pub async fn clean(&self) -> Result<()> {
        self.ask(Method::POST, "clean", None).await?;
        Ok(())
    }

    async fn ask(&self, method: Method, path: &str, document: Option<Value>) -> Result<Value> {
        http::exchange(method, &format!("{}/rig/{path}", self.endpoint), document.as_ref()).await
    }
}

//! A real control plane: etcd, kube-apiserver, kube-scheduler and kube-controller-manager, with
//! TLS, RBAC and node authorization on, and tokens checked the way EKS checks them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;

use crate::authority::{Authority, Identity};
use crate::cache::Cache;
use crate::http;
use crate::process::{Server, Workplace, free_port};

/// The addresses that Services get.
pub const SERVICE_CIDR: &str = "10.96.0.0/16";

/// The running control plane.
pub struct ControlPlane {
    /// `https://127.0.0.1:PORT` of the API server itself.
    pub endpoint: String,
    /// Who signed its certificate, as PEM.
    pub authority: String,
    /// The certificate that anything which stands in for the API server shows.
    pub server_identity: Identity,
    kubeconfig: PathBuf,
    kubectl: PathBuf,
    // Dropped from first to last: whoever depends on another ends before it.
    _controllers: Vec<Server>,
    _api_server: Server,
    _etcd: Server,
}

impl ControlPlane {
    /// Starts it; tokens are checked by the webhook at `token_webhook`.
    pub async fn start(cache: &Cache, workplace: &Workplace, token_webhook: &str) -> Result<Self> {
        let authority = Authority::new()?;
        let etcd_endpoint = format!("http://127.0.0.1:{}", free_port()?);
        let etcd = start_etcd(cache, workplace, &etcd_endpoint).await?;
        let port = free_port()?;
        let endpoint = format!("https://127.0.0.1:{port}");
        let server_identity = authority.server()?;

        let kubeconfig = |name: &str, user: &str, group: Option<&str>| -> Result<PathBuf> {
            let identity = authority.user(user, group)?;
            let content = kubeconfig(&endpoint, &authority.certificate(), &identity);
            workplace.write(name, content)
        };
        let admin = kubeconfig("admin.kubeconfig", "admin", Some("system:masters"))?;
        let mut command = Command::new(cache.server("kube-apiserver"));
        command
            .args(api_server_flags(workplace, &authority, &server_identity, token_webhook)?)
            .arg(format!("--etcd-servers={etcd_endpoint}"))
            .arg(format!("--secure-port={port}"));
        let client = client(&admin).await?;
        let api_server = Server::start(workplace, "kube-apiserver", &mut command)?
            .ready(async || is_ready(&client).await)
            .await?;

        let mut controllers = Vec::new();
        for (name, flags) in [
            ("kube-scheduler", SCHEDULER_FLAGS),
            ("kube-controller-manager", CONTROLLER_MANAGER_FLAGS),
        ] {
            let config =
                kubeconfig(&format!("{name}.kubeconfig"), &format!("system:{name}"), None)?;
            let mut command = Command::new(cache.server(name));
            command.arg(format!("--kubeconfig={}", config.display())).args(flags);
            if name == "kube-controller-manager" {
                let key = workplace.path("service-account.key");
                command.arg(format!("--service-account-private-key-file={}", key.display()));
                let root = workplace.path("ca.crt");
                command.arg(format!("--root-ca-file={}", root.display()));
            }
            controllers.push(Server::start(workplace, name, &mut command)?);
        }
        Ok(Self {
            endpoint,
            authority: authority.certificate(),
            server_identity,
            kubeconfig: admin,
            kubectl: cache.server("kubectl"),
            _controllers: controllers,
            _api_server: api_server,
            _etcd: etcd,
        })
    }

    /// The kubeconfig of somebody who may do everything.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A client that may do everything.
    pub async fn administrator(&self) -> Result<Client> {
        client(&self.kubeconfig).await
    }

    /// A client that may do what a node may.
    pub async fn node(&self, name: &str) -> Result<Client> {
        let mut config = config(&self.kubeconfig).await?;
        config.auth_info.impersonate = Some(format!("system:node:{name}"));
        config.auth_info.impersonate_groups = Some(vec!["system:nodes".to_owned()]);
        Ok(Client::try_from(config)?)
    }

    /// A client that finds the API server at another endpoint and shows a token.
    pub async fn bearer(&self, endpoint: &str, token: &str) -> Result<Client> {
        let mut kubeconfig = Kubeconfig::read_from(&self.kubeconfig)?;
        for named in &mut kubeconfig.clusters {
            if let Some(cluster) = &mut named.cluster {
                cluster.server = Some(endpoint.to_owned());
            }
        }
        for named in &mut kubeconfig.auth_infos {
            named.auth_info = Some(serde_json::from_value(json!({ "token": token }))?);
        }
        let options = KubeConfigOptions::default();
        Ok(Client::try_from(kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?)?)
    }

    /// What kubectl prints.
    pub async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let output = tokio::process::Command::new(&self.kubectl)
            .arg(format!("--kubeconfig={}", self.kubeconfig.display()))
            .args(arguments)
            .output()
            .await
            .context("kubectl")?;
        ensure!(
            output.status.success(),
            "kubectl {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// What a script prints that speaks to the cluster with kubectl, as an administrator does at a
    /// shell.
    pub async fn shell(&self, script: &str) -> Result<String> {
        let tools = self.kubectl.parent().context("the folder of kubectl")?;
        let output = tokio::process::Command::new("bash")
            .args(["-euo", "pipefail", "-c", script])
            .env("KUBECONFIG", &self.kubeconfig)
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", tools.display()))
            .output()
            .await
            .context("bash")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {errors}", output.status);
        Ok(String::from_utf8(output.stdout)?)
    }
}

async fn start_etcd(cache: &Cache, workplace: &Workplace, endpoint: &str) -> Result<Server> {
    let peer = format!("http://127.0.0.1:{}", free_port()?);
    let mut command = Command::new(cache.server("etcd"));
    command
        .arg(format!("--data-dir={}", workplace.path("etcd").display()))
        .arg(format!("--listen-client-urls={endpoint}"))
        .arg(format!("--advertise-client-urls={endpoint}"))
        .arg(format!("--listen-peer-urls={peer}"))
        .arg(format!("--initial-advertise-peer-urls={peer}"))
        .arg(format!("--initial-cluster=default={peer}"))
        .arg("--log-level=warn")
        // What is lost with the machine is lost with the run.
        .arg("--unsafe-no-fsync");
    let health = format!("{endpoint}/health");
    Server::start(workplace, "etcd", &mut command)?
        .ready(async || http::exchange(hyper::Method::GET, &health, None).await.is_ok())
        .await
}

fn api_server_flags(
    workplace: &Workplace,
    authority: &Authority,
    identity: &Identity,
    token_webhook: &str,
) -> Result<Vec<String>> {
    let ca = workplace.write("ca.crt", authority.certificate())?;
    let certificate = workplace.write("server.crt", &identity.certificate)?;
    let key = workplace.write("server.key", &identity.key)?;
    let accounts = authority.user("service-accounts", None)?;
    let accounts_key = workplace.write("service-account.key", accounts.key)?;
    let accounts_certificate = workplace.write("service-account.crt", accounts.certificate)?;
    let webhook = workplace.write("token-webhook.kubeconfig", webhook_config(token_webhook))?;
    let file = |flag: &str, path: &Path| format!("--{flag}={}", path.display());
    let mut flags = vec![
        file("client-ca-file", &ca),
        file("tls-cert-file", &certificate),
        file("tls-private-key-file", &key),
        file("service-account-key-file", &accounts_certificate),
        file("service-account-signing-key-file", &accounts_key),
        file("authentication-token-webhook-config-file", &webhook),
        format!("--service-cluster-ip-range={SERVICE_CIDR}"),
    ];
    flags.extend(API_SERVER_FLAGS.iter().map(ToString::to_string));
    Ok(flags)
}

const API_SERVER_FLAGS: &[&str] = &[
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    // The `kubernetes` Service would need an address that is not loopback.
    "--endpoint-reconciler-type=none",
    "--authentication-token-webhook-version=v1",
    "--authentication-token-webhook-cache-ttl=10s",
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--service-account-issuer=https://kubernetes.default.svc",
    "--event-ttl=1h",
    "--profiling=false",
];

const SCHEDULER_FLAGS: &[&str] = &[
    "--leader-elect=false",
    "--secure-port=0",
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
    "--profiling=false",
];

const CONTROLLER_MANAGER_FLAGS: &[&str] = &[
    "--leader-elect=false",
    "--secure-port=0",
    // Each controller has the rights of its own service account, as in every real cluster.
    "--use-service-account-credentials=true",
    "--cloud-provider=external",
    // Half of what is usual, so that nodes whose machine is gone are seen to be.
    "--node-monitor-grace-period=25s",
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
    "--concurrent-deployment-syncs=5",
    "--profiling=false",
];

fn kubeconfig(endpoint: &str, authority: &str, identity: &Identity) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "rig", "cluster": {
            "server": endpoint, "certificate-authority-data": base64(authority),
        }}],
        "users": [{"name": "user", "user": {
            "client-certificate-data": base64(&identity.certificate),
            "client-key-data": base64(&identity.key),
        }}],
        "contexts": [{"name": "rig", "context": {"cluster": "rig", "user": "user"}}],
        "current-context": "rig",
    })
    .to_string()
}

fn webhook_config(url: &str) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "authenticator", "cluster": {"server": url}}],
        "users": [{"name": "api-server", "user": {}}],
        "contexts": [{"name": "webhook", "context": {"cluster": "authenticator", "user": "api-server"}}],
        "current-context": "webhook",
    })
    .to_string()
}

/// Base64 with padding, as Kubernetes and EKS write certificates.
pub fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

async fn config(kubeconfig: &Path) -> Result<kube::Config> {
    let parsed = Kubeconfig::read_from(kubeconfig)?;
    Ok(kube::Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default()).await?)
}

async fn client(kubeconfig: &Path) -> Result<Client> {
    Ok(Client::try_from(config(kubeconfig).await?)?)
}

async fn is_ready(client: &Client) -> bool {
    match hyper::Request::get("/readyz").body(Vec::new()) {
        Ok(request) => client.request_text(request).await.is_ok_and(|answer| answer == "ok"),
        Err(_) => false,
    }
}

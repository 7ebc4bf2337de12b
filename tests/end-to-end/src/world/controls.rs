//! What an operator says of the cluster, and who else acts in it: the ConfigMap, Karpenter's lease,
//! the command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use super::{World, force};
use crate::cloud::REGION;

/// The namespace of the ConfigMap that says who may act, and of the lease of Karpenter's leader.
const SYSTEM: &str = "kube-system";
/// The ConfigMap's name.
const CONTROLS: &str = "outrigger";
/// The lease's name.
const KARPENTER_LEASE: &str = "karpenter-leader-election";

/// What became of the lease of Karpenter's leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KarpenterLease {
    /// The leader renewed it so long ago.
    Held {
        /// How long ago.
        age: Duration,
    },
    /// The leader ended in order, just now.
    LetGoOf,
}

impl World {
    /// Leaves the ConfigMap as `infra/kubernetes` ships it: the cluster belongs to nobody, and no
    /// operator has said anything.
    pub async fn forget_controls(&self) -> Result<()> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), SYSTEM);
        force(&maps, CONTROLS).await?;
        let mut shipped = ConfigMap::default();
        shipped.metadata.name = Some(CONTROLS.to_owned());
        maps.create(&PostParams::default(), &shipped).await?;
        Ok(())
    }

    /// Takes the ConfigMap away, as before `infra/kubernetes` was applied.
    pub async fn remove_controls(&self) -> Result<()> {
        force(&Api::<ConfigMap>::namespaced(self.client.clone(), SYSTEM), CONTROLS).await
    }

    /// What the ConfigMap says, by key.
    pub async fn controls(&self) -> Result<BTreeMap<String, String>> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), SYSTEM);
        Ok(maps.get(CONTROLS).await?.data.unwrap_or_default())
    }

    /// Sets a value of the ConfigMap by hand, whatever it means.
    pub async fn set_control(&self, key: &str, value: &str) -> Result<()> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), SYSTEM);
        let patch = Patch::Merge(json!({"data": {key: value}}));
        maps.patch(CONTROLS, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Has Karpenter's leader hold its lease, renewed so long ago, or let go of it; `None` takes
    /// the lease away.
    pub async fn set_karpenter_lease(&self, lease: Option<KarpenterLease>) -> Result<()> {
        let Some(lease) = lease else {
            let leases: Api<Lease> = Api::namespaced(self.client.clone(), SYSTEM);
            return force(&leases, KARPENTER_LEASE).await;
        };
        let (holder, age) = match lease {
            KarpenterLease::Held { age } => ("karpenter-0", age),
            KarpenterLease::LetGoOf => ("", Duration::ZERO),
        };
        self.apply(&json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": KARPENTER_LEASE, "namespace": SYSTEM},
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": 15,
                "renewTime": format!("{:.6}", Timestamp::now() - age),
            },
        }))
        .await
    }

    /// What `outrigger` prints, run by somebody who may do everything in the cluster and the
    /// account.
    pub async fn outrigger(&self, arguments: &[&str]) -> Result<String> {
        let output = tokio::process::Command::new(command_line()?)
            .args(arguments)
            .env("KUBECONFIG", self.control_plane.kubeconfig())
            .env("AWS_REGION", REGION)
            .env("AWS_ACCESS_KEY_ID", "AKIARIG")
            .env("AWS_SECRET_ACCESS_KEY", "rig")
            .env("AWS_ENDPOINT_URL_DYNAMODB", &self.dynamodb.endpoint)
            .kill_on_drop(true)
            .output()
            .await
            .context("outrigger")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(
            output.status.success(),
            "outrigger {}: {}: {said}{errors}",
            arguments.join(" "),
            output.status
        );
        Ok(format!("{said}{errors}"))
    }

    /// The exit status of `outrigger convert` for a file, and what it prints.
    pub async fn convert(file: &Path) -> Result<(i32, String)> {
        let output = tokio::process::Command::new(command_line()?)
            .args(["convert", "-f"])
            .arg(file)
            .kill_on_drop(true)
            .output()
            .await
            .context("outrigger convert")?;
        let status = output.status.code().context("outrigger convert was killed")?;
        Ok((status, String::from_utf8(output.stdout)?))
    }
}

/// The command line, built beside the rig.
pub(super) fn command_line() -> Result<PathBuf> {
    let own = std::env::current_exe()?.with_file_name("outrigger");
    ensure!(own.exists(), "{} is not built: tests/end-to-end/run builds it", own.display());
    Ok(own)
}

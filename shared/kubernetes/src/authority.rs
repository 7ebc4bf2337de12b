//! Who may act in the cluster: ConfigMap `kube-system/outrigger`, and the lease of Karpenter's
//! leader.

use std::collections::BTreeMap;

use controllers::ports::PortError;
use controllers::ports::cluster::ControlsObject;
use controllers::record::controls::INSTALLATION;
use domain::pod::ObjectKey;
use domain::{Text, Timestamp};
use serde::Deserialize;
use serde_json::json;

use crate::call::{Call, Verb};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::kind::{CONFIG_MAP, LEASE};
use crate::write::Target;

/// The namespace of the ConfigMap.
pub(crate) const NAMESPACE: &str = "kube-system";
/// The name of the ConfigMap.
pub(crate) const NAME: &str = "outrigger";
/// The lease that Karpenter's leader renews, in the namespace that it is installed in.
///
/// Source: `LeaderElectionID` in Karpenter's `pkg/operator/operator.go`.
const KARPENTER_LEASE: &str = "metadata.name=karpenter-leader-election";

#[derive(Deserialize)]
struct ConfigMap {
    metadata: Metadata,
    data: Option<BTreeMap<Text, Text>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    uid: Text,
    resource_version: Text,
}

#[derive(Deserialize)]
struct Leases {
    items: Option<Vec<Lease>>,
}

#[derive(Deserialize)]
struct Lease {
    spec: Option<LeaseSpec>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeaseSpec {
    /// Empty once the holder has let go of it.
    holder_identity: Option<Text>,
    renew_time: Option<Text>,
}

fn config_map() -> Target {
    let key = ObjectKey { namespace: NAMESPACE.into(), name: NAME.into() };
    Target::in_namespace(&CONFIG_MAP, &key)
}

impl Connection {
    /// The ConfigMap; `None` where it does not exist.
    pub async fn controls(&self) -> Result<Option<ControlsObject>, PortError> {
        let Some(object) = self.get_at(&CONFIG_MAP, &config_map()).await? else { return Ok(None) };
        let read: ConfigMap = serde_json::from_value(object).map_err(|error| {
            let call = Call::new(Verb::Get, CONFIG_MAP.resource(), config_map().path);
            Failure::Broken(format!("not a ConfigMap: {error}")).into_port_error(&call)
        })?;
        let ConfigMap { metadata: Metadata { uid, resource_version }, data } = read;
        Ok(Some(ControlsObject { uid, resource_version, data: data.unwrap_or_default() }))
    }

    /// Sets values of the ConfigMap, and removes those that are `None`. With `seen` only if it is
    /// still as it was then.
    ///
    /// # Errors
    ///
    /// `Conflict` when it has changed since `seen`, `NotFound` when it does not exist.
    pub async fn set_controls(
        &self,
        values: &BTreeMap<&str, Option<&str>>,
        seen: Option<&ControlsObject>,
    ) -> Result<(), PortError> {
        let Target { path, shown } = config_map();
        let call = Call::new(Verb::Patch, CONFIG_MAP.resource(), path).on(shown);
        let mut patch = json!({ "data": values });
        if let Some(seen) = seen {
            patch["metadata"] = json!({ "resourceVersion": &*seen.resource_version });
        }
        self.patch(call, &patch).await.map(drop)
    }

    pub(crate) async fn mark_owner(
        &self,
        installation: &str,
        seen: &ControlsObject,
    ) -> Result<(), PortError> {
        self.set_controls(&BTreeMap::from([(INSTALLATION, Some(installation))]), Some(seen)).await
    }

    /// When Karpenter's leader last renewed its lease; `None` where nobody holds one.
    pub async fn karpenter_renewed(&self) -> Result<Option<Timestamp>, PortError> {
        let query = [("fieldSelector", KARPENTER_LEASE)];
        let call =
            Call::new(Verb::List, LEASE.resource(), LEASE.path(LEASE.version())).query(&query);
        let body = self.call(&call).await.map_err(|failure| failure.into_port_error(&call))?;
        let leases: Leases = serde_json::from_slice(&body).map_err(|error| {
            Failure::Broken(format!("not a list: {error}")).into_port_error(&call)
        })?;
        let held = leases.items.unwrap_or_default().into_iter().filter_map(|lease| {
            let LeaseSpec { holder_identity, renew_time } = lease.spec?;
            holder_identity.filter(|holder| !holder.is_empty())?;
            renew_time?.parse().ok()
        });
        Ok(held.max())
    }
}

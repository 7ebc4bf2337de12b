//! Rollouts of Deployments, asked for as `kubectl rollout restart` does.

use controllers::ports::PortError;
use controllers::ports::cluster::NamespacedRef;
use domain::Timestamp;
use domain::label::{RESTARTED_AT, ROLLOUT_ASKED_AT};
use domain::pod::{ObjectKey, OwnerKind};
use domain::rollout::{Deployment, RolloutStatus};
use domain::workload::WorkloadKind;
use manifests::{Field, Interner, Object, WorkloadObject, read_api_object};
use serde_json::{Value as Json, json};

use super::Target;
use crate::call::{Call, Verb};
use crate::connection::Connection;
use crate::kind::{Kind, of_workload};

/// How far a workload is, and in which version it was read.
#[derive(Debug, Default)]
struct DeploymentState {
    resource_version: String,
    status: RolloutStatus,
}

impl Connection {
    /// The Deployment that a ReplicaSet belongs to. A ReplicaSet of another uid is a successor.
    pub(crate) async fn deployment_of(
        &self,
        replica_set: &NamespacedRef,
    ) -> Result<Option<Deployment>, PortError> {
        let of_uid =
            |own: &WorkloadObject| replica_set.uid.is_empty() || own.uid == replica_set.uid;
        let found = self.workload(WorkloadKind::ReplicaSet, &replica_set.key).await?;
        let owner = found.filter(|(own, _)| of_uid(own)).and_then(|(own, _)| own.owner);
        let Some(owner) = owner.filter(|owner| owner.kind == OwnerKind::Deployment) else {
            return Ok(None);
        };
        let key = ObjectKey::new(replica_set.key.namespace.clone(), owner.name);
        let found = self.workload(WorkloadKind::Deployment, &key).await?;
        let found = found.filter(|(own, _)| own.uid == owner.uid);
        Ok(found.map(|(own, state)| deployment(own, state)))
    }

    /// Asks for a rollout, on condition that nobody has changed the Deployment since it was read.
    pub(crate) async fn restart_deployment(
        &self,
        deployment: &Deployment,
        at: Timestamp,
    ) -> Result<(), PortError> {
        let kind = of_workload(WorkloadKind::Deployment);
        let Target { path, shown } = Target::in_namespace(kind, &deployment.key);
        let call = Call::new(Verb::Patch, kind.resource(), path).on(shown);
        self.patch(call, &restart(deployment, at)).await.map(drop)
    }

    async fn workload(
        &self,
        kind: WorkloadKind,
        key: &ObjectKey,
    ) -> Result<Option<(WorkloadObject, DeploymentState)>, PortError> {
        let kind = of_workload(kind);
        let json = self.get_at(kind, &Target::in_namespace(kind, key)).await?;
        Ok(json.and_then(|json| read(&json, kind)))
    }
}

/// A workload of an API server; `None` for one that cannot be read, which counts as none.
fn read(json: &Json, kind: &Kind) -> Option<(WorkloadObject, DeploymentState)> {
    let read_as = kind.read_as("v1");
    let read = read_api_object(&json.to_string(), &read_as, &Interner::default(), state);
    match read.result {
        Ok((Object::Workload(own), state)) => Some((own, state)),
        _ => None,
    }
}

fn state(root: Field<'_>) -> DeploymentState {
    let (metadata, status) = (root.get("metadata"), root.get("status"));
    let count = |key| status.get(key).count().unwrap_or_default();
    let observed = status.get("observedGeneration").integer().unwrap_or_default();
    let conditions = status.get("conditions");
    let is_stuck = conditions.items().any(|own| {
        own.get("type").str() == Some("Progressing") && own.get("status").str() == Some("False")
    });
    DeploymentState {
        resource_version: metadata.get("resourceVersion").str().unwrap_or_default().to_owned(),
        status: RolloutStatus {
            is_observed: observed >= metadata.get("generation").integer().unwrap_or_default(),
            replicas: count("replicas"),
            updated: count("updatedReplicas"),
            available: count("availableReplicas"),
            is_stuck,
        },
    }
}

fn deployment(
    own: WorkloadObject,
    DeploymentState { resource_version, status }: DeploymentState,
) -> Deployment {
    Deployment {
        key: own.workload.key,
        uid: own.uid,
        resource_version: resource_version.into(),
        replicas: own.workload.replicas,
        spec: own.rollout.unwrap_or_default(),
        status,
    }
}

fn restart(deployment: &Deployment, at: Timestamp) -> Json {
    let at = at.to_string();
    json!({
        "metadata": {
            "resourceVersion": &*deployment.resource_version,
            "annotations": { ROLLOUT_ASKED_AT: at },
        },
        "spec": { "template": { "metadata": { "annotations": { RESTARTED_AT: at } } } },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_is_read_with_how_far_its_rollout_is() {
        let json = json!({
            "metadata": {
                "name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7",
                "generation": 3, "annotations": { "outrigger.dev/evict-by": "rollout" },
            },
            "spec": { "replicas": 4, "selector": {}, "template": { "spec": { "containers": [] } } },
            "status": {
                "observedGeneration": 2, "replicas": 5, "updatedReplicas": 2,
                "availableReplicas": 4,
                "conditions": [{ "type": "Progressing", "status": "False",
                    "reason": "ProgressDeadlineExceeded" }],
            },
        });
        let (own, state) = read(&json, of_workload(WorkloadKind::Deployment)).unwrap();
        let own = deployment(own, state);
        let expected = RolloutStatus {
            is_observed: false,
            replicas: 5,
            updated: 2,
            available: 4,
            is_stuck: true,
        };
        assert_eq!((own.replicas, own.status), (4, expected));
        assert_eq!(own.spec.evict_by, Some(domain::rollout::EvictBy::Rollout));
        let at = "2026-01-05T09:00:00Z".parse().unwrap();
        let patch = restart(&own, at);
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        assert_eq!(patch["metadata"]["annotations"][ROLLOUT_ASKED_AT], "2026-01-05T09:00:00Z");
        let of_pods = &patch["spec"]["template"]["metadata"]["annotations"];
        assert_eq!(of_pods[RESTARTED_AT], "2026-01-05T09:00:00Z");
    }
}

//! The kinds that are read and written, and their API paths.

use domain::workload::WorkloadKind;
use manifests::ApiKind;

/// A kind of the API.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// `NodePool`.
    pub(crate) name: &'static str,
    /// `karpenter.sh`; empty for the core group.
    pub(crate) group: &'static str,
    /// Versions that are read, in order of preference.
    pub(crate) versions: &'static [&'static str],
    /// `nodepools`.
    pub(crate) plural: &'static str,
    /// A custom resource that may not be installed; then there are no objects.
    pub(crate) is_optional: bool,
}

impl Kind {
    const fn of(
        name: &'static str,
        group: &'static str,
        versions: &'static [&'static str],
        plural: &'static str,
    ) -> Self {
        Self { name, group, versions, plural, is_optional: false }
    }

    const fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }

    /// The resource as RBAC names it: `nodepools.karpenter.sh`, `nodes`.
    pub(crate) fn resource(&self) -> String {
        match self.group {
            "" => self.plural.to_owned(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// A part of an object as RBAC names it: `nodepools.karpenter.sh/status`.
    pub(crate) fn subresource(&self, part: &str) -> String {
        format!("{}/{part}", self.resource())
    }

    /// The version that is written.
    pub(crate) fn version(&self) -> &'static str {
        self.versions.first().copied().unwrap_or("v1")
    }

    /// `karpenter.sh/v1`, `v1`.
    pub(crate) fn api_version(&self, version: &str) -> String {
        match self.group {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        }
    }

    /// The path of all its objects.
    pub(crate) fn path(&self, version: &str) -> String {
        let Self { group, plural, .. } = self;
        match *group {
            "" => format!("/api/{version}/{plural}"),
            group => format!("/apis/{group}/{version}/{plural}"),
        }
    }

    /// The path of an object outside namespaces.
    pub(crate) fn path_of(&self, name: &str) -> String {
        format!("{}/{name}", self.path(self.version()))
    }

    /// The path of an object in a namespace.
    pub(crate) fn path_in(&self, namespace: &str, name: &str) -> String {
        let Self { group, plural, .. } = self;
        let version = self.version();
        match *group {
            "" => format!("/api/{version}/namespaces/{namespace}/{plural}/{name}"),
            group => format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}"),
        }
    }

    /// The kind and API version that its objects are read as.
    pub(crate) fn read_as(&self, version: &str) -> ApiKind {
        ApiKind { kind: self.name.into(), api_version: self.api_version(version).into() }
    }
}

pub(crate) static NODE: Kind = Kind::of("Node", "", &["v1"], "nodes");
pub(crate) static POD: Kind = Kind::of("Pod", "", &["v1"], "pods");
pub(crate) static EVENT: Kind = Kind::of("Event", "", &["v1"], "events");
pub(crate) static NODE_POOL: Kind =
    Kind::of("NodePool", "karpenter.sh", &["v1"], "nodepools").optional();
pub(crate) static NODE_CLAIM: Kind =
    Kind::of("NodeClaim", "karpenter.sh", &["v1"], "nodeclaims").optional();
pub(crate) static NODE_CLASS: Kind =
    Kind::of("EC2NodeClass", "karpenter.k8s.aws", &["v1"], "ec2nodeclasses").optional();
pub(crate) static VOLUME_ATTACHMENT: Kind =
    Kind::of("VolumeAttachment", "storage.k8s.io", &["v1"], "volumeattachments");

static NODE_OVERLAY: Kind =
    Kind::of("NodeOverlay", "karpenter.sh", &["v1alpha1"], "nodeoverlays").optional();
pub(crate) static CAPACITY_BUFFER: Kind =
    Kind::of("CapacityBuffer", "autoscaling.x-k8s.io", &["v1beta1", "v1alpha1"], "capacitybuffers")
        .optional();
pub(crate) static SCALED_OBJECT: Kind =
    Kind::of("ScaledObject", "keda.sh", &["v1alpha1"], "scaledobjects").optional();
pub(crate) static PREWARM_SCHEDULE: Kind =
    Kind::of("PrewarmSchedule", "outrigger.dev", &["v1alpha1"], "prewarmschedules").optional();
pub(crate) static CLUSTER_LIMIT: Kind =
    Kind::of("ClusterLimit", "outrigger.dev", &["v1alpha1"], "clusterlimits").optional();
pub(crate) static COMMITMENT: Kind =
    Kind::of("Commitment", "outrigger.dev", &["v1alpha1"], "commitments").optional();
static DAEMON_SET: Kind = Kind::of("DaemonSet", "apps", &["v1"], "daemonsets");
static POD_TEMPLATE: Kind = Kind::of("PodTemplate", "", &["v1"], "podtemplates");
static BUDGET: Kind = Kind::of("PodDisruptionBudget", "policy", &["v1"], "poddisruptionbudgets");
static VOLUME_CLAIM: Kind =
    Kind::of("PersistentVolumeClaim", "", &["v1"], "persistentvolumeclaims");
static VOLUME: Kind = Kind::of("PersistentVolume", "", &["v1"], "persistentvolumes");
static STORAGE_CLASS: Kind = Kind::of("StorageClass", "storage.k8s.io", &["v1"], "storageclasses");
static CSI_NODE: Kind = Kind::of("CSINode", "storage.k8s.io", &["v1"], "csinodes");
static NAMESPACE: Kind = Kind::of("Namespace", "", &["v1"], "namespaces");
static PRIORITY_CLASS: Kind =
    Kind::of("PriorityClass", "scheduling.k8s.io", &["v1"], "priorityclasses");
static SERVICE: Kind = Kind::of("Service", "", &["v1"], "services");
pub(crate) static CONFIG_MAP: Kind = Kind::of("ConfigMap", "", &["v1"], "configmaps");
pub(crate) static LEASE: Kind = Kind::of("Lease", "coordination.k8s.io", &["v1"], "leases");
static DEPLOYMENT: Kind = Kind::of("Deployment", "apps", &["v1"], "deployments");
static STATEFUL_SET: Kind = Kind::of("StatefulSet", "apps", &["v1"], "statefulsets");
static REPLICA_SET: Kind = Kind::of("ReplicaSet", "apps", &["v1"], "replicasets");
static JOB: Kind = Kind::of("Job", "batch", &["v1"], "jobs");

/// Kinds that every listing reads. Pods, by far the longest list, come first, and Nodes after them:
/// a Node that joins meanwhile is listed without its pods rather than pods without their Node.
pub(crate) static ALWAYS_READ: [&Kind; 19] = [
    &POD,
    &NODE,
    &NODE_CLAIM,
    &NODE_POOL,
    &NODE_CLASS,
    &NODE_OVERLAY,
    &DAEMON_SET,
    &BUDGET,
    &VOLUME_CLAIM,
    &VOLUME,
    &CSI_NODE,
    &STORAGE_CLASS,
    &NAMESPACE,
    &PRIORITY_CLASS,
    &CAPACITY_BUFFER,
    &SCALED_OBJECT,
    &PREWARM_SCHEDULE,
    &CLUSTER_LIMIT,
    &COMMITMENT,
];

/// Services, which are listed only where the scheduler has default constraints, whose selectors
/// are deduced from them.
pub(crate) static SERVICES: &Kind = &SERVICE;

/// PodTemplates, which are listed only where a CapacityBuffer names one.
pub(crate) static TEMPLATES: &Kind = &POD_TEMPLATE;

/// The API kind of a workload.
pub(crate) fn of_workload(kind: WorkloadKind) -> &'static Kind {
    match kind {
        WorkloadKind::Deployment => &DEPLOYMENT,
        WorkloadKind::StatefulSet => &STATEFUL_SET,
        WorkloadKind::ReplicaSet => &REPLICA_SET,
        WorkloadKind::Job => &JOB,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_resources_are_those_of_the_api() {
        assert_eq!(NODE_POOL.path_of("web"), "/apis/karpenter.sh/v1/nodepools/web");
        assert_eq!(POD.path_in("shop", "web-0"), "/api/v1/namespaces/shop/pods/web-0");
        assert_eq!(DEPLOYMENT.path("v1"), "/apis/apps/v1/deployments");
        assert_eq!(NODE_POOL.subresource("status"), "nodepools.karpenter.sh/status");
        assert_eq!(NODE.resource(), "nodes");
        assert_eq!(CAPACITY_BUFFER.api_version("v1alpha1"), "autoscaling.x-k8s.io/v1alpha1");
    }
}

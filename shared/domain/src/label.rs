//! Label keys that have a meaning, and maps of labels.

mod labels;

pub use labels::Labels;

/// `topology.kubernetes.io/zone`.
pub const ZONE: &str = "topology.kubernetes.io/zone";
/// `topology.kubernetes.io/region`.
pub const REGION: &str = "topology.kubernetes.io/region";
/// `topology.k8s.aws/zone-id`.
pub const ZONE_ID: &str = "topology.k8s.aws/zone-id";
/// `kubernetes.io/hostname`.
pub const HOSTNAME: &str = "kubernetes.io/hostname";
/// `kubernetes.io/arch`.
pub const ARCH: &str = "kubernetes.io/arch";
/// `kubernetes.io/os`.
pub const OS: &str = "kubernetes.io/os";
/// `node.kubernetes.io/windows-build`.
pub const WINDOWS_BUILD: &str = "node.kubernetes.io/windows-build";
/// `node.kubernetes.io/instance-type`.
pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// `karpenter.sh/capacity-type`: `spot`, `on-demand` or `reserved`.
pub const CAPACITY_TYPE: &str = "karpenter.sh/capacity-type";
/// `eks.amazonaws.com/capacityType`, on nodes of managed node groups: `ON_DEMAND`, `SPOT` or
/// `CAPACITY_BLOCK`.
pub const NODE_GROUP_CAPACITY_TYPE: &str = "eks.amazonaws.com/capacityType";
/// `eks.amazonaws.com/compute-type`: [`FARGATE`] on nodes of Fargate, other words on other nodes.
pub const COMPUTE_TYPE: &str = "eks.amazonaws.com/compute-type";
/// The value of [`COMPUTE_TYPE`] on nodes of Fargate.
pub const FARGATE: &str = "fargate";
/// `CapacityProvisioned`, the annotation of a pod by which Fargate says what it was given.
pub const CAPACITY_PROVISIONED: &str = "CapacityProvisioned";
/// `node.kubernetes.io/lifecycle`, by which other tools say how a node was bought.
pub const LIFECYCLE: &str = "node.kubernetes.io/lifecycle";
/// `karpenter.sh/nodepool`.
pub const NODE_POOL: &str = "karpenter.sh/nodepool";
/// `karpenter.sh/registered`, set to `true` once the Node of a NodeClaim has joined.
pub const REGISTERED: &str = "karpenter.sh/registered";
/// `karpenter.sh/initialized`, set to `true` once the Node is ready for pods.
pub const INITIALIZED: &str = "karpenter.sh/initialized";
/// `karpenter.sh/do-not-disrupt`, an annotation of pods, Nodes and NodeClaims.
pub const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
/// `eks.amazonaws.com/nodeclass`, on nodes of EKS Auto Mode.
pub const AUTO_MODE_NODE_CLASS: &str = "eks.amazonaws.com/nodeclass";
/// `karpenter.sh/nodepool-hash`, the annotation that drift compares.
pub const NODE_POOL_HASH: &str = "karpenter.sh/nodepool-hash";
/// `karpenter.sh/nodepool-hash-version`.
pub const NODE_POOL_HASH_VERSION: &str = "karpenter.sh/nodepool-hash-version";
/// `karpenter.k8s.aws/ec2nodeclass-hash`.
pub const NODE_CLASS_HASH: &str = "karpenter.k8s.aws/ec2nodeclass-hash";
/// `karpenter.k8s.aws/ec2nodeclass-hash-version`.
pub const NODE_CLASS_HASH_VERSION: &str = "karpenter.k8s.aws/ec2nodeclass-hash-version";
/// `karpenter.k8s.aws/ec2nodeclass`, the label that names a node's EC2NodeClass.
pub const NODE_CLASS: &str = "karpenter.k8s.aws/ec2nodeclass";
/// `karpenter.k8s.aws/capacity-reservation-id`.
pub const RESERVATION_ID: &str = "karpenter.k8s.aws/capacity-reservation-id";
/// `karpenter.k8s.aws/capacity-reservation-type`: `default` or `capacity-block`.
pub const RESERVATION_TYPE: &str = "karpenter.k8s.aws/capacity-reservation-type";
/// `karpenter.k8s.aws/capacity-reservation-interruptible`.
pub const RESERVATION_INTERRUPTIBLE: &str = "karpenter.k8s.aws/capacity-reservation-interruptible";
/// Labels of nodes in a capacity reservation, which no other node has.
pub const OF_RESERVATION: [&str; 3] = [RESERVATION_ID, RESERVATION_TYPE, RESERVATION_INTERRUPTIBLE];
/// `karpenter.k8s.aws/placement-group-id`.
pub const PLACEMENT_GROUP_ID: &str = "karpenter.k8s.aws/placement-group-id";
/// `karpenter.sh/do-not-sync-taints`.
pub const DO_NOT_SYNC_TAINTS: &str = "karpenter.sh/do-not-sync-taints";
/// `controller.kubernetes.io/pod-deletion-cost`, an annotation of pods.
pub const POD_DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
/// `outrigger.dev/pod-deletion-cost`, an annotation of pods: the deletion cost that Outrigger
/// wrote. Where the pod's own annotation says something else, that is its user's.
pub const MANAGED_POD_DELETION_COST: &str = "outrigger.dev/pod-deletion-cost";
/// The finalizer of Nodes and NodeClaims, `karpenter.sh/termination`.
pub const TERMINATION_FINALIZER: &str = "karpenter.sh/termination";
/// Annotation of a NodeClaim: when its drain ends by force, RFC 3339.
pub const TERMINATION_TIMESTAMP: &str = "karpenter.sh/nodeclaim-termination-timestamp";
/// Annotation of a NodeClaim: when EC2 recommended to replace its spot instance, RFC 3339.
pub const REBALANCE_RECOMMENDED: &str = "outrigger.dev/rebalance-recommended";
/// Annotation of a NodePool: with `observe`, what would be done with it is planned and never done.
pub const MODE: &str = "outrigger.dev/mode";
/// Annotation of a NodePool: what becomes of nodes whose instances EC2 recommends to replace,
/// `ignore` (the default) or `replace`.
pub const ON_REBALANCE_RECOMMENDATION: &str = "outrigger.dev/on-rebalance-recommendation";
/// Annotation of a NodePool: what an interruption costs, a duration of a node's price (`15m`) or
/// dollars for each pod (`$0.02`). On a pod: what an interruption of that pod costs.
pub const SPOT_INTERRUPTION_COST: &str = "outrigger.dev/spot-interruption-cost";
/// Annotation of a NodePool: what an interruption costs of a pod that two minutes' notice does not
/// do for, one that is not to be disrupted or takes longer to end.
pub const SPOT_INTERRUPTION_COST_DO_NOT_DISRUPT: &str =
    "outrigger.dev/spot-interruption-cost-do-not-disrupt";
/// Annotation of a NodePool or a pod: at most this share of a workload's replicas on one spot
/// offering, such as `30%`.
pub const SPOT_OFFERING_SHARE: &str = "outrigger.dev/spot-offering-share";
/// Annotation of a NodePool: above how many interruptions in 100 node-hours a spot offering is left
/// out while another remains.
pub const SPOT_INTERRUPTIONS_MAX: &str = "outrigger.dev/spot-interruptions-max";

/// Annotation of a NodePool: pods of a lower priority buy no node of it and hold none.
pub const EXPENDABLE_BELOW: &str = "outrigger.dev/expendable-below";
/// Annotation of a NodePool: whether nodes past their age limit go by force, `forceful` (the
/// default), or count as drifted, `graceful`.
pub const EXPIRATION: &str = "outrigger.dev/expiration";
/// Annotation of a NodePool: the share of `expireAfter` from whose end each node's age limit is
/// drawn, such as `10%`.
pub const EXPIRATION_SPREAD: &str = "outrigger.dev/expiration-spread";
/// Annotation of a NodePool: how long after its age limit a node that expires gracefully goes by
/// force, such as `48h`.
pub const EXPIRE_BY: &str = "outrigger.dev/expire-by";
/// Annotation of a NodePool: the utilization from which on a node is not consolidated, such as
/// `50%`.
pub const CONSOLIDATE_BELOW: &str = "outrigger.dev/consolidate-below";
/// Annotation of a NodePool: when it goes off, a cron schedule such as `0 20 * * mon-fri`.
pub const OFF_SCHEDULE: &str = "outrigger.dev/off-schedule";
/// Annotation of a NodePool: for how long it is off, such as `12h`.
pub const OFF_DURATION: &str = "outrigger.dev/off-duration";
/// Annotation of a NodePool: whose clocks `off-schedule` speaks of, an IANA name; UTC without it.
pub const OFF_TIME_ZONE: &str = "outrigger.dev/off-time-zone";
/// Annotation of a NodePool: for how long PodDisruptionBudgets and do-not-disrupt hold pods once it
/// is off, such as `30m`.
pub const OFF_GRACE: &str = "outrigger.dev/off-grace";
/// Annotation of a NodePool: until then it is not off, RFC 3339.
pub const AWAKE_UNTIL: &str = "outrigger.dev/awake-until";
/// Annotation of a NodePool: how many of its nodes have been replaced at the end of each wave of
/// drift, such as `1, 10%, 50%, 100%`.
pub const DRIFT_WAVES: &str = "outrigger.dev/drift-waves";
/// Annotation of a NodePool: how long the nodes of a wave have to be ready before the next, such as
/// `10m`.
pub const DRIFT_SOAK: &str = "outrigger.dev/drift-soak";
/// Annotation of a NodePool: after how many nodes in a row that do not come up drift stops, such as
/// `2`.
pub const DRIFT_HALT_AFTER: &str = "outrigger.dev/drift-halt-after";
/// Annotation of a NodePool, which lifecycle writes: why drift is halted, after a hash of what the
/// nodes drifted to. Who removes it lets drift go on.
pub const DRIFT_HALTED: &str = "outrigger.dev/drift-halted";
/// Annotation of a NodePool, which lifecycle writes: the nodes that did not come up, after a hash
/// of what they were made from.
pub const DRIFT_FAILURES: &str = "outrigger.dev/drift-failures";
/// Annotation of a Deployment, or of a Namespace for its Deployments: how pods leave a node that
/// goes by choice, `eviction` (the default) or `rollout`.
pub const EVICT_BY: &str = "outrigger.dev/evict-by";
/// Annotation of a NodeClaim, which lifecycle writes: pods of its node that a rollout ends and
/// replaces, `NAMESPACE/NAME` by commas. They need no place elsewhere.
pub const PODS_ROLLING: &str = "outrigger.dev/pods-rolling";
/// Annotation of a Deployment's template, which `kubectl rollout restart` writes: when its pods
/// were last to be made anew, RFC 3339.
pub const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
/// Annotation of a Deployment: what Outrigger wrote into `restartedAt` last. Where the two differ,
/// the latest rollout is somebody else's.
pub const ROLLOUT_ASKED_AT: &str = "outrigger.dev/restarted-at";
/// Annotation of an EC2NodeClass: the age that its images have at the least, such as `168h`.
pub const AMI_MIN_AGE: &str = "outrigger.dev/ami-min-age";
/// Annotation of an EC2NodeClass, which lifecycle writes: the images that are too young, each with
/// the moment at which it is old enough, such as `ami-1=2026-11-30T00:00:00Z`, by commas.
pub const AMIS_HELD_BACK: &str = "outrigger.dev/amis-held-back";

/// Annotation of an EC2NodeClass: the share of memory that the hypervisor of its instances keeps,
/// such as `0.075`, in place of the installation's `VM_MEMORY_OVERHEAD_PERCENT`.
pub const VM_MEMORY_OVERHEAD_PERCENT: &str = "outrigger.dev/vm-memory-overhead-percent";
/// Annotation of an EC2NodeClass: network interfaces of its instances that pods get no addresses
/// from, such as `1`, in place of the installation's `RESERVED_ENIS`.
pub const RESERVED_ENIS: &str = "outrigger.dev/reserved-enis";

/// Annotation of an EC2NodeClass: how many addresses a pod takes, such as `1`.
pub const ADDRESSES_PER_POD: &str = "outrigger.dev/addresses-per-pod";
/// Annotation of an EC2NodeClass: how many addresses stay free in each zone, such as `32`.
pub const MIN_FREE_ADDRESSES: &str = "outrigger.dev/min-free-addresses";
/// Annotation of an EC2NodeClass, which lifecycle writes: free addresses of its subnets, such as
/// `us-east-1a/subnet-1=120`, by commas.
pub const FREE_ADDRESSES: &str = "outrigger.dev/free-addresses";
/// Annotation of a NodePool: by how much of the even share of its nodes a zone may exceed that,
/// such as `20%`.
pub const ZONE_BALANCE: &str = "outrigger.dev/zone-balance";
/// Annotation of a NodePool: how much dearer a node may become so that zones are even, such as
/// `5%`.
pub const ZONE_BALANCE_PREMIUM: &str = "outrigger.dev/zone-balance-premium";

/// Keys every installation knows: a requirement on one can be met by an instance type or offering.
///
/// Source: Karpenter's well-known labels, core and AWS provider.
pub const WELL_KNOWN: &[&str] = &[
    NODE_POOL,
    CAPACITY_TYPE,
    ZONE,
    REGION,
    INSTANCE_TYPE,
    ARCH,
    OS,
    WINDOWS_BUILD,
    ZONE_ID,
    RESERVATION_ID,
    RESERVATION_TYPE,
    RESERVATION_INTERRUPTIBLE,
    "karpenter.k8s.aws/instance-hypervisor",
    "karpenter.k8s.aws/instance-encryption-in-transit-supported",
    "karpenter.k8s.aws/instance-category",
    "karpenter.k8s.aws/instance-capability-flex",
    "karpenter.k8s.aws/instance-family",
    "karpenter.k8s.aws/instance-generation",
    "karpenter.k8s.aws/instance-size",
    "karpenter.k8s.aws/instance-local-nvme",
    "karpenter.k8s.aws/instance-cpu",
    "karpenter.k8s.aws/instance-cpu-manufacturer",
    "karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz",
    "karpenter.k8s.aws/instance-memory",
    "karpenter.k8s.aws/instance-ebs-bandwidth",
    "karpenter.k8s.aws/instance-network-bandwidth",
    "karpenter.k8s.aws/instance-gpu-name",
    "karpenter.k8s.aws/instance-gpu-manufacturer",
    "karpenter.k8s.aws/instance-gpu-count",
    "karpenter.k8s.aws/instance-gpu-memory",
    "karpenter.k8s.aws/instance-accelerator-name",
    "karpenter.k8s.aws/instance-accelerator-manufacturer",
    "karpenter.k8s.aws/instance-accelerator-count",
    "karpenter.k8s.aws/instance-tenancy",
    PLACEMENT_GROUP_ID,
    "karpenter.k8s.aws/placement-group-partition",
    "karpenter.k8s.aws/nitro-sandbox",
];

/// The current name of a label key: older names of zone, region, architecture, operating system and
/// instance type mean the same label.
///
/// Source: Kubernetes "Well-Known Labels, Annotations and Taints"; Karpenter's normalised labels.
pub fn normalized_key(key: &str) -> &str {
    match key {
        "failure-domain.beta.kubernetes.io/zone" | "topology.ebs.csi.aws.com/zone" => ZONE,
        "failure-domain.beta.kubernetes.io/region" => REGION,
        "beta.kubernetes.io/arch" => ARCH,
        "beta.kubernetes.io/os" => OS,
        "beta.kubernetes.io/instance-type" => INSTANCE_TYPE,
        _ => key,
    }
}

/// Whether users may not set the label themselves: Karpenter's own domains and the host name.
///
/// Keys that Karpenter lists as well known are exempt: users select on those.
pub fn is_restricted(key: &str) -> bool {
    if WELL_KNOWN.contains(&key) {
        return false;
    }
    if key == HOSTNAME {
        return true;
    }
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    ["karpenter.sh", "karpenter.k8s.aws"].iter().any(|own| {
        domain == *own || domain.strip_suffix(own).is_some_and(|rest| rest.ends_with('.'))
    })
}

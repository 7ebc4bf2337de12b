//! Which kubelet settings there are, and which of them an image family can pass on.
//!
//! Source: `KubeletConfiguration` of `kubelet.config.k8s.io/v1beta1` (names of fields, eviction
//! signals); Karpenter's AWS provider (families).

use domain::node_class::{AmiFamily, EvictionThreshold};
use domain::quantity::Quantity;

/// Signals that eviction thresholds can name.
pub(crate) const EVICTION_SIGNALS: [&str; 6] = [
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
];

/// Resources that `kubeReserved` and `systemReserved` can name.
pub(crate) const RESERVED_RESOURCES: [&str; 4] = ["cpu", "memory", "ephemeral-storage", "pid"];

/// Fields that every family can pass on to its kubelet.
pub(crate) const COMMON_FIELDS: [&str; 12] = [
    "clusterDNS",
    "cpuCFSQuota",
    "evictionHard",
    "evictionMaxPodGracePeriod",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "imageGCHighThresholdPercent",
    "imageGCLowThresholdPercent",
    "kubeReserved",
    "maxPods",
    "podsPerCore",
    "systemReserved",
];

/// Every other field of a kubelet's configuration, sorted.
const OTHER_FIELDS: &[&str] = &[
    "address",
    "allowedUnsafeSysctls",
    "authentication",
    "authorization",
    "cgroupDriver",
    "cgroupRoot",
    "cgroupsPerQOS",
    "clusterDomain",
    "configMapAndSecretChangeDetectionStrategy",
    "containerLogMaxFiles",
    "containerLogMaxSize",
    "containerLogMaxWorkers",
    "containerLogMonitorInterval",
    "containerRuntimeEndpoint",
    "contentType",
    "cpuCFSQuotaPeriod",
    "cpuManagerPolicy",
    "cpuManagerPolicyOptions",
    "cpuManagerReconcilePeriod",
    "crashLoopBackOff",
    "enableContentionProfiling",
    "enableControllerAttachDetach",
    "enableDebugFlagsHandler",
    "enableDebuggingHandlers",
    "enableProfilingHandler",
    "enableServer",
    "enableSystemLogHandler",
    "enableSystemLogQuery",
    "enforceNodeAllocatable",
    "eventBurst",
    "eventRecordQPS",
    "evictionMinimumReclaim",
    "evictionPressureTransitionPeriod",
    "failCgroupV1",
    "failSwapOn",
    "featureGates",
    "fileCheckFrequency",
    "hairpinMode",
    "healthzBindAddress",
    "healthzPort",
    "httpCheckFrequency",
    "imageMaximumGCAge",
    "imageMinimumGCAge",
    "imagePullCredentialsVerificationPolicy",
    "imageServiceEndpoint",
    "iptablesDropBit",
    "iptablesMasqueradeBit",
    "kernelMemcgNotification",
    "kubeAPIBurst",
    "kubeAPIQPS",
    "kubeReservedCgroup",
    "kubeletCgroups",
    "localStorageCapacityIsolation",
    "logging",
    "makeIPTablesUtilChains",
    "maxOpenFiles",
    "maxParallelImagePulls",
    "memoryManagerPolicy",
    "memorySwap",
    "memoryThrottlingFactor",
    "mergeDefaultEvictionSettings",
    "nodeLeaseDurationSeconds",
    "nodeStatusMaxImages",
    "nodeStatusReportFrequency",
    "nodeStatusUpdateFrequency",
    "oomScoreAdj",
    "podCIDR",
    "podLogsDir",
    "podPidsLimit",
    "port",
    "preloadedImagesVerificationAllowlist",
    "protectKernelDefaults",
    "providerID",
    "qosReserved",
    "readOnlyPort",
    "registerNode",
    "registryBurst",
    "registryPullQPS",
    "reservedMemory",
    "reservedSystemCPUs",
    "resolvConf",
    "rotateCertificates",
    "runOnce",
    "runtimeRequestTimeout",
    "seccompDefault",
    "serializeImagePulls",
    "serverTLSBootstrap",
    "showHiddenMetricsForVersion",
    "shutdownGracePeriod",
    "shutdownGracePeriodByPodPriority",
    "shutdownGracePeriodCriticalPods",
    "singleProcessOOMKill",
    "staticPodPath",
    "staticPodURL",
    "staticPodURLHeader",
    "streamingConnectionIdleTimeout",
    "syncFrequency",
    "systemCgroups",
    "systemReservedCgroup",
    "tlsCertFile",
    "tlsCipherSuites",
    "tlsMinVersion",
    "tlsPrivateKeyFile",
    "topologyManagerPolicy",
    "topologyManagerPolicyOptions",
    "topologyManagerScope",
    "tracing",
    "userNamespaces",
    "volumePluginDir",
    "volumeStatsAggPeriod",
];

/// Why a kubelet setting cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KubeletRule {
    /// No such field.
    #[error("unknown field: a kubelet's configuration has no {0}")]
    Unknown(String),
    /// Taints belong to the NodePool.
    #[error("registerWithTaints is set from the NodePool's taints and startupTaints")]
    RegisterWithTaints,
    /// The family's bootstrap cannot express it.
    #[error("images of family {} cannot pass {field} on to the kubelet", .family.as_str())]
    Family {
        /// The family.
        family: AmiFamily,
        /// The field.
        field: String,
    },
    /// No such signal.
    #[error("{0:?} is not an eviction signal: they are {signals}", signals = EVICTION_SIGNALS.join(", "))]
    Signal(String),
    /// No such resource.
    #[error("{0:?} cannot be reserved: cpu, memory, ephemeral-storage and pid can")]
    Reserved(String),
    /// A computed value.
    #[error(
        "CEL expressions in spec.kubelet are not supported: write the number or quantity itself"
    )]
    Expression,
    /// Not a percentage.
    #[error("{0} is out of range: it takes 0 to 100 percent")]
    Percent(i64),
    /// A signal with half of what it needs.
    #[error("signal {signal} is needed in {other} too")]
    Alone {
        /// The signal.
        signal: String,
        /// Where it is missing.
        other: &'static str,
    },
    /// Garbage collection that would stop before it starts.
    #[error("imageGCHighThresholdPercent {high} must be above imageGCLowThresholdPercent {low}")]
    ThresholdOrder {
        /// Where it starts.
        high: u32,
        /// Where it stops.
        low: u32,
    },
    /// Bottlerocket knows one.
    #[error("images of family Bottlerocket take one clusterDNS only")]
    OneDns,
    /// A threshold that is neither a share nor an amount.
    #[error(
        "{0:?} is not an eviction threshold: it takes a percentage of 0% to 100%, or a quantity of at least 0"
    )]
    Threshold(String),
}

/// Checks a field that is not read into a type of its own.
pub(crate) fn check_other_field(field: &str, family: AmiFamily) -> Result<(), KubeletRule> {
    if field == "registerWithTaints" {
        return Err(KubeletRule::RegisterWithTaints);
    }
    if OTHER_FIELDS.binary_search(&field).is_err() {
        return Err(KubeletRule::Unknown(field.to_owned()));
    }
    // AL2023 takes the kubelet's configuration as it is; of Custom nobody knows.
    match family {
        AmiFamily::Al2023 | AmiFamily::Custom => Ok(()),
        _ => Err(KubeletRule::Family { family, field: field.to_owned() }),
    }
}

/// Reads a threshold of eviction: `10%`, `7.5%` or `500Mi`.
pub(crate) fn parse_threshold(text: &str) -> Result<EvictionThreshold, KubeletRule> {
    let malformed = || KubeletRule::Threshold(text.to_owned());
    let amount: Quantity = text.trim_end_matches('%').parse().map_err(|_| malformed())?;
    if amount.is_negative() {
        return Err(malformed());
    }
    let Some(percent) = text.strip_suffix('%') else {
        return Ok(EvictionThreshold::Amount(amount));
    };
    let plain = percent.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    u32::try_from(amount.to_millis_ceil())
        .ok()
        .filter(|millis| plain && *millis <= 100_000)
        .map(EvictionThreshold::PercentMillis)
        .ok_or_else(malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_fields_can_be_searched() {
        assert!(OTHER_FIELDS.is_sorted());
        assert!(COMMON_FIELDS.iter().all(|field| !OTHER_FIELDS.contains(field)));
    }

    #[test]
    fn a_field_must_exist_and_the_family_must_be_able_to_set_it() {
        assert_eq!(check_other_field("cpuManagerPolicy", AmiFamily::Al2023), Ok(()));
        assert_eq!(
            check_other_field("cpuManagerPolicy", AmiFamily::Bottlerocket).unwrap_err().to_string(),
            "images of family Bottlerocket cannot pass cpuManagerPolicy on to the kubelet"
        );
        assert_eq!(
            check_other_field("cpuManagerPolice", AmiFamily::Al2023).unwrap_err().to_string(),
            "unknown field: a kubelet's configuration has no cpuManagerPolice"
        );
        assert_eq!(
            check_other_field("registerWithTaints", AmiFamily::Al2023),
            Err(KubeletRule::RegisterWithTaints)
        );
    }

    #[test]
    fn thresholds_are_percentages_or_amounts() {
        assert_eq!(parse_threshold("10%"), Ok(EvictionThreshold::PercentMillis(10_000)));
        assert_eq!(parse_threshold("7.5%"), Ok(EvictionThreshold::PercentMillis(7500)));
        assert_eq!(
            parse_threshold("500Mi"),
            Ok(EvictionThreshold::Amount(Quantity::from_units(500 << 20)))
        );
        for text in ["", "%", "101%", "-1%", "-1Gi", "1Mi%", "many", "10%%"] {
            assert!(parse_threshold(text).is_err(), "{text:?}");
        }
    }
}

//! The kubelet's settings, as flags and as values of its configuration.

use domain::node_class::EvictionThreshold;
use domain::resource::{Resources, ShownAmount};

use super::bootstrap::Bootstrap;

/// An amount as Kubernetes writes it: `70m`, `574Mi`.
pub(super) fn quantity(name: &str, amount: i64) -> String {
    ShownAmount { name, amount }.to_string()
}

/// A threshold as the kubelet reads it: `5%`, `100Mi`.
pub(super) fn threshold(signal: &str, threshold: EvictionThreshold) -> String {
    match threshold {
        EvictionThreshold::PercentMillis(share) if share % 1000 == 0 => {
            format!("{}%", share / 1000)
        }
        EvictionThreshold::PercentMillis(share) => {
            let fraction = format!("{:03}", share % 1000);
            format!("{}.{}%", share / 1000, fraction.trim_end_matches('0'))
        }
        EvictionThreshold::Amount(amount) => {
            let is_bytes = signal.ends_with(".available") && signal != "pid.available";
            let name = if is_bytes { domain::resource::MEMORY } else { domain::resource::PODS };
            quantity(name, amount.to_units_ceil())
        }
    }
}

/// A duration as Go reads it.
pub(super) fn seconds(seconds: i64) -> String {
    format!("{seconds}s")
}

/// Labels as `--node-labels` takes them.
pub(super) fn node_labels(bootstrap: &Bootstrap<'_>) -> String {
    joined(bootstrap.labels.iter().map(|(key, value)| format!("{key}={value}")))
}

/// All settings as flags of the kubelet, for images whose bootstrap script takes flags only.
pub(super) fn flags(bootstrap: &Bootstrap<'_>) -> Vec<String> {
    let kubelet = &bootstrap.spec.kubelet;
    let mut flags = Flags::default();
    flags.list("node-labels", &node_labels(bootstrap));
    flags.list("register-with-taints", &joined(bootstrap.taints.iter().map(ToString::to_string)));
    flags.figure("max-pods", Some(bootstrap.max_pods));
    flags.figure("pods-per-core", kubelet.pods_per_core);
    flags.list("system-reserved", &reserved(&kubelet.system_reserved));
    flags.list("kube-reserved", &reserved(bootstrap.kube_reserved));
    for (flag, thresholds) in
        [("eviction-hard", &kubelet.eviction_hard), ("eviction-soft", &kubelet.eviction_soft)]
    {
        let written =
            thresholds.iter().map(|(signal, at)| format!("{signal}<{}", threshold(signal, *at)));
        flags.list(flag, &joined(written));
    }
    let grace = kubelet.eviction_soft_grace_period.iter();
    flags.list(
        "eviction-soft-grace-period",
        &joined(grace.map(|(signal, after)| format!("{signal}={}", seconds(*after)))),
    );
    flags.figure("eviction-max-pod-grace-period", kubelet.eviction_max_pod_grace_period);
    flags.figure("image-gc-high-threshold", kubelet.image_gc_high_threshold_percent);
    flags.figure("image-gc-low-threshold", kubelet.image_gc_low_threshold_percent);
    flags.figure("cpu-cfs-quota", kubelet.cpu_cfs_quota);
    flags.0
}

fn reserved(amounts: &Resources) -> String {
    joined(amounts.iter().map(|(name, amount)| format!("{name}={}", quantity(name, amount))))
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",")
}

#[derive(Default)]
struct Flags(Vec<String>);

impl Flags {
    fn figure(&mut self, name: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.0.push(format!("--{name}={value}"));
        }
    }

    /// Lists stand in double quotes: `<` would redirect in a shell.
    fn list(&mut self, name: &str, list: &str) {
        if !list.is_empty() {
            self.0.push(format!("--{name}=\"{list}\""));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testkit::Node;
    use super::*;
    use domain::node_class::AmiFamily;

    #[test]
    fn thresholds_are_written_as_they_were_read() {
        let amount = |text: &str| EvictionThreshold::Amount(text.parse().unwrap());
        assert_eq!(threshold("memory.available", EvictionThreshold::PercentMillis(5000)), "5%");
        assert_eq!(threshold("memory.available", EvictionThreshold::PercentMillis(2050)), "2.05%");
        assert_eq!(threshold("memory.available", amount("1.5Gi")), "1536Mi");
        assert_eq!(threshold("nodefs.inodesFree", amount("1000")), "1000");
        assert_eq!(threshold("pid.available", amount("1024")), "1024");
    }

    #[test]
    fn every_setting_has_its_flag() {
        let mut node = Node::of(AmiFamily::Al2);
        let kubelet = &mut node.spec.kubelet;
        kubelet.pods_per_core = Some(10);
        kubelet
            .eviction_hard
            .insert("memory.available".into(), EvictionThreshold::PercentMillis(5000));
        kubelet
            .eviction_soft
            .insert("nodefs.available".into(), EvictionThreshold::PercentMillis(15_000));
        kubelet.eviction_soft_grace_period.insert("nodefs.available".into(), 90);
        kubelet.eviction_max_pod_grace_period = Some(60);
        kubelet.image_gc_high_threshold_percent = Some(85);
        kubelet.image_gc_low_threshold_percent = Some(80);
        kubelet.cpu_cfs_quota = Some(false);
        kubelet.system_reserved =
            Resources::new().with("cpu", 100).with("ephemeral-storage", 2 << 30);
        assert_eq!(
            flags(&node.bootstrap()),
            [
                "--node-labels=\"karpenter.sh/nodepool=default\"",
                "--register-with-taints=\"team=blue:NoSchedule\"",
                "--max-pods=29",
                "--pods-per-core=10",
                "--system-reserved=\"cpu=100m,ephemeral-storage=2Gi\"",
                "--kube-reserved=\"cpu=70m,memory=574Mi\"",
                "--eviction-hard=\"memory.available<5%\"",
                "--eviction-soft=\"nodefs.available<15%\"",
                "--eviction-soft-grace-period=\"nodefs.available=90s\"",
                "--eviction-max-pod-grace-period=60",
                "--image-gc-high-threshold=85",
                "--image-gc-low-threshold=80",
                "--cpu-cfs-quota=false",
            ]
        );
    }
}

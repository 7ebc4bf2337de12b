//! Bottlerocket: settings as TOML, merged into the user's.
//!
//! Source: <https://bottlerocket.dev/en/os/latest/#/api/settings/kubernetes/>.

use domain::node_class::EvictionThreshold;
use domain::resource::Resources;
use toml::{Table, Value};

use super::bootstrap::{Bootstrap, UserDataError};
use super::kubelet;

/// The first version whose `ephemeral-storage bind` knows by itself which directories to bind.
///
/// Source: <https://github.com/bottlerocket-os/bottlerocket/blob/develop/CHANGELOG.md>.
const BINDS_BY_ITSELF: (u32, u32) = (1, 46);
const BOUND_DIRECTORIES: [&str; 3] = ["/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"];

pub(super) fn user_data(bootstrap: &Bootstrap<'_>) -> Result<String, UserDataError> {
    let mut document: Table = match bootstrap.spec.user_data.as_deref() {
        None => Table::new(),
        Some(own) => own
            .parse()
            .map_err(|error: toml::de::Error| UserDataError::Toml(error.message().to_owned()))?,
    };
    let settings = table(&mut document, "settings")?;
    kubernetes(table(settings, "kubernetes")?, bootstrap)?;
    if bootstrap.spec.instance_store_raid0 {
        let commands = table(settings, "bootstrap-commands")?;
        // The first of all by name: others may want the storage.
        commands.insert("000-mount-instance-storage".to_owned(), mount_command(bootstrap).into());
    }
    Ok(document.to_string())
}

/// A table inside a table, created where it is missing.
fn table<'t>(parent: &'t mut Table, key: &'static str) -> Result<&'t mut Table, UserDataError> {
    parent
        .entry(key)
        .or_insert_with(|| Value::Table(Table::new()))
        .as_table_mut()
        .ok_or(UserDataError::NotATable(key))
}

fn kubernetes(settings: &mut Table, bootstrap: &Bootstrap<'_>) -> Result<(), UserDataError> {
    let (cluster, own) = (bootstrap.cluster, &bootstrap.spec.kubelet);
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            settings.insert(key.to_owned(), value);
        }
    };
    let text = |text: &str| Some(Value::String(text.to_owned()));
    set("cluster-name", text(&cluster.name));
    set("api-server", text(&cluster.endpoint));
    set("cluster-certificate", text(&cluster.certificate_authority));
    set("cluster-dns-ip", bootstrap.cluster_dns().first().and_then(|address| text(address)));
    set("max-pods", Some(i64::from(bootstrap.max_pods).into()));
    set("kube-reserved", reserved(bootstrap.kube_reserved));
    set("system-reserved", reserved(&own.system_reserved));
    set("eviction-hard", thresholds(own.eviction_hard.iter()));
    set("eviction-soft", thresholds(own.eviction_soft.iter()));
    let grace = own.eviction_soft_grace_period.iter();
    let grace = grace.map(|(signal, after)| (signal.to_string(), kubelet::seconds(*after)));
    set("eviction-soft-grace-period", filled(grace));
    set(
        "eviction-max-pod-grace-period",
        own.eviction_max_pod_grace_period.map(|seconds| i64::from(seconds).into()),
    );
    let percent = |percent: Option<u32>| percent.map(|percent| Value::String(percent.to_string()));
    set("image-gc-high-threshold-percent", percent(own.image_gc_high_threshold_percent));
    set("image-gc-low-threshold-percent", percent(own.image_gc_low_threshold_percent));
    set("cpu-cfs-quota-enforced", own.cpu_cfs_quota.map(Value::Boolean));

    let labels = table(settings, "node-labels")?;
    for (key, value) in bootstrap.labels {
        labels.insert(key.to_string(), Value::String(value.to_string()));
    }
    let taints = table(settings, "node-taints")?;
    for taint in bootstrap.taints {
        let added = Value::String(format!("{}:{}", taint.value, taint.effect.as_str()));
        let of_key =
            taints.entry(taint.key.to_string()).or_insert_with(|| Value::Array(Vec::new()));
        match of_key {
            Value::Array(effects) if effects.contains(&added) => {}
            Value::Array(effects) => effects.push(added),
            // Bottlerocket takes a single effect without a list, too.
            single if *single == added => {}
            single => *single = Value::Array(vec![single.clone(), added]),
        }
    }
    Ok(())
}

/// A table of texts; `None` where it would be empty.
fn filled(entries: impl Iterator<Item = (String, String)>) -> Option<Value> {
    let table: Table = entries.map(|(key, text)| (key, Value::String(text))).collect();
    (!table.is_empty()).then_some(Value::Table(table))
}

fn reserved(amounts: &Resources) -> Option<Value> {
    filled(amounts.iter().map(|(name, amount)| (name.to_string(), kubelet::quantity(name, amount))))
}

fn thresholds<'a>(
    thresholds: impl Iterator<Item = (&'a domain::Text, &'a EvictionThreshold)>,
) -> Option<Value> {
    filled(thresholds.map(|(signal, at)| (signal.to_string(), kubelet::threshold(signal, *at))))
}

/// The boot command that assembles local disks and binds the directories of pods to them.
fn mount_command(bootstrap: &Bootstrap<'_>) -> Table {
    let command = |words: &[&str]| {
        Value::Array(words.iter().map(|word| Value::String((*word).to_owned())).collect())
    };
    let storage = ["apiclient", "ephemeral-storage"];
    let init = [&storage[..], &["init"]].concat();
    let mut bind = [&storage[..], &["bind"]].concat();
    if version(bootstrap.image_name).is_some_and(|version| version < BINDS_BY_ITSELF) {
        bind.push("--dirs");
        bind.extend(BOUND_DIRECTORIES);
    }
    Table::from_iter([
        ("commands".to_owned(), Value::Array(vec![command(&init), command(&bind)])),
        ("mode".to_owned(), Value::String("always".to_owned())),
        ("essential".to_owned(), Value::Boolean(true)),
    ])
}

/// Major and minor version in the name of an image: 1 and 26 in
/// `bottlerocket-aws-k8s-1.31-x86_64-v1.26.1-943d9a41`.
fn version(image_name: Option<&str>) -> Option<(u32, u32)> {
    let word = image_name?.split('-').find_map(|word| {
        word.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })?;
    let mut figures = word.split('.').map(str::parse);
    Some((figures.next()?.ok()?, figures.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::testkit::Node;
    use super::*;
    use domain::node_class::AmiFamily;

    #[test]
    fn settings_of_the_cluster_and_the_kubelet_stand_in_the_users_document() {
        let mut node = Node::of(AmiFamily::Bottlerocket);
        node.spec.user_data = Some(
            "[settings.host-containers.admin]\nenabled = true\n\
             [settings.kubernetes]\nmax-pods = 5\nallowed-unsafe-sysctls = [\"net.core.somaxconn\"]\n\
             [settings.kubernetes.node-labels]\nmine = \"yes\"\n\
             [settings.kubernetes.node-taints]\nteam = \"red:NoSchedule\"\n"
                .into(),
        );
        let kubelet = &mut node.spec.kubelet;
        kubelet
            .eviction_hard
            .insert("memory.available".into(), EvictionThreshold::PercentMillis(15_000));
        kubelet.image_gc_high_threshold_percent = Some(80);
        kubelet.cpu_cfs_quota = Some(false);
        let expected = r#"[settings.host-containers.admin]
enabled = true

[settings.kubernetes]
allowed-unsafe-sysctls = ["net.core.somaxconn"]
api-server = "https://ABC.gr7.eu-west-1.eks.amazonaws.com"
cluster-certificate = "Q0E="
cluster-dns-ip = "10.100.0.10"
cluster-name = "prod"
cpu-cfs-quota-enforced = false
image-gc-high-threshold-percent = "80"
max-pods = 29

[settings.kubernetes.eviction-hard]
"memory.available" = "15%"

[settings.kubernetes.kube-reserved]
cpu = "70m"
memory = "574Mi"

[settings.kubernetes.node-labels]
"karpenter.sh/nodepool" = "default"
mine = "yes"

[settings.kubernetes.node-taints]
team = ["red:NoSchedule", "blue:NoSchedule"]
"#;
        assert_eq!(user_data(&node.bootstrap()).unwrap(), expected);
    }

    #[test]
    fn local_disks_are_mounted_before_all_else() {
        let dirs = |image_name: Option<&'static str>| {
            let mut node = Node::of(AmiFamily::Bottlerocket);
            node.spec.instance_store_raid0 = true;
            node.image_name = image_name;
            let document: Table = user_data(&node.bootstrap()).unwrap().parse().unwrap();
            let command = &document["settings"]["bootstrap-commands"]["000-mount-instance-storage"];
            assert_eq!(command["mode"].as_str(), Some("always"));
            assert_eq!(command["essential"].as_bool(), Some(true));
            command["commands"][1].as_array().unwrap().len() > 3
        };
        assert!(dirs(Some("bottlerocket-aws-k8s-1.31-x86_64-v1.26.1-943d9a41")));
        assert!(!dirs(Some("bottlerocket-aws-k8s-1.33-aarch64-v1.46.0-943d9a41")));
        assert!(!dirs(None));
    }

    #[test]
    fn what_is_no_toml_is_refused() {
        let refused = |own: &str| {
            let mut node = Node::of(AmiFamily::Bottlerocket);
            node.spec.user_data = Some(own.into());
            user_data(&node.bootstrap()).unwrap_err()
        };
        assert!(matches!(refused("#!/bin/bash\necho hello"), UserDataError::Toml(_)));
        assert_eq!(refused("settings = 1"), UserDataError::NotATable("settings"));
    }
}

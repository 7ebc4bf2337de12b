//! `kubelet` of an EC2NodeClass.

use std::collections::BTreeMap;

use domain::Text;
use domain::node_class::{AmiFamily, KubeletConfiguration};
use domain::resource::Resources;

use super::kubelet_rule::{
    COMMON_FIELDS, EVICTION_SIGNALS, KubeletRule, RESERVED_RESOURCES, check_other_field,
    parse_threshold,
};
use crate::duration;
use crate::error::Problem;
use crate::field::Field;

/// Reads the kubelet's settings, held against what images of the family can pass on.
pub(crate) fn read_kubelet(kubelet: Field<'_>, family: AmiFamily) -> KubeletConfiguration {
    let signals = |key| kubelet.get(key).entries().filter_map(known_signal);
    let thresholds = |key| -> BTreeMap<Text, _> {
        signals(key)
            .filter_map(|(signal, field)| Some((signal, field.parsed(parse_threshold)?)))
            .collect()
    };
    let configuration = KubeletConfiguration {
        max_pods: read_max_pods(kubelet.get("maxPods")),
        pods_per_core: kubelet.get("podsPerCore").count(),
        kube_reserved: read_reserved(kubelet.get("kubeReserved")),
        system_reserved: read_reserved(kubelet.get("systemReserved")),
        eviction_hard: thresholds("evictionHard"),
        eviction_soft: thresholds("evictionSoft"),
        eviction_soft_grace_period: signals("evictionSoftGracePeriod")
            .filter_map(|(signal, field)| Some((signal, field.parsed(duration::parse)?.as_secs())))
            .collect(),
        eviction_max_pod_grace_period: kubelet.get("evictionMaxPodGracePeriod").int32(),
        image_gc_high_threshold_percent: read_percent(kubelet.get("imageGCHighThresholdPercent")),
        image_gc_low_threshold_percent: read_percent(kubelet.get("imageGCLowThresholdPercent")),
        cpu_cfs_quota: kubelet.get("cpuCFSQuota").bool(),
        cluster_dns: kubelet.get("clusterDNS").texts(),
        other: read_other(kubelet, family),
    };
    check_together(kubelet, &configuration, family);
    configuration
}

fn known_signal<'v>((signal, field): (&'v str, Field<'v>)) -> Option<(Text, Field<'v>)> {
    if !EVICTION_SIGNALS.contains(&signal) {
        field.note_rule(KubeletRule::Signal(signal.to_owned()));
        return None;
    }
    Some((field.reader().interner().text(signal), field))
}

/// A number. Upstream may compute it from an expression, behind a gate that is off.
fn read_max_pods(field: Field<'_>) -> Option<u32> {
    if field.value().is_some_and(|value| value.as_str().is_some()) {
        field.note_rule(KubeletRule::Expression);
        return None;
    }
    field.count()
}

fn read_reserved(field: Field<'_>) -> Resources {
    let mut reserved = Resources::new();
    for (name, amount) in field.entries() {
        if !RESERVED_RESOURCES.contains(&name) {
            amount.note_rule(KubeletRule::Reserved(name.to_owned()));
            continue;
        }
        if amount.value().and_then(|value| value.as_str()).is_some_and(is_expression) {
            amount.note_rule(KubeletRule::Expression);
            continue;
        }
        match amount.quantity() {
            Some(quantity) if quantity.is_negative() => {
                amount.note(Problem::Negative(quantity.to_string()));
            }
            Some(quantity) => {
                let name = amount.reader().interner().text(name);
                reserved.set(&name, Resources::amount_of(&name, quantity));
            }
            None => {}
        }
    }
    reserved
}

/// Whether a text computes an amount: it names a variable or function of upstream's expressions.
fn is_expression(text: &str) -> bool {
    const WORDS: [&str; 8] = [
        "vcpus",
        "memory_mib",
        "default_enis",
        "ips_per_eni",
        "max_pods",
        "instance_type",
        "min(",
        "max(",
    ];
    WORDS.iter().any(|word| text.contains(word)) || text.contains(['*', '/', '?'])
}

fn read_percent(field: Field<'_>) -> Option<u32> {
    let percent = field.integer()?;
    let fitting = u32::try_from(percent).ok().filter(|percent| *percent <= 100);
    if fitting.is_none() {
        field.note_rule(KubeletRule::Percent(percent));
    }
    fitting
}

fn read_other(kubelet: Field<'_>, family: AmiFamily) -> BTreeMap<Text, Text> {
    let mut other = BTreeMap::new();
    for (name, field) in kubelet.entries().filter(|(name, _)| !COMMON_FIELDS.contains(name)) {
        if let Err(rule) = check_other_field(name, family) {
            field.note_rule(rule);
        } else if let Some(value) = field.value() {
            other.insert(Text::from(name), Text::from(value.to_json().to_string()));
        }
    }
    other
}

/// Rules over several fields.
fn check_together(kubelet: Field<'_>, read: &KubeletConfiguration, family: AmiFamily) {
    let names = |key| -> Vec<&str> { kubelet.get(key).entries().map(|(name, _)| name).collect() };
    let (soft, grace) = (names("evictionSoft"), names("evictionSoftGracePeriod"));
    for (own, own_names, other, other_names) in [
        ("evictionSoft", &soft, "evictionSoftGracePeriod", &grace),
        ("evictionSoftGracePeriod", &grace, "evictionSoft", &soft),
    ] {
        for name in own_names.iter().filter(|name| !other_names.contains(name)) {
            kubelet
                .get(own)
                .get(name)
                .note_rule(KubeletRule::Alone { signal: (*name).to_owned(), other });
        }
    }
    let (high, low) = (read.image_gc_high_threshold_percent, read.image_gc_low_threshold_percent);
    if let (Some(high), Some(low)) = (high, low)
        && high <= low
    {
        kubelet
            .get("imageGCHighThresholdPercent")
            .note_rule(KubeletRule::ThresholdOrder { high, low });
    }
    if family == AmiFamily::Bottlerocket {
        if kubelet.get("podsPerCore").exists() {
            let field = "podsPerCore".to_owned();
            kubelet.get("podsPerCore").note_rule(KubeletRule::Family { family, field });
        }
        if read.cluster_dns.len() > 1 {
            kubelet.get("clusterDNS").note_rule(KubeletRule::OneDns);
        }
    }
}

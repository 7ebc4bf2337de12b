//! The labels of an instance type's nodes.
//!
//! Source: Karpenter's AWS well-known labels, `pkg/providers/instancetype/types.go`.

use std::collections::BTreeMap;

use domain::Text;
use domain::label;
use domain::node_class::AmiFamily;
use domain::requirement::Requirement;

use crate::facts::{Architecture, Feature, Hypervisor, InstanceTypeFacts};
use crate::text::Texts;

/// The key of a label of Karpenter's AWS provider that says something of the instance.
macro_rules! instance {
    ($name:literal) => {
        concat!("karpenter.k8s.aws/instance-", $name)
    };
}

/// Labels by key, as [`domain::instance_type::InstanceType`] holds them.
pub(crate) type TypeLabels = BTreeMap<Text, Vec<Text>>;

/// The labels that the type has whatever runs on it.
pub(crate) fn of_type(facts: &InstanceTypeFacts, texts: &mut Texts) -> TypeLabels {
    let mut labels = Labels { labels: TypeLabels::new(), texts };
    labels.set(label::INSTANCE_TYPE, &facts.name);
    if let Some(architecture) = facts.architecture.map(Architecture::as_str) {
        labels.set(label::ARCH, architecture);
    }
    labels.set(instance!("family"), facts.family());
    labels.set(instance!("size"), facts.size());
    if let Some((category, generation)) = facts.category_and_generation() {
        labels.set(instance!("category"), category);
        labels.set(instance!("generation"), generation);
    }
    labels.truth(instance!("capability-flex"), facts.family().contains("-flex"));
    labels.figure(instance!("cpu"), facts.vcpus);
    labels.word(instance!("cpu-manufacturer"), &facts.cpu_manufacturer);
    labels.figure(instance!("cpu-sustained-clock-speed-mhz"), facts.clock_mhz);
    labels.figure(instance!("memory"), facts.memory_mib);
    if let Some(hypervisor) = facts.hypervisor.map(Hypervisor::as_str) {
        labels.set(instance!("hypervisor"), hypervisor);
    }
    let encrypts = facts.features.has(Feature::EncryptionInTransit);
    labels.truth(instance!("encryption-in-transit-supported"), encrypts);
    if let Some(bandwidth) = facts.network.bandwidth_mbps {
        labels.figure(instance!("network-bandwidth"), bandwidth);
    }
    if let Some(bandwidth) = facts.ebs_bandwidth_mbps {
        labels.figure(instance!("ebs-bandwidth"), bandwidth);
    }
    if facts.features.has(Feature::LocalNvme) {
        labels.figure(instance!("local-nvme"), facts.local_disks_gb);
    }
    labels.devices(facts);
    labels.labels
}

/// Adds what the image decides: the operating system, and the build of Windows.
pub(crate) fn with_family(labels: TypeLabels, family: AmiFamily, texts: &mut Texts) -> TypeLabels {
    let mut labels = Labels { labels, texts };
    labels.set(label::OS, if family.is_windows() { "windows" } else { "linux" });
    if let Some(build) = windows_build(family) {
        labels.set(label::WINDOWS_BUILD, build);
    }
    labels.labels
}

/// Source:
/// <https://learn.microsoft.com/en-us/windows-server/get-started/windows-server-release-info>.
pub(crate) const fn windows_build(family: AmiFamily) -> Option<&'static str> {
    match family {
        AmiFamily::Windows2019 => Some("10.0.17763"),
        AmiFamily::Windows2022 => Some("10.0.20348"),
        AmiFamily::Windows2025 => Some("10.0.26100"),
        AmiFamily::Al2 | AmiFamily::Al2023 | AmiFamily::Bottlerocket | AmiFamily::Custom => None,
    }
}

/// Whether a type with the labels meets all of the requirements, with some of the values where a
/// label has several.
pub(crate) fn meet(labels: &TypeLabels, requirements: &[Requirement]) -> bool {
    requirements.iter().all(|requirement| match labels.get(&requirement.key) {
        None => requirement.holds_when_absent(),
        Some(values) => {
            let allowed = requirement.value_set();
            values.iter().any(|value| allowed.contains(value))
        }
    })
}

struct Labels<'a> {
    labels: TypeLabels,
    texts: &'a mut Texts,
}

impl Labels<'_> {
    fn set(&mut self, key: &str, value: &str) {
        self.labels.insert(self.texts.text(key), vec![self.texts.text(value)]);
    }

    fn figure(&mut self, key: &str, figure: impl Into<u64>) {
        self.set(key, &figure.into().to_string());
    }

    fn truth(&mut self, key: &str, truth: bool) {
        self.set(key, if truth { "true" } else { "false" });
    }

    /// A name of EC2 as a label: lower case, `-` for blanks.
    fn word(&mut self, key: &str, word: &str) {
        self.set(key, &word.to_lowercase().replace(' ', "-"));
    }

    /// GPUs and accelerators, which are labelled only where all are of one kind.
    fn devices(&mut self, facts: &InstanceTypeFacts) {
        if let [gpu] = facts.gpus.as_slice() {
            self.word(instance!("gpu-name"), &gpu.name);
            self.word(instance!("gpu-manufacturer"), &gpu.manufacturer);
            self.figure(instance!("gpu-count"), gpu.count);
            self.figure(instance!("gpu-memory"), gpu.memory_mib);
        }
        match (facts.accelerators.as_slice(), facts.neuron_devices.as_slice()) {
            ([accelerator], _) => {
                self.word(instance!("accelerator-name"), &accelerator.name);
                self.word(instance!("accelerator-manufacturer"), &accelerator.manufacturer);
                self.figure(instance!("accelerator-count"), accelerator.count);
            }
            ([], [neuron]) => {
                self.word(instance!("accelerator-name"), &neuron.name);
                self.set(instance!("accelerator-manufacturer"), "aws");
                self.figure(instance!("accelerator-count"), neuron.count);
            }
            _ => {}
        }
    }
}

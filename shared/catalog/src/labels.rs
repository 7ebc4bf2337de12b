//! The labels of an instance type's nodes.
//!
//! Source: Karpenter's AWS well-known labels, `pkg/providers/instancetype/types.go`.

use std::collections::BTreeMap;

use domain::Text;
use domain::label;
use domain::node_class::AmiFamily;

use crate::facts::{Architecture, Feature, Hypervisor, InstanceTypeFacts};
use crate::text::Texts;

const PREFIX: &str = "karpenter.k8s.aws/instance-";

/// Labels by key, as [`domain::instance_type::InstanceType`] holds them.
pub(crate) type TypeLabels = BTreeMap<Text, Vec<Text>>;

/// The labels that the type has whatever runs on it.
pub(crate) fn of_type(facts: &InstanceTypeFacts, texts: &mut Texts) -> TypeLabels {
    let mut labels = Labels { labels: TypeLabels::new(), texts };
    labels.set(label::INSTANCE_TYPE, &facts.name);
    if let Some(architecture) = facts.architecture.map(Architecture::as_str) {
        labels.set(label::ARCH, architecture);
    }
    labels.instance("family", facts.family());
    labels.instance("size", facts.size());
    if let Some((category, generation)) = facts.category_and_generation() {
        labels.instance("category", category);
        labels.instance("generation", generation);
    }
    labels.truth("capability-flex", facts.family().contains("-flex"));
    labels.figure("cpu", facts.vcpus);
    labels.word("cpu-manufacturer", &facts.cpu_manufacturer);
    labels.figure("cpu-sustained-clock-speed-mhz", facts.clock_mhz);
    labels.figure("memory", facts.memory_mib);
    if let Some(hypervisor) = facts.hypervisor.map(Hypervisor::as_str) {
        labels.instance("hypervisor", hypervisor);
    }
    let encrypts = facts.features.has(Feature::EncryptionInTransit);
    labels.truth("encryption-in-transit-supported", encrypts);
    if let Some(bandwidth) = facts.network.bandwidth_mbps {
        labels.figure("network-bandwidth", bandwidth);
    }
    if let Some(bandwidth) = facts.ebs_bandwidth_mbps {
        labels.figure("ebs-bandwidth", bandwidth);
    }
    if facts.features.has(Feature::LocalNvme) {
        labels.figure("local-nvme", facts.local_disks_gb);
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

/// Source: <https://learn.microsoft.com/en-us/windows-server/get-started/windows-server-release-info>.
pub(crate) const fn windows_build(family: AmiFamily) -> Option<&'static str> {
    match family {
        AmiFamily::Windows2019 => Some("10.0.17763"),
        AmiFamily::Windows2022 => Some("10.0.20348"),
        AmiFamily::Windows2025 => Some("10.0.26100"),
        AmiFamily::Al2 | AmiFamily::Al2023 | AmiFamily::Bottlerocket | AmiFamily::Custom => None,
    }
}

struct Labels<'a> {
    labels: TypeLabels,
    texts: &'a mut Texts,
}

impl Labels<'_> {
    fn set(&mut self, key: &str, value: &str) {
        self.labels.insert(self.texts.text(key), vec![self.texts.text(value)]);
    }

    /// A label of Karpenter's AWS provider.
    fn instance(&mut self, name: &str, value: &str) {
        self.set(&format!("{PREFIX}{name}"), value);
    }

    fn figure(&mut self, name: &str, figure: impl Into<u64>) {
        self.instance(name, &figure.into().to_string());
    }

    fn truth(&mut self, name: &str, truth: bool) {
        self.instance(name, if truth { "true" } else { "false" });
    }

    /// A name of EC2 as a label: lower case, `-` for blanks.
    fn word(&mut self, name: &str, word: &str) {
        self.instance(name, &word.to_lowercase().replace(' ', "-"));
    }

    /// GPUs and accelerators, which are labelled only where all are of one kind.
    fn devices(&mut self, facts: &InstanceTypeFacts) {
        if let [gpu] = facts.gpus.as_slice() {
            self.word("gpu-name", &gpu.name);
            self.word("gpu-manufacturer", &gpu.manufacturer);
            self.figure("gpu-count", gpu.count);
            self.figure("gpu-memory", gpu.memory_mib);
        }
        match (facts.accelerators.as_slice(), facts.neuron_devices.as_slice()) {
            ([accelerator], _) => {
                self.word("accelerator-name", &accelerator.name);
                self.word("accelerator-manufacturer", &accelerator.manufacturer);
                self.figure("accelerator-count", accelerator.count);
            }
            ([], [neuron]) => {
                self.word("accelerator-name", &neuron.name);
                self.instance("accelerator-manufacturer", "aws");
                self.figure("accelerator-count", neuron.count);
            }
            _ => {}
        }
    }
}

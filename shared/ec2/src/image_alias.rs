//! Image aliases: which Systems Manager parameters hold the images of a family, and which instance
//! types each is for.
//!
//! Sources: <https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html>;
//! <https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id-bottlerocket.html>.

use domain::node_class::AmiFamily;
use domain::requirement::{Operator, Requirement};

use aws::cluster::KubernetesVersion;

const GPU_COUNT: &str = "karpenter.k8s.aws/instance-gpu-count";
const ACCELERATOR_COUNT: &str = "karpenter.k8s.aws/instance-accelerator-count";
const LATEST: &str = "latest";

/// The accelerators that an image is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variant {
    /// Types without accelerators.
    Standard,
    /// Types with NVIDIA GPUs.
    Nvidia,
    /// Types with Neuron devices.
    Neuron,
}

impl Variant {
    /// The instance types that it is for.
    pub(super) fn requirements(self) -> Vec<Requirement> {
        let requirement = |key: &str, operator| Requirement {
            key: key.into(),
            operator,
            values: Vec::new(),
            min_values: None,
        };
        match self {
            Self::Standard => vec![
                requirement(GPU_COUNT, Operator::DoesNotExist),
                requirement(ACCELERATOR_COUNT, Operator::DoesNotExist),
            ],
            Self::Nvidia => vec![requirement(GPU_COUNT, Operator::Exists)],
            Self::Neuron => vec![requirement(ACCELERATOR_COUNT, Operator::Exists)],
        }
    }
}

/// A parameter that holds the id of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AliasParameter {
    pub(super) path: String,
    /// What names of all images begin with that the parameter has held or will: all but the
    /// version.
    pub(super) name_prefix: String,
    pub(super) variant: Variant,
}

/// Whether an alias names the newest version, whichever that is.
pub(super) fn is_latest(alias: &str) -> bool {
    alias.split_once('@').is_some_and(|(_, version)| version == LATEST)
}

/// Why an alias names no image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AliasError {
    #[error(
        "{0:?} is not family@version with a family of al2, al2023, bottlerocket, windows2019, windows2022, windows2025"
    )]
    Unknown(String),
    #[error("there are no AL2 images for Kubernetes {0}: AWS builds them up to 1.32")]
    Al2Ended(KubernetesVersion),
    #[error(
        "there are no Windows Server 2025 images for Kubernetes {0}: AWS builds them from 1.35 on"
    )]
    Windows2025NotYet(KubernetesVersion),
    #[error("{0:?}: of Windows images only @latest can be had by alias")]
    WindowsVersion(String),
}

/// The first version of Kubernetes that has no AL2 images.
const AL2_ENDS: KubernetesVersion = KubernetesVersion { major: 1, minor: 33 };
/// The first version that has images of Windows Server 2025.
const WINDOWS_2025_BEGINS: KubernetesVersion = KubernetesVersion { major: 1, minor: 35 };

/// The parameters of an alias, for a cluster of that version. Some of them may not exist.
pub(super) fn parameters(
    alias: &str,
    kubernetes: KubernetesVersion,
) -> Result<Vec<AliasParameter>, AliasError> {
    let unknown = || AliasError::Unknown(alias.to_owned());
    let (family, version) = alias.split_once('@').ok_or_else(unknown)?;
    let windows = |year: u32| {
        if version != LATEST {
            return Err(AliasError::WindowsVersion(alias.to_owned()));
        }
        let path = format!(
            "/aws/service/ami-windows-latest/Windows_Server-{year}-English-Core-EKS_Optimized-{kubernetes}/image_id"
        );
        let name_prefix = format!("Windows_Server-{year}-English-Core-EKS_Optimized-{kubernetes}-");
        Ok(vec![AliasParameter { path, name_prefix, variant: Variant::Standard }])
    };
    match AmiFamily::parse_alias(family).ok_or_else(unknown)? {
        AmiFamily::Al2 if kubernetes >= AL2_ENDS => Err(AliasError::Al2Ended(kubernetes)),
        AmiFamily::Al2 => Ok(al2(kubernetes, version)),
        AmiFamily::Al2023 => Ok(al2023(kubernetes, version)),
        AmiFamily::Bottlerocket => Ok(bottlerocket(kubernetes, version)),
        AmiFamily::Windows2019 => windows(2019),
        AmiFamily::Windows2022 => windows(2022),
        AmiFamily::Windows2025 if kubernetes < WINDOWS_2025_BEGINS => {
            Err(AliasError::Windows2025NotYet(kubernetes))
        }
        AmiFamily::Windows2025 => windows(2025),
        AmiFamily::Custom => Err(unknown()),
    }
}

fn al2(kubernetes: KubernetesVersion, version: &str) -> Vec<AliasParameter> {
    let parameter = |suffix: &str, variant| {
        let image = if version == LATEST {
            "recommended".to_owned()
        } else {
            format!("amazon-eks{suffix}-node-{kubernetes}-{version}")
        };
        let path = format!(
            "/aws/service/eks/optimized-ami/{kubernetes}/amazon-linux-2{suffix}/{image}/image_id"
        );
        let name_prefix = format!("amazon-eks{suffix}-node-{kubernetes}-v");
        AliasParameter { path, name_prefix, variant }
    };
    vec![
        parameter("", Variant::Standard),
        parameter("-arm64", Variant::Standard),
        // One image has both drivers.
        parameter("-gpu", Variant::Nvidia),
        parameter("-gpu", Variant::Neuron),
    ]
}

fn al2023(kubernetes: KubernetesVersion, version: &str) -> Vec<AliasParameter> {
    let parameter = |architecture: &str, kind: &str, variant| {
        let image = if version == LATEST {
            "recommended".to_owned()
        } else {
            format!("amazon-eks-node-al2023-{architecture}-{kind}-{kubernetes}-{version}")
        };
        let path = format!(
            "/aws/service/eks/optimized-ami/{kubernetes}/amazon-linux-2023/{architecture}/{kind}/{image}/image_id"
        );
        let name_prefix = format!("amazon-eks-node-al2023-{architecture}-{kind}-{kubernetes}-v");
        AliasParameter { path, name_prefix, variant }
    };
    vec![
        parameter("x86_64", "standard", Variant::Standard),
        parameter("arm64", "standard", Variant::Standard),
        parameter("x86_64", "nvidia", Variant::Nvidia),
        parameter("arm64", "nvidia", Variant::Nvidia),
        parameter("x86_64", "neuron", Variant::Neuron),
    ]
}

fn bottlerocket(kubernetes: KubernetesVersion, version: &str) -> Vec<AliasParameter> {
    let version = version.trim_start_matches('v');
    let parameter = |kind: &str, architecture: &str, variant| {
        let path = format!(
            "/aws/service/bottlerocket/aws-k8s-{kubernetes}{kind}/{architecture}/{version}/image_id"
        );
        let name_prefix = format!("bottlerocket-aws-k8s-{kubernetes}{kind}-{architecture}-v");
        AliasParameter { path, name_prefix, variant }
    };
    vec![
        parameter("", "x86_64", Variant::Standard),
        parameter("", "arm64", Variant::Standard),
        parameter("-nvidia", "x86_64", Variant::Nvidia),
        parameter("-nvidia", "arm64", Variant::Nvidia),
        // The plain image has Neuron's driver.
        parameter("", "x86_64", Variant::Neuron),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1_32: KubernetesVersion = KubernetesVersion { major: 1, minor: 32 };
    const V1_33: KubernetesVersion = KubernetesVersion { major: 1, minor: 33 };
    const V1_35: KubernetesVersion = KubernetesVersion { major: 1, minor: 35 };

    fn paths(alias: &str, kubernetes: KubernetesVersion) -> Vec<String> {
        parameters(alias, kubernetes).unwrap().into_iter().map(|own| own.path).collect()
    }

    #[test]
    fn al2023_has_images_by_architecture_and_driver() {
        assert_eq!(
            paths("al2023@latest", V1_33),
            [
                "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id",
                "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/arm64/standard/recommended/image_id",
                "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/nvidia/recommended/image_id",
                "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/arm64/nvidia/recommended/image_id",
                "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/neuron/recommended/image_id",
            ]
        );
        assert_eq!(
            paths("al2023@v20250610", V1_33)[0],
            "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/\
             amazon-eks-node-al2023-x86_64-standard-1.33-v20250610/image_id"
        );
    }

    #[test]
    fn al2_has_one_image_for_both_drivers_and_ends_with_1_32() {
        let parameters = parameters("al2@v20250610", V1_32).unwrap();
        assert_eq!(
            parameters[1].path,
            "/aws/service/eks/optimized-ami/1.32/amazon-linux-2-arm64/\
             amazon-eks-arm64-node-1.32-v20250610/image_id"
        );
        assert_eq!(parameters[2].path, parameters[3].path);
        assert_ne!(parameters[2].variant, parameters[3].variant);
        assert_eq!(super::parameters("al2@latest", V1_33), Err(AliasError::Al2Ended(V1_33)));
    }

    #[test]
    fn bottlerocket_names_versions_without_v() {
        assert_eq!(
            paths("bottlerocket@v1.26.1", V1_33)[2],
            "/aws/service/bottlerocket/aws-k8s-1.33-nvidia/x86_64/1.26.1/image_id"
        );
        assert_eq!(
            paths("bottlerocket@latest", V1_33)[1],
            "/aws/service/bottlerocket/aws-k8s-1.33/arm64/latest/image_id"
        );
    }

    #[test]
    fn windows_has_the_latest_only() {
        assert_eq!(
            paths("windows2022@latest", V1_33),
            [
                "/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.33/image_id"
            ]
        );
        assert!(parameters("windows2022@v1", V1_33).is_err());
        assert!(parameters("windows2025@latest", V1_33).is_err());
        assert_eq!(paths("windows2025@latest", V1_35).len(), 1);
        assert!(parameters("ubuntu@latest", V1_33).is_err());
    }
}

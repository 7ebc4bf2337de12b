//! Older versions of Karpenter's API, turned into v1.
//!
//! Provisioner (`karpenter.sh/v1alpha5`), AWSNodeTemplate (`karpenter.k8s.aws/v1alpha1`), and
//! NodePool and EC2NodeClass of `v1beta1`. Conversion works on documents, so that what is printed
//! of older manifests is what reading them takes them for. Every value keeps its line, so errors
//! found after conversion still name the place in the user's file.
//!
//! Source: Karpenter's v1alpha5, v1alpha1 and v1beta1 APIs and their defaults.

mod converter;
mod kubelet;
mod label;
mod legacy_selector;
mod node_class;
mod node_pool;
mod placed;
#[cfg(test)]
mod tests;
pub(crate) mod tree;

pub(crate) use converter::Converter;
pub(crate) use label::{rewritten, rewritten_line};

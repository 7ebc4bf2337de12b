//! What a launch must know of an instance type beyond what plans need.

use domain::Text;
use domain::node_class::Ec2NodeClass;
use domain::requirement::Requirement;
use domain::resource::Resources;

use crate::capacity::pods;
use crate::catalog::Catalog;
use crate::labels::{self, TypeLabels};
use crate::options::CatalogOptions;
use crate::overhead::kube_reserved;
use crate::text::Texts;
use crate::view::NodeClassView;

/// An instance type as nodes of a node class are set up on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchFacts {
    /// Labels of its nodes, the image's among them.
    labels: TypeLabels,
    /// `maxPods` of the kubelet.
    pub max_pods: u32,
    /// `kubeReserved` of the kubelet, so that a node has the allocatable resources of the plan.
    pub kube_reserved: Resources,
    /// Fabric adapters that it takes.
    pub efa_interfaces_max: u32,
}

impl LaunchFacts {
    /// Whether a node of the type meets all of the requirements, as an image has them.
    pub fn meets(&self, requirements: &[Requirement]) -> bool {
        labels::meet(&self.labels, requirements)
    }

    /// A label's values, if the type has it.
    pub fn label(&self, key: &str) -> &[Text] {
        self.labels.get(key).map_or(&[], Vec::as_slice)
    }
}

impl Catalog {
    /// What a launch of the type from the node class must know; `None` for an unknown type.
    pub fn launch_facts(
        &self,
        instance_type: &str,
        class: &Ec2NodeClass,
        options: &CatalogOptions,
    ) -> Option<LaunchFacts> {
        let facts = self.find(instance_type)?;
        let view = NodeClassView::of(class, options);
        let mut texts = Texts::default();
        let labels = labels::of_type(facts, &mut texts);
        Some(LaunchFacts {
            labels: labels::with_family(labels, view.ami_family, &mut texts),
            max_pods: pods(facts, &view, options),
            kube_reserved: kube_reserved(facts, &view, options),
            efa_interfaces_max: facts.network.efa_interfaces_max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::node_class;
    use domain::node_class::AmiFamily;
    use domain::resource::{CPU, MEMORY};

    #[test]
    fn the_kubelet_is_told_what_the_plan_counted_with() {
        let class = node_class("default", AmiFamily::Al2023);
        let options = CatalogOptions::default();
        let catalog = crate::embedded().unwrap();
        let facts = catalog.launch_facts("m5.large", &class, &options).unwrap();
        assert_eq!(facts.max_pods, 29);
        assert_eq!(facts.kube_reserved.get(CPU), 70);
        assert_eq!(facts.kube_reserved.get(MEMORY), (29 * 11 + 255) << 20);
        let arm64 = [Requirement::is_in("kubernetes.io/arch", ["arm64".into()])];
        assert!(!facts.meets(&arm64));
        assert!(catalog.launch_facts("m6g.large", &class, &options).unwrap().meets(&arm64));
        assert_eq!(catalog.launch_facts("x0.large", &class, &options), None);
    }
}

//! Which instance types a node class can run on.
//!
//! A type that it cannot run on stays listed, with none of its offerings available: a node that is
//! there already must be found.

use domain::node_class::{AmiFamily, NetworkInterface};

use crate::facts::{Architecture, Feature, InstanceTypeFacts};
use crate::labels::{self, TypeLabels};
use crate::view::NodeClassView;

/// Whether the node class can run on the type; `labels` are those of the type.
pub(crate) fn is_compatible(
    facts: &InstanceTypeFacts,
    view: &NodeClassView,
    labels: &TypeLabels,
) -> bool {
    runs_family(facts, view.ami_family)
        && has_interfaces(facts, &view.network_interfaces)
        && (!view.tracks_connections || facts.is_nitro())
        && (!view.nests_virtualization || facts.features.has(Feature::NestedVirtualization))
        && has_image(view, labels)
}

/// Windows runs on amd64 alone, and AL2023's arm64 kernel requires a newer CPU than a1's.
///
/// Source: <https://docs.aws.amazon.com/linux/al2023/ug/system-requirements.html>.
fn runs_family(facts: &InstanceTypeFacts, family: AmiFamily) -> bool {
    match family {
        AmiFamily::Al2023 => facts.family() != "a1",
        _ => !family.is_windows() || facts.architecture == Some(Architecture::Amd64),
    }
}

/// Whether every network card exists, has room for the interfaces on it, and the type has so many
/// fabric adapters.
fn has_interfaces(facts: &InstanceTypeFacts, interfaces: &[NetworkInterface]) -> bool {
    let adapters = interfaces.iter().filter(|interface| interface.is_efa_only).count();
    let fits_card = |interface: &NetworkInterface| {
        let card = interface.network_card_index;
        let on_card = interfaces.iter().filter(|other| other.network_card_index == card).count();
        usize::try_from(card)
            .ok()
            .and_then(|card| facts.network.interfaces_by_card.get(card))
            .is_some_and(|room| u32::try_from(on_card).is_ok_and(|count| count <= *room))
    };
    u32::try_from(adapters).is_ok_and(|count| count <= facts.network.efa_interfaces_max)
        && interfaces.iter().all(fits_card)
}

/// Whether some resolved image is for the type; before images are resolved, none is missing.
fn has_image(view: &NodeClassView, labels: &TypeLabels) -> bool {
    view.ami_requirements.is_empty()
        || view.ami_requirements.iter().any(|requirements| labels::meet(labels, requirements))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels;
    use crate::testkit::facts;
    use crate::text::Texts;
    use domain::requirement::{Operator, Requirement};

    fn compatible(name: &str, view: &NodeClassView) -> bool {
        let facts = facts(name);
        let mut texts = Texts::default();
        let labels = labels::of_type(&facts, &mut texts);
        let labels = labels::with_family(labels, view.ami_family, &mut texts);
        is_compatible(&facts, view, &labels)
    }

    fn family(ami_family: AmiFamily) -> NodeClassView {
        NodeClassView { ami_family, ..NodeClassView::plain() }
    }

    fn interface(
        network_card_index: u32,
        device_index: u32,
        is_efa_only: bool,
    ) -> NetworkInterface {
        NetworkInterface { network_card_index, device_index, is_efa_only }
    }

    #[test]
    fn a1_does_not_run_al2023() {
        assert!(!compatible("a1.large", &family(AmiFamily::Al2023)));
        assert!(compatible("a1.large", &family(AmiFamily::Al2)));
        assert!(compatible("m6g.large", &family(AmiFamily::Al2023)));
    }

    #[test]
    fn windows_runs_on_amd64_only() {
        assert!(!compatible("m6g.large", &family(AmiFamily::Windows2022)));
        assert!(compatible("m5.large", &family(AmiFamily::Windows2022)));
    }

    #[test]
    fn connection_tracking_needs_nitro() {
        let view = NodeClassView { tracks_connections: true, ..NodeClassView::plain() };
        assert!(!compatible("m4.large", &view));
        assert!(compatible("m5.large", &view));
        assert!(compatible("m5.metal", &view));
    }

    #[test]
    fn nested_virtualization_needs_the_feature() {
        let view = NodeClassView { nests_virtualization: true, ..NodeClassView::plain() };
        assert!(!compatible("m5.large", &view));
        assert!(compatible("m8i.large", &view));
    }

    #[test]
    fn interfaces_need_their_cards_and_adapters() {
        let with = |interfaces: Vec<NetworkInterface>| NodeClassView {
            network_interfaces: interfaces,
            ..NodeClassView::plain()
        };
        let second_card = with(vec![interface(0, 0, false), interface(1, 1, false)]);
        assert!(!compatible("m5.large", &second_card));
        assert!(compatible("p4d.24xlarge", &second_card));
        let adapter = with(vec![interface(0, 0, false), interface(0, 1, true)]);
        assert!(!compatible("m5.large", &adapter));
        assert!(compatible("p4d.24xlarge", &adapter));
        let four = with((0..4).map(|index| interface(0, index, false)).collect());
        assert!(!compatible("m5.large", &four), "it takes three");
        assert!(compatible("m5.xlarge", &four));
    }

    #[test]
    fn an_image_must_be_for_the_type() {
        let amd64 = Requirement::is_in("kubernetes.io/arch", ["amd64".into()]);
        let no_gpu = Requirement {
            key: "karpenter.k8s.aws/instance-gpu-count".into(),
            operator: Operator::DoesNotExist,
            values: vec![],
            min_values: None,
        };
        let view =
            NodeClassView { ami_requirements: vec![vec![amd64, no_gpu]], ..NodeClassView::plain() };
        assert!(compatible("m5.large", &view));
        assert!(!compatible("m6g.large", &view));
        assert!(!compatible("g5.xlarge", &view));
    }
}

use super::*;
use crate::testkit::node_class;
use aws_sdk_ec2::types::LaunchTemplateTagSpecificationRequest;
use domain::node_class::Ec2NodeClass;

/// What a template of the class says, with changes to what it is made of.
fn template_with(class: &Ec2NodeClass, change: impl Fn(&mut TemplateInput<'_>)) -> Template {
    template_in(class, None, change)
}

fn template_in(
    class: &Ec2NodeClass,
    reservation: Option<&ResolvedCapacityReservation>,
    change: impl Fn(&mut TemplateInput<'_>),
) -> Template {
    let tags = tags::of_class("prod", class);
    let labels = Labels::new();
    let image_id = Text::from("ami-1");
    let mut input = TemplateInput {
        spec: &class.spec,
        image_id: &image_id,
        security_groups: &class.status.security_groups,
        instance_profile: class.status.instance_profile.as_ref(),
        user_data: Some("#!/bin/bash"),
        capacity_type: CapacityType::OnDemand,
        reservation,
        efa_interfaces: 0,
        labels: &labels,
        tags: &tags,
        ip_family: IpFamily::Ipv4,
        is_isolated: false,
    };
    change(&mut input);
    Template::of(&input)
}

fn data(class: &Ec2NodeClass) -> RequestLaunchTemplateData {
    template_with(class, |_| {}).data
}

fn class_with(change: impl Fn(&mut Ec2NodeClassSpec)) -> Ec2NodeClass {
    let mut class = node_class("default");
    change(&mut class.spec);
    class
}

fn reservation(kind: &str, is_interruptible: bool) -> ResolvedCapacityReservation {
    ResolvedCapacityReservation {
        id: "cr-1".into(),
        instance_type: "p5.48xlarge".into(),
        zone: "us-east-1a".into(),
        is_expiring: false,
        reservation_type: kind.into(),
        is_interruptible,
    }
}

#[test]
fn a_plain_class_has_the_safe_defaults() {
    let data = data(&node_class("default"));
    assert_eq!(data.image_id(), Some("ami-1"));
    assert_eq!(data.user_data(), Some("IyEvYmluL2Jhc2g="));
    assert_eq!(data.iam_instance_profile().unwrap().name(), Some("prod_nodes"));
    assert_eq!(data.security_group_ids(), ["sg-1"]);
    assert!(data.network_interfaces().is_empty());
    assert_eq!(data.monitoring().unwrap().enabled(), Some(false));
    let metadata = data.metadata_options().unwrap();
    assert_eq!(metadata.http_tokens(), Some(&LaunchTemplateHttpTokensState::Required));
    assert_eq!(metadata.http_put_response_hop_limit(), Some(1));
    assert_eq!(
        metadata.instance_metadata_tags(),
        Some(&LaunchTemplateInstanceMetadataTagsState::Disabled)
    );
    let [root] = data.block_device_mappings() else { panic!("one volume") };
    assert_eq!(root.device_name(), Some("/dev/xvda"));
    let volume = root.ebs().unwrap();
    assert_eq!((volume.volume_size(), volume.encrypted()), (Some(20), Some(true)));
    assert_eq!(volume.volume_type(), Some(&VolumeType::Gp3));
    let reservations = data.capacity_reservation_specification().unwrap();
    assert_eq!(
        reservations.capacity_reservation_preference(),
        Some(&CapacityReservationPreference::None)
    );
    assert_eq!(data.placement(), None);
}

#[test]
fn the_name_stands_for_the_content() {
    let class = node_class("default");
    let plain = template_with(&class, |_| {});
    assert_eq!(plain, template_with(&class, |_| {}));
    assert!(plain.name.len() <= 128 && plain.name.starts_with("outrigger/"), "{}", plain.name);
    let other_data = template_with(&class, |input| input.user_data = Some("#!/bin/sh"));
    assert_ne!(plain.name, other_data.name);
    let spot = template_with(&class, |input| input.capacity_type = CapacityType::Spot);
    assert_ne!(plain.name, spot.name);
    let watched = template_with(&class_with(|spec| spec.detailed_monitoring = true), |_| {});
    assert_ne!(plain.name, watched.name);
}

#[test]
fn each_family_has_its_own_volumes() {
    let devices = |family| {
        let data = data(&class_with(|spec| spec.ami_family = family));
        let shown = |own: &LaunchTemplateBlockDeviceMappingRequest| {
            let size = own.ebs().unwrap().volume_size().unwrap();
            format!("{} {size}", own.device_name().unwrap())
        };
        data.block_device_mappings().iter().map(shown).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(devices(AmiFamily::Bottlerocket), "/dev/xvda 4, /dev/xvdb 20");
    assert_eq!(devices(AmiFamily::Windows2022), "/dev/sda1 50");
    assert_eq!(devices(AmiFamily::Custom), "");
}

#[test]
fn volumes_are_rounded_up_to_whole_gib() {
    let mapping = BlockDeviceMapping {
        device_name: Some("/dev/xvda".into()),
        volume_size_bytes: Some(100_000_000_000),
        volume_type: Some("io2".into()),
        iops: Some(3000),
        kms_key_id: Some("alias/nodes".into()),
        ..BlockDeviceMapping::default()
    };
    let class = class_with(|spec| spec.block_device_mappings = vec![mapping.clone()]);
    let data = data(&class);
    let volume = data.block_device_mappings()[0].ebs().unwrap();
    assert_eq!((volume.volume_size(), volume.iops()), (Some(94), Some(3000)));
    assert_eq!(volume.volume_type(), Some(&VolumeType::Io2));
    assert_eq!((volume.kms_key_id(), volume.encrypted()), (Some("alias/nodes"), None));
}

#[test]
fn what_is_said_of_the_network_is_said_of_the_interface() {
    let class = class_with(|spec| {
        spec.associate_public_ip_address = Some(false);
        spec.ip_prefix_count = Some(2);
        spec.connection_tracking = Some(ConnectionTracking {
            tcp_established_seconds: Some(600),
            ..ConnectionTracking::default()
        });
    });
    let data = data(&class);
    assert!(data.security_group_ids().is_empty());
    let [own] = data.network_interfaces() else { panic!("one interface") };
    assert_eq!(own.groups(), ["sg-1"]);
    assert_eq!((own.device_index(), own.network_card_index()), (Some(0), Some(0)));
    assert_eq!(own.associate_public_ip_address(), Some(false));
    assert_eq!(own.ipv4_prefix_count(), Some(2));
    let tracking = own.connection_tracking_specification().unwrap();
    assert_eq!(tracking.tcp_established_timeout(), Some(600));
}

#[test]
fn nodes_of_an_ipv6_cluster_have_a_primary_ipv6_address() {
    let template = template_with(&node_class("default"), |input| input.ip_family = IpFamily::Ipv6);
    let [own] = template.data.network_interfaces() else { panic!("one interface") };
    assert_eq!((own.primary_ipv6(), own.ipv6_address_count()), (Some(true), Some(1)));
}

#[test]
fn fabric_adapters_stand_on_a_card_each() {
    let template = template_with(&node_class("default"), |input| input.efa_interfaces = 3);
    let shown: Vec<_> = template
        .data
        .network_interfaces()
        .iter()
        .map(|own| (own.network_card_index(), own.device_index(), own.interface_type()))
        .collect();
    let adapter = |card, device| (Some(card), Some(device), Some("efa"));
    assert_eq!(shown, [adapter(0, 0), adapter(1, 1), adapter(2, 1)]);
}

#[test]
fn interfaces_that_the_class_lists_are_taken_as_listed() {
    let class = class_with(|spec| {
        spec.associate_public_ip_address = Some(true);
        spec.network_interfaces = vec![
            NetworkInterface { network_card_index: 0, device_index: 0, is_efa_only: false },
            NetworkInterface { network_card_index: 1, device_index: 1, is_efa_only: true },
        ];
    });
    let data = data(&class);
    let shown: Vec<_> = data
        .network_interfaces()
        .iter()
        .map(|own| (own.interface_type().unwrap(), own.associate_public_ip_address()))
        .collect();
    assert_eq!(shown, [("interface", Some(true)), ("efa-only", None)]);
}

#[test]
fn a_reserved_launch_uses_its_reservation_and_no_other() {
    let class = node_class("default");
    let market = |reservation: &ResolvedCapacityReservation| {
        let template = template_in(&class, Some(reservation), |input| {
            input.capacity_type = CapacityType::Reserved;
        });
        let specification = template.data.capacity_reservation_specification().unwrap();
        assert_eq!(
            specification.capacity_reservation_preference(),
            Some(&CapacityReservationPreference::CapacityReservationsOnly)
        );
        let target = specification.capacity_reservation_target().unwrap();
        assert_eq!(target.capacity_reservation_id(), Some("cr-1"));
        template.data.instance_market_options().and_then(|own| own.market_type()).cloned()
    };
    assert_eq!(market(&reservation("default", false)), None);
    assert_eq!(market(&reservation("capacity-block", false)), Some(MarketType::CapacityBlock));
    assert_eq!(
        market(&reservation("default", true)),
        Some(MarketType::InterruptibleCapacityReservation)
    );
}

#[test]
fn placement_follows_the_class_and_the_claims_labels() {
    let class = class_with(|spec| {
        spec.placement_group = Some(PlacementGroupSelector::Name("near".into()));
    });
    let labels = Labels::from([
        (TENANCY.into(), "dedicated".into()),
        (PARTITION.into(), "3".into()),
        (NITRO_SANDBOX.into(), "true".into()),
    ]);
    let tags = Labels::new();
    let input = TemplateInput {
        spec: &class.spec,
        image_id: &"ami-1".into(),
        security_groups: &[],
        instance_profile: None,
        user_data: None,
        capacity_type: CapacityType::OnDemand,
        reservation: None,
        efa_interfaces: 0,
        labels: &labels,
        tags: &tags,
        ip_family: IpFamily::Ipv4,
        is_isolated: false,
    };
    let data = Template::of(&input).data;
    let placement = data.placement().unwrap();
    assert_eq!(placement.group_name(), Some("near"));
    assert_eq!(placement.tenancy(), Some(&Tenancy::Dedicated));
    assert_eq!(placement.partition_number(), Some(3));
    assert_eq!(data.enclave_options().unwrap().enabled(), Some(true));
}

#[test]
fn what_an_instance_brings_along_is_tagged_too() {
    let kinds = |capacity_type| -> Vec<ResourceType> {
        let template =
            template_with(&node_class("default"), |input| input.capacity_type = capacity_type);
        let kind = |own: &LaunchTemplateTagSpecificationRequest| {
            assert_eq!(tags::value(own.tags(), "kubernetes.io/cluster/prod"), Some("owned"));
            own.resource_type().unwrap().clone()
        };
        template.data.tag_specifications().iter().map(kind).collect()
    };
    assert_eq!(kinds(CapacityType::OnDemand), [ResourceType::NetworkInterface]);
    assert_eq!(
        kinds(CapacityType::Spot),
        [ResourceType::NetworkInterface, ResourceType::SpotInstancesRequest]
    );
}

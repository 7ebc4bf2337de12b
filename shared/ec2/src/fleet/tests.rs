use super::*;
use crate::testkit::{node_class, offering, request};
use crate::user_data::BYTES_MAX;
use aws_sdk_ec2::operation::create_fleet::CreateFleetInput;
use domain::node_class::{AmiFamily, NetworkInterface};

const A: &str = "us-east-1a";
const B: &str = "us-east-1b";

fn cluster() -> ClusterFacts {
    crate::user_data::testkit::cluster()
}

struct World {
    cluster: ClusterFacts,
    catalog: Catalog,
    options: CatalogOptions,
}

impl World {
    fn new() -> Self {
        let (catalog, options) = (catalog::embedded().unwrap(), CatalogOptions::default());
        Self { cluster: cluster(), catalog, options }
    }

    fn plan<'a>(
        &self,
        request: &'a LaunchRequest,
        class: &'a Ec2NodeClass,
    ) -> Result<FleetPlan<'a>, NotLaunchable> {
        let context = LaunchContext {
            cluster: &self.cluster,
            catalog: &self.catalog,
            options: &self.options,
        };
        FleetPlan::of(request, class, context)
    }
}

fn call(plan: &FleetPlan<'_>, is_overlaid: bool) -> CreateFleetInput {
    let subnets = &plan.class.status.subnets;
    let first = |zone: &str| subnets.iter().find(|own| &*own.zone == zone);
    let owner = Owner { cluster: "prod", installation: "own/1" };
    plan.call(&plan.request.token, owner, first, is_overlaid).build().unwrap()
}

/// Template index, type, zone and subnet of every override.
fn overrides(call: &CreateFleetInput) -> Vec<String> {
    call.launch_template_configs()
        .iter()
        .enumerate()
        .flat_map(|(index, config)| config.overrides().iter().map(move |own| (index, own)))
        .map(|(index, own)| {
            let name = own.instance_type().unwrap().as_str();
            let zone = own.availability_zone().unwrap();
            format!("{index} {name} {zone} {}", own.subnet_id().unwrap())
        })
        .collect()
}

#[test]
fn a_fleet_asks_for_one_instance_of_the_cheapest() {
    let spot = |name: &str, zone: &str, price| offering(name, zone, CapacityType::Spot, price);
    let request = request(vec![
        spot("m5.large", A, 35),
        spot("m5.large", B, 36),
        spot("m6g.large", A, 37),
        spot("m6i.large", A, 38),
    ]);
    let class = node_class("default");
    let plan = World::new().plan(&request, &class).unwrap();
    let call = call(&plan, false);
    assert_eq!(call.r#type(), Some(&FleetType::Instant));
    assert_eq!(call.client_token(), Some("9bf4c6ae-4a5e-5b3c-9d2e-0c6f5f0f9a11"));
    let target = call.target_capacity_specification().unwrap();
    assert_eq!(target.total_target_capacity(), Some(1));
    assert_eq!(target.default_target_capacity_type(), Some(&DefaultTargetCapacityType::Spot));
    let strategy = call.spot_options().unwrap().allocation_strategy();
    assert_eq!(strategy, Some(&SpotAllocationStrategy::PriceCapacityOptimized));
    assert_eq!(
        overrides(&call),
        [
            "0 m5.large us-east-1a subnet-a1",
            "0 m5.large us-east-1b subnet-b1",
            "0 m6i.large us-east-1a subnet-a1",
            "1 m6g.large us-east-1a subnet-a1",
        ]
    );
    let first = &call.launch_template_configs()[0];
    let template = first.launch_template_specification().unwrap();
    assert_eq!(template.launch_template_name(), Some(plan.templates[0].template.name.as_str()));
    assert_eq!(template.version(), Some("$Latest"));
    assert_eq!(first.overrides()[0].priority(), Some(0.035));
    assert_eq!(&*plan.templates[1].image_id, "ami-arm64");
}

#[test]
fn instance_volume_and_fleet_say_whose_they_are() {
    let request = request(vec![offering("m5.large", A, CapacityType::OnDemand, 96)]);
    let mut class = node_class("default");
    class.spec.tags = Labels::from([("team".into(), "blue".into())]);
    let plan = World::new().plan(&request, &class).unwrap();
    let call = call(&plan, false);
    let kinds: Vec<_> =
        call.tag_specifications().iter().map(|own| own.resource_type().unwrap().as_str()).collect();
    assert_eq!(kinds, ["instance", "volume", "fleet"]);
    for specification in call.tag_specifications() {
        let shown: Vec<String> = specification
            .tags()
            .iter()
            .map(|tag| format!("{}={}", tag.key().unwrap(), tag.value().unwrap()))
            .collect();
        assert_eq!(
            shown,
            [
                "eks:eks-cluster-name=prod",
                "karpenter.k8s.aws/ec2nodeclass=default",
                "karpenter.sh/nodeclaim=default-1",
                "karpenter.sh/nodepool=default",
                "kubernetes.io/cluster/prod=owned",
                "outrigger.dev/claim-uid=9bf4c6ae-4a5e-5b3c-9d2e-0c6f5f0f9a11",
                "outrigger.dev/installation=own/1",
                "team=blue",
            ]
        );
    }
}

/// Network card, device and kind of every interface that a template asks for.
fn interfaces(template: &Template) -> Vec<(i32, i32, &str)> {
    let interfaces = template.data.network_interfaces().iter();
    let parts = interfaces.map(|own| {
        assert!(!own.groups().is_empty(), "an interface without security groups");
        (own.network_card_index(), own.device_index(), own.interface_type())
    });
    parts.map(|(card, device, kind)| (card.unwrap(), device.unwrap(), kind.unwrap())).collect()
}

#[test]
fn pods_that_ask_for_fabric_adapters_get_all_that_a_type_takes() {
    let on_demand = |name: &str| offering(name, A, CapacityType::OnDemand, 96);
    let offerings = vec![on_demand("c5n.18xlarge"), on_demand("p4d.24xlarge")];
    let plain = request(offerings);
    let request = LaunchRequest { wants_efa: true, ..plain.clone() };
    let class = node_class("default");
    let plan = World::new().plan(&request, &class).unwrap();
    let shown: Vec<_> = plan.templates.iter().map(|own| interfaces(&own.template)).collect();
    assert!(shown.contains(&vec![(0, 0, "efa")]), "{shown:?}");
    let four = [(0, 0, "efa"), (1, 1, "efa"), (2, 1, "efa"), (3, 1, "efa")];
    assert!(shown.contains(&four.to_vec()), "{shown:?}");
    let groups = plan.templates[0].template.data.security_group_ids();
    assert!(groups.is_empty(), "EC2 takes groups of interfaces or of the instance, not both");

    let plan = World::new().plan(&plain, &class).unwrap();
    assert!(plan.templates.iter().all(|own| interfaces(&own.template).is_empty()));
}

#[test]
fn a_node_class_that_lists_interfaces_says_itself_which_are_adapters() {
    let listed = |network_card_index, device_index, is_efa_only| NetworkInterface {
        network_card_index,
        device_index,
        is_efa_only,
    };
    let mut class = node_class("default");
    class.spec.network_interfaces = vec![listed(0, 0, false), listed(1, 1, true)];
    let offerings = vec![offering("p4d.24xlarge", A, CapacityType::OnDemand, 96)];
    let request = LaunchRequest { wants_efa: true, ..request(offerings) };
    let plan = World::new().plan(&request, &class).unwrap();
    let shown = interfaces(&plan.templates[0].template);
    assert_eq!(shown, [(0, 0, "interface"), (1, 1, "efa-only")]);
}

#[test]
fn types_that_take_different_numbers_of_pods_have_different_templates() {
    let on_demand = |name: &str| offering(name, A, CapacityType::OnDemand, 96);
    let request =
        request(vec![on_demand("m5.large"), on_demand("m5.xlarge"), on_demand("m6i.large")]);
    let class = node_class("default");
    let plan = World::new().plan(&request, &class).unwrap();
    assert_eq!(plan.templates.len(), 2);
    let mut capped = node_class("default");
    capped.spec.kubelet.max_pods = Some(20);
    capped.spec.kubelet.kube_reserved = Resources::new()
        .with("cpu", 100)
        .with("memory", 1 << 30)
        .with("ephemeral-storage", 1 << 30);
    let plan = World::new().plan(&request, &capped).unwrap();
    assert_eq!(plan.templates.len(), 1, "nothing is left that differs");
}

#[test]
fn the_users_prices_make_the_order_count() {
    let class = node_class("default");
    let strategies = |capacity_type| {
        let request = request(vec![offering("m5.large", A, capacity_type, 96)]);
        let plan = World::new().plan(&request, &class).unwrap();
        let call = call(&plan, true);
        let spot = call.spot_options().and_then(|own| own.allocation_strategy().cloned());
        let on_demand = call.on_demand_options().and_then(|own| own.allocation_strategy().cloned());
        (spot, on_demand)
    };
    assert_eq!(
        strategies(CapacityType::Spot),
        (Some(SpotAllocationStrategy::CapacityOptimizedPrioritized), None)
    );
    assert_eq!(
        strategies(CapacityType::OnDemand),
        (None, Some(FleetOnDemandAllocationStrategy::Prioritized))
    );
}

fn reserved(id: &str, name: &str, price: i64) -> LaunchOffering {
    LaunchOffering {
        reservation_id: Some(id.into()),
        ..offering(name, A, CapacityType::Reserved, price)
    }
}

fn reservation(
    id: &str,
    name: &str,
    kind: &str,
    is_interruptible: bool,
) -> ResolvedCapacityReservation {
    ResolvedCapacityReservation {
        id: id.into(),
        instance_type: name.into(),
        zone: A.into(),
        is_expiring: false,
        reservation_type: kind.into(),
        is_interruptible,
    }
}

#[test]
fn reservations_of_different_kinds_are_not_mixed() {
    let mut class = node_class("default");
    class.status.capacity_reservations = vec![
        reservation("cr-taken-back", "m5.large", "default", true),
        reservation("cr-usual", "m5.xlarge", "default", false),
        reservation("cr-block", "m5.2xlarge", "capacity-block", false),
    ];
    let target = |offerings: Vec<LaunchOffering>| {
        let request = request(offerings);
        let plan = World::new().plan(&request, &class).unwrap();
        let call = call(&plan, false);
        let target = call.target_capacity_specification().unwrap();
        let overrides = overrides(&call).len();
        (target.default_target_capacity_type().unwrap().clone(), overrides)
    };
    let all = vec![
        reserved("cr-taken-back", "m5.large", 1),
        reserved("cr-usual", "m5.xlarge", 1),
        reserved("cr-block", "m5.2xlarge", 1),
    ];
    assert_eq!(target(all.clone()), (DefaultTargetCapacityType::OnDemand, 1));
    assert_eq!(target(all[..1].to_vec()), (DefaultTargetCapacityType::ReservedCapacity, 1));
    assert_eq!(target(all[2..].to_vec()), (DefaultTargetCapacityType::CapacityBlock, 1));
}

#[test]
fn zones_without_a_subnet_and_types_without_an_image_are_left_out() {
    let on_demand = |name: &str, zone: &str| offering(name, zone, CapacityType::OnDemand, 96);
    let mut class = node_class("default");
    class.status.amis.truncate(1);
    let some = request(vec![
        on_demand("m5.large", "us-east-1f"),
        on_demand("m6g.large", A),
        on_demand("m5.large", A),
    ]);
    let plan = World::new().plan(&some, &class).unwrap();
    assert_eq!(overrides(&call(&plan, false)), ["0 m5.large us-east-1a subnet-a1"]);
    let none = request(vec![on_demand("m6g.large", A)]);
    assert_eq!(World::new().plan(&none, &class).unwrap_err(), NotLaunchable::NothingFits);
}

#[test]
fn a_class_without_valid_user_data_launches_nothing() {
    let request = request(vec![offering("m5.large", A, CapacityType::OnDemand, 96)]);
    let mut class = node_class("default");
    class.spec.ami_family = AmiFamily::Custom;
    class.spec.user_data = Some("x".repeat(BYTES_MAX + 1).into());
    let error = World::new().plan(&request, &class).unwrap_err();
    assert!(matches!(error, NotLaunchable::UserData(UserDataError::TooLong(_))));
}

#[test]
fn ec2_is_asked_for_no_more_overrides_than_it_takes() {
    let catalog = catalog::embedded().unwrap();
    let names = catalog.types().iter().filter(|facts| facts.architecture.is_some());
    let offerings = names
        .flat_map(|facts| {
            [A, B].map(|zone| offering(&facts.name, zone, CapacityType::OnDemand, 96))
        })
        .collect();
    let mut request = request(offerings);
    let class = node_class("default");
    for (attempt, most) in [(1, OVERRIDES_MAX), (2, OVERRIDES_MAX), (3, OVERRIDES_FEW)] {
        request.attempt.number = attempt;
        let plan = World::new().plan(&request, &class).unwrap();
        assert!(plan.templates.len() <= TEMPLATES_MAX);
        assert_eq!(overrides(&call(&plan, false)).len(), most, "attempt {attempt}");
    }
}

#[test]
fn a_launch_counts_the_addresses_of_its_smallest_type() {
    let on_demand = |name: &str, zone: &str| offering(name, zone, CapacityType::OnDemand, 96);
    let request = request(vec![
        on_demand("m5.large", A),
        on_demand("m5.xlarge", A),
        on_demand("m5.xlarge", B),
    ]);
    let class = node_class("default");
    let plan = World::new().plan(&request, &class).unwrap();
    assert_eq!(plan.addresses_by_zone(), [(&Text::from(A), 29), (&Text::from(B), 58)]);
}

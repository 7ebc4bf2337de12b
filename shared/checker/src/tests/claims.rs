//! Claims, their instance types and their offerings.

use domain::instance_type::CapacityType;
use domain::label::{ARCH, CAPACITY_TYPE, INSTANCE_TYPE, ZONE};
use domain::node_pool::{NodeClaimTemplate, NodePool};
use domain::overlay::{NodeOverlay, PriceChange};
use domain::plan::{Plan, PlannedNodeClaim, Totals};
use domain::requirement::{Operator, Requirement};
use domain::resource::{CPU, MEMORY, NODES, Resources};
use domain::settings::MinValuesPolicy;
use domain::snapshot::ClusterSnapshot;

use crate::Rule;
use crate::testing::*;

/// A cluster with one pending pod and a NodePool.
fn with_pool(pool: NodePool) -> ClusterSnapshot {
    cluster([pod("p")]).with_node_pools([pool])
}

fn types(names: &[&str]) -> PlannedNodeClaim {
    claim_in("n", &["p"], names, "a", CapacityType::Spot)
}

fn on_demand(names: &[&str]) -> PlannedNodeClaim {
    claim_in("n", &["p"], names, "a", CapacityType::OnDemand)
}

#[test]
fn names_of_new_claims_are_their_own() {
    let cluster = pooled(pods("p", 2, |pod| pod)).with_nodes([node("e", "small", "a")]);
    allows(&cluster, &plan([claim("n", &["p0"]), claim("m", &["p1"])]));
    breaks(&cluster, &plan([claim("n", &["p0"]), claim("n", &["p1"])]), &[Rule::ClaimName]);
    breaks(&cluster, &plan([claim("e", &["p0"]), claim("m", &["p1"])]), &[Rule::ClaimName]);
}

#[test]
fn a_claim_is_for_somebody() {
    let empty = plan([claim("n", &["p"]), claim("m", &[])]);
    breaks(&pooled([pod("p")]), &empty, &[Rule::ClaimEmpty]);
    let fixed = NodePool { replicas: Some(2), ..pool() };
    allows(&with_pool(fixed), &empty);
}

#[test]
fn the_node_pool_is_there_and_in_use() {
    let unknown = PlannedNodeClaim { node_pool: "x".into(), ..claim("n", &["p"]) };
    breaks(&pooled([pod("p")]), &plan([unknown]), &[Rule::NodePoolUnknown]);
    let plan = plan([claim("n", &["p"])]);
    allows(&with_pool(NodePool { ready: Some(true), ..pool() }), &plan);
    for unusable in
        [NodePool { is_deleting: true, ..pool() }, NodePool { ready: Some(false), ..pool() }]
    {
        breaks(&with_pool(unusable), &plan, &[Rule::NodePoolUnusable]);
    }
}

#[test]
fn the_node_class_is_that_of_the_node_pool() {
    let other = PlannedNodeClaim { node_class: "x".into(), ..claim("n", &["p"]) };
    breaks(&pooled([pod("p")]), &plan([other]), &[Rule::NodeClass]);
}

#[test]
fn a_claim_wears_the_taints_of_its_pool() {
    let template = NodeClaimTemplate { taints: vec![taint()], ..NodeClaimTemplate::default() };
    let starting =
        NodeClaimTemplate { startup_taints: vec![taint()], ..NodeClaimTemplate::default() };
    let tolerant =
        |template| cluster([pod("p").tolerating_everything()]).with_node_pools([pool_of(template)]);
    let bare = claim("n", &["p"]);
    let tainted = PlannedNodeClaim { taints: vec![taint()], ..bare.clone() };
    let tainted_at_start = PlannedNodeClaim { startup_taints: vec![taint()], ..bare.clone() };
    allows(&tolerant(template.clone()), &plan([tainted]));
    breaks(&tolerant(template), &plan([bare.clone()]), &[Rule::ClaimTaints]);
    allows(&with_pool(pool_of(starting.clone())), &plan([tainted_at_start]));
    breaks(&with_pool(pool_of(starting)), &plan([bare]), &[Rule::ClaimTaints]);
}

#[test]
fn a_claim_asks_for_what_its_pods_ask_for() {
    let asking = |millis| PlannedNodeClaim {
        requests: size(0, 1, 1).with(CPU, millis),
        ..claim("n", &["p"])
    };
    allows(&pooled([pod("p")]), &plan([asking(500)]));
    breaks(&pooled([pod("p")]), &plan([asking(499)]), &[Rule::ClaimRequests]);
}

#[test]
fn instance_types_are_known_and_listed_once() {
    let cluster = pooled([pod("p")]);
    allows(&cluster, &plan([types(&["small", "big"])]));
    breaks(&cluster, &plan([types(&[])]), &[Rule::TypesEmpty]);
    breaks(&cluster, &plan([types(&["small", "small"])]), &[Rule::TypesTwice]);
    breaks(&cluster, &plan([types(&["small", "tiny"])]), &[Rule::TypeUnknown]);
}

#[test]
fn every_listed_type_can_be_launched() {
    // gpu is sold out as spot; big is what the NodePool excludes.
    breaks(&pooled([pod("p")]), &plan([types(&["small", "gpu"])]), &[Rule::TypeRequirements]);
    let pool = pool_requiring(vec![requirement(INSTANCE_TYPE, Operator::NotIn, &["big"])]);
    let rules = [Rule::TypeRequirements, Rule::OfferingRequirements];
    breaks(&with_pool(pool), &plan([types(&["small", "big"])]), &rules);
}

#[test]
fn labels_that_a_pool_leaves_open_are_for_claims_to_settle() {
    let pool = pool_requiring(vec![
        requirement("gen", Operator::Gt, &["4"]),
        requirement("gen", Operator::Lt, &["9"]),
    ]);
    let cluster = |pod| cluster([pod]).with_node_pools([pool.clone()]);
    let of_generation = |generation: &str| {
        let mut claim = claim("n", &["p"]);
        claim.requirements.push(requirement("gen", Operator::In, &[generation]));
        plan([claim])
    };
    allows(&cluster(pod("p").selecting("gen", "5")), &of_generation("5"));
    breaks(&cluster(pod("p")), &of_generation("9"), &[Rule::TypeRequirements]);
}

#[test]
fn a_label_that_nobody_defines_cannot_be_required() {
    let mut wanting = claim("n", &["p"]);
    wanting.requirements.push(requirement("team", Operator::In, &["x"]));
    breaks(&pooled([pod("p")]), &plan([wanting]), &[Rule::ClaimLabel]);
    let mut refusing = claim("n", &["p"]);
    refusing.requirements.push(requirement("team", Operator::DoesNotExist, &[]));
    allows(&pooled([pod("p")]), &plan([refusing]));
}

#[test]
fn a_label_of_the_template_is_not_contradicted() {
    let template =
        NodeClaimTemplate { labels: labels(&[("team", "x")]), ..NodeClaimTemplate::default() };
    let cluster = cluster([pod("p").selecting("team", "x")]).with_node_pools([pool_of(template)]);
    allows(&cluster, &plan([claim("n", &["p"])]));
    let other = PlannedNodeClaim { labels: labels(&[("team", "y")]), ..claim("n", &["p"]) };
    breaks(&cluster, &plan([other]), &[Rule::TypeRequirements]);
}

#[test]
fn min_values_count_distinct_values_unless_best_effort_will_do() {
    let two =
        Requirement { min_values: Some(2), ..requirement(INSTANCE_TYPE, Operator::Exists, &[]) };
    let mut cluster = with_pool(pool_requiring(vec![two]));
    allows(&cluster, &plan([types(&["small", "big"])]));
    breaks(&cluster, &plan([types(&["small"])]), &[Rule::MinValues]);
    cluster.settings.min_values_policy = MinValuesPolicy::BestEffort;
    allows(&cluster, &plan([types(&["small"])]));
}

#[test]
fn the_offering_is_of_a_listed_type_and_exists() {
    let cluster = pooled([pod("p")]);
    let mut unlisted = types(&["big"]);
    unlisted.offering = types(&["small"]).offering;
    breaks(&cluster, &plan([unlisted]), &[Rule::OfferingType]);
    let mut nowhere = types(&["small"]);
    nowhere.offering.zone = "c".into(); // there is no spot capacity in c
    breaks(&cluster, &plan([nowhere]), &[Rule::OfferingUnknown]);
}

#[test]
fn the_offering_is_available_and_allowed() {
    let cluster = pooled([pod("p")]);
    let mut sold_out = on_demand(&["gpu"]);
    sold_out.requirements.clear();
    sold_out.offering.zone = "b".into();
    sold_out.offering.capacity_type = CapacityType::Spot;
    breaks(&cluster, &plan([sold_out]), &[Rule::OfferingUnavailable]);
    let mut elsewhere = types(&["small"]);
    elsewhere.offering.zone = "b".into();
    breaks(&cluster, &plan([elsewhere]), &[Rule::OfferingRequirements]);
}

#[test]
fn the_offering_is_quoted_at_its_price() {
    let mut cheap = types(&["small"]);
    cheap.offering.price = usd(0.01);
    breaks(&pooled([pod("p")]), &plan([cheap]), &[Rule::OfferingPrice]);
}

#[test]
fn the_offering_is_the_cheapest_and_types_are_in_order() {
    let cluster = pooled([pod("p")]);
    let mut dear = on_demand(&["small"]);
    dear.requirements.retain(|requirement| &*requirement.key != CAPACITY_TYPE);
    breaks(&cluster, &plan([dear]), &[Rule::OfferingNotCheapest, Rule::OfferingsCapacityType]);
    let mut unordered = types(&["small", "big"]);
    unordered.instance_types.reverse();
    breaks(&cluster, &plan([unordered]), &[Rule::TypesOrder]);
    allows(&cluster, &plan([on_demand(&["small", "arm", "big"])]));
}

#[test]
fn a_reservation_is_not_used_beyond_its_instances() {
    let held =
        |name: &str, pod: &str| claim_in(name, &[pod], &["held"], "a", CapacityType::Reserved);
    let cluster = pooled(pods("p", 2, |pod| pod));
    let once = plan([held("n", "p0"), claim("m", &["p1"])]);
    allows(&cluster, &once);
    breaks(&cluster, &plan([held("n", "p0"), held("m", "p1")]), &[Rule::Reservation]);
}

fn overlay(name: &str, weight: u32, price: f64) -> NodeOverlay {
    NodeOverlay {
        name: name.into(),
        requirements: vec![requirement(INSTANCE_TYPE, Operator::In, &["big"])],
        price: Some(PriceChange::Absolute(usd(price))),
        capacity: Resources::new(),
        weight,
    }
}

fn quoted(price: f64) -> Plan {
    let mut claim = types(&["big"]);
    claim.offering.price = usd(price);
    claim.offerings[0].price = usd(price);
    plan([claim])
}

#[test]
fn the_heaviest_overlay_sets_the_price_while_the_feature_is_on() {
    let mut cluster = pooled([pod("p")])
        .with_node_overlays([overlay("light", 1, 0.01), overlay("heavy", 5, 0.03)]);
    allows(&cluster, &quoted(0.03));
    breaks(&cluster, &quoted(0.01), &[Rule::OfferingPrice]);
    breaks(&cluster, &quoted(0.08), &[Rule::OfferingPrice]);
    cluster.settings.feature_gates.node_overlay = false;
    allows(&cluster, &quoted(0.08));
}

#[test]
fn overlays_of_one_weight_leave_the_price_open() {
    let cluster =
        pooled([pod("p")]).with_node_overlays([overlay("one", 1, 0.01), overlay("other", 1, 0.03)]);
    for price in [0.01, 0.03, 0.08] {
        allows(&cluster, &quoted(price));
    }
    breaks(&cluster, &quoted(0.02), &[Rule::OfferingPrice]);
}

#[test]
fn an_overlay_may_add_devices() {
    let device = |amount| NodeOverlay {
        price: None,
        capacity: Resources::new().with(GPU, amount),
        ..overlay("devices", 1, 0.0)
    };
    let cluster = |amount| pooled([pod("p").asking(GPU, 2)]).with_node_overlays([device(amount)]);
    allows(&cluster(2), &quoted(0.08));
    breaks(&cluster(1), &quoted(0.08), &[Rule::Fit]);
}

#[test]
fn huge_pages_of_an_overlay_leave_less_memory() {
    let half = 8 << 30;
    let pages = NodeOverlay {
        price: None,
        capacity: Resources::new().with("hugepages-1Gi", half),
        ..overlay("pages", 1, 0.0)
    };
    let cluster =
        |memory| pooled([pod("p").asking(MEMORY, memory)]).with_node_overlays([pages.clone()]);
    allows(&cluster(half), &quoted(0.08));
    breaks(&cluster(half + 1), &quoted(0.08), &[Rule::Fit]);
}

#[test]
fn limits_hold_for_the_largest_listed_type_and_for_nodes_that_exist() {
    let limited = |cpu| NodePool { limits: Resources::new().with(CPU, cpu), ..pool() };
    allows(&with_pool(limited(2000)), &plan([types(&["small"])]));
    breaks(&with_pool(limited(2000)), &plan([types(&["small", "big"])]), &[Rule::Limits]);
    let with_node = |cpu| with_pool(limited(cpu)).with_nodes([node("e", "small", "a")]);
    allows(&with_node(4000), &plan([types(&["small"])]));
    breaks(&with_node(3999), &plan([types(&["small"])]), &[Rule::Limits]);
    // A plan that adds nothing is not held responsible for what is there.
    allows(&with_node(1000), &Plan { unschedulable: vec![unschedulable("p")], ..Plan::default() });
}

#[test]
fn limits_may_count_nodes() {
    let cluster = |nodes| {
        with_pool(NodePool { limits: Resources::new().with(NODES, nodes), ..pool() })
            .with_nodes([node("e", "small", "a")])
    };
    allows(&cluster(2), &plan([types(&["small"])]));
    breaks(&cluster(1), &plan([types(&["small"])]), &[Rule::Limits]);
}

#[test]
fn a_lower_bound_is_not_above_what_the_plan_costs() {
    let bounded = |price| Plan {
        totals: Totals { lower_bound: Some(usd(price)), ..Totals::default() },
        ..plan([types(&["small"])])
    };
    allows(&pooled([pod("p")]), &bounded(0.02));
    breaks(&pooled([pod("p")]), &bounded(0.03), &[Rule::LowerBound]);
}

#[test]
fn node_selectors_hold_on_everything_that_may_be_launched() {
    let in_a = pooled([pod("p").selecting(ZONE, "a")]);
    allows(&in_a, &plan([claim("n", &["p"])]));
    breaks(&in_a, &plan([in_any_zone(claim("n", &["p"]))]), &[Rule::NodeAffinity]);
    let amd = pooled([pod("p").selecting(ARCH, "amd64")]);
    breaks(&amd, &plan([on_demand(&["small", "arm"])]), &[Rule::NodeAffinity]);
    allows(&amd, &plan([on_demand(&["small"])]));
}

#[test]
fn terms_of_node_affinity_may_cover_all_zones_together() {
    let zone = |name: &str| vec![requirement(ZONE, Operator::In, &[name])];
    let either = pooled([pod("p").requiring(vec![zone("a"), zone("b")])]);
    let open = plan([in_any_zone(claim("n", &["p"]))]);
    allows(&either, &open);
    breaks(&pooled([pod("p").requiring(vec![zone("a"), zone("c")])]), &open, &[Rule::NodeAffinity]);
    breaks(&pooled([pod("p").requiring(vec![])]), &open, &[Rule::NodeAffinity]);
}

#[test]
fn taints_of_a_claim_are_tolerated() {
    let template = NodeClaimTemplate { taints: vec![taint()], ..NodeClaimTemplate::default() };
    let cluster = |pod| cluster([pod]).with_node_pools([pool_of(template.clone())]);
    let plan = plan([PlannedNodeClaim { taints: vec![taint()], ..claim("n", &["p"]) }]);
    allows(&cluster(pod("p").tolerating_everything()), &plan);
    breaks(&cluster(pod("p")), &plan, &[Rule::Taint]);
}

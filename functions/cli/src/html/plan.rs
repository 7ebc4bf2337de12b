//! A plan as a page.

use domain::money::UsdPerHour;
use domain::plan::{
    BlockedNode, Placement, Plan, PlannedDisruption, PlannedNodeClaim, Totals, UnschedulablePod,
};
use domain::snapshot::ClusterSnapshot;
use maud::{Markup, html};

use crate::html::node_table::node_table;
use crate::html::page::{Page, count, figure, fold};
use crate::html::planned;
use crate::text::plan::idle;
use crate::view::blocked::{self, BlockedGroup};
use crate::view::committed::Percent;
use crate::view::money::{Monthly, Savings};
use crate::view::node_row;
use crate::view::pod_names::{PodNames, counted};
use crate::view::pricing::PriceNote;
use crate::view::unschedulable::groups;
use crate::view::virtual_pods::{VirtualPodPlacements, VirtualPods, listed, share, sum};

/// The whole plan; `cluster` is its name, where one was given. Rules that the plan breaks come
/// first.
pub(crate) fn plan(
    snapshot: &ClusterSnapshot,
    plan: &Plan,
    prices: &PriceNote,
    cluster: Option<&str>,
    violations: &[String],
) -> Result<String, serde_json::Error> {
    let Plan {
        node_claims,
        placements,
        unschedulable,
        disruptions,
        blocked,
        awaiting_budget: _,
        candidates: _,
        virtual_pods: _,
        totals,
        committed: _,
        figures: _,
    } = plan;
    let data = planned::data("plan", snapshot, plan);
    let subject = cluster.map_or_else(|| "Plan".to_owned(), |name| format!("Plan for {name}"));
    let rows = node_row::rows(snapshot, plan);
    let virtual_pods = VirtualPodPlacements::of(plan);
    let lead = html! {
        p.about { "What one tick would do at " (snapshot.now) "." }
        @if !violations.is_empty() {
            h2.bad { "Broken rules" }
            p { "This plan is wrong, and the functions would not carry it out." }
            ul { @for violation in violations { li { (violation) } } }
        }
        (figures(plan, totals))
        p.soft { "Dollars are " (prices) "." }
        @let without = node_row::without_price(&rows);
        @if !without.is_empty() {
            p.soft {
                "Without " (counted(without.len(), "node")) " that the catalogue does not price: "
                (without.join(", ")) "."
            }
        }
        (without_place(unschedulable))
    };
    let tables = html! {
        @if !rows.is_empty() { (fold("Nodes", "as the plan leaves them", &node_table(&rows))) }
        (launches(node_claims, &virtual_pods))
        (places(placements))
        (reserves(&virtual_pods))
        (taken_away(disruptions))
        (left_alone(blocked))
    };
    let result = result(plan, rows.is_empty());
    Page { command: "plan", subject: &subject, result: &result, lead, tables, data: &data }.render()
}

/// The plan in a sentence.
fn result(plan: &Plan, has_no_node: bool) -> String {
    if let Some(idle) = idle(plan, has_no_node) {
        return idle.trim_end_matches('.').to_owned();
    }
    let Totals { hourly_before, hourly_after, .. } = &plan.totals;
    let replacements = plan.disruptions.iter().map(|own| own.replacements.len()).sum::<usize>();
    let launched = plan.node_claims.len() + replacements;
    let gone = plan.disruptions.iter().map(|own| own.nodes.len()).sum::<usize>();
    let mut parts = Vec::new();
    if launched > 0 {
        parts.push(format!("{} launched", counted(launched, "node")));
    }
    if gone > 0 {
        parts.push(format!("{} taken away", counted(gone, "node")));
    }
    if !plan.placements.is_empty() {
        let pods = counted(plan.placements.len(), "pod");
        parts.push(format!("{pods} placed on nodes there are"));
    }
    if !plan.unschedulable.is_empty() {
        parts.push(format!("{} without a place", counted(plan.unschedulable.len(), "pod")));
    }
    let money = if hourly_before == hourly_after {
        format!("{} a month as before", Monthly(*hourly_after))
    } else {
        format!("From {} to {} a month", Monthly(*hourly_before), Monthly(*hourly_after))
    };
    if parts.is_empty() { money } else { format!("{money}: {}", parts.join(", ")) }
}

fn figures(plan: &Plan, totals: &Totals) -> Markup {
    let Totals { pending_pods, hourly_before, hourly_after, lower_bound } = totals;
    let waited = usize::try_from(*pending_pods).unwrap_or(usize::MAX);
    let is_launching = !plan.node_claims.is_empty();
    let bound = lower_bound.filter(|own| is_launching && *own > UsdPerHour::ZERO);
    html! {
        div.figures {
            (figure(&Monthly(*hourly_before).to_string(), &format!("a month before ({hourly_before})")))
            (figure(&Monthly(*hourly_after).to_string(), &format!("a month after ({hourly_after})")))
            @if let Some(own) = &plan.committed {
                (figure(&own.after.covered.to_string(), "covered by commitments after"))
                @for own in &own.after.commitments {
                    (figure(&Percent(own.per_mille()).to_string(), &format!("of {} used", own.name)))
                }
            }
            (count(waited, ["pod waited", "pods waited"]))
            (count(plan.unschedulable.len(), ["has no place", "have no place"]))
            @if let Some(bound) = bound {
                (figure(&bound.to_string(), "of new capacity at least, whatever the plan"))
            }
        }
    }
}

fn launches(claims: &[PlannedNodeClaim], virtual_pods: &VirtualPodPlacements<'_>) -> Markup {
    html! {
        @if !claims.is_empty() {
            (fold("Launch", &counted(claims.len(), "node"), &html! {
                @for claim in claims { (launch(claim, virtual_pods.at(&claim.name))) }
            }))
        }
    }
}

fn launch(claim: &PlannedNodeClaim, virtual_pods: &[VirtualPods<'_>]) -> Markup {
    let offering = &claim.offering;
    let others = claim.instance_types.iter().filter(|name| **name != offering.instance_type);
    let others: Vec<&str> = others.map(|name| &**name).collect();
    html! {
        div.card {
            span.name { (claim.name) } " "
            b { (offering.instance_type) } " " (offering.capacity_type) " in " (offering.zone) ", "
            (offering.price)
            @if !others.is_empty() { p.soft { "or " (others.join(", ")) } }
            p {
                (counted(claim.pods.len() + sum(virtual_pods), "pod"))
                (share(claim.pods.len(), virtual_pods))
                @if !claim.pods.is_empty() { ": " (PodNames(&claim.pods)) }
            }
        }
    }
}

fn places(placements: &[Placement]) -> Markup {
    html! {
        @if !placements.is_empty() {
            @let beside = format!("{} on nodes there are", counted(placements.len(), "pod"));
            (fold("Place", &beside, &html! {
                div.card {
                    ul {
                        @for Placement { pod, node } in placements {
                            li { (pod) " on " span.name { (node) } }
                        }
                    }
                }
            }))
        }
    }
}

fn reserves(virtual_pods: &VirtualPodPlacements<'_>) -> Markup {
    let (on_nodes, without) = (virtual_pods.on_nodes(), virtual_pods.without_room());
    html! {
        @if !on_nodes.is_empty() || !without.is_empty() {
            h2 { "Reserve" small { "room for pods to come, on nodes there are" } }
            div.card {
                ul {
                    @for (node, groups) in on_nodes {
                        li { span.name { (node) } " " (listed(groups)) }
                    }
                    @for group in without { li.warn { "no room for " (group) } }
                }
            }
        }
    }
}

fn taken_away(disruptions: &[PlannedDisruption]) -> Markup {
    html! {
        @if !disruptions.is_empty() {
            h2 { "Disrupt" }
            @for PlannedDisruption { reason, nodes, pods, replacements, moves, savings } in disruptions {
                div.card {
                    span.name { (nodes.join(", ")) } " " b { (reason) } " "
                    @let savings = Savings(*savings);
                    span class=(if savings.is_cost() { "warn" } else { "good" }) { (savings) }
                    @if !pods.is_empty() {
                        p { (counted(pods.len(), "pod")) " to move: " (PodNames(pods)) }
                    }
                    @for Placement { pod, node } in moves {
                        p.soft { (pod) " to " span.name { (node) } }
                    }
                    @for claim in replacements { (launch(claim, &[])) }
                }
            }
        }
    }
}

fn left_alone(blocked: &[BlockedNode]) -> Markup {
    html! {
        @if !blocked.is_empty() {
            (fold("Keep", &counted(blocked::nodes(blocked), "node"), &html! {
                div.card {
                    ul {
                        @for BlockedGroup { nodes, reason } in blocked::groups(blocked) {
                            li { span.name { (nodes.join(", ")) } " " (reason) }
                        }
                    }
                }
            }))
        }
    }
}

fn without_place(unschedulable: &[UnschedulablePod]) -> Markup {
    let (expendable, others): (Vec<UnschedulablePod>, Vec<UnschedulablePod>) =
        unschedulable.iter().cloned().partition(UnschedulablePod::is_expendable);
    html! {
        @if !others.is_empty() {
            h2.bad { "Unschedulable" small { (counted(others.len(), "pod")) } }
            (waiting(&others))
        }
        @if !expendable.is_empty() {
            h2 { "Expendable" small { (counted(expendable.len(), "pod")) } }
            (waiting(&expendable))
        }
    }
}

fn waiting(pods: &[UnschedulablePod]) -> Markup {
    html! {
        @if !pods.is_empty() {
            @for group in groups(pods) {
                div.card {
                    (PodNames(&group.pods))
                    ul { @for reason in group.reasons { li { (reason) } } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn page(plan: &Plan, cluster: Option<&str>, broken: &[String]) -> String {
        super::plan(&testing::snapshot(), plan, &testing::price_note(), cluster, broken).unwrap()
    }

    #[test]
    fn every_name_is_escaped() {
        let mut hostile = testing::plan();
        hostile.blocked[0].node = "<script>alert(1)</script>".into();
        let page = page(&hostile, Some("a & b"), &[]);
        assert!(!page.contains("<script>alert"));
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        assert!(page.contains("Plan for a &amp; b"));
    }

    #[test]
    fn the_first_heading_is_the_result_in_a_sentence() {
        let result = "<h1>From $147.17 to $125.71 a month: 2 nodes launched, 1 node taken away, 1 pod \
                      placed on nodes there are, 1 pod without a place</h1>";
        assert!(page(&testing::plan(), None, &[]).contains(result));
        assert!(
            page(&Plan::default(), None, &[]).contains("<h1>Nothing to do: no pod waits, and no")
        );
    }

    #[test]
    fn rules_that_the_plan_breaks_come_first() {
        let broken = ["limits: too many nodes".to_owned()];
        let own = page(&testing::plan(), None, &broken);
        let place = |text: &str| own.find(text).unwrap();
        assert!(place("limits: too many nodes") < place("a month before"));
        assert!(!page(&testing::plan(), None, &[]).contains("Broken rules"));
    }

    #[test]
    fn virtual_pods_are_shown_apart() {
        let page = page(&testing::plan_with_virtual_pods(), None, &[]);
        for part in [
            "4 pods, of which 3 virtual, for CapacityBuffer default/spare and ScaledObject default/evening",
            "1 virtual pod of ScaledObject default/evening",
            "no room for 1 virtual pod of CapacityBuffer default/spare",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn the_page_shows_every_part_of_the_plan() {
        let page = page(&testing::plan(), None, &[]);
        for part in ["default-x7k2p", "default-b2c3d", "ip-10-0-0-7", "default/huge", "$147.17"] {
            assert!(page.contains(part), "{part}");
        }
    }
}

//! A plan as text: launches, placements, disruptions, blocked nodes, and the cost.

use std::collections::BTreeMap;

use domain::money::UsdPerHour;
use domain::plan::{
    BlockedNode, CommittedTotals, Placement, Plan, PlannedDisruption, PlannedNodeClaim, Totals,
    UnschedulablePod,
};
use domain::pod::PodKey;
use domain::snapshot::ClusterSnapshot;

use crate::terminal::Canvas;
use crate::text::layout::wrapped;
use crate::text::node_table::node_table;
use crate::text::page::Page;
use crate::text::paint::Role;
use crate::view::amounts::Amounts;
use crate::view::blocked::{self, BlockedGroup};
use crate::view::committed::{covered_line, use_lines};
use crate::view::money::{Monthly, Savings};
use crate::view::node_row::{self, NodeRow};
use crate::view::pod_names::{PodNames, counted};
use crate::view::pricing::PriceNote;
use crate::view::spot::{PassedOver, Remembered};
use crate::view::unschedulable::groups;
use crate::view::virtual_pods::{VirtualPodPlacements, VirtualPods, listed, share, sum};

/// Instance types shown of a claim that may become any of many.
const TYPES_SHOWN_MAX: usize = 4;

/// The whole plan, and what is to be said beside dollars.
pub(crate) fn plan(
    snapshot: &ClusterSnapshot,
    plan: &Plan,
    prices: &PriceNote,
    canvas: Canvas,
) -> String {
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
    let mut page = Page::new(canvas);
    let rows = node_row::rows(snapshot, plan);
    if let Some(idle) = idle(plan, rows.is_empty()) {
        page.line(idle);
        page.line("");
    }
    let virtual_pods = VirtualPodPlacements::of(plan);
    launches(&mut page, node_claims, &virtual_pods, &rows);
    places(&mut page, placements);
    reserves(&mut page, &virtual_pods);
    taken_away(&mut page, disruptions);
    left_alone(&mut page, blocked);
    without_place(&mut page, unschedulable);
    if !rows.is_empty() {
        page.heading("NODES", "");
        page.line(node_table(&rows, canvas));
        page.line("");
    }
    cost(&mut page, totals, plan);
    let without = node_row::without_price(&rows);
    if !without.is_empty() {
        page.faint(format!(
            "  without {} that the catalogue does not price: {}",
            counted(without.len(), "node"),
            without.join(", ")
        ));
    }
    page.faint(format!("  {prices}"));
    page.into_text()
}

/// What is said, once, of a plan that does nothing and of which no pod complains.
pub(crate) fn idle(plan: &Plan, has_no_node: bool) -> Option<&'static str> {
    let is_idle = plan.node_claims.is_empty()
        && plan.placements.is_empty()
        && plan.virtual_pods.is_empty()
        && plan.unschedulable.is_empty()
        && plan.disruptions.is_empty();
    is_idle.then_some(if has_no_node {
        "Nothing to do: no pod waits and there is no node."
    } else {
        "Nothing to do: no pod waits, and no node goes."
    })
}

fn launches(
    page: &mut Page,
    claims: &[PlannedNodeClaim],
    virtual_pods: &VirtualPodPlacements<'_>,
    rows: &[NodeRow],
) {
    if claims.is_empty() {
        return;
    }
    let price = claims.iter().map(|claim| claim.offering.price).sum::<UsdPerHour>();
    page.heading("LAUNCH", &format!("{} for {price}", counted(claims.len(), "node")));
    for claim in claims {
        launch(page, claim, virtual_pods.at(&claim.name), PodNaming::Named, "  ");
        let row = rows.iter().rev().find(|row| row.name == claim.name);
        if let Some(spot) = row.and_then(|row| row.spot) {
            page.faint(format!("    {}", Remembered(spot)));
        }
        if let Some(passed_over) = row.and_then(|row| row.spot_passed_over.as_ref()) {
            page.faint(format!("    {}", PassedOver(passed_over)));
        }
    }
    page.line("");
}

/// What is written of the pods of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PodNaming {
    /// How many they are, and their names.
    Named,
    /// How many they are: their names stand beside the text.
    Counted,
}

/// One claim: what it is priced at, what else it may become, and its pods, virtual ones apart.
pub(crate) fn launch(
    page: &mut Page,
    claim: &PlannedNodeClaim,
    virtual_pods: &[VirtualPods<'_>],
    naming: PodNaming,
    indent: &str,
) {
    let offering = &claim.offering;
    let line = format!(
        "{indent}{}  {} {} in {}  {}",
        page.paint(Role::Name, &claim.name),
        offering.instance_type,
        offering.capacity_type,
        offering.zone,
        offering.price,
    );
    page.line(line);
    let others: Vec<&str> = claim
        .instance_types
        .iter()
        .map(|name| &**name)
        .filter(|name| *name != &*offering.instance_type)
        .collect();
    if !others.is_empty() {
        let shown = others.iter().take(TYPES_SHOWN_MAX).copied().collect::<Vec<_>>().join(", ");
        let more = others.len().saturating_sub(TYPES_SHOWN_MAX);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let line = format!("{indent}  or {shown}{more}");
        page.faint(line);
    }
    let real = claim.pods.len();
    let pods = format!(
        "{indent}  {} ({}){}",
        counted(real + sum(virtual_pods), "pod"),
        Amounts(&claim.requests),
        share(real, virtual_pods),
    );
    let names = match naming {
        PodNaming::Named if real > 0 => format!(": {}", PodNames(&claim.pods)),
        PodNaming::Named | PodNaming::Counted => String::new(),
    };
    page.line(pods + &names);
}

fn places(page: &mut Page, placements: &[Placement]) {
    if placements.is_empty() {
        return;
    }
    page.heading("PLACE", &format!("{} on nodes there are", counted(placements.len(), "pod")));
    for (node, pods) in by_node(placements) {
        let node = page.paint(Role::Name, page.node_name(node));
        let line = format!("  {node}  {}", PodNames(&pods));
        page.line(line);
    }
    page.line("");
}

/// Virtual pods on nodes that exist, and virtual pods that nothing can host.
fn reserves(page: &mut Page, virtual_pods: &VirtualPodPlacements<'_>) {
    let on_nodes = virtual_pods.on_nodes();
    if !on_nodes.is_empty() {
        let count = counted(sum(on_nodes.iter().flat_map(|(_, groups)| *groups)), "virtual pod");
        page.heading("RESERVE", &format!("{count} on nodes there are"));
        for (node, groups) in on_nodes {
            let node = page.paint(Role::Name, page.node_name(node));
            let line = format!("  {node}  {}", listed(groups));
            page.line(line);
        }
        page.line("");
    }
    let without = virtual_pods.without_room();
    if !without.is_empty() {
        let head = page.paint(Role::Warning, "NO ROOM");
        page.heading(&head, &counted(sum(without), "virtual pod"));
        for group in without {
            page.line(format!("  {group}"));
        }
        page.line("");
    }
}

/// Pods by the node they go to, both sorted.
fn by_node(placements: &[Placement]) -> BTreeMap<&str, Vec<PodKey>> {
    let mut by_node = BTreeMap::<&str, Vec<PodKey>>::new();
    for Placement { pod, node } in placements {
        by_node.entry(node).or_default().push(pod.clone());
    }
    by_node
}

fn taken_away(page: &mut Page, disruptions: &[PlannedDisruption]) {
    if disruptions.is_empty() {
        return;
    }
    let nodes = disruptions.iter().map(|disruption| disruption.nodes.len()).sum();
    page.heading("DISRUPT", &counted(nodes, "node"));
    for taken in disruptions {
        disruption(page, taken, "  ");
    }
    page.line("");
}

/// One disruption: the nodes, what it saves, where their pods go and what replaces them.
pub(crate) fn disruption(page: &mut Page, disruption: &PlannedDisruption, indent: &str) {
    let PlannedDisruption { reason, nodes, pods, replacements, moves, savings } = disruption;
    let savings = Savings(*savings);
    let role = if savings.is_cost() { Role::Warning } else { Role::Good };
    let money = page.paint(role, savings);
    let names: Vec<&str> = nodes.iter().map(|node| page.node_name(node)).collect();
    let line = format!("{indent}{}  {reason}  {money}", page.paint(Role::Name, names.join(", ")));
    page.line(line);
    if !pods.is_empty() {
        page.line(format!("{indent}  {} to move: {}", counted(pods.len(), "pod"), PodNames(pods)));
    }
    for (node, pods) in by_node(moves) {
        page.line(format!("{indent}  to {}: {}", page.node_name(node), PodNames(&pods)));
    }
    if !replacements.is_empty() {
        page.line(format!("{indent}  replaced by"));
        for claim in replacements {
            launch(page, claim, &[], PodNaming::Named, &format!("{indent}    "));
        }
    }
}

fn left_alone(page: &mut Page, blocked: &[BlockedNode]) {
    if blocked.is_empty() {
        return;
    }
    let kept = counted(blocked::nodes(blocked), "node");
    page.heading("KEEP", &format!("{kept} that could otherwise go"));
    for BlockedGroup { nodes, reason } in blocked::groups(blocked) {
        if let [node] = nodes.as_slice() {
            let line = format!("  {}  {reason}", page.paint(Role::Name, page.node_name(node)));
            page.line(line);
            continue;
        }
        page.line(format!("  each of {}: {reason}", counted(nodes.len(), "node")));
        let names: Vec<&str> = nodes.iter().map(|node| page.node_name(node)).collect();
        for line in wrapped(&names, 4, page.canvas()) {
            let line = page.paint(Role::Name, line);
            page.line(line);
        }
    }
    page.line("");
}

fn without_place(page: &mut Page, unschedulable: &[UnschedulablePod]) {
    let (expendable, others): (Vec<UnschedulablePod>, Vec<UnschedulablePod>) =
        unschedulable.iter().cloned().partition(UnschedulablePod::is_expendable);
    let head = page.paint(Role::Bad, "UNSCHEDULABLE");
    waiting(page, &head, &others);
    waiting(page, "EXPENDABLE", &expendable);
}

fn waiting(page: &mut Page, head: &str, pods: &[UnschedulablePod]) {
    if pods.is_empty() {
        return;
    }
    page.heading(head, &counted(pods.len(), "pod"));
    for group in groups(pods) {
        page.line(format!("  {}", PodNames(&group.pods)));
        for reason in group.reasons {
            page.line(format!("    {reason}"));
        }
    }
    page.line("");
}

fn cost(page: &mut Page, totals: &Totals, plan: &Plan) {
    let Totals { pending_pods, hourly_before, hourly_after, lower_bound } = totals;
    let role = if hourly_after < hourly_before { Role::Good } else { Role::Name };
    page.heading("COST", "");
    if hourly_after == hourly_before {
        let month = Monthly(*hourly_before);
        page.line(format!("  {hourly_before}  {month} a month, before and after"));
        return commitments(page, totals, plan);
    }
    page.line(format!("  before  {hourly_before}  {} a month", Monthly(*hourly_before)));
    let after = format!("  after   {hourly_after}  {} a month", Monthly(*hourly_after));
    page.line(page.paint(role, after));
    commitments(page, totals, plan);
    let pending = usize::try_from(*pending_pods).unwrap_or(usize::MAX);
    let placed = pending.saturating_sub(plan.unschedulable.len());
    // Where nothing is launched there is nothing to be better at, and a bound of zero says nothing.
    let is_worth_saying = placed > 0 && !plan.node_claims.is_empty();
    let bound = lower_bound.filter(|own| is_worth_saying && *own > UsdPerHour::ZERO);
    if let Some(bound) = bound {
        let pods = if placed == 1 { "pod".to_owned() } else { counted(placed, "pod") };
        let beyond = if plan.committed.is_some() { " beyond commitments" } else { "" };
        page.faint(format!(
            "  No plan could place the {pods} for less than {bound} of new capacity{beyond}."
        ));
    }
}

/// What commitments cover, where any holds.
fn commitments(page: &mut Page, totals: &Totals, plan: &Plan) {
    let Some(CommittedTotals { before, after }) = &plan.committed else { return };
    page.line(format!("  {}", covered_line(after, totals.hourly_after)));
    // Where nothing ran nothing was covered.
    if before.covered != after.covered && totals.hourly_before > UsdPerHour::ZERO {
        page.line(format!("  before  {}", covered_line(before, totals.hourly_before)));
    }
    for line in use_lines(after, Some(before)) {
        page.line(format!("  {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_plan_shows_every_action_with_its_reason() {
        insta::assert_snapshot!(plan(
            &testing::snapshot(),
            &testing::plan(),
            &testing::price_note(),
            Canvas::PLAIN
        ));
    }

    #[test]
    fn virtual_pods_are_shown_apart() {
        let with = plan(
            &testing::snapshot(),
            &testing::plan_with_virtual_pods(),
            &testing::price_note(),
            Canvas::PLAIN,
        );
        let now =
            plan(&testing::snapshot(), &testing::plan(), &testing::price_note(), Canvas::PLAIN);
        let lines: Vec<&str> = with.lines().filter(|line| !now.contains(line)).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn colour_is_the_only_difference_on_a_terminal() {
        let canvas = Canvas { color: true, width: None };
        let coloured = plan(&testing::snapshot(), &testing::plan(), &testing::price_note(), canvas);
        let plain =
            plan(&testing::snapshot(), &testing::plan(), &testing::price_note(), Canvas::PLAIN);
        let coloured = crate::visible::for_terminal(&coloured);
        assert!(coloured.contains("\x1b["));
        let stripped = anstream::adapter::strip_str(&coloured).to_string();
        // The last column of a table is padded to its width where it is styled.
        let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(trimmed(&stripped), trimmed(&plain));
    }

    #[test]
    fn a_narrow_terminal_is_not_overrun_by_the_table() {
        let canvas = Canvas { color: false, width: Some(100) };
        let text = plan(&testing::snapshot(), &testing::plan(), &testing::price_note(), canvas);
        let table = text.lines().skip_while(|line| !line.starts_with("NODES")).skip(1);
        for line in table.take_while(|line| !line.is_empty()) {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }

    #[test]
    fn that_there_is_nothing_to_do_is_said_once() {
        let mut idle = Plan { totals: testing::plan().totals, ..Plan::default() };
        idle.totals.hourly_after = idle.totals.hourly_before;
        let text = plan(&testing::snapshot(), &idle, &testing::price_note(), Canvas::PLAIN);
        assert!(text.starts_with("Nothing to do: no pod waits, and no node goes.\n"), "{text}");
        let cost = text.lines().skip_while(|line| *line != "COST").nth(1).unwrap();
        assert!(cost.ends_with("a month, before and after"), "{cost}");
        for section in ["LAUNCH", "PLACE", "DISRUPT", "KEEP", "UNSCHEDULABLE"] {
            assert!(!text.contains(section), "{text}");
        }
    }

    #[test]
    fn a_bound_of_zero_is_left_unsaid() {
        let mut bounded = testing::plan();
        let text_of =
            |own: &Plan| plan(&testing::snapshot(), own, &testing::price_note(), Canvas::PLAIN);
        assert!(text_of(&bounded).contains("No plan could place"), "{}", text_of(&bounded));
        bounded.totals.lower_bound = Some(UsdPerHour::ZERO);
        assert!(!text_of(&bounded).contains("No plan could place"), "{}", text_of(&bounded));
    }

    #[test]
    fn a_replacement_that_costs_more_is_not_told_as_a_saving() {
        let mut dearer = testing::plan();
        dearer.disruptions[0].savings = UsdPerHour::from_nanos(-100_000_000);
        let text = plan(&testing::snapshot(), &dearer, &testing::price_note(), Canvas::PLAIN);
        assert!(text.contains("costs $0.1000/h more ($73.00 a month)"), "{text}");
        assert!(!text.contains("-$"), "{text}");
    }

    #[test]
    fn names_are_as_short_as_in_the_table_on_a_terminal_and_whole_elsewhere() {
        let mut kept = testing::plan();
        let name = |host: &str| format!("{host}.eu-west-1.compute.internal");
        let blocked = |host: &str| BlockedNode {
            node: name(host).into(),
            reason: domain::reason::NotDisruptable::Nominated,
        };
        kept.blocked = (0..9).map(|index| blocked(&format!("ip-10-0-10-{index}"))).collect();
        let canvas = Canvas { color: false, width: Some(80) };
        let on_terminal = plan(&testing::snapshot(), &kept, &testing::price_note(), canvas);
        assert!(!on_terminal.contains(".compute.internal"), "{on_terminal}");
        let keep = on_terminal.lines().skip_while(|line| !line.starts_with("KEEP"));
        for line in keep.take_while(|line| !line.is_empty()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        let whole = plan(&testing::snapshot(), &kept, &testing::price_note(), Canvas::PLAIN);
        assert!(whole.contains(&name("ip-10-0-10-8")), "{whole}");
    }

    #[test]
    fn an_empty_cluster_has_nothing_to_do() {
        let snapshot = ClusterSnapshot::empty(testing::now());
        let text = plan(&snapshot, &Plan::default(), &testing::price_note(), Canvas::PLAIN);
        assert!(text.starts_with("Nothing to do"), "{text}");
    }
}

//! A plan for people: what would be launched, placed, disrupted and left, and what it comes to.

use std::fmt::Write as _;

use domain::plan::{
    BlockedNode, Placement, Plan, PlannedDisruption, PlannedNodeClaim, Totals, UnschedulablePod,
};
use domain::pod::PodKey;
use domain::resource::{PODS, ShownAmount};
use domain::snapshot::ClusterSnapshot;

use crate::terminal::Canvas;
use crate::text::node_table::node_table;
use crate::text::paint::{Role, paint};
use crate::view::money::Monthly;
use crate::view::node_row;
use crate::view::pod_names::{PodNames, counted};
use crate::view::unschedulable::groups;

/// Instance types shown of a claim that may become any of many.
const TYPES_SHOWN_MAX: usize = 4;

/// The whole plan.
pub(crate) fn plan(snapshot: &ClusterSnapshot, plan: &Plan, canvas: Canvas) -> String {
    let Plan { node_claims, placements, unschedulable, disruptions, blocked, totals } = plan;
    let page = &mut Page { text: String::new(), canvas };
    launches(page, node_claims);
    places(page, placements);
    taken_away(page, disruptions);
    left_alone(page, blocked);
    without_place(page, unschedulable);
    let rows = node_row::rows(snapshot, plan);
    if !rows.is_empty() {
        page.heading("NODES", "");
        page.line(node_table(&rows, canvas));
        page.line("");
    }
    if page.text.is_empty() {
        page.line("Nothing to do: no pod waits and there is no node.");
        page.line("");
    }
    sum(page, totals);
    std::mem::take(&mut page.text)
}

/// Text in the making.
struct Page {
    text: String,
    canvas: Canvas,
}

impl Page {
    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    fn heading(&mut self, word: &str, rest: &str) {
        let head = paint(self.canvas, Role::Heading, word);
        self.line(if rest.is_empty() { head } else { format!("{head}  {rest}") });
    }

    fn paint(&self, role: Role, text: impl std::fmt::Display) -> String {
        paint(self.canvas, role, text)
    }
}

fn launches(page: &mut Page, claims: &[PlannedNodeClaim]) {
    if claims.is_empty() {
        return;
    }
    let price = claims.iter().map(|claim| claim.offering.price).sum::<domain::money::UsdPerHour>();
    page.heading("LAUNCH", &format!("{} for {price}", counted(claims.len(), "node")));
    for claim in claims {
        launch(page, claim, "  ");
    }
    page.line("");
}

/// One claim: what it is priced at, what else it may become, and its pods.
fn launch(page: &mut Page, claim: &PlannedNodeClaim, indent: &str) {
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
        page.line(page.paint(Role::Faint, line));
    }
    let mut asked = String::new();
    for (name, amount) in claim.requests.iter().filter(|(name, _)| &***name != PODS) {
        let separator = if asked.is_empty() { "" } else { ", " };
        let _ = write!(asked, "{separator}{name} {}", ShownAmount { name, amount });
    }
    page.line(format!(
        "{indent}  {} ({asked}): {}",
        counted(claim.pods.len(), "pod"),
        PodNames(&claim.pods)
    ));
}

fn places(page: &mut Page, placements: &[Placement]) {
    if placements.is_empty() {
        return;
    }
    page.heading("PLACE", &format!("{} on nodes there are", counted(placements.len(), "pod")));
    for (node, pods) in by_node(placements) {
        let line = format!("  {}  {}", page.paint(Role::Name, node), PodNames(&pods));
        page.line(line);
    }
    page.line("");
}

/// Pods by the node they go to, both sorted.
fn by_node(placements: &[Placement]) -> std::collections::BTreeMap<&str, Vec<PodKey>> {
    let mut by_node = std::collections::BTreeMap::<&str, Vec<PodKey>>::new();
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
    for PlannedDisruption { reason, nodes, pods, replacements, moves, savings } in disruptions {
        let money = if savings.nanos() < 0 {
            page.paint(Role::Warning, format!("costs {} more", domain::money::UsdPerHour::ZERO - *savings))
        } else {
            page.paint(Role::Good, format!("saves {savings} ({} a month)", Monthly(*savings)))
        };
        let line =
            format!("  {}  {reason}  {money}", page.paint(Role::Name, nodes.join(", ")));
        page.line(line);
        if !pods.is_empty() {
            page.line(format!("    {} to move: {}", counted(pods.len(), "pod"), PodNames(pods)));
        }
        for (node, pods) in by_node(moves) {
            page.line(format!("    to {node}: {}", PodNames(&pods)));
        }
        if !replacements.is_empty() {
            page.line("    replaced by");
            for claim in replacements {
                launch(page, claim, "      ");
            }
        }
    }
    page.line("");
}

fn left_alone(page: &mut Page, blocked: &[BlockedNode]) {
    if blocked.is_empty() {
        return;
    }
    page.heading("KEEP", &format!("{} that could otherwise go", counted(blocked.len(), "node")));
    for BlockedNode { node, reason } in blocked {
        let line = format!("  {}  {reason}", page.paint(Role::Name, node));
        page.line(line);
    }
    page.line("");
}

fn without_place(page: &mut Page, unschedulable: &[UnschedulablePod]) {
    if unschedulable.is_empty() {
        return;
    }
    let head = page.paint(Role::Bad, "UNSCHEDULABLE");
    page.heading(&head, &counted(unschedulable.len(), "pod"));
    for group in groups(unschedulable) {
        page.line(format!("  {}", PodNames(&group.pods)));
        for reason in group.reasons {
            page.line(format!("    {reason}"));
        }
    }
    page.line("");
}

fn sum(page: &mut Page, totals: &Totals) {
    let Totals { pending_pods, hourly_before, hourly_after, lower_bound } = totals;
    let role = if hourly_after < hourly_before { Role::Good } else { Role::Name };
    page.heading("COST", "");
    page.line(format!("  before  {hourly_before}  {} a month", Monthly(*hourly_before)));
    let after = format!("  after   {hourly_after}  {} a month", Monthly(*hourly_after));
    page.line(page.paint(role, after));
    if let Some(bound) = lower_bound {
        let pods = usize::try_from(*pending_pods).unwrap_or(usize::MAX);
        let line = format!(
            "  No plan could host the {} for less than {bound} of new capacity.",
            counted(pods, "pending pod")
        );
        page.line(page.paint(Role::Faint, line));
    }
}

//! Everything that a snapshot and its plan say about one pod or one node.

use domain::Text;
use domain::plan::{Plan, PlannedDisruption, PlannedNodeClaim, PlannedVirtualPod};
use domain::pod::{Pod, PodKey, VirtualPodSource};
use domain::snapshot::ClusterSnapshot;
use planning::explain::{ClaimExplanation, PodExplanation, ResidentExplanation};

use crate::terminal::Canvas;
use crate::text::drains;
use crate::text::explanation::{claim_tree, pod_tree};
use crate::text::node_table::node_table;
use crate::text::page::Page;
use crate::text::paint::Role;
use crate::text::plan::{PodNaming, disruption, launch};
use crate::text::resident::resident;
use crate::view::amounts::Amounts;
use crate::view::drains::{DrainRow, drain_rows};
use crate::view::node_row::{NodeRow, NodeState};
use crate::view::pod_names::{PodNames, counted};
use crate::view::virtual_pods::{VirtualPodPlacements, listed};

/// Where a pod is placed and why, or why it is unschedulable.
pub(crate) fn pod(
    known: &Pod,
    plan: &Plan,
    explanation: Option<&PodExplanation>,
    resident: Option<&ResidentExplanation>,
    canvas: Canvas,
) -> String {
    let mut page = Page::new(canvas);
    let beside = if known.virtual_of.is_some() { "virtual" } else { "" };
    page.heading(&format!("POD {}", known.key), beside);
    say_of_pod(&mut page, known, plan, explanation, resident);
    page.into_text()
}

/// What [`pod`] says below its heading.
pub(crate) fn about_pod(
    known: &Pod,
    plan: &Plan,
    explanation: Option<&PodExplanation>,
    resident: Option<&ResidentExplanation>,
    canvas: Canvas,
) -> String {
    let mut page = Page::new(canvas);
    say_of_pod(&mut page, known, plan, explanation, resident);
    page.into_text()
}

fn say_of_pod(
    page: &mut Page,
    known: &Pod,
    plan: &Plan,
    explanation: Option<&PodExplanation>,
    resident: Option<&ResidentExplanation>,
) {
    let key = &known.key;
    if let Some(source) = &known.virtual_of {
        page.line(format!("  {}", why_there_is(source)));
    }
    let is_bound = bound(page, known);
    let mut is_explained = place_of(page, key, plan, explanation);
    if let Some(unschedulable) = plan.unschedulable.iter().find(|other| other.pod == *key) {
        is_explained = true;
        let head = page.paint(Role::Bad, "It has no place:");
        page.line(format!("  {head}"));
        for reason in &unschedulable.reasons {
            page.line(format!("    {reason}"));
        }
    }
    page.faint(format!("  It requests {}.", Amounts(&known.spec.requests)));
    match resident.filter(|_| !is_explained) {
        Some(resident) => self::resident(page, resident),
        None if is_explained || is_bound => {}
        None => page.line(format!("  {}", why_nothing_is_decided(known))),
    }
    if let Some(explanation) = explanation {
        let claim = plan.node_claims.iter().find(|claim| holds(claim, key));
        pod_tree(page, explanation, claim.map(|claim| &*claim.node_pool));
    }
}

fn bound(page: &mut Page, pod: &Pod) -> bool {
    let Some(node) = &pod.node_name else { return false };
    let verb = if pod.is_terminal() { "It ran to its end" } else { "It runs" };
    let line = format!("  {verb} on {}.", page.paint(Role::Name, page.node_name(node)));
    page.line(line);
    true
}

fn place_of(
    page: &mut Page,
    key: &PodKey,
    plan: &Plan,
    explanation: Option<&PodExplanation>,
) -> bool {
    if let Some(own) = plan.virtual_pods.iter().find(|own| own.pod == *key) {
        virtual_pod_place(page, own, plan);
        return true;
    }
    if let Some(placement) = plan.placements.iter().find(|placement| placement.pod == *key) {
        let line = format!(
            "  It goes to {}, which has room for it: no new node is needed.",
            page.paint(Role::Name, page.node_name(&placement.node))
        );
        page.line(line);
        if explanation.is_some_and(|own| !own.accepting.is_empty()) {
            page.faint(
                "  Of nodes that take it, the one that breaks the fewest preferences, then the first: \
                 ready before starting, then by name.",
            );
        }
        return true;
    }
    if let Some(claim) = plan.node_claims.iter().find(|claim| holds(claim, key)) {
        page.line("  It gets a place on a new node:");
        let virtual_pods = VirtualPodPlacements::of(plan);
        launch(page, claim, virtual_pods.at(&claim.name), PodNaming::Named, "    ");
        return true;
    }
    let Some(taken) = plan.disruptions.iter().find(|taken| taken.pods.contains(key)) else {
        return false;
    };
    page.line("  It moves, because its node is taken away:");
    disruption(page, taken, "    ");
    true
}

/// Why a virtual pod takes part in planning.
fn why_there_is(source: &VirtualPodSource) -> String {
    let why = match source {
        VirtualPodSource::CapacityBuffer(_) => "keeps room for such pods at all times",
        VirtualPodSource::ScaledObject(_) => {
            "is going to have such pods made: a window of its cron triggers is open, or opens soon"
        }
        VirtualPodSource::PrewarmSchedule(_) => {
            "expects such pods: a window of its triggers is open, or opens soon"
        }
    };
    format!("It exists in planning only: {source} {why}.")
}

fn virtual_pod_place(page: &mut Page, own: &PlannedVirtualPod, plan: &Plan) {
    let Some(place) = own.place.as_deref() else {
        let head = page.paint(Role::Bad, "There is no room for it.");
        return page.line(format!("  {head}"));
    };
    let Some(claim) = plan.node_claims.iter().find(|claim| *claim.name == *place) else {
        let place = page.paint(Role::Name, page.node_name(place));
        let line = format!("  Room for it is kept on {place}.");
        return page.line(line);
    };
    page.line("  Room for it comes with a new node:");
    launch(page, claim, VirtualPodPlacements::of(plan).at(place), PodNaming::Named, "    ");
}

fn holds(claim: &PlannedNodeClaim, key: &PodKey) -> bool {
    claim.pods.binary_search(key).is_ok()
}

/// Why the plan does not mention a pod that is not bound.
fn why_nothing_is_decided(pod: &Pod) -> String {
    if pod.is_terminal() {
        return "It has ended: it needs no place.".to_owned();
    }
    if pod.is_terminating() {
        return "It is being deleted: it needs no place.".to_owned();
    }
    if let Some(node) = &pod.nominated_node_name {
        return format!("It waits for node {node}, where others are making way for it.");
    }
    if !pod.spec.scheduling_gates.is_empty() {
        return format!(
            "Nobody schedules it before its gates are lifted: {}.",
            pod.spec.scheduling_gates.join(", ")
        );
    }
    if pod.is_daemon() || pod.is_static() {
        return "It belongs to its node: a DaemonSet or a kubelet manages it.".to_owned();
    }
    "The plan does nothing about it.".to_owned()
}

/// A node that a plan launches.
#[derive(Clone, Copy)]
pub(crate) struct NewNode<'a> {
    pub(crate) claim: &'a PlannedNodeClaim,
    pub(crate) explanation: Option<&'a ClaimExplanation>,
    pub(crate) naming: PodNaming,
}

/// Why a node is disrupted or kept, or what a new one is for and what it was chosen from.
pub(crate) fn node(
    row: &NodeRow,
    snapshot: &ClusterSnapshot,
    plan: &Plan,
    claim: Option<NewNode<'_>>,
    canvas: Canvas,
) -> String {
    let name = &*row.name;
    let mut page = Page::new(canvas);
    page.heading(&format!("NODE {name}"), "");
    page.line(node_table(std::slice::from_ref(row), canvas));
    page.line("");
    say_of_node(&mut page, row, snapshot, plan, claim);
    page.into_text()
}

/// What [`node`] says below its heading and its row.
pub(crate) fn about_node(
    row: &NodeRow,
    snapshot: &ClusterSnapshot,
    plan: &Plan,
    claim: Option<NewNode<'_>>,
    canvas: Canvas,
) -> String {
    let mut page = Page::new(canvas);
    say_of_node(&mut page, row, snapshot, plan, claim);
    page.into_text()
}

fn say_of_node(
    page: &mut Page,
    row: &NodeRow,
    snapshot: &ClusterSnapshot,
    plan: &Plan,
    claim: Option<NewNode<'_>>,
) {
    let name = &*row.name;
    if let Some(NewNode { claim, explanation, naming }) = claim {
        let placements = VirtualPodPlacements::of(plan);
        let virtual_pods = placements.at(&claim.name);
        page.line(match (plan.node_claims.contains(claim), claim.pods.is_empty()) {
            (true, true) if !virtual_pods.is_empty() => {
                "  It is launched for pods that are still to come:"
            }
            (true, _) => "  It is launched for pods that wait:",
            (false, _) => "  It is launched to replace disrupted nodes:",
        });
        launch(page, claim, virtual_pods, naming, "    ");
        if let Some(explanation) = explanation {
            claim_tree(page, explanation);
        }
        return;
    }
    residents(page, name, snapshot, plan);
    if let Some(saved) = planning::price_beyond_commitments(snapshot, name) {
        let price = row.price.unwrap_or_default();
        page.line(format!(
            "  It costs {price} on demand; beyond commitments, going alone it {}.",
            saved.would_save()
        ));
    }
    let taken: Option<&PlannedDisruption> =
        plan.disruptions.iter().find(|taken| taken.nodes.iter().any(|node| &**node == name));
    if let Some(taken) = taken {
        page.line("  It is taken away:");
        disruption(page, taken, "    ");
    }
    let kept: Vec<_> = plan.blocked.iter().filter(|kept| &*kept.node == name).collect();
    match (taken, kept.as_slice()) {
        (Some(_), _) => {}
        (None, []) => match drain_of(row, snapshot) {
            Some(drain) => drains::about(page, &drain),
            None => page.line(format!("  {}", why_it_stays(row, plan))),
        },
        (None, kept) => {
            page.line("  It stays:");
            for kept in kept {
                page.line(format!("    {}", kept.reason));
            }
        }
    }
}

/// How the node is drained, if it is.
fn drain_of(row: &NodeRow, snapshot: &ClusterSnapshot) -> Option<DrainRow> {
    let is_draining = row.state == NodeState::Draining;
    let all = drain_rows(snapshot, std::slice::from_ref(row));
    all.into_iter().find(|own| own.drain.node == row.name).filter(|_| is_draining)
}

/// Why a node stays that nothing is reported to hold.
fn why_it_stays(row: &NodeRow, plan: &Plan) -> String {
    match row.state {
        NodeState::Draining => return "It is going away: it is being drained.".to_owned(),
        NodeState::Launching => return "It stays: it is still being launched.".to_owned(),
        _ if row.node_pool.is_none() => return "It stays: no NodePool manages it.".to_owned(),
        _ => {}
    }
    // Of the reasons to disrupt nodes, one has a run at a time.
    match plan.disruptions.first() {
        Some(PlannedDisruption { reason, nodes, .. }) => format!(
            "It stays for now: {} ({reason}), and what it could save is looked at after that.",
            goes(nodes)
        ),
        None => "It stays: nothing calls for its disruption.".to_owned(),
    }
}

fn goes(nodes: &[Text]) -> String {
    match nodes {
        [one] => format!("{one} goes first"),
        [one, others @ ..] => format!("{one} and {} more go first", others.len()),
        [] => "others go first".to_owned(),
    }
}

/// Claims that a plan launches, replacements included.
pub(crate) fn new_claims(plan: &Plan) -> impl Iterator<Item = &PlannedNodeClaim> {
    let replacements = plan.disruptions.iter().flat_map(|taken| &taken.replacements);
    plan.node_claims.iter().chain(replacements)
}

fn residents(page: &mut Page, name: &str, snapshot: &ClusterSnapshot, plan: &Plan) {
    let mut here: Vec<PodKey> = snapshot
        .objects
        .pods
        .iter()
        .filter(|pod| pod.node_name.as_deref() == Some(name) && !pod.is_terminal())
        .map(|pod| pod.key.clone())
        .collect();
    here.sort();
    if !here.is_empty() {
        page.line(format!("  It holds {}: {}", counted(here.len(), "pod"), PodNames(&here)));
    }
    let coming: Vec<PodKey> = plan
        .placements
        .iter()
        .filter(|placement| &*placement.node == name)
        .map(|placement| placement.pod.clone())
        .collect();
    if !coming.is_empty() {
        page.line(format!("  It gets {}: {}", counted(coming.len(), "pod"), PodNames(&coming)));
    }
    let placements = VirtualPodPlacements::of(plan);
    let virtual_pods = placements.at(name);
    if !virtual_pods.is_empty() {
        page.line(format!("  Room on it is kept for {}.", listed(virtual_pods)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::view::node_row;

    #[track_caller]
    fn pod_text(name: &str) -> String {
        let snapshot = testing::snapshot();
        let known = snapshot.objects.pods.iter().find(|pod| &*pod.key.name == name).unwrap();
        pod(known, &testing::plan(), None, None, Canvas::PLAIN)
    }

    #[track_caller]
    fn node_text(name: &str) -> String {
        let (snapshot, plan) = (testing::snapshot(), testing::plan());
        let rows = node_row::rows(&snapshot, &plan);
        let row = rows.iter().find(|row| &*row.name == name).unwrap();
        let claim = new_claims(&plan).find(|claim| &*claim.name == name);
        let new = claim.map(|claim| NewNode { claim, explanation: None, naming: PodNaming::Named });
        node(row, &snapshot, &plan, new, Canvas::PLAIN)
    }

    #[test]
    fn a_pod_with_room_on_a_node_shows_the_node() {
        assert!(pod_text("web-2").contains("It goes to ip-10-0-0-1"));
    }

    #[test]
    fn a_pod_on_a_new_node_shows_its_claim() {
        let text = pod_text("api-0");
        assert!(text.contains("new node") && text.contains("default-x7k2p"), "{text}");
    }

    #[test]
    fn a_pod_that_moves_shows_the_disruption() {
        let text = pod_text("web-1");
        assert!(text.contains("It runs on ip-10-0-0-7"), "{text}");
        assert!(text.contains("Underutilized") && text.contains("default-b2c3d"), "{text}");
    }

    #[test]
    fn an_unschedulable_pod_shows_every_reason() {
        let text = pod(&testing::pod("huge", None), &testing::plan(), None, None, Canvas::PLAIN);
        assert!(text.contains("needs 510.1 more cpu"), "{text}");
    }

    #[test]
    fn a_gated_pod_shows_its_gates() {
        let mut gated = testing::pod("gated", None);
        let spec = std::sync::Arc::make_mut(&mut gated.spec);
        spec.scheduling_gates = vec!["example.com/quota".into()];
        let text = pod(&gated, &Plan::default(), None, None, Canvas::PLAIN);
        assert!(text.contains("example.com/quota"), "{text}");
    }

    #[test]
    fn a_node_shows_why_it_is_disrupted_or_kept() {
        let disrupted = node_text("ip-10-0-0-7");
        assert!(disrupted.contains("It is taken away"), "{disrupted}");
        assert!(disrupted.contains("Underutilized"), "{disrupted}");
        let kept = node_text("ip-10-0-0-1");
        assert!(kept.contains("pod default/web-0 has karpenter.sh/do-not-disrupt"), "{kept}");
        assert!(kept.contains("It gets 1 pod: default/web-2"), "{kept}");
    }

    #[test]
    fn a_node_that_goes_is_not_said_to_stay() {
        let mut plan = testing::plan();
        let reason = domain::reason::NotDisruptable::Nominated;
        plan.blocked.push(domain::plan::BlockedNode { node: "ip-10-0-0-7".into(), reason });
        let snapshot = testing::snapshot();
        let rows = node_row::rows(&snapshot, &plan);
        let row = rows.iter().find(|row| &*row.name == "ip-10-0-0-7").unwrap();
        let text = node(row, &snapshot, &plan, None, Canvas::PLAIN);
        assert!(text.contains("It is taken away") && !text.contains("It stays"), "{text}");
    }

    #[test]
    fn a_node_that_nothing_holds_says_why_it_stays() {
        let (snapshot, mut plan) = (testing::snapshot(), testing::plan());
        plan.blocked.clear();
        let rows = node_row::rows(&snapshot, &plan);
        let row = rows.iter().find(|row| &*row.name == "ip-10-0-0-1").unwrap();
        let said = |row: &NodeRow, plan: &Plan| why_it_stays(row, plan);
        assert!(said(row, &plan).contains("ip-10-0-0-7 goes first (Underutilized)"));
        plan.disruptions.clear();
        assert_eq!(said(row, &plan), "It stays: nothing calls for its disruption.");
        let draining = NodeRow { state: NodeState::Draining, ..row.clone() };
        assert_eq!(said(&draining, &plan), "It is going away: it is being drained.");
        let foreign = NodeRow { node_pool: None, ..row.clone() };
        assert_eq!(said(&foreign, &plan), "It stays: no NodePool manages it.");
    }

    #[track_caller]
    fn virtual_pod_text(name: &str) -> String {
        let plan = testing::plan_with_virtual_pods();
        let own = plan.virtual_pods.iter().find(|own| &*own.pod.name == name).unwrap();
        let known = Pod { virtual_of: Some(own.source.clone()), ..testing::pod(name, None) };
        pod(&known, &plan, None, None, Canvas::PLAIN)
    }

    #[test]
    fn a_virtual_pod_shows_its_source_and_its_place() {
        let here = virtual_pod_text("scaledobject-evening-2");
        assert!(here.contains("ScaledObject default/evening is going to have such pods"), "{here}");
        assert!(here.contains("Room for it is kept on ip-10-0-0-1."), "{here}");
        let new = virtual_pod_text("capacity-buffer-spare-0");
        assert!(new.contains("CapacityBuffer default/spare keeps room"), "{new}");
        assert!(new.contains("comes with a new node:\n    default-x7k2p"), "{new}");
        let none = virtual_pod_text("capacity-buffer-spare-1");
        assert!(none.contains("There is no room for it."), "{none}");
    }

    #[test]
    fn a_node_shows_the_virtual_pods_that_it_keeps_room_for() {
        let (snapshot, plan) = (testing::snapshot(), testing::plan_with_virtual_pods());
        let rows = node_row::rows(&snapshot, &plan);
        let row = rows.iter().find(|row| &*row.name == "ip-10-0-0-1").unwrap();
        let text = node(row, &snapshot, &plan, None, Canvas::PLAIN);
        let expected = "Room on it is kept for 1 virtual pod of ScaledObject default/evening.";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn a_new_node_shows_its_pods() {
        assert!(node_text("default-x7k2p").contains("default/api-0"));
    }
}

//! The tree behind a decision as text: instance types filter by filter, and why each node refuses.

use domain::Text;
use domain::reason::NodeUnfit;
use planning::explain::{
    ClaimExplanation, NodeGroup, Offer, PodExplanation, PoolExplanation, Step,
};

use crate::text::page::Page;
use crate::text::paint::Role;
use crate::view::pod_names::counted;

/// Names shown of many.
const NAMES_SHOWN_MAX: usize = 3;

/// Offers shown of a claim.
const OFFERS_SHOWN_MAX: usize = 8;

/// Why each NodePool and each node takes a pod or refuses it.
///
/// `chosen` is the NodePool of the claim that the pod goes to.
pub(crate) fn pod_tree(page: &mut Page, explanation: &PodExplanation, chosen: Option<&str>) {
    let PodExplanation { pools, nodes, accepting } = explanation;
    if !pools.is_empty() {
        page.line("");
        page.heading("NODEPOOLS", "");
        for pool in pools {
            self::pool(page, pool, chosen);
        }
    }
    if nodes.is_empty() && accepting.is_empty() {
        return;
    }
    page.line("");
    page.heading("NODES", "that are there or on their way, as the plan leaves them");
    if !accepting.is_empty() {
        let names = nodes_named(accepting, page);
        page.line(format!("  {:>5}  would take it: {names}", accepting.len()));
    }
    for NodeGroup { unfit, nodes } in nodes {
        page.line(format!("  {:>5}  {unfit}", nodes.len()));
        let nearest = if is_ranked(unfit) && nodes.len() > 1 { "the nearest first: " } else { "" };
        let names = nodes_named(nodes, page);
        page.faint(format!("         {nearest}{names}"));
    }
}

fn pool(page: &mut Page, pool: &PoolExplanation, chosen: Option<&str>) {
    let PoolExplanation { node_pool, weight, unfit, steps, cheapest } = pool;
    let name = page.paint(Role::Name, node_pool);
    let weight = if *weight == 0 { String::new() } else { format!(" (weight {weight})") };
    let verdict = match (unfit, cheapest) {
        (Some(unfit), _) => page.paint(Role::Bad, unfit),
        (None, Some(Offer { instance_type, zone, capacity_type, price })) => {
            let is_chosen = chosen == Some(&**node_pool);
            let word = if is_chosen { "chosen" } else { "it could host the pod" };
            let word = page.paint(Role::Good, word);
            format!("{word}; the cheapest is {instance_type} {capacity_type} in {zone} at {price}")
        }
        (None, None) => page.paint(Role::Good, "it could host the pod"),
    };
    page.line(format!("  {name}{weight}: {verdict}"));
    self::steps(page, steps);
}

/// Filters that dropped something, each with the number of types left. The first filter is always
/// shown, as it gives the number of types at the start.
fn steps(page: &mut Page, steps: &[Step]) {
    for (index, Step { filter, left, dropped }) in steps.iter().enumerate() {
        if dropped.is_empty() && index > 0 {
            continue;
        }
        page.line(format!("    {left:>5}  {filter}"));
        if !dropped.is_empty() {
            page.faint(format!("           without {}: {}", dropped.len(), names(dropped)));
        }
    }
}

/// What a claim's instance types were chosen from, and what they cost.
pub(crate) fn claim_tree(page: &mut Page, explanation: &ClaimExplanation) {
    let ClaimExplanation { steps, offers } = explanation;
    page.line("");
    page.heading("INSTANCE TYPES", "left after each filter");
    self::steps(page, steps);
    page.line("");
    page.heading("OFFERED TO EC2", &counted(offers.len(), "instance type"));
    for Offer { instance_type, zone, capacity_type, price } in offers.iter().take(OFFERS_SHOWN_MAX)
    {
        page.line(format!("  {price}  {instance_type} {capacity_type} in {zone}"));
    }
    let more = offers.len().saturating_sub(OFFERS_SHOWN_MAX);
    if let (1.., Some(last)) = (more, offers.last()) {
        page.faint(format!("  and {more} more, up to {}", last.price));
    }
}

/// Whether some nodes come nearer than others by such a reason.
fn is_ranked(unfit: &NodeUnfit) -> bool {
    matches!(unfit, NodeUnfit::Room { .. } | NodeUnfit::TopologySpread { .. })
}

/// A few nodes of many, by the names that tables show.
fn nodes_named(nodes: &[Text], page: &Page) -> String {
    let shown: Vec<Text> = nodes.iter().map(|node| page.node_name(node).into()).collect();
    names(&shown)
}

/// A few names of many.
fn names(names: &[Text]) -> String {
    let shown = names.iter().take(NAMES_SHOWN_MAX).map(|name| &**name).collect::<Vec<_>>();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use domain::reason::NodePoolUnfit;
    use planning::explain::Filter;

    use super::*;
    use crate::terminal::Canvas;

    fn texts(names: &[&str]) -> Vec<Text> {
        names.iter().map(|name| Text::from(*name)).collect()
    }

    #[test]
    fn an_unschedulable_pod_is_explained_by_filter_and_node() {
        let explanation = PodExplanation {
            pools: vec![PoolExplanation {
                node_pool: "default".into(),
                weight: 10,
                unfit: Some(NodePoolUnfit::NoOffering),
                steps: vec![
                    Step {
                        filter: Filter::Catalogue("default".into()),
                        left: 5,
                        dropped: Vec::new(),
                    },
                    Step { filter: Filter::Offering, left: 5, dropped: Vec::new() },
                    Step {
                        filter: Filter::Pods("kubernetes.io/arch In arm64".into()),
                        left: 1,
                        dropped: texts(&["a", "b", "c", "d"]),
                    },
                ],
                cheapest: None,
            }],
            nodes: vec![NodeGroup { unfit: NodeUnfit::Leaving, nodes: texts(&["n1", "n2"]) }],
            accepting: texts(&["n3"]),
        };
        let mut page = Page::new(Canvas::PLAIN);
        pod_tree(&mut page, &explanation, None);
        insta::assert_snapshot!(page.into_text());
    }
}

//! What holds a bound pod where it is, and where it would go without its node.

use domain::reason::NotDisruptable;
use planning::explain::{BudgetLine, Destination, Guard, ResidentExplanation, Situation};

use crate::text::age::age;
use crate::text::page::Page;
use crate::view::pod_names::counted;

/// Everything that holds the pod, what budgets allow, and where it would go.
pub(crate) fn resident(page: &mut Page, explanation: &ResidentExplanation) {
    let ResidentExplanation {
        node: _,
        situation,
        node_pool,
        guards,
        drifted: _,
        expires_in: _,
        holds,
        saving: _,
        first: _,
        budgets,
        destination,
    } = explanation;
    page.line(format!("  {}", why(explanation, page)));
    let is_said = |guard: &&Guard| holds.iter().any(|hold| holds_by(hold, guard));
    for guard in guards.iter().filter(|guard| !is_said(guard)) {
        page.line(format!("  {}", guarded(guard)));
    }
    if *situation == Situation::Moves {
        page.line("");
        let count = counted(holds.len(), "reason");
        page.heading("WHAT HOLDS ITS NODE", if holds.is_empty() { "nothing" } else { &count });
        for hold in holds {
            page.line(format!("  {hold}"));
        }
        if let Some(way) = way_out(explanation) {
            page.faint(format!("  {way}"));
        }
    }
    if let Some(destination) = would_go(destination, page) {
        page.line("");
        page.heading("WITHOUT ITS NODE", "");
        for line in destination {
            page.line(format!("  {line}"));
        }
    }
    // Where budgets are what holds it, the sum is in the reason.
    let is_said = holds.iter().any(|hold| matches!(hold, NotDisruptable::Budget { .. }));
    if let (Some(pool), false) = (node_pool, is_said || budgets.is_empty()) {
        page.line("");
        page.heading("BUDGETS", &format!("of NodePool {pool}"));
        for line in budgets {
            page.line(format!("  {}", budget(line)));
        }
    }
}

/// Why the pod stays, or may not.
fn why(explanation: &ResidentExplanation, page: &Page) -> String {
    let ResidentExplanation { situation, node_pool, drifted, saving, holds, first, .. } =
        explanation;
    match situation {
        Situation::BelongsToNode => {
            "It goes when its node goes: a DaemonSet or a kubelet manages it.".to_owned()
        }
        Situation::Expendable => {
            "It goes when its node goes, and holds none: its NodePool counts it as expendable."
                .to_owned()
        }
        Situation::Terminating => "It is being deleted: it needs no other place.".to_owned(),
        Situation::RollsOut => {
            "Its node is going away, and a rollout of its Deployment replaces it.".to_owned()
        }
        Situation::NodeLeaves => "Its node is going away, and the pod with it.".to_owned(),
        Situation::NodeUnmanaged => {
            "No NodePool manages its node: nothing here moves it.".to_owned()
        }
        Situation::Moves => match (drifted, saving, holds.as_slice()) {
            (Some(drift), ..) => {
                format!("It moves once its node, which has drifted ({drift}), goes.")
            }
            (None, Some(saving), []) => {
                let saves = saving.would_save();
                let next = match first {
                    Some((node, reason)) => {
                        format!("and {} ({reason}) goes first", page.node_name(node))
                    }
                    None => "and that is not part of this plan".to_owned(),
                };
                format!("It can move: consolidating its node {saves}, {next}.")
            }
            (None, Some(saving), _) => format!(
                "It moves once nothing holds its node: consolidating it {}.",
                saving.would_save()
            ),
            (None, None, _) => match node_pool {
                Some(pool) => {
                    format!("It stays while its node stays, which NodePool {pool} manages.")
                }
                None => "It stays while its node stays.".to_owned(),
            },
        },
    }
}

/// Whether the budget is what holds the node: then it is said there, with its figures.
fn holds_by(hold: &NotDisruptable, guard: &Guard) -> bool {
    matches!(hold, NotDisruptable::Pdb { budget, .. } if **budget == *guard.budget.to_string())
}

fn guarded(guard: &Guard) -> String {
    let Guard { budget, allowed } = guard;
    match allowed {
        Some(allowed) => format!(
            "PodDisruptionBudget {budget} guards it and allows {} now.",
            counted(usize::try_from(*allowed).unwrap_or(usize::MAX), "disruption")
        ),
        None => format!("PodDisruptionBudget {budget} guards it; its status is not known."),
    }
}

/// What moves the pod whatever holds it, and when.
fn way_out(explanation: &ResidentExplanation) -> Option<String> {
    let left = explanation.expires_in?;
    Some(if left.is_zero() {
        "Its node has expired: it goes whatever holds it.".to_owned()
    } else {
        format!("Its node goes in {} whatever holds it: it expires then.", age(left))
    })
}

fn would_go(destination: &Destination, page: &Page) -> Option<Vec<String>> {
    match destination {
        Destination::NotNeeded => None,
        Destination::Node(node) => {
            Some(vec![format!("it would go to {}, which has room", page.node_name(node))])
        }
        Destination::NewNode { node_pool, offering } => Some(vec![format!(
            "it would need a new node of NodePool {node_pool}: {} {} in {} at {}",
            offering.instance_type, offering.capacity_type, offering.zone, offering.price
        )]),
        Destination::Nowhere(reasons) => {
            let head = "it would have no place:".to_owned();
            Some(
                std::iter::once(head).chain(reasons.iter().map(|own| format!("  {own}"))).collect(),
            )
        }
    }
}

fn budget(line: &BudgetLine) -> String {
    let BudgetLine { reasons, left, sum } = line;
    let reasons: Vec<&str> = reasons.iter().map(|reason| reason.as_str()).collect();
    let noun = if *left == 1 { "node" } else { "nodes" };
    format!("{left} more {noun} may go as {}: {sum}", domain::nearest::any_of(&reasons))
}

#[cfg(test)]
mod tests {
    use domain::SignedDuration;
    use domain::pdb::CountOrPercent;
    use domain::pod::ObjectKey;
    use domain::reason::{BudgetSum, DisruptionReason};

    use super::*;
    use crate::terminal::Canvas;
    use crate::testing;

    fn explanation(holds: Vec<NotDisruptable>) -> ResidentExplanation {
        let reasons = vec![DisruptionReason::Empty, DisruptionReason::Underutilized];
        let percent = CountOrPercent::Percent(10);
        let sum = BudgetSum {
            nodes: percent,
            total: 22,
            unavailable: 2,
            taken: 0,
            is_window_known: true,
        };
        ResidentExplanation {
            node: "ip-10-0-0-1".into(),
            situation: Situation::Moves,
            node_pool: Some("default".into()),
            guards: vec![Guard { budget: ObjectKey::new("shop", "web"), allowed: Some(1) }],
            drifted: None,
            expires_in: Some(SignedDuration::from_hours(30)),
            holds,
            saving: None,
            first: Some(("ip-10-0-0-9".into(), DisruptionReason::Empty)),
            budgets: vec![BudgetLine { reasons, left: 1, sum }],
            destination: Destination::NewNode {
                node_pool: "default".into(),
                offering: testing::claim("a", &[]).offering,
            },
        }
    }

    fn text(explanation: &ResidentExplanation) -> String {
        let mut page = Page::new(Canvas::PLAIN);
        resident(&mut page, explanation);
        page.into_text()
    }

    #[test]
    fn a_bound_pod_is_told_what_holds_it_and_where_it_would_go() {
        let waits = NotDisruptable::ConsolidateAfter {
            wait: SignedDuration::from_mins(5),
            left: SignedDuration::from_secs(100),
        };
        let other = testing::pod("db-0", None).key;
        let holds = vec![NotDisruptable::PodDoNotDisrupt(other), waits];
        insta::assert_snapshot!(text(&explanation(holds)));
    }

    #[test]
    fn a_pod_that_belongs_to_its_node_is_not_told_what_holds_others() {
        let daemon = ResidentExplanation {
            situation: Situation::BelongsToNode,
            guards: Vec::new(),
            budgets: Vec::new(),
            destination: Destination::NotNeeded,
            ..explanation(Vec::new())
        };
        assert_eq!(
            text(&daemon),
            "  It goes when its node goes: a DaemonSet or a kubelet manages it.\n"
        );
    }

    #[test]
    fn what_goes_first_is_named_where_nothing_holds_the_node() {
        let free =
            ResidentExplanation { saving: Some(testing::usd(0.1)), ..explanation(Vec::new()) };
        let text = text(&free);
        assert!(
            text.contains(
                "consolidating its node would save $0.1000/h, and ip-10-0-0-9 (Empty) goes first"
            ),
            "{text}"
        );
        assert!(text.contains("WHAT HOLDS ITS NODE  nothing"), "{text}");
    }

    #[test]
    fn a_sum_in_a_reason_is_not_said_again() {
        let sum = explanation(Vec::new()).budgets[0].sum;
        let held = NotDisruptable::Budget {
            node_pool: "default".into(),
            reason: DisruptionReason::Underutilized,
            allowed: 1,
            sum: Some(sum),
        };
        let text = text(&explanation(vec![held]));
        assert_eq!(text.matches("10% of 22 nodes").count(), 1, "{text}");
    }
}

//! One decision with every reason behind it as a page, beside the cluster that it is taken in.

use domain::plan::Plan;
use domain::snapshot::ClusterSnapshot;
use maud::{Markup, html};

use crate::html::node_table::node_table;
use crate::html::page::{Page, fold};
use crate::html::planned;
use crate::view::node_row;
use crate::view::pricing::PriceNote;

/// What is explained.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Explained<'a> {
    /// `pod` or `node`.
    pub(crate) kind: &'a str,
    /// Its name.
    pub(crate) name: &'a str,
    /// Everything that is said about it, in lines.
    pub(crate) text: &'a str,
}

/// The explanation first, then the cluster.
pub(crate) fn explain(
    explained: Explained<'_>,
    snapshot: &ClusterSnapshot,
    plan: &Plan,
    prices: &PriceNote,
) -> Result<String, serde_json::Error> {
    let Explained { kind, name, text } = explained;
    let mut data = planned::data("explain", snapshot, plan);
    data.focus_on(name);
    let rows = node_row::rows(snapshot, plan);
    let lead = html! {
        p.about { "Decided for " (snapshot.now) "." }
        div.card.said { (lines(text)) }
        p.soft { "Dollars are " (prices) "." }
    };
    let tables = html! {
        @if !rows.is_empty() { (fold("Nodes", "as the plan leaves them", &node_table(&rows))) }
    };
    let result = format!("{name}: {}", decision(text));
    Page { command: "explain", subject: kind, result: &result, lead, tables, data: &data }.render()
}

/// How lines begin that say what becomes of a node.
const VERDICTS: [&str; 4] = ["It stays", "It is taken away", "It is launched", "It is going away"];

/// What is decided, in a sentence without its full stop: what becomes of a node with its first
/// reason, or else what is said first.
fn decision(text: &str) -> String {
    let mut said = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_verdict = |line: &&str| VERDICTS.iter().any(|own| line.starts_with(own));
    let mut verdict = said.clone().skip_while(|line| !is_verdict(line));
    let decided = match (verdict.next(), verdict.next()) {
        (Some(verdict), Some(reason)) if verdict.ends_with(':') => format!("{verdict} {reason}"),
        (Some(verdict), _) => verdict.to_owned(),
        (None, _) => said.next().unwrap_or_default().to_owned(),
    };
    decided.trim_end_matches([':', '.']).to_owned()
}

/// Lines with their indents, in steps of two spaces; counts in front of two spaces are a column.
fn lines(text: &str) -> Markup {
    html! {
        @for line in text.lines().filter(|line| !line.trim().is_empty()) {
            @if let Some((count, rest)) = counted_line(line) {
                p.said-count { b { (count) } " " (rest) }
            } @else {
                @let indent = (line.len() - line.trim_start().len()) / 2;
                @let style = format!("--indent:{}", indent.saturating_sub(1));
                p class=(if indent == 0 { "said-heading" } else { "" }) style=(style) { (line.trim()) }
            }
        }
    }
}

/// A count and what it counts, where an indented line begins with one: `    3  full`.
fn counted_line(line: &str) -> Option<(&str, &str)> {
    let (count, rest) = line.strip_prefix(' ')?.trim_start().split_once("  ")?;
    let is_count = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    is_count.then_some((count, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn the_explanation_comes_before_the_cluster() {
        let text = "  It goes to <ip-1>, which has room.\n\nNODES\n    3  full\n";
        let explained = Explained { kind: "pod", name: "default/web-2", text };
        let page =
            explain(explained, &testing::snapshot(), &testing::plan(), &testing::price_note())
                .unwrap();
        assert!(page.contains("<h1>default/web-2: It goes to &lt;ip-1&gt;, which has room</h1>"));
        assert!(page.contains(r#""focus":"default/web-2""#));
        let place = |text: &str| page.find(text).unwrap();
        assert!(place("<b>3</b> full") < place("ip-10-0-0-7"));
    }

    #[test]
    fn what_becomes_of_a_node_is_the_result_and_not_what_it_holds() {
        let kept =
            "  It holds 3 pods: shop/web-* (3 pods)\n  It stays:\n    pods are expected on it\n";
        assert_eq!(decision(kept), "It stays: pods are expected on it");
        let stays = "  It holds 1 pod: a/b\n  It stays: nothing calls for its disruption.\n";
        assert_eq!(decision(stays), "It stays: nothing calls for its disruption");
        assert_eq!(decision("  It has no place:\n    full\n"), "It has no place");
        assert_eq!(decision(""), "");
    }
}

//! What a change of manifests does to a cluster, as a comment on the pull request that makes it.

use super::escape::escaped;
use crate::change::{Difference, ObjectChange};
use crate::text::diff::{ALL_REPLACED, next_tick};
use crate::view::diff::{ClusterDiff, When};
use crate::view::diff_row::{self, DiffRow};
use crate::view::drifted;
use crate::view::pod_names::{PodNames, counted};
use crate::view::pricing::PriceNote;
use crate::view::unschedulable::groups_of;

/// What the comment begins with, for whoever wants to find it again and update it.
pub(crate) const MARK: &str = "<!-- outrigger diff -->";

/// Items of a list that are shown.
const ITEMS_MAX: usize = 30;

/// Characters of a comment at most: GitHub takes 65,536 of them.
const CHARS_MAX: usize = 60_000;

/// The whole comment.
pub(crate) fn diff(
    diff: &ClusterDiff,
    open: &[String],
    errors: &[String],
    prices: &PriceNote,
) -> String {
    let mut lines = vec![MARK.to_owned()];
    let is_accepted = diff.exceeded.is_empty() && errors.is_empty();
    let verdict = if is_accepted { "" } else { "❌ " };
    lines.push(format!("### {verdict}Nodes: {}", escaped(&diff.headline())));
    lines.push(String::new());
    for exceeded in &diff.exceeded {
        lines.push(format!("- **worse than allowed:** {}", escaped(&exceeded.what)));
    }
    if !diff.exceeded.is_empty() {
        lines.push(String::new());
    }
    list(&mut lines, errors.iter().map(|own| format!("**invalid:** {}", escaped(own))).collect());
    changes(&mut lines, diff);
    figures(&mut lines, "All nodes replaced", ALL_REPLACED, &diff_row::all_replaced(diff));
    if diff.has_managed_nodes {
        figures(&mut lines, "Next tick", &next_tick(diff), &diff_row::next_tick(diff));
    }
    without_place(&mut lines, diff);
    with_place(&mut lines, diff);
    drift(&mut lines, diff);
    list(&mut lines, open.iter().map(|own| escaped(own)).collect());
    let mut lines = cut(lines, CHARS_MAX);
    lines.push(format!("<sub>{}</sub>", escaped(&prices.to_string())));
    lines.join("\n") + "\n"
}

/// As many of the lines as have room, and what says that some have not.
fn cut(mut lines: Vec<String>, chars_max: usize) -> Vec<String> {
    let lengths = lines.iter().scan(0, |sum, line| {
        *sum += line.chars().count() + 1;
        Some(*sum)
    });
    let count = lengths.take_while(|sum| *sum <= chars_max).count();
    if count == lines.len() {
        return lines;
    }
    lines.truncate(count);
    let has = |mark: &str| lines.iter().filter(|line| line.contains(mark)).count();
    if has("<details>") > has("</details>") {
        lines.extend([String::new(), "</details>".to_owned()]);
    }
    lines.extend([String::new(), "What is more than a comment takes is left out.".to_owned()]);
    lines
}

fn changes(lines: &mut Vec<String>, diff: &ClusterDiff) {
    let shown = |change: &ObjectChange| {
        let word = match change.difference {
            Difference::Added => "added",
            Difference::Changed => "changed",
            Difference::Removed => "removed",
            Difference::Invalid => "invalid",
        };
        format!("{} {word}", escaped(&change.identity.to_string()))
    };
    let names = format!("`{}` to `{}`", code(&diff.old_name), code(&diff.new_name));
    lines.push(format!("From {names}:"));
    lines.push(String::new());
    if diff.changes.is_empty() {
        lines.push("- nothing that nodes depend on".to_owned());
        lines.push(String::new());
    }
    list(lines, diff.changes.iter().map(shown).collect());
}

/// Within backticks nothing but they and line ends means anything.
fn code(text: &str) -> String {
    text.replace(['`', '\n'], "'")
}

fn list(lines: &mut Vec<String>, items: Vec<String>) {
    if items.is_empty() {
        return;
    }
    let more = items.len().saturating_sub(ITEMS_MAX);
    lines.extend(items.into_iter().take(ITEMS_MAX).map(|item| format!("- {item}")));
    if more > 0 {
        lines.push(format!("- and {more} more"));
    }
    lines.push(String::new());
}

fn figures(lines: &mut Vec<String>, head: &str, about: &str, rows: &[DiffRow]) {
    let about = escaped(about);
    if !diff_row::is_any_changed(rows) {
        let summary = escaped(&diff_row::summary(rows));
        lines.push(format!("**{head}** ({about}): no change, {summary}."));
        lines.push(String::new());
        return;
    }
    lines.push(format!("**{head}**: {about}"));
    lines.push(String::new());
    lines.push("| | old | new | change |".to_owned());
    lines.push("| :-- | --: | --: | --: |".to_owned());
    for row in rows {
        let DiffRow { label, is_part, old, new, change, tone: _ } = row;
        let label = escaped(label);
        let label = if *is_part { format!("&nbsp;&nbsp;&nbsp;{label}") } else { label };
        let change = escaped(change);
        let change = if change.is_empty() { change } else { format!("**{change}**") };
        lines.push(format!("| {label} | {} | {} | {change} |", escaped(old), escaped(new)));
    }
    lines.push(String::new());
}

fn without_place(lines: &mut Vec<String>, diff: &ClusterDiff) {
    let all = &diff.newly_unschedulable;
    if all.is_empty() {
        return;
    }
    lines.push(format!("**{} newly without a place**", counted(all.len(), "pod")));
    lines.push(String::new());
    let mut items = Vec::new();
    for when in [When::NextTick, When::NodeGone] {
        let own = all.iter().filter(|own| own.when == when);
        for group in groups_of(own.map(|own| (&own.pod, own.reasons.as_slice()))) {
            let pods = escaped(&PodNames(&group.pods).to_string());
            let reasons =
                group.reasons.iter().map(|own| format!("  - {}", escaped(&own.to_string())));
            let reasons: Vec<String> = reasons.collect();
            items.push(format!("{}: {pods}\n{}", when.as_str(), reasons.join("\n")));
        }
    }
    list(lines, items);
}

fn with_place(lines: &mut Vec<String>, diff: &ClusterDiff) {
    let pods = &diff.newly_scheduled;
    if !pods.is_empty() {
        let count = counted(pods.len(), "pod");
        lines.push(format!(
            "**{count} newly with a place**: {}",
            escaped(&PodNames(pods).to_string())
        ));
        lines.push(String::new());
    }
}

fn drift(lines: &mut Vec<String>, diff: &ClusterDiff) {
    let nodes = &diff.newly_drifted;
    if nodes.is_empty() {
        return;
    }
    let (title, about) = ("newly drifted", drifted::about(nodes.len()));
    lines.push(format!("<details><summary>{title}: {about}</summary>"));
    lines.push(String::new());
    let items = drifted::by_reason(nodes).into_iter().map(|(reason, nodes)| {
        let more = nodes.len().saturating_sub(ITEMS_MAX);
        let names: Vec<String> =
            nodes.into_iter().take(ITEMS_MAX).map(|node| escaped(node)).collect();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{}: {}{more}", escaped(&reason), names.join(", "))
    });
    list(lines, items.collect());
    lines.push("</details>".to_owned());
    lines.push(String::new());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_ends_where_there_is_no_more_room() {
        let lines = || vec!["<details>one".to_owned(), "two".to_owned(), "</details>".to_owned()];
        assert_eq!(cut(lines(), 100), lines());
        let cut = cut(lines(), 17);
        assert_eq!(cut[..4], ["<details>one", "two", "", "</details>"]);
        assert!(cut[5].ends_with("left out."), "{cut:?}");
    }
}

//! A live view of the nodes of a cluster: as many lines as there are.

use domain::money::UsdPerHour;
use domain::plan::Plan;

use crate::terminal::Canvas;
use crate::text::node_table::node_table_with;
use crate::text::page::Page;
use crate::text::paint::Role;
use crate::text::top::sums;
use crate::view::cluster_use::ClusterUse;
use crate::view::money::Savings;
use crate::view::node_columns::NodeColumns;
use crate::view::pod_names::{PodNames, counted};
use crate::view::pricing::PriceNote;
use crate::view::top_screen::TopScreen;
use crate::view::unschedulable::groups;

/// Lines of the next tick, and of pods without a place, at most.
const LINES_MAX: usize = 4;
const KEYS: &str =
    "sort: n name  c cpu  m memory  p pods  $ price  a age   / filter   r refresh   q quit";

/// What the cluster was like when it was looked at last.
#[derive(Clone, Debug)]
pub(crate) struct TopFrame {
    /// Its nodes.
    pub(crate) cluster_use: ClusterUse,
    /// Columns that were asked for.
    pub(crate) columns: NodeColumns,
    /// What the next tick would do.
    pub(crate) plan: Plan,
    /// Where prices come from.
    pub(crate) prices: PriceNote,
    /// When it was looked at, as it is shown.
    pub(crate) at: String,
    /// Why it could not be looked at since.
    pub(crate) problem: Option<String>,
}

/// The lines of the screen, no more than it has.
pub(crate) fn screen(
    state: &mut TopScreen,
    frame: &TopFrame,
    canvas: Canvas,
    height: usize,
) -> Vec<String> {
    let mut page = Page::new(canvas);
    sums(&mut page, &frame.cluster_use, &frame.prices);
    next_tick(&mut page, &frame.plan);
    pending(&mut page, &frame.plan);
    page.line("");
    let mut lines: Vec<String> = page.into_text().lines().map(ToOwned::to_owned).collect();
    // The header of the table, and the line of keys.
    let room = height.saturating_sub(lines.len() + 2);
    let rows = state.rows(&frame.cluster_use.rows, &frame.columns, room);
    let table = node_table_with(&rows, &frame.columns, canvas);
    lines.extend(table.lines().map(ToOwned::to_owned));
    lines.truncate(height.saturating_sub(1));
    lines.push(footer(state, frame, canvas));
    lines
}

fn next_tick(page: &mut Page, plan: &Plan) {
    let mut said: Vec<String> = Vec::new();
    if !plan.node_claims.is_empty() {
        let price = plan.node_claims.iter().map(|own| own.offering.price).sum::<UsdPerHour>();
        said.push(format!("launch {} for {price}", counted(plan.node_claims.len(), "node")));
    }
    for own in &plan.disruptions {
        let nodes: Vec<&str> = own.nodes.iter().map(|name| page.node_name(name)).collect();
        said.push(format!("{}  {}  {}", nodes.join(", "), own.reason, Savings(own.savings)));
    }
    if said.is_empty() {
        said.push("nothing".to_owned());
    }
    listed(page, "NEXT TICK", &said);
}

fn pending(page: &mut Page, plan: &Plan) {
    let said: Vec<String> = groups(&plan.unschedulable)
        .iter()
        .map(|group| {
            let why = group.reasons.first().map(ToString::to_string).unwrap_or_default();
            format!("{}: {why}", PodNames(&group.pods))
        })
        .collect();
    if !said.is_empty() {
        listed(page, "NO PLACE", &said);
    }
}

fn listed(page: &mut Page, head: &str, said: &[String]) {
    page.heading(head, "");
    let width = page.canvas().width.map_or(usize::MAX, usize::from);
    let shown = if said.len() > LINES_MAX { LINES_MAX - 1 } else { said.len() };
    for own in said.iter().take(shown) {
        page.line(cut_off(&format!("  {own}"), width));
    }
    if said.len() > shown {
        page.faint(format!("  and {} more", said.len() - shown));
    }
}

/// A line without what overruns the edge.
fn cut_off(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line.to_owned();
    }
    let kept: String = line.chars().take(columns.saturating_sub(1)).collect();
    format!("{kept}…")
}

fn footer(state: &TopScreen, frame: &TopFrame, canvas: Canvas) -> String {
    let width = canvas.width.map_or(usize::MAX, usize::from);
    let page = Page::new(canvas);
    if state.is_typing {
        return page.paint(Role::Name, cut_off(&format!("/{}_", state.filter), width));
    }
    if let Some(problem) = &frame.problem {
        return page.paint(Role::Bad, cut_off(problem, width));
    }
    let turned = if state.is_reversed { ", reversed" } else { "" };
    let filter =
        if state.filter.is_empty() { String::new() } else { format!(" /{}", state.filter) };
    let line = format!("{} by {}{turned}{filter}   {KEYS}", frame.at, state.sort.as_str());
    page.paint(Role::Faint, cut_off(&line, width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::view::top_screen::Key;

    fn frame() -> TopFrame {
        let snapshot = testing::snapshot();
        TopFrame {
            cluster_use: ClusterUse::of(&snapshot, &Plan::default()),
            columns: NodeColumns::default(),
            plan: testing::plan(),
            prices: testing::price_note(),
            at: "12:00:00".to_owned(),
            problem: None,
        }
    }

    fn shown(state: &mut TopScreen, width: u16, height: usize) -> String {
        screen(state, &frame(), Canvas { color: false, width: Some(width) }, height).join("\n")
    }

    #[test]
    fn a_screen_of_80_columns() {
        insta::assert_snapshot!(shown(&mut TopScreen::default(), 80, 24));
    }

    #[test]
    fn a_screen_of_120_columns_by_price() {
        let mut state = TopScreen::default();
        state.press(Key::Char('$'));
        insta::assert_snapshot!(shown(&mut state, 120, 24));
    }

    #[test]
    fn no_screen_has_more_lines_or_columns_than_there_are() {
        for (width, height) in [(60, 8), (80, 12), (80, 24), (120, 40)] {
            let text = shown(&mut TopScreen::default(), width, height);
            assert!(text.lines().count() <= height, "{width} x {height}:\n{text}");
            let columns = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(columns <= usize::from(width), "{width} x {height}:\n{text}");
        }
    }

    #[test]
    fn what_is_typed_and_what_failed_take_the_place_of_the_keys() {
        let mut state = TopScreen::default();
        state.press(Key::Char('/'));
        state.press(Key::Char('x'));
        assert!(shown(&mut state, 80, 24).ends_with("/x_"));
        let failed = TopFrame { problem: Some("no answer".to_owned()), ..frame() };
        let lines = screen(&mut TopScreen::default(), &failed, Canvas::PLAIN, 24);
        assert_eq!(lines.last().unwrap(), "no answer");
    }
}

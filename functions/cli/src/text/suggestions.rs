//! Settings that a recording speaks for, as text: each with its manifests, and before and after.

use comfy_table::{Attribute, Cell, CellAlignment, Color};
use manifests::PrintError;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use suggestion::CandidateKind;

use crate::terminal::Canvas;
use crate::text::age::age;
use crate::text::layout::{plain_table, table_text};
use crate::text::page::Page;
use crate::text::paint::Role;
use crate::view::pod_names::counted;
use crate::view::series::{Estimate, Series, dollars};
use crate::view::suggestions::{FIGURES, Figure, Suggestion, Suggestions, Together, Unit};

/// Lines around a change that are shown.
const CONTEXT_LINES: usize = 2;

/// The whole answer, with the commands that give it once more and replay it.
pub(crate) fn suggestions(
    own: &Suggestions,
    commands: &[String],
    canvas: Canvas,
) -> Result<String, PrintError> {
    let mut page = Page::new(canvas);
    head(&mut page, own);
    if own.suggested.is_empty() {
        page.line("");
        page.line(format!("Nothing to suggest: {}.", why_nothing(own)));
    }
    for (number, suggestion) in (1..).zip(&own.suggested) {
        page.line("");
        one(&mut page, number, suggestion, &own.before)?;
    }
    if let Some(all) = &own.together {
        page.line("");
        together(&mut page, all, own);
    }
    if !own.suggested.is_empty() {
        apply(&mut page, own, commands);
    }
    rest(&mut page, own);
    Ok(page.into_text())
}

fn head(page: &mut Page, own: &Suggestions) {
    let Some(run) = own.before.runs.first() else { return };
    page.heading("SUGGESTIONS", &format!("for {}", run.setting.scenario));
    for line in run.setting.about.lines() {
        page.line(format!("  {line}"));
    }
    let length = age(run.setting.ended.duration_since(run.setting.started));
    page.faint(format!(
        "  {length} from {}, {}, {}",
        run.setting.started,
        counted(run.pods_bound, "pod"),
        own.before.seeds()
    ));
}

fn why_nothing(own: &Suggestions) -> String {
    match own.tried.len() {
        0 => "there was nothing to try".to_owned(),
        1 => "the one change that was replayed is no better".to_owned(),
        count => format!("none of the {count} changes that were replayed is better"),
    }
}

fn one(
    page: &mut Page,
    number: usize,
    own: &Suggestion,
    before: &Series,
) -> Result<(), PrintError> {
    let candidate = &own.candidate;
    let title = page.paint(Role::Heading, &candidate.what);
    let id = page.paint(Role::Faint, format!("({})", candidate.id));
    page.line(format!("{number}  {title}  {id}"));
    page.line(format!("   {}", candidate.why));
    if candidate.kind == CandidateKind::Prewarm {
        page.line(format!("   {}", worth(before, &own.after)));
    }
    if is_same(before, &own.after) {
        page.line("   the replays come to the same: nothing went, in this time, that it held up");
    } else {
        page.line(table(before, &own.after, page.canvas()));
    }
    if own.requests.is_some() && candidate.manifests.is_empty() {
        page.line("   only whole pods were measured: set the requests of their containers in the");
        page.line("   workload's own manifest");
    } else if own.requests.is_some() {
        page.line("   nothing but requests, for `kubectl apply --server-side --force-conflicts`:");
    }
    for (index, (manifest, was)) in candidate.manifests.iter().zip(&own.was).enumerate() {
        if index > 0 {
            page.faint("       ---");
        }
        for line in change_of(manifest, was.as_ref())? {
            let role = match line.chars().next() {
                Some('+') => Role::Good,
                Some('-') => Role::Bad,
                _ => Role::Faint,
            };
            let line = page.paint(role, line);
            page.line(format!("     {line}"));
        }
    }
    Ok(())
}

/// A manifest's lines; of one that changes, those that do, with what is around them.
fn change_of(manifest: &Value, was: Option<&Value>) -> Result<Vec<String>, PrintError> {
    let yaml = |own: &Value| manifests::to_yaml(std::slice::from_ref(own));
    let new = yaml(manifest)?;
    let Some(was) = was else {
        return Ok(new.lines().map(|line| format!("+ {line}")).collect());
    };
    let old = yaml(was)?;
    let diff = TextDiff::from_lines(&old, &new);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(CONTEXT_LINES) {
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            lines.push(format!("{sign} {}", change.value().trim_end()));
        }
    }
    Ok(lines)
}

/// Whether replays come to the same in every figure.
fn is_same(before: &Series, after: &Series) -> bool {
    FIGURES.iter().all(|figure| {
        let mut runs = before.runs.iter().zip(&after.runs);
        runs.all(|(was, is)| (figure.of)(was).to_bits() == (figure.of)(is).to_bits())
    })
}

/// What waiting costs to save.
fn worth(before: &Series, after: &Series) -> String {
    let saved = before.difference(after, |run| run.total_wait_seconds);
    let more = after.difference(before, |run| run.cost_usd);
    let days = before.runs.first().map_or(1.0, |run| {
        run.setting.ended.duration_since(run.setting.started).as_secs_f64() / 86_400.0
    });
    let minutes = |seconds: f64| format!("{:.1}", seconds / 60.0);
    let words = if more.mean < 0.0 { "less" } else { "more" };
    format!(
        "{} minutes of waiting saved, of all pods, for ${:.2} a day {words}",
        saved.shown(minutes),
        more.mean.abs() / days
    )
}

fn table(before: &Series, after: &Series, canvas: Canvas) -> String {
    let mut table = plain_table(canvas);
    let header = ["", "", "BEFORE", "AFTER", "CHANGE"];
    table.set_header(header.map(|title| Cell::new(title).add_attribute(Attribute::Dim)));
    for figure in &FIGURES {
        let (was, is) = (before.estimate(figure.of), after.estimate(figure.of));
        if was.mean == 0.0 && is.mean == 0.0 {
            continue;
        }
        let change = after.difference(before, figure.of);
        table.add_row([
            Cell::new(""),
            Cell::new(figure.name),
            Cell::new(was.shown(|own| shown(figure, own))),
            Cell::new(is.shown(|own| shown(figure, own))),
            Cell::new(changed(figure, change, was)).fg(tone(change)),
        ]);
    }
    for column in 2..header.len() {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table_text(&table)
}

/// Less of each figure is better.
fn tone(change: Estimate) -> Color {
    if change.is_below_zero() {
        Color::DarkGreen
    } else if change.is_above_zero() {
        Color::DarkYellow
    } else {
        Color::Reset
    }
}

fn shown(figure: &Figure, own: f64) -> String {
    match figure.unit {
        Unit::Dollars => dollars(own),
        Unit::Seconds => format!("{own:.1}s"),
        Unit::Count => format!("{own:.0}"),
    }
}

fn changed(figure: &Figure, change: Estimate, was: Estimate) -> String {
    let sign = if change.mean > 0.0 { "+" } else { "" };
    let own = format!("{sign}{}", change.shown(|own| shown(figure, own)));
    if was.mean == 0.0 {
        return own;
    }
    format!("{own} ({:+.0}%)", change.mean / was.mean * 100.0)
}

fn together(page: &mut Page, all: &Together, own: &Suggestions) {
    page.heading("TOGETHER", &all.ids.join(", "));
    page.line(table(&own.before, &all.after, page.canvas()));
    let left_out: Vec<&str> = own
        .suggested
        .iter()
        .filter(|own| !own.candidate.manifests.is_empty() && !all.ids.contains(&own.candidate.id))
        .map(|own| &*own.candidate.id)
        .collect();
    if !left_out.is_empty() {
        page.line(format!("   beside the others of no use: {}", left_out.join(", ")));
    }
}

fn apply(page: &mut Page, own: &Suggestions, commands: &[String]) {
    let has_manifests = own.suggested.iter().any(|own| !own.candidate.manifests.is_empty());
    if !has_manifests {
        return;
    }
    page.line("");
    page.line("To apply them, or to replay them yourself:");
    for command in commands {
        page.line(format!("  {command}"));
    }
}

fn rest(page: &mut Page, own: &Suggestions) {
    if !own.tried.is_empty() {
        page.line("");
        page.heading("REPLAYED AND NOT SUGGESTED", "");
        for tried in &own.tried {
            page.line(format!("  {}  {}", tried.id, tried.what));
            page.faint(format!("    {}", tried.why_not));
        }
    }
    if !own.notes.is_empty() {
        page.line("");
        page.heading("NOT FOUND", "");
        for note in &own.notes {
            page.line(format!("  {note}"));
        }
    }
    if let Some(run) = own.before.runs.first() {
        page.line("");
        page.faint(format!("  {}", run.setting.prices));
    }
}

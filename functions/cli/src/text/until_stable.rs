//! What comes of a cluster that is left to the functions, as text: the sum, the steps, and what
//! holds more back.

use domain::money::UsdPerHour;
use simulation::stable::BOUND;
use simulation::stable::blocker::{BlockerCost, BlockerCosts};

use crate::terminal::Canvas;
use crate::text::age::exact;
use crate::text::layout::wrapped;
use crate::text::page::Page;
use crate::text::paint::Role;
use crate::view::cluster_use::ClusterUse;
use crate::view::committed::{covered_line, use_lines};
use crate::view::money::Monthly;
use crate::view::node_row;
use crate::view::pod_names::counted;
use crate::view::pricing::PriceNote;
use crate::view::until_stable::{CameRow, StepRow, UntilStable, sentence};

/// Columns of a time in front of a step, at least.
const TIME_WIDTH_MIN: usize = 7;

/// The whole answer.
pub(crate) fn until_stable(own: &UntilStable, prices: &PriceNote, canvas: Canvas) -> String {
    let mut page = Page::new(canvas);
    assumptions(&mut page, &own.assumptions);
    sum(&mut page, own);
    page.line("");
    steps(&mut page, &own.steps);
    blockers(&mut page, &own.blockers);
    without_price(&mut page, own);
    page.faint(format!("  {prices}"));
    page.into_text()
}

fn assumptions(page: &mut Page, assumptions: &[String]) {
    if assumptions.is_empty() {
        return;
    }
    page.heading("ASSUMED", "");
    for assumption in assumptions {
        for line in lines_of(assumption, 2, page.canvas()) {
            page.line(format!("  {line}"));
        }
    }
    page.line("");
}

/// The words of a text in lines that keep within the canvas behind their indent.
fn lines_of(text: &str, indent: usize, canvas: Canvas) -> Vec<String> {
    let edge = canvas.width.map_or(usize::MAX, usize::from);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let length = line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && indent + length > edge {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// What comes of it, in a sentence: `from $3,455.00 to $2,100.00 a month, in 40 minutes, 61
/// evictions`.
pub(crate) fn headline(own: &UntilStable) -> String {
    let (from, to) = (Monthly(own.from.remaining()), Monthly(own.to.remaining()));
    if own.steps.is_empty() && own.is_stable && own.savings() == UsdPerHour::ZERO {
        return format!("{from} a month, and it stays so: nothing changes");
    }
    let evictions = counted(own.evictions, "eviction");
    format!("from {from} to {to} a month, {}, {evictions}", minutes(own))
}

fn sum(page: &mut Page, own: &UntilStable) {
    let (from, savings) = (own.from.remaining(), own.savings());
    page.line(page.paint(Role::Heading, headline(own)));
    if !own.is_stable {
        let line = format!("  it had not come to rest after {}", exact(BOUND));
        page.line(page.paint(Role::Warning, line));
    }
    if savings != UsdPerHour::ZERO {
        let (role, what) = if savings > UsdPerHour::ZERO {
            (Role::Good, format!("{} a month less", Monthly(savings)))
        } else {
            let more = UsdPerHour::ZERO - savings;
            (Role::Warning, format!("{} a month more", Monthly(more)))
        };
        let line = format!("  {what}{}", share(savings, from));
        page.line(page.paint(role, line));
    }
    for (word, side) in [("now", &own.from), ("then", &own.to)] {
        page.line(format!("  {word:<5} {}", side_line(side)));
        let Some(bill) = &side.committed else { continue };
        let lines = use_lines(bill, None).into_iter();
        for line in std::iter::once(covered_line(bill, side.price)).chain(lines) {
            page.line(format!("  {:<5} {line}", ""));
        }
    }
    for violation in &own.violations {
        let line = format!("  a rule was broken on the way: {violation}");
        page.line(page.paint(Role::Bad, line));
    }
}

/// ` (39%)`, of what it was.
fn share(savings: UsdPerHour, from: UsdPerHour) -> String {
    let (savings, from) = (i128::from(savings.nanos()), i128::from(from.nanos()));
    if from <= 0 {
        return String::new();
    }
    format!(" ({}%)", (savings.abs() * 100 + from / 2) / from)
}

/// `in 40 minutes`.
fn minutes(own: &UntilStable) -> String {
    let minutes = (own.elapsed.as_secs() + 59) / 60;
    match minutes {
        0 => "at once".to_owned(),
        1 => "in 1 minute".to_owned(),
        2..=180 => format!("in {minutes} minutes"),
        _ => format!("in {}", exact(domain::SignedDuration::from_mins(minutes))),
    }
}

/// `23 nodes (12 on-demand, 11 spot), cpu 45%, memory 60%, 3 pods wait`.
pub(crate) fn side_line(side: &ClusterUse) -> String {
    let ClusterUse { rows, cpu, memory, pending, by_capacity_type, .. } = side;
    let kinds: Vec<String> = by_capacity_type
        .iter()
        .map(|(kind, count)| {
            format!("{count} {}", kind.map_or("of another kind", |own| own.as_str()))
        })
        .collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    let mut parts = vec![format!("{}{kinds}", counted(rows.len(), "node"))];
    for (name, usage) in [("cpu", cpu), ("memory", memory)] {
        parts.extend(usage.percent().map(|percent| format!("{name} {percent}%")));
    }
    if *pending > 0 {
        let verb = if *pending == 1 { "waits" } else { "wait" };
        parts.push(format!("{} {verb}", counted(*pending, "pod")));
    }
    parts.join(", ")
}

fn steps(page: &mut Page, steps: &[StepRow]) {
    if steps.is_empty() {
        return;
    }
    page.heading("STEPS", "and what each saves a month");
    let times: Vec<String> = steps.iter().map(|step| format!("+{}", exact(step.at))).collect();
    let width = times.iter().map(String::len).max().unwrap_or(0).max(TIME_WIDTH_MIN);
    for (step, time) in steps.iter().zip(times) {
        step_lines(page, step, &format!("{time:>width$}"));
    }
    page.line("");
}

fn step_lines(page: &mut Page, step: &StepRow, time: &str) {
    let indent = time.len() + 2;
    let time = page.paint(Role::Faint, time);
    let role = if step.savings < UsdPerHour::ZERO { Role::Warning } else { Role::Good };
    let money = page.paint(role, Monthly(step.savings));
    let change = match (step.went.len(), step.came.len()) {
        (went, 0) => format!("{} {}", counted(went, "node"), if went == 1 { "goes" } else { "go" }),
        (0, came) => {
            format!("{} {}", counted(came, "node"), if came == 1 { "comes" } else { "come" })
        }
        (went, came) => format!("{} for {came}", counted(went, "node")),
    };
    page.line(format!("{time}  {change}  {money}  {}", step.summary()));
    if !step.went.is_empty() {
        let names: Vec<&str> = step.went.iter().map(|name| page.node_name(name)).collect();
        for (index, line) in wrapped(&names, indent + 2, page.canvas()).into_iter().enumerate() {
            let line =
                if index == 0 { format!("{:indent$}- {}", "", line.trim_start()) } else { line };
            page.faint(line);
        }
    }
    for (came, count) in same(&step.came) {
        let CameRow { instance_type, zone, capacity_type, price, .. } = came;
        let times = if count == 1 { String::new() } else { format!("{count} × ") };
        page.faint(format!(
            "{:indent$}+ {times}{instance_type} {capacity_type} in {zone} at {price}",
            ""
        ));
    }
}

/// Equal nodes with their number, the dearest first.
fn same(came: &[CameRow]) -> Vec<(&CameRow, usize)> {
    let mut same: Vec<(&CameRow, usize)> = Vec::new();
    let key = |own: &CameRow| (own.instance_type.clone(), own.zone.clone(), own.capacity_type);
    for own in came {
        match same.iter_mut().find(|(known, _)| key(known) == key(own) && known.price == own.price)
        {
            Some((_, count)) => *count += 1,
            None => same.push((own, 1)),
        }
    }
    same
}

fn blockers(page: &mut Page, blockers: &BlockerCosts) {
    let BlockerCosts { costs, harmless } = blockers;
    if costs.is_empty() {
        let line = match harmless {
            0 => "nothing".to_owned(),
            _ => format!("nothing, of {} looked at", counted(*harmless, "thing")),
        };
        page.heading("WHAT HOLDS MORE BACK", &line);
        page.line("");
        return;
    }
    page.heading("WHAT HOLDS MORE BACK", "and what the end would cost a month less without it");
    let amounts: Vec<String> = costs
        .iter()
        .map(|cost| {
            let mark = if cost.is_at_least { "≥ " } else { "" };
            format!("{mark}{}", Monthly(cost.saving))
        })
        .collect();
    let width = amounts.iter().map(|own| own.chars().count()).max().unwrap_or(0);
    for (cost, amount) in costs.iter().zip(amounts) {
        blocker(page, cost, &format!("{amount:>width$}"));
    }
    if *harmless > 0 {
        let what = if *harmless == 1 { "other thing holds" } else { "other things hold" };
        page.faint(format!("  {:>width$}  {harmless} {what} nothing back", "-"));
    }
    page.line("");
}

fn blocker(page: &mut Page, cost: &BlockerCost, amount: &str) {
    let text = sentence(cost, |name| page.node_name(name));
    let indent = amount.chars().count() + 4;
    let amount = page.paint(Role::Good, amount);
    let lines = lines_of(&text, indent, page.canvas());
    for (index, line) in lines.iter().enumerate() {
        if index == 0 {
            page.line(format!("  {amount}  {line}"));
        } else {
            page.line(format!("{:indent$}{line}", ""));
        }
    }
}

fn without_price(page: &mut Page, own: &UntilStable) {
    let without = node_row::without_price(&own.to.rows);
    if !without.is_empty() {
        page.faint(format!(
            "  without {} that the catalogue does not price: {}",
            counted(without.len(), "node"),
            without.join(", ")
        ));
    }
}

//! Rules of style that a machine can check: words of the field, comments that stand alone, lines of
//! at most 100 columns, and files that do not use each other in circles.

use outrigger_tests::imports::Imports;
use outrigger_tests::workspace::{Package, Source, production, root, sources_under};

/// The columns of a line, comments included.
const COLUMNS_MAX: usize = 100;

/// Private words, each with the word of the field that takes its place.
const WORDS: &[(&str, &str)] = &[
    ("AT_ONCE", "CONCURRENCY_MAX"),
    ("Beside", "ObservedStatus"),
    ("Blend", "ColumnUse"),
    ("CALM", "DUAL_SMOOTHING"),
    ("FOR_GOOD", "HANDBACK_LEASE_TERM"),
    ("Gradual", "IncrementalRemoval"),
    ("Grounds", "KnownLabels"),
    ("HOMES_TAKE", "REPLACEMENT_TIMEOUT"),
    ("LOOK_AGAIN", "POLL_INTERVAL"),
    ("LOOK_EVERY", "POLL_INTERVAL"),
    ("LOOK_INTERVAL", "CHECK_INTERVAL or RUN_INTERVAL"),
    ("Outside", "Ports"),
    ("QuietRuns", "IdleRuns"),
    ("SIDE_BY_SIDE", "CONCURRENCY_MAX"),
    ("Scatter", "SchedulerDivergence"),
    ("Scattered", "SchedulerDivergence"),
    ("Sight", "SnapshotSource"),
    ("THAW", "REPRICE_INTERVAL"),
    ("Team", "SpreadGroup"),
    ("WISH", "PREFERENCE_WEIGHT"),
    ("await_quiet", "requeue_when_consolidatable"),
    ("begin_looking", "begin_demand_checks"),
    ("come_back_after", "requeue_after"),
    ("homeless", "awaiting capacity"),
    ("may_ask", "may_add_pod"),
    ("say_why_gone", "record_instance_ends"),
    ("take_more", "try_remove"),
    ("tell_operator", "warn_if_operator_needed"),
    ("telling", "telemetry"),
    ("told", "recorded, reported or shown"),
    ("wishes", "soft constraints"),
];

/// Beginnings of comments that do not stand alone, and references that lead nowhere.
const DANGLING: &[&str] =
    &["/// The same, ", "/// That, ", "/// So much of so much", "/// So many."];

/// The Rust files of the repository.
fn sources() -> Vec<Source> {
    let folders = ["functions", "shared", "tests"];
    let sources = folders.iter().flat_map(|folder| sources_under(&root().join(folder)));
    let is_checked = |source: &Source| {
        let is_this_file = source.path.ends_with("tests/tests/tidy.rs");
        let is_generated = source.path.iter().any(|part| part == "target");
        !is_this_file && !is_generated
    };
    let checked: Vec<Source> = sources.filter(is_checked).collect();
    assert!(checked.len() > 100, "the sources were not found");
    checked
}

/// `PATH:LINE: TEXT` of every line for which `problem` says what is wrong.
fn lines_with(sources: &[Source], problem: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let lines = sources.iter().flat_map(|source| {
        source.text.lines().enumerate().map(move |(index, line)| (source, index + 1, line))
    });
    lines
        .filter_map(|(source, number, line)| {
            problem(line).map(|what| format!("{}:{number}: {what}", source.path.display()))
        })
        .collect()
}

#[track_caller]
fn assert_none(found: &[String]) {
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// Whether a line has a word of its own: `Beside` is not in `BesideOthers`.
fn has_word(line: &str, word: &str) -> bool {
    let is_of_word = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        !before.is_some_and(is_of_word) && !after.is_some_and(is_of_word)
    })
}

#[test]
fn private_words_are_gone() {
    let found = lines_with(&sources(), |line| {
        let word = WORDS.iter().find(|(word, _)| has_word(line, word));
        word.map(|(word, better)| format!("`{word}` is no word of the field: {better}"))
    });
    assert_none(&found);
}

#[test]
fn comments_stand_alone() {
    let found = lines_with(&sources(), |line| {
        let comment = line.trim_start();
        let is_dangling = DANGLING.iter().any(|start| comment.starts_with(start));
        is_dangling.then(|| format!("needs the line above: {comment}"))
    });
    assert_none(&found);
}

#[test]
fn comments_refer_only_to_what_a_reader_can_open() {
    let found = lines_with(&sources(), |line| {
        let (_, comment) = line.split_once("//")?;
        let (_, page) = comment.split_once("reference ")?;
        let mut page = page.chars();
        let is_page = page.next().is_some_and(|letter| ('A'..='F').contains(&letter))
            && page.next().is_some_and(|digit| digit.is_ascii_digit());
        is_page.then(|| format!("a page that is not in the repository: {}", comment.trim()))
    });
    assert_none(&found);
}

#[test]
fn comments_fit_the_columns() {
    let found = lines_with(&sources(), |line| {
        let columns = line.chars().count();
        let is_comment = line.trim_start().starts_with("//");
        (is_comment && columns > COLUMNS_MAX).then(|| format!("{columns} columns"))
    });
    assert_none(&found);
}

#[test]
fn files_of_a_crate_form_no_circles() {
    let packages = Package::all().unwrap();
    let found: Vec<String> = packages
        .iter()
        .flat_map(|package| {
            let folder = format!("{}/src", package.folder);
            Imports::read(&folder, &production(package.sources())).circles()
        })
        .collect();
    assert_none(&found);
}

#[test]
fn words_are_found_as_words() {
    assert!(has_word("struct Beside;", "Beside"));
    assert!(!has_word("struct BesideOthers;", "Beside"));
    assert!(!has_word("fn is_told_of() {}", "told"));
}

//! The outside judge and our checker agree: on every conformance plan, and on plans broken on
//! purpose.
//!
//! The judge is `validity.py` of the conformance folder beside the repository. Where it is not
//! there the test says so and judges nothing; our checker is held against plans of every kind
//! elsewhere.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not exempt as it does tests"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use domain::plan::Plan;
use outrigger_tests::conformance::{self, Scenario};
use outrigger_tests::mutation;
use outrigger_tests::plan_document::document;
use serde_json::json;

/// Where the judge is kept: beside the repository.
fn judge_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/conformance")
}

/// Rules of ours about what the outside judge does not read: it may find nothing where we find only
/// these.
const ONLY_OURS: &[(&str, &str)] = &[
    ("claim-requests", "the judge sums requests up itself and does not read the claim's"),
    ("move-missing", "the judge looks for room of its own accord and does not read `moves`"),
    ("move-unknown", "as above"),
    ("move-pods", "as above"),
];

/// A scenario with plans over it: as planned, and broken in each way that it allows.
struct Question {
    scenario: Scenario,
    plans: Vec<(&'static str, Plan)>,
}

fn question(path: &Path) -> Question {
    let scenario = Scenario::read(path).unwrap();
    let plan = planning::plan(&scenario.snapshot);
    let mut plans = vec![("as planned", plan.clone())];
    plans.extend(mutation::ALL.iter().filter_map(|mutation| {
        mutation.of(&scenario.snapshot, &plan).map(|broken| (mutation.name, broken))
    }));
    Question { scenario, plans }
}

/// The rules that each plan breaks by our checker.
fn our_judgement(question: &Question) -> Vec<BTreeSet<String>> {
    let judge = |plan: &Plan| {
        let violations = checker::check(&question.scenario.snapshot, plan);
        violations.iter().map(|violation| violation.rule.as_str().to_owned()).collect()
    };
    question.plans.iter().map(|(_, plan)| judge(plan)).collect()
}

/// The rules that each plan breaks by the outside judge; why it could not be asked otherwise.
fn outside_judgement(questions: &[Question]) -> Result<Vec<Vec<BTreeSet<String>>>, String> {
    let folder = judge_folder();
    if !folder.join("validity.py").exists() {
        return Err(format!("{} has no validity.py", folder.display()));
    }
    let mut child = Command::new("python3")
        .arg(conformance::folder().join("agree.py"))
        .arg(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("python3 cannot be run: {error}"))?;
    let mut input = child.stdin.take().unwrap();
    let lines: Vec<String> = questions
        .iter()
        .map(|question| {
            let plans: Vec<_> = question.plans.iter().map(|(_, plan)| document(plan)).collect();
            json!({"scenario": question.scenario.path, "plans": plans}).to_string()
        })
        .collect();
    // Answers are read while questions are still being written: neither pipe holds all of them. A
    // judge that gave up early is seen by its exit status, not by the broken pipe.
    let writer = std::thread::spawn(move || {
        let written = lines.iter().try_for_each(|line| writeln!(input, "{line}"));
        drop(input);
        written
    });
    let output = child.wait_with_output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) {
        return Err(complaint.trim().to_owned());
    }
    assert!(output.status.success(), "the outside judge failed: {complaint}");
    writer.join().unwrap().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    Ok(answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn the_outside_judge_and_the_checker_agree_on_plans_right_and_wrong() {
    let questions: Vec<Question> = conformance::files().iter().map(|path| question(path)).collect();
    // The two judge side by side: either takes seconds.
    let (answers, ours) = std::thread::scope(|scope| {
        let answers = scope.spawn(|| outside_judgement(&questions));
        let ours: Vec<Vec<BTreeSet<String>>> = questions.iter().map(our_judgement).collect();
        (answers.join().unwrap(), ours)
    });
    let answers = match answers {
        Ok(answers) => answers,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    assert_eq!(answers.len(), questions.len());
    let mut disagreements: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut judged, mut refused) = (0, 0);
    for ((Question { scenario, plans }, outside), inside) in
        questions.iter().zip(&answers).zip(&ours)
    {
        assert_eq!(plans.len(), outside.len());
        for (((name, _), outside), inside) in plans.iter().zip(outside).zip(inside) {
            judged += 1;
            refused += usize::from(!outside.is_empty());
            let is_agreed = if outside.is_empty() {
                inside.iter().all(|rule| ONLY_OURS.iter().any(|(own, _)| own == rule))
            } else {
                !inside.is_empty()
            };
            if !is_agreed {
                let what = format!("{name}: checker {inside:?}, outside {outside:?}");
                disagreements.entry(what).or_default().push(scenario.name.clone());
            }
        }
    }
    println!("{judged} plans judged, {refused} of them refused");
    assert!(
        refused > 1_000,
        "only {refused} of {judged} plans were broken: the mutations do nothing"
    );
    let shown: Vec<String> = disagreements
        .iter()
        .map(|(what, names)| format!("{} × {what}\n    e.g. {}", names.len(), names[0]))
        .collect();
    assert!(shown.is_empty(), "{} kinds of disagreement:\n{}", shown.len(), shown.join("\n"));
}

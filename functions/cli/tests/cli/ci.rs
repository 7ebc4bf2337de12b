//! The action for GitHub and the example for GitLab: what they say is so, and their scripts run.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use manifests::Source;
use serde_json::Value;

use crate::support::{HUGE, SHOP, Workspace};

/// A YAML file of one document, under `infra/ci`.
fn read(path: &str) -> (String, Value) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../infra/ci").join(path);
    let text = std::fs::read_to_string(file).unwrap();
    let source = Source::new(path, text.clone());
    match manifests::documents(&source).as_slice() {
        [Ok(document)] => (text, document.value.to_json()),
        other => panic!("{path}: {other:?}"),
    }
}

fn names(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

/// What stands behind a word and a dot: `inputs.paths` names `paths`.
fn named_after(text: &str, word: &str) -> BTreeSet<String> {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let starts = text.match_indices(word).map(|(at, _)| at + word.len());
    let names = starts.map(|at| text[at..].split(|own| !is_of_name(own)).next().unwrap());
    names.map(str::to_owned).collect()
}

#[test]
fn every_input_of_the_action_is_described_and_used_and_no_other_is() {
    let (text, action) = read("github/action.yml");
    assert_eq!(named_after(&text, "inputs."), names(&action["inputs"]));
    for (name, input) in action["inputs"].as_object().unwrap() {
        assert!(input["description"].as_str().is_some_and(|own| own.len() > 20), "{name}");
        let has_default = input.get("default").is_some();
        assert_ne!(has_default, input["required"] == true, "{name}: required, or with a default");
    }
    let ids: BTreeSet<String> = action["runs"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|step| step["id"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(
        named_after(&text, "${{ steps."),
        named_after(&text, "${{ steps.").intersection(&ids).cloned().collect()
    );
}

#[test]
fn steps_are_scripts_into_which_nothing_is_pasted_or_pinned_actions() {
    let (_, action) = read("github/action.yml");
    for step in action["runs"]["steps"].as_array().unwrap() {
        match (step["run"].as_str(), step["uses"].as_str()) {
            (Some(script), None) => {
                assert_eq!(step["shell"], "bash", "{step}");
                // An expression in a script is replaced before the shell reads it: whoever writes
                // the input would write the script.
                assert!(!script.contains("${{"), "{script}");
                let output = Command::new("bash").args(["-n", "-c", script]).output().unwrap();
                assert!(output.status.success(), "{script}: {output:?}");
            }
            (None, Some(action)) => assert!(action.contains("@v"), "{action}"),
            _ => panic!("{step}"),
        }
    }
}

/// The script of a step with a name.
fn script(action: &Value, name: &str) -> String {
    let steps = action["runs"]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["name"] == name).unwrap();
    step["run"].as_str().unwrap().to_owned()
}

#[track_caller]
fn git(workspace: &Workspace, line: &str) {
    let output = Command::new("git")
        .args(["-c", "user.name=tester", "-c", "user.email=tester@example.com"])
        .args(["-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"])
        .args(line.split_whitespace())
        .current_dir(workspace.path(""))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
}

/// A repository of which HEAD adds a pod that fits nowhere, and a program that stands for others
/// and writes down what it is called with.
fn repository() -> Workspace {
    let workspace =
        Workspace::with(&[("infra/shop.yaml", SHOP), ("cluster.yaml", "# nothing yet\n")]);
    git(&workspace, "init --quiet");
    git(&workspace, "add infra");
    git(&workspace, "commit --quiet -m one");
    git(&workspace, "branch base");
    std::fs::write(workspace.path("infra/huge.yaml"), HUGE).unwrap();
    git(&workspace, "add infra");
    git(&workspace, "commit --quiet -m two");
    workspace
}

/// Puts a program on the PATH that prints a text and writes down its arguments.
fn stand_in(workspace: &Workspace, name: &str, prints: &str) {
    let path = workspace.path("bin").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let calls = workspace.path("calls");
    let text = format!("#!/bin/bash\necho \"{name} $*\" >>'{}'\n{prints}\n", calls.display());
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[track_caller]
fn bash(workspace: &Workspace, script: &str, environment: &[(&str, &str)]) -> Output {
    let path = format!(
        "{}:{}:{}",
        workspace.path("bin").display(),
        Path::new(env!("CARGO_BIN_EXE_outrigger")).parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    // As GitHub runs it: the first command that fails ends the script.
    Command::new("bash")
        .args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script])
        .current_dir(workspace.path(""))
        .env("PATH", path)
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

fn text(workspace: &Workspace, name: &str) -> String {
    std::fs::read_to_string(workspace.path(name)).unwrap_or_default()
}

#[test]
fn the_action_compares_and_says_the_status() {
    let (_, action) = read("github/action.yml");
    let workspace = repository();
    let folder = workspace.path("").display().to_string();
    let [summary, output] =
        ["summary", "output"].map(|name| workspace.path(name).display().to_string());
    let binary = env!("CARGO_BIN_EXE_outrigger");
    let environment = [
        ("BASE", "base"),
        ("BINARY", binary),
        ("CLUSTER", "cluster.yaml\n"),
        ("MAX_COST_INCREASE", ""),
        ("MAX_NEWLY_DRIFTED", ""),
        ("MAX_NEWLY_UNSCHEDULABLE", "0"),
        ("MAX_SPOT_INCREASE", ""),
        ("OPTIONS", "--catalog=catalog.yaml\n--region=us-east-1"),
        ("PATHS", "infra\n"),
        ("RUNNER_TEMP", &folder),
        ("GITHUB_STEP_SUMMARY", &summary),
        ("GITHUB_OUTPUT", &output),
    ];
    let run = bash(&workspace, &script(&action, "Compare"), &environment);
    assert!(run.status.success(), "{run:?}");
    let page = text(&workspace, "summary");
    assert!(page.starts_with("<!-- outrigger diff -->\n### ❌ Nodes: "), "{page}");
    assert!(page.contains("default/huge"), "{page}");
    assert_eq!(text(&workspace, "outrigger-diff.md"), page);
    assert!(text(&workspace, "output").starts_with("status=3\nmarkdown="), "{run:?}");
    let ended = bash(&workspace, &script(&action, "Tell the outcome"), &[("STATUS", "3")]);
    assert_eq!(ended.status.code(), Some(3));
}

#[test]
fn the_action_updates_the_comment_that_it_wrote_before() {
    let (_, action) = read("github/action.yml");
    let environment = [("PAGE", "page.md"), ("PULL_REQUEST", "7"), ("REPOSITORY", "shop/infra")];
    for (found, expected) in [
        (
            "",
            "gh api --silent --method POST repos/shop/infra/issues/7/comments --field body=@page.md",
        ),
        (
            "41",
            "gh api --silent --method PATCH repos/shop/infra/issues/comments/41 --field body=@page.md",
        ),
    ] {
        let workspace = Workspace::with(&[]);
        let prints = format!("[[ \"$*\" != *paginate* ]] || echo '{found}'");
        stand_in(&workspace, "gh", &prints);
        let run = bash(&workspace, &script(&action, "Comment"), &environment);
        assert!(run.status.success(), "{run:?}");
        assert_eq!(text(&workspace, "calls").lines().last(), Some(expected));
    }
}

#[test]
fn the_example_for_gitlab_compares_and_writes_one_note() {
    let (_, pipeline) = read("gitlab/.gitlab-ci.yml");
    let job = &pipeline["outrigger-diff"];
    let script = job["script"][0].as_str().unwrap();
    for (found, method, place) in [
        ("[]", "POST", "notes"),
        ("[{\"id\": 5, \"body\": \"<!-- outrigger diff -->\"}]", "PUT", "notes/5"),
    ] {
        let workspace = repository();
        stand_in(&workspace, "curl", &format!("[[ $* == *--request* ]] || echo '{found}'"));
        let mut environment: Vec<(&str, &str)> = job["variables"]
            .as_object()
            .unwrap()
            .iter()
            .filter(|(name, _)| name.starts_with("OUTRIGGER_"))
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
            .collect();
        environment.extend([
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "base"),
            ("CI_COMMIT_SHA", "HEAD"),
            ("CI_API_V4_URL", "https://gitlab.example.com/api/v4"),
            ("CI_PROJECT_ID", "1"),
            ("CI_MERGE_REQUEST_IID", "2"),
            ("OUTRIGGER_GITLAB_TOKEN", "t"),
        ]);
        let run = bash(&workspace, script, &environment);
        assert_eq!(run.status.code(), Some(3), "{run:?}");
        assert!(text(&workspace, "outrigger-diff.md").contains("default/huge"), "{run:?}");
        let calls = text(&workspace, "calls");
        let last = calls.lines().last().unwrap();
        assert!(last.contains(&format!("--request {method} ")), "{calls}");
        assert!(last.ends_with(&format!("/merge_requests/2/{place}")), "{calls}");
    }
}

#[test]
fn options_that_the_action_gives_are_options_of_the_program() {
    let (text, _) = read("github/action.yml");
    let help = Workspace::with(&[]).run("diff --help").out;
    for name in named_after(&text, "max-") {
        assert!(help.contains(&format!("--max-{name}")), "--max-{name}");
    }
}

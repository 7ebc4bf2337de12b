//! `outrigger diff` of two revisions of a git repository.

use std::process::Command;

use crate::support::{HUGE, SHOP, Workspace};

const OPTIONS: &str = "--catalog catalog.yaml --now 2026-01-01T12:00:00Z -o json";

/// Runs git in the workspace, apart from whatever the user of the tests has configured.
#[track_caller]
fn git(workspace: &Workspace, line: &str) {
    let output = Command::new("git")
        .args(["-c", "user.name=tester", "-c", "user.email=tester@example.com"])
        .args(["-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"])
        .args(line.split_whitespace())
        .current_dir(workspace.path(""))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

fn write(workspace: &Workspace, name: &str, text: &str) {
    let path = workspace.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A repository whose branch `topic` adds a pod that fits nowhere, in a folder `infra`, while
/// `main` got a commit of its own since.
fn repository() -> Workspace {
    let workspace =
        Workspace::with(&[("infra/shop.yaml", SHOP), ("infra/notes.txt", "no manifest")]);
    git(&workspace, "init --quiet");
    git(&workspace, "add infra");
    git(&workspace, "commit --quiet -m one");
    git(&workspace, "checkout --quiet -b topic");
    write(&workspace, "infra/more/huge.yaml", HUGE);
    git(&workspace, "add infra");
    git(&workspace, "commit --quiet -m two");
    git(&workspace, "checkout --quiet main");
    write(&workspace, "infra/shop.yaml", &SHOP.replace("replicas: 3", "replicas: 4"));
    git(&workspace, "commit --quiet -am three");
    git(&workspace, "checkout --quiet topic");
    workspace
}

/// Kinds and names of what changed.
#[track_caller]
fn changed(workspace: &Workspace, line: &str) -> Vec<String> {
    let run = workspace.run(&format!("diff {line} {OPTIONS}"));
    assert_eq!(run.status, 0, "{run:?}");
    let document = run.json();
    let changes = document["changes"].as_array().unwrap().iter();
    changes
        .map(|own| {
            let [difference, name] = ["difference", "name"].map(|key| own[key].as_str().unwrap());
            format!("{difference} {name}")
        })
        .collect()
}

#[test]
fn two_revisions_are_compared_without_being_checked_out() {
    let workspace = repository();
    assert_eq!(changed(&workspace, "main:infra topic:infra"), ["Changed web", "Added huge"]);
    assert_eq!(changed(&workspace, "HEAD~1:infra HEAD:infra"), ["Added huge"]);
    assert_eq!(changed(&workspace, "main:infra/shop.yaml infra/shop.yaml"), ["Changed web"]);
    assert_eq!(changed(&workspace, "HEAD:./infra infra"), Vec::<String>::new());
}

#[test]
fn a_range_means_what_it_means_to_git_diff() {
    let workspace = repository();
    assert_eq!(changed(&workspace, "--git main..topic infra"), ["Changed web", "Added huge"]);
    assert_eq!(changed(&workspace, "--git main...topic infra"), ["Added huge"]);
    assert_eq!(changed(&workspace, "--git main... infra/"), ["Added huge"]);
    write(&workspace, "infra/more/huge.yaml", "# nothing any more\n");
    assert_eq!(changed(&workspace, "--git HEAD infra"), ["Removed huge"]);
}

#[test]
fn a_folder_that_only_one_revision_has_is_all_new() {
    let workspace = repository();
    assert_eq!(changed(&workspace, "--git main..topic infra/more"), ["Added huge"]);
    let run = workspace.run("diff --git main..topic nowhere");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains(" has nowhere\n"), "{run:?}");
}

#[test]
fn errors_name_the_revision_and_the_line() {
    let workspace = repository();
    write(&workspace, "infra/shop.yaml", &SHOP.replace("operator: In", "operator: Within"));
    git(&workspace, "commit --quiet -am broken");
    let run = workspace.run(&format!("diff HEAD~1:infra HEAD:infra {OPTIONS}"));
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("(HEAD:infra/shop.yaml:9, object default, field "), "{run:?}");
    for (line, said) in [
        (
            "diff HEAD:infra HEAD:nowhere",
            "git cannot read HEAD:nowhere: there is no such revision, or no such path in it",
        ),
        (
            "diff nothing:infra HEAD:infra",
            "git cannot read nothing:infra: there is no such revision, or",
        ),
        ("diff --git nothing..HEAD infra", "git cannot read nothing: there is no such revision"),
        ("diff --git HEAD..HEAD /infra", "with --git, paths are relative"),
        ("diff HEAD~1:infra/notes.txt HEAD~1:infra", ""),
    ] {
        let run = workspace.run(line);
        assert_eq!(run.status, if said.is_empty() { 0 } else { 2 }, "{line}: {run:?}");
        assert!(run.err.contains(said), "{line}: {run:?}");
    }
}

#[test]
fn without_git_it_is_said_that_git_is_missing() {
    let workspace = repository().environment("PATH", "/nonexistent");
    let run = workspace.run("diff main:infra HEAD:infra");
    assert_eq!(run.status, 2);
    assert_eq!(
        run.err,
        "error: main:infra is read by git, which is not there: install it, or name files or folders\n"
    );
}

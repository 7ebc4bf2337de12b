//! What a shell knows of the program: completions, manual pages, its version, and kubectl's plugin.

#[path = "../../build/head.rs"]
mod head;

use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::process::Command;

use crate::support::Workspace;

#[test]
fn every_shell_gets_completions_for_every_command() {
    let workspace = Workspace::with(&[]);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = workspace.run(&format!("completions {shell}"));
        assert_eq!(run.status, 0, "{run:?}");
        for word in ["simulate", "explain", "max-cost-increase"] {
            assert!(run.out.contains(word), "{word} in completions of {shell}");
        }
    }
    assert_eq!(workspace.run("completions csh").status, 2);
}

#[cfg(unix)]
#[test]
fn completions_are_scripts_that_the_shell_reads() {
    let script = Workspace::with(&[]).run("completions bash").out;
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), script).unwrap();
    let line = format!(
        "source '{}' && COMP_WORDS=(outrigger di) COMP_CWORD=1 && _outrigger outrigger di \
         outrigger && echo \"${{COMPREPLY[@]}}\"",
        file.path().display()
    );
    let output = Command::new("bash").args(["--norc", "-c", &line]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.trim(), "diff", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn there_is_a_manual_page_for_the_program_and_for_each_command() {
    let workspace = Workspace::with(&[]);
    let page = workspace.run("man").out;
    assert!(page.contains(".TH outrigger 1"), "{page}");
    assert!(page.contains("outrigger\\-diff(1)"), "{page}");
    let run = workspace.run("man --write pages");
    assert_eq!((run.status, &*run.out), (0, ""), "{run:?}");
    for name in
        ["outrigger.1", "outrigger-plan.1", "outrigger-diff.1", "outrigger-catalog-import.1"]
    {
        let page = fs::read_to_string(workspace.path("pages").join(name)).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let run = Workspace::with(&[]).run("--version");
    assert_eq!(run.status, 0);
    let expected = concat!("outrigger ", env!("CARGO_PKG_VERSION"));
    assert!(run.out.starts_with(expected), "{run:?}");
}

#[cfg(unix)]
#[test]
fn as_a_plugin_of_kubectl_it_goes_by_the_name_that_users_type() {
    let workspace = Workspace::with(&[]);
    let plugin = workspace.path("kubectl-outrigger");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_outrigger"), &plugin).unwrap();
    let said = |line: &str| {
        let output = Command::new(&plugin).args(line.split_whitespace()).output().unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    assert!(said("--help").contains("Usage: kubectl outrigger [COMMAND]"), "{}", said("--help"));
    assert!(said("plan").contains("Usage: kubectl outrigger plan"), "{}", said("plan"));
    assert!(said("--version").starts_with("kubectl outrigger 0."), "{}", said("--version"));
}

/// A commit, as a repository writes it.
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn write(root: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn commit_of(files: &[(&str, &str)]) -> Option<String> {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), files);
    let found = head::of(root.path())?;
    assert!(found.depends_on.iter().all(|path| path.exists()), "{found:?}");
    assert!(found.depends_on.contains(&root.path().join(".git/HEAD")), "{found:?}");
    Some(found.commit)
}

#[test]
fn the_commit_is_that_of_the_branch_or_of_a_detached_head() {
    let line = format!("{COMMIT}\n");
    let loose = [(".git/HEAD", "ref: refs/heads/main\n"), (".git/refs/heads/main", &*line)];
    assert_eq!(commit_of(&loose).as_deref(), Some(COMMIT));
    let packed = format!("# pack-refs with: peeled\n{COMMIT} refs/heads/main\n^ffff\n");
    let packed = [(".git/HEAD", "ref: refs/heads/main\n"), (".git/packed-refs", &*packed)];
    assert_eq!(commit_of(&packed).as_deref(), Some(COMMIT));
    assert_eq!(commit_of(&[(".git/HEAD", &line)]).as_deref(), Some(COMMIT), "detached");
}

#[test]
fn a_worktree_shares_its_branches_with_the_repository() {
    let root = tempfile::tempdir().unwrap();
    let files = [
        ("wt/.git", "gitdir: ../main/.git/worktrees/wt\n"),
        ("main/.git/worktrees/wt/HEAD", "ref: refs/heads/topic\n"),
        ("main/.git/worktrees/wt/commondir", "../..\n"),
        ("main/.git/refs/heads/topic", COMMIT),
    ];
    write(root.path(), &files);
    assert_eq!(head::of(&root.path().join("wt")).unwrap().commit, COMMIT);
}

#[test]
fn an_archive_has_no_commit_and_a_repository_further_up_does_not_count() {
    assert_eq!(commit_of(&[("Cargo.toml", "")]), None);
    let outer = tempfile::tempdir().unwrap();
    write(outer.path(), &[(".git/HEAD", COMMIT), ("archive/Cargo.toml", "")]);
    assert_eq!(head::of(&outer.path().join("archive")), None);
    assert_eq!(commit_of(&[(".git/HEAD", "ref: refs/heads/none\n")]), None);
}

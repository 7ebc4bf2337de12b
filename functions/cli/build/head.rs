//! The commit that is checked out in a folder, read from the repository's files: no program is run,
//! so that a build needs none.

use std::fs;
use std::path::{Path, PathBuf};

/// The commit of a checkout.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The commit, in hexadecimal.
    pub(crate) commit: String,
    /// Files that say so, each of which is there.
    pub(crate) depends_on: Vec<PathBuf>,
}

/// The commit of the repository whose top folder it is; `None` where it is the top of none, or
/// its files are not understood. A repository further up is somebody else's.
pub(crate) fn of(root: &Path) -> Option<Head> {
    let own = git_folder(root)?;
    // A worktree has HEAD of its own, and shares its branches with others.
    let shared = match fs::read_to_string(own.join("commondir")) {
        Ok(path) => own.join(path.trim()),
        Err(_) => own.clone(),
    };
    let head = fs::read_to_string(own.join("HEAD")).ok()?;
    // Whatever moves HEAD, from a packed branch to a loose one too, writes to its log.
    let mut depends_on = vec![own.join("HEAD"), own.join("logs/HEAD")];
    let commit = match head.trim().strip_prefix("ref: ") {
        None => head.trim().to_owned(),
        Some(branch) => {
            let loose = shared.join(branch);
            let packed = shared.join("packed-refs");
            let commit = fs::read_to_string(&loose).ok().or_else(|| in_packed(&packed, branch))?;
            depends_on.extend([loose, packed]);
            commit.trim().to_owned()
        }
    };
    depends_on.retain(|path| path.exists());
    let is_commit = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then_some(Head { commit, depends_on })
}

/// The folder that holds HEAD: `.git`, or, in a worktree, what the file `.git` names.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let path = root.join(".git");
    if path.is_dir() {
        return Some(path);
    }
    let text = fs::read_to_string(path).ok()?;
    Some(root.join(text.trim().strip_prefix("gitdir: ")?))
}

/// `COMMIT REF`, a line each.
fn in_packed(packed: &Path, branch: &str) -> Option<String> {
    let text = fs::read_to_string(packed).ok()?;
    let commit = text.lines().find_map(|line| {
        let (commit, name) = line.split_once(' ')?;
        (name == branch).then_some(commit)
    });
    commit.map(str::to_owned)
}

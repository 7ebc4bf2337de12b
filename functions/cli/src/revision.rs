//! Manifests as a revision of a git repository has them, read by the program `git`.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use manifests::Source;

use crate::input::{self, InputError, SOURCE_BYTES_MAX, is_manifest};

/// Why a revision cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RevisionError {
    /// There is no program of that name.
    #[error("{0} is read by git, which is not there: install it, or name files or folders")]
    NoGit(String),
    /// The program does not run.
    #[error("git does not run")]
    Run(#[source] io::Error),
    /// It does not know the revision or the path.
    #[error("git cannot read {what}: {said}")]
    Refused {
        /// What was asked for.
        what: String,
        /// Its own words.
        said: String,
    },
    /// A path outside of the folder that revisions are looked at from.
    #[error("{0} is no path from the folder at hand: with --git, paths are relative")]
    Absolute(String),
    /// Neither revision has the path.
    #[error("neither {0} nor {1} has {2}")]
    NowhereThere(String, String, String),
    /// A folder without manifests is nearly always the wrong folder.
    #[error("folder {0} holds no .yaml, .yml or .json file")]
    EmptyFolder(String),
    /// Manifests are text.
    #[error("cannot read {name}")]
    NotText {
        /// The file.
        name: String,
        /// Why it is none.
        #[source]
        source: io::Error,
    },
    /// Nobody gives as much on purpose.
    #[error("{name} has more than {} MiB: cut it into several files", SOURCE_BYTES_MAX >> 20)]
    TooLarge {
        /// The file.
        name: String,
    },
    /// A file that is not committed cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
}

/// Whether it names something in a repository, `REVISION:PATH`, and no file that is there.
pub(crate) fn is_in_repository(name: &str) -> bool {
    name.contains(':') && !PathBuf::from(name).exists()
}

/// The manifests at `REVISION:PATH`, as git understands it: a file, or a folder with all in it.
pub(crate) fn sources(name: &str) -> Result<Vec<Source>, RevisionError> {
    let id = resolved(name)?;
    let sources = under(&id, name)?;
    if sources.is_empty() { Err(RevisionError::EmptyFolder(name.to_owned())) } else { Ok(sources) }
}

/// Two revisions; `None` stands for the files as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// The older one.
    old: Commit,
    /// The newer one.
    new: Option<Commit>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Commit {
    /// What it is called.
    name: String,
    /// Its id.
    id: String,
}

impl Range {
    /// `A..B`, `A...B` or `A`, as `git diff` understands it. A side that is left out is HEAD.
    pub(crate) fn resolved(text: &str) -> Result<Self, RevisionError> {
        let side = |side: &str| if side.is_empty() { "HEAD".to_owned() } else { side.to_owned() };
        if let Some((old, new)) = text.split_once("...") {
            let (old, new) = (commit(&side(old))?, commit(&side(new))?);
            let said =
                git(&["merge-base", &old.id, &new.id], text).map_err(|error| match error {
                    RevisionError::Refused { what, .. } => RevisionError::Refused {
                        what,
                        said: format!(
                            "{} and {} have no commit in common here; a shallow clone lacks it",
                            old.name, new.name
                        ),
                    },
                    error => error,
                })?;
            let name = format!("the merge base of {} and {}", old.name, new.name);
            return Ok(Self { old: Commit { name, id: line(&said) }, new: Some(new) });
        }
        match text.split_once("..") {
            Some((old, new)) => {
                Ok(Self { old: commit(&side(old))?, new: Some(commit(&side(new))?) })
            }
            None => Ok(Self { old: commit(&side(text))?, new: None }),
        }
    }

    /// The manifests of some paths in both revisions. A path that only one of them has is empty in
    /// the other.
    pub(crate) fn sources(&self, paths: &[String]) -> Result<[Vec<Source>; 2], RevisionError> {
        let mut both: [Vec<Source>; 2] = Default::default();
        for path in paths {
            if PathBuf::from(path).is_absolute() {
                return Err(RevisionError::Absolute(path.clone()));
            }
            let old = in_commit(&self.old, path)?;
            let new = match &self.new {
                Some(commit) => in_commit(commit, path)?,
                None if PathBuf::from(path).exists() => Some(input::sources(&[path.into()])?),
                None => None,
            };
            if old.is_none() && new.is_none() {
                let [old, new] = self.names();
                return Err(RevisionError::NowhereThere(old, new, path.clone()));
            }
            let [all_old, all_new] = &mut both;
            all_old.extend(old.unwrap_or_default());
            all_new.extend(new.unwrap_or_default());
        }
        Ok(both)
    }

    /// What both are called: as they were given, with the short id.
    pub(crate) fn names(&self) -> [String; 2] {
        let named = |commit: &Commit| format!("{} ({})", commit.name, commit.short());
        let new = self.new.as_ref().map_or_else(|| "the files as they are".to_owned(), named);
        [named(&self.old), new]
    }
}

impl Commit {
    /// Letters of its id that name it.
    const SHORT: usize = 12;

    fn short(&self) -> String {
        self.id.chars().take(Self::SHORT).collect()
    }
}

/// What a path holds in a commit, seen from the folder at hand; `None` where it is not there.
fn in_commit(commit: &Commit, path: &str) -> Result<Option<Vec<Source>>, RevisionError> {
    let name = format!("{}:{path}", commit.short());
    let commit = &commit.id;
    let from_here = if path == "." { "./" } else { path };
    let from_here = if from_here.starts_with('.') {
        format!("{commit}:{from_here}")
    } else {
        format!("{commit}:./{from_here}")
    };
    match resolved(from_here.trim_end_matches('/')) {
        Ok(id) => Ok(Some(under(&id, &name)?)),
        Err(RevisionError::Refused { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The commit of a revision.
fn commit(revision: &str) -> Result<Commit, RevisionError> {
    let name = revision.to_owned();
    match resolved(&format!("{revision}^{{commit}}")) {
        Ok(id) => Ok(Commit { name, id }),
        Err(RevisionError::Refused { said, .. }) => {
            Err(RevisionError::Refused { what: name, said })
        }
        Err(error) => Err(error),
    }
}

/// The id of whatever git finds under a name.
fn resolved(name: &str) -> Result<String, RevisionError> {
    let refused =
        |said: &str| RevisionError::Refused { what: name.to_owned(), said: said.to_owned() };
    // Clap takes no value that begins with a dash; a range may have one in its middle.
    if name.starts_with('-') {
        return Err(refused("no revision begins with a dash"));
    }
    match git(&["rev-parse", "--verify", name], name) {
        Ok(said) => Ok(line(&said)),
        // Its own words for whatever does not exist.
        Err(RevisionError::Refused { said, .. }) if said == "Needed a single revision" => {
            let what =
                if name.contains(':') { "revision, or no such path in it" } else { "revision" };
            Err(refused(&format!("there is no such {what}")))
        }
        Err(error) => Err(error),
    }
}

/// The manifests under an object: of a folder those that end like one, by path; a file may end as
/// it likes. Links and submodules are passed over.
fn under(id: &str, name: &str) -> Result<Vec<Source>, RevisionError> {
    if line(&git(&["cat-file", "-t", id], name)?) == "blob" {
        let files = BTreeMap::from([(name.to_owned(), id.to_owned())]);
        return contents(&files, name);
    }
    let listing = git(&["ls-tree", "-r", "-z", "--full-tree", id], name)?;
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for entry in listing.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        // `MODE TYPE ID<tab>PATH`
        let entry = String::from_utf8_lossy(entry);
        let Some((kind, path)) = entry.split_once('\t') else { continue };
        let mut words = kind.split(' ');
        let (mode, _, Some(id)) = (words.next(), words.next(), words.next()) else { continue };
        let is_file = mode.is_some_and(|mode| mode.starts_with("100"));
        if is_file && is_manifest(path.as_ref()) {
            let separator = if name.ends_with([':', '/']) { "" } else { "/" };
            files.insert(format!("{name}{separator}{path}"), id.to_owned());
        }
    }
    contents(&files, name)
}

/// The texts of files, of which the names and the ids are known.
fn contents(files: &BTreeMap<String, String>, what: &str) -> Result<Vec<Source>, RevisionError> {
    let ids: Vec<&str> = files.values().map(String::as_str).collect();
    let answer = git_with_input(&["cat-file", "--batch"], ids.join("\n") + "\n", what)?;
    let mut rest = answer.as_slice();
    let mut sources = Vec::with_capacity(files.len());
    for name in files.keys() {
        // `ID TYPE SIZE`, a line end, the bytes, a line end.
        let refused = || RevisionError::Refused {
            what: name.clone(),
            said: "an answer that is not understood".to_owned(),
        };
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(refused)?;
        let head = String::from_utf8_lossy(&rest[..end]);
        let size: usize =
            head.rsplit(' ').next().and_then(|size| size.parse().ok()).ok_or_else(refused)?;
        if size as u64 > SOURCE_BYTES_MAX {
            return Err(RevisionError::TooLarge { name: name.clone() });
        }
        let bytes = rest.get(end + 1..end + 1 + size).ok_or_else(refused)?;
        let text = input::decoded(bytes.to_vec())
            .map_err(|source| RevisionError::NotText { name: name.clone(), source })?;
        sources.push(Source { name: name.clone(), text });
        rest = rest.get(end + size + 2..).unwrap_or_default();
    }
    Ok(sources)
}

/// The first line of an answer.
fn line(answer: &[u8]) -> String {
    String::from_utf8_lossy(answer).lines().next().unwrap_or_default().trim().to_owned()
}

fn git(arguments: &[&str], what: &str) -> Result<Vec<u8>, RevisionError> {
    git_with_input(arguments, String::new(), what)
}

fn git_with_input(arguments: &[&str], input: String, what: &str) -> Result<Vec<u8>, RevisionError> {
    let spawned = Command::new("git")
        .args(arguments)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = spawned.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => RevisionError::NoGit(what.to_owned()),
        _ => RevisionError::Run(error),
    })?;
    let writer = child.stdin.take().map(|mut stdin| {
        // It answers while it still reads. That it may end before it has read all shows in its
        // status.
        std::thread::spawn(move || stdin.write_all(input.as_bytes()))
    });
    let output = child.wait_with_output().map_err(RevisionError::Run)?;
    if let Some(writer) = writer {
        let _ = writer.join();
    }
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = line(&output.stderr);
    let said = said.strip_prefix("fatal: ").unwrap_or(&said).to_owned();
    Err(RevisionError::Refused { what: what.to_owned(), said })
}

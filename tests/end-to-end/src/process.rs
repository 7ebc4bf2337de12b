//! Servers as child processes: started with a log, waited for, and ended by their id whatever
//! happens.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// How long a server may take until it answers, on a machine that does other things as well.
const READY_WITHIN: Duration = Duration::from_mins(3);

/// How long a server is given to end by itself once it is asked to.
const END_WITHIN: Duration = Duration::from_secs(5);

/// Where the logs of one world are, and the process ids of the whole run.
#[derive(Clone, Debug)]
pub struct Workplace {
    run: PathBuf,
    folder: PathBuf,
}

impl Workplace {
    /// In the run's folder, which is there.
    pub fn at(run: PathBuf) -> Self {
        Self { folder: run.clone(), run }
    }

    /// A folder of its own within the run's, made where it is not there.
    pub fn within(&self, name: &str) -> Result<Self> {
        let folder = self.run.join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(Self { run: self.run.clone(), folder })
    }

    /// The run's folder, by which its processes differ from others.
    pub fn run(&self) -> &Path {
        &self.run
    }

    /// A file or folder in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<PathBuf> {
        let path = self.path(name);
        std::fs::write(&path, content).with_context(|| format!("write {}", path.display()))?;
        Ok(path)
    }

    /// Notes a process, so that `run` can end it should this one be killed.
    pub fn note_process(&self, id: u32, name: &str) -> Result<()> {
        let mut list =
            OpenOptions::new().create(true).append(true).open(self.run.join("processes"))?;
        writeln!(list, "{id} {name}").context("note a process")
    }
}

/// A server that runs for as long as this value lives.
#[derive(Debug)]
pub struct Server {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Starts a server. What it says goes to `NAME.log` of the workplace.
    pub fn start(workplace: &Workplace, name: &str, command: &mut Command) -> Result<Self> {
        let log = workplace.path(&format!("{name}.log"));
        let output = File::create(&log)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("start {name}: {}", command.get_program().display()))?;
        workplace.note_process(child.id(), name)?;
        Ok(Self { name: name.to_owned(), child, log })
    }

    /// Waits until `is_ready` says so. Fails with the end of the log when the server ends before,
    /// or takes too long.
    pub async fn ready(mut self, is_ready: impl AsyncFn() -> bool) -> Result<Self> {
        let started = Instant::now();
        while !is_ready().await {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended with {status}:\n{}", self.name, self.end_of_log());
            }
            if started.elapsed() > READY_WITHIN {
                bail!("{} does not answer:\n{}", self.name, self.end_of_log());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(self)
    }

    fn end_of_log(&self) -> String {
        end_of(&self.log, 30)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Asks a process to end, then makes it.
fn end(child: &mut Child) {
    // The signal goes to one process by its id, which cannot be another's: the child has not been
    // waited for yet.
    let asked = Command::new("kill").arg(child.id().to_string()).status();
    let started = Instant::now();
    while asked.is_ok() && started.elapsed() < END_WITHIN {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Ok(Some(_)) | Err(_) => return,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// The last lines of a file.
pub fn end_of(path: &Path, lines: usize) -> String {
    let content = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&content);
    let all: Vec<_> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Ports that were found free in this run.
static PORTS: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// A port that nobody listens on, and that was given out to nobody before: several worlds start
/// side by side.
pub fn free_port() -> Result<u16> {
    loop {
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        if PORTS.lock().unwrap_or_else(PoisonError::into_inner).insert(port) {
            return Ok(port);
        }
    }
}

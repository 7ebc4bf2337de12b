//! A recording of the cluster, made while a case goes on.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::{Child, Command};

use super::World;
use super::controls::command_line;

/// How long a recording has to begin and to end.
const PATIENCE: Duration = Duration::from_mins(1);

/// `outrigger record --live`, which runs.
#[derive(Debug)]
pub struct Recording {
    child: Child,
    /// Where it writes.
    pub file: PathBuf,
}

impl World {
    /// Begins to record the cluster, and waits until what there is is recorded.
    pub async fn record(&self) -> Result<Recording> {
        let file = self.workplace.path("recording.jsonl");
        // A case that is tried again begins anew.
        drop(tokio::fs::remove_file(&file).await);
        let child = Command::new(command_line()?)
            .args(["record", "--live", "--to"])
            .arg(&file)
            .env("KUBECONFIG", self.control_plane.kubeconfig())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("outrigger record")?;
        let begun = async {
            while tokio::fs::metadata(&file).await.map_or(0, |own| own.len()) == 0 {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(PATIENCE, begun).await.context("nothing is recorded")?;
        Ok(Recording { child, file })
    }
}

impl Recording {
    /// Interrupts it, as Ctrl-C does, and gives its lines.
    pub async fn stop(mut self) -> Result<Vec<Value>> {
        let id = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        kill_process(id.context("the recording ended by itself")?, Signal::INT)?;
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await??;
        ensure!(status.success(), "the recording ended with {status}");
        lines(&self.file).await
    }
}

async fn lines(file: &Path) -> Result<Vec<Value>> {
    let text = tokio::fs::read_to_string(file).await?;
    text.lines().map(|line| serde_json::from_str(line).context(line.to_owned())).collect()
}

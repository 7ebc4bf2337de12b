//! The only place that writes, but for the live view of `top`: results to standard output, messages
//! and progress to standard error.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use domain::SignedDuration;

use crate::visible::{for_terminal, visible};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Whether messages and progress would spoil what the terminal shows.
static IS_HUSHED: AtomicBool = AtomicBool::new(false);

/// Leaves messages and progress out, or no longer.
#[cfg(feature = "live")]
pub(crate) fn hush(is_hushed: bool) {
    IS_HUSHED.store(is_hushed, Ordering::Relaxed);
}

/// Writes a result to standard output, control characters of data made visible. A closed pipe, as
/// of `head`, is not an error.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let text = for_terminal(text);
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// `error: WHAT: CAUSE: …` on standard error.
pub(crate) fn error(error: &dyn Error) {
    print_message("error", ERROR, &in_full(error));
}

/// An error with its causes, in one line.
pub(crate) fn in_full(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        // Some errors say what their cause says.
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// `error: WHAT` on standard error.
pub(crate) fn error_text(what: &dyn Display) {
    print_message("error", ERROR, what);
}

/// `warning: WHAT` on standard error.
pub(crate) fn warning(what: &dyn Display) {
    print_message("warning", WARNING, what);
}

/// `note: WHAT` on standard error.
pub(crate) fn note(what: &dyn Display) {
    print_message("note", Style::new().bold(), what);
}

fn print_message(word: &str, style: Style, what: &dyn Display) {
    if IS_HUSHED.load(Ordering::Relaxed) {
        return;
    }
    let what = what.to_string();
    let what = visible(&what);
    // There is nowhere to report that standard error cannot be written.
    let _ = writeln!(anstream::stderr(), "{style}{word}:{style:#} {what}");
}

/// A line on standard error with the current work and its duration, once it takes over a second.
///
/// Only on a terminal; the line is gone once this value is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    worker: Option<(Sender<()>, JoinHandle<()>)>,
    percent: Arc<AtomicU8>,
}

impl Progress {
    const SILENT_FOR: Duration = Duration::from_secs(1);
    const EVERY: Duration = Duration::from_millis(200);

    /// Stands for work of which nobody says how far it is.
    const UNKNOWN: u8 = u8::MAX;

    /// Work begins.
    pub(crate) fn start(what: &str) -> Self {
        let percent = Arc::new(AtomicU8::new(Self::UNKNOWN));
        if !io::stderr().is_terminal() || IS_HUSHED.load(Ordering::Relaxed) {
            return Self { worker: None, percent };
        }
        let (done, is_done) = mpsc::channel::<()>();
        let (what, known) = (visible(what).into_owned(), Arc::clone(&percent));
        let worker = std::thread::spawn(move || {
            let started = Instant::now();
            let mut wait = Self::SILENT_FOR;
            while is_done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = Self::EVERY;
                let seconds = started.elapsed().as_secs();
                let share = match known.load(Ordering::Relaxed) {
                    Self::UNKNOWN => String::new(),
                    percent => format!("{percent} % after "),
                };
                let _ = write!(io::stderr(), "\r{what}: {share}{seconds} s ");
            }
            if wait == Self::EVERY {
                // Back to the first column, and clear the line.
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
        });
        Self { worker: Some((done, worker)), percent }
    }

    /// So much of the work is done.
    pub(crate) fn reached(&self, done: SignedDuration, of: SignedDuration) {
        let percent = done.as_secs().saturating_mul(100) / of.as_secs().max(1);
        let percent = u8::try_from(percent.clamp(0, 100)).unwrap_or(100);
        self.percent.store(percent, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, worker)) = self.worker.take() {
            drop(done);
            // A panic of the worker has nothing to do with the work it reports on.
            let _ = worker.join();
        }
    }
}

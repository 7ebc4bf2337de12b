//! `outrigger top --live` on a terminal: what is shown of the cluster is refreshed again and again,
//! and keys say what that is.

use std::io::{self, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use domain::plan::Plan;

use crate::args::TopArgs;
use crate::commands::CommandError;
use crate::commands::top::source;
use crate::snapshot_source::{self, LoadedSnapshot};
use crate::status::Status;
use crate::terminal::Canvas;
use crate::text::top_screen::{TopFrame, screen};
use crate::view::cluster_use::ClusterUse;
use crate::view::node_columns::{NodeColumns, select_nodes};
use crate::view::top_screen::{Key, Outcome, TopScreen};
use crate::visible::for_terminal;
use crate::{clock, console};

/// Pause between two refreshes.
const REFRESH_INTERVAL: Duration = Duration::from_secs(10);
/// How soon a key, or a refresh, shows.
const TURN: Duration = Duration::from_millis(200);

/// Shows the cluster until a key ends it.
pub(super) fn run(args: &TopArgs) -> Result<Status, CommandError> {
    // What is wrong from the start is said where all messages go.
    let first = load_frame(args)?;
    let (frames, shown) = channel();
    let (wanted, asked) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || keep_refreshing(args, &frames, &asked));
        let terminal = Terminal::take()?;
        let ended = show(first, &shown, &wanted);
        drop(terminal);
        // Without anybody who asks, the other thread ends after its refresh.
        drop(wanted);
        ended
    })?;
    Ok(Status::Done)
}

/// Refreshes every few seconds, and when asked; until nobody asks any more.
fn keep_refreshing(
    args: &TopArgs,
    frames: &Sender<Result<TopFrame, CommandError>>,
    asked: &Receiver<()>,
) {
    loop {
        match asked.recv_timeout(REFRESH_INTERVAL) {
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if frames.send(load_frame(args)).is_err() {
            return;
        }
    }
}

/// The cluster now, and what the next tick would do.
fn load_frame(args: &TopArgs) -> Result<TopFrame, CommandError> {
    let loaded = snapshot_source::load(&source(args))?;
    let prices = loaded.price_note();
    let LoadedSnapshot { mut snapshot, .. } = loaded;
    let plan = planning::plan(&snapshot);
    if let Some(selector) = &args.node_selector {
        select_nodes(&mut snapshot, &selector.0);
    }
    let at = clock::now().to_string();
    let mut cluster_use = ClusterUse::of(&snapshot, &Plan::default());
    if args.node_selector.is_some() {
        // Commitments are applied to all nodes together: of some, nothing can be said.
        cluster_use.committed = None;
    }
    Ok(TopFrame {
        cluster_use,
        columns: NodeColumns::of(&snapshot, &args.resources, &args.label_columns),
        plan,
        prices,
        at: at.get(11..19).unwrap_or(&at).to_owned(),
        problem: None,
    })
}

fn show(
    first: TopFrame,
    shown: &Receiver<Result<TopFrame, CommandError>>,
    wanted: &Sender<()>,
) -> Result<(), CommandError> {
    let (mut frame, mut state) = (first, TopScreen::default());
    draw(&mut state, &frame)?;
    loop {
        if event::poll(TURN)? {
            match event::read()? {
                Event::Key(own) if own.kind != KeyEventKind::Release => {
                    let is_control = own.modifiers.contains(KeyModifiers::CONTROL);
                    let Some(key) = key(own.code, is_control) else { continue };
                    match state.press(key) {
                        Outcome::Quit => return Ok(()),
                        Outcome::Refresh if wanted.send(()).is_err() => return Ok(()),
                        Outcome::Refresh | Outcome::Redraw => draw(&mut state, &frame)?,
                    }
                }
                Event::Resize(..) => draw(&mut state, &frame)?,
                _ => {}
            }
        }
        let mut news = None;
        while let Ok(own) = shown.try_recv() {
            news = Some(own);
        }
        match news {
            None => {}
            Some(Ok(own)) => {
                frame = own;
                draw(&mut state, &frame)?;
            }
            // What was seen last stays, and says since when.
            Some(Err(error)) => {
                frame.problem = Some(format!("as of {}: {}", frame.at, console::in_full(&error)));
                draw(&mut state, &frame)?;
            }
        }
    }
}

const fn key(code: KeyCode, is_control: bool) -> Option<Key> {
    Some(match code {
        KeyCode::Char('c') if is_control => Key::Interrupt,
        KeyCode::Char(own) if !is_control => Key::Char(own),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        _ => return None,
    })
}

fn draw(state: &mut TopScreen, frame: &TopFrame) -> io::Result<()> {
    let (columns, lines) = crossterm::terminal::size()?;
    let canvas = Canvas { width: Some(columns), ..Canvas::of_stdout() };
    let text = screen(state, frame, canvas, usize::from(lines));
    let mut out = io::stdout().lock();
    queue!(out, cursor::MoveTo(0, 0))?;
    for (index, line) in text.iter().enumerate() {
        if index > 0 {
            out.write_all(b"\r\n")?;
        }
        out.write_all(for_terminal(line).as_bytes())?;
        queue!(out, Clear(ClearType::UntilNewLine))?;
    }
    queue!(out, Clear(ClearType::FromCursorDown))?;
    out.flush()
}

/// The terminal while it shows the cluster: it is as it was once this is dropped.
struct Terminal;

impl Terminal {
    fn take() -> io::Result<Self> {
        enable_raw_mode()?;
        console::hush(true);
        let own = Self;
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
        Ok(own)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Where the terminal is gone, there is nothing left to put right.
        let _ = execute!(io::stdout(), cursor::Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
        console::hush(false);
    }
}

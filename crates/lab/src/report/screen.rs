//! Shows progress: plain lines once a second, or on a terminal one block that rewrites itself, with a dashboard if
//! there is room. A separate thread writes, and a frame is dropped while that thread is busy: a terminal that is slow,
//! or stopped with Ctrl-S, never delays the load.
//!
//! The block is drawn by moving the cursor up over it and writing it again. No mode of the terminal is changed: there
//! is nothing to restore, however the program ends, and earlier output stays in the terminal's history.

use std::io::{IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::dashboard::{Dashboard, TerminalSize};
use super::progress::Progress;

/// How long the end of a trial waits for the terminal to remove the block.
const CLEAR_WITHIN: Duration = Duration::from_secs(1);

/// Columns of each part of a line in a file.
const PLAIN_COLUMNS_MAX: usize = 200;

#[derive(Debug, Default)]
pub struct Screen {
    painter: Option<PainterThread>,
    printer: MessagePrinter,
}

/// Prints a line above the progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessagePrinter(
    /// Lines that the thread has not yet printed; none if there is no thread.
    Arc<Mutex<Option<Vec<String>>>>,
);

impl MessagePrinter {
    /// Prints it with the next frame, if there are frames; else at once.
    pub(crate) fn print(&self, line: &str) {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(lines) => lines.push(line.to_owned()),
            None => {
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
    }

    fn take_lines(&self) -> String {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter_mut().flat_map(std::mem::take).map(|line| line + "\n").collect()
    }

    fn close(&self) -> String {
        let lines = self.take_lines();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
        lines
    }
}

/// The thread that writes.
#[derive(Debug)]
struct PainterThread {
    frames: SyncSender<Progress>,
    /// Whether the block is removed when there are no more frames.
    erase: Arc<AtomicBool>,
    /// In a lock only so that several threads may borrow a screen.
    finished: Mutex<Receiver<()>>,
}

#[derive(Debug)]
enum DisplayMode {
    /// One line per frame, for a file or a pipe.
    Plain,
    /// One block that rewrites itself.
    Block { dashboard: Box<Dashboard>, drawn: DrawnBlock },
}

/// The block that is on the terminal.
#[derive(Clone, Copy, Debug, Default)]
struct DrawnBlock {
    lines: usize,
    columns: u16,
}

impl Screen {
    /// Shows nothing.
    #[must_use]
    pub fn quiet() -> Self {
        Self::default()
    }

    /// Shows progress on stderr, in the form that suits it.
    #[must_use]
    pub fn stderr() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let is_smart = std::io::stderr().is_terminal() && variable("TERM").is_some_and(|term| term != "dumb");
        let mode = if is_smart { DisplayMode::block(variable("NO_COLOR").is_none()) } else { DisplayMode::Plain };
        Self::start(std::io::stderr(), mode, stderr_size)
    }

    /// Shows progress in plain lines.
    #[must_use]
    pub fn plain(out: impl Write + Send + 'static) -> Self {
        Self::start(out, DisplayMode::Plain, || None)
    }

    fn start(mut out: impl Write + Send + 'static, mut mode: DisplayMode, size: fn() -> Option<TerminalSize>) -> Self {
        let (frames, next) = sync_channel::<Progress>(1);
        let (over, ended) = sync_channel(1);
        let erase = Arc::new(AtomicBool::new(false));
        let is_erased = erase.clone();
        let printer = MessagePrinter(Arc::new(Mutex::new(Some(Vec::new()))));
        let messages = printer.clone();
        let paint = move || {
            let mut write = |text: String| {
                // The reader may have closed the pipe; the trial continues.
                let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            };
            next.iter().for_each(|progress| {
                let lines = messages.take_lines();
                if !lines.is_empty() {
                    write(mode.erase() + &lines);
                }
                write(mode.paint(&progress, size()));
            });
            if is_erased.load(Ordering::Relaxed) {
                write(mode.erase());
            }
            write(messages.close());
            let _ = over.send(());
        };
        let thread = std::thread::Builder::new().name("screen".to_owned()).spawn(paint);
        // A trial without a thread for progress still runs.
        let Ok(_) = thread else { return Self::default() };
        Self { painter: Some(PainterThread { frames, erase, finished: Mutex::new(ended) }), printer }
    }

    /// Prints lines above the progress.
    pub(crate) fn printer(&self) -> MessagePrinter {
        self.printer.clone()
    }

    /// Prints a line above the progress, where progress is shown.
    pub(crate) fn announce(&self, line: &str) {
        if self.painter.is_some() {
            self.printer.print(line);
        }
    }

    /// Shows the trial at this moment, unless the previous frame is still being written.
    pub fn show(&mut self, progress: &Progress) {
        if let Some(painter) = &self.painter {
            let _ = painter.frames.try_send(progress.clone());
        }
    }

    /// Removes the block, to make room for the summary.
    pub fn clear(&mut self) {
        if let Some(PainterThread { frames, erase, finished: ended }) = self.painter.take() {
            erase.store(true, Ordering::Relaxed);
            drop(frames);
            let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
            let _ = ended.recv_timeout(CLEAR_WITHIN);
        }
    }
}

impl Drop for Screen {
    /// A panic message is below the block by now, and stays.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.clear();
        }
    }
}

impl DisplayMode {
    fn block(colour: bool) -> Self {
        Self::Block { dashboard: Box::new(Dashboard::new(colour)), drawn: DrawnBlock::default() }
    }

    /// The bytes that show this frame. If the terminal's size is unknown, 80 columns are assumed.
    fn paint(&mut self, progress: &Progress, size: Option<TerminalSize>) -> String {
        match self {
            Self::Plain => {
                let lines = progress.lines_within(PLAIN_COLUMNS_MAX);
                let line: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
                line.join(" · ") + "\n"
            }
            Self::Block { dashboard, drawn } => {
                let size = size.unwrap_or_default();
                dashboard.record(progress);
                let lines = dashboard.lines(progress, size).unwrap_or_else(|| plain_lines(progress, size));
                let up = drawn.cursor_up(size.columns);
                *drawn = DrawnBlock { lines: lines.len(), columns: size.columns };
                let lines: String = lines.iter().map(|line| format!("{line}\x1b[K\n")).collect();
                format!("{up}{lines}\x1b[J")
            }
        }
    }

    fn erase(&mut self) -> String {
        match self {
            Self::Plain => String::new(),
            Self::Block { drawn, .. } => {
                let DrawnBlock { columns, .. } = *drawn;
                std::mem::take(drawn).cursor_up(columns) + "\x1b[J"
            }
        }
    }
}

impl DrawnBlock {
    /// Moves to the first line of the block. After a change of width it is unknown how many lines the block takes: then
    /// it stays, and the next one begins below.
    fn cursor_up(self, columns: u16) -> String {
        if self.lines == 0 || self.columns != columns { "\r".to_owned() } else { format!("\x1b[{}A\r", self.lines) }
    }
}

/// Lines that the terminal neither wraps nor scrolls away.
fn plain_lines(progress: &Progress, size: TerminalSize) -> Vec<String> {
    let (columns, rows) = (usize::from(size.columns.max(2)) - 1, usize::from(size.rows.max(2)) - 1);
    let lines = progress.lines_within(columns).into_iter().take(rows);
    lines.map(|line| line.chars().take(columns).collect()).collect()
}

fn stderr_size() -> Option<TerminalSize> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some(TerminalSize { columns: size.ws_col, rows: size.ws_row })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Sender};

    use super::*;

    /// Keeps what was written.
    #[derive(Clone, Default)]
    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl SharedBuffer {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// A terminal that blocks until it is released.
    struct StalledTerminal {
        write_requested: Sender<()>,
        resume: Receiver<()>,
    }

    impl Write for StalledTerminal {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.write_requested.send(());
            let _ = self.resume.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn progress(done: u64) -> Progress {
        Progress { done, planned_arrivals: 100, throughput_per_s: Some(0.0), ..Progress::default() }
    }

    const WIDE: Option<TerminalSize> = Some(TerminalSize { columns: 80, rows: 24 });
    const NARROW: Option<TerminalSize> = Some(TerminalSize { columns: 40, rows: 24 });

    #[test]
    fn a_file_gets_one_line_a_frame() {
        let kept = SharedBuffer::default();
        let mut screen = Screen::plain(kept.clone());
        screen.show(&progress(7));
        screen.clear();
        assert_eq!(kept.text(), "0 s · sent 7 of 100 · in flight 0 · errors 0 · ok 0 a second\n");
    }

    #[test]
    fn a_line_is_above_the_block_and_is_not_lost_at_the_end() {
        let kept = SharedBuffer::default();
        let mut screen = Screen::plain(kept.clone());
        screen.printer().print("winding down");
        screen.show(&progress(7));
        screen.clear();
        assert!(kept.text().starts_with("winding down\n0 s"), "{}", kept.text());
        let kept = SharedBuffer::default();
        let mut screen = Screen::plain(kept.clone());
        screen.printer().print("winding down");
        screen.clear();
        assert_eq!(kept.text(), "winding down\n");
    }

    #[test]
    fn a_stopped_terminal_does_not_block_the_trial() {
        let (asked, seen) = mpsc::channel();
        let (resume, go_on) = mpsc::channel();
        let mut screen =
            Screen::start(StalledTerminal { write_requested: asked, resume: go_on }, DisplayMode::block(false), || {
                WIDE
            });
        screen.show(&progress(1));
        seen.recv().unwrap();
        // The thread now waits in its first write; if these waited for it, this test would never end.
        (2..10).for_each(|done| screen.show(&progress(done)));
        drop(resume);
        screen.clear();
    }

    #[test]
    fn the_block_is_overwritten_and_removed() {
        let mut look = DisplayMode::block(false);
        let first = look.paint(&progress(1), WIDE);
        let lines = first.matches('\n').count();
        assert!(first.starts_with('\r') && lines >= 8, "{first:?}");
        let second = look.paint(&progress(2), WIDE);
        assert!(second.starts_with(&format!("\x1b[{lines}A\r")), "{second:?}");
        assert_eq!(look.erase(), format!("\x1b[{lines}A\r\x1b[J"));
        assert_eq!(look.erase(), "\r\x1b[J");
    }

    #[test]
    fn the_block_is_removed_at_the_end() {
        let kept = SharedBuffer::default();
        let mut screen = Screen::start(kept.clone(), DisplayMode::block(false), || WIDE);
        screen.show(&progress(1));
        screen.clear();
        let text = kept.text();
        let lines = text.matches('\n').count();
        assert!(lines > 0 && text.ends_with(&format!("\x1b[{lines}A\r\x1b[J")), "{text:?}");
    }

    #[test]
    fn a_window_of_another_width_gets_a_new_block() {
        let mut look = DisplayMode::block(false);
        look.paint(&progress(1), WIDE);
        assert!(look.paint(&progress(2), NARROW).starts_with('\r'));
    }

    #[test]
    fn where_there_is_no_room_for_a_dashboard_there_are_lines() {
        for size in [
            TerminalSize { columns: 40, rows: 24 },
            TerminalSize { columns: 80, rows: 6 },
            TerminalSize { columns: 1, rows: 1 },
        ] {
            let text = DisplayMode::block(true).paint(&progress(1), Some(size));
            let lines: Vec<&str> = text.trim_start_matches('\r').trim_end_matches("\x1b[J").lines().collect();
            assert!(lines.len() <= 2, "{size:?} {lines:?}");
            for line in lines {
                assert!(line.trim_end_matches("\x1b[K").chars().count() < usize::from(size.columns.max(2)), "{line:?}");
            }
        }
    }
}

//! The dashboard: a trial at this moment on one block of a terminal, with the minutes before it. Drawn with ratatui's
//! widgets into a buffer, and turned into lines of text; the screen writes these to the terminal.

mod ansi;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Sparkline, Widget};

use super::progress::{Progress, state_texts};
use crate::format::{clock, count, join_fitting, number, sanitize};
use crate::measurement::WorkPoint;

/// The narrowest terminal that gets a dashboard.
const COLUMNS_MIN: u16 = 60;

/// The maximum width of a dashboard.
const COLUMNS_MAX: u16 = 200;

/// Columns left of a curve: its name, its latest and its highest figure.
const CURVE_LABEL_COLUMNS: u16 = 22;

const CURVE_ROWS: u16 = 3;

/// Kinds of work that are shown, each on two rows.
const WORK_MAX: usize = 3;

/// Characters of the name of a kind of work.
const NAME_MAX: usize = 20;

/// Between two figures of a line.
const SEPARATOR: &str = "  ·  ";

/// Notes that stay on the dashboard.
const NOTES_MAX: usize = 3;

/// Moments that are kept: one per second, one per column.
const SAMPLES_MAX: usize = 256;

/// Steps per unit: milliseconds are kept to the microsecond.
const STEPS_PER_UNIT: f64 = 1000.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TerminalSize {
    pub(super) columns: u16,
    pub(super) rows: u16,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self { columns: 80, rows: 24 }
    }
}

#[derive(Debug)]
pub(super) struct Dashboard {
    colour: bool,
    history: History,
}

impl Dashboard {
    /// An empty one, in colour or not.
    pub(super) fn new(colour: bool) -> Self {
        Self { colour, history: History::default() }
    }

    /// Adds a moment.
    pub(super) fn record(&mut self, progress: &Progress) {
        self.history.push(progress);
    }

    /// The lines of the dashboard, one column short of the terminal so that it wraps none; none if the terminal is too
    /// small.
    pub(super) fn lines(&self, progress: &Progress, size: TerminalSize) -> Option<Vec<String>> {
        let height = self.height(progress);
        if size.columns < COLUMNS_MIN || size.rows <= height {
            return None;
        }
        let area = Rect::new(0, 0, (size.columns - 1).min(COLUMNS_MAX), height);
        let mut buffer = Buffer::empty(area);
        self.draw(progress, area, &mut buffer);
        Some(ansi::lines(&buffer, self.colour))
    }

    fn height(&self, progress: &Progress) -> u16 {
        let work = progress.work.len().min(WORK_MAX) as u16;
        let server = u16::from(progress.server().is_some());
        let below = 2 * work + server + self.history.notes().count() as u16;
        4 + 2 * CURVE_ROWS + if below > 0 { 1 + below } else { 0 }
    }

    fn draw(&self, progress: &Progress, area: Rect, buffer: &mut Buffer) {
        let mut rows = RowLayout { remaining: area };
        title(progress).render(rows.take_rows(1), buffer);
        counts(progress).render(rows.take_rows(1), buffer);
        Line::raw(load(progress, usize::from(area.width))).render(rows.take_rows(1), buffer);
        // An empty line unless there is an outage.
        let outage = progress.outage.map_or_else(String::new, |outage| outage.to_string());
        Line::styled(outage, Style::new().fg(Color::Red).add_modifier(Modifier::BOLD))
            .render(rows.take_rows(1), buffer);
        draw_sparkline("ok a second", &self.history.throughput, "", Color::Green, rows.take_rows(CURVE_ROWS), buffer);
        draw_sparkline("latency p99", &self.history.latency, " ms", Color::Cyan, rows.take_rows(CURVE_ROWS), buffer);
        rows.take_rows(1);
        for (name, point) in progress.work.iter().take(WORK_MAX) {
            work_lines(name, point, area.width).into_iter().for_each(|line| line.render(rows.take_rows(1), buffer));
        }
        if let Some(server) = progress.server() {
            Line::raw(server).render(rows.take_rows(1), buffer);
        }
        for note in self.history.notes() {
            Line::styled(note, Style::new().fg(Color::Yellow)).render(rows.take_rows(1), buffer);
        }
    }
}

/// How much of the plan is over, and of how long: the plan has an end, its work has none.
fn title(progress: &Progress) -> Line<'_> {
    let elapsed_s = progress.elapsed.as_secs_f64();
    let time = match progress.planned_s {
        Some(planned_s) if elapsed_s < planned_s => {
            format!("{} of {}, {} left", clock(elapsed_s), clock(planned_s), clock(planned_s - elapsed_s))
        }
        Some(planned_s) => format!("{}, the plan was over at {}", clock(elapsed_s), clock(planned_s)),
        None => clock(elapsed_s),
    };
    let step = progress.load_step.as_ref().map_or_else(String::new, |step| SEPARATOR.to_owned() + &sanitize(step));
    Line::from(vec![Span::styled(time, Modifier::BOLD), Span::raw(step)])
}

fn counts(progress: &Progress) -> Line<'_> {
    let alert = |word: &str, n: u64, colour: Color| {
        let style = if n > 0 { Style::new().fg(colour).add_modifier(Modifier::BOLD) } else { Style::new() };
        Span::styled(format!("{word} {}", count(n)), style)
    };
    Line::from(vec![
        Span::raw(progress.plan_progress() + SEPARATOR),
        alert("errors", progress.errors, Color::Red),
        Span::raw(SEPARATOR),
        alert("denied", progress.denied, Color::Yellow),
    ])
}

fn load(progress: &Progress, width: usize) -> String {
    let Progress { in_flight, queued, connections, long_polls: waiting, .. } = progress;
    let always = [("in flight", in_flight), ("queued", queued), ("connections", connections)];
    let parts = always.into_iter().chain(Some(("waiting", waiting)).filter(|(_, n)| **n > 0));
    join_fitting(&parts.map(|(word, n)| format!("{word} {}", count(*n))).collect::<Vec<_>>(), SEPARATOR, width)
}

/// Rows of the block, from above.
struct RowLayout {
    remaining: Rect,
}

impl RowLayout {
    fn take_rows(&mut self, height: u16) -> Rect {
        let [now, left] = Layout::vertical([Constraint::Length(height), Constraint::Fill(1)]).areas(self.remaining);
        self.remaining = left;
        now
    }
}

/// A figure over the last minutes, with its name, its latest and its highest value on the left.
fn draw_sparkline(name: &str, track: &FigureHistory, unit: &str, colour: Color, area: Rect, buffer: &mut Buffer) {
    let [beside, inside] =
        Layout::horizontal([Constraint::Length(CURVE_LABEL_COLUMNS), Constraint::Fill(1)]).areas(area);
    let shown: Vec<Option<u64>> = track.latest(usize::from(inside.width));
    let text =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{}{unit}", number(Some(value))));
    let highest = shown.iter().flatten().max().map(|highest| FigureHistory::from_steps(*highest));
    let latest = format!("{:>18}", text(track.last()));
    let words = [
        Line::raw(name.to_owned()),
        Line::styled(latest, Modifier::BOLD),
        Line::styled(format!("{:>18}", format!("highest {}", text(highest))), Modifier::DIM),
    ];
    let mut rows = RowLayout { remaining: beside };
    words.into_iter().for_each(|line| line.render(rows.take_rows(1), buffer));
    Sparkline::default().data(shown).style(Style::new().fg(colour)).render(inside, buffer);
}

/// A bar of one kind of work by state, and below it the same in numbers.
fn work_lines<'a>(name: &str, point: &WorkPoint, width: u16) -> [Line<'a>; 2] {
    let name: String = sanitize(name).chars().take(NAME_MAX).collect();
    let room = usize::from(width).saturating_sub(Span::raw(name.as_str()).width() + 1);
    let bar = bar_cells(point, room).into_iter();
    let bar = bar.map(|(cells, symbol, colour)| Span::styled(symbol.repeat(cells), Style::new().fg(colour)));
    let numbers = join_fitting(&state_texts(point), SEPARATOR, usize::from(width));
    [Line::from([Span::raw(format!("{name} "))].into_iter().chain(bar).collect::<Vec<_>>()), Line::raw(numbers)]
}

/// The cells of each state. Rounded at the borders between states, so that they add up to the whole bar; failures are
/// visible, however few.
fn bar_cells(point: &WorkPoint, columns: usize) -> [(usize, &'static str, Color); 4] {
    let lost = point.failed + point.stuck + point.unknown;
    let all = point.finished + lost + point.running + point.waiting;
    let until = |sum: u64| (sum as f64 / all.max(1) as f64 * columns as f64).round() as usize;
    let lost_cells = until(lost).max(usize::from(lost > 0)).min(columns);
    let finished = until(point.finished).min(columns - lost_cells);
    let running = until(point.finished + lost + point.running).saturating_sub(finished + lost_cells);
    let waiting = if all == 0 { 0 } else { columns - finished - lost_cells - running };
    [
        (finished, "█", Color::Green),
        (lost_cells, "!", Color::Red),
        (running, "▒", Color::Blue),
        (waiting, "░", Color::DarkGray),
    ]
}

/// The minutes before a moment, as many as fit on the widest dashboard.
#[derive(Debug, Default)]
struct History {
    throughput: FigureHistory,
    latency: FigureHistory,
    notes: VecDeque<String>,
}

/// One figure over time, in whole steps.
#[derive(Debug, Default)]
struct FigureHistory(VecDeque<Option<u64>>);

impl History {
    fn push(&mut self, progress: &Progress) {
        self.throughput.push(progress.throughput_per_s);
        self.latency.push(progress.latency_p99_ms);
        let at = clock(progress.elapsed.as_secs_f64());
        self.notes.extend(progress.notes.iter().map(|note| format!("{at}  {}", sanitize(note))));
        self.notes.drain(..self.notes.len().saturating_sub(NOTES_MAX));
    }

    /// The latest notes, each with its moment.
    fn notes(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(String::as_str)
    }
}

impl FigureHistory {
    fn push(&mut self, value: Option<f64>) {
        if self.0.len() == SAMPLES_MAX {
            self.0.pop_front();
        }
        let steps = |value: f64| (value.max(0.0) * STEPS_PER_UNIT).round() as u64;
        self.0.push_back(value.filter(|value| value.is_finite()).map(steps));
    }

    /// The latest `n` moments, in steps.
    fn latest(&self, n: usize) -> Vec<Option<u64>> {
        self.0.iter().skip(self.0.len().saturating_sub(n)).copied().collect()
    }

    fn last(&self) -> Option<f64> {
        self.0.back().copied().flatten().map(Self::from_steps)
    }

    /// The value of a number of steps.
    fn from_steps(steps: u64) -> f64 {
        steps as f64 / STEPS_PER_UNIT
    }
}

//! The machine of one match: it says what has to happen next, turns what was heard into the next log entry, and moves on
//! only once that entry is saved.
//!
//! ```text
//! next() ── Open ──────► opened(faces)      ─┐
//!        ── Notify ────► delivered(seat, …) ─┤─► Step ──(save its row)──► accept(step)
//!        ── Ask ───────► turn(answers)      ─┘
//!        ── Finish ────► result()
//! ```
//!
//! A resume is the same machine fed with the saved rows: one path computes a turn, live or replayed, so a replay either gives
//! the same boards or is refused.

use super::entry::{BadEntry, Class, Entry, Face, Notice, Played};
use super::outcome::MatchResult;
use super::spec::MatchSpec;
use crate::limits::{SEATS_MAX, SHOUT_CHARS_MAX};
use crate::rows::LogRow;
use rules::snake::{self, Board, Move, Order, RULES_VERSION, RuleError, Seat};

/// A set of seats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seats(u16);

const _: () = assert!(SEATS_MAX <= 16, "a set of seats is 16 bits");

impl Seats {
    /// The first `count` seats.
    #[must_use]
    pub fn first(count: usize) -> Self {
        (0..count).collect()
    }

    /// Whether the seat is in it.
    #[must_use]
    pub fn contains(self, seat: usize) -> bool {
        seat < SEATS_MAX && self.0 >> seat & 1 == 1
    }

    /// Whether none is in it.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The seats in it, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..SEATS_MAX).filter(move |&seat| self.contains(seat))
    }

    fn with(self, seat: usize) -> Self {
        Self(self.0 | 1 << seat)
    }

    fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl FromIterator<usize> for Seats {
    fn from_iter<I: IntoIterator<Item = usize>>(seats: I) -> Self {
        seats.into_iter().filter(|&seat| seat < SEATS_MAX).fold(Self::default(), Self::with)
    }
}

/// What has to happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask every bot what it looks like, then [`Machine::opened`].
    Open,
    /// Tell these seats; for each answer, in any order, [`Machine::delivered`].
    Notify {
        /// Of the start or the end.
        notice: Notice,
        /// Those that were not told yet.
        seats: Seats,
    },
    /// Ask these seats for their moves, all at once, then [`Machine::turn`].
    Ask {
        /// The living.
        seats: Seats,
    },
    /// Nothing more: [`Machine::result`] is final.
    Finish,
}

/// What was heard from a seat that was asked for its move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// What kind of answer.
    pub class: Class,
    /// Its move; present exactly when the class is [`Class::Valid`].
    pub mv: Option<Move>,
    /// From sending to the end of the answer, in milliseconds.
    pub latency_ms: u16,
    /// What it shouted, cut to 256 characters by the machine; empty for nothing.
    pub shout: String,
}

/// Something that happened and is not saved yet: save `row`, then give the step to [`Machine::accept`].
#[derive(Clone, Debug)]
pub struct Step {
    /// What to save.
    pub row: LogRow,
    entry: Entry,
    board: Option<Board>,
}

/// Why a match cannot go on. It will not go better next time: the match has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The rule book refuses.
    #[error("the rules refuse turn {turn}: {why}")]
    Rules {
        /// The turn that could not be played.
        turn: u32,
        /// What the rule book says.
        why: RuleError,
    },
    /// The log cannot be read.
    #[error("log entry {version} cannot be read: {why}")]
    Entry {
        /// Its place in the log.
        version: u32,
        /// What is wrong with it.
        why: BadEntry,
    },
    /// The log does not fit the match.
    #[error("log entry {version} does not fit the match: {why}")]
    Log {
        /// Its place in the log.
        version: u32,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The log was written by another version of the rule book.
    #[error("the match was begun under version {have} of the rules and cannot be continued under version {want}")]
    RulesVersion {
        /// The log's.
        have: u16,
        /// This program's.
        want: u16,
    },
}

/// A match between two saved states.
#[derive(Clone, Debug)]
pub struct Machine {
    spec: MatchSpec,
    board: Board,
    faces: Vec<Face>,
    last: Vec<Option<Played>>,
    told_start: Seats,
    told_end: Seats,
    version: u32,
    late_moves: u32,
}

impl Machine {
    /// A match that has not begun.
    ///
    /// # Errors
    /// [`Broken::Rules`] when it cannot be set up.
    pub fn new(spec: MatchSpec) -> Result<Self, Broken> {
        let seats = spec.seats.len();
        let board = snake::setup(&spec.rules, spec.width, spec.height, seats.min(SEATS_MAX + 1) as u8, spec.seed)
            .map_err(|why| Broken::Rules { turn: 0, why })?;
        Ok(Self {
            board,
            faces: Vec::new(),
            last: vec![None; seats],
            told_start: Seats::default(),
            told_end: Seats::default(),
            version: 0,
            late_moves: 0,
            spec,
        })
    }

    /// A match as its log left it.
    ///
    /// # Errors
    /// [`Broken`] when the log cannot be read, does not fit, or replays to other boards than it was written with.
    pub fn resume(spec: MatchSpec, rows: &[LogRow]) -> Result<Self, Broken> {
        let mut machine = Self::new(spec)?;
        for row in rows {
            machine.replay(row)?;
        }
        Ok(machine)
    }

    /// Applies one saved row.
    ///
    /// # Errors
    /// As [`Machine::resume`]; the machine is unchanged then.
    pub fn replay(&mut self, row: &LogRow) -> Result<(), Broken> {
        let version = self.version;
        let misfit = |why| Broken::Log { version, why };
        let entry = Entry::decode(&row.bytes).map_err(|why| Broken::Entry { version, why })?;
        if row.version != version {
            return Err(misfit("it is not the next one"));
        }
        let board = self.check(&entry)?;
        let step = self.step(entry, board);
        if (step.row.turns, step.row.late_moves) != (row.turns, row.late_moves) {
            return Err(misfit("its figures are not those of the replay"));
        }
        self.accept(step);
        Ok(())
    }

    /// What has to happen next.
    #[must_use]
    pub fn next(&self) -> Next {
        let all = Seats::first(self.spec.seats.len());
        if self.version == 0 {
            return Next::Open;
        }
        if self.told_start != all && self.board_turn() == 0 {
            return Next::Notify { notice: Notice::Start, seats: all.without(self.told_start) };
        }
        if !self.is_over() {
            return Next::Ask { seats: self.living() };
        }
        if self.told_end != all {
            return Next::Notify { notice: Notice::End, seats: all.without(self.told_end) };
        }
        Next::Finish
    }

    /// The match is opened with these looks, one for each seat; missing ones get the defaults.
    #[must_use]
    pub fn opened(&self, mut faces: Vec<Face>) -> Step {
        faces.resize(self.spec.seats.len(), Face::default());
        self.step(Entry::Opened { rules_version: RULES_VERSION, faces }, None)
    }

    /// A seat was told, and answered like this.
    #[must_use]
    pub fn delivered(&self, notice: Notice, seat: usize, class: Class, latency_ms: u16) -> Step {
        self.step(Entry::Delivered { notice, seat: seat as u8, class, latency_ms }, None)
    }

    /// The living answered like this (`heard` by seat, in order); those not heard count as late.
    ///
    /// # Errors
    /// [`Broken::Rules`] when the rule book cannot play the turn.
    pub fn turn(&self, mut heard: Vec<Option<Heard>>) -> Result<Step, Broken> {
        heard.resize(self.spec.seats.len(), None);
        let played: Vec<_> = heard.into_iter().enumerate().map(|(seat, heard)| self.played(seat, heard)).collect();
        let board = self.play(&played)?;
        let entry = Entry::Turn { turn: self.board_turn() + 1, played, state_hash: snake::state_hash(&board) as u32 };
        Ok(self.step(entry, Some(board)))
    }

    /// Moves on: the step's row is saved.
    pub fn accept(&mut self, step: Step) {
        match step.entry {
            Entry::Opened { faces, .. } => self.faces = faces,
            Entry::Delivered { notice: Notice::Start, seat, .. } => {
                self.told_start = self.told_start.with(usize::from(seat));
            }
            Entry::Delivered { notice: Notice::End, seat, .. } => self.told_end = self.told_end.with(usize::from(seat)),
            Entry::Turn { played, .. } => {
                for (last, played) in self.last.iter_mut().zip(played) {
                    *last = played.or(last.take());
                }
            }
        }
        if let Some(board) = step.board {
            self.board = board;
        }
        self.version = step.row.version + 1;
        self.late_moves = step.row.late_moves;
    }

    /// How the match ended; meaningful once [`Machine::is_over`].
    #[must_use]
    pub fn result(&self) -> MatchResult {
        let mut outcome = snake::outcome(&self.board);
        if !self.is_decided() {
            // The turns ran out: whoever lives is best together.
            outcome.winner = None;
            outcome.is_draw = true;
        }
        let causes = self.board.snakes.iter().map(|snake| snake.elimination.map(|out| out.cause)).collect();
        MatchResult::new(outcome, causes, self.board_turn(), self.late_moves)
    }

    /// Whether no further turn will be played.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_decided() || self.board_turn() >= self.spec.turns_max
    }

    /// What is played.
    #[must_use]
    pub fn spec(&self) -> &MatchSpec {
        &self.spec
    }

    /// The board after the last saved turn.
    #[must_use]
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// What each seat looks like; empty until the match is opened.
    #[must_use]
    pub fn faces(&self) -> &[Face] {
        &self.faces
    }

    /// What a seat last played, if it ever was asked.
    #[must_use]
    pub fn last(&self, seat: usize) -> Option<&Played> {
        self.last.get(seat).and_then(Option::as_ref)
    }

    /// Entries saved so far.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Turns played and saved.
    #[must_use]
    pub fn turns(&self) -> u32 {
        self.board_turn()
    }

    /// Moves, over all seats, that came after the deadline or never.
    #[must_use]
    pub fn late_moves(&self) -> u32 {
        self.late_moves
    }

    fn is_decided(&self) -> bool {
        snake::is_over(&self.spec.rules, &self.board)
    }

    fn board_turn(&self) -> u32 {
        self.board.turn
    }

    fn living(&self) -> Seats {
        let snakes = self.board.snakes.iter().enumerate();
        snakes.filter(|(_, snake)| snake.elimination.is_none()).map(|(seat, _)| seat).collect()
    }

    /// A seat's part in the turn: its move if it gave a valid one, else its previous one, which at first is up.
    fn played(&self, seat: usize, heard: Option<Heard>) -> Option<Played> {
        if !self.living().contains(seat) {
            return None;
        }
        let heard = heard.unwrap_or(Heard {
            class: Class::Late,
            mv: None,
            latency_ms: self.spec.timeout_ms,
            shout: String::new(),
        });
        let previous = self.last(seat).map_or(Move::Up, |last| last.mv);
        let shout: String = heard.shout.chars().take(SHOUT_CHARS_MAX).collect();
        Some(Played {
            mv: heard.mv.unwrap_or(previous),
            class: heard.class,
            latency_ms: heard.latency_ms,
            shout: shout.into_boxed_str(),
        })
    }

    /// The board after these moves.
    fn play(&self, played: &[Option<Played>]) -> Result<Board, Broken> {
        let order = |(seat, played): (usize, &Option<Played>)| {
            played.as_ref().map(|played| Order { seat: Seat(seat as u8), step: Some(played.mv) })
        };
        let orders: Vec<Order> = played.iter().enumerate().filter_map(order).collect();
        snake::turn(&self.spec.rules, &self.board, &orders, self.spec.seed)
            .map_err(|why| Broken::Rules { turn: self.board_turn() + 1, why })
    }

    /// The row of an entry that comes next.
    fn step(&self, entry: Entry, board: Option<Board>) -> Step {
        let late = match &entry {
            Entry::Turn { played, .. } => played.iter().flatten().filter(|seat| seat.class == Class::Late).count(),
            Entry::Opened { .. } | Entry::Delivered { .. } => 0,
        };
        let row = LogRow {
            version: self.version,
            turns: board.as_ref().map_or(self.board_turn(), |board| board.turn),
            late_moves: self.late_moves + late as u32,
            bytes: entry.encode(),
        };
        Step { row, entry, board }
    }

    /// Whether a saved entry may come next; for a turn, the board that it leads to.
    fn check(&self, entry: &Entry) -> Result<Option<Board>, Broken> {
        let refuse = |why| Err(Broken::Log { version: self.version, why });
        let seats = self.spec.seats.len();
        match (entry, self.next()) {
            (Entry::Opened { rules_version, .. }, Next::Open) if *rules_version != RULES_VERSION => {
                Err(Broken::RulesVersion { have: *rules_version, want: RULES_VERSION })
            }
            (Entry::Opened { faces, .. }, Next::Open) if faces.len() == seats => Ok(None),
            (Entry::Delivered { notice, seat, .. }, Next::Notify { notice: due, seats })
                if *notice == due && seats.contains(usize::from(*seat)) =>
            {
                Ok(None)
            }
            (Entry::Turn { turn, played, state_hash }, Next::Ask { seats: asked }) => {
                let answered: Seats =
                    played.iter().enumerate().filter(|(_, played)| played.is_some()).map(|(seat, _)| seat).collect();
                if *turn != self.board_turn() + 1 || played.len() != seats || answered != asked {
                    return refuse("it is not the turn that comes next");
                }
                let board = self.play(played)?;
                if snake::state_hash(&board) as u32 != *state_hash {
                    return refuse("the board after it is another one than when it was written");
                }
                Ok(Some(board))
            }
            (Entry::Opened { .. } | Entry::Delivered { .. } | Entry::Turn { .. }, _) => {
                refuse("it is not what comes next")
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! The state machine of one match: it names the next action, turns its result into the next log entry, and moves on
//! only once that entry is saved.
//!
//! ```text
//! next_action() ── Open ─────────► record_opened(faces)        ─┐
//!               ── Notify ───────► record_delivery(seat, …)    ─┤─► PendingStep ──(save its row)──► accept(step)
//!               ── RequestMoves ─► play_turn(answers)          ─┘
//!               ── Finish ───────► result()
//! ```
//!
//! A resume is the same machine fed with the saved rows: one path computes a turn, live or replayed, so a replay either
//! gives the same boards or is refused.

use super::entry::{AnswerClass, Entry, Face, MatchLogRow, Notice, PlayedMove};
use super::response_excerpt::ResponseExcerpt;
use super::result::MatchResult;
use super::spec::MatchSpec;
use crate::limits::{RESPONSE_EXCERPTS_PER_SEAT_MAX, SEATS_MAX, SHOUT_CHARS_MAX, TURNS_WITHOUT_MOVE_MAX};
use crate::pack::DecodeError;
use rules::snake::{self, Board, Move, MoveOrder, RULES_VERSION, RuleError, Ruleset, START_LENGTH, Seat, Snake};

/// Calls for a move after which a bot that gave none did not play: a single one may have met a bot that was just waking. A snake that no
/// bot steers lives for two turns at least on every usual board.
const SILENT_CALLS_MIN: u32 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeatSet(u16);

const _: () = assert!(SEATS_MAX <= 16, "a set of seats is 16 bits");

impl SeatSet {
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

impl FromIterator<usize> for SeatSet {
    fn from_iter<I: IntoIterator<Item = usize>>(seats: I) -> Self {
        seats.into_iter().filter(|&seat| seat < SEATS_MAX).fold(Self::default(), Self::with)
    }
}

/// What has to happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextAction {
    /// Request every bot's looks, then [`MatchMachine::record_opened`].
    Open,
    /// Notify these seats; for each answer, in any order, [`MatchMachine::record_delivery`].
    Notify {
        /// Of the start or the end.
        notice: Notice,
        /// Those that were not notified yet.
        seats: SeatSet,
    },
    /// Request the moves of these seats, all at once, then [`MatchMachine::play_turn`].
    RequestMoves {
        /// The living.
        seats: SeatSet,
    },
    /// Nothing more: [`MatchMachine::result`] is final.
    Finish,
}

/// A bot's answer, already classified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotAnswer {
    pub class: AnswerClass,
    /// The move, of a valid answer to a request for one.
    pub mv: Option<Move>,
    /// From sending to the end of the answer, in milliseconds, at most the timeout.
    pub latency_ms: u16,
    /// What it shouted, cut to 256 characters by the machine; empty for nothing.
    pub shout: String,
    /// The response to a request for a move, where it was none with a valid one; the machine keeps the first ones of a match.
    pub response: Option<Box<ResponseExcerpt>>,
}

impl BotAnswer {
    /// One without a move.
    #[must_use]
    pub fn without_move(class: AnswerClass, latency_ms: u16) -> Self {
        Self { class, mv: None, latency_ms, shout: String::new(), response: None }
    }
}

/// Something that happened and is not saved yet: save `row`, then give the step to [`MatchMachine::accept`].
#[derive(Clone, Debug)]
pub struct PendingStep {
    /// What to save.
    pub row: MatchLogRow,
    entry: Entry,
    board: Option<Board>,
}

/// Why a match cannot continue. A retry would not help: the match has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    /// The rule book refuses.
    #[error("the rules refuse turn {turn}: {why}")]
    Rules {
        /// The turn that could not be played.
        turn: u32,
        why: RuleError,
    },
    /// The log cannot be read.
    #[error("log entry {version} cannot be read: {why}")]
    Entry {
        /// Its place in the log.
        version: u32,
        why: DecodeError,
    },
    /// The log does not fit the match.
    #[error("log entry {version} does not fit the match: {why}")]
    Log {
        /// Its place in the log.
        version: u32,
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
pub struct MatchMachine {
    spec: MatchSpec,
    board: Board,
    faces: Vec<Face>,
    last_moves: Vec<Option<PlayedMove>>,
    start_notified: SeatSet,
    end_notified: SeatSet,
    version: u32,
    late_moves: u32,
    server_faults: u32,
    /// Seats whose bots gave at least one valid move.
    moved: SeatSet,
    /// Responses in the log, by seat.
    responses_kept: Vec<u8>,
    /// Turns in a row, up to the last one, for which no bot gave a valid move.
    turns_without_move: u32,
}

impl MatchMachine {
    /// A match that has not begun.
    ///
    /// # Errors
    /// [`MatchError::Rules`] when it cannot be set up.
    pub fn new(spec: MatchSpec) -> Result<Self, MatchError> {
        let seats = spec.seats.len();
        let board = snake::setup(&spec.rules, spec.width, spec.height, seats.min(SEATS_MAX + 1) as u8, spec.seed)
            .map_err(|why| MatchError::Rules { turn: 0, why })?;
        Ok(Self {
            board,
            faces: Vec::new(),
            last_moves: vec![None; seats],
            start_notified: SeatSet::default(),
            end_notified: SeatSet::default(),
            version: 0,
            late_moves: 0,
            server_faults: 0,
            moved: SeatSet::default(),
            responses_kept: vec![0; seats],
            turns_without_move: 0,
            spec,
        })
    }

    /// A match as its log left it.
    ///
    /// # Errors
    /// [`MatchError`] when the log cannot be read, does not fit, or replays to other boards than it was written with.
    pub fn resume(spec: MatchSpec, rows: &[MatchLogRow]) -> Result<Self, MatchError> {
        let mut machine = Self::new(spec)?;
        for row in rows {
            machine.replay(row)?;
        }
        Ok(machine)
    }

    /// Applies one saved row.
    ///
    /// # Errors
    /// As [`MatchMachine::resume`]; the machine is unchanged then.
    pub fn replay(&mut self, row: &MatchLogRow) -> Result<(), MatchError> {
        let version = self.version;
        let misfit = |why| MatchError::Log { version, why };
        let entry = Entry::decode(&row.bytes).map_err(|why| MatchError::Entry { version, why })?;
        if row.version != version {
            return Err(misfit("it is not the next one"));
        }
        let board = self.validate(&entry)?;
        let step = self.pending_step(entry, board);
        if (step.row.turns, step.row.late_moves) != (row.turns, row.late_moves) {
            return Err(misfit("its counters are not those of the replay"));
        }
        self.accept(step);
        Ok(())
    }

    /// What has to happen next.
    #[must_use]
    pub fn next_action(&self) -> NextAction {
        let all = SeatSet::first(self.spec.seats.len());
        if self.version == 0 {
            return NextAction::Open;
        }
        if self.start_notified != all && self.turns() == 0 {
            return NextAction::Notify { notice: Notice::Start, seats: all.without(self.start_notified) };
        }
        if !self.is_over() {
            return NextAction::RequestMoves { seats: self.living_seats() };
        }
        if self.end_notified != all {
            return NextAction::Notify { notice: Notice::End, seats: all.without(self.end_notified) };
        }
        NextAction::Finish
    }

    /// The match is opened with these looks, one for each seat; missing ones get the defaults.
    #[must_use]
    pub fn record_opened(&self, mut faces: Vec<Face>) -> PendingStep {
        faces.resize(self.spec.seats.len(), Face::default());
        self.pending_step(Entry::Opened { rules_version: RULES_VERSION, faces }, None)
    }

    /// A seat was notified, and answered like this.
    #[must_use]
    pub fn record_delivery(&self, notice: Notice, seat: usize, class: AnswerClass, latency_ms: u16) -> PendingStep {
        self.pending_step(Entry::Delivered { notice, seat: seat as u8, class, latency_ms }, None)
    }

    /// Plays a turn with the answers of the living (`answers` by seat, in order); a missing answer counts as late.
    ///
    /// # Errors
    /// [`MatchError::Rules`] when the rules cannot play the turn.
    pub fn play_turn(&self, mut answers: Vec<Option<BotAnswer>>) -> Result<PendingStep, MatchError> {
        answers.resize(self.spec.seats.len(), None);
        let played: Vec<_> =
            answers.into_iter().enumerate().map(|(seat, answer)| self.move_of_seat(seat, answer)).collect();
        let board = self.board_after(&played)?;
        let entry = Entry::Turn { turn: self.turns() + 1, played, state_hash: snake::state_hash(&board) as u32 };
        Ok(self.pending_step(entry, Some(board)))
    }

    /// Moves on: the step's row is saved.
    pub fn accept(&mut self, step: PendingStep) {
        self.count_answers(&step.entry);
        match step.entry {
            Entry::Opened { faces, .. } => self.faces = faces,
            Entry::Delivered { notice: Notice::Start, seat, .. } => {
                self.start_notified = self.start_notified.with(usize::from(seat));
            }
            Entry::Delivered { notice: Notice::End, seat, .. } => {
                self.end_notified = self.end_notified.with(usize::from(seat));
            }
            Entry::Turn { played, .. } => {
                for (last, played) in self.last_moves.iter_mut().zip(played) {
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

    /// How the match ended; meaningful once [`MatchMachine::is_over`].
    #[must_use]
    pub fn result(&self) -> MatchResult {
        let outcome = snake::outcome(&self.board);
        // Where the turns ran out, or no bot moved any more, all who are alive share the best place.
        let is_decided = self.is_decided();
        MatchResult {
            winner: outcome.winner.filter(|_| is_decided).map(|seat| seat.0),
            is_draw: outcome.is_draw || !is_decided,
            placements: outcome.placements,
            causes: self.board.snakes.iter().map(|snake| snake.elimination.map(|out| out.cause)).collect(),
            death_turns: self.board.snakes.iter().map(|snake| snake.elimination.map(|out| out.turn)).collect(),
            turns: self.turns(),
            late_moves: self.late_moves,
            food_eaten: self.board.snakes.iter().map(|snake| self.food_eaten(snake)).collect(),
            is_server_fault: self.server_faults > 0,
            silent_seats: (0..self.board.snakes.len())
                .filter(|seat| self.is_silent(*seat))
                .map(|seat| seat as u8)
                .collect(),
        }
    }

    /// Whether no further turn will be played: it is decided, its turns have run out, or none of its bots gives a valid move any more. On most
    /// boards a snake that no bot steers starves before; where hazards heal, it would go on, and this server with it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_played_out() || self.turns_without_move >= TURNS_WITHOUT_MOVE_MAX
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

    /// The last move of a seat, if it ever was asked for one.
    #[must_use]
    pub fn last_move(&self, seat: usize) -> Option<&PlayedMove> {
        self.last_moves.get(seat).and_then(Option::as_ref)
    }

    /// Entries saved so far.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Turns played and saved.
    #[must_use]
    pub fn turns(&self) -> u32 {
        self.board.turn
    }

    /// Moves, over all seats, that came after the deadline or never.
    #[must_use]
    pub fn late_moves(&self) -> u32 {
        self.late_moves
    }

    /// Calls that this server could not make and whose failure a bot could have lost by: for moves, and of the start, which bots may need
    /// before the first move. A result with any of them says nothing about the bots.
    #[must_use]
    pub fn server_faults(&self) -> u32 {
        self.server_faults
    }

    /// Whether a seat's bot was called for moves several times and gave no valid one, by its own doing: it did not play at all.
    #[must_use]
    pub fn is_silent(&self, seat: usize) -> bool {
        let elimination = self.board.snakes.get(seat).and_then(|snake| snake.elimination.as_ref());
        let calls = elimination.map_or(self.turns(), |elimination| elimination.turn);
        calls >= SILENT_CALLS_MIN && self.server_faults == 0 && !self.moved.contains(seat)
    }

    fn count_answers(&mut self, entry: &Entry) {
        match entry {
            Entry::Turn { played, .. } => {
                let has_move = played.iter().flatten().any(|played| played.class == AnswerClass::Valid);
                self.turns_without_move = if has_move { 0 } else { self.turns_without_move + 1 };
                let played = played.iter().enumerate().filter_map(|(seat, played)| Some((seat, played.as_ref()?)));
                for (seat, played) in played {
                    self.server_faults += u32::from(played.class.is_server_fault());
                    if played.class == AnswerClass::Valid {
                        self.moved = self.moved.with(seat);
                    }
                    self.responses_kept[seat] =
                        self.responses_kept[seat].saturating_add(played.response.is_some().into());
                }
            }
            Entry::Delivered { notice: Notice::Start, class, .. } => {
                self.server_faults += u32::from(class.is_server_fault());
            }
            Entry::Opened { .. } | Entry::Delivered { .. } => {}
        }
    }

    fn is_played_out(&self) -> bool {
        self.is_decided() || self.turns() >= self.spec.turns_max
    }

    fn is_decided(&self) -> bool {
        snake::is_over(&self.spec.rules, &self.board)
    }

    /// A snake grows by one for each food, and in some rule sets by itself.
    fn food_eaten(&self, snake: &Snake) -> u32 {
        let grows_by_itself = matches!(self.spec.rules.ruleset, Ruleset::Constrictor | Ruleset::WrappedConstrictor);
        if grows_by_itself { 0 } else { snake.length().saturating_sub(START_LENGTH) as u32 }
    }

    fn living_seats(&self) -> SeatSet {
        let snakes = self.board.snakes.iter().enumerate();
        snakes.filter(|(_, snake)| snake.elimination.is_none()).map(|(seat, _)| seat).collect()
    }

    /// A seat's part in the turn: its move if it gave a valid one, else its previous one, which at first is up.
    fn move_of_seat(&self, seat: usize, answer: Option<BotAnswer>) -> Option<PlayedMove> {
        if !self.living_seats().contains(seat) {
            return None;
        }
        let answer = answer.unwrap_or_else(|| BotAnswer::without_move(AnswerClass::Late, self.spec.timeout_ms));
        let previous = self.last_move(seat).map_or(Move::Up, |last| last.mv);
        let shout: String = answer.shout.chars().take(SHOUT_CHARS_MAX).collect();
        Some(PlayedMove {
            mv: answer.mv.unwrap_or(previous),
            class: answer.class,
            latency_ms: answer.latency_ms,
            shout: shout.into_boxed_str(),
            response: answer.response.filter(|_| self.responses_kept[seat] < RESPONSE_EXCERPTS_PER_SEAT_MAX),
        })
    }

    /// The board after these moves.
    fn board_after(&self, played: &[Option<PlayedMove>]) -> Result<Board, MatchError> {
        let order = |(seat, played): (usize, &Option<PlayedMove>)| {
            played.as_ref().map(|played| MoveOrder { seat: Seat(seat as u8), direction: Some(played.mv) })
        };
        let orders: Vec<MoveOrder> = played.iter().enumerate().filter_map(order).collect();
        snake::turn(&self.spec.rules, &self.board, &orders, self.spec.seed)
            .map_err(|why| MatchError::Rules { turn: self.turns() + 1, why })
    }

    /// The row of an entry that comes next.
    fn pending_step(&self, entry: Entry, board: Option<Board>) -> PendingStep {
        let late = match &entry {
            Entry::Turn { played, .. } => {
                played.iter().flatten().filter(|seat| seat.class == AnswerClass::Late).count()
            }
            Entry::Opened { .. } | Entry::Delivered { .. } => 0,
        };
        let row = MatchLogRow {
            version: self.version,
            turns: board.as_ref().map_or(self.turns(), |board| board.turn),
            late_moves: self.late_moves + late as u32,
            bytes: entry.encode(),
        };
        PendingStep { row, entry, board }
    }

    /// Whether a saved entry may come next; for a turn, the board that it leads to.
    fn validate(&self, entry: &Entry) -> Result<Option<Board>, MatchError> {
        let refuse = |why| Err(MatchError::Log { version: self.version, why });
        let seats = self.spec.seats.len();
        let next = match (entry, self.next_action()) {
            // Matches went on when no bot moved, before there was that limit: their logs are still read.
            (Entry::Turn { .. }, NextAction::Notify { notice: Notice::End, seats: due })
                if due == SeatSet::first(seats) && !self.is_played_out() =>
            {
                NextAction::RequestMoves { seats: self.living_seats() }
            }
            (_, next) => next,
        };
        match (entry, next) {
            (Entry::Opened { rules_version, .. }, NextAction::Open) if *rules_version != RULES_VERSION => {
                Err(MatchError::RulesVersion { have: *rules_version, want: RULES_VERSION })
            }
            (Entry::Opened { faces, .. }, NextAction::Open) if faces.len() == seats => Ok(None),
            (Entry::Delivered { notice, seat, .. }, NextAction::Notify { notice: due, seats })
                if *notice == due && seats.contains(usize::from(*seat)) =>
            {
                Ok(None)
            }
            (Entry::Turn { turn, played, state_hash }, NextAction::RequestMoves { seats: requested }) => {
                let answered: SeatSet =
                    played.iter().enumerate().filter(|(_, played)| played.is_some()).map(|(seat, _)| seat).collect();
                if *turn != self.turns() + 1 || played.len() != seats || answered != requested {
                    return refuse("it is not the turn that comes next");
                }
                let board = self.board_after(played)?;
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

//! What may be asked of a store about worlds: their claim logs and snapshots under their fences, who joined, and what was counted.

use crate::ids::{PlayerId, TicketId, WorkerId, WorldId};
use crate::rows::{RoundRow, WorldLogRow, WorldRow};
use crate::time::UnixMs;
use std::time::Duration;

/// One thing to do about a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorldCommand {
    /// Make a world, or find the one that has this name already: its answer tells by the id. →
    /// [`Outcome::World`](super::Outcome::WorldIs) | `TooMany` (worlds of this creator that are not over) | `Full` (worlds in all,
    /// but for those that are reserved for others) | `Duplicate` (the id is another world's)
    Ensure {
        /// The world; `created_at` is now.
        row: WorldRow,
        /// Who has joined from the start.
        members: Vec<PlayerId>,
    },
    /// Take a world over: it is free when nobody owns it or its owner's lease has ended. Whoever holds it already gets it again
    /// under a new epoch: so a claim whose answer was lost is simply repeated. →
    /// [`Outcome::WorldClaimed`](super::Outcome::WorldClaimed) | [`Outcome::WorldElsewhere`](super::Outcome::WorldElsewhere) |
    /// `Missing` | `LeaseLost` (this worker's own lease does not hold at `now`)
    Claim {
        /// Which.
        id: WorldId,
        /// For whom.
        worker: WorkerId,
        /// When.
        now: UnixMs,
    },
    /// Keep the matchmakers' desk: it is free when nobody keeps it or its keeper's lease has ended, and stays with whoever has it. →
    /// [`Outcome::QueueOwnedBy`](super::Outcome::DeskOf) (this worker, or another whose lease holds) | `LeaseLost` (this worker's own lease
    /// does not hold at `now`)
    AcquireQueue {
        /// For whom.
        worker: WorkerId,
        /// When.
        now: UnixMs,
    },
    /// Make the hunt of a match, and write down by which ticket each of its players came. Refused of whoever keeps the desk no longer, so
    /// that a ticket which the next keeper does not know has its hunt already, or never will. Repeated, it changes nothing. →
    /// [`Outcome::World`](super::Outcome::WorldIs) | `TooMany` | `Duplicate` (as for `Ensure`) | `LeaseLost` (another worker has taken
    /// the desk)
    CreateMatchedHunt {
        /// The hunt; `created_at` is now.
        row: WorldRow,
        /// Its players, with their tickets.
        members: Vec<(PlayerId, TicketId)>,
        /// Who keeps the desk.
        keeper: WorkerId,
    },
    /// Add entries to a world's claim log. → `Done` | `Fenced` | `VersionIs`
    Append(WorldAppend),
    /// Keep what a load starts from. Entries that it holds and that are counted are forgotten. → `Done` | `Fenced` | `VersionIs`
    /// (it goes back, or ahead of the log)
    Snapshot {
        /// Of which world.
        id: WorldId,
        /// The owner's fencing token.
        epoch: u32,
        /// Entries of the claim log that it holds, counted from the beginning.
        claims_version: u32,
        /// The state, as the world's machine writes it.
        bytes: Vec<u8>,
    },
    /// Give a world up, so that any worker may take it over at once. Given up twice is given up. → `Done` | `Fenced`
    Release {
        /// Which.
        id: WorldId,
        /// The owner's fencing token.
        epoch: u32,
        /// Whether it is over, with the end of its last round in the log: it need not be opened again.
        is_finished: bool,
    },
    /// Write somebody down as one who joined. Who joined twice joined. → `Done` | `Missing` | `TooMany` (the world has as many as
    /// it may have) | `NotOpen` (it is over, or nobody can join it by himself)
    Join {
        /// Which world.
        id: WorldId,
        /// Who.
        player: PlayerId,
        /// When.
        now: UnixMs,
    },
    /// Forget that somebody joined. → `Done` | `Missing` (no such world, or he had not joined)
    Leave {
        /// Which world.
        id: WorldId,
        /// Who.
        player: PlayerId,
    },
    /// Count entries of a world's log, all that follows from them and the new cursor in one commit: so each is counted once,
    /// whoever counts and however often he is asked. Entries that the snapshot holds too are forgotten. → `Done` | `Missing` |
    /// `VersionIs` (of the cursor: not `from_version`; or `to_version` lies before it or beyond the log)
    Aggregate(Aggregate),
    /// End a world now, whoever owns it: its owner is fenced. One that is over stays as it is. → `Done` | `Missing`
    End {
        /// Which.
        id: WorldId,
        /// When.
        now: UnixMs,
    },
    /// End worlds that a player made before `made_before`, that nobody else joined and that nobody was ever in. →
    /// [`Outcome::Retired`](super::Outcome::Retired)
    EndUnjoined {
        /// When.
        now: UnixMs,
        /// Made before then.
        made_before: UnixMs,
        /// Worlds ended by one call.
        max: usize,
    },
    /// Forget worlds that were over longer ago than `keep_for`, or before the `keep_max` that were over last, that are counted to the
    /// end and that nobody owns, with all that belongs to them but what was counted, the earliest end first. →
    /// [`Outcome::Retired`](super::Outcome::Retired)
    Retire {
        /// When.
        now: UnixMs,
        /// How long a world is kept after its end.
        keep_for: Duration,
        /// Worlds that are kept after their end.
        keep_max: usize,
        /// Worlds forgotten by one call, so that nobody waits long behind it.
        max: usize,
    },
}

/// Entries for a world's claim log, and the two fences that guard it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldAppend {
    /// Which world.
    pub id: WorldId,
    /// The owner's fencing token: a later claim makes it void.
    pub epoch: u32,
    /// How many entries were ever added before these, the forgotten ones included.
    pub expected_version: u32,
    /// The entries, in order; the first one's version is `expected_version`.
    pub rows: Vec<WorldLogRow>,
}

/// What follows from entries `from_version..to_version` of a world's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// Which world.
    pub id: WorldId,
    /// Entries counted before.
    pub from_version: u32,
    /// Entries counted with these.
    pub to_version: u32,
    /// What players did in them.
    pub hunters: Vec<HunterDelta>,
    /// What everybody did in them, those included whom the house does not know.
    pub totals: HuntDelta,
    /// Rounds that ended in them.
    pub rounds: Vec<RoundRow>,
}

/// What somebody did, to be added to what he did before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunterDelta {
    /// Who.
    pub player: PlayerId,
    /// What he calls himself; kept as it was when empty.
    pub name: String,
    /// Points.
    pub points: u32,
    /// Chests dug.
    pub chests: u32,
    /// Power-ups grabbed.
    pub power_ups: u32,
    /// Rounds at whose end he was among the best that are named.
    pub rounds: u32,
    /// Rounds of those that nobody had more points in.
    pub rounds_won: u32,
    /// When the last of it happened.
    pub at: UnixMs,
}

/// What everybody did, to be added to the totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HuntDelta {
    /// Points.
    pub points: u32,
    /// Chests dug.
    pub chests: u32,
    /// Power-ups grabbed.
    pub power_ups: u32,
}

/// A world in a worker's hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedWorld {
    /// The world.
    pub row: WorldRow,
    /// The fencing token of this claim, from 1.
    pub epoch: u32,
    /// The last snapshot, if one was ever kept.
    pub snapshot: Option<Vec<u8>>,
    /// Entries of the claim log that the snapshot holds; 0 without one.
    pub claims_version: u32,
    /// The entries after it, in order.
    pub rows: Vec<WorldLogRow>,
}

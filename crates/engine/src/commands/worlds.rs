//! Commands to a store about worlds: their claim logs and snapshots under their fences, who joined, and what was
//! counted.

use crate::ids::{PlayerId, TicketId, WorkerId, WorldId};
use crate::rows::{RoundRow, WorldLogRow, WorldRow};
use crate::time::UnixMs;
use crate::worlds::WorldAppend;
use std::time::Duration;

/// One thing to do about a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorldCommand {
    /// Make a world, or find the one that has this name already: the id in the outcome says which. →
    /// [`Outcome::World`](super::Outcome::World) | `LimitReached` (worlds of this creator that are not over) | `Full`
    /// (worlds in all, but for those that are reserved for others) | `Duplicate` (the id is another world's)
    Ensure {
        /// The world; `created_at` is now.
        row: WorldRow,
        /// Who has joined from the start.
        members: Vec<PlayerId>,
    },
    /// Take a world over: it is free when it has no owner or its owner's lease has ended. The current owner gets it
    /// again under a new epoch, so a claim whose outcome was lost is simply repeated. →
    /// [`Outcome::WorldClaimed`](super::Outcome::WorldClaimed) |
    /// [`Outcome::WorldElsewhere`](super::Outcome::WorldElsewhere) | `NotFound` | `LeaseLost` (this worker's own lease
    /// is not valid at `now`)
    Claim { id: WorldId, worker: WorkerId, now: UnixMs },
    /// Make the hunt of a match, and save by which ticket each of its players came. Refused when the worker no longer
    /// owns the queue, so that a ticket which the next owner does not know has its hunt already, or never will.
    /// Idempotent. → [`Outcome::World`](super::Outcome::World) | `LimitReached` | `Duplicate` (as for `Ensure`) |
    /// `LeaseLost` (another worker has acquired the queue)
    CreateMatchedHunt {
        /// The hunt; `created_at` is now.
        row: WorldRow,
        members: Vec<(PlayerId, TicketId)>,
        keeper: WorkerId,
    },
    /// Add entries to a world's claim log. → `Done` | `Fenced` | `VersionConflict`
    Append(WorldAppend),
    /// Save what a load starts from. Entries that it holds and that are counted are deleted. → `Done` | `Fenced` |
    /// `VersionConflict` (it goes back, or ahead of the log)
    Snapshot {
        id: WorldId,
        /// The owner's fencing token.
        epoch: u32,
        /// Entries of the claim log that it holds, counted from the beginning.
        claims_version: u32,
        /// The state, as the world's machine writes it.
        bytes: Vec<u8>,
    },
    /// Release a world, so that any worker may take it over at once. Idempotent. → `Done` | `Fenced`
    Release {
        id: WorldId,
        /// The owner's fencing token.
        epoch: u32,
        /// Whether it is over, with the end of its last round in the log: it need not be opened again.
        is_finished: bool,
    },
    /// Save that a player joined. Idempotent. → `Done` | `NotFound` | `LimitReached` (the world has as many as it may
    /// have) | `NotOpen` (it is over, or players cannot join it by themselves)
    Join { id: WorldId, player: PlayerId, now: UnixMs },
    /// Undo that a player joined. → `Done` | `NotFound` (no such world, or the player had not joined)
    Leave { id: WorldId, player: PlayerId },
    /// Count entries of a world's log, all that follows from them and the new cursor in one commit: so each is counted
    /// once, whichever process counts and however often the command is repeated. Entries that the snapshot holds too are deleted.
    /// → `Done` | `NotFound` | `VersionConflict` (of the cursor: not `from_version`; or `to_version` lies before it or
    /// beyond the log)
    Aggregate(Aggregate),
    /// End a world now: its owner, if it has one, is fenced. One that is over stays as it is. → `Done` | `NotFound`
    End { id: WorldId, now: UnixMs },
    /// End worlds that a player made before `made_before`, that no other player joined and that never had a player
    /// inside. → [`Outcome::Retired`](super::Outcome::Retired)
    EndUnjoined {
        now: UnixMs,
        /// Made before then.
        made_before: UnixMs,
        /// Worlds ended by one call.
        max: usize,
    },
    /// Delete worlds that were over longer ago than `keep_for`, or before the `keep_max` that were over last, that are
    /// counted to the end and have no owner, with all that belongs to them but what was counted, the earliest end
    /// first. → [`Outcome::Retired`](super::Outcome::Retired)
    Retire {
        now: UnixMs,
        /// How long a world is kept after its end.
        keep_for: Duration,
        /// Worlds that are kept after their end.
        keep_max: usize,
        /// Worlds deleted by one call, so that other commands do not wait long behind it.
        max: usize,
    },
}

/// What follows from entries `from_version..to_version` of a world's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    pub id: WorldId,
    /// Entries counted before.
    pub from_version: u32,
    /// Entries counted with these.
    pub to_version: u32,
    /// What players did in them.
    pub hunters: Vec<HunterDelta>,
    /// What all hunters did in them, guests included.
    pub totals: HuntDelta,
    /// Rounds that ended in them.
    pub rounds: Vec<RoundRow>,
}

/// What one hunter did, to be added to the earlier sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunterDelta {
    pub player: PlayerId,
    /// The hunter's current name; the saved one stays when this is empty.
    pub name: String,
    pub points: u32,
    /// Chests dug.
    pub chests: u32,
    /// Power-ups grabbed.
    pub power_ups: u32,
    /// Rounds at whose end the hunter was among the best that are named.
    pub rounds: u32,
    /// Rounds of those in which the hunter had the most points.
    pub rounds_won: u32,
    /// When the last of it happened.
    pub at: UnixMs,
}

/// What all hunters did, to be added to the totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HuntDelta {
    pub points: u32,
    /// Chests dug.
    pub chests: u32,
    /// Power-ups grabbed.
    pub power_ups: u32,
}

/// A world in a worker's hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedWorld {
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

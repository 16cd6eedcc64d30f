//! Rules about worlds that all stores share: what fits a claim log, what may be joined, what may be deleted.

use engine::commands::{Aggregate, HunterDelta, Outcome, WorldAppend};
use engine::ids::PlayerId;
use engine::limits::{
    WORLDS_ENDED_MAX, WORLDS_MAX, WORLDS_PER_PLAYER_MAX, WORLDS_RESERVED, WORLDS_RESERVED_FOR_OPERATORS,
};
use engine::rows::{Admission, HunterRow, WorldRow};
use engine::time::UnixMs;

/// The counters of a world's log before a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorldVersions {
    /// Entries that the snapshot holds.
    pub(crate) snapshot: u32,
    /// Entries that are counted.
    pub(crate) aggregated: u32,
    /// Entries that there are.
    pub(crate) log: u32,
}

impl WorldVersions {
    /// The first entry that is still needed: a load needs those after the snapshot, the aggregation those after its
    /// cursor.
    pub(crate) fn first_needed(self) -> u32 {
        self.snapshot.min(self.aggregated)
    }
}

/// Whether these entries continue a claim log of `have` entries: the expected number, and no gap among them.
pub(crate) fn check_world_append(append: &WorldAppend, have: u32) -> Result<(), Outcome> {
    let is_contiguous = append.rows.iter().zip(have..).all(|(row, version)| row.version == version);
    if append.expected_version == have && is_contiguous { Ok(()) } else { Err(Outcome::VersionConflict(have)) }
}

/// Whether a snapshot neither goes back nor runs ahead of the log.
pub(crate) fn check_snapshot(claims_version: u32, held: WorldVersions) -> Result<(), Outcome> {
    let is_within = (held.snapshot..=held.log).contains(&claims_version);
    if is_within { Ok(()) } else { Err(Outcome::VersionConflict(held.log)) }
}

/// Whether these entries are the next to be counted.
pub(crate) fn check_aggregate(aggregate: &Aggregate, held: WorldVersions) -> Result<(), Outcome> {
    let is_within = (held.aggregated..=held.log).contains(&aggregate.to_version);
    if aggregate.from_version == held.aggregated && is_within {
        Ok(())
    } else {
        Err(Outcome::VersionConflict(held.aggregated))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorldCounts {
    /// Those that are not over. Counting may stop at [`WORLDS_MAX`].
    pub(crate) live: usize,
    /// Those that are over, too. Counting may stop at [`WORLDS_MAX`] and [`WORLDS_ENDED_MAX`] together.
    pub(crate) all: usize,
    /// Those of the creator that are not over.
    pub(crate) by_creator: usize,
}

/// Whether another world may be made.
pub(crate) fn check_creation(row: &WorldRow, existing: WorldCounts) -> Result<(), Outcome> {
    if row.creator.is_some() && existing.by_creator >= WORLDS_PER_PLAYER_MAX {
        return Err(Outcome::LimitReached);
    }
    let reserved_for_others = match (row.creator, row.admission) {
        (Some(_), _) => WORLDS_RESERVED,
        (None, Admission::Matched) => WORLDS_RESERVED_FOR_OPERATORS,
        (None, _) => 0,
    };
    let live_max = WORLDS_MAX - reserved_for_others;
    let is_full = existing.live >= live_max || existing.all >= live_max + WORLDS_ENDED_MAX;
    if is_full { Err(Outcome::Full) } else { Ok(()) }
}

/// Whether a player may join a world directly.
pub(crate) fn check_join(row: &WorldRow, players: u32, has_joined: bool, now: UnixMs) -> Result<(), Outcome> {
    if row.is_over(now) || row.admission != Admission::Joined {
        return Err(Outcome::NotOpen);
    }
    if players >= row.players_max && !has_joined { Err(Outcome::LimitReached) } else { Ok(()) }
}

/// A hunter without counted claims.
pub(crate) fn new_hunter(player: PlayerId) -> HunterRow {
    HunterRow {
        player,
        name: String::new(),
        points: 0,
        chests: 0,
        power_ups: 0,
        rounds: 0,
        rounds_won: 0,
        last_at: UnixMs(0),
    }
}

/// Brings a hunter's row forward.
pub(crate) fn add_delta(hunter: &mut HunterRow, delta: &HunterDelta) {
    if !delta.name.is_empty() {
        hunter.name = super::stored_text(&delta.name);
    }
    hunter.points += u64::from(delta.points);
    hunter.chests += u64::from(delta.chests);
    hunter.power_ups += u64::from(delta.power_ups);
    hunter.rounds += u64::from(delta.rounds);
    hunter.rounds_won += u64::from(delta.rounds_won);
    hunter.last_at = hunter.last_at.max(delta.at);
}

/// When a world ends, as it is kept: a list in this order then has those that stay at its beginning.
pub(crate) fn stored_end(ends_at: Option<UnixMs>) -> UnixMs {
    ends_at.unwrap_or(UnixMs(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::commands::HuntDelta;
    use engine::ids::WorldId;

    /// Of a log of nine entries, four in its snapshot, six counted.
    const HELD: WorldVersions = WorldVersions { snapshot: 4, aggregated: 6, log: 9 };

    #[track_caller]
    fn check_claims(claims_version: u32, is_refused: bool) {
        let want = if is_refused { Err(Outcome::VersionConflict(9)) } else { Ok(()) };
        assert_eq!(check_snapshot(claims_version, HELD), want, "{claims_version}");
    }

    #[test]
    fn a_snapshot_stays_between_the_one_before_and_the_end() {
        check_claims(3, true);
        check_claims(4, false);
        check_claims(9, false);
        check_claims(10, true);
    }

    #[track_caller]
    fn check_making(creator: Option<u128>, admission: Admission, live: usize, over: usize, want: &Result<(), Outcome>) {
        let row = WorldRow {
            id: WorldId(1),
            name: "pond".parse().unwrap(),
            kind: engine::rows::WorldKind::Hunt,
            settings: vec![],
            seed: rules::chance::Seed(1),
            creator: creator.map(PlayerId),
            created_at: UnixMs(0),
            ends_at: Some(UnixMs(1)),
            admission,
            players_max: 2,
        };
        let existing = WorldCounts { live, all: live + over, by_creator: 0 };
        assert_eq!(&check_creation(&row, existing), want, "{creator:?} {admission:?}: {live} live, {over} over");
    }

    #[test]
    fn what_players_make_leaves_room_for_others_and_what_is_over_for_what_lives() {
        use Admission::{Everybody, Joined, Matched};
        let full = || Err(Outcome::Full);
        let (players, matchmaker) = (WORLDS_MAX - WORLDS_RESERVED, WORLDS_MAX - WORLDS_RESERVED_FOR_OPERATORS);
        check_making(Some(1), Joined, players - 1, 0, &Ok(()));
        check_making(Some(1), Joined, players, 0, &full());
        check_making(None, Matched, players, 0, &Ok(()));
        check_making(None, Matched, matchmaker, 0, &full());
        check_making(None, Everybody, matchmaker, 0, &Ok(()));
        check_making(None, Everybody, WORLDS_MAX, 0, &full());
        check_making(Some(1), Joined, 0, WORLDS_MAX, &Ok(()));
        check_making(Some(1), Joined, 0, players + WORLDS_ENDED_MAX, &full());
        check_making(None, Matched, 0, players + WORLDS_ENDED_MAX, &Ok(()));
    }

    #[track_caller]
    fn check_count(from_version: u32, to_version: u32, is_refused: bool) {
        let (id, totals) = (WorldId(1), HuntDelta::default());
        let aggregate = Aggregate { id, from_version, to_version, hunters: vec![], totals, rounds: vec![] };
        let want = if is_refused { Err(Outcome::VersionConflict(6)) } else { Ok(()) };
        assert_eq!(check_aggregate(&aggregate, HELD), want, "{from_version}..{to_version}");
    }

    #[test]
    fn entries_are_counted_once_and_in_order() {
        check_count(6, 9, false);
        check_count(6, 6, false);
        check_count(6, 10, true);
        check_count(5, 9, true);
        check_count(7, 9, true);
        check_count(6, 5, true);
    }

    #[test]
    fn needed_entries_are_kept() {
        assert_eq!(HELD.first_needed(), 4);
        assert_eq!(WorldVersions { snapshot: 8, ..HELD }.first_needed(), 6);
    }
}

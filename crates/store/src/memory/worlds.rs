//! Worlds: who owns them, their claim logs, who joined, and what was counted.

use super::data::MemoryData;
use crate::semantics;
use crate::semantics::worlds::WorldVersions;
use engine::commands::{Aggregate, ClaimedWorld, HunterDelta, Outcome, WorldAppend, WorldCommand};
use engine::ids::{PlayerId, TicketId, WorkerId, WorldId, WorldName};
use engine::rows::{
    Admission, AggregationLag, HuntCursor, HuntTotals, HunterCursor, HunterRow, RoundRow, WorldEntry, WorldKind,
    WorldLogPage, WorldLogRow, WorldOwner, WorldRow,
};
use engine::time::UnixMs;
use std::collections::BTreeMap;
use std::time::Duration;

/// Everything about worlds.
#[derive(Clone, Default)]
pub(super) struct Worlds {
    worlds: BTreeMap<WorldId, WorldRecord>,
    hunters: BTreeMap<PlayerId, HunterRow>,
    totals: HuntTotals,
    /// The owner of the matchmaking queue, or its last one.
    queue_owner: Option<WorkerId>,
}

#[derive(Clone)]
struct WorldRecord {
    row: WorldRow,
    worker: Option<WorkerId>,
    epoch: u32,
    is_finished: bool,
    snapshot: Option<Vec<u8>>,
    versions: WorldVersions,
    /// Those that are still needed.
    rows: Vec<WorldLogRow>,
    members: BTreeMap<PlayerId, UnixMs>,
    /// By which tickets those came who were matched.
    tickets: BTreeMap<PlayerId, TicketId>,
    rounds: BTreeMap<u32, RoundRow>,
}

impl WorldRecord {
    fn new(row: &WorldRow, members: &[PlayerId]) -> Self {
        Self {
            row: row.clone(),
            worker: None,
            epoch: 0,
            is_finished: false,
            snapshot: None,
            versions: WorldVersions::default(),
            rows: Vec::new(),
            members: members.iter().map(|player| (*player, row.created_at)).collect(),
            tickets: BTreeMap::new(),
            rounds: BTreeMap::new(),
        }
    }

    fn players(&self) -> u32 {
        self.members.len() as u32
    }

    fn trim_log(&mut self) {
        let first = self.versions.first_needed();
        self.rows.retain(|row| row.version >= first);
    }

    fn claimed(&self) -> ClaimedWorld {
        let claims_version = self.versions.snapshot;
        ClaimedWorld {
            row: self.row.clone(),
            epoch: self.epoch,
            snapshot: self.snapshot.clone(),
            claims_version,
            rows: self.rows.iter().filter(|row| row.version >= claims_version).cloned().collect(),
        }
    }
}

impl Worlds {
    fn named(&self, name: &WorldName) -> Option<&WorldRecord> {
        self.worlds.values().find(|entry| entry.row.name == *name)
    }

    fn fenced(&mut self, id: WorldId, epoch: u32) -> Result<&mut WorldRecord, Outcome> {
        self.worlds.get_mut(&id).filter(|entry| entry.epoch == epoch && epoch > 0).ok_or(Outcome::Fenced)
    }

    fn ensure(&mut self, row: &WorldRow, members: &[PlayerId]) -> Result<Outcome, Outcome> {
        if let Some(known) = self.named(&row.name) {
            return Ok(Outcome::World(Box::new(known.row.clone())));
        }
        if self.worlds.contains_key(&row.id) {
            return Err(Outcome::Duplicate);
        }
        let live = || self.worlds.values().filter(|entry| !entry.row.is_over(row.created_at));
        let existing = semantics::worlds::WorldCounts {
            live: live().count(),
            all: self.worlds.len(),
            by_creator: live().filter(|entry| entry.row.creator == row.creator).count(),
        };
        semantics::worlds::check_creation(row, existing)?;
        self.worlds.insert(row.id, WorldRecord::new(row, members));
        Ok(Outcome::World(Box::new(row.clone())))
    }

    fn match_players(
        &mut self,
        row: &WorldRow,
        members: &[(PlayerId, TicketId)],
        keeper: WorkerId,
    ) -> Result<Outcome, Outcome> {
        if self.queue_owner != Some(keeper) {
            return Err(Outcome::LeaseLost);
        }
        let players: Vec<_> = members.iter().map(|(player, _)| *player).collect();
        let made = self.ensure(row, &players)?;
        if let Some(entry) = self.worlds.get_mut(&row.id) {
            let still = members.iter().filter(|(player, _)| entry.members.contains_key(player));
            entry.tickets.extend(still.copied());
        }
        Ok(made)
    }

    fn end(&mut self, id: WorldId, now: UnixMs) -> Result<Outcome, Outcome> {
        let entry = self.worlds.get_mut(&id).ok_or(Outcome::NotFound)?;
        if !entry.row.is_over(now) {
            entry.row.ends_at = Some(now);
            (entry.worker, entry.epoch) = (None, entry.epoch + 1);
        }
        Ok(Outcome::Done)
    }

    fn end_unjoined(&mut self, now: UnixMs, made_before: UnixMs, max: usize) -> Result<Outcome, Outcome> {
        let is_unjoined = |entry: &&WorldRecord| {
            let is_players = entry.row.creator.is_some() && !entry.row.is_over(now);
            is_players && entry.epoch == 0 && entry.players() <= 1 && entry.row.created_at < made_before
        };
        let mut unjoined: Vec<_> =
            self.worlds.values().filter(is_unjoined).map(|entry| HuntCursor::of(&entry.row)).collect();
        unjoined.sort_unstable();
        unjoined.truncate(max);
        for at in &unjoined {
            self.end(at.id, now)?;
        }
        Ok(Outcome::Retired(unjoined.len()))
    }

    fn append(&mut self, append: &WorldAppend) -> Result<Outcome, Outcome> {
        let entry = self.fenced(append.id, append.epoch)?;
        semantics::worlds::check_world_append(append, entry.versions.log)?;
        entry.rows.extend(append.rows.iter().cloned());
        entry.versions.log += append.rows.len() as u32;
        Ok(Outcome::Done)
    }

    fn snapshot(&mut self, id: WorldId, epoch: u32, claims_version: u32, bytes: &[u8]) -> Result<Outcome, Outcome> {
        let entry = self.fenced(id, epoch)?;
        semantics::worlds::check_snapshot(claims_version, entry.versions)?;
        entry.versions.snapshot = claims_version;
        entry.snapshot = Some(bytes.to_vec());
        entry.trim_log();
        Ok(Outcome::Done)
    }

    fn join(&mut self, id: WorldId, player: PlayerId, now: UnixMs) -> Result<Outcome, Outcome> {
        let entry = self.worlds.get_mut(&id).ok_or(Outcome::NotFound)?;
        let has_joined = entry.members.contains_key(&player);
        semantics::worlds::check_join(&entry.row, entry.players(), has_joined, now)?;
        entry.members.entry(player).or_insert(now);
        Ok(Outcome::Done)
    }

    fn leave(&mut self, id: WorldId, player: PlayerId) -> Result<Outcome, Outcome> {
        let entry = self.worlds.get_mut(&id).ok_or(Outcome::NotFound)?;
        entry.tickets.remove(&player);
        entry.members.remove(&player).map(|_| Outcome::Done).ok_or(Outcome::NotFound)
    }

    fn aggregate(&mut self, aggregate: &Aggregate) -> Result<Outcome, Outcome> {
        let entry = self.worlds.get_mut(&aggregate.id).ok_or(Outcome::NotFound)?;
        semantics::worlds::check_aggregate(aggregate, entry.versions)?;
        entry.versions.aggregated = aggregate.to_version;
        entry.trim_log();
        for round in &aggregate.rounds {
            let winner_name = semantics::stored_text(&round.winner_name);
            let known = entry.rounds.insert(round.number, RoundRow { winner_name, ..round.clone() });
            self.totals.rounds += u64::from(known.is_none());
        }
        self.totals.points += u64::from(aggregate.totals.points);
        self.totals.chests += u64::from(aggregate.totals.chests);
        self.totals.power_ups += u64::from(aggregate.totals.power_ups);
        for delta in &aggregate.hunters {
            self.count(delta);
        }
        Ok(Outcome::Done)
    }

    fn count(&mut self, delta: &HunterDelta) {
        let (hunters, totals) = (&mut self.hunters, &mut self.totals);
        let hunter = hunters.entry(delta.player).or_insert_with(|| {
            totals.hunters += 1;
            semantics::worlds::new_hunter(delta.player)
        });
        semantics::worlds::add_delta(hunter, delta);
    }

    pub(super) fn has_joined(&self, id: WorldId, player: PlayerId) -> bool {
        self.worlds.get(&id).is_some_and(|entry| entry.members.contains_key(&player))
    }

    pub(super) fn hunt_of_ticket(&self, ticket: TicketId, player: PlayerId) -> Option<WorldRow> {
        let entry = self.worlds.values().find(|entry| entry.tickets.get(&player) == Some(&ticket))?;
        Some(entry.row.clone())
    }

    pub(super) fn hunt_of_player(&self, player: PlayerId, now: UnixMs) -> Option<WorldRow> {
        let is_his = |entry: &&WorldRecord| entry.tickets.contains_key(&player) && !entry.row.is_over(now);
        self.worlds.values().find(is_his).map(|entry| entry.row.clone())
    }

    pub(super) fn members(&self, id: WorldId, limit: usize) -> Vec<PlayerId> {
        self.worlds.get(&id).into_iter().flat_map(|entry| entry.members.keys().copied()).take(limit).collect()
    }

    pub(super) fn log_page(&self, id: WorldId, from: u32, limit: usize) -> Option<WorldLogPage> {
        let entry = self.worlds.get(&id)?;
        let rows = entry.rows.iter().filter(|row| row.version >= from).take(limit).cloned().collect();
        let WorldVersions { log, aggregated, .. } = entry.versions;
        Some(WorldLogPage { rows, version: log, aggregated_version: aggregated })
    }

    pub(super) fn aggregation_lags(&self, limit: usize) -> Vec<AggregationLag> {
        let is_behind = |(_, entry): &(&WorldId, &WorldRecord)| entry.versions.aggregated < entry.versions.log;
        let behind = self.worlds.iter().filter(is_behind).map(|(id, entry)| AggregationLag {
            id: *id,
            aggregated_version: entry.versions.aggregated,
            version: entry.versions.log,
        });
        behind.take(limit).collect()
    }

    pub(super) fn leaderboard(&self, before: Option<HunterCursor>, limit: usize) -> Vec<HunterRow> {
        let is_asked = |row: &&HunterRow| before.is_none_or(|before| HunterCursor::of(row) < before);
        let mut rows: Vec<_> = self.hunters.values().filter(is_asked).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(HunterCursor::of(row)));
        rows.into_iter().take(limit).cloned().collect()
    }

    pub(super) fn hunter(&self, player: PlayerId) -> Option<HunterRow> {
        self.hunters.get(&player).cloned()
    }

    pub(super) fn rounds(&self, id: WorldId, before: Option<u32>, limit: usize) -> Vec<RoundRow> {
        let rounds = self.worlds.get(&id).into_iter().flat_map(|entry| entry.rounds.values().rev());
        rounds.filter(|round| before.is_none_or(|before| round.number < before)).take(limit).cloned().collect()
    }

    pub(super) fn totals(&self) -> HuntTotals {
        self.totals
    }
}

impl MemoryData {
    pub(super) fn world(&mut self, command: &WorldCommand) -> Outcome {
        let worlds = &mut self.worlds;
        let outcome = match command {
            WorldCommand::Ensure { row, members } => worlds.ensure(row, members),
            WorldCommand::Claim { id, worker, now } => self.claim_world(*id, *worker, *now),
            WorldCommand::AcquireQueue { worker, now } => Ok(self.acquire_queue(*worker, *now)),
            WorldCommand::CreateMatchedHunt { row, members, keeper } => worlds.match_players(row, members, *keeper),
            WorldCommand::Append(append) => worlds.append(append),
            WorldCommand::Snapshot { id, epoch, claims_version, bytes } => {
                worlds.snapshot(*id, *epoch, *claims_version, bytes)
            }
            WorldCommand::Release { id, epoch, is_finished } => worlds.fenced(*id, *epoch).map(|entry| {
                entry.worker = None;
                entry.is_finished |= is_finished;
                Outcome::Done
            }),
            WorldCommand::Join { id, player, now } => worlds.join(*id, *player, *now),
            WorldCommand::Leave { id, player } => worlds.leave(*id, *player),
            WorldCommand::Aggregate(aggregate) => worlds.aggregate(aggregate),
            WorldCommand::End { id, now } => worlds.end(*id, *now),
            WorldCommand::EndUnjoined { now, made_before, max } => worlds.end_unjoined(*now, *made_before, *max),
            WorldCommand::Retire { now, keep_for, keep_max, max } => {
                Ok(self.retire_worlds(*now, *keep_for, *keep_max, *max))
            }
        };
        outcome.unwrap_or_else(|refusal| refusal)
    }

    fn claim_world(&mut self, id: WorldId, worker: WorkerId, now: UnixMs) -> Result<Outcome, Outcome> {
        if !self.lease_holds(worker, now) {
            return Err(Outcome::LeaseLost);
        }
        let owner = self.world_entry(id, now).ok_or(Outcome::NotFound)?.owner;
        if let Some(WorldOwner { address, .. }) = owner.filter(|owner| owner.worker != worker) {
            return Ok(Outcome::WorldElsewhere { address });
        }
        let entry = self.worlds.worlds.get_mut(&id).ok_or(Outcome::NotFound)?;
        entry.worker = Some(worker);
        entry.epoch += 1;
        Ok(Outcome::WorldClaimed(Box::new(entry.claimed())))
    }

    fn acquire_queue(&mut self, worker: WorkerId, now: UnixMs) -> Outcome {
        let Some(address) = self.lease_address(worker, now) else { return Outcome::LeaseLost };
        if let Some(keeper) = self.queue_owner(now) {
            return Outcome::QueueOwnedBy(keeper);
        }
        self.worlds.queue_owner = Some(worker);
        Outcome::QueueOwnedBy(WorldOwner { worker, address })
    }

    pub(super) fn queue_owner(&self, now: UnixMs) -> Option<WorldOwner> {
        let worker = self.worlds.queue_owner?;
        Some(WorldOwner { worker, address: self.lease_address(worker, now)? })
    }

    fn retire_worlds(&mut self, now: UnixMs, keep_for: Duration, keep_max: usize, max: usize) -> Outcome {
        let mut over: Vec<_> = self.worlds.worlds.values().filter_map(|entry| entry.row.ends_at).collect();
        over.retain(|ends_at| *ends_at <= now);
        over.sort_unstable_by_key(|ends_at| std::cmp::Reverse(*ends_at));
        let last = over.get(keep_max).map(|ends_at| UnixMs(ends_at.0.saturating_add(1)));
        let ended_before = last.map_or(now.minus(keep_for), |last| last.max(now.minus(keep_for)));
        let is_old = |entry: &&WorldRecord| {
            let is_counted = entry.versions.aggregated == entry.versions.log;
            let is_owned = entry.worker.is_some_and(|worker| self.lease_holds(worker, now));
            entry.row.ends_at.is_some_and(|ends_at| ends_at < ended_before) && is_counted && !is_owned
        };
        let mut old: Vec<_> =
            self.worlds.worlds.values().filter(is_old).map(|entry| HuntCursor::of(&entry.row)).collect();
        old.sort_unstable();
        old.truncate(max);
        for at in &old {
            self.worlds.worlds.remove(&at.id);
        }
        Outcome::Retired(old.len())
    }

    fn entry_of(&self, entry: &WorldRecord, now: UnixMs) -> WorldEntry {
        let address = |worker| Some(WorldOwner { worker, address: self.lease_address(worker, now)? });
        WorldEntry { row: entry.row.clone(), owner: entry.worker.and_then(address), players: entry.players() }
    }

    pub(super) fn world_entry(&self, id: WorldId, now: UnixMs) -> Option<WorldEntry> {
        self.worlds.worlds.get(&id).map(|entry| self.entry_of(entry, now))
    }

    pub(super) fn world_named(&self, name: &WorldName, now: UnixMs) -> Option<WorldEntry> {
        self.worlds.named(name).map(|entry| self.entry_of(entry, now))
    }

    pub(super) fn world_entries(
        &self,
        after: Option<WorldId>,
        limit: usize,
        (viewer, now): (Option<PlayerId>, UnixMs),
    ) -> Vec<WorldEntry> {
        let may_enter = |entry: &WorldRecord| {
            let has_joined = || viewer.is_some_and(|viewer| entry.members.contains_key(&viewer));
            entry.row.admission == Admission::Everybody || has_joined()
        };
        let is_listed = |(id, entry): &(&WorldId, &WorldRecord)| {
            after.is_none_or(|after| **id > after) && !entry.row.is_over(now) && may_enter(entry)
        };
        let entries = self.worlds.worlds.iter().filter(is_listed);
        entries.take(limit).map(|(_, entry)| self.entry_of(entry, now)).collect()
    }

    pub(super) fn hunts_unfinished(&self, after: Option<HuntCursor>, limit: usize, now: UnixMs) -> Vec<WorldRow> {
        let is_asked = |entry: &&WorldRecord| {
            let is_owned = entry.worker.is_some_and(|worker| self.lease_holds(worker, now));
            let was_played = entry.row.kind == WorldKind::Hunt && entry.epoch > 0;
            was_played
                && entry.row.is_over(now)
                && !entry.is_finished
                && !is_owned
                && after.is_none_or(|after| HuntCursor::of(&entry.row) > after)
        };
        let mut unfinished: Vec<_> = self.worlds.worlds.values().filter(is_asked).map(|entry| &entry.row).collect();
        unfinished.sort_by_key(|row| HuntCursor::of(row));
        unfinished.into_iter().take(limit).cloned().collect()
    }

    pub(super) fn hunt_lobby(&self, before: Option<HuntCursor>, limit: usize, now: UnixMs) -> Vec<WorldEntry> {
        let is_asked = |entry: &&WorldRecord| {
            let is_open = entry.row.kind == WorldKind::Hunt && !entry.row.is_over(now);
            is_open && before.is_none_or(|before| HuntCursor::of(&entry.row) < before)
        };
        let mut open: Vec<_> = self.worlds.worlds.values().filter(is_asked).collect();
        open.sort_by_key(|entry| std::cmp::Reverse(HuntCursor::of(&entry.row)));
        open.into_iter().take(limit).map(|entry| self.entry_of(entry, now)).collect()
    }
}

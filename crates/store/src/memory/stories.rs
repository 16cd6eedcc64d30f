//! Tables at which stories are told, their games, and their members.

use super::data::{MemoryData, ResponseEntry};
use crate::contract::{PlayerGamesFilter, RecordedGame};
use crate::semantics::{self, IDEMPOTENCY_KEYS_RETIRED_MAX};
use engine::commands::{ClaimedTable, Idempotency, IndexChange, OpenTable, Outcome, TableAppend};
use engine::ids::{GameId, PlayerId, TableId, WorkerId};
use engine::limits::IDEMPOTENCY_RETENTION;
use engine::rows::{GameCursor, GameRole, GameRow, SeatedGame, TableLogRow, TableOwner};
use engine::tables::Standing;
use engine::time::UnixMs;
use std::collections::BTreeMap;
use std::time::Duration;

/// Everything about stories.
#[derive(Clone, Default)]
pub(super) struct Stories {
    tables: BTreeMap<TableId, TableEntry>,
    games: BTreeMap<GameId, GameEntry>,
    standings: BTreeMap<PlayerId, Standing>,
    responses: BTreeMap<(PlayerId, String), ResponseEntry>,
}

#[derive(Clone)]
struct TableEntry {
    worker: Option<WorkerId>,
    epoch: u32,
    /// The number of its worker's claim of many that took it.
    claim: u64,
    snapshot: Vec<u8>,
    snapshot_version: u32,
    rows: Vec<TableLogRow>,
    is_live: bool,
}

#[derive(Clone)]
struct GameEntry {
    row: GameRow,
    record: Option<Vec<u8>>,
    seats: BTreeMap<PlayerId, SeatEntry>,
}

#[derive(Clone)]
struct SeatEntry {
    role: GameRole,
    is_ended: bool,
    is_won: Option<bool>,
}

impl TableEntry {
    fn version(&self) -> u32 {
        self.snapshot_version + self.rows.len() as u32
    }

    fn may_append(&self, append: &TableAppend) -> Result<(), Outcome> {
        semantics::check_table_writer(self.epoch, append)?;
        semantics::check_table_append(append, self.snapshot_version, self.version())
    }

    fn add(&mut self, append: &TableAppend) {
        self.rows.extend(append.rows.iter().cloned());
        if let Some(base) = &append.snapshot {
            self.snapshot = base.bytes.clone();
            self.snapshot_version = base.version;
            self.rows.retain(|row| row.version >= base.version);
        }
        self.is_live = append.is_live;
    }

    fn take(&mut self, id: TableId, worker: WorkerId, claim: u64) -> ClaimedTable {
        self.worker = Some(worker);
        self.claim = claim;
        self.epoch += 1;
        self.claimed(id)
    }

    fn claimed(&self, id: TableId) -> ClaimedTable {
        let &Self { epoch, snapshot_version: base_version, .. } = self;
        ClaimedTable {
            id,
            epoch,
            snapshot: self.snapshot.clone(),
            snapshot_version: base_version,
            rows: self.rows.clone(),
        }
    }
}

impl Stories {
    fn put_index(&mut self, index: &[IndexChange]) {
        for change in semantics::in_index_order(index) {
            match change {
                IndexChange::UpsertGame(row) => self.put_game(row),
                IndexChange::UpsertSeat { game, player, role } => self.seat(*game, *player, *role),
                IndexChange::DeleteSeat { game, player } => {
                    if let Some(entry) = self.games.get_mut(game) {
                        entry.seats.remove(player);
                    }
                }
                IndexChange::ArchiveGame { game, record, winners } => self.archive(*game, record, winners),
                IndexChange::Award { player, points, seed } => {
                    let standing = self.standings.entry(*player).or_default();
                    *standing = standing.award(*points, *seed);
                }
            }
        }
    }

    fn put_game(&mut self, row: &GameRow) {
        let kept = |text: &Option<String>| text.as_deref().map(semantics::stored_text);
        let (sentence, storyteller_name) = (kept(&row.sentence), kept(&row.storyteller_name));
        let row = GameRow { sentence, storyteller_name, ..row.clone() };
        match self.games.get_mut(&row.id) {
            Some(entry) => {
                let GameRow { created_at, storyteller_name, .. } = entry.row.clone();
                entry.row = GameRow { created_at, storyteller_name, ..row };
            }
            None => {
                self.games.insert(row.id, GameEntry { row, record: None, seats: BTreeMap::new() });
            }
        }
    }

    fn seat(&mut self, game: GameId, player: PlayerId, role: GameRole) {
        let Some(entry) = self.games.get_mut(&game) else { return };
        let is_ended = entry.row.ended_at.is_some();
        entry.seats.entry(player).or_insert(SeatEntry { role, is_ended, is_won: None }).role = role;
    }

    fn archive(&mut self, game: GameId, record: &[u8], winners: &[PlayerId]) {
        let Some(entry) = self.games.get_mut(&game) else { return };
        entry.record = Some(record.to_vec());
        entry.seats.retain(|_, seat| seat.role != GameRole::Invited);
        for (player, seat) in &mut entry.seats {
            seat.is_ended = true;
            seat.is_won = Some(winners.contains(player));
        }
    }

    fn replayed_response(&self, idempotency: &Option<(PlayerId, Idempotency)>, now: UnixMs) -> Option<Outcome> {
        let (player, idempotency) = idempotency.as_ref()?;
        let known = self.responses.get(&(*player, idempotency.key.clone()))?;
        if known.created_at.plus(IDEMPOTENCY_RETENTION) <= now {
            return None;
        }
        let is_same = known.fingerprint == idempotency.fingerprint;
        Some(if is_same { Outcome::Replayed(known.response.clone()) } else { Outcome::KeyReused })
    }

    fn remember_response(&mut self, idempotency: &Option<(PlayerId, Idempotency)>, now: UnixMs) {
        if let Some((player, idempotency)) = idempotency {
            let (fingerprint, answer) = (idempotency.fingerprint, idempotency.response.clone());
            self.responses.insert(
                (*player, idempotency.key.clone()),
                ResponseEntry { fingerprint, response: answer, created_at: now },
            );
        }
    }

    fn page(
        &self,
        cursor: impl Fn(&GameRow) -> Option<GameCursor>,
        before: Option<GameCursor>,
        limit: usize,
    ) -> Vec<&GameEntry> {
        let cursor_of = |entry: &GameEntry| cursor(&entry.row).filter(|at| before.is_none_or(|before| *at < before));
        let mut games: Vec<_> = self.games.values().filter_map(|entry| Some((cursor_of(entry)?, entry))).collect();
        games.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        games.into_iter().take(limit).map(|(_, entry)| entry).collect()
    }

    pub(super) fn game(&self, id: GameId) -> Option<RecordedGame> {
        self.games.get(&id).map(|entry| (entry.row.clone(), entry.record.clone()))
    }

    pub(super) fn games_of(&self, filter: &PlayerGamesFilter) -> Vec<SeatedGame> {
        let seat =
            |id: GameId| self.games[&id].seats.get(&filter.player).filter(|seat| seat.is_ended == filter.is_ended);
        let cursor = |row: &GameRow| seat(row.id).map(|_| GameCursor::by_creation(row));
        let listed = self.page(cursor, filter.before, filter.limit).into_iter();
        let seated = listed.filter_map(|entry| {
            let seat = seat(entry.row.id)?;
            Some(SeatedGame { game: entry.row.clone(), role: seat.role, is_won: seat.is_won })
        });
        seated.collect()
    }

    pub(super) fn lobby(&self, before: Option<GameCursor>, limit: usize) -> Vec<GameRow> {
        let is_open = |row: &GameRow| row.phase.is_open() && row.players < row.players_max;
        let cursor = |row: &GameRow| is_open(row).then(|| GameCursor::by_creation(row));
        self.page(cursor, before, limit).into_iter().map(|entry| entry.row.clone()).collect()
    }

    pub(super) fn history(&self, before: Option<GameCursor>, limit: usize) -> Vec<GameRow> {
        self.page(GameCursor::by_end, before, limit).into_iter().map(|entry| entry.row.clone()).collect()
    }

    pub(super) fn standings(&self, players: &[PlayerId]) -> Vec<(PlayerId, Standing)> {
        let is_asked = |player: &PlayerId| players.contains(player);
        self.standings.iter().filter(|(player, _)| is_asked(player)).map(|(player, at)| (*player, *at)).collect()
    }

    pub(super) fn idempotent_response(&self, player: PlayerId, key: &str) -> Option<([u8; 32], Vec<u8>)> {
        let entry = self.responses.get(&(player, key.to_owned()))?;
        Some((entry.fingerprint, entry.response.clone()))
    }

    fn retire_responses(&mut self, now: UnixMs) {
        let is_old = |created_at: UnixMs| created_at.plus(IDEMPOTENCY_RETENTION) <= now;
        let mut old: Vec<_> = self.responses.iter().filter(|(_, entry)| is_old(entry.created_at)).collect();
        old.sort_by_key(|(key, entry)| (entry.created_at, (*key).clone()));
        let old: Vec<_> = old.into_iter().take(IDEMPOTENCY_KEYS_RETIRED_MAX).map(|(key, _)| key.clone()).collect();
        for key in old {
            self.responses.remove(&key);
        }
    }

    fn has_games(&self, id: TableId) -> bool {
        let first = GameId { table: id, number: 0 };
        self.games.range(first..).next().is_some_and(|(game, _)| game.table == id)
    }
}

impl MemoryData {
    pub(super) fn open_table(&mut self, open: &OpenTable) -> Outcome {
        let OpenTable { worker, now, idempotency, append } = open;
        if !self.lease_holds(*worker, *now) {
            return Outcome::LeaseLost;
        }
        if let Some(outcome) = self.stories.replayed_response(idempotency, *now) {
            return outcome;
        }
        if self.stories.tables.contains_key(&append.id) {
            return Outcome::Duplicate;
        }
        if let Err(refusal) = semantics::check_table_opening(append) {
            return refusal;
        }
        let (base, rows) = (Vec::new(), Vec::new());
        let mut entry = TableEntry {
            worker: Some(*worker),
            epoch: 1,
            claim: 0,
            snapshot: base,
            snapshot_version: 0,
            rows,
            is_live: false,
        };
        entry.add(append);
        self.stories.tables.insert(append.id, entry);
        self.stories.put_index(&append.index_changes);
        self.stories.remember_response(idempotency, *now);
        Outcome::Done
    }

    pub(super) fn append_table(&mut self, append: &TableAppend) -> Outcome {
        let Some(entry) = self.stories.tables.get_mut(&append.id) else { return Outcome::Fenced };
        if let Err(refusal) = entry.may_append(append) {
            return refusal;
        }
        entry.add(append);
        self.stories.put_index(&append.index_changes);
        Outcome::Done
    }

    pub(super) fn claim_table(&mut self, id: TableId, worker: WorkerId, now: UnixMs) -> Outcome {
        if !self.lease_holds(worker, now) {
            return Outcome::LeaseLost;
        }
        match self.table_owner(id, now) {
            None => Outcome::NotFound,
            Some(TableOwner::Leased { worker: other, address }) if other != worker => {
                Outcome::TableElsewhere { address }
            }
            Some(TableOwner::Leased { .. } | TableOwner::Unowned) => {
                let taken = self.stories.tables.get_mut(&id).map(|entry| entry.take(id, worker, 0));
                taken.map_or(Outcome::NotFound, Outcome::TableClaimed)
            }
        }
    }

    pub(super) fn claim_tables(&mut self, worker: WorkerId, number: u64, now: UnixMs, max: usize) -> Outcome {
        if !self.lease_holds(worker, now) {
            return Outcome::LeaseLost;
        }
        if self.workers.get(&worker).is_none_or(|entry| number <= entry.table_claims) {
            return Outcome::TablesClaimed(self.tables_claimed_before(worker, number));
        }
        let is_orphan = |entry: &TableEntry| entry.worker.is_none_or(|worker| !self.lease_holds(worker, now));
        let orphans = self.stories.tables.iter().filter(|(_, entry)| entry.is_live && is_orphan(entry));
        let orphans: Vec<_> = orphans.map(|(id, _)| *id).take(max).collect();
        if !orphans.is_empty() {
            self.workers.entry(worker).and_modify(|entry| entry.table_claims = number);
        }
        let tables = &mut self.stories.tables;
        let taken = orphans.into_iter().filter_map(|id| Some(tables.get_mut(&id)?.take(id, worker, number)));
        Outcome::TablesClaimed(taken.collect())
    }

    /// What the claim of this number took and its worker still holds live.
    fn tables_claimed_before(&self, worker: WorkerId, number: u64) -> Vec<ClaimedTable> {
        let is_held = |entry: &TableEntry| entry.is_live && entry.worker == Some(worker) && entry.claim == number;
        let held = self.stories.tables.iter().filter(|(_, entry)| is_held(entry));
        held.map(|(id, entry)| entry.claimed(*id)).collect()
    }

    pub(super) fn release_table(&mut self, id: TableId, epoch: u32) -> Outcome {
        match self.stories.tables.get_mut(&id).filter(|entry| entry.epoch == epoch) {
            None => Outcome::Fenced,
            Some(entry) => {
                entry.worker = None;
                Outcome::Done
            }
        }
    }

    pub(super) fn table_owner(&self, id: TableId, now: UnixMs) -> Option<TableOwner> {
        let worker = self.stories.tables.get(&id)?.worker;
        let owner =
            worker.and_then(|worker| Some(TableOwner::Leased { worker, address: self.lease_address(worker, now)? }));
        Some(owner.unwrap_or(TableOwner::Unowned))
    }

    pub(super) fn retire_games(&mut self, now: UnixMs, keep_for: Option<Duration>, max: usize) -> Outcome {
        self.stories.retire_responses(now);
        let Some(keep_for) = keep_for else { return Outcome::Retired(0) };
        let is_old = |row: &GameRow| row.ended_at.is_some_and(|ended_at| ended_at < now.minus(keep_for));
        let old = self.stories.games.values().filter(|entry| is_old(&entry.row));
        let mut old: Vec<_> = old.map(|entry| (entry.row.ended_at, entry.row.id)).collect();
        old.sort_unstable();
        old.truncate(max);
        for (_, id) in &old {
            self.stories.games.remove(id);
        }
        let is_left = |(id, entry): &(&TableId, &TableEntry)| {
            let is_owned = entry.worker.is_some_and(|worker| self.lease_holds(worker, now));
            !entry.is_live && !is_owned && !self.stories.has_games(**id)
        };
        let left: Vec<_> = self.stories.tables.iter().filter(is_left).map(|(id, _)| *id).take(max).collect();
        for id in left {
            self.stories.tables.remove(&id);
        }
        Outcome::Retired(old.len())
    }
}

//! Rows of the two SQL stores as the engine's values: which columns are read, in which order, and what they mean. Both
//! stores name and order them alike; each brings its own [`Columns`].

mod audit;
mod bans;
mod codes;
pub(crate) mod competitions;
pub(crate) mod health;
pub(crate) mod ladders;
pub(crate) mod stories;
pub(crate) mod worlds;

pub(crate) use audit::{AUDIT_ENTRY, audit_entry};
pub(crate) use bans::{BAN, ban};
pub(crate) use codes::{CODE, code, signed_code};
pub(crate) use competitions::{COMPETITION, RESULT_OF_COMPETITION, competition, competition_result};
pub(crate) use stories::{
    GAME, GAME_RECORD, SEATED, STANDING, claimed_row, game, game_with_record, seat_of_game, seated_game, standing,
    standing_or_damage, table_log_row, table_owner,
};

use crate::checksums::{Damage, StoredKey, StoredKind};
use crate::contract::{RememberedResponse, StoreError};
use crate::counters::mean;
use crate::semantics::RememberedKey;
use engine::competitions::{CompetitionKind, MatchOrigin};
use engine::ids::{AccountId, BotId, CompetitionId, MatchId, TokenId, WorkerId};
use engine::matches::lifecycle::MatchState;
use engine::matches::result::MatchResult;
use engine::matches::spec::{MatchSpec, SeatSpec};
use engine::rows::{
    Account, Bot, LimitOverride, LimitPolicy, MatchCounts, MatchLogRow, MatchRow, MatchStats, MatchStatus, OwnedBot,
    RecentFailure, Role, Token, TokenPurpose, WindowCounts,
};
use engine::time::UnixMs;
use rules::chance::Seed;
use rules::snake::{Cause, Map, Rules, Ruleset, Settings};
use std::fmt::Display;

pub(crate) const ACCOUNT: &str = "id, name, created_at";
pub(crate) const TOKEN: &str =
    "id, account, name, role, purpose, digest, created_at, last_used_at, expires_at, is_session";
pub(crate) const BOT: &str = "id, account, name, url, is_public, created_at, updated_at";
pub(crate) const SPEC: &str = "id, ruleset, map, is_solo, food_spawn_chance, minimum_food, hazard_damage_per_turn, \
     shrink_every_n_turns, width, height, seed, timeout_ms, turns_max, is_public, \
     competition_kind, competition, competition_key";
pub(crate) const STATUS: &str = "id, state, created_at, updated_at, enqueued_at, started_at, ended_at, version, turns, \
     late_moves, attempts_charged, epoch, failure, worker, node";
pub(crate) const RESULT: &str = "account, is_draw, winner_seat, is_server_fault";
pub(crate) const SEAT: &str = "match_id, bot, name, owner, url, place, cause, food_eaten, death_turn, account";
pub(crate) const LIMIT_POLICY: &str = "name, definition";
pub(crate) const LIMIT_OVERRIDE: &str = "policy, key, quota, window_ms";
pub(crate) const LOG: &str = "version, turns, late_moves, data, checksum";

/// One row, read from left to right.
pub(crate) trait Columns {
    fn maybe_id(&mut self) -> Result<Option<u128>, StoreError>;
    fn maybe_int(&mut self) -> Result<Option<i64>, StoreError>;
    fn maybe_real(&mut self) -> Result<Option<f64>, StoreError>;
    fn maybe_flag(&mut self) -> Result<Option<bool>, StoreError>;
    fn maybe_text(&mut self) -> Result<Option<String>, StoreError>;
    fn maybe_bytes(&mut self) -> Result<Option<Vec<u8>>, StoreError>;

    fn id(&mut self) -> Result<u128, StoreError> {
        self.maybe_id()?.ok_or_else(missing)
    }
    fn id_bytes(&mut self) -> Result<[u8; 16], StoreError> {
        self.id().map(u128::to_be_bytes)
    }
    fn int(&mut self) -> Result<i64, StoreError> {
        self.maybe_int()?.ok_or_else(missing)
    }
    fn real(&mut self) -> Result<f64, StoreError> {
        self.maybe_real()?.ok_or_else(missing)
    }
    fn flag(&mut self) -> Result<bool, StoreError> {
        self.maybe_flag()?.ok_or_else(missing)
    }
    fn text(&mut self) -> Result<String, StoreError> {
        self.maybe_text()?.ok_or_else(missing)
    }
    fn bytes(&mut self) -> Result<Vec<u8>, StoreError> {
        self.maybe_bytes()?.ok_or_else(missing)
    }
    /// Bytes, with their checksum in the next column.
    fn verified(&mut self, key: StoredKey<'_>) -> Result<Vec<u8>, StoreError> {
        self.maybe_verified(key)?.ok_or_else(missing)
    }
    fn maybe_verified(&mut self, key: StoredKey<'_>) -> Result<Option<Vec<u8>>, StoreError> {
        let (bytes, checksum) = (self.maybe_bytes()?, self.maybe_int()?);
        bytes.as_deref().map_or(Ok(()), |bytes| key.check(bytes, checksum)).map_err(StoreError::from)?;
        Ok(bytes)
    }
    fn time(&mut self) -> Result<UnixMs, StoreError> {
        self.int().map(UnixMs)
    }
    fn maybe_time(&mut self) -> Result<Option<UnixMs>, StoreError> {
        Ok(self.maybe_int()?.map(UnixMs))
    }
    fn number<T: TryFrom<i64>>(&mut self) -> Result<T, StoreError> {
        narrow_int(self.int()?)
    }
    /// 64 bits that are kept as a signed number.
    fn bits(&mut self) -> Result<u64, StoreError> {
        self.int().map(|signed| signed as u64)
    }
    /// A value by its name in the store.
    fn named<T>(&mut self, what: &str, from_name: impl FnOnce(&str) -> Option<T>) -> Result<T, StoreError> {
        let name = self.text()?;
        require_known(from_name(&name), what, &name)
    }
    fn maybe_number<T: TryFrom<i64>>(&mut self) -> Result<Option<T>, StoreError> {
        self.maybe_int()?.map(narrow_int).transpose()
    }
}

fn missing() -> StoreError {
    StoreError::Corrupt { why: "a column that is never empty is empty".to_owned() }
}

fn narrow_int<T: TryFrom<i64>>(value: i64) -> Result<T, StoreError> {
    T::try_from(value).map_err(|_| StoreError::Corrupt { why: format!("the number {value} is out of its range") })
}

fn require_known<T>(known: Option<T>, what: &str, name: &dyn Display) -> Result<T, StoreError> {
    known.ok_or_else(|| StoreError::Corrupt { why: format!("there is no {what} {name}") })
}

/// A state by its name in the store.
pub(crate) fn state(row: &mut impl Columns) -> Result<MatchState, StoreError> {
    row.named("state", MatchState::from_name)
}

impl StoredKey<'_> {
    /// What was read of a row: where a column of it could not be, the row is damaged.
    pub(crate) fn whole<T>(&self, read: Result<T, StoreError>) -> Result<T, StoreError> {
        read.map_err(|error| match error {
            StoreError::Corrupt { why } => self.damage(why).into(),
            other => other,
        })
    }
}

/// Reads a row that begins with its id: where another column of it cannot be read, this row is damaged, and no other.
pub(crate) fn row_of_id<R: Columns, T>(
    row: &mut R,
    kind: StoredKind,
    read: impl FnOnce(&mut R, u128) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let unknown = StoredKey::new(kind, [0; 16]).name("without an id that can be read");
    let id = unknown.whole(row.id())?;
    StoredKey::new(kind, id.to_be_bytes()).whole(read(row, id))
}

pub(crate) fn account(row: &mut impl Columns) -> Result<Account, StoreError> {
    row_of_id(row, StoredKind::Account, |row, id| {
        Ok(Account { id: AccountId(id), name: row.text()?, created_at: row.time()? })
    })
}

/// The name of this account, beside something that is shown without it where it cannot be read.
pub(crate) fn name_of_account(
    row: &mut impl Columns,
    id: AccountId,
    damages: &mut Vec<Damage>,
) -> Result<Option<String>, StoreError> {
    let account = StoredKey::new(StoredKind::Account, id.to_bytes());
    part_of_list(account.whole(row.maybe_text()), damages)
}

pub(crate) fn token(row: &mut impl Columns) -> Result<Token, StoreError> {
    row_of_id(row, StoredKind::Token, |row, id| token_of_id(row, TokenId(id)))
}

fn token_of_id(row: &mut impl Columns, id: TokenId) -> Result<Token, StoreError> {
    let token = Token {
        id,
        account: AccountId(row.id()?),
        name: row.text()?,
        role: row.named("role", Role::from_name)?,
        purpose: row.named("purpose", TokenPurpose::from_name)?,
        digest: digest(row.bytes()?)?,
        created_at: row.time()?,
        last_used_at: row.maybe_time()?,
        expires_at: row.maybe_time()?,
        is_session: false,
    };
    // Before tokens said what they are, only sessions had an end.
    let is_session = row.maybe_flag()?.unwrap_or(token.expires_at.is_some());
    Ok(Token { is_session, ..token })
}

/// 32 bytes of SHA-256.
pub(crate) fn digest(bytes: Vec<u8>) -> Result<[u8; 32], StoreError> {
    let length = bytes.len();
    bytes.try_into().map_err(|_| StoreError::Corrupt { why: format!("a digest of {length} bytes instead of 32") })
}

pub(crate) fn bot(row: &mut impl Columns) -> Result<Bot, StoreError> {
    row_of_id(row, StoredKind::Bot, |row, id| {
        Ok(Bot {
            id: BotId(id),
            account: AccountId(row.id()?),
            name: row.text()?,
            url: row.text()?,
            is_public: row.flag()?,
            created_at: row.time()?,
            updated_at: row.time()?,
        })
    })
}

/// [`BOT`] and the name of its account.
pub(crate) fn owned_bot(row: &mut impl Columns, damages: &mut Vec<Damage>) -> Result<OwnedBot, StoreError> {
    let bot = bot(row)?;
    let owner = name_of_account(row, bot.account, damages)?.unwrap_or_default();
    Ok(OwnedBot { bot, owner })
}

pub(crate) fn limit_policy(row: &mut impl Columns) -> Result<LimitPolicy, StoreError> {
    let name = limit_rule().whole(row.text())?;
    let definition = limit_rule().name(&name).whole(row.text())?;
    Ok(LimitPolicy { name, definition })
}

pub(crate) fn limit_override(row: &mut impl Columns) -> Result<LimitOverride, StoreError> {
    let policy = limit_rule().whole(row.text())?;
    let mut read = || Ok((row.bytes()?, row.bits()?, row.bits()?));
    let (key, limit, window_ms) = limit_rule().name(&policy).whole(read())?;
    Ok(LimitOverride { policy, key, limit, window_ms })
}

/// One of those without the name of its policy.
fn limit_rule() -> StoredKey<'static> {
    StoredKey::new(StoredKind::LimitRule, [0; 16])
}

pub(crate) fn match_row(id: MatchId) -> StoredKey<'static> {
    StoredKey::new(StoredKind::Match, id.to_bytes())
}

/// A spec whose seats are still to come.
fn spec(row: &mut impl Columns, id: MatchId) -> Result<MatchSpec, StoreError> {
    let rules = Rules {
        ruleset: row.named("rule set", Ruleset::from_name)?,
        map: row.named("map", Map::from_name)?,
        solo: row.flag()?,
        settings: Settings {
            food_spawn_chance: row.number()?,
            minimum_food: row.number()?,
            hazard_damage_per_turn: row.number()?,
            shrink_every_n_turns: row.number()?,
        },
    };
    Ok(MatchSpec {
        id,
        rules,
        width: row.number()?,
        height: row.number()?,
        seed: Seed(row.bits()?),
        timeout_ms: row.number()?,
        turns_max: row.number()?,
        is_public: row.flag()?,
        origin: origin(row)?,
        seats: Vec::new(),
    })
}

/// A match and what follows behind its spec, or what is wrong with it.
pub(crate) type ReadOfMatch<T> = (MatchId, Result<T, Damage>);

/// [`SPEC`] and the account of a match whose seats are still to come, or what is wrong with it.
pub(crate) fn claimed_spec(row: &mut impl Columns) -> Result<ReadOfMatch<(MatchSpec, AccountId)>, StoreError> {
    let id = MatchId(row.id()?);
    let mut read = || Ok((spec(row, id)?, AccountId(row.id()?)));
    Ok((id, damage_of(match_row(id).whole(read()))?))
}

/// `competition_kind, competition, competition_key` of a match.
pub(crate) fn origin(row: &mut impl Columns) -> Result<Option<MatchOrigin>, StoreError> {
    let kind =
        row.maybe_text()?.map(|name| require_known(CompetitionKind::from_name(&name), "kind of competition", &name));
    let (competition, key) = (row.maybe_id()?.map(CompetitionId), row.maybe_int()?);
    let named = kind.transpose()?.zip(competition).zip(key);
    Ok(named.map(|((kind, competition), key)| MatchOrigin { kind, competition, key: key as u64 }))
}

/// The counters of a log after its last entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogEnd {
    pub(crate) version: u32,
    pub(crate) turns: u32,
    pub(crate) late_moves: u32,
}

/// A status, and whether its log's end is still to be looked up: the row of a match knows that only once it has ended.
pub(crate) fn status(row: &mut impl Columns) -> Result<(MatchStatus, bool), StoreError> {
    row_of_id(row, StoredKind::Match, |row, id| status_of_id(row, MatchId(id)))
}

fn status_of_id(row: &mut impl Columns, id: MatchId) -> Result<(MatchStatus, bool), StoreError> {
    let state = state(row)?;
    let (created_at, updated_at, enqueued_at) = (row.time()?, row.time()?, row.time()?);
    let (started_at, ended_at) = (row.maybe_time()?, row.maybe_time()?);
    let (version, turns, late_moves) = (row.maybe_number()?, row.maybe_number()?, row.maybe_number()?);
    let status = MatchStatus {
        id,
        state,
        created_at,
        updated_at,
        enqueued_at,
        started_at,
        ended_at,
        turns: turns.unwrap_or_default(),
        late_moves: late_moves.unwrap_or_default(),
        version: version.unwrap_or_default(),
        attempts_charged: row.number()?,
        epoch: row.number()?,
        failure: row.maybe_text()?,
        worker: row.maybe_id()?.map(WorkerId),
        node: row.maybe_text()?,
    };
    Ok((status, version.is_none()))
}

/// Fills in the counters at the end of a live log.
pub(crate) fn fill_log_end(status: &mut MatchStatus, end: LogEnd) {
    (status.version, status.turns, status.late_moves) = (end.version, end.turns, end.late_moves);
}

/// The row of a match without its seats: spec, status and result columns in this order.
pub(crate) struct MatchWithoutSeats {
    spec: MatchSpec,
    pub(crate) status: MatchStatus,
    pub(crate) is_log_live: bool,
    account: AccountId,
    is_draw: Option<bool>,
    winner: Option<u8>,
    is_server_fault: bool,
}

pub(crate) fn bare_match(row: &mut impl Columns) -> Result<MatchWithoutSeats, StoreError> {
    row_of_id(row, StoredKind::Match, |row, id| {
        let spec = spec(row, MatchId(id))?;
        let (status, is_log_live) = status(row)?;
        let (account, is_draw, winner) = (AccountId(row.id()?), row.maybe_flag()?, row.maybe_number()?);
        let is_server_fault = row.maybe_flag()?.unwrap_or_default();
        Ok(MatchWithoutSeats { spec, status, is_log_live, account, is_draw, winner, is_server_fault })
    })
}

/// One seat of a match with its part of the result.
pub(crate) struct SeatRow {
    pub(crate) spec: SeatSpec,
    place: Option<u8>,
    cause: Option<Cause>,
    food_eaten: u32,
    death_turn: Option<u32>,
    pub(crate) account: Option<AccountId>,
}

/// A seat with its match, which is damaged where its seat is.
pub(crate) fn seat(row: &mut impl Columns) -> Result<ReadOfMatch<SeatRow>, StoreError> {
    let id = MatchId(row.id()?);
    Ok((id, damage_of(match_row(id).whole(seat_of_match(row)))?))
}

/// Adds what was read of a match; where that is damaged, all of it is.
pub(crate) fn add_of_match<T>(all: &mut Result<Vec<T>, Damage>, read: Result<T, Damage>) {
    match (&mut *all, read) {
        (Ok(all), Ok(read)) => all.push(read),
        (Ok(_), Err(damage)) => *all = Err(damage),
        (Err(_), _) => {}
    }
}

fn seat_of_match(row: &mut impl Columns) -> Result<SeatRow, StoreError> {
    let spec = SeatSpec { bot: BotId(row.id()?), name: row.text()?, owner: row.text()?, url: row.text()? };
    let place = row.maybe_number()?;
    let cause = row.maybe_text()?.map(|word| {
        let known = Cause::ALL.into_iter().find(|cause| cause.as_str() == word);
        require_known(known, "cause of elimination", &word)
    });
    // Of a match that ended before this was kept, nothing is known.
    let food_eaten = row.maybe_number()?.unwrap_or_default();
    let (death_turn, account) = (row.maybe_number()?, row.maybe_id()?.map(AccountId));
    Ok(SeatRow { spec, place, cause: cause.transpose()?, food_eaten, death_turn, account })
}

impl MatchWithoutSeats {
    /// The whole row; `seats` are this match's, in their order.
    pub(crate) fn seated(mut self, seats: Vec<SeatRow>) -> MatchRow {
        let placements = seats.iter().filter_map(|seat| seat.place).collect();
        let causes = seats.iter().map(|seat| seat.cause).collect();
        let food_eaten = seats.iter().map(|seat| seat.food_eaten).collect();
        let death_turns = seats.iter().map(|seat| seat.death_turn).collect();
        let seat_accounts = seats.iter().map(|seat| seat.account).collect();
        self.spec.seats = seats.into_iter().map(|seat| seat.spec).collect();
        let (turns, late_moves, winner) = (self.status.turns, self.status.late_moves, self.winner);
        let is_server_fault = self.is_server_fault;
        let result = self.is_draw.map(|is_draw| MatchResult {
            winner,
            is_draw,
            placements,
            causes,
            death_turns,
            turns,
            late_moves,
            food_eaten,
            is_server_fault,
            silent_seats: Vec::new(),
        });
        MatchRow { spec: self.spec, account: self.account, seat_accounts, status: self.status, result }
    }
}

pub(crate) fn log_row(row: &mut impl Columns, id: MatchId) -> Result<MatchLogRow, StoreError> {
    let (version, turns, late_moves) = (row.number()?, row.number()?, row.number()?);
    Ok(MatchLogRow { version, turns, late_moves, bytes: row.verified(match_entry(id, version))? })
}

pub(crate) fn match_entry(id: MatchId, version: u32) -> StoredKey<'static> {
    StoredKey::new(StoredKind::MatchEntry, id.to_bytes()).number(version.into())
}

pub(crate) fn match_archive(id: MatchId) -> StoredKey<'static> {
    StoredKey::new(StoredKind::MatchArchive, id.to_bytes())
}

/// The response to a request of an account or a player with an idempotency key.
pub(crate) fn response(owner: [u8; 16], key: &str) -> StoredKey<'_> {
    StoredKey::new(StoredKind::Response, owner).name(key)
}

/// A part of a row that a list does without: where it is damaged it reads as nothing, and the damage is kept to be reported.
pub(crate) fn part_of_list<T: Default>(
    read: Result<T, StoreError>,
    damages: &mut Vec<Damage>,
) -> Result<T, StoreError> {
    match read {
        Err(StoreError::Damaged(damage)) => {
            damages.push(*damage);
            Ok(T::default())
        }
        other => other,
    }
}

/// Damage apart from other errors.
pub(crate) fn damage_of<T>(read: Result<T, StoreError>) -> Result<Result<T, Damage>, StoreError> {
    match read {
        Err(StoreError::Damaged(damage)) => Ok(Err(*damage)),
        other => other.map(Ok),
    }
}

/// The counters after an entry: `version, turns, late_moves` of the last row of a log.
pub(crate) fn log_end(row: &mut impl Columns) -> Result<LogEnd, StoreError> {
    Ok(LogEnd { version: row.number::<u32>()?.saturating_add(1), turns: row.number()?, late_moves: row.number()? })
}

/// Sums over minutes: `created` and `finished` in each window, then `timed` and `duration_ms` of a day. A sum over nothing is
/// empty.
pub(crate) fn recent_stats(row: &mut impl Columns) -> Result<MatchStats, StoreError> {
    let mut sum = || Ok::<u64, StoreError>(row.maybe_number()?.unwrap_or_default());
    let created = WindowCounts { last_hour: sum()?, last_24h: sum()?, last_7d: sum()? };
    let finished = WindowCounts { last_hour: sum()?, last_24h: sum()?, last_7d: sum()? };
    let (timed, duration_ms) = (sum()?, sum()?);
    Ok(MatchStats { created, finished, duration_ms_avg: mean(duration_ms, timed), ..MatchStats::default() })
}

/// Matches by state, from the stored counters.
pub(crate) fn counts(counters: &[(String, u64)]) -> MatchCounts {
    let of = |state: MatchState| counters.iter().find(|(name, _)| name == state.name()).map_or(0, |(_, value)| *value);
    MatchCounts {
        waiting: of(MatchState::Waiting),
        running: of(MatchState::Running),
        finished: of(MatchState::Finished),
        failed: of(MatchState::Failed),
        cancelled: of(MatchState::Cancelled),
    }
}

pub(crate) fn failure(row: &mut impl Columns) -> Result<RecentFailure, StoreError> {
    Ok(RecentFailure { count: row.number()?, message: row.text()?, last_at: row.time()? })
}

/// `fingerprint, answer, checksum` of an idempotency key.
pub(crate) fn remembered_response(
    row: &mut impl Columns,
    key: StoredKey<'_>,
) -> Result<RememberedResponse, StoreError> {
    Ok((digest(row.bytes()?)?, row.verified(key)?))
}

/// `owner, key, fingerprint, answer, checksum, created_at`.
pub(crate) fn remembered_key(row: &mut impl Columns) -> Result<(([u8; 16], String), RememberedKey), StoreError> {
    let (owner, key) = (row.id_bytes()?, row.text()?);
    let stored_key = response(owner, &key);
    let (fingerprint, response) = remembered_response(row, stored_key)?;
    Ok(((owner, key), RememberedKey { fingerprint, response, created_at: row.time()? }))
}

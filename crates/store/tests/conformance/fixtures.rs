//! Small, readable things to store, and a store opened as writer and reader.

use engine::commands::{ClaimedMatch, Command, CreateMatches, Idempotency, MatchAppend, Outcome};
use engine::ids::{AccountId, BotId, MatchId, TokenId, WorkerId};
use engine::matches::archive;
use engine::matches::lifecycle::MatchState;
use engine::matches::result::MatchResult;
use engine::matches::slots::SlotUsage;
use engine::matches::spec::{MatchSpec, SeatSpec};
use engine::rows::{
    Account, Bot, LimitOverride, LimitPolicy, MatchLogPage, MatchLogRow, MatchStats, MatchStatus, Role, Token,
    TokenPurpose,
};
use engine::time::UnixMs;
use rules::chance::Seed;
use rules::snake::{Cause, Map, Rules, Ruleset, Settings};
use std::sync::atomic::{AtomicU64, Ordering};
use store::{Backend, Database, MatchFilter, Reader};

/// The first moment of every test: a whole minute.
pub(crate) const T0: UnixMs = UnixMs(1_700_000_040_000);
pub(crate) const ATTEMPTS_MAX: u32 = 3;

pub(crate) fn at(ms: i64) -> UnixMs {
    UnixMs(T0.0 + ms)
}

/// The first id of each kind differs, so that a mix-up finds nothing.
pub(crate) fn account_id(n: u128) -> AccountId {
    AccountId(0xa000 + n)
}
pub(crate) fn bot_id(n: u128) -> BotId {
    BotId(0xb000 + n)
}
pub(crate) fn match_id(n: u128) -> MatchId {
    MatchId(0xc000 + n)
}
pub(crate) fn worker_id(n: u128) -> WorkerId {
    WorkerId(0xd000 + n)
}
pub(crate) fn token_id(n: u128) -> TokenId {
    TokenId(0xe000 + n)
}

pub(crate) fn account(n: u128) -> Account {
    Account { id: account_id(n), name: format!("account-{n}"), created_at: at(n as i64) }
}

pub(crate) fn token(n: u128, account: u128) -> Token {
    let mut digest = [0x5a; 32];
    digest[..16].copy_from_slice(&n.to_be_bytes());
    let role = Role::ALL[n as usize % Role::ALL.len()];
    let purpose = TokenPurpose::ALL[n as usize / 2 % TokenPurpose::ALL.len()];
    let name = format!("token-{n}");
    let (id, account, created_at) = (token_id(n), account_id(account), at(n as i64));
    Token {
        id,
        account,
        name,
        role,
        purpose,
        digest,
        created_at,
        last_used_at: None,
        expires_at: None,
        is_session: false,
    }
}

pub(crate) fn bot(n: u128, account: u128) -> Bot {
    Bot {
        id: bot_id(n),
        account: account_id(account),
        name: format!("bot-{n}"),
        url: format!("http://bots.example/{n}"),
        is_public: n % 2 == 1,
        created_at: at(n as i64),
        updated_at: at(n as i64),
    }
}

pub(crate) fn limit_policy(name: &str, definition: &str) -> LimitPolicy {
    LimitPolicy { name: name.to_owned(), definition: definition.to_owned() }
}

pub(crate) fn limit_override(policy: &str, key: &[u8], limit: u64) -> LimitOverride {
    LimitOverride { policy: policy.to_owned(), key: key.to_owned(), limit, window_ms: u64::MAX - limit }
}

/// Two seats; every column differs from its neighbours.
pub(crate) fn spec(n: u128) -> MatchSpec {
    let settings =
        Settings { food_spawn_chance: 21, minimum_food: 2, hazard_damage_per_turn: -7, shrink_every_n_turns: 33 };
    let rules = Rules { ruleset: Ruleset::Royale, map: Map::Royale, settings, solo: n % 2 == 1 };
    let seat = |bot: u128| SeatSpec {
        bot: bot_id(bot),
        name: format!("bot-{bot}"),
        owner: format!("owner-{bot}"),
        url: format!("http://bots.example/{bot}?löve=1"),
    };
    MatchSpec {
        id: match_id(n),
        rules,
        width: 11,
        height: 19,
        seed: Seed(u64::MAX - n as u64),
        timeout_ms: 500,
        turns_max: 5_000,
        is_public: n.is_multiple_of(2),
        origin: None,
        seats: vec![seat(1), seat(2 + n % 3)],
    }
}

pub(crate) fn create(account: u128, matches: impl IntoIterator<Item = u128>, now: UnixMs) -> Command {
    let matches = matches.into_iter().map(spec).collect();
    Command::CreateMatches(CreateMatches { account: account_id(account), idempotency: None, matches, now })
}

pub(crate) fn create_with_key(key: &str, request: u8, matches: impl IntoIterator<Item = u128>, now: UnixMs) -> Command {
    let idempotency = Idempotency { key: key.to_owned(), fingerprint: [request; 32], response: vec![request, 1, 2] };
    let matches = matches.into_iter().map(spec).collect();
    let account = account_id(1);
    Command::CreateMatches(CreateMatches { account, idempotency: Some(idempotency), matches, now })
}

pub(crate) fn lease(worker: u128, now: UnixMs) -> Command {
    let until = UnixMs(now.0 + 5_000);
    Command::RenewLease { worker: worker_id(worker), address: format!("10.0.0.{worker}:4000"), now, until }
}

/// A new claim: its number is higher than any before.
pub(crate) fn claim(worker: u128, now: UnixMs, max: usize) -> Command {
    claim_into(SlotUsage::new(99_999), worker, now, max)
}

/// A new claim of a worker with these slots.
pub(crate) fn claim_into(slots: SlotUsage, worker: u128, now: UnixMs, max: usize) -> Command {
    static CLAIMS: AtomicU64 = AtomicU64::new(0);
    let number = 1 + CLAIMS.fetch_add(1, Ordering::Relaxed);
    Command::ClaimMatches { worker: worker_id(worker), number, now, max, slots, attempts_max: ATTEMPTS_MAX }
}

pub(crate) fn cancel(n: u128, now: UnixMs) -> Command {
    Command::CancelMatch { id: match_id(n), account: None, now }
}

pub(crate) fn requeue(n: u128, now: UnixMs) -> Command {
    Command::RequeueMatch { id: match_id(n), now }
}

pub(crate) fn fail(n: u128, epoch: u32, now: UnixMs) -> Command {
    Command::FailMatch { id: match_id(n), epoch, reason: "the board caught fire".to_owned(), now }
}

pub(crate) fn release(n: u128, epoch: u32, is_refunded: bool) -> Command {
    Command::ReleaseMatch { id: match_id(n), epoch, is_refunded }
}

/// Entry `version` of any log. The first is the opening and plays no turn.
pub(crate) fn entry(version: u32) -> MatchLogRow {
    MatchLogRow {
        version,
        turns: version,
        late_moves: version / 2,
        bytes: vec![version as u8; 1 + version as usize % 90],
    }
}

pub(crate) fn append_rows(n: u128, epoch: u32, from: u32, count: u32) -> MatchAppend {
    let rows = (from..from + count).map(entry).collect();
    let started_at = (from == 0).then(|| at(77));
    MatchAppend { id: match_id(n), epoch, rows, expected_version: from, started_at }
}

pub(crate) fn append(n: u128, epoch: u32, from: u32, count: u32) -> Command {
    Command::AppendMatch(append_rows(n, epoch, from, count))
}

pub(crate) fn result(turns: u32) -> MatchResult {
    MatchResult {
        winner: Some(1),
        is_draw: false,
        placements: vec![2, 1],
        causes: vec![Some(Cause::HeadCollision), None],
        death_turns: vec![Some(turns), None],
        turns,
        late_moves: turns / 2,
        food_eaten: vec![3, 0],
        is_server_fault: false,
        silent_seats: Vec::new(),
    }
}

/// Ends a match with `count` more entries after the first `from`.
pub(crate) fn finish(n: u128, epoch: u32, from: u32, count: u32, now: UnixMs) -> Command {
    let whole: Vec<_> = (0..from + count).map(entry).collect();
    let last = whole.last().map_or(0, |row| row.turns);
    let archive = archive::pack(&whole);
    Command::FinishMatch { append: append_rows(n, epoch, from, count), result: result(last), archive, now }
}

/// A store by its two ends.
pub(crate) struct StoreFixture {
    pub(crate) writer: Box<dyn Backend>,
    pub(crate) reader: Box<dyn Reader>,
}

impl StoreFixture {
    /// With account 1 in it.
    pub(crate) fn new(database: &dyn Database) -> Self {
        let writer = database.writer().expect("the database can be opened");
        let reader = database.reader().expect("the database can be read");
        let mut held = Self { writer, reader };
        held.assert_outcome(Command::EnsureAccount(account(1)), Outcome::Account(account_id(1)));
        held
    }

    pub(crate) fn commit(&mut self, commands: &[Command]) -> Vec<Outcome> {
        self.writer.commit(commands).expect("the store is there")
    }

    pub(crate) fn commit_one(&mut self, command: Command) -> Outcome {
        self.commit(&[command]).remove(0)
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "rows read better without ampersands")]
    pub(crate) fn assert_outcome(&mut self, command: Command, want: Outcome) {
        let description = format!("{command:?}");
        assert_eq!(self.commit_one(command), want, "{description}");
    }

    #[track_caller]
    pub(crate) fn claimed(&mut self, command: Command) -> Vec<ClaimedMatch> {
        match self.commit_one(command) {
            Outcome::MatchesClaimed(claimed) => claimed,
            other => panic!("not claimed: {other:?}"),
        }
    }

    /// Numbers, epochs and attempts of what a claim takes.
    #[track_caller]
    pub(crate) fn assert_claims(&mut self, command: Command, want: &[(u128, u32, u32)]) {
        let claimed = self.claimed(command);
        let got: Vec<_> = claimed.iter().map(|c| (c.spec.id.0 - 0xc000, c.epoch, c.attempts_charged)).collect();
        assert_eq!(got, want, "(match, epoch, attempts)");
    }

    /// Match `n` running in the hands of worker 1, epoch 1.
    #[track_caller]
    pub(crate) fn run(&mut self, n: u128) {
        self.assert_outcome(create(1, [n], at(0)), Outcome::Done);
        self.assert_outcome(lease(1, at(0)), Outcome::Done);
        self.assert_claims(claim(1, at(0), 1), &[(n, 1, 1)]);
    }

    #[track_caller]
    pub(crate) fn status(&mut self, n: u128) -> MatchStatus {
        let statuses = self.reader.statuses(&[match_id(n)]).expect("the store is there");
        statuses.into_iter().next().expect("the match is known")
    }

    #[track_caller]
    pub(crate) fn is_in(&mut self, n: u128, want: MatchState) {
        assert_eq!(self.status(n).state, want, "match {n}");
    }

    pub(crate) fn log(&mut self, n: u128) -> MatchLogPage {
        let page = self.reader.match_log(match_id(n), 0, usize::MAX).expect("the store is there");
        page.expect("the match is known")
    }

    pub(crate) fn stats(&mut self, now: UnixMs) -> MatchStats {
        self.reader.match_stats(now).expect("the store is there")
    }

    /// Numbers of the matches that a filter shows.
    pub(crate) fn listed(&mut self, filter: &MatchFilter) -> Vec<u128> {
        let rows = self.reader.matches(filter).expect("the store is there");
        rows.iter().map(|row| row.spec.id.0 - 0xc000).collect()
    }
}

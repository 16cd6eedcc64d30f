//! Random commands: any sequence has the same outcomes and leaves the same reads in PostgreSQL as in SQLite.

use crate::codes;
use crate::fixtures::*;
use crate::story_model::{self, Known};
use engine::commands::{Command, MatchAppend, Outcome};
use engine::matches::result::SeatOutcome;
use engine::matches::slots::SlotUsage;
use engine::rows::MatchStatus;
use engine::time::UnixMs;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::testing::{MemoryDatabase, PostgresCluster};
use store::{BotFilter, Database, MatchFilter, MatchList, Reader};

const MATCHES: u128 = 6;
const WORKERS: u128 = 3;

/// A command in words of a small world. Writers mostly know the epoch and the version; sometimes they are off by one.
#[derive(Clone, Debug)]
enum Step {
    EnsureAccount(u128),
    CreateToken(u128, u128),
    DeleteToken(u128),
    UseToken(u128, i64),
    CreateCode(u128, Option<u128>),
    Redeem(u128, Option<u128>),
    CreateBot(u128, u128, u128),
    UpdateBot(u128, u128, u128),
    DeleteBot(u128, u128),
    Create { account: u128, first: u128, count: u128, key: Option<u8> },
    Cancel(u128, Option<u128>),
    Requeue(u128),
    Lease(u128),
    EndLease(u128),
    Claim { worker: u128, max: usize, slots: usize },
    Append { n: u128, rows: u32, epoch_off: u32, version_off: u32 },
    Finish { n: u128, rows: u32, epoch_off: u32, version_off: u32 },
    Fail { n: u128, epoch_off: u32 },
    Release { n: u128, epoch_off: u32, is_refunded: bool },
    Retire { keep_ms: Option<u64>, keep_bytes: Option<u64>, max: usize },
    PutPolicy(u8),
    ForgetPolicy(u8),
    PutOverride(u8, u8, u64),
    ForgetOverride(u8, u8),
    Story(story_model::Step),
}

fn step() -> impl Strategy<Value = Step> {
    let n = || 0..MATCHES;
    let account = || 1..3_u128;
    let off = || prop_oneof![9 => Just(0_u32), 1 => Just(1_u32)];
    prop_oneof![
        1 => account().prop_map(Step::EnsureAccount),
        1 => (0..3_u128, account()).prop_map(|(n, account)| Step::CreateToken(n, account)),
        1 => (0..3_u128).prop_map(Step::DeleteToken),
        1 => (0..3_u128, 0..9_i64).prop_map(|(n, used_at)| Step::UseToken(n, used_at)),
        2 => (0..4_u128, prop::option::of(account())).prop_map(|(n, account)| Step::CreateCode(n, account)),
        2 => (0..4_u128, prop::option::of(1..6_u128)).prop_map(|(n, new_account)| Step::Redeem(n, new_account)),
        1 => (0..3_u128, account(), 0..3_u128).prop_map(|(n, account, name)| Step::CreateBot(n, account, name)),
        1 => (0..3_u128, account(), 0..3_u128).prop_map(|(n, account, name)| Step::UpdateBot(n, account, name)),
        1 => (0..3_u128, account()).prop_map(|(n, account)| Step::DeleteBot(n, account)),
        4 => (account(), n(), 1..4_u128, prop::option::weighted(0.3, 0..3_u8))
            .prop_map(|(account, first, count, key)| Step::Create { account, first, count, key }),
        1 => (n(), prop::option::of(account())).prop_map(|(n, account)| Step::Cancel(n, account)),
        2 => n().prop_map(Step::Requeue),
        3 => (0..WORKERS).prop_map(Step::Lease),
        1 => (0..WORKERS).prop_map(Step::EndLease),
        5 => (0..WORKERS, 0..4_usize, 1..5_usize).prop_map(|(worker, max, slots)| Step::Claim { worker, max, slots }),
        8 => (n(), 0..4_u32, off(), off())
            .prop_map(|(n, rows, epoch_off, version_off)| Step::Append { n, rows, epoch_off, version_off }),
        3 => (n(), 0..3_u32, off(), off())
            .prop_map(|(n, rows, epoch_off, version_off)| Step::Finish { n, rows, epoch_off, version_off }),
        2 => (n(), off()).prop_map(|(n, epoch_off)| Step::Fail { n, epoch_off }),
        2 => (n(), off(), any::<bool>())
            .prop_map(|(n, epoch_off, is_refunded)| Step::Release { n, epoch_off, is_refunded }),
        1 => (prop::option::of(0..20_000_u64), prop::option::of(0..300_u64), 0..4_usize)
            .prop_map(|(keep_ms, keep_bytes, max)| Step::Retire { keep_ms, keep_bytes, max }),
        1 => (0..3_u8).prop_map(Step::PutPolicy),
        1 => (0..3_u8).prop_map(Step::ForgetPolicy),
        1 => (0..3_u8, 0..3_u8, any::<u64>()).prop_map(|(n, key, limit)| Step::PutOverride(n, key, limit)),
        1 => (0..3_u8, 0..3_u8).prop_map(|(n, key)| Step::ForgetOverride(n, key)),
        24 => story_model::step(WORKERS).prop_map(Step::Story),
    ]
}

/// Batches, and the time that passes before each.
fn life() -> impl Strategy<Value = Vec<(i64, Vec<Step>)>> {
    prop::collection::vec((0..2_500_i64, prop::collection::vec(step(), 1..8)), 1..30)
}

/// No two sessions are the same.
fn next_session() -> u128 {
    static SESSIONS: AtomicU64 = AtomicU64::new(0);
    SESSIONS.fetch_add(1, Ordering::Relaxed).into()
}

/// The command, as a client would give it that has just read the statuses.
fn command(step: &Step, statuses: &[MatchStatus], tables: &Known, now: UnixMs) -> Command {
    let known = |n: u128| statuses.iter().find(|status| status.id == match_id(n));
    let epoch = |n: u128, off: u32| known(n).map_or(1, |status| status.epoch) + off;
    let version = |n: u128, off: u32| known(n).map_or(0, |status| status.version) + off;
    match step.clone() {
        Step::EnsureAccount(n) => Command::EnsureAccount(account(n)),
        Step::CreateToken(n, account) => Command::CreateToken(token(n, account)),
        Step::DeleteToken(n) => Command::DeleteToken { id: token_id(n), account: Some(account_id(1)), now },
        Step::UseToken(n, used_at) => Command::RecordTokenUses(vec![(token_id(n), at(used_at))]),
        Step::CreateCode(n, account) => codes::create_code(n, account, now.0 - T0.0),
        Step::Redeem(n, new_account) => codes::redeem(n, new_account, next_session(), now),
        Step::CreateBot(n, account, name) => {
            Command::CreateBot(engine::rows::Bot { name: format!("name-{name}"), ..bot(n, account) })
        }
        Step::UpdateBot(n, account, name) => {
            Command::UpdateBot(engine::rows::Bot { name: format!("name-{name}"), updated_at: now, ..bot(n, account) })
        }
        Step::DeleteBot(n, account) => Command::DeleteBot { id: bot_id(n), account: account_id(account) },
        Step::Create { account, first, count, key: None } => create(account, first..first + count, now),
        Step::Create { first, count, key: Some(key), .. } => {
            create_with_key(&format!("key-{}", key / 2), key, first..first + count, now)
        }
        Step::Cancel(n, account) => Command::CancelMatch { id: match_id(n), account: account.map(account_id), now },
        Step::Requeue(n) => requeue(n, now),
        Step::Lease(worker) => lease(worker, now),
        Step::EndLease(worker) => Command::EndLease { worker: worker_id(worker) },
        Step::Claim { worker, max, slots } => claim_into(SlotUsage::new(slots), worker, now, max),
        Step::Append { n, rows, epoch_off, version_off } => {
            let append = append_rows(n, epoch(n, epoch_off), version(n, version_off), rows);
            Command::AppendMatch(MatchAppend { started_at: append.started_at.map(|_| now), ..append })
        }
        Step::Finish { n, rows, epoch_off, version_off } => {
            finish(n, epoch(n, epoch_off), version(n, version_off), rows, now)
        }
        Step::Fail { n, epoch_off } => fail(n, epoch(n, epoch_off), now),
        Step::Release { n, epoch_off, is_refunded } => release(n, epoch(n, epoch_off), is_refunded),
        Step::Retire { keep_ms, keep_bytes, max } => crate::retire::call(now, keep_ms, keep_bytes, max),
        Step::PutPolicy(n) => Command::PutLimitPolicy(limit_policy(&format!("policy-{n}"), &now.0.to_string())),
        Step::ForgetPolicy(n) => Command::DeleteLimitPolicy { name: format!("policy-{n}") },
        Step::PutOverride(n, key, limit) => {
            Command::PutLimitOverride(limit_override(&format!("policy-{n}"), &[key], limit))
        }
        Step::ForgetOverride(n, key) => Command::DeleteLimitOverride { policy: format!("policy-{n}"), key: vec![key] },
        Step::Story(step) => tables.command(&step, now),
    }
}

/// Everything that can be read in the small world, as one comparable text.
fn everything(reader: &mut dyn Reader, now: UnixMs) -> Vec<String> {
    let ids: Vec<_> = (0..MATCHES + 4).map(match_id).collect();
    let mut all = Vec::new();
    let mut add = |what: &dyn std::fmt::Debug| all.push(format!("{what:?}"));
    add(&reader.limit_rules());
    add(&reader.match_stats(now));
    add(&reader.public_activity(now));
    add(&reader.statuses(&ids));
    for id in ids {
        add(&reader.match_by_id(id));
        add(&reader.match_log(id, 0, 100));
        add(&reader.match_log(id, 2, 3));
    }
    let of_bot = |n, outcome, viewer| MatchList::OfBot { bot: bot_id(n), outcome, viewer };
    for viewer in [None, Some(account_id(1)), Some(account_id(2))] {
        for list in [
            viewer.map_or(MatchList::All, MatchList::OfAccount),
            of_bot(1, None, viewer),
            of_bot(3, None, viewer),
            of_bot(1, Some(SeatOutcome::Lost), viewer),
            of_bot(3, Some(SeatOutcome::Won), viewer),
        ] {
            add(&reader.matches(&MatchFilter { list, before: Some(match_id(5)), limit: 3 }));
        }
    }
    add(&reader.invites(None, 9, now));
    add(&reader.running_public_matches(None, Some(match_id(6)), 3));
    add(&reader.ended_public_matches(None, None, 9));
    for n in 1..3 {
        add(&reader.account_named(&account(n).name));
        add(&reader.tokens(account_id(n)));
        add(&reader.bots(&BotFilter { account: account_id(n), before: None, limit: 9 }));
        add(&reader.idempotent_response(account_id(n), "key-0"));
    }
    for worker in 0..WORKERS {
        add(&reader.lease_address(worker_id(worker), now));
    }
    all.extend(story_model::everything(reader, now));
    all
}

fn check(database: &dyn Database, life: &[(i64, Vec<Step>)]) -> Result<(), TestCaseError> {
    let sqlite = MemoryDatabase::new();
    let (mut held, mut want) = (StoreFixture::new(database), StoreFixture::new(&sqlite));
    let ids: Vec<_> = (0..MATCHES + 4).map(match_id).collect();
    let (mut now, mut tables) = (at(0), Known::default());
    for (pause_ms, steps) in life {
        now = now.plus(Duration::from_millis(*pause_ms as u64));
        let statuses = want.reader.statuses(&ids).expect("SQLite is there");
        let commands: Vec<_> = steps.iter().map(|step| command(step, &statuses, &tables, now)).collect();
        let wanted: Vec<Outcome> = want.commit(&commands);
        prop_assert_eq!(&held.commit(&commands), &wanted, "{:?}", commands);
        tables.record(&commands, &wanted);
    }
    prop_assert_eq!(everything(&mut *held.reader, now), everything(&mut *want.reader, now));
    let takeovers = story_model::takeovers(now);
    prop_assert_eq!(held.commit(&takeovers), want.commit(&takeovers), "the logs of tables");
    Ok(())
}

/// So many lives, or as many as `PROPTEST_CASES` says.
#[track_caller]
fn check_many(usually: u32, database: impl Fn() -> Box<dyn Database>) {
    let wanted = Config { failure_persistence: None, ..Config::default() };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { wanted.cases } else { usually };
    let mut runner = TestRunner::new(Config { cases, ..wanted });
    let outcome = runner.run(&life(), |life| check(&*database(), &life));
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn postgres_lives_as_sqlite_does() {
    check_many(50, || Box::new(PostgresCluster::shared().new_database()));
}

/// The comparison itself can fail: a store that loses one entry is detected.
#[test]
fn a_store_that_forgets_is_found_out() {
    let (whole, other) = (MemoryDatabase::new(), MemoryDatabase::new());
    let (mut want, mut held) = (StoreFixture::new(&whole), StoreFixture::new(&other));
    for held in [&mut want, &mut held] {
        held.run(1);
    }
    want.assert_outcome(append(1, 1, 0, 1), Outcome::Done);
    assert_ne!(everything(&mut *held.reader, at(1)), everything(&mut *want.reader, at(1)));
}

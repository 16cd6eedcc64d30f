//! The health of bots, how they answered, and with which secrets their calls are signed.

use crate::fixtures::*;
use engine::commands::{BotCommand, Command, Outcome};
use engine::health::{BotCalls, BotHealth, CallFault, EvidenceSource, HealthRecord};
use engine::matches::entry::{AnswerClass, Face};
use engine::rows::{BotCallsRow, BotHealthRow, SigningRow, SigningState};
use engine::time::UnixMs;
use store::Database;

fn with_bots(database: &dyn Database, bots: impl IntoIterator<Item = u128>) -> StoreFixture {
    let mut held = StoreFixture::new(database);
    for n in bots {
        held.assert_outcome(Command::CreateBot(bot(n, 1)), Outcome::Done);
    }
    held
}

pub(crate) fn save(n: u128, version: u32, health: &BotHealth) -> Command {
    Command::Bot(BotCommand::SaveHealth(BotHealthRow { bot: bot_id(n), version, health: health.clone() }))
}

/// Watched from `ms` on, with so many failures since.
pub(crate) fn health(ms: i64, failures: usize) -> BotHealth {
    let mut health = BotHealth::default();
    health.watch(at(ms), at(1_000_000_000));
    for _ in 0..failures {
        let fault = Some(CallFault::Html);
        health.apply(HealthRecord { at: at(ms), source: EvidenceSource::Sweep, fault, took_ms: 7 }, 0);
    }
    health
}

pub(crate) fn health_is_written_by_one_at_a_time(database: &dyn Database) {
    let mut held = with_bots(database, [1, 2]);
    assert_eq!(held.reader.bot_health(&[bot_id(1)]), Ok(Vec::new()));
    held.assert_outcome(save(1, 0, &health(1, 3)), Outcome::Done);
    held.assert_outcome(save(1, 0, &health(2, 0)), Outcome::VersionConflict(1));
    held.assert_outcome(save(3, 0, &health(1, 0)), Outcome::NotFound);
    held.assert_outcome(save(2, 7, &health(1, 0)), Outcome::NotFound);
    let stored = BotHealthRow { bot: bot_id(1), version: 1, health: health(1, 3) };
    assert_eq!(held.reader.bot_health(&[bot_id(2), bot_id(1), bot_id(1)]), Ok(vec![stored]));
    assert_eq!(held.reader.paused_bots(9), Ok(vec![bot_id(1)]));
    held.assert_outcome(save(1, 1, &health(3, 1)), Outcome::Done);
    held.assert_outcome(save(1, 1, &health(4, 0)), Outcome::VersionConflict(2));
    let stored = BotHealthRow { bot: bot_id(1), version: 2, health: health(3, 1) };
    assert_eq!(held.reader.bot_health(&[bot_id(1)]), Ok(vec![stored]));
    assert_eq!(held.reader.paused_bots(9), Ok(Vec::new()));
}

pub(crate) fn due_bots_are_found_and_moved_ones_are_due(database: &dyn Database) {
    let mut held = with_bots(database, 1..=4);
    for (n, due) in [(1, 30), (2, 10), (3, 20)] {
        held.assert_outcome(save(n, 0, &health(due, 0)), Outcome::Done);
    }
    held.assert_outcome(save(4, 0, &BotHealth::default()), Outcome::Done);
    let due = |held: &mut StoreFixture, now, limit| -> Vec<u128> {
        let rows = held.reader.bots_to_probe(at(now), &[account_id(2)], limit).unwrap();
        assert!(rows.iter().all(|row| row.health.bot == row.bot.id && row.bot == bot(row.bot.id.0 - 0xb000, 1)));
        rows.iter().map(|row| row.bot.id.0 - 0xb000).collect()
    };
    assert_eq!(due(&mut held, 9, 9), [0; 0]);
    assert_eq!(due(&mut held, 20, 9), [2, 3]);
    assert_eq!(held.stats(at(20)).probes, 3, "those that are to come, and those that are due");
    assert_eq!(due(&mut held, 99, 2), [2, 3]);
    assert_eq!(held.reader.bots_to_probe(at(99), &[account_id(2), account_id(1)], 9), Ok(Vec::new()));
    // Another name moves nothing; another URL makes a probe due, of a bot that is probed at all.
    let renamed = engine::rows::Bot { name: "other".to_owned(), updated_at: at(5), ..bot(1, 1) };
    held.assert_outcome(Command::UpdateBot(renamed), Outcome::Done);
    held.assert_outcome(Command::UpdateBot(bot(1, 1)), Outcome::Done);
    assert_eq!(due(&mut held, 9, 9), [0; 0]);
    for n in [1, 4] {
        let moved = engine::rows::Bot { url: "http://new.example".to_owned(), updated_at: at(5), ..bot(n, 1) };
        held.assert_outcome(Command::UpdateBot(moved), Outcome::Done);
    }
    let moved = held.reader.bots_to_probe(at(5), &[], 9).unwrap();
    assert_eq!(moved.iter().map(|row| row.bot.id).collect::<Vec<_>>(), [bot_id(1)]);
    // What a probe of the old URL found, which was under way, is refused.
    held.assert_outcome(save(1, 1, &health(99, 0)), Outcome::VersionConflict(2));
    let delete = Command::DeleteBot { id: bot_id(1), account: account_id(1) };
    held.assert_outcome(delete, Outcome::Done);
    assert_eq!(held.reader.bot_health(&[bot_id(1)]), Ok(Vec::new()));
}

pub(crate) fn calls(n: u128, hour: u32, answers: u32) -> BotCallsRow {
    let mut calls = BotCalls::default();
    (0..answers)
        .for_each(|answer| calls.record(AnswerClass::ALL[answer as usize % AnswerClass::ALL.len()], answer as u16));
    BotCallsRow { bot: bot_id(n), hour, calls }
}

pub(crate) fn save_calls(process: u64, rows: &[BotCallsRow]) -> Command {
    Command::Bot(BotCommand::SaveCalls { process, rows: rows.to_vec() })
}

pub(crate) fn calls_are_replaced_by_their_process_and_retired(database: &dyn Database) {
    let mut held = with_bots(database, [1, 2]);
    let first = [calls(1, 10, 1), calls(1, 11, 2), calls(2, 10, 3), calls(9, 10, 1)];
    held.assert_outcome(save_calls(u64::MAX, &first), Outcome::Done);
    held.assert_outcome(save_calls(u64::MAX, &first), Outcome::Done);
    assert_eq!(held.reader.bot_calls(bot_id(1), 0).unwrap(), first[..2]);
    held.assert_outcome(save_calls(u64::MAX, &[calls(1, 10, 30)]), Outcome::Done);
    held.assert_outcome(save_calls(7, &[calls(1, 10, 5)]), Outcome::Done);
    let mut of_ten: Vec<_> = held.reader.bot_calls(bot_id(1), 0).unwrap();
    of_ten.retain(|row| row.hour == 10);
    of_ten.sort_unstable_by_key(|row| row.calls.total());
    assert_eq!(of_ten, [calls(1, 10, 5), calls(1, 10, 30)]);
    assert_eq!(held.reader.bot_calls(bot_id(1), 11).unwrap(), first[1..2]);
    assert_eq!(held.reader.bot_calls(bot_id(9), 0), Ok(Vec::new()), "a bot that does not exist");
    let retire = |before_hour, max| Command::Bot(BotCommand::RetireCalls { before_hour, max });
    held.assert_outcome(retire(10, 9), Outcome::Retired(0));
    held.assert_outcome(retire(11, 2), Outcome::Retired(2));
    held.assert_outcome(retire(11, 2), Outcome::Retired(1));
    assert_eq!(held.reader.bot_calls(bot_id(1), 0).unwrap(), first[1..2]);
}

pub(crate) fn the_last_looks_of_bots_are_kept(database: &dyn Database) {
    let mut held = with_bots(database, [1, 2, 3]);
    let face = |color: &str| Face { color: color.to_owned(), head: "smile".to_owned(), tail: "sharp".to_owned() };
    let save = |faces: &[(u128, &str)]| {
        let faces = faces.iter().map(|(n, color)| (bot_id(*n), face(color))).collect();
        Command::Bot(BotCommand::SaveFaces(faces))
    };
    held.assert_outcome(save(&[(1, "#111111"), (2, "#222222"), (9, "#999999")]), Outcome::Done);
    held.assert_outcome(save(&[(2, "#333333")]), Outcome::Done);
    held.assert_outcome(save(&[(2, "#333333")]), Outcome::Done);
    held.assert_outcome(save(&[]), Outcome::Done);
    let mut known = |ids: &[u128]| {
        let mut faces = held.reader.bot_faces(&ids.iter().map(|n| bot_id(*n)).collect::<Vec<_>>()).unwrap();
        faces.sort_unstable_by_key(|(bot, _)| *bot);
        faces
    };
    assert_eq!(known(&[2, 1, 2, 3, 9]), [(bot_id(1), face("#111111")), (bot_id(2), face("#333333"))]);
    assert_eq!(known(&[]), []);
    held.assert_outcome(Command::DeleteBot { id: bot_id(1), account: account_id(1) }, Outcome::Done);
    assert_eq!(held.reader.bot_faces(&[bot_id(1)]), Ok(Vec::new()));
}

fn rotate(n: u128, account: u128, ms: i64) -> Command {
    let (bot, account) = (bot_id(n), account_id(account));
    Command::Bot(BotCommand::RotateSigningSecret { bot, account, now: at(ms), overlap_until: at(ms + 100) })
}

fn stop(n: u128, account: u128) -> Command {
    Command::Bot(BotCommand::StopSigning { bot: bot_id(n), account: account_id(account) })
}

fn signed(n: u128, generation: u32, ms: i64, previous_until: UnixMs) -> SigningRow {
    SigningRow { bot: bot_id(n), created_at: at(ms), state: SigningState { generation, previous_until } }
}

pub(crate) fn a_signing_secret_is_rotated_and_never_comes_back(database: &dyn Database) {
    let mut held = with_bots(database, [1, 2]);
    held.assert_outcome(Command::EnsureAccount(account(2)), Outcome::Account(account_id(2)));
    assert_eq!(held.reader.signing(bot_id(1)), Ok(None));
    held.assert_outcome(stop(1, 1), Outcome::NotFound);
    held.assert_outcome(rotate(1, 2, 1), Outcome::NotFound);
    held.assert_outcome(rotate(9, 1, 1), Outcome::NotFound);
    held.assert_outcome(rotate(1, 1, 1), Outcome::Signing(signed(1, 1, 1, UnixMs(0))));
    held.assert_outcome(rotate(1, 1, 2), Outcome::Signing(signed(1, 2, 2, at(102))));
    assert_eq!(held.reader.signing(bot_id(1)), Ok(Some(signed(1, 2, 2, at(102)))));
    held.assert_outcome(stop(1, 2), Outcome::NotFound);
    held.assert_outcome(stop(1, 1), Outcome::Done);
    held.assert_outcome(stop(1, 1), Outcome::NotFound);
    assert_eq!(held.reader.signing(bot_id(1)), Ok(None));
    // After a pause a secret that may have leaked before it is neither the new one nor the one before.
    held.assert_outcome(rotate(1, 1, 3), Outcome::Signing(signed(1, 3, 3, UnixMs(0))));
}

pub(crate) fn a_claim_says_whose_calls_are_signed(database: &dyn Database) {
    let mut held = with_bots(database, 1..=4);
    held.commit(&[rotate(1, 1, 1), rotate(2, 1, 1), stop(2, 1), rotate(3, 1, 1)]);
    held.assert_outcome(create(1, [3, 4], at(0)), Outcome::Done);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    let command = claim(1, at(0), 9);
    let claimed = held.claimed(command.clone());
    let signing = |claimed: &[engine::commands::ClaimedMatch]| -> Vec<Vec<SigningRow>> {
        claimed.iter().map(|claimed| claimed.signing.clone()).collect()
    };
    // Match 3 is played by bots 1 and 2, match 4 by 1 and 3.
    let mut got = signing(&claimed);
    got.iter_mut().for_each(|rows| rows.sort_unstable_by_key(|row| row.bot));
    let (one, three) = (signed(1, 1, 1, UnixMs(0)), signed(3, 1, 1, UnixMs(0)));
    assert_eq!(got, [vec![one], vec![one, three]]);
    assert_eq!(signing(&held.claimed(command)), signing(&claimed), "a repeated claim says the same");
}

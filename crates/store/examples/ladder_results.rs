//! A store with ladders of known bots and as many results as are asked for, none of which is rated yet: a server that is started on it
//! rates them. Accounts, bots, ladders and entries are made by the store's own commands; results are recorded in the rows that the ends
//! of their matches would have written, without the matches. Run by `bench/ratings-size.sh`.

use engine::commands::{Advance, Command, CompetitionCommand, LadderCommand, Outcome};
use engine::competitions::{
    CompetitionKind, CompetitionResult, CompetitionRow, CompetitionStatus, ResultSummary, SeatSummary,
};
use engine::ids::{AccountId, BotId, CompetitionId, EntryId, MatchId};
use engine::ladders::definition::LadderDefinition;
use engine::ladders::season::SeasonEnd;
use engine::limits::{LADDER_ENTRIES_MAX, LADDER_ENTRIES_PER_ACCOUNT_MAX};
use engine::matches::lifecycle::MatchState;
use engine::rows::{Account, Bot};
use engine::time::UnixMs;
use std::error::Error;
use store::postgres::PostgresDatabase;
use store::sqlite::SqliteDatabase;
use store::testing::RecordUnplayed;
use store::{Backend, Database};

/// Bots of the busy ladder, which has eight of ten results.
const BUSY_BOTS: u64 = 1_000;
/// Bots of each small ladder, which together have one of ten results.
const SMALL_BOTS: u64 = 100;
const SMALL_LADDERS: u64 = 8;
/// The ladder with as many entries as a ladder may have comes last, with the rest of the results.
const LADDERS: u64 = SMALL_LADDERS + 2;
const CROWDED: u64 = LADDERS - 1;
const SEATS: u64 = 4;
const COMMANDS_AT_ONCE: usize = 1_000;
const RESULTS_AT_ONCE: usize = 10_000;
/// Results come so far from each other, in milliseconds.
const INTERVAL_MS: u64 = 100;
const T0: UnixMs = UnixMs(1_700_000_000_000);

/// The n-th number of a sequence that jumps about (splitmix64).
fn scattered(n: u64) -> u64 {
    let mut mixed = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Ids rise with time in their upper half, as real ones do.
fn id(kind: u64, n: u64) -> u128 {
    u128::from(T0.0 as u64 + n) << 80 | u128::from(kind) << 64 | u128::from(scattered(kind << 32 | n))
}

fn account(n: u64) -> AccountId {
    AccountId(id(1, n / LADDER_ENTRIES_PER_ACCOUNT_MAX as u64))
}

fn bot(n: u64) -> BotId {
    BotId(id(2, n))
}

fn ladder(n: u64) -> CompetitionId {
    CompetitionId(id(3, n))
}

/// Ladders share their bots: each has the first ones.
fn bots_of(ladder: u64) -> u64 {
    match ladder {
        0 => BUSY_BOTS,
        CROWDED => LADDER_ENTRIES_MAX as u64,
        _ => SMALL_BOTS,
    }
}

/// The ladder that has the n-th result of all.
fn ladder_of(n: u64) -> u64 {
    match n % 10 {
        0 => CROWDED,
        1 => 1 + n / 10 % SMALL_LADDERS,
        _ => 0,
    }
}

/// The n-th result of all: of four different bots; the lower a bot's number, the better it mostly is.
fn result(n: u64, bots: u64) -> CompetitionResult {
    let mut seats: Vec<(u64, u64)> = Vec::with_capacity(SEATS as usize);
    for draw in 0.. {
        let number = scattered(n * 64 + draw) % bots;
        if seats.iter().all(|(known, _)| *known != number) {
            seats.push((number, number * 2 + scattered(n * 64 + 32 + draw) % bots));
        }
        if seats.len() == SEATS as usize {
            break;
        }
    }
    let seat = |&(number, performance): &(u64, u64)| SeatSummary {
        bot: bot(number),
        place: 1 + seats.iter().filter(|(_, other)| *other < performance).count() as u8,
        cause: None,
        food_eaten: (scattered(n ^ number) % 30) as u32,
        is_silent: false,
    };
    CompetitionResult {
        number: 0,
        match_id: MatchId(id(4, n * INTERVAL_MS)),
        key: n,
        ended_at: UnixMs(T0.0 + (n * INTERVAL_MS) as i64),
        ending: MatchState::Finished,
        summary: ResultSummary { turns: 100, seats: seats.iter().map(seat).collect(), ..ResultSummary::default() },
    }
}

fn commit(writer: &mut dyn Backend, commands: &[Command]) -> Result<(), Box<dyn Error>> {
    for commands in commands.chunks(COMMANDS_AT_ONCE) {
        let outcomes = writer.commit(commands)?;
        let is_done =
            |outcome: &&Outcome| matches!(outcome, Outcome::Done | Outcome::Account(_) | Outcome::LadderEntry(_));
        if let Some(other) = outcomes.iter().find(|outcome| !is_done(outcome)) {
            return Err(format!("a command came to {other:?}").into());
        }
    }
    Ok(())
}

fn make_bots() -> Vec<Command> {
    let accounts = (0..LADDER_ENTRIES_MAX as u64)
        .step_by(LADDER_ENTRIES_PER_ACCOUNT_MAX)
        .map(|n| Command::EnsureAccount(Account { id: account(n), name: format!("account {n}"), created_at: T0 }));
    let bots = (0..LADDER_ENTRIES_MAX as u64).map(|n| {
        let (id, name, url) = (bot(n), format!("bot {n}"), format!("http://192.0.2.1/{n}"));
        Command::CreateBot(Bot { id, account: account(n), name, url, is_public: true, created_at: T0, updated_at: T0 })
    });
    accounts.chain(bots).collect()
}

/// Ladders end before a server sees them: it rates their results, and begins no games.
fn make_ladder(n: u64) -> Vec<Command> {
    let (definition, name) = (LadderDefinition::standard().encode(), format!("ladder {n}"));
    let row = CompetitionRow::new(ladder(n), CompetitionKind::Ladder, account(0), name, definition, T0);
    let row = CompetitionRow { status: CompetitionStatus::Running, ..row };
    let create = Command::Competition(CompetitionCommand::Create {
        row: row.clone(),
        live_max: LADDERS as usize,
        idempotency: None,
    });
    let enter = |number: u64| {
        let (entry, bot, account) = (EntryId(id(5 + n, number)), bot(number), account(number));
        Command::Ladder(LadderCommand::Enter { ladder: row.id, entry, bot, account, now: T0 })
    };
    let end = SeasonEnd { season: 1, last_result: 0, ended_at: T0, is_last: true };
    let end = Advance { entries: vec![end.encode()], status: CompetitionStatus::Finished, ..Advance::of(&row, T0) };
    let end = Command::Ladder(LadderCommand::EndSeason(end));
    std::iter::once(create).chain((0..bots_of(n)).map(enter)).chain([end]).collect()
}

fn fill(database: &(impl Database + RecordUnplayed), results: u64) -> Result<(), Box<dyn Error>> {
    let mut writer = database.writer()?;
    commit(&mut *writer, &make_bots())?;
    for n in 0..LADDERS {
        commit(&mut *writer, &make_ladder(n))?;
    }
    drop(writer);
    for n in 0..LADDERS {
        let mut portion = Vec::with_capacity(RESULTS_AT_ONCE);
        for number in (0..results).filter(|number| ladder_of(*number) == n) {
            portion.push(result(number, bots_of(n)));
            if portion.len() == RESULTS_AT_ONCE {
                database.record_unplayed(ladder(n), &portion)?;
                portion.clear();
            }
        }
        database.record_unplayed(ladder(n), &portion)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let usage =
        "usage: ladder_results STORE RESULTS, where STORE is a new file or the address of an empty PostgreSQL database";
    let (Some(place), Some(results)) = (args.next(), args.next()) else { return Err(usage.into()) };
    let results = results.parse()?;
    if place.starts_with("postgres://") {
        fill(&PostgresDatabase::new(&place)?, results)?;
    } else {
        fill(&SqliteDatabase::new(&place), results)?;
    }
    let named = |n: u64, at: u64| format!("{} {} {}", ladder(n), bot(at), bots_of(n));
    println!("busy {}", named(0, BUSY_BOTS / 2));
    println!("crowded {}", named(CROWDED, LADDER_ENTRIES_MAX as u64 / 2));
    Ok(())
}

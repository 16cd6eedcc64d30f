//! A SQLite file with a million ended games and 12,000 running ones, filled through the store's own writer: how long
//! filling takes, how the queries of players are executed, and how long each takes. Run by `bench/stories-million.sh`.

use engine::commands::{Command, IndexChange, OpenTable, Outcome, TableAppend, TableSnapshot};
use engine::ids::{GameId, PlayerId, TableId, WorkerId};
use engine::rows::{GameCursor, GameRole, GameRow, TableLogRow};
use engine::tables::Phase;
use engine::time::UnixMs;
use rules::chance::Seed;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use store::sqlite::SqliteDatabase;
use store::{Backend, Database, PlayerGamesFilter, Reader, StoreError};

/// Running games.
const LIVE: u64 = 12_000;
/// Commands of one commit while filling.
const GROUP: u64 = 500;
/// Every so many games has its six seats taken; the others have their storyteller alone.
const FULL_EVERY: u64 = 4;
/// Every so many games is one of the same player's.
const BUSY_EVERY: u64 = 10;
const BUSY: PlayerId = PlayerId(1);
/// Sizes of an entry, a base and a record, in bytes: those of a game that was played to its end.
const ENTRY_BYTES: usize = 60;
const BASE_BYTES: usize = 250;
const RECORD_BYTES: usize = 500;
const PAGE: usize = 20;
/// Queries of one kind.
const ASKED: u64 = 2_000;
const T0: UnixMs = UnixMs(1_700_000_000_000);

struct World {
    games: u64,
    worker: WorkerId,
}

/// The n-th number of a sequence that jumps about (splitmix64).
fn scattered(n: u64) -> u64 {
    let mut mixed = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Ids of tables rise with time, as real ones do.
fn table(n: u64) -> TableId {
    TableId(u128::from(n) << 74 | u128::from(scattered(n)) | 1 << 78)
}

fn game_id(n: u64) -> GameId {
    GameId { table: table(n), number: 1 }
}

fn created_at(n: u64) -> UnixMs {
    UnixMs(T0.0 + n as i64)
}

fn game(n: u64, phase: Phase, ended_at: Option<UnixMs>) -> GameRow {
    GameRow {
        id: game_id(n),
        storyteller: storyteller(n),
        storyteller_name: Some("Ann".to_owned()),
        phase,
        sentence: Some("Every winter the house remembers another stair".to_owned()),
        players: if n.is_multiple_of(FULL_EVERY) { 6 } else { 1 },
        players_max: 6,
        created_at: created_at(n),
        ended_at,
    }
}

fn player(n: u64) -> PlayerId {
    PlayerId(u128::from(scattered(n % 100_000)) << 20 | 2)
}

fn storyteller(n: u64) -> PlayerId {
    if n.is_multiple_of(BUSY_EVERY) { BUSY } else { player(n) }
}

/// The storyteller, and five others.
fn seated(n: u64) -> Vec<PlayerId> {
    let others = (1..6).map(|other| player(scattered(n * 6 + other)));
    std::iter::once(storyteller(n)).chain(others).collect()
}

impl World {
    fn lease(&self) -> Command {
        let until = UnixMs(i64::MAX);
        Command::RenewLease { worker: self.worker, address: "here:1".to_owned(), now: T0, until }
    }

    fn entry(n: u64, version: u32, index: Vec<IndexChange>) -> TableAppend {
        let rows = vec![TableLogRow { version, bytes: vec![version as u8; ENTRY_BYTES] }];
        TableAppend {
            id: table(n),
            epoch: 1,
            expected_version: version,
            rows,
            index_changes: index,
            snapshot: None,
            is_live: true,
        }
    }

    fn opening(&self, n: u64) -> Command {
        let seat = |player, role| IndexChange::UpsertSeat { game: game_id(n), player, role };
        let mut index =
            vec![IndexChange::UpsertGame(game(n, Phase::Create, None)), seat(storyteller(n), GameRole::Storyteller)];
        if n.is_multiple_of(FULL_EVERY) {
            index.extend(seated(n).into_iter().skip(1).map(|player| seat(player, GameRole::Player)));
        }
        let base = Some(TableSnapshot { version: 0, bytes: vec![0; ENTRY_BYTES] });
        let append = TableAppend { snapshot: base, ..Self::entry(n, 0, index) };
        Command::OpenTable(OpenTable { worker: self.worker, now: T0, idempotency: None, append })
    }

    /// The game ends and its table falls asleep: one that was full is complete, the others are canceled.
    fn end(&self, n: u64) -> Command {
        let seated = if n.is_multiple_of(FULL_EVERY) { seated(n) } else { Vec::new() };
        let phase = if seated.is_empty() { Phase::Canceled } else { Phase::Complete };
        let row = game(n, phase, Some(UnixMs(created_at(n).0 + 60_000)));
        let (record, winners) = (vec![n as u8; RECORD_BYTES], seated.iter().take(3).copied().collect());
        let mut index =
            vec![IndexChange::UpsertGame(row), IndexChange::ArchiveGame { game: game_id(n), record, winners }];
        index.extend(seated.into_iter().map(|player| IndexChange::Award { player, points: 5, seed: Seed(n) }));
        let base = Some(TableSnapshot { version: 2, bytes: vec![0; BASE_BYTES] });
        Command::AppendTable(TableAppend { snapshot: base, is_live: false, ..Self::entry(n, 1, index) })
    }

    fn release(&self, n: u64) -> Command {
        Command::ReleaseTable { id: table(n), epoch: 1 }
    }
}

fn done(writer: &mut dyn Backend, commands: &[Command]) -> Result<Duration, Box<dyn Error>> {
    let began = Instant::now();
    let outcomes = writer.commit(commands)?;
    let took = began.elapsed();
    match outcomes.iter().find(|outcome| **outcome != Outcome::Done) {
        None => Ok(took),
        Some(other) => Err(format!("a command came to {other:?}").into()),
    }
}

fn as_us_each(took: Duration, count: u64) -> f64 {
    took.as_secs_f64() * 1e6 / count.max(1) as f64
}

fn fill(world: &World, writer: &mut dyn Backend) -> Result<(), Box<dyn Error>> {
    done(writer, &[world.lease()])?;
    let (mut opening, mut ending) = (Duration::ZERO, Duration::ZERO);
    let all = world.games + LIVE;
    for first in (0..all).step_by(GROUP as usize) {
        let group = first..all.min(first + GROUP);
        opening += done(writer, &group.clone().map(|n| world.opening(n)).collect::<Vec<_>>())?;
        let over: Vec<u64> = group.filter(|n| *n < world.games).collect();
        let ends = over.iter().map(|n| world.end(*n));
        ending += done(writer, &ends.chain(over.iter().map(|n| world.release(*n))).collect::<Vec<_>>())?;
        if first.is_multiple_of(100_000) {
            eprint!("\r{first} of {all}");
            std::io::stderr().flush()?;
        }
    }
    eprintln!();
    println!("filled: {} ended games, {LIVE} live; groups of {GROUP}, each commit on the disk", world.games);
    println!(
        "an opening {:.0} us, an end with its table's falling asleep {:.0} us",
        as_us_each(opening, all),
        as_us_each(ending, world.games)
    );
    Ok(())
}

/// Runs a query many times, each with another argument, and prints the times.
fn time(name: &str, queries: u64, mut query: impl FnMut(u64) -> Result<usize, StoreError>) -> Result<(), StoreError> {
    let mut times = Vec::new();
    let mut rows = 0;
    for n in 0..queries {
        let began = Instant::now();
        rows += query(scattered(n))?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let at = |share: f64| as_us_each(times[((times.len() - 1) as f64 * share) as usize], 1);
    let rows = rows as f64 / queries as f64;
    println!("{name:<44} {rows:>7.1} {:>9.0} {:>9.0} {:>9.0}", at(0.5), at(0.99), at(1.0));
    Ok(())
}

fn measure_reads(world: &World, reader: &mut dyn Reader) -> Result<(), StoreError> {
    let ended = |n: u64| n % world.games;
    let live = |n: u64| world.games + n % LIVE;
    let created = |n: u64| Some(GameCursor { at: created_at(n), id: game_id(n) });
    let of = |player, is_ended, before| PlayerGamesFilter { player, is_ended, before, limit: PAGE };
    println!("{:<44} {:>7} {:>9} {:>9} {:>9}", "question", "rows", "p50 us", "p99 us", "max us");
    time("state of an ended game, with its record", ASKED, |n| {
        Ok(reader.story_game(game_id(ended(n)))?.map_or(0, |_| 1))
    })?;
    time("state of a live game", ASKED, |n| Ok(reader.story_game(game_id(live(n)))?.map_or(0, |_| 1)))?;
    time("owner of a table", ASKED, |n| Ok(reader.table_owner(table(live(n)), T0)?.map_or(0, |_| 1)))?;
    time("live games of a player", ASKED, |n| Ok(reader.story_games_of(&of(player(n), false, None))?.len()))?;
    time("ended games of a player", ASKED, |n| Ok(reader.story_games_of(&of(player(n), true, None))?.len()))?;
    time("ended games of the busiest player, first page", ASKED, |_| {
        Ok(reader.story_games_of(&of(BUSY, true, None))?.len())
    })?;
    time("ended games of the busiest player, any page", ASKED, |n| {
        Ok(reader.story_games_of(&of(BUSY, true, created(ended(n))))?.len())
    })?;
    time("lobby, first page", ASKED, |_| Ok(reader.story_lobby(None, PAGE)?.len()))?;
    time("lobby, any page", ASKED, |n| Ok(reader.story_lobby(created(live(n)), PAGE)?.len()))?;
    time("history, first page", ASKED, |_| Ok(reader.story_history(None, PAGE)?.len()))?;
    time("history, any page", ASKED, |n| {
        let cursor = GameCursor { at: UnixMs(created_at(ended(n)).0 + 60_000), id: game_id(ended(n)) };
        Ok(reader.story_history(Some(cursor), PAGE)?.len())
    })?;
    let six = |n: u64| (0..6).map(|k| player(n.wrapping_add(k))).collect::<Vec<_>>();
    time("standings of six", ASKED, |n| Ok(reader.standings(&six(n))?.len()))
}

/// What a busy second writes, with its claims and retirements.
fn write(world: &World, writer: &mut dyn Backend) -> Result<(), Box<dyn Error>> {
    let new = world.games + LIVE..world.games + LIVE + 1_000;
    let opened = done(writer, &new.clone().map(|n| world.opening(n)).collect::<Vec<_>>())?;
    let ended = done(writer, &new.map(|n| world.end(n)).collect::<Vec<_>>())?;
    println!(
        "1,000 openings {:.1} ms, 1,000 ends {:.1} ms, a commit each",
        as_us_each(opened, 1_000),
        as_us_each(ended, 1_000)
    );
    let successor = World { worker: WorkerId(8), ..*world };
    done(writer, &[Command::EndLease { worker: world.worker }, successor.lease()])?;
    let claim = Command::ClaimTables { worker: successor.worker, number: 1, now: T0, max: 1_000 };
    let began = Instant::now();
    match writer.commit(&[claim])?.first() {
        Some(Outcome::TablesClaimed(tables)) => {
            println!(
                "{} live tables taken over from a lost owner in {:.1} ms",
                tables.len(),
                as_us_each(began.elapsed(), 1_000)
            );
        }
        other => return Err(format!("a claim came to {other:?}").into()),
    }
    let began = Instant::now();
    let retire = Command::RetireGames {
        now: UnixMs(i64::MAX),
        keep_for: Some(Duration::ZERO),
        keep_answers_for: Duration::ZERO,
        max: 1_000,
    };
    let retired = writer.commit(&[retire])?;
    println!("1,000 games forgotten with their tables in {:.1} ms: {retired:?}", as_us_each(began.elapsed(), 1_000));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: stories_million FILE [GAMES], where FILE does not exist yet";
    let file = args.next().ok_or(usage)?;
    let games = args.next().map_or(Ok(1_000_000), |games| games.parse())?;
    if games == 0 || Path::new(&file).exists() {
        return Err(usage.into());
    }
    let database = SqliteDatabase::new(&file);
    let mut writer = database.writer()?;
    let world = World { games, worker: WorkerId(7) };
    fill(&world, &mut *writer)?;
    println!("the file takes {} MiB\n", std::fs::metadata(&file)?.len() >> 20);
    for (name, steps) in database.story_query_plans()? {
        println!("{name:<28} {}", steps.join("; "));
    }
    println!();
    measure_reads(&world, &mut *database.reader()?)?;
    println!();
    write(&world, &mut *writer)
}

//! The official maps, held against laws that are written down a second time, from the board alone: what may change on it in a turn.
//!
//! Our own games keep them in every run of the tests. Games of the official program keep them when `MAPS_TRANSCRIPTS` names a folder
//! with the files that its `--output` writes; `bench/maps-oracle.sh` plays and checks them
//! (`docs/decisions/0050-maps-are-held-against-the-official-program.md`). In both, the rules of every turn are played by our rule book,
//! and hazards without chance are those that it says.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails its test")]

mod food;
mod games;
mod hazards;
mod maze;
mod pictures;
mod referee;
mod start;
mod transcript;

use games::{Setting, own_game};
use referee::{Game, Tally, referee};
use rules::snake::{BoardSizes, Map};
use std::collections::BTreeMap;
use std::path::Path;

/// What was seen, by map and board.
type Tallies = BTreeMap<(&'static str, u8, u8), Tally>;

#[track_caller]
fn check(game: &Game, tallies: &mut Tallies) {
    let first = &game.frames[0];
    let tally = tallies.entry((game.rules.map.name(), first.width, first.height)).or_default();
    if let Err(reason) = referee(game, tally) {
        panic!("{} on {}x{}, {}: {reason}", game.rules.map.name(), first.width, first.height, game.name);
    }
}

fn some_sizes(map: Map) -> Vec<(u8, u8)> {
    match map.sizes() {
        BoardSizes::Only(sizes) => sizes.to_vec(),
        BoardSizes::OddSquares => vec![(7, 7), (11, 11), (19, 19)],
        BoardSizes::OddSides => vec![(7, 7), (11, 11), (13, 9)],
    }
}

#[test]
fn our_games_keep_the_laws() {
    let mut tallies = Tallies::new();
    for map in Map::ALL {
        for (width, height) in some_sizes(map) {
            // Large boards take their time: on them only games of the most snakes and of two.
            let seeds = if u16::from(width) * u16::from(height) > 121 { 1..3 } else { 0..4 };
            for seed in seeds {
                check(&own_game(&Setting::of(map, width, height, seed)), &mut tallies);
            }
        }
    }
    check_branches(&tallies);
}

/// The first turns of a game of the official program. In the last of them eleven of fourteen snakes die: there are more moves that they may
/// have died of than can be tried one after the other.
#[test]
fn a_turn_in_which_most_snakes_die_is_decided() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/maps/crowded.jsonl");
    check(&transcript::read(&file), &mut Tallies::new());
}

/// A change that no rule makes is noticed, whatever the map: each row alters one frame of a good game.
#[test]
fn a_broken_law_is_noticed() {
    use rules::snake::Point;
    let games = Map::ALL.map(|map| {
        let (width, height) = some_sizes(map)[0];
        (map, own_game(&Setting::of(map, width, height, 1)))
    });
    let check = |name: &str, alter: &dyn Fn(&mut referee::Frame)| {
        for (map, game) in &games {
            let mut game = game.clone();
            let middle = game.frames.len() / 2;
            alter(&mut game.frames[middle]);
            assert!(referee(&game, &mut Tally::default()).is_err(), "{} with {name}", map.name());
        }
    };
    check("one hazard more", &|frame| frame.hazards.push(Point::new(3, 3)));
    check("a hazard beside the board", &|frame| frame.hazards.push(Point::new(-1, 3)));
    check("two food more", &|frame| frame.food.extend([Point::new(0, 0), Point::new(0, 0)]));
    check("a snake that lost two health", &|frame| {
        if let Some((health, _)) = frame.snakes.iter_mut().flatten().next() {
            *health -= 2;
        }
    });
    check("a snake that moved twice", &|frame| {
        if let Some((_, body)) = frame.snakes.iter_mut().flatten().next() {
            body[0].x += 2;
        }
    });
    check("the turn before", &|frame| frame.turn -= 1);
}

/// Games of the official program, where `MAPS_TRANSCRIPTS` names a folder of them; each file is one game.
#[test]
fn official_games_keep_the_laws() {
    let Some(folder) = std::env::var_os("MAPS_TRANSCRIPTS") else { return };
    let tallies = check_files(Path::new(&folder));
    check_branches(&tallies);
    check_boards(&tallies);
}

/// A few games of one snake, which are no sample of what a map can do.
#[test]
fn official_games_of_one_snake_keep_the_laws() {
    let Some(folder) = std::env::var_os("MAPS_SOLO_TRANSCRIPTS") else { return };
    check_files(Path::new(&folder));
}

#[track_caller]
fn check_files(folder: &Path) -> Tallies {
    let mut tallies = Tallies::new();
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    assert!(!files.is_empty(), "no *.jsonl in {}", folder.display());
    for file in &files {
        check(&transcript::read(file), &mut tallies);
    }
    for ((map, width, height), tally) in &tallies {
        println!("| {map} | {width}x{height} | {} |", tally.cells());
    }
    tallies
}

/// On every board of a map whose hazards come and go by its rules, they must have: what one board does says nothing about another.
#[track_caller]
fn check_boards(tallies: &Tallies) {
    let mut idle = Vec::new();
    for ((map, width, height), tally) in tallies {
        let missing = tally.hazards_missing(Map::from_name(map).unwrap());
        idle.extend(missing.into_iter().map(|what| format!("{map} on {width}x{height}: no game came to {what}")));
    }
    assert!(idle.is_empty(), "{}", idle.join("; "));
}

#[test]
fn a_board_whose_hazards_never_acted_is_noticed() {
    let game = own_game(&Setting::of(Map::Royale, 11, 11, 1));
    let mut tallies = Tallies::new();
    check(&game, &mut tallies);
    check_boards(&tallies);
    tallies.insert((Map::Royale.name(), 7, 7), Tally::default());
    assert!(std::panic::catch_unwind(|| check_boards(&tallies)).is_err());
}

/// Every branch of a map has to be walked by some game: a law that is never applied proves nothing.
#[track_caller]
fn check_branches(tallies: &Tallies) {
    let mut by_map: BTreeMap<&str, Tally> = BTreeMap::new();
    for ((map, ..), tally) in tallies {
        by_map.entry(map).or_default().add(tally);
    }
    for (map, tally) in &by_map {
        let missing = tally.branches_missing(Map::from_name(map).unwrap());
        assert!(missing.is_empty(), "map {map}: no game came to {}", missing.join(", "));
        if let Err(reason) = tally.food_rate(Map::from_name(map).unwrap()) {
            panic!("map {map}: {reason}");
        }
    }
}

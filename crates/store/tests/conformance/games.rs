//! Games of tables: the lists that follow from logs, records, standings, and how old ones are deleted.

use crate::fixtures::*;
use crate::stories::*;
use engine::commands::{Command, IndexChange, Outcome, TableAppend};
use engine::rows::{GameCursor, GameRole, GameRow, TableOwner};
use engine::tables::{Phase, Standing};
use rules::chance::Seed;
use store::Database;

use GameRole::{Invited, Player, Storyteller};

pub(crate) fn a_game_is_read_back_as_it_was_written(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.open_tables(&[1]);
    assert_eq!(held.reader.story_game(game_id(1, 1)), Ok(Some((game(1, 1), None))));
    assert_eq!(held.reader.story_game(game_id(1, 2)), Ok(None));
    let with_story = GameRow {
        storyteller: player_id(4),
        storyteller_name: Some("Ben".to_owned()),
        sentence: Some("a\0b".to_owned()),
        players: 3,
        players_max: 4,
        created_at: at(7_777),
        ..in_phase(game(1, 1), Phase::Vote, None)
    };
    held.assert_outcome(entry_with(1, 2, vec![IndexChange::UpsertGame(with_story.clone())]), Outcome::Done);
    let GameRow { created_at, storyteller_name, .. } = game(1, 1);
    let kept = GameRow { created_at, storyteller_name, sentence: Some("a b".to_owned()), ..with_story };
    assert_eq!(
        held.reader.story_game(game_id(1, 1)),
        Ok(Some((kept, None))),
        "all but its age and the name on it can change"
    );
    for (at_version, phase) in (3..).zip(Phase::ALL) {
        let ended_at = (!phase.is_live()).then(|| at(900));
        let row = GameRow { sentence: None, ..in_phase(game(1, 1), phase, ended_at) };
        held.assert_outcome(entry_with(1, at_version, vec![IndexChange::UpsertGame(row.clone())]), Outcome::Done);
        assert_eq!(held.reader.story_game(game_id(1, 1)), Ok(Some((row, None))), "{phase:?}");
    }
    let strange = GameRow { storyteller_name: Some("B\0n".to_owned()), ..game(1, 2) };
    held.assert_outcome(entry_with(1, 8, vec![IndexChange::UpsertGame(strange.clone())]), Outcome::Done);
    let kept = GameRow { storyteller_name: Some("B n".to_owned()), ..strange };
    assert_eq!(held.reader.story_game(game_id(1, 2)), Ok(Some((kept, None))));
}

/// Tables 1 to 4 with one game each; the last opened is that of table 4.
fn four(database: &dyn Database) -> StoreFixture {
    let mut held = StoreFixture::new(database);
    held.open_tables(&[1, 2, 3, 4]);
    held
}

pub(crate) fn the_lobby_has_free_seats(database: &dyn Database) {
    let mut held = four(database);
    assert_eq!(held.lobby(None, 9), [(4, 1), (3, 1), (2, 1), (1, 1)]);
    let third = GameCursor::by_creation(&game(3, 1));
    assert_eq!(held.lobby(Some(third), 1), [(2, 1)]);
    assert_eq!(held.lobby(None, 0), []);
    let full = GameRow { players: 6, ..game(1, 1) };
    held.assert_outcome(entry_with(1, 2, vec![IndexChange::UpsertGame(full)]), Outcome::Done);
    held.assert_outcome(
        entry_with(2, 2, vec![IndexChange::UpsertGame(in_phase(game(2, 1), Phase::Vote, None))]),
        Outcome::Done,
    );
    held.assert_outcome(
        entry_with(3, 2, vec![IndexChange::UpsertGame(in_phase(game(3, 1), Phase::Create, None))]),
        Outcome::Done,
    );
    assert_eq!(held.lobby(None, 9), [(4, 1), (3, 1)]);
    held.assert_outcome(
        entry_with(1, 3, vec![IndexChange::UpsertGame(GameRow { players: 5, ..game(1, 1) })]),
        Outcome::Done,
    );
    assert_eq!(held.lobby(Some(third), 9), [(1, 1)], "a player left");
    let gone = in_phase(game(4, 1), Phase::Canceled, Some(at(500)));
    held.assert_outcome(entry_with(4, 2, vec![IndexChange::UpsertGame(gone)]), Outcome::Done);
    assert_eq!(held.lobby(None, 9), [(3, 1), (1, 1)]);
}

pub(crate) fn players_find_their_own_games(database: &dyn Database) {
    let mut held = four(database);
    let (one, two, three) = (game_id(1, 1), game_id(2, 1), game_id(3, 1));
    held.assert_outcome(entry_with(1, 2, vec![seat(one, 2, Invited), seat(one, 3, Player)]), Outcome::Done);
    held.assert_outcome(entry_with(2, 2, vec![seat(two, 2, Player)]), Outcome::Done);
    held.assert_outcome(entry_with(3, 2, vec![seat(three, 2, Player), seat(three, 3, Player)]), Outcome::Done);
    assert_eq!(held.games_of(&seats_of(2, false, None, 9)), [(3, 1), (2, 1), (1, 1)]);
    assert_eq!(held.games_of(&seats_of(2, false, None, 1)), [(3, 1)]);
    let second = GameCursor::by_creation(&game(2, 1));
    assert_eq!(held.games_of(&seats_of(2, false, Some(second), 9)), [(1, 1)]);
    assert_eq!(held.games_of(&seats_of(3, false, None, 9)), [(3, 1), (1, 1)]);
    assert_eq!(held.games_of(&seats_of(2, true, None, 9)), []);
    held.assert_outcome(entry_with(1, 3, vec![seat(one, 2, Player)]), Outcome::Done);
    held.assert_outcome(entry_with(2, 3, vec![unseat(two, 2), unseat(two, 9)]), Outcome::Done);
    let seats = held.reader.story_games_of(&seats_of(2, false, None, 9)).expect("the store is there");
    let seats: Vec<_> = seats.into_iter().map(|seated| (seated.game.id, seated.role, seated.is_won)).collect();
    assert_eq!(seats, [(three, Player, None), (one, Player, None)]);
    let of_one = held.reader.story_games_of(&seats_of(1, false, None, 1)).expect("the store is there");
    assert_eq!((&of_one[0].game, of_one[0].role), (&game(4, 1), Storyteller));
}

pub(crate) fn an_end_appears_in_every_list(database: &dyn Database) {
    let mut held = four(database);
    let one = game_id(1, 1);
    let seats = vec![seat(one, 2, Player), seat(one, 3, Player), seat(one, 4, Invited)];
    held.assert_outcome(entry_with(1, 2, seats), Outcome::Done);
    let ended = in_phase(game(1, 1), Phase::Complete, Some(at(700)));
    held.assert_outcome(
        entry_with(1, 3, vec![IndexChange::UpsertGame(ended.clone()), archive(one, &[2, 8])]),
        Outcome::Done,
    );
    assert_eq!(held.reader.story_game(one), Ok(Some((ended.clone(), Some(vec![0xac, 1])))));
    assert_eq!(held.lobby(None, 9), [(4, 1), (3, 1), (2, 1)]);
    let mut check = |player, role, is_won| {
        let seats = held.reader.story_games_of(&seats_of(player, true, None, 9)).expect("the store is there");
        let seats: Vec<_> = seats.into_iter().map(|seated| (seated.game, seated.role, seated.is_won)).collect();
        assert_eq!(seats, [(ended.clone(), role, Some(is_won))], "player {player}");
    };
    check(1, Storyteller, false);
    check(2, Player, true);
    check(3, Player, false);
    assert_eq!(held.games_of(&seats_of(2, false, None, 9)), []);
    for is_ended in [true, false] {
        assert_eq!(held.games_of(&seats_of(4, is_ended, None, 9)), [], "who was only invited has no part in it");
        assert_eq!(held.games_of(&seats_of(8, is_ended, None, 9)), [], "winning alone is no seat");
    }
}

pub(crate) fn the_history_goes_by_ends(database: &dyn Database) {
    let mut held = four(database);
    for (table, ended_at) in [(1, 30), (2, 10), (3, 20), (4, 20)] {
        let row = in_phase(game(table, 1), Phase::Complete, Some(at(ended_at)));
        held.assert_outcome(entry_with(table, 2, vec![IndexChange::UpsertGame(row)]), Outcome::Done);
    }
    assert_eq!(held.history(None, 9), [(1, 1), (4, 1), (3, 1), (2, 1)]);
    let cursor = |table, ended_at| GameCursor { at: at(ended_at), id: game_id(table, 1) };
    assert_eq!(held.history(Some(cursor(4, 20)), 9), [(3, 1), (2, 1)], "two ended in one millisecond");
    assert_eq!(held.history(Some(cursor(2, 10)), 9), []);
    assert_eq!(held.history(Some(cursor(9, 20)), 1), [(4, 1)], "the cursor's game need not exist");
}

pub(crate) fn games_of_one_table_follow_each_other(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.open_tables(&[1]);
    let ended = in_phase(game(1, 1), Phase::Canceled, Some(at(150)));
    // Given in any order: games first, seats then, ends last.
    let next = vec![
        archive(game_id(1, 1), &[]),
        seat(game_id(1, 2), 2, Storyteller),
        seat(game_id(1, 9), 2, Player),
        archive(game_id(1, 9), &[2]),
        unseat(game_id(1, 9), 2),
        IndexChange::UpsertGame(ended),
        IndexChange::UpsertGame(game(1, 2)),
    ];
    held.assert_outcome(entry_with(1, 2, next), Outcome::Done);
    assert_eq!(held.games_of(&seats_of(1, true, None, 9)), [(1, 1)]);
    assert_eq!(held.games_of(&seats_of(2, false, None, 9)), [(1, 2)], "a seat of an unknown game is none");
    assert_eq!(held.reader.story_game(game_id(1, 9)), Ok(None));
    // Seats change in the order given, also in one batch.
    let two = game_id(1, 2);
    let outcomes = held.commit(&[
        entry_with(1, 3, vec![seat(two, 3, Invited), unseat(two, 3), seat(two, 3, Player), unseat(two, 2)]),
        entry_with(1, 4, vec![unseat(two, 3), seat(two, 2, Player)]),
        entry_with(1, 5, vec![seat(two, 3, Invited)]),
    ]);
    assert_eq!(outcomes, [Outcome::Done, Outcome::Done, Outcome::Done]);
    let mut role = |player| {
        let seats = held.reader.story_games_of(&seats_of(player, false, None, 9)).expect("the store is there");
        seats.first().map(|seated| seated.role)
    };
    assert_eq!((role(2), role(3)), (Some(Player), Some(Invited)));
}

pub(crate) fn awards_add_up(database: &dyn Database) {
    let mut held = four(database);
    assert_eq!(held.reader.standings(&[player_id(1)]), Ok(vec![]));
    held.assert_outcome(entry_with(1, 2, vec![award(1, 12), award(2, 1)]), Outcome::Done);
    // Two tables end in one batch, and both know the player only as before.
    let outcomes = held.commit(&[
        entry_with(2, 2, vec![award(1, 300)]),
        entry_with(3, 2, vec![award(1, 7), award(1, 0)]),
        entry_with(3, 2, vec![award(1, 1_000)]),
    ]);
    assert_eq!(outcomes, [Outcome::Done, Outcome::Done, Outcome::VersionConflict(3)]);
    let scored = |awards: &[u32]| {
        awards.iter().fold(Standing::default(), |standing, points| standing.award(*points, Seed((*points).into())))
    };
    let (first, second) = (scored(&[12, 300, 7, 0]), scored(&[1]));
    assert!(first.earned.len() > 3 && first.score == 319, "the cards are those of the sum");
    let ids = [player_id(2), player_id(9), player_id(1), player_id(1)];
    assert_eq!(held.reader.standings(&ids), Ok(vec![(player_id(1), first), (player_id(2), second)]));
    assert_eq!(held.reader.standings(&[]), Ok(vec![]));
}

/// Games of tables 1 to 4 have ended: at 30, 10, 20 and 20; nothing is live any more, and nothing is owned.
fn four_ended(database: &dyn Database) -> StoreFixture {
    let mut held = four(database);
    for (table, ended_at) in [(1, 30), (2, 10), (3, 20), (4, 20)] {
        let row = in_phase(game(table, 1), Phase::Complete, Some(at(ended_at)));
        let index = vec![IndexChange::UpsertGame(row), archive(game_id(table, 1), &[1])];
        let end = TableAppend { index_changes: index, is_live: false, ..entries(table, 1, 2, 1) };
        held.assert_outcome(Command::AppendTable(end), Outcome::Done);
        held.assert_outcome(release_table(table, 1), Outcome::Done);
    }
    held
}

pub(crate) fn the_oldest_game_is_forgotten_first(database: &dyn Database) {
    let mut held = four_ended(database);
    held.assert_outcome(retire_games(at(99), None, 9), Outcome::Retired(0));
    held.assert_outcome(retire_games(at(99), Some(0), 0), Outcome::Retired(0));
    held.assert_outcome(retire_games(at(30), Some(20), 9), Outcome::Retired(0));
    held.assert_outcome(retire_games(at(99), Some(0), 2), Outcome::Retired(2));
    assert_eq!(held.history(None, 9), [(1, 1), (4, 1)]);
    held.assert_outcome(retire_games(at(60), Some(39), 9), Outcome::Retired(1));
    assert_eq!(held.history(None, 9), [(1, 1)]);
    held.assert_outcome(retire_games(at(99), Some(0), 9), Outcome::Retired(1));
    held.assert_outcome(retire_games(at(99), Some(0), 9), Outcome::Retired(0));
    assert_eq!(held.games_of(&seats_of(1, true, None, 9)), []);
    assert_eq!(held.reader.story_game(game_id(2, 1)), Ok(None));
    for table in 1..=4 {
        assert_eq!(held.reader.table_owner(table_id(table), at(99)), Ok(None), "table {table} went with its game");
    }
    // Nothing of it is left: its id is free again.
    held.assert_outcome(lease(1, at(99)), Outcome::Done);
    held.assert_outcome(open(1, 2, at(99)), Outcome::Done);
    assert_eq!(held.reader.story_game(game_id(2, 1)), Ok(Some((game(2, 1), None))));
    assert_eq!(held.games_of(&seats_of(1, false, None, 9)), [(2, 1)]);
    assert_eq!(held.games_of(&seats_of(1, true, None, 9)), []);
    assert_eq!(held.taken_over(2).rows.len(), 2);
}

pub(crate) fn unused_tables_are_deleted(database: &dyn Database) {
    let mut held = four_ended(database);
    let unowned = Ok(Some(TableOwner::Unowned));
    held.assert_outcome(lease(2, at(100)), Outcome::Done);
    held.takes_tables(claim_table(2, 1, at(100)), &[(1, 2)]);
    held.takes_tables(claim_table(2, 2, at(100)), &[(2, 2)]);
    held.assert_outcome(Command::AppendTable(entries(2, 2, 3, 1)), Outcome::Done);
    held.takes_tables(claim_table(2, 3, at(100)), &[(3, 2)]);
    held.assert_outcome(retire_games(at(100), Some(0), 9), Outcome::Retired(4));
    // 1: owned. 2: live. 3: owned, and then used again. 4: deleted.
    assert_eq!(held.reader.table_owner(table_id(4), at(100)), Ok(None));
    let next =
        TableAppend { index_changes: vec![IndexChange::UpsertGame(game(3, 2))], is_live: false, ..entries(3, 2, 3, 1) };
    held.assert_outcome(Command::AppendTable(next), Outcome::Done);
    for table in 1..=3 {
        held.assert_outcome(release_table(table, 2), Outcome::Done);
    }
    held.assert_outcome(retire_games(at(100), Some(0), 9), Outcome::Retired(0));
    assert_eq!(held.reader.table_owner(table_id(1), at(100)), Ok(None));
    assert_eq!(held.reader.table_owner(table_id(2), at(100)), unowned);
    assert_eq!(held.reader.table_owner(table_id(3), at(100)), unowned);
    assert_eq!(held.taken_over(2).rows.len(), 4, "what is live keeps its log");
    // An owner whose lease ended owns nothing.
    let asleep = TableAppend { is_live: false, ..entries(2, 3, 4, 1) };
    held.assert_outcome(Command::AppendTable(asleep), Outcome::Done);
    held.assert_outcome(retire_games(at(1_000_000), Some(0), 9), Outcome::Retired(0));
    assert!(held.reader.table_owner(table_id(2), at(1_000_000)).is_ok_and(|owner| owner.is_some()));
    held.assert_outcome(retire_games(at(2_000_000), Some(0), 9), Outcome::Retired(0));
    assert_eq!(held.reader.table_owner(table_id(2), at(2_000_000)), Ok(None));
}

pub(crate) fn a_live_game_is_never_forgotten(database: &dyn Database) {
    let mut held = four(database);
    held.assert_outcome(retire_games(at(1_000_000), Some(0), 9), Outcome::Retired(0));
    assert_eq!(held.lobby(None, 9).len(), 4);
    assert_eq!(held.taken_over(1).rows.len(), 2);
}

pub(crate) fn a_secret_is_kept_once(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let ensure = |name: &str, byte: u8| Command::EnsureSecret { name: name.to_owned(), bytes: vec![byte; 32] };
    assert_eq!(held.reader.secret("guests"), Ok(None));
    held.assert_outcome(ensure("guests", 7), Outcome::Secret(vec![7; 32]));
    held.assert_outcome(ensure("guests", 8), Outcome::Secret(vec![7; 32]));
    held.assert_outcome(ensure("others", 8), Outcome::Secret(vec![8; 32]));
    assert_eq!(held.reader.secret("guests"), Ok(Some(vec![7; 32])));
}

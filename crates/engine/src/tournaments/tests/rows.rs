//! What users do: entries, withdrawals, draws, failures, silence.

use super::*;
use crate::limits::{
    TOURNAMENT_ABSENCES_MAX, TOURNAMENT_ENTRIES_BY_ACCOUNT_MAX, TOURNAMENT_SEEDS_NAMED_MAX, TOURNAMENT_VOID_GAMES_MAX,
};

const SINGLE: Format = Format::SingleElimination { third_place: false };

fn bot(number: u16) -> BotId {
    BotId(u128::from(number))
}

fn withdrawn(number: u16) -> Event {
    Event::Withdrawn { bot: bot(number), reason: WithdrawalReason::Owner }
}

#[test]
fn entries() {
    let mut few = definition(SINGLE);
    few.entrants_max = 3;
    few.entrants_per_account_max = 1;
    let mut player = with_field(few, 2);
    player.refused(entered(1), Refusal::AlreadyEntered);
    let twin = NewEntrant { bot: bot(9), ..entrant(1) };
    player.refused(Event::Entered { entrant: twin, by_organizer: true }, Refusal::UrlAlreadyEntered);
    let second = NewEntrant { account: AccountId(1), ..entrant(2) };
    player.refused(Event::Entered { entrant: second.clone(), by_organizer: false }, Refusal::AccountFull { max: 1 });
    player.happen(Event::Entered { entrant: second, by_organizer: true });
    player.refused(entered(3), Refusal::Full { max: 3 });
    player.happen(withdrawn(1));
    player.refused(withdrawn(1), Refusal::NotEntered);
    player.refused(withdrawn(77), Refusal::NotEntered);
    player.happen(entered(3));
    player.happen(withdrawn(0));
    player.happen(entered(0));
    player.start();
    let active: Vec<_> = player.tournament.active().map(|(_, entrant)| entrant.info.bot).collect();
    assert_eq!(active, [bot(0), bot(2), bot(3)], "who left and came back stands at the old place");
    player.refused(entered(5), Refusal::EntriesClosed);
    player.refused(Event::Started { seeds: vec![0, 2, 3] }, Refusal::AlreadyStarted);
}

#[test]
fn coming_and_going_has_an_end() {
    let mut player = with_field(definition(SINGLE), 1);
    for _ in 1..TOURNAMENT_ENTRIES_BY_ACCOUNT_MAX {
        player.happen(withdrawn(0));
        player.happen(entered(0));
    }
    player.happen(withdrawn(0));
    player.refused(entered(0), Refusal::TooManyEntries { max: TOURNAMENT_ENTRIES_BY_ACCOUNT_MAX });
    player.happen(entered(1));
}

#[test]
fn by_invitation() {
    let mut player = Player::new(Definition { entry_rule: EntryRule::Invited, ..definition(SINGLE) });
    player.refused(entered(1), Refusal::NotInvited);
    player.happen(Event::Invited { account: AccountId(1) });
    player.happen(entered(1));
    player.happen(Event::Entered { entrant: entrant(2), by_organizer: true });
}

#[test]
fn a_start_needs_a_field() {
    let mut player = with_field(definition(SINGLE), 1);
    player.refused(Event::Started { seeds: vec![0] }, Refusal::TooFewEntrants { min: 2, entered: 1 });
    player.happen(entered(1));
    player.refused(Event::Started { seeds: vec![0] }, Refusal::InvalidSeeds);
    player.refused(Event::Started { seeds: vec![0, 0] }, Refusal::InvalidSeeds);
    player.refused(Event::Started { seeds: vec![0, 7] }, Refusal::InvalidSeeds);
    player.happen(Event::Cancelled { reason: CancelReason::Organizer });
    player.refused(Event::Started { seeds: vec![0, 1] }, Refusal::Ended);
    player.refused(entered(2), Refusal::EntriesClosed);
    player.refused(withdrawn(0), Refusal::Ended);
    player.refused(Event::Cancelled { reason: CancelReason::Organizer }, Refusal::Ended);
    assert_eq!(player.tournament.ended_at(), Some(NOW));
}

#[test]
fn the_field_is_seeded_by_hand_by_a_ladder_or_by_lot() {
    let mut player = with_field(definition(SINGLE), 4);
    player.refused(Event::SeedsSet { bots: vec![bot(3), bot(3)] }, Refusal::InvalidSeeds);
    player.refused(Event::SeedsSet { bots: vec![bot(9)] }, Refusal::InvalidSeeds);
    player.happen(Event::SeedsSet { bots: vec![bot(3), bot(1)] });
    assert_eq!(player.tournament.seeds(&[]), [3, 1, 0, 2]);

    let ladder = Seeding::Ladder { ladder: crate::ids::CompetitionId(1) };
    let mut player = with_field(Definition { seeding: ladder, ..definition(SINGLE) }, 4);
    player.refused(Event::SeedsSet { bots: vec![bot(3)] }, Refusal::NotSeededByHand);
    assert_eq!(player.tournament.seeds(&[bot(2), bot(8), bot(0), bot(1)]), [2, 0, 1, 3]);

    let by_lot = |seed| {
        let definition = Definition { seeding: Seeding::Random, seed: Seed(seed), ..definition(SINGLE) };
        with_field(definition, 16).tournament.seeds(&[])
    };
    assert_eq!(by_lot(1), by_lot(1));
    assert_ne!(by_lot(1), by_lot(2));
}

/// Orders of the field make no log large; one that is large already is read.
#[test]
fn the_organizers_orders_are_bounded_by_the_bots_that_they_name() {
    const FIELD: u16 = 64;
    let mut player = with_field(Definition { entrants_max: FIELD, ..definition(SINGLE) }, FIELD);
    let order = |first: u16| -> Vec<BotId> { (0..FIELD).map(|at| bot((first + at) % FIELD)).collect() };
    let orders = (TOURNAMENT_SEEDS_NAMED_MAX / usize::from(FIELD)) as u16;
    for turn in 0..orders {
        let events = player.tournament.seed_events(&order(turn)).unwrap();
        assert_eq!(events, [Event::SeedsSet { bots: order(turn) }]);
        events.into_iter().for_each(|event| player.happen(event));
        assert_eq!(player.tournament.seed_events(&order(turn)), Ok(Vec::new()), "it stands already");
    }
    assert_eq!(player.tournament.seed_events(&order(orders)), Err(Refusal::TooManySeeds));
    player.happen(Event::SeedsSet { bots: order(orders) });
}

/// The results of the games of a pairing of two, by its players: `1` and `2` win, `=` is a draw, `s` and `S` are silent alone, `-` is
/// silence of both, `x` is void.
#[track_caller]
fn check(best_of: u8, replays_max: u8, results: &str, want: Option<(Option<u16>, Decision)>) {
    let mut rules = definition(SINGLE);
    rules.rules.best_of = best_of;
    rules.rules.replays_max = replays_max;
    let mut player = started(rules, 2);
    for result in results.chars() {
        player.queue();
        let (pairing, Game { match_id, seats, .. }) = player.open_game().expect("no game is due");
        let own = |entrant: u16| seats.iter().position(|seat| *seat == entrant).unwrap();
        let mut score = match result {
            '1' | 'S' => play::by_number(&seats),
            '2' | 's' => play::by_number(&[1 - seats[0], 1 - seats[1]]),
            _ => score(&[1, 1]),
        };
        match result {
            's' => score.silent[own(1)] = true,
            'S' => score.silent[own(0)] = true,
            '-' => score.silent = vec![true, true],
            _ => {}
        }
        player.happen(match result {
            'x' => Event::GameVoid { pairing, match_id, reason: VoidReason::ServerFault },
            _ => Event::GamePlayed { pairing, match_id, score },
        });
    }
    player.queue();
    let outcome = player.tournament.pairings()[0].outcome.clone();
    let have = outcome.map(|outcome| (outcome.ranking.first().copied(), outcome.decision));
    assert_eq!(have, want, "best of {best_of}: {results}");
    assert_eq!(player.open_game().is_none(), want.is_some(), "it goes on exactly while it is undecided");
    assert_eq!(player.tournament.phase() == Phase::Finished, want.is_some());
}

#[test]
fn a_series_is_won_by_most_of_its_games() {
    let games = |winner| Some((Some(winner), Decision::Games));
    check(1, 2, "", None);
    check(1, 2, "1", games(0));
    check(1, 2, "2", games(1));
    check(3, 2, "1", None);
    check(3, 2, "11", games(0));
    check(3, 2, "12", None);
    check(3, 2, "122", games(1));
    check(5, 2, "11221", games(0));
}

#[test]
fn draws_are_replayed_and_then_a_rule_decides() {
    let games = |winner| Some((Some(winner), Decision::Games));
    let seed = Some((Some(0), Decision::TieBreak(TieBreak::Seed)));
    check(1, 2, "=", None);
    check(1, 2, "==", None);
    check(1, 2, "==2", games(1));
    check(1, 2, "===", seed);
    check(1, 0, "=", seed);
    check(3, 2, "1====", games(0));
    check(3, 2, "12===", seed);
}

#[test]
fn games_that_do_not_count_are_replayed_to_a_bound() {
    check(1, 2, "xxxx", None);
    check(1, 2, "xxxx2", Some((Some(1), Decision::Games)));
    check(1, 2, "xxxxx", Some((Some(0), Decision::TieBreak(TieBreak::Seed))));
    assert_eq!(TOURNAMENT_VOID_GAMES_MAX, 5);
}

#[test]
fn who_answers_nothing_is_not_there() {
    // Whatever the board says, the game is the other's.
    check(1, 2, "s", Some((Some(0), Decision::Games)));
    check(1, 2, "S", Some((Some(1), Decision::Games)));
    check(1, 2, "-", None);
    check(1, 2, "-2", Some((Some(1), Decision::Games)));
    check(1, 2, "--", Some((None, Decision::DoubleWalkover)));
    check(3, 2, "1--", Some((Some(0), Decision::Games)));
}

#[test]
fn food_or_a_lot_decides_where_the_definition_says_so() {
    let mut by_food = definition(SINGLE);
    by_food.rules.replays_max = 0;
    let mut player = started(by_food.clone(), 2);
    player.play(|seats| {
        let food = seats.iter().map(|entrant| if *entrant == 1 { 5 } else { 4 }).collect();
        GameEnd::Played(GameScore { food, ..score(&[1, 1]) })
    });
    assert_eq!(player.tournament.champion(), Some(1));

    let champions = [1, 2, 3, 4, 5, 6, 7, 8].map(|seed| {
        let mut by_lot = Definition { seed: Seed(seed), ..by_food.clone() };
        by_lot.rules.tie_breaks = vec![TieBreak::Lot];
        let mut player = started(by_lot, 2);
        player.play(|_| GameEnd::Played(score(&[1, 1])));
        player.tournament.champion()
    });
    assert!(champions.contains(&Some(0)) && champions.contains(&Some(1)), "{champions:?}");
}

/// Four bots; these leave before a game is played, these after two pairings are decided. When one alone is left, that is the end.
#[track_caller]
fn check_withdrawals(format: Format, early: &[u16], late: &[u16], champion: Option<u16>) {
    let mut player = started(definition(format), 4);
    player.queue();
    let leave = |player: &mut Player, numbers: &[u16]| {
        for number in numbers {
            if player.tournament.phase() == Phase::Running {
                player.happen(withdrawn(*number));
            }
        }
    };
    leave(&mut player, early);
    let mut is_late_done = false;
    loop {
        player.queue();
        let due = !is_late_done && player.tournament.pairings().iter().filter(|p| p.outcome.is_some()).count() >= 2;
        if due {
            is_late_done = true;
            leave(&mut player, late);
            continue;
        }
        let open = player
            .tournament
            .open_games()
            .find(|(number, _)| player.tournament.pairings()[*number as usize].outcome.is_none());
        let Some((pairing, Game { match_id, seats, .. })) = open.map(|(number, game)| (number, game.clone())) else {
            break;
        };
        player.happen(Event::GamePlayed { pairing, match_id, score: play::by_number(&seats) });
    }
    assert_eq!(player.tournament.phase(), Phase::Finished, "{format:?} {early:?} {late:?}");
    assert_eq!(player.tournament.champion(), champion, "{format:?} {early:?} {late:?}");
}

#[test]
fn withdrawals_in_the_middle_are_walkovers() {
    let double = Format::DoubleElimination { final_reset: true };
    let all = [SINGLE, double, Format::RoundRobin, Format::Swiss { rounds: 2 }, Format::Heats { size: 3, advance: 1 }];
    for format in all {
        check_withdrawals(format, &[0], &[], Some(1));
        check_withdrawals(format, &[1, 2, 3], &[], Some(0));
        check_withdrawals(format, &[0, 1, 2, 3], &[], Some(3));
    }
    // Who has won a round and leaves: the opponent of the next one goes through.
    check_withdrawals(SINGLE, &[], &[0], Some(1));
    check_withdrawals(SINGLE, &[], &[0, 1], Some(1));
    check_withdrawals(double, &[], &[0], Some(1));
    check_withdrawals(double, &[], &[0, 1], Some(2));
    check_withdrawals(double, &[0, 3], &[], Some(1));
    let groups = Format::Groups { groups: 2, advance: 2, third_place: true };
    check_withdrawals(groups, &[0], &[], Some(1));
    check_withdrawals(groups, &[1, 2, 3], &[], Some(0));
}

#[test]
fn seats_are_swapped_from_game_to_game() {
    let mut rules = definition(SINGLE);
    rules.rules.best_of = 5;
    let mut player = started(rules, 2);
    player.play_by_number();
    let seats: Vec<_> = player.tournament.pairings()[0].games.iter().map(|game| game.seats.clone()).collect();
    assert_eq!(seats, [[0, 1], [1, 0], [0, 1]]);
}

#[test]
fn only_certain_games_are_queued_and_only_so_many() {
    let mut rules = definition(SINGLE);
    rules.rules.best_of = 3;
    rules.rules.games_at_once = 3;
    let player = started(rules, 8);
    let orders: Vec<_> = player.tournament.next_games().iter().map(|order| (order.pairing, order.game)).collect();
    assert_eq!(orders, [(0, 0), (0, 1), (1, 0)]);
    let seeds: Vec<_> = player.tournament.next_games().iter().map(|order| order.seed).collect();
    assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2]);
}

#[test]
fn events_out_of_order_are_refused() {
    let mut player = started(definition(SINGLE), 4);
    player.queue();
    let (pairing, game) = player.open_game().unwrap();
    let match_id = game.match_id;
    let wrong = |reason| Refusal::Inconsistent(reason);
    let played = |score| Event::GamePlayed { pairing, match_id, score };
    player.refused(played(score(&[1, 2, 3])), wrong("a result of other seats"));
    player
        .refused(Event::GamePlayed { pairing: 99, match_id, score: score(&[1, 2]) }, wrong("a game that is not open"));
    player.happen(played(play::by_number(&game.seats)));
    player.refused(played(score(&[1, 2])), wrong("a game that is not open"));
    let unneeded = Event::GameCreated { pairing, match_id: MatchId(99), seats: game.seats };
    player.refused(unneeded, wrong("a game that is not needed"));
    player.refused(Event::RoundPaired { pairs: Vec::new(), bye: None }, wrong("a round is not due"));
    assert!(player.tournament.is_game_open(1, MatchId(2)) && !player.tournament.is_game_open(pairing, match_id));
}

#[track_caller]
fn check_definition(change: impl FnOnce(&mut Definition), want: &[&str]) {
    let mut changed = definition(SINGLE);
    change(&mut changed);
    let fields: Vec<_> = changed.validate().err().unwrap_or_default().iter().map(|error| error.field).collect();
    assert_eq!(fields, want, "{changed:?}");
    assert_eq!(Definition::decode(&changed.encode()), Ok(changed));
}

#[test]
fn definitions_are_checked() {
    check_definition(|_| {}, &[]);
    check_definition(|d| d.rules.best_of = 2, &["best_of"]);
    check_definition(|d| d.rules.best_of = 0, &["best_of"]);
    check_definition(|d| d.rules.best_of = 17, &["best_of"]);
    check_definition(|d| d.rules.replays_max = 9, &["replays_max"]);
    check_definition(|d| d.rules.tie_breaks = vec![TieBreak::Food], &["tie_breaks"]);
    check_definition(|d| d.rules.tie_breaks = vec![TieBreak::Seed, TieBreak::Food], &["tie_breaks"]);
    check_definition(|d| d.rules.tie_breaks = vec![], &["tie_breaks"]);
    check_definition(|d| d.rules.tie_breaks = vec![TieBreak::Lot], &[]);
    check_definition(|d| (d.entrants_min, d.entrants_max) = (1, 1), &["entrants_max", "entrants_min"]);
    check_definition(|d| d.entrants_min = 129, &["entrants_min"]);
    check_definition(|d| d.entrants_max = 1_025, &["entrants_max"]);
    check_definition(|d| d.entrants_max = 1_024, &[]);
    check_definition(|d| d.entrants_per_account_max = 0, &["entrants_per_account_max"]);
    check_definition(|d| d.rules.games_at_once = 0, &["games_at_once"]);
    check_definition(|d| d.rules.game_deadline = std::time::Duration::from_secs(59), &["game_deadline_s"]);
    check_definition(|d| (d.game.width, d.rules.best_of) = (200, 4), &["best_of", "game"]);
    // The same error for two, three and four snakes is one.
    check_definition(|d| (d.format, d.game.width) = (Format::Heats { size: 4, advance: 2 }, 200), &["game"]);
    check_definition(|d| d.format = Format::Heats { size: 2, advance: 1 }, &["size"]);
    check_definition(|d| d.format = Format::Heats { size: 17, advance: 3 }, &["size"]);
    check_definition(|d| d.format = Format::Heats { size: 4, advance: 3 }, &["advance"]);
    check_definition(|d| d.format = Format::RoundRobin, &["entrants_max"]);
    check_definition(|d| d.format = Format::Swiss { rounds: 2 }, &["rounds"]);
    check_definition(|d| (d.format, d.entrants_min) = (Format::Swiss { rounds: 7 }, 8), &[]);
    let groups = Format::Groups { groups: 4, advance: 2, third_place: false };
    check_definition(|d| d.format = groups, &["entrants_min", "advance"]);
    check_definition(|d| (d.format, d.entrants_min) = (groups, 8), &[]);
    // More games than are played, should all that can be replayed be replayed.
    let long = |d: &mut Definition| {
        d.format = Format::Swiss { rounds: 20 };
        (d.entrants_min, d.entrants_max, d.rules.best_of) = (64, 1_024, 15);
    };
    check_definition(long, &["entrants_max"]);
}

#[test]
fn rounds_of_a_swiss_tournament_follow_the_field() {
    let rounds = |entrants| Format::Swiss { rounds: 0 }.swiss_rounds(entrants);
    assert_eq!([2, 3, 4, 5, 8, 9, 16, 17, 1_024].map(rounds), [1, 2, 2, 3, 3, 4, 4, 5, 10]);
    assert_eq!(Format::Swiss { rounds: 6 }.swiss_rounds(100), 6);
}

#[track_caller]
fn orders(player: &Player) -> Vec<u32> {
    player.tournament.next_games().iter().map(|order| order.pairing).collect()
}

#[test]
fn games_wait_for_absent_bots() {
    let mut player = started(definition(SINGLE), 4);
    let bot = BotId(0);
    assert_eq!(orders(&player), [0, 1]);
    player.refused(Event::Returned { bot }, Refusal::Inconsistent("a bot returns that was not absent"));
    player.refused(Event::Absent { bot: BotId(9) }, Refusal::NotEntered);
    player.happen(Event::Absent { bot });
    player.refused(Event::Absent { bot }, Refusal::Inconsistent("a bot that cannot become absent"));
    assert_eq!((orders(&player), player.tournament.is_due(bot)), (vec![1], true));
    player.happen(Event::Returned { bot });
    assert_eq!((orders(&player), player.tournament.is_due(bot)), (vec![0, 1], true));
    player.happen(Event::Absent { bot });
    player.happen(Event::Withdrawn { bot, reason: WithdrawalReason::Absent });
    assert_eq!(player.tournament.pairings()[0].outcome.as_ref().unwrap().decision, Decision::Walkover);
    assert_eq!((orders(&player), player.tournament.absent().count()), (vec![1], 0));
    player.refused(Event::Absent { bot }, Refusal::NotEntered);
}

#[test]
fn an_absent_bot_that_need_not_play_is_not_due() {
    let mut player = started(definition(SINGLE), 4);
    let bot = BotId(0);
    player.happen(Event::Absent { bot });
    // Its opponent leaves: it waits for the other semi-final now.
    player.happen(Event::Withdrawn { bot: BotId(3), reason: WithdrawalReason::Owner });
    assert!(!player.tournament.is_due(bot));
    player.queue();
    let (pairing, game) = player.open_game().unwrap();
    player.happen(Event::GamePlayed { pairing, match_id: game.match_id, score: play::by_number(&game.seats) });
    assert!(player.tournament.is_due(bot));
    assert_eq!(orders(&player), [0_u32; 0]);
}

#[test]
fn a_bot_is_absent_only_so_often() {
    let mut player = started(definition(SINGLE), 2);
    let bot = BotId(0);
    for _ in 0..TOURNAMENT_ABSENCES_MAX {
        assert!(player.tournament.may_be_absent(bot));
        player.happen(Event::Absent { bot });
        player.happen(Event::Returned { bot });
    }
    assert!(!player.tournament.may_be_absent(bot));
    player.refused(Event::Absent { bot }, Refusal::Inconsistent("a bot that cannot become absent"));
}

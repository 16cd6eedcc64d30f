//! Rules that hold for every field, whatever happens in its games. `PROPTEST_CASES` says how many fields are played.

use super::*;
use crate::limits::TOURNAMENT_VOID_GAMES_MAX;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What happens in the games: numbers from which everything is drawn.
#[derive(Clone, Debug)]
struct Script {
    format: Format,
    entrants: u16,
    best_of: u8,
    replays_max: u8,
    /// Percent.
    draws: u32,
    voids: u32,
    /// Percent of looks at which a bot is found to be paused.
    pauses: u32,
    /// Withdrawals: after so many events, this bot.
    withdrawals: Vec<(u16, u16)>,
    dice: u64,
}

fn format() -> impl Strategy<Value = Format> {
    prop_oneof![
        any::<bool>().prop_map(|third_place| Format::SingleElimination { third_place }),
        (3_u8..=8).prop_flat_map(|size| (1..=size / 2).prop_map(move |advance| Format::Heats { size, advance })),
        any::<bool>().prop_map(|final_reset| Format::DoubleElimination { final_reset }),
        (0_u16..8).prop_map(|rounds| Format::Swiss { rounds }),
        Just(Format::RoundRobin),
        (2_u16..5, 1_u8..3, any::<bool>()).prop_map(|(groups, advance, third_place)| Format::Groups {
            groups,
            advance,
            third_place
        }),
    ]
}

fn script() -> impl Strategy<Value = Script> {
    let withdrawals = prop_oneof![
        2 => Just(Vec::new()),
        1 => prop::collection::vec((0_u16..60, 0_u16..24), 0..6),
    ];
    let share = || prop_oneof![Just(0_u32), 0_u32..90];
    let shares = (share(), share(), share());
    (format(), 2_u16..=24, 0_u8..3, 0_u8..3, shares, withdrawals, any::<u64>()).prop_map(
        |(format, entrants, half, replays_max, (draws, voids, pauses), withdrawals, dice)| {
            let entrants = match format {
                Format::Groups { groups, advance, .. } => entrants.max(groups * u16::from(advance.max(2))),
                Format::Swiss { rounds } => entrants.max(rounds + 1),
                _ => entrants,
            };
            Script { format, entrants, best_of: 2 * half + 1, replays_max, draws, voids, pauses, withdrawals, dice }
        },
    )
}

/// A small generator: the draws of a test need no more (Knuth's MMIX constants).
fn roll(state: &mut u64, below: u32) -> u32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) as u32) % below
}

/// Before games are queued a bot may be found to be paused, and absent ones may be found to be back.
fn look_at_health(script: &Script, player: &mut Player, dice: &mut u64) {
    while let Some(event) = player.tournament.next_round() {
        player.happen(event);
    }
    for (bot, _) in player.tournament.absent().collect::<Vec<_>>() {
        if roll(dice, 100) >= script.pauses {
            player.happen(Event::Returned { bot });
        }
    }
    let orders = player.tournament.next_games();
    if let Some(order) = orders.first()
        && roll(dice, 100) < script.pauses
    {
        let bot = BotId(u128::from(order.seats[0]));
        if player.tournament.may_be_absent(bot) {
            player.happen(Event::Absent { bot });
        }
    }
    let absent: BTreeSet<_> = player.tournament.absent().map(|(bot, _)| bot).collect();
    let orders = player.tournament.next_games();
    let mut seats = orders.iter().flat_map(|order| &order.seats);
    assert!(seats.all(|seat| !absent.contains(&BotId(u128::from(*seat)))), "a game without one of its players");
}

fn play_script(script: &Script) -> Player {
    let mut rules = definition(script.format);
    rules.rules.best_of = script.best_of;
    rules.rules.replays_max = script.replays_max;
    rules.rules.tie_breaks = vec![TieBreak::Food, TieBreak::Lot];
    rules.seed = Seed(script.dice);
    let mut player = started(rules, script.entrants);
    let mut dice = script.dice;
    let mut withdrawals = script.withdrawals.clone();
    loop {
        look_at_health(script, &mut player, &mut dice);
        player.queue();
        let at = player.log.len() as u16 - script.entrants;
        let due = withdrawals.iter().position(|(after, bot)| *after <= at && *bot < script.entrants);
        if let Some(due) = due {
            let (_, number) = withdrawals.swap_remove(due);
            let bot = BotId(u128::from(number));
            let event = Event::Withdrawn { bot, reason: WithdrawalReason::Deleted };
            if player.tournament.apply(&entry(event.clone())).is_ok() {
                player.log.push(entry(event));
            }
            continue;
        }
        let open: Vec<_> = player.tournament.open_games().map(|(number, game)| (number, game.clone())).collect();
        let is_running = player.tournament.phase() == Phase::Running;
        if !is_running {
            return player;
        }
        if open.is_empty() {
            let absent: Vec<_> = player.tournament.absent().map(|(bot, _)| bot).collect();
            assert!(absent.iter().any(|bot| player.tournament.is_due(*bot)), "stuck: {script:?}");
            continue;
        }
        // Results come in any order.
        let (pairing, Game { match_id, seats, .. }) = open[roll(&mut dice, open.len() as u32) as usize].clone();
        if roll(&mut dice, 100) < script.voids {
            player.happen(Event::GameVoid { pairing, match_id, reason: VoidReason::Failed });
            continue;
        }
        let is_draw = roll(&mut dice, 100) < script.draws;
        let places: Vec<u8> =
            seats.iter().map(|_| if is_draw { 1 } else { 1 + roll(&mut dice, seats.len() as u32) as u8 }).collect();
        let food = seats.iter().map(|_| roll(&mut dice, 3)).collect();
        player.happen(Event::GamePlayed { pairing, match_id, score: GameScore { food, ..score(&places) } });
    }
}

/// Pairs of entrants that met in pairings of the stage, sorted.
fn meetings(tournament: &Tournament, is_of: impl Fn(PairingStage) -> bool) -> Vec<(u16, u16)> {
    let of_stage = tournament.pairings().iter().filter(|pairing| is_of(pairing.stage));
    let mut pairs: Vec<_> = of_stage
        .filter_map(|pairing| {
            let mut both: Vec<_> = pairing.entrants().collect();
            both.sort_unstable();
            (both.len() == 2).then(|| (both[0], both[1]))
        })
        .collect();
    pairs.sort_unstable();
    pairs
}

fn everyone(field: &[u16]) -> Vec<(u16, u16)> {
    let mut sorted = field.to_vec();
    sorted.sort_unstable();
    (0..sorted.len())
        .flat_map(|a| (a + 1..sorted.len()).map(move |b| (a, b)))
        .map(|(a, b)| (sorted[a], sorted[b]))
        .collect()
}

/// Defeats in decided pairings, by entrant.
fn defeats(tournament: &Tournament) -> BTreeMap<u16, usize> {
    let mut defeats = BTreeMap::new();
    for pairing in tournament.pairings() {
        let needed = pairing.outcome.as_ref().is_some_and(|outcome| outcome.decision != Decision::NotNeeded);
        for entrant in pairing.entrants().filter(|_| needed && pairing.stage != PairingStage::ThirdPlace) {
            *defeats.entry(entrant).or_default() += usize::from(pairing.winner() != Some(entrant));
        }
    }
    defeats
}

fn check_format(script: &Script, tournament: &Tournament) {
    let field: Vec<u16> = (0..script.entrants).collect();
    let is_whole = tournament.entrants().iter().all(|entrant| !entrant.is_withdrawn());
    match script.format {
        Format::SingleElimination { .. } => {
            let defeats = defeats(tournament);
            let winners: Vec<_> = field.iter().filter(|entrant| defeats[entrant] == 0).collect();
            assert!(defeats.values().all(|defeats| *defeats <= 1) && winners.len() <= 1);
        }
        Format::DoubleElimination { final_reset } => {
            let defeats = defeats(tournament);
            let champion = tournament.champion();
            for (entrant, defeats) in &defeats {
                let allowed = if final_reset { 1 } else { 2 };
                let most = if champion == Some(*entrant) { 1 } else { 2 };
                assert!(*defeats <= most, "{entrant} lost {defeats} times");
                let least = if champion == Some(*entrant) { 0 } else { 2 };
                let is_second = !final_reset && *defeats == allowed - 1;
                assert!(!is_whole || *defeats >= least || is_second, "{entrant} was out after {defeats}");
            }
            for entrant in &field {
                let falls = tournament.pairings().iter().filter(|pairing| {
                    pairing.stage == PairingStage::Winners
                        && pairing.outcome.as_ref().is_some_and(|outcome| outcome.ranking.get(1) == Some(entrant))
                });
                assert!(falls.count() <= 1, "{entrant} fell out of the winners twice");
            }
        }
        Format::RoundRobin => {
            assert_eq!(meetings(tournament, |stage| stage == PairingStage::RoundRobin), everyone(&field));
            let rounds: BTreeSet<_> = tournament.pairings().iter().map(|pairing| pairing.round).collect();
            assert_eq!(rounds.len() as u16, (script.entrants - 1) | 1);
        }
        Format::Groups { groups, .. } => {
            let split = group_stage::split(&field, groups);
            for (group, members) in split.iter().enumerate() {
                let met = meetings(tournament, |stage| stage == PairingStage::Group(group as u16));
                assert_eq!(met, everyone(members));
            }
        }
        Format::Swiss { .. } => check_swiss(script, tournament, is_whole),
        Format::Heats { size, .. } => {
            for heat in tournament.pairings() {
                assert!((2..=usize::from(size)).contains(&heat.players.len()));
                assert!(usize::from(heat.places) < heat.players.len());
            }
        }
    }
    for round in tournament.pairings().iter().map(|pairing| (pairing.stage, pairing.round)).collect::<BTreeSet<_>>() {
        let of_round = tournament.pairings().iter().filter(|pairing| (pairing.stage, pairing.round) == round);
        let players: Vec<_> = of_round.flat_map(|pairing| pairing.entrants().collect::<Vec<_>>()).collect();
        let different: BTreeSet<_> = players.iter().collect();
        assert_eq!(different.len(), players.len(), "nobody plays twice in a round: {round:?}");
    }
}

fn check_swiss(script: &Script, tournament: &Tournament, is_whole: bool) {
    let standings = tournament.standings();
    assert!(!is_whole || standings.iter().all(|standing| standing.byes <= 1), "one bye each at most");
    let rounds: BTreeSet<_> = tournament.pairings().iter().map(|pairing| pairing.round).collect();
    assert!(!is_whole || rounds.len() as u16 == tournament.swiss_rounds());
    let points: u32 = standings.iter().map(|standing| standing.points).sum();
    let undecided = tournament.pairings().iter().filter(|pairing| pairing.winner().is_none()).count();
    assert_eq!(points as usize + undecided, tournament.pairings().len());
    // With up to half of the field as rounds, a pairing without rematches always exists (Dirac).
    let is_easy = usize::from(tournament.swiss_rounds()) <= usize::from(script.entrants) / 2;
    let met = meetings(tournament, |_| true);
    let different: BTreeSet<_> = met.iter().collect();
    assert!(!(is_easy && is_whole && script.entrants.is_multiple_of(2)) || different.len() == met.len(), "a rematch");
}

proptest! {
    #[test]
    fn every_field_has_its_rules(script in script()) {
        let player = play_script(&script);
        let tournament = &player.tournament;
        prop_assert_eq!(tournament.phase(), Phase::Finished);
        let is_anyone_left = tournament.active().next().is_some();
        if script.withdrawals.is_empty() {
            prop_assert!(tournament.champion().is_some());
            let standings = tournament.standings();
            prop_assert_eq!(standings.first().map(|standing| standing.entrant), tournament.champion());
            prop_assert_eq!(standings[0].place, Some(1));
        }
        prop_assert!(is_anyone_left || tournament.champion().is_none());
        check_format(&script, tournament);

        let bound = usize::from(script.best_of + script.replays_max + TOURNAMENT_VOID_GAMES_MAX);
        for pairing in tournament.pairings() {
            prop_assert!(pairing.games.len() <= bound, "{} games", pairing.games.len());
        }
        let games: usize = tournament.pairings().iter().map(|pairing| pairing.games.len()).sum();
        let most = Definition { entrants_max: script.entrants, ..tournament.definition().clone() }.games_max();
        prop_assert!(games as u64 <= most, "{games} of {most}");

        // Each place of the table once, the field whole.
        let mut lines: Vec<_> = tournament.standings().iter().map(|standing| standing.entrant).collect();
        lines.sort_unstable();
        prop_assert_eq!(lines, (0..script.entrants).collect::<Vec<_>>());

        // The same log, through its bytes and interrupted anywhere, is the same tournament.
        let mut again = Tournament::new(Definition::decode(&tournament.definition().encode()).unwrap());
        for entry in &player.log {
            prop_assert_eq!(again.apply(&LogEntry::decode(&entry.encode()).unwrap()), Ok(()));
        }
        prop_assert_eq!(&again, tournament);
    }

    /// Bytes from anywhere are read or refused, never a panic.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let read = LogEntry::decode(&bytes);
        prop_assert!(read.is_err() || read.is_ok_and(|entry| entry.encode() == bytes));
        prop_assert!(Definition::decode(&bytes).is_err());
    }
}

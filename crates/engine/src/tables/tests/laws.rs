//! Random sequences of actions at tables: whatever the players do, in whatever order, the properties hold after every
//! commit.

use super::super::*;
use super::fixture::newcomer;
use super::{ScriptedAction, TableFixture, player};
use crate::commands::IndexChange;
use crate::rows::GameRole;
use proptest::prelude::*;
use std::time::Duration;

/// People of a random life; most tables have fewer seats.
const PEOPLE: u8 = 8;

/// One step of a random life.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    what: u8,
    who: u8,
    which: u8,
}

pub(super) fn steps(count: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = (0u8..32, 0..PEOPLE, 0u8..8).prop_map(|(what, who, which)| Step { what, who, which });
    prop::collection::vec(step, 1..count)
}

/// Any counts that a game can be played with.
fn rules() -> impl Strategy<Value = rules::stories::GameSettings> {
    let counts = (3u8..=12)
        .prop_flat_map(|players_max| (Just(players_max), 3..=36 / players_max, 2..=4u8.min(players_max), 1..=2u8));
    counts.prop_map(|(players_max, hand, picked_min, voted_min)| rules::stories::GameSettings {
        players_max,
        hand,
        picked_min,
        voted_min,
        ..Default::default()
    })
}

/// A sensible next action, so that random games make progress.
fn sensible(fixture: &TableFixture, step: Step) -> (u8, ScriptedAction) {
    let game = fixture.game(None);
    let storyteller = game.storyteller.map_or(0, |id| (id.0 & 0xff) as u8);
    let card = usize::from(step.which % 6);
    match game.phase {
        Phase::Create if step.which < 3 => (step.who, ScriptedAction::Join),
        Phase::Create if game.winner_card == CardView::Nothing => (storyteller, ScriptedAction::Choose(card)),
        Phase::Create => (storyteller, ScriptedAction::Tell),
        Phase::Invitation if game.players.len() < 4 => (step.who, ScriptedAction::Join),
        Phase::Invitation if game.is_ready && step.which < 2 => (storyteller, ScriptedAction::Open),
        Phase::Invitation => (step.who, ScriptedAction::Pick(card)),
        Phase::Vote if game.is_ready && step.which < 2 => (storyteller, ScriptedAction::Complete),
        Phase::Vote => (step.who, ScriptedAction::Vote(card)),
        Phase::Complete | Phase::Canceled => {
            let next = fixture.table.view(None).next_storyteller;
            (next.map_or(step.who, |id| (id.0 & 0xff) as u8), ScriptedAction::Next)
        }
    }
}

/// Takes a step; a refusal is as good as any other answer.
pub(super) fn take(fixture: &mut TableFixture, step: Step) {
    let card = usize::from(step.which);
    let who = player(step.who);
    let scripted = match step.what {
        0 => ScriptedAction::Join,
        1 => ScriptedAction::Leave,
        2 => ScriptedAction::Choose(card),
        3 => ScriptedAction::Tell,
        4 => ScriptedAction::Pick(card),
        5 => ScriptedAction::Open,
        6 => ScriptedAction::Vote(card),
        7 => ScriptedAction::Complete,
        8 => ScriptedAction::Next,
        9 => return drop(fixture.act(who, &Action::Chat("hello".to_owned()))),
        10 => return drop(fixture.act(who, &Action::SetBots(step.which < 4))),
        11 => return drop(fixture.act(who, &Action::Invite(vec![player(step.which), player(step.which + 1)]))),
        12 => return drop(fixture.act(who, &Action::SetCountdown(Duration::from_secs(u64::from(step.which) * 7)))),
        13 => return fixture.advance_time(Duration::from_secs(3)),
        14 => return fixture.advance_time(Duration::from_secs(u64::from(step.which) * 9)),
        15 if step.which == 0 => return fixture.advance_time(Duration::from_secs(25 * 3_600)),
        16 => {
            if !fixture.present.remove(&who) {
                fixture.present.insert(who);
            }
            fixture.tick();
            return;
        }
        _ => {
            let (who, scripted) = sensible(fixture, step);
            return drop(fixture.play(who, scripted));
        }
    };
    drop(fixture.play(step.who, scripted));
}

#[track_caller]
fn check_laws(fixture: &TableFixture) {
    let view = fixture.table.view(None);
    let game = view.game.expect("an open table has a game");
    assert!(game.players.len() <= usize::from(view.settings.rules.players_max), "more players than seats");
    let is_timed = matches!(game.phase, Phase::Invitation | Phase::Vote);
    assert_eq!(
        game.countdown.is_some(),
        is_timed && game.is_ready,
        "the countdown runs exactly while the game is ready"
    );
    assert_eq!(fixture.table.live_game().is_some(), game.phase.is_live());
    if let Some(next) = view.next_storyteller {
        assert!(!game.phase.is_live() && fixture.table.members().any(|member| member == next));
        assert!(view.next_storyteller_until.is_some());
        assert!(!is_bot(next) || view.bots.are_on, "a bot is named though none may play");
    }
    check_lists(fixture, &game);
}

/// The lists, as a store would have them, agree with the game.
fn check_lists(fixture: &TableFixture, game: &GameView) {
    let mut seats = std::collections::BTreeMap::new();
    let mut row = None;
    let mut is_archived = false;
    for index in &fixture.index {
        match index {
            IndexChange::UpsertGame(have) if have.id == game.id => row = Some(have),
            IndexChange::UpsertSeat { game: id, player, role } if *id == game.id => drop(seats.insert(*player, *role)),
            IndexChange::DeleteSeat { game: id, player } if *id == game.id => drop(seats.remove(player)),
            IndexChange::ArchiveGame { game: id, record, winners } if *id == game.id => {
                is_archived = true;
                seats.retain(|_, role| *role != GameRole::Invited);
                let record = GameRecord::from_bytes(record).expect("a record is read back");
                let won: Vec<_> = game.players.iter().filter(|player| player.has_won).map(|player| player.id).collect();
                assert_eq!(*winners, won);
                for viewer in &fixture.viewers {
                    check_record(&record, fixture, *viewer);
                }
            }
            _ => {}
        }
    }
    let row = row.expect("a game has a row");
    assert_eq!((row.phase, usize::from(row.players)), (game.phase, game.players.len()));
    assert_eq!(row.sentence.as_deref(), game.sentence.as_deref());
    assert_eq!(row.ended_at, game.ended_at);
    assert_eq!(is_archived, !game.phase.is_live());
    let seated: Vec<_> =
        seats.iter().filter(|(_, role)| **role != GameRole::Invited).map(|(player, _)| *player).collect();
    let mut playing: Vec<_> = game.players.iter().map(|player| player.id).filter(|id| !is_bot(*id)).collect();
    playing.sort_unstable();
    assert_eq!(seated, playing);
}

/// The archive shows the same as the table did at the end.
fn check_record(record: &GameRecord, fixture: &TableFixture, viewer: Option<crate::ids::PlayerId>) {
    let (have, want) = (record.view(viewer), fixture.game(viewer));
    if have.id == want.id {
        assert_eq!(
            (have.phase, have.winner_card, have.board, have.own),
            (want.phase, want.winner_card, want.board, want.own)
        );
        let cut = |players: Vec<PlayerView>| -> Vec<_> {
            players
                .into_iter()
                .map(|player| (player.id, player.name, player.picked, player.vote, player.hand))
                .collect()
        };
        assert_eq!(cut(have.players), cut(want.players));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_life_keeps_the_laws(seed in any::<u64>(), has_bots in any::<bool>(), rules in rules(), steps in steps(160)) {
        let mut fixture = TableFixture::open(TableSettings { rules, ..TableSettings::default() }, seed, has_bots);
        for step in steps {
            take(&mut fixture, step);
            check_laws(&fixture);
        }
    }

    /// A table that is unloaded and loaded again is unchanged, and its readers continue where they were.
    #[test]
    fn a_retired_table_comes_back(seed in any::<u64>(), before in steps(60), after in steps(60)) {
        let mut fixture = TableFixture::open(TableSettings::default(), seed, false);
        before.into_iter().for_each(|step| take(&mut fixture, step));
        let seqs: Vec<_> = fixture.viewers.iter().map(|viewer| fixture.table.seq(*viewer)).collect();
        let retire = fixture.table.snapshot_change();
        fixture.commit(&retire);
        prop_assert!(fixture.rows.is_empty());
        for (viewer, seq) in fixture.viewers.clone().into_iter().zip(seqs) {
            prop_assert_eq!(fixture.table.seq(viewer), seq);
            let up_to_date = Some(FeedUpdate { events: Vec::new(), seq, committed_at_us: None });
            prop_assert_eq!(fixture.table.feed(viewer, seq), up_to_date);
            if seq > 0 {
                prop_assert_eq!(fixture.table.feed(viewer, seq - 1), None);
            }
        }
        after.into_iter().for_each(|step| take(&mut fixture, step));
    }
}

#[test]
fn names_a_next_storyteller_once_a_game() {
    let mut fixture = TableFixture::up_to_vote(3);
    for n in 1..=3 {
        fixture.play_allowed(n, ScriptedAction::Vote(0));
    }
    fixture.play_allowed(0, ScriptedAction::Complete);
    fixture.advance_time(Duration::from_secs(600));
    assert_eq!(fixture.table.next_due(), None, "a table without actions comes to rest");
    let named = fixture.named();
    assert_eq!(named, [1, 2, 3, 0].map(player).map(Some).into_iter().chain([None]).collect::<Vec<_>>());
    fixture.act(player(9), &Action::NextGame(newcomer(player(9)))).unwrap();
}

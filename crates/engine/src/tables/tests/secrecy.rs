//! Two tables that differ only in what a viewer must not know look the same to that viewer: to the byte, in every view
//! and event.

use super::super::*;
use super::fixture::newcomer;
use super::{ScriptedAction, TableFixture, player};
use crate::ids::PlayerId;
use proptest::prelude::*;

/// A viewer's whole knowledge: every event so far, and the view.
fn knowledge(fixture: &TableFixture, viewer: Option<PlayerId>) -> (Option<FeedUpdate>, TableView) {
    (fixture.table.feed(viewer, 0), fixture.table.view(viewer))
}

#[track_caller]
fn check_same(a: &TableFixture, b: &TableFixture, viewer: Option<PlayerId>) {
    assert!(knowledge(a, viewer) == knowledge(b, viewer), "{viewer:?} sees a difference that he must not know");
}

/// Viewers to whom the choices of `0` and `2..` reveal nothing: player 1, a member who does not play, and a stranger.
fn outsiders() -> [Option<PlayerId>; 3] {
    [Some(player(1)), Some(player(8)), None]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// What the storyteller chose and the others picked shows only once the board lies open; a cancel shows nothing either.
    #[test]
    fn picks(seed in any::<u64>(), chosen in (0usize..6, 0usize..6), picked in prop::collection::vec((0usize..6, 0usize..6), 3)) {
        let play = |chosen: usize, picked: [usize; 3]| {
            let mut fixture = TableFixture::open(TableSettings::default(), seed, false);
            let mut seen = Vec::new();
            let mut step = |fixture: &mut TableFixture, n, scripted| {
                fixture.play_allowed(n, scripted);
                seen.push(outsiders().map(|viewer| knowledge(fixture, viewer)));
            };
            step(&mut fixture, 0, ScriptedAction::Choose(chosen));
            step(&mut fixture, 0, ScriptedAction::Tell);
            step(&mut fixture, 1, ScriptedAction::Join);
            step(&mut fixture, 1, ScriptedAction::Pick(2));
            for (n, place) in (2..).zip(picked) {
                step(&mut fixture, n, ScriptedAction::Join);
                step(&mut fixture, n, ScriptedAction::Pick(place));
            }
            step(&mut fixture, 0, ScriptedAction::Leave);
            (fixture, seen)
        };
        let picks = |twin: usize| std::array::from_fn(|at| if twin == 0 { picked[at].0 } else { picked[at].1 });
        let (a, seen_a) = play(chosen.0, picks(0));
        let (b, seen_b) = play(chosen.1, picks(1));
        prop_assert_eq!(a.game(None).phase, Phase::Canceled);
        for (step, (a, b)) in seen_a.iter().zip(&seen_b).enumerate() {
            prop_assert!(a == b, "step {} shows a difference", step);
        }
        for viewer in outsiders() {
            check_same(&a, &b, viewer);
            prop_assert!(history(&a, viewer) == history(&b, viewer));
        }
    }

    /// What others voted shows only once the votes are counted; a cancel shows nothing either.
    #[test]
    fn votes(seed in any::<u64>(), votes in prop::collection::vec((0usize..4, 0usize..4), 3)) {
        let play = |votes: [usize; 3]| {
            let mut fixture = TableFixture::open(TableSettings { rules: rules::stories::GameSettings { voted_min: 4, ..Default::default() }, ..TableSettings::default() }, seed, false);
            fixture.play_allowed(0, ScriptedAction::Choose(0));
            fixture.play_allowed(0, ScriptedAction::Tell);
            for n in 1..=4 {
                fixture.play_allowed(n, ScriptedAction::Join);
                fixture.play_allowed(n, ScriptedAction::Pick(0));
            }
            fixture.play_allowed(0, ScriptedAction::Open);
            let mut seen = Vec::new();
            for (n, place) in (2..).zip(votes) {
                fixture.play_allowed(n, ScriptedAction::Vote(place));
                seen.push(outsiders().map(|viewer| knowledge(&fixture, viewer)));
            }
            fixture.advance_time(TableSettings::default().game_timeout);
            (fixture, seen)
        };
        let picks = |twin: usize| std::array::from_fn(|at| if twin == 0 { votes[at].0 } else { votes[at].1 });
        let (a, seen_a) = play(picks(0));
        let (b, seen_b) = play(picks(1));
        prop_assert_eq!(a.game(None).phase, Phase::Canceled);
        prop_assert!(seen_a == seen_b);
        for viewer in outsiders() {
            check_same(&a, &b, viewer);
            prop_assert!(history(&a, viewer) == history(&b, viewer));
        }
    }
}

fn record(fixture: &TableFixture) -> GameRecord {
    let mut records = fixture.index.iter().filter_map(|index| match index {
        IndexChange::ArchiveGame { record, .. } => Some(record),
        _ => None,
    });
    GameRecord::from_bytes(records.next_back().expect("the game has ended")).expect("a record is read back")
}

fn history(fixture: &TableFixture, viewer: Option<PlayerId>) -> (Vec<TableEvent>, GameView) {
    let record = record(fixture);
    (record.history(viewer).expect("a history is read back"), record.view(viewer))
}

/// The history equals the feed, without the chat, numbered anew.
#[test]
fn history_equals_the_feed() {
    let mut fixture = TableFixture::up_to_vote(3);
    fixture.act(player(1), &Action::Chat("hello".to_owned())).unwrap();
    for n in 1..=3 {
        fixture.play_allowed(n, ScriptedAction::Vote(0));
    }
    fixture.play_allowed(0, ScriptedAction::Complete);
    for viewer in [Some(player(0)), Some(player(1)), Some(player(3)), Some(player(8)), None] {
        let Some(update) = fixture.table.feed(viewer, 0) else { panic!("nothing is forgotten yet") };
        let is_history =
            |kind: &EventKind| !matches!(kind, EventKind::ChatSent { .. } | EventKind::NextStoryteller { .. });
        let expected: Vec<_> = update.events.into_iter().map(|event| event.kind).filter(is_history).collect();
        let (events, _) = history(&fixture, viewer);
        assert!(events.iter().map(|event| event.seq).eq(1..=events.len() as u64));
        assert_eq!(events.into_iter().map(|event| event.kind).collect::<Vec<_>>(), expected, "{viewer:?}");
    }
}

/// Who left during the vote is a visitor, at the table and in the archive, even as the storyteller.
#[test]
fn who_left_during_the_vote_sees_what_a_visitor_sees() {
    for gone in [0, 1] {
        let mut fixture = TableFixture::up_to_vote(3);
        fixture.play_allowed(gone, ScriptedAction::Leave);
        for n in 2..=3 {
            fixture.play_allowed(n, ScriptedAction::Vote(0));
        }
        let view = |viewer| GameView { own: None, ..fixture.game(viewer) };
        assert!(view(Some(player(gone))) == view(None));
        fixture.advance_time(TableSettings::default().countdown);
        assert_eq!(fixture.game(None).phase, Phase::Complete);
        assert!(fixture.game(Some(player(gone))) == fixture.game(None));
        assert!(history(&fixture, Some(player(gone))) == history(&fixture, None));
        assert!(fixture.game(None).players[usize::from(gone)].has_left);
        assert!(fixture.game(None).players[0].points.is_some());
    }
}

/// What may end up in a log file is the same whatever the cards are.
#[test]
fn debug_output_reveals_no_card() {
    let texts = |seed: u64, place: usize| {
        let mut fixture = TableFixture::open(TableSettings::default(), seed, false);
        let action = fixture.action(player(0), ScriptedAction::Choose(place));
        let change = fixture.table.decide(player(0), None, &action, fixture.now, &|_| true).unwrap();
        fixture.commit(&change);
        fixture.play_allowed(0, ScriptedAction::Leave);
        let view = fixture.table.view(Some(player(0)));
        [
            format!("{action:?}"),
            format!("{change:?}"),
            format!("{:?}", fixture.table),
            format!("{view:?}"),
            format!("{:?}", record(&fixture)),
        ]
    };
    assert_eq!(texts(1, 0), texts(1, 3));
    assert_eq!(texts(1, 0), texts(2, 5));
}

#[test]
fn chat_is_for_those_who_sit_there() {
    let mut fixture = TableFixture::with_defaults();
    fixture.act(player(0), &Action::Chat("one".to_owned())).unwrap();
    let (visitor, member) = (fixture.table.seq(None), fixture.table.seq(Some(player(0))));
    assert_eq!((visitor, member), (1, 2));
    fixture.act(player(5), &Action::Join(newcomer(player(5)))).unwrap();
    assert_eq!(fixture.table.seq(Some(player(5))), 2, "who sits down goes on from where visitors are");
    assert_eq!(fixture.table.view(Some(player(5))).chat.len(), 1);
    assert!(fixture.table.view(Some(player(6))).chat.is_empty());
    fixture.act(player(0), &Action::Chat("two".to_owned())).unwrap();
    assert_eq!(fixture.table.seq(Some(player(5))), 3);
    fixture.play_allowed(5, ScriptedAction::Leave);
    assert_eq!(
        (fixture.table.seq(Some(player(5))), fixture.table.seq(None)),
        (4, 3),
        "who leaves goes on from his own number"
    );
    fixture.act(player(0), &Action::Chat("three".to_owned())).unwrap();
    assert_eq!(fixture.table.seq(Some(player(5))), 4);
}

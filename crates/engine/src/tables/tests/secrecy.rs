//! Two tables that differ only in what a viewer must not know look the same to him: to the byte, in every view and event.

use super::super::*;
use super::fixture::newcomer;
use super::{ScriptedAction, TableFixture, player};
use crate::ids::PlayerId;
use proptest::prelude::*;

/// A viewer's whole knowledge: every event so far, and the view.
fn knowledge(desk: &TableFixture, viewer: Option<PlayerId>) -> (Feed, TableView) {
    (desk.table.feed(viewer, 0), desk.table.view(viewer))
}

#[track_caller]
fn check_same(a: &TableFixture, b: &TableFixture, viewer: Option<PlayerId>) {
    assert!(knowledge(a, viewer) == knowledge(b, viewer), "{viewer:?} sees a difference that he must not know");
}

/// The viewers whom the choices of `0` and `2..` tell nothing: player 1, a member who does not play, and somebody outside.
fn outsiders() -> [Option<PlayerId>; 3] {
    [Some(player(1)), Some(player(8)), None]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// What the storyteller chose and the others picked shows only once the board lies open; a cancel shows nothing either.
    #[test]
    fn picks(seed in any::<u64>(), chosen in (0usize..6, 0usize..6), picked in prop::collection::vec((0usize..6, 0usize..6), 3)) {
        let play = |chosen: usize, picked: [usize; 3]| {
            let mut desk = TableFixture::open(TableSettings::default(), seed, false);
            let mut seen = Vec::new();
            let mut step = |desk: &mut TableFixture, n, scripted| {
                desk.play_allowed(n, scripted);
                seen.push(outsiders().map(|viewer| knowledge(desk, viewer)));
            };
            step(&mut desk, 0, ScriptedAction::Choose(chosen));
            step(&mut desk, 0, ScriptedAction::Tell);
            step(&mut desk, 1, ScriptedAction::Join);
            step(&mut desk, 1, ScriptedAction::Pick(2));
            for (n, place) in (2..).zip(picked) {
                step(&mut desk, n, ScriptedAction::Join);
                step(&mut desk, n, ScriptedAction::Pick(place));
            }
            step(&mut desk, 0, ScriptedAction::Leave);
            (desk, seen)
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
            let mut desk = TableFixture::open(TableSettings { rules: rules::stories::GameSettings { voted_min: 4, ..Default::default() }, ..TableSettings::default() }, seed, false);
            desk.play_allowed(0, ScriptedAction::Choose(0));
            desk.play_allowed(0, ScriptedAction::Tell);
            for n in 1..=4 {
                desk.play_allowed(n, ScriptedAction::Join);
                desk.play_allowed(n, ScriptedAction::Pick(0));
            }
            desk.play_allowed(0, ScriptedAction::Open);
            let mut seen = Vec::new();
            for (n, place) in (2..).zip(votes) {
                desk.play_allowed(n, ScriptedAction::Vote(place));
                seen.push(outsiders().map(|viewer| knowledge(&desk, viewer)));
            }
            desk.advance_time(TableSettings::default().game_timeout);
            (desk, seen)
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

fn record(desk: &TableFixture) -> GameRecord {
    let mut records = desk.index.iter().filter_map(|index| match index {
        crate::commands::IndexChange::ArchiveGame { record, .. } => Some(record),
        _ => None,
    });
    GameRecord::from_bytes(records.next_back().expect("the game has ended")).expect("a record is read back")
}

fn history(desk: &TableFixture, viewer: Option<PlayerId>) -> (Vec<TableEvent>, GameView) {
    let record = record(desk);
    (record.history(viewer).expect("a history is read back"), record.view(viewer))
}

/// History is what the feed said, without the chat, numbered anew.
#[test]
fn history_says_what_the_feed_said() {
    let mut desk = TableFixture::up_to_vote(3);
    desk.act(player(1), &Action::Chat("hello".to_owned())).unwrap();
    for n in 1..=3 {
        desk.play_allowed(n, ScriptedAction::Vote(0));
    }
    desk.play_allowed(0, ScriptedAction::Complete);
    for viewer in [Some(player(0)), Some(player(1)), Some(player(3)), Some(player(8)), None] {
        let Feed::Update(news) = desk.table.feed(viewer, 0) else { panic!("nothing is forgotten yet") };
        let is_history =
            |kind: &EventKind| !matches!(kind, EventKind::ChatSent { .. } | EventKind::NextStoryteller { .. });
        let said: Vec<_> = news.events.into_iter().map(|event| event.kind).filter(is_history).collect();
        let (events, _) = history(&desk, viewer);
        assert!(events.iter().map(|event| event.seq).eq(1..=events.len() as u64));
        assert_eq!(events.into_iter().map(|event| event.kind).collect::<Vec<_>>(), said, "{viewer:?}");
    }
}

/// Who left during the vote is a visitor, at the table and in the archive, even as the storyteller.
#[test]
fn who_left_during_the_vote_sees_what_a_visitor_sees() {
    for gone in [0, 1] {
        let mut desk = TableFixture::up_to_vote(3);
        desk.play_allowed(gone, ScriptedAction::Leave);
        for n in 2..=3 {
            desk.play_allowed(n, ScriptedAction::Vote(0));
        }
        let view = |viewer| GameView { own: None, ..desk.game(viewer) };
        assert!(view(Some(player(gone))) == view(None));
        desk.advance_time(TableSettings::default().countdown);
        assert_eq!(desk.game(None).phase, Phase::Complete);
        assert!(desk.game(Some(player(gone))) == desk.game(None));
        assert!(history(&desk, Some(player(gone))) == history(&desk, None));
        assert!(desk.game(None).players[usize::from(gone)].has_left);
        assert!(desk.game(None).players[0].points.is_some());
    }
}

/// What may end up in a line of a log is the same whatever the cards are.
#[test]
fn debug_tells_no_card() {
    let texts = |seed: u64, place: usize| {
        let mut desk = TableFixture::open(TableSettings::default(), seed, false);
        let action = desk.action(player(0), ScriptedAction::Choose(place));
        let change = desk.table.decide(player(0), None, &action, desk.now, &|_| true).unwrap();
        desk.commit(&change);
        desk.play_allowed(0, ScriptedAction::Leave);
        let view = desk.table.view(Some(player(0)));
        [
            format!("{action:?}"),
            format!("{change:?}"),
            format!("{:?}", desk.table),
            format!("{view:?}"),
            format!("{:?}", record(&desk)),
        ]
    };
    assert_eq!(texts(1, 0), texts(1, 3));
    assert_eq!(texts(1, 0), texts(2, 5));
}

#[test]
fn chat_is_for_those_who_sit_there() {
    let mut desk = TableFixture::with_defaults();
    desk.act(player(0), &Action::Chat("one".to_owned())).unwrap();
    let (visitor, member) = (desk.table.seq(None), desk.table.seq(Some(player(0))));
    assert_eq!((visitor, member), (1, 2));
    desk.act(player(5), &Action::Join(newcomer(player(5)))).unwrap();
    assert_eq!(desk.table.seq(Some(player(5))), 2, "who sits down goes on from where visitors are");
    assert_eq!(desk.table.view(Some(player(5))).chat.len(), 1);
    assert!(desk.table.view(Some(player(6))).chat.is_empty());
    desk.act(player(0), &Action::Chat("two".to_owned())).unwrap();
    assert_eq!(desk.table.seq(Some(player(5))), 3);
    desk.play_allowed(5, ScriptedAction::Leave);
    assert_eq!(
        (desk.table.seq(Some(player(5))), desk.table.seq(None)),
        (4, 3),
        "who leaves goes on from his own number"
    );
    desk.act(player(0), &Action::Chat("three".to_owned())).unwrap();
    assert_eq!(desk.table.seq(Some(player(5))), 4);
}

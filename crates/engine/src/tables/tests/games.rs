//! Whole games, as their players see them.

use super::super::*;
use super::{ScriptedAction, TableFixture, player};

#[test]
fn a_game_from_beginning_to_end() {
    let mut fixture = TableFixture::with_defaults();
    assert_eq!(fixture.game(Some(player(0))).own.map(|mine| mine.hand.len()), Some(6));
    fixture.play_allowed(0, ScriptedAction::Choose(2));
    fixture.play_allowed(0, ScriptedAction::Choose(3));
    fixture.play_allowed(1, ScriptedAction::Join);
    fixture.play_allowed(0, ScriptedAction::Tell);
    for n in 2..=5 {
        fixture.play_allowed(n, ScriptedAction::Join);
    }
    for n in 1..=4 {
        fixture.play_allowed(n, ScriptedAction::Pick(1));
    }
    fixture.play_allowed(2, ScriptedAction::Pick(4));
    fixture.play_allowed(0, ScriptedAction::Open);
    let game = fixture.game(None);
    assert_eq!(game.players.iter().map(|player| player.id).collect::<Vec<_>>(), [0, 1, 2, 3, 4].map(player));
    assert_eq!(game.board.map(|board| board.len()), Some(5));
    let winner = fixture.game(Some(player(0))).winner_card;
    let CardView::Card(winner) = winner else { panic!("the storyteller knows his card") };
    fixture.act(player(1), &Action::Vote(winner)).unwrap();
    for n in 2..=3 {
        let wrong = fixture.others_on_board(player(n)).into_iter().find(|card| *card != winner).unwrap();
        fixture.act(player(n), &Action::Vote(wrong)).unwrap();
    }
    fixture.play_allowed(0, ScriptedAction::Complete);
    let game = fixture.game(None);
    assert_eq!(game.phase, Phase::Complete);
    assert_eq!(game.winner_card, CardView::Card(winner));
    assert_eq!(game.players.iter().map(|player| player.has_won).collect::<Vec<_>>(), [true, true, false, false, false]);
    assert_eq!(game.players[0].points, Some(14));
    assert_eq!(game.players[4].points, None);
    assert_eq!(fixture.table.view(None).next_storyteller, Some(player(1)));
}

//! Whole games, as their players see them.

use super::super::*;
use super::{Desk, Scripted, player};

#[test]
fn a_game_from_beginning_to_end() {
    let mut desk = Desk::usual();
    assert_eq!(desk.game(Some(player(0))).mine.map(|mine| mine.hand.len()), Some(6));
    desk.must(0, Scripted::Choose(2));
    desk.must(0, Scripted::Choose(3));
    desk.must(1, Scripted::Join);
    desk.must(0, Scripted::Tell);
    for n in 2..=5 {
        desk.must(n, Scripted::Join);
    }
    for n in 1..=4 {
        desk.must(n, Scripted::Pick(1));
    }
    desk.must(2, Scripted::Pick(4));
    desk.must(0, Scripted::Open);
    let game = desk.game(None);
    assert_eq!(game.players.iter().map(|player| player.id).collect::<Vec<_>>(), [0, 1, 2, 3, 4].map(player));
    assert_eq!(game.board.map(|board| board.len()), Some(5));
    let winner = desk.game(Some(player(0))).winner_card;
    let Shown::Card(winner) = winner else { panic!("the storyteller knows his card") };
    desk.act(player(1), &Action::Vote(winner)).unwrap();
    for n in 2..=3 {
        let wrong = desk.others_on_board(player(n)).into_iter().find(|card| *card != winner).unwrap();
        desk.act(player(n), &Action::Vote(wrong)).unwrap();
    }
    desk.must(0, Scripted::Complete);
    let game = desk.game(None);
    assert_eq!(game.phase, Phase::Complete);
    assert_eq!(game.winner_card, Shown::Card(winner));
    assert_eq!(game.players.iter().map(|player| player.has_won).collect::<Vec<_>>(), [true, true, false, false, false]);
    assert_eq!(game.players[0].points, Some(14));
    assert_eq!(game.players[4].points, None);
    assert_eq!(desk.table.view(None).next_storyteller, Some(player(1)));
}

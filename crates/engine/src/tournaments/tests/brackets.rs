//! Known brackets, with seeds from 1 as they are printed everywhere; the better seed wins unless a row says otherwise.

use super::*;

const SINGLE: Format = Format::SingleElimination { third_place: true };
const DOUBLE: Format = Format::DoubleElimination { final_reset: true };

#[track_caller]
fn check(format: Format, entrants: u16, stage: PairingStage, want: &[&str]) {
    let mut player = started(definition(format), entrants);
    player.play_by_number();
    assert_eq!(player.pairings(stage), want, "{entrants} entrants");
    assert_eq!(player.tournament.champion(), Some(0));
}

#[test]
fn two_to_sixteen_in_a_single_elimination() {
    check(SINGLE, 2, PairingStage::Winners, &["1: 1 v 2 > 1"]);
    check(SINGLE, 3, PairingStage::Winners, &["1: 1 v - > 1", "1: 2 v 3 > 2", "2: 1 v 2 > 1"]);
    check(
        SINGLE,
        5,
        PairingStage::Winners,
        &[
            "1: 1 v - > 1",
            "1: 4 v 5 > 4",
            "1: 2 v - > 2",
            "1: 3 v - > 3",
            "2: 1 v 4 > 1",
            "2: 2 v 3 > 2",
            "3: 1 v 2 > 1",
        ],
    );
    check(
        SINGLE,
        6,
        PairingStage::Winners,
        &[
            "1: 1 v - > 1",
            "1: 4 v 5 > 4",
            "1: 2 v - > 2",
            "1: 3 v 6 > 3",
            "2: 1 v 4 > 1",
            "2: 2 v 3 > 2",
            "3: 1 v 2 > 1",
        ],
    );
    check(
        SINGLE,
        8,
        PairingStage::Winners,
        &[
            "1: 1 v 8 > 1",
            "1: 4 v 5 > 4",
            "1: 2 v 7 > 2",
            "1: 3 v 6 > 3",
            "2: 1 v 4 > 1",
            "2: 2 v 3 > 2",
            "3: 1 v 2 > 1",
        ],
    );
    check(
        SINGLE,
        12,
        PairingStage::Winners,
        &[
            "1: 1 v - > 1",
            "1: 8 v 9 > 8",
            "1: 4 v - > 4",
            "1: 5 v 12 > 5",
            "1: 2 v - > 2",
            "1: 7 v 10 > 7",
            "1: 3 v - > 3",
            "1: 6 v 11 > 6",
            "2: 1 v 8 > 1",
            "2: 4 v 5 > 4",
            "2: 2 v 7 > 2",
            "2: 3 v 6 > 3",
            "3: 1 v 4 > 1",
            "3: 2 v 3 > 2",
            "4: 1 v 2 > 1",
        ],
    );
    check(
        SINGLE,
        16,
        PairingStage::Winners,
        &[
            "1: 1 v 16 > 1",
            "1: 8 v 9 > 8",
            "1: 4 v 13 > 4",
            "1: 5 v 12 > 5",
            "1: 2 v 15 > 2",
            "1: 7 v 10 > 7",
            "1: 3 v 14 > 3",
            "1: 6 v 11 > 6",
            "2: 1 v 8 > 1",
            "2: 4 v 5 > 4",
            "2: 2 v 7 > 2",
            "2: 3 v 6 > 3",
            "3: 1 v 4 > 1",
            "3: 2 v 3 > 2",
            "4: 1 v 2 > 1",
        ],
    );
}

#[test]
fn the_third_place() {
    check(SINGLE, 2, PairingStage::ThirdPlace, &[]);
    check(SINGLE, 3, PairingStage::ThirdPlace, &["2: - v 3 > 3"]);
    check(SINGLE, 4, PairingStage::ThirdPlace, &["2: 4 v 3 > 3"]);
    check(SINGLE, 16, PairingStage::ThirdPlace, &["4: 4 v 3 > 3"]);
    check(Format::SingleElimination { third_place: false }, 16, PairingStage::ThirdPlace, &[]);
}

#[test]
fn the_losers_of_a_double_elimination() {
    check(DOUBLE, 2, PairingStage::Losers, &[]);
    check(DOUBLE, 4, PairingStage::Losers, &["1: 4 v 3 > 3", "2: 3 v 2 > 2"]);
    check(
        DOUBLE,
        5,
        PairingStage::Losers,
        &["1: - v 5 > 5", "1: - v - > -", "2: 5 v 3 > 3", "2: - v 4 > 4", "3: 3 v 4 > 3", "4: 3 v 2 > 2"],
    );
    check(
        DOUBLE,
        8,
        PairingStage::Losers,
        &["1: 8 v 5 > 5", "1: 7 v 6 > 6", "2: 5 v 3 > 3", "2: 6 v 4 > 4", "3: 3 v 4 > 3", "4: 3 v 2 > 2"],
    );
    check(
        DOUBLE,
        16,
        PairingStage::Losers,
        &[
            "1: 16 v 9 > 9",
            "1: 13 v 12 > 12",
            "1: 15 v 10 > 10",
            "1: 14 v 11 > 11",
            "2: 9 v 6 > 6",
            "2: 12 v 7 > 7",
            "2: 10 v 5 > 5",
            "2: 11 v 8 > 8",
            "3: 6 v 7 > 6",
            "3: 5 v 8 > 5",
            "4: 6 v 4 > 4",
            "4: 5 v 3 > 3",
            "5: 4 v 3 > 3",
            "6: 3 v 2 > 2",
        ],
    );
    check(DOUBLE, 8, PairingStage::GrandFinal, &["1: 1 v 2 > 1"]);
    check(DOUBLE, 8, PairingStage::FinalReset, &["1: 1 v 2 > -"]);
}

/// The second seed loses to the first in the final of the winners, and beats it `times` times after that.
#[track_caller]
fn check_reset(format: Format, times: usize, want_resets: &[&str], champion: u16) {
    let mut player = started(definition(format), 4);
    let mut met = 0;
    player.play(|seats| {
        let mut result = play::by_number(seats);
        if seats.contains(&0) && seats.contains(&1) {
            if (1..=times).contains(&met) {
                result.places.reverse();
            }
            met += 1;
        }
        GameEnd::Played(result)
    });
    assert_eq!(player.pairings(PairingStage::FinalReset), want_resets);
    assert_eq!(player.tournament.champion(), Some(champion));
}

#[test]
fn the_undefeated_must_lose_twice() {
    check_reset(DOUBLE, 0, &["1: 1 v 2 > -"], 0);
    check_reset(DOUBLE, 1, &["1: 2 v 1 > 1"], 0);
    check_reset(DOUBLE, 2, &["1: 2 v 1 > 2"], 1);
    check_reset(Format::DoubleElimination { final_reset: false }, 1, &[], 1);
}

#[test]
fn everyone_against_everyone_by_the_circle() {
    check(
        Format::RoundRobin,
        4,
        PairingStage::RoundRobin,
        &["1: 1 v 4 > 1", "1: 2 v 3 > 2", "2: 1 v 3 > 1", "2: 4 v 2 > 2", "3: 1 v 2 > 1", "3: 3 v 4 > 3"],
    );
    check(Format::RoundRobin, 3, PairingStage::RoundRobin, &["1: 2 v 3 > 2", "2: 1 v 3 > 1", "3: 1 v 2 > 1"]);
}

#[test]
fn groups_of_equal_strength_into_a_bracket() {
    let groups = Format::Groups { groups: 4, advance: 2, third_place: true };
    check(
        groups,
        16,
        PairingStage::Group(0),
        &["1: 1 v 16 > 1", "1: 8 v 9 > 8", "2: 1 v 9 > 1", "2: 16 v 8 > 8", "3: 1 v 8 > 1", "3: 9 v 16 > 9"],
    );
    // The second of a group meets the winner of another one.
    check(
        groups,
        16,
        PairingStage::Winners,
        &[
            "1: 1 v 5 > 1",
            "1: 4 v 8 > 4",
            "1: 2 v 6 > 2",
            "1: 3 v 7 > 3",
            "2: 1 v 4 > 1",
            "2: 2 v 3 > 2",
            "3: 1 v 2 > 1",
        ],
    );
}

#[test]
fn heats_of_four_of_which_two_go_on() {
    let heats = Format::Heats { size: 4, advance: 2 };
    check(heats, 4, PairingStage::Heat, &["1: 1 v 2 v 3 v 4 > 1"]);
    check(heats, 5, PairingStage::Heat, &["1: 1 v 4 v 5 > 1", "1: 2 v 3 > 2", "2: 1 v 2 v 4 > 1"]);
    check(heats, 8, PairingStage::Heat, &["1: 1 v 4 v 5 v 8 > 1", "1: 2 v 3 v 6 v 7 > 2", "2: 1 v 2 v 4 v 3 > 1"]);
}

#[track_caller]
fn check_places(format: Format, entrants: u16, want: &[u16]) {
    let mut player = started(definition(format), entrants);
    player.play_by_number();
    let standings = player.tournament.standings();
    let places: Vec<_> = standings.iter().map(|standing| standing.place.unwrap()).collect();
    assert_eq!(places, want, "{format:?} {entrants}");
}

#[test]
fn those_who_go_out_together_share_a_place() {
    check_places(Format::SingleElimination { third_place: false }, 8, &[1, 2, 3, 3, 5, 5, 5, 5]);
    check_places(SINGLE, 8, &[1, 2, 3, 4, 5, 5, 5, 5]);
    check_places(DOUBLE, 8, &[1, 2, 3, 4, 5, 5, 7, 7]);
    check_places(DOUBLE, 5, &[1, 2, 3, 4, 5]);
    check_places(DOUBLE, 2, &[1, 2]);
    check_places(Format::RoundRobin, 5, &[1, 2, 3, 4, 5]);
    check_places(Format::Swiss { rounds: 0 }, 8, &[1, 2, 3, 4, 5, 6, 7, 8]);
    check_places(Format::Heats { size: 4, advance: 2 }, 8, &[1, 2, 3, 4, 5, 5, 7, 7]);
    check_places(Format::Groups { groups: 2, advance: 2, third_place: true }, 8, &[1, 2, 3, 4, 5, 5, 7, 7]);
}

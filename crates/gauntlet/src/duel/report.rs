//! A duel in words and numbers, for a terminal.

use crate::output::printable;
use std::fmt::Write;
use wire::api::{DuelDetails, DuelPairing, DuelStrength, DuelTest};

/// Games that count so far.
pub(super) fn games_counted(duel: &DuelDetails) -> u32 {
    duel.pairings.iter().map(|pairing| pairing.wins + pairing.draws + pairing.losses).sum()
}

/// One line while it runs.
pub(super) fn progress(duel: &DuelDetails) -> String {
    match (&duel.test, duel.pairings.as_slice()) {
        (Some(test), [pairing]) => {
            format!("{}, {}, {}", games(pairing), llr(pairing, test), strength(&pairing.strength))
        }
        _ => {
            let planned = duel.games_max as usize * duel.pairings.len();
            format!("{} of {planned} games", games_counted(duel))
        }
    }
}

/// What is known at the end.
pub(super) fn summary(duel: &DuelDetails) -> String {
    let mut text = printable(&duel.verdict);
    if let Some((status, body)) = duel.silent_bot.as_ref().and_then(|bot| bot.status.zip(bot.body_start.as_ref())) {
        let _ = write!(text, "\n  its answer: status {status}, beginning with {:.80?}", printable(body));
    }
    match (&duel.test, duel.pairings.as_slice()) {
        (Some(test), [pairing]) => {
            let _ = write!(
                text,
                "\n  {} (of the candidate)\n  pairs with 0, ½, 1, 1½, 2 points: {}\n  {}\n  {}",
                games(pairing),
                pairing.pairs.map(|count| count.to_string()).join(", "),
                llr(pairing, test),
                strength(&pairing.strength)
            );
        }
        _ => text.push_str(&league(duel)),
    }
    let void_pairs: u32 = duel.pairings.iter().map(|pairing| pairing.void_pairs).sum();
    if duel.games_repeated > 0 || void_pairs > 0 {
        let _ = write!(text, "\n  {} games were repeated, {void_pairs} pairs could not be played", duel.games_repeated);
    }
    text
}

fn games(pairing: &DuelPairing) -> String {
    let DuelPairing { wins, draws, losses, .. } = pairing;
    format!("{} games: {wins} won, {draws} drawn, {losses} lost", wins + draws + losses)
}

fn llr(pairing: &DuelPairing, test: &DuelTest) -> String {
    let llr = pairing.llr.unwrap_or_default();
    format!("LLR {llr:.2} [{:.2}, {:.2}] for {} against {} Elo", test.llr_lower, test.llr_upper, test.elo1, test.elo0)
}

fn strength(strength: &DuelStrength) -> String {
    let DuelStrength { elo, elo_low, elo_high } = strength;
    format!("Elo {} [{}, {}]", signed(*elo, "?"), signed(*elo_low, "-∞"), signed(*elo_high, "+∞"))
}

fn signed(elo: Option<f64>, unbounded: &str) -> String {
    elo.map_or_else(|| unbounded.to_owned(), |elo| format!("{elo:+.0}"))
}

/// The table, best bot first: Elo above the mean with its interval, and the likelihood to be stronger than each other one.
fn league(duel: &DuelDetails) -> String {
    let names: Vec<String> = duel.summary.bots.iter().map(|bot| printable(&bot.name)).collect();
    let mut order: Vec<usize> = (0..duel.table.len()).collect();
    order.sort_by(|a, b| duel.table[*b].elo.total_cmp(&duel.table[*a].elo));
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut text = format!("\n  {:width$}  {:>12}  stronger than", "", "Elo");
    for bot in &order {
        let row = &duel.table[*bot];
        let likelihoods = order.iter().filter(|other| *other != bot);
        let likelihoods: Vec<String> =
            likelihoods.map(|other| format!("{} {:.1} %", names[*other], 100.0 * row.superiority[*other])).collect();
        let elo = format!("{:+.0} ± {:.0}", row.elo, row.elo_margin);
        let _ = write!(text, "\n  {:width$}  {elo:>12}  {}", names[*bot], likelihoods.join(", "));
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;
    use wire::api::LeagueRow;

    pub(in super::super) fn duel() -> DuelDetails {
        serde_json::from_value(json!({            "id": "1", "name": "A against B", "status": "finished", "is_public": false,
            "bots": [{"name": "A", "snake_id": null}, {"name": "B", "snake_id": null}],
            "games_ended": 50, "created_at": "2026-01-01T00:00:00Z", "ended_at": null,
            "end": "h1_accepted", "verdict": "B is better.", "board": "11x11", "game_type": "standard", "map": "standard",
            "timeout_ms": 500, "seed": "1", "games_max": 2000, "pairs_at_once": 4, "games_in_flight": 0,
            "games_repeated": 1, "history": [], "table": [],
            "test": {"elo0": 0.0, "elo1": 50.0, "alpha": 0.05, "beta": 0.05, "llr_lower": -2.944, "llr_upper": 2.944},
            "pairings": [{
                "first": 0, "second": 1, "wins": 45, "draws": 0, "losses": 1, "pairs": [0, 0, 1, 0, 22], "void_pairs": 0,
                "llr": 3.02, "elo": 661.3, "elo_low": 222.2, "elo_high": null
            }]
        }))
        .expect("a duel as the API has it")
    }

    #[test]
    fn a_test_in_words() {
        let duel = duel();
        assert_eq!(games_counted(&duel), 46);
        assert_eq!(
            progress(&duel),
            "46 games: 45 won, 0 drawn, 1 lost, LLR 3.02 [-2.94, 2.94] for 50 against 0 Elo, Elo +661 [+222, +∞]"
        );
        let summary = summary(&duel);
        assert!(summary.starts_with("B is better.\n  46 games"), "{summary}");
        assert!(summary.ends_with("1 games were repeated, 0 pairs could not be played"), "{summary}");
    }

    #[test]
    fn a_foreign_server_cannot_control_the_terminal() {
        let mut duel = duel();
        duel.verdict = "B is\u{1b}[2J better.\u{9b}x".to_owned();
        duel.summary.bots[1].name = "B\u{1b}]0;x\u{7}".to_owned();
        duel.table = [-1.0, 1.0].map(|elo| LeagueRow { elo, elo_margin: 1.0, superiority: vec![0.5, 0.5] }).into();
        for test in [duel.test.clone(), None] {
            duel.test = test;
            let text = summary(&duel);
            assert!(!text.chars().any(|char| char.is_control() && char != '\n'), "{text:?}");
        }
    }
}

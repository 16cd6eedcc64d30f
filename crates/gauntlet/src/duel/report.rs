//! A duel in words and numbers, for a terminal.

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
    let mut text = duel.verdict.clone();
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
    let names: Vec<&str> = duel.summary.bots.iter().map(|bot| bot.name.as_str()).collect();
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
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_test_in_words() {
        let duel: DuelDetails = serde_json::from_value(json!({
            "id": "1", "name": "A against B", "status": "finished", "is_public": false,
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
        .expect("a duel as the API has it");
        assert_eq!(games_counted(&duel), 46);
        assert_eq!(
            progress(&duel),
            "46 games: 45 won, 0 drawn, 1 lost, LLR 3.02 [-2.94, 2.94] for 50 against 0 Elo, Elo +661 [+222, +∞]"
        );
        let summary = summary(&duel);
        assert!(summary.starts_with("B is better.\n  46 games"), "{summary}");
        assert!(summary.ends_with("1 games were repeated, 0 pairs could not be played"), "{summary}");
    }
}

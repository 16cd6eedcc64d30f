//! Tests of tournaments: known brackets, rules that hold for every field, and what users do.

mod brackets;
mod play;
mod properties;
mod rows;
mod swiss_rounds;

use super::*;
use crate::ids::{AccountId, BotId, MatchId};
use crate::limits::{TOURNAMENT_GAME_DEADLINE_DEFAULT, TOURNAMENT_ROUND_ROBIN_MAX};
use crate::matches::settings::MatchSettings;
use crate::time::UnixMs;
use play::Player;
use rules::chance::Seed;
use rules::snake::Rules;

const NOW: UnixMs = UnixMs(1_700_000_000_000);

fn definition(format: Format) -> Definition {
    let entrants_max = if format == Format::RoundRobin { TOURNAMENT_ROUND_ROBIN_MAX } else { 128 };
    let entrants_min = if let Format::Groups { groups, .. } = format { groups * 2 } else { 2 };
    Definition {
        format,
        rules: TournamentRules {
            best_of: 1,
            replays_max: 2,
            tie_breaks: vec![TieBreak::Food, TieBreak::Seed],
            game_deadline: TOURNAMENT_GAME_DEADLINE_DEFAULT,
            games_at_once: 64,
        },
        seeding: Seeding::Manual,
        entry_rule: EntryRule::Open,
        entrants_min,
        entrants_max,
        entrants_per_account_max: 4,
        starts_at: Some(NOW),
        seed: Seed(7),
        game: MatchSettings { rules: Rules::default(), width: 11, height: 11, timeout_ms: 500, turns_max: 500 },
    }
}

fn entrant(number: u16) -> NewEntrant {
    let mut url_digest = [0; 32];
    url_digest[..2].copy_from_slice(&number.to_le_bytes());
    NewEntrant {
        bot: BotId(u128::from(number)),
        name: format!("bot {number}"),
        account: AccountId(u128::from(number)),
        author: format!("owner {number}"),
        url_digest,
    }
}

fn entered(number: u16) -> Event {
    Event::Entered { entrant: entrant(number), by_organizer: false }
}

fn entry(event: Event) -> LogEntry {
    LogEntry { at: NOW, event }
}

/// A tournament in which these many bots are entered; the first is the best seed.
fn with_field(definition: Definition, entrants: u16) -> Player {
    let mut player = Player::new(definition);
    for number in 0..entrants {
        player.happen(entered(number));
    }
    player
}

/// The same, started.
fn started(definition: Definition, entrants: u16) -> Player {
    let mut player = with_field(definition, entrants);
    player.start();
    player
}

fn score(places: &[u8]) -> GameScore {
    GameScore { places: places.to_vec(), food: vec![0; places.len()], silent: vec![false; places.len()], turns: 99 }
}

fn match_id(number: u128) -> MatchId {
    MatchId(number)
}

//! From what the store knows to what the wire shows.

use super::related::Related;
use super::request::game_type;
use crate::evidence;
use engine::matches::result::MatchResult;
use engine::rows::{MatchRow, MatchStatus};
use engine::time::UnixMs;
use wire::api::{GameDetails, GameSnake, GameStatus, GameSummary, PublicGame, SettingsView};
use wire::time::Timestamp;

/// A game as lists show it.
pub(crate) fn summary(row: &MatchRow, related: &Related) -> GameSummary {
    let (spec, status) = (&row.spec, &row.status);
    let winner = row.result.as_ref().and_then(|result| result.winner);
    GameSummary {
        id: spec.id.to_string(),
        status: status.state.name().to_owned(),
        winner: winner.and_then(|seat| spec.seats.get(usize::from(seat))).map(|seat| seat.bot.to_string()),
        snakes: (0..spec.seats.len()).map(|seat| snake(row, seat, related)).collect(),
        board: format!("{}x{}", spec.width, spec.height),
        game_type: game_type(&spec.rules).to_owned(),
        created_at: time(status.created_at),
        updated_at: time(status.updated_at),
        enqueued_at: time(status.enqueued_at),
        competition: related.competition(row),
    }
}

fn snake(row: &MatchRow, seat: usize, related: &Related) -> GameSnake {
    let placement = |result: &MatchResult| result.placements.get(seat).copied();
    let cause = |result: &MatchResult| result.causes.get(seat).copied().flatten();
    let death_turn = |result: &MatchResult| result.death_turns.get(seat).copied().flatten();
    // A request has the number of the board that it shows: the one before the turn.
    let deciding_turn = row.result.as_ref().and_then(death_turn).and_then(|turn| turn.checked_sub(1));
    GameSnake {
        id: row.spec.seats[seat].bot.to_string(),
        name: row.spec.seats[seat].name.clone(),
        owner: row.spec.seats[seat].owner.clone(),
        face: related.face(row.spec.seats[seat].bot),
        placement: row.result.as_ref().and_then(placement),
        cause: row.result.as_ref().and_then(cause).map(|cause| cause.as_str().to_owned()),
        outcome: row.result.as_ref().map(|result| result.outcome(seat).name().to_owned()),
        deciding_turn,
        evidence: deciding_turn.map(|turn| evidence::turn_path(row.spec.id, seat, turn)),
    }
}

/// What strangers may read of a public game.
pub(crate) fn public(row: &MatchRow, related: &Related) -> PublicGame {
    let status = &row.status;
    PublicGame {
        summary: summary(row, related),
        map: row.spec.rules.map.name().to_owned(),
        turns: status.turns,
        started_at: status.started_at.map(time),
        finished_at: status.ended_at.map(time),
    }
}

/// Everything about a game, but for its frames.
pub(super) fn details(row: &MatchRow, related: &Related, with_seed: bool) -> GameDetails {
    let (spec, status, settings) = (&row.spec, &row.status, &row.spec.rules.settings);
    GameDetails {
        summary: summary(row, related),
        map: spec.rules.map.name().to_owned(),
        seed: with_seed.then(|| spec.seed.0.to_string()),
        settings: SettingsView {
            food_spawn_chance: settings.food_spawn_chance.into(),
            minimum_food: settings.minimum_food.into(),
            hazard_damage_per_turn: settings.hazard_damage_per_turn.into(),
            shrink_every_n_turns: settings.shrink_every_n_turns.into(),
        },
        timeout_ms: spec.timeout_ms.into(),
        started_at: status.started_at.map(time),
        finished_at: status.ended_at.map(time),
        turns: status.turns,
        late_moves: status.late_moves,
        failure: status.failure.clone(),
        attempts: status.attempts_charged,
        node: status.node.clone(),
        frames: Vec::new(),
    }
}

/// Where a game is.
pub(super) fn status(status: &MatchStatus) -> GameStatus {
    GameStatus {
        id: status.id.to_string(),
        status: status.state.name().to_owned(),
        created_at: time(status.created_at),
        updated_at: time(status.updated_at),
        enqueued_at: time(status.enqueued_at),
        started_at: status.started_at.map(time),
        finished_at: status.ended_at.map(time),
        turns: status.turns,
        late_moves: status.late_moves,
        failure: status.failure.clone(),
        node: status.node.clone(),
    }
}

/// A point in time on the wire.
pub(crate) fn time(at: UnixMs) -> Timestamp {
    Timestamp(at.0)
}

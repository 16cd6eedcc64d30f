//! What the engine knows of ladders becomes JSON.

use crate::games::game_type;
use crate::problem::{ApiError, ApiResult};
use engine::competitions::CompetitionRow;
use engine::ladders::definition::LadderDefinition;
use engine::ladders::entry::{EntryRecord, Invitation, LadderEntry, Meeting, RatedGame, SeatCounts};
use engine::ladders::season::{SeasonEnd, current_season};
use engine::limits::LADDER_MIN_GAMES;
use engine::ratings::Rating;
use engine::time::UnixMs;
use wire::api::{
    EntryDetails, EntryScores, InvitationView, Leaderboard, LeaderboardEntry, OpponentView, PairGameView, RankingEntry,
    RatedGameView, RatingView, SeasonView, SeatView,
};
use wire::time::Timestamp;

const DAY_S: u64 = 24 * 3_600;

pub(super) fn definition(row: &CompetitionRow) -> ApiResult<LadderDefinition> {
    let decoded = LadderDefinition::decode(&row.definition);
    decoded.map_err(|error| ApiError::Internal(format!("the definition of leaderboard {}: {error}", row.id)))
}

fn timestamp(at: UnixMs) -> Timestamp {
    Timestamp(at.0)
}

pub(crate) fn leaderboard(row: &CompetitionRow, entries_active: usize) -> ApiResult<Leaderboard> {
    let definition = definition(row)?;
    let settings = definition.settings;
    Ok(Leaderboard {
        id: row.id.to_string(),
        name: row.name.clone(),
        owner_id: row.account.to_string(),
        active: !row.status.is_ended(),
        created_at: timestamp(row.created_at),
        ended_at: row.ended_at.map(timestamp),
        is_public: row.is_public,
        players: definition.players,
        game_type: game_type(&settings.rules).to_owned(),
        map: settings.rules.map.name().to_owned(),
        board: format!("{}x{}", settings.width, settings.height),
        timeout_ms: settings.timeout_ms,
        min_games: LADDER_MIN_GAMES,
        season: current_season(row),
        season_ends_at: row.due_at.map(timestamp),
        season_days: definition.season.map(|season| u32::try_from(season.as_secs() / DAY_S).unwrap_or(u32::MAX)),
        games_ended: row.results,
        games_applied: row.results_applied,
        games_under_way: row.matches_under_way(),
        entries_active,
    })
}

fn first_place_rate(record: &EntryRecord) -> f64 {
    if record.games == 0 { 0.0 } else { f64::from(record.first_places) / f64::from(record.games) }
}

fn scores(record: &EntryRecord) -> EntryScores {
    EntryScores {
        rating: record.rating.display_score(),
        mu: record.rating.mu,
        sigma: record.rating.sigma,
        win_rate: first_place_rate(record),
        food_eaten: record.food_eaten,
    }
}

pub(super) fn ranking_entry(entry: &LadderEntry, rank: usize) -> RankingEntry {
    let record = &entry.record;
    RankingEntry {
        rank,
        battlesnake_id: entry.entrant.bot.to_string(),
        snake_name: entry.entrant.name.clone(),
        owner: entry.owner.clone().unwrap_or_default(),
        display_score: record.rating.display_score(),
        games_played: record.games,
        first_place_finishes: record.first_places,
        non_first_finishes: record.games.saturating_sub(record.first_places),
        first_place_rate: first_place_rate(record),
        scores: scores(record),
    }
}

pub(crate) fn entry(entry: &LadderEntry) -> LeaderboardEntry {
    let record = &entry.record;
    LeaderboardEntry {
        leaderboard_entry_id: entry.entrant.entry.to_string(),
        battlesnake_id: entry.entrant.bot.to_string(),
        display_score: record.rating.display_score(),
        games_played: record.games,
        first_place_finishes: record.first_places,
        non_first_finishes: record.games.saturating_sub(record.first_places),
        active: entry.is_active,
    }
}

pub(super) fn entry_details(of: &LadderEntry, rank: Option<usize>, note: Option<String>) -> EntryDetails {
    EntryDetails {
        entry: entry(of),
        snake_name: of.entrant.name.clone(),
        owner: of.owner.clone().unwrap_or_default(),
        season: of.season,
        rank,
        joined_at: timestamp(of.joined_at),
        last_game_at: of.record.last_game_at.map(timestamp),
        scores: scores(&of.record),
        seats: of.record.seats.clone(),
        note,
    }
}

fn rating(rating: Rating) -> RatingView {
    RatingView { mu: rating.mu, sigma: rating.sigma, display_score: rating.display_score() }
}

pub(super) fn rated_game(game: &RatedGame) -> RatedGameView {
    RatedGameView {
        number: game.number,
        game_id: game.match_id.to_string(),
        ended_at: timestamp(game.ended_at),
        seat: game.seat,
        place: game.place,
        players: game.players,
        before: rating(game.before),
        after: rating(game.after),
    }
}

pub(super) fn opponent((meeting, name): (Meeting, String)) -> OpponentView {
    OpponentView {
        battlesnake_id: meeting.opponent.to_string(),
        snake_name: name,
        wins: meeting.counts.wins,
        losses: meeting.counts.losses,
        ties: meeting.counts.ties,
        last_games: None,
    }
}

/// The games in which both sat, of these games of each, both most recent first.
pub(super) fn games_of_pair(own: &[RatedGame], of_opponent: &[RatedGame], limit: usize) -> Vec<PairGameView> {
    let mut of_opponent = of_opponent.iter().peekable();
    let pair = |game: &RatedGame| {
        while of_opponent.next_if(|other| other.number > game.number).is_some() {}
        let other = of_opponent.next_if(|other| other.number == game.number)?;
        Some(PairGameView { game: rated_game(game), opponent_place: other.place })
    };
    own.iter().filter_map(pair).take(limit).collect()
}

pub(super) fn seat((seat, counts): (u8, SeatCounts)) -> SeatView {
    SeatView {
        seat,
        games: counts.games,
        first_place_finishes: counts.first_places,
        place_mean: (counts.games > 0).then(|| counts.places as f64 / counts.games as f64),
    }
}

pub(super) fn season(row: &CompetitionRow, end: &SeasonEnd) -> SeasonView {
    SeasonView {
        season: end.season,
        ended_at: timestamp(end.ended_at),
        last_game: end.last_result,
        rankings: format!("/api/leaderboards/{}/rankings?season={}", row.id, end.season),
    }
}

pub(super) fn invitation(invitation: Invitation) -> InvitationView {
    InvitationView {
        account_id: invitation.account.to_string(),
        account: invitation.name,
        invited_at: timestamp(invitation.invited_at),
    }
}

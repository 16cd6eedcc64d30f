//! Leaderboards: ladders of rated bots, their entries and rankings.

use super::SettingsChoice;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A leaderboard to be made. What is left out is as on the leaderboard that every server has.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateLeaderboard {
    /// 1 to 100 characters.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// Snakes in each game: 2 to 16, 4 when absent.
    #[schema(minimum = 2, maximum = 16)]
    pub players: Option<i64>,
    /// `standard`, `royale` …, as for a game.
    pub game_type: Option<String>,
    /// The map, as for a game.
    pub map: Option<String>,
    /// The board, width x height in cells: `11x11` when absent.
    #[schema(example = "11x11")]
    pub board: Option<String>,
    /// Settings of the rules, as for a game.
    #[serde(default, deserialize_with = "super::games::object")]
    pub settings: Option<SettingsChoice>,
    /// How long a snake may take for an answer, in milliseconds.
    pub timeout_ms: Option<i64>,
    /// Whether everyone may enter and see it; `false`: only invited accounts.
    #[serde(default = "yes")]
    pub is_public: bool,
    /// How long a season lasts, in days: 1 to 366. Absent: ratings never begin anew.
    #[schema(minimum = 1, maximum = 366)]
    pub season_days: Option<i64>,
}

fn yes() -> bool {
    true
}

/// A leaderboard.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Leaderboard {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The account that made it.
    pub owner_id: String,
    /// Whether games are played and snakes can enter.
    pub active: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ended, if it has.
    pub ended_at: Option<Timestamp>,
    /// Whether everyone may enter and see it.
    pub is_public: bool,
    /// Snakes in each game.
    pub players: u8,
    /// The game type of its games.
    pub game_type: String,
    /// The map of its games.
    pub map: String,
    /// The board of its games.
    #[schema(example = "11x11")]
    pub board: String,
    /// How long a snake may take for an answer, in milliseconds.
    pub timeout_ms: u16,
    /// Games after which an entry has a rank.
    pub min_games: u32,
    /// The season under way, from 1; the last one of a leaderboard that has ended.
    pub season: u32,
    /// When that season ends, if it does.
    pub season_ends_at: Option<Timestamp>,
    /// How long a season lasts, in days.
    pub season_days: Option<u32>,
    /// Games that have ended, of all seasons.
    pub games_ended: u64,
    /// Of these, how many ratings take into account so far; failed and cancelled games among them change none.
    pub games_applied: u64,
    /// Games that wait or are played.
    pub games_under_way: u64,
    /// Active entries of the season under way.
    pub entries_active: usize,
}

/// A leaderboard with what its page says beside the ranking.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct LeaderboardDetails {
    #[serde(flatten)]
    pub leaderboard: Leaderboard,
    /// Why no game is played, where that is so.
    pub note: Option<String>,
}

/// A page of a ranking: those with a rank first, then those in placement.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Rankings {
    /// The leaderboard's id.
    pub leaderboard_id: String,
    /// The leaderboard's name.
    pub leaderboard_name: String,
    /// Which season.
    pub season: u32,
    /// Games after which an entry has a rank.
    pub min_games: u32,
    /// Entries with a rank.
    pub ranked: Vec<RankingEntry>,
    /// Entries that have played fewer games.
    pub placement: Vec<RankingEntry>,
}

/// An entry in a ranking.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RankingEntry {
    /// From 1, by what the ranking is sorted by; 0 in placement.
    pub rank: usize,
    /// The snake's id.
    pub battlesnake_id: String,
    /// The snake's name.
    pub snake_name: String,
    /// The account's name; empty if it is not known any more.
    pub owner: String,
    /// mu − 3 sigma.
    pub display_score: f64,
    /// Rated games.
    pub games_played: u32,
    /// Games in which it had the first place, alone or shared.
    pub first_place_finishes: u32,
    /// The other games.
    pub non_first_finishes: u32,
    /// The share of first places, 0 to 1.
    pub first_place_rate: f64,
    /// Every figure that can be sorted by or shown.
    pub scores: EntryScores,
}

/// The figures of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct EntryScores {
    /// mu − 3 sigma.
    pub rating: f64,
    /// The mean of the rating.
    pub mu: f64,
    /// The standard deviation of the rating.
    pub sigma: f64,
    /// The share of first places, 0 to 1.
    pub win_rate: f64,
    /// Food eaten in rated games.
    pub food_eaten: u64,
}

/// A snake that enters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
pub struct CreateEntry {
    /// The id of one of your public snakes.
    pub battlesnake_id: String,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct LeaderboardEntry {
    /// The entry's id.
    pub leaderboard_entry_id: String,
    /// The snake's id.
    pub battlesnake_id: String,
    /// mu − 3 sigma.
    pub display_score: f64,
    /// Rated games.
    pub games_played: u32,
    /// Games in which it had the first place, alone or shared.
    pub first_place_finishes: u32,
    /// The other games.
    pub non_first_finishes: u32,
    /// Whether it is paired.
    pub active: bool,
}

/// An entry with everything that is kept of it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct EntryDetails {
    #[serde(flatten)]
    pub entry: LeaderboardEntry,
    /// The snake's name.
    pub snake_name: String,
    /// The account's name; empty if it is not known any more.
    pub owner: String,
    /// Which season.
    pub season: u32,
    /// Its rank by rating, once it has one and while it is active.
    pub rank: Option<usize>,
    /// When the snake first entered.
    pub joined_at: Timestamp,
    /// When its last rated game ended.
    pub last_game_at: Option<Timestamp>,
    /// Its figures.
    pub scores: EntryScores,
    /// Rated games by seat.
    pub seats: Vec<u32>,
    /// Why it is not paired, where that is so.
    pub note: Option<String>,
}

/// A rated game of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RatedGameView {
    /// Its number among the games of the leaderboard, in the order in which they were rated.
    pub number: u64,
    /// The game's id.
    pub game_id: String,
    /// When it ended.
    pub ended_at: Timestamp,
    /// The snake's seat, from 0.
    pub seat: u8,
    /// The snake's place: 1 is best, equals share one.
    pub place: u8,
    /// Snakes in the game.
    pub players: u8,
    /// The rating that it came with.
    pub before: RatingView,
    /// The rating that it left with.
    pub after: RatingView,
}

/// A rating.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RatingView {
    /// The mean.
    pub mu: f64,
    /// The standard deviation.
    pub sigma: f64,
    /// mu − 3 sigma.
    pub display_score: f64,
}

/// A snake against one opponent.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct OpponentView {
    /// The opponent's id.
    pub battlesnake_id: String,
    /// The opponent's name.
    pub snake_name: String,
    /// Games in which the snake had the better place.
    pub wins: u32,
    /// Games in which the opponent had the better place.
    pub losses: u32,
    /// Games in which they shared a place.
    pub ties: u32,
    /// With `opponent`: games of the two, most recent first, at most 20, from the last 500 of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_games: Option<Vec<PairGameView>>,
}

/// A rated game of a snake and one opponent.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct PairGameView {
    #[serde(flatten)]
    pub game: RatedGameView,
    /// The opponent's place.
    pub opponent_place: u8,
}

/// A season's ratings, computed anew and compared with what is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct RatingsReport {
    pub leaderboard_id: String,
    /// From 1.
    pub season: u32,
    /// Results of the season that are rated or passed over by now.
    pub results: u64,
    /// Of these, how many rated.
    pub rated: u64,
    /// Rows that were compared: entries, games, opponents, seats.
    pub compared: u64,
    /// Rows that differed, were missing, or should not have been there.
    pub wrong: u64,
    /// Whether they were put right.
    pub is_written: bool,
}

/// What a seat was worth.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SeatView {
    /// From 0.
    pub seat: u8,
    /// Rated games.
    pub games: u64,
    /// Games in which its snake had the first place, alone or shared.
    pub first_place_finishes: u64,
    /// The mean place of its snakes.
    pub place_mean: Option<f64>,
}

/// A season that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SeasonView {
    /// From 1.
    pub season: u32,
    /// When it ended.
    pub ended_at: Timestamp,
    /// The number of its last game.
    pub last_game: u64,
    /// Where its final standings are.
    pub rankings: String,
}

/// An account that shall be able to enter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
pub struct CreateInvitation {
    /// The account's name.
    pub account: String,
}

/// An account that may enter a leaderboard that is not public.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct InvitationView {
    /// The account's id.
    pub account_id: String,
    /// The account's name.
    pub account: String,
    /// When it was invited.
    pub invited_at: Timestamp,
}

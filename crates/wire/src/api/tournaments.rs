//! Tournaments: creating them, entries, brackets, tables, and their feed.

use super::games::{SeedText, SettingsChoice, object};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A tournament to be created; what is left out has its default.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTournament {
    /// What it is called.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// How the field is played down to a champion; a single elimination when absent.
    #[serde(default, deserialize_with = "object")]
    pub format: Option<TournamentFormatChoice>,
    /// What is played.
    #[serde(default, deserialize_with = "object")]
    pub game: Option<TournamentGameChoice>,
    /// Games of a pairing: an odd number; who wins more than half of them goes on.
    #[schema(default = 1, minimum = 1, maximum = 15)]
    pub best_of: Option<i64>,
    /// Drawn games of a pairing that are played again.
    #[schema(default = 4, minimum = 0, maximum = 8)]
    pub replays_max: Option<i64>,
    /// What decides a pairing after that, one after the other: `food` (more eaten in its games), `seed` (the better one), `lot`. The last
    /// one is `seed` or `lot`.
    #[schema(example = json!(["food", "seed"]))]
    pub tie_breaks: Option<Vec<String>>,
    /// A game that has not ended so long after its start is decided by its board, and counts as played. Its time in the queue is not counted.
    #[schema(default = 7200, minimum = 60, maximum = 604_800)]
    pub game_deadline_s: Option<i64>,
    /// Games in the queue or running at once.
    #[schema(default = 64, minimum = 1, maximum = 256)]
    pub games_at_once: Option<i64>,
    /// `random`; `manual`: by `PUT /api/tournaments/{id}/seeds`; `ladder`: by the ratings of `ladder_id`.
    #[schema(default = "random")]
    pub seeding: Option<String>,
    /// The ladder of `seeding: "ladder"`.
    pub ladder_id: Option<String>,
    /// Who may enter: `open`, or `invited`.
    #[schema(default = "open")]
    pub entry: Option<String>,
    /// Whether everyone may see it; otherwise its organizer, those who are invited or entered, and operators.
    #[schema(default = true)]
    pub is_public: Option<bool>,
    /// With fewer bots at its start, it is cancelled.
    #[schema(default = 2, minimum = 2, maximum = 1024)]
    pub entrants_min: Option<i64>,
    /// Bots that it takes.
    #[schema(default = 64, minimum = 2, maximum = 1024)]
    pub entrants_max: Option<i64>,
    /// Bots that one account may enter.
    #[schema(default = 1, minimum = 1, maximum = 1024)]
    pub entrants_per_account_max: Option<i64>,
    /// When it starts by itself, in RFC 3339; entries close then. When absent, its organizer starts it.
    #[schema(example = "2026-01-31T18:00:00Z")]
    pub starts_at: Option<String>,
    /// Where all chance comes from: lots, and the seeds of the games. The server draws it; only operators may choose one, to play a
    /// tournament again.
    pub seed: Option<SeedText>,
}

/// A format with its numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TournamentFormatChoice {
    /// `single_elimination`, `double_elimination`, `swiss`, `round_robin`, `groups` (round robins, whose best play a single elimination)
    /// or `heats` (games of more than two).
    #[serde(rename = "type")]
    pub kind: String,
    /// `single_elimination`, `groups`: whether the losers of the semifinals play for the third place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub third_place: Option<bool>,
    /// `double_elimination`: whether the final is played again when the one without a defeat loses the first; true when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_reset: Option<bool>,
    /// `swiss`: 0 or absent for as many as the field needs, the logarithm to the base 2, rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 32)]
    pub rounds: Option<i64>,
    /// `groups`: how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 2, maximum = 256)]
    pub groups: Option<i64>,
    /// `heats`: bots in a game.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 3, maximum = 16)]
    pub size: Option<i64>,
    /// `groups`, `heats`: how many of each go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub advance: Option<i64>,
}

/// What is played, as in `POST /api/games`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TournamentGameChoice {
    #[schema(default = "11x11", pattern = "^[0-9]{1,2}x[0-9]{1,2}$")]
    pub board: Option<String>,
    #[schema(default = "standard")]
    pub game_type: Option<String>,
    /// When absent, the map that goes with the game type.
    pub map: Option<String>,
    /// How long a snake may take for an answer, in milliseconds.
    #[schema(default = 500, minimum = 10, maximum = 10_000)]
    pub timeout_ms: Option<i64>,
    /// Figures of the rules; those left out have the defaults of the game type.
    #[serde(default, deserialize_with = "object")]
    pub settings: Option<SettingsChoice>,
}

/// A bot to be entered, or taken out.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
pub struct TournamentEntry {
    /// The snake: one of the caller's; of the organizer, also a public one of another account.
    pub snake_id: String,
}

/// An account to be invited.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
pub struct TournamentInvitation {
    pub account_id: String,
}

/// The organizer's order of the field.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
pub struct TournamentSeeds {
    /// Best first; entered snakes that are not named follow in the order of their entries.
    pub snakes: Vec<String>,
}

/// A tournament as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TournamentSummary {
    pub id: String,
    pub name: String,
    /// `scheduled` (entries are open), `running`, `finished` or `cancelled`.
    pub status: String,
    /// The account that created it.
    pub organizer_id: String,
    pub is_public: bool,
    pub format: TournamentFormatChoice,
    pub entrants_min: u16,
    pub entrants_max: u16,
    /// `open` or `invited`.
    pub entry: String,
    pub created_at: Timestamp,
    /// When it is to start by itself; null when its organizer starts it.
    #[schema(required)]
    pub starts_at: Option<Timestamp>,
    #[schema(required)]
    pub started_at: Option<Timestamp>,
    #[schema(required)]
    pub ended_at: Option<Timestamp>,
    /// Games that were put into the queue so far.
    pub games_created: u64,
}

/// Everything that can be known of a tournament.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TournamentDetails {
    #[serde(flatten)]
    pub summary: TournamentSummary,
    /// The number of its last event: where its feed goes on after this.
    pub seq: u32,
    pub rules: TournamentRulesView,
    /// In the order of their entries; pairings and tables name them by their `number`.
    pub entrants: Vec<TournamentEntrant>,
    /// In the order in which they came up; pairings name each other by their `number`.
    pub pairings: Vec<TournamentPairing>,
    /// The table, best first; empty before the start.
    pub standings: Vec<TournamentStanding>,
    /// The tables of the groups, where there are groups.
    pub groups: Vec<Vec<TournamentStanding>>,
    /// The winner, once it is finished; null when there is none.
    #[schema(required)]
    pub champion: Option<u16>,
    /// `organizer`, `too_few_entrants` or `not_playable`, when it was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// Rounds of a Swiss tournament, once it has started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swiss_rounds: Option<u16>,
}

/// How pairings are decided, and what is played.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TournamentRulesView {
    pub best_of: u8,
    pub replays_max: u8,
    pub tie_breaks: Vec<String>,
    pub game_deadline_s: u64,
    pub games_at_once: u16,
    /// `random`, `manual` or `ladder`.
    pub seeding: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ladder_id: Option<String>,
    pub entrants_per_account_max: u16,
    pub board: String,
    pub game_type: String,
    pub map: String,
    pub timeout_ms: u16,
    /// Decimal digits; shown once it is over, so that no client can play its games before they are played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
}

/// A bot of a tournament.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TournamentEntrant {
    pub number: u16,
    pub snake_id: String,
    pub snake_name: String,
    /// The name of its owner's account.
    pub author: String,
    pub entered_at: Timestamp,
    /// From 1, the best; null before the start.
    #[schema(required)]
    pub seed: Option<u16>,
    /// Why it left, if it has: `owner`, `organizer`, `bot_deleted`, `bot_private`, `bot_absent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<String>,
    /// Since when its games wait for it, because it is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absent_since: Option<Timestamp>,
}

/// Bots that meet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TournamentPairing {
    pub number: u32,
    /// `winners`, `losers`, `third_place`, `grand_final`, `final_reset`, `round_robin`, `group`, `swiss` or `heat`.
    pub stage: String,
    /// From 0, of a pairing in a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u16>,
    /// From 1 within its stage.
    pub round: u16,
    /// `waiting` (for other pairings), `ready`, `queued` (its games wait in the queue), `running` or `decided`.
    pub status: String,
    /// When its first game was put into the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When the first of its games began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    pub players: Vec<TournamentPlayer>,
    pub games: Vec<TournamentGame>,
    /// Who has won, once it is decided; null when no entrant has.
    #[schema(required)]
    pub winner: Option<u16>,
    /// What decided it: `games`, `tie_break_food`, `tie_break_seed`, `tie_break_lot`, `walkover`, `double_walkover`, `bye`, `empty` (no
    /// entrant came up to here) or `not_needed` (a second final).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
}

/// A place in a pairing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TournamentPlayer {
    /// Null while it is not known who it is, or when no entrant comes.
    #[schema(required)]
    pub entrant: Option<u16>,
    /// Whether the place stays empty.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_bye: bool,
    /// The pairing whose winner comes here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winner_of: Option<u32>,
    /// The pairing whose loser comes here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loser_of: Option<u32>,
    /// Games of this pairing that it has won.
    pub games_won: u16,
}

/// A game of a pairing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TournamentGame {
    /// The game: `/api/games/{id}`.
    pub id: String,
    /// Entrants by seat.
    pub seats: Vec<u16>,
    pub created_at: Timestamp,
    /// When it left the queue; absent also of a game that was never seen to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When its end was noted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// `queued`, `running`, `played` or `void`.
    pub status: String,
    /// Places by seat, 1 is best, of a game that was played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<Vec<u8>>,
    /// Why it does not count: `failed`, `cancelled`, `server_fault` or `late`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
}

/// A line of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TournamentStanding {
    pub entrant: u16,
    /// From 1; those who went out together share it. Null for those who can still win or lose in a bracket.
    #[schema(required)]
    pub place: Option<u16>,
    /// Pairings won, byes and walkovers included.
    pub points: u32,
    pub losses: u32,
    pub byes: u32,
    /// Points of the opponents.
    pub buchholz: u32,
    /// Points of the opponents that were beaten.
    pub sonneborn_berger: u32,
    /// Points against those with as many points.
    pub direct_encounter: u32,
    pub games_won: u32,
    pub games_lost: u32,
    pub food: u32,
}

/// What has happened in a tournament.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TournamentFeed {
    /// The number of the last event: the cursor for what comes after.
    pub seq: u32,
    /// Nothing happened while the request waited.
    pub timed_out: bool,
    /// The tournament is over, and nothing comes after `seq`: the last event was `ended`.
    pub is_over: bool,
    pub events: Vec<TournamentEvent>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TournamentEvent {
    /// From 1.
    pub seq: u32,
    pub at: Timestamp,
    /// `invited`, `entered`, `withdrawn`, `seeds_set`, `started`, `round_paired`, `absent`, `returned`, `game_created`, `game_started`, `game_played`,
    /// `game_void`, `cancelled` or, always the last, `ended`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The entrant that `entered`, was `withdrawn`, is `absent` or has `returned`; the champion of a tournament that has `ended`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snake_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairing: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub game_id: Option<String>,
    /// Of a game that was played: places by seat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<Vec<u8>>,
    /// Why: of `withdrawn`, `game_void`, `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How it `ended`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<TournamentEnd>,
}

/// How a tournament ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TournamentEnd {
    /// `finished` or `cancelled`.
    pub status: String,
    /// The number of the entrant that has won; null when none has.
    #[schema(required)]
    pub champion: Option<u16>,
    /// The champion's name.
    #[schema(required)]
    pub champion_name: Option<String>,
    /// Where the final standings are: `/api/tournaments/{id}`.
    pub standings_path: String,
}

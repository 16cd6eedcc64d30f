//! Games: creating them, one or many, listing them, and their state.

use super::BotFace;
use crate::problem::Problem;
use crate::time::Timestamp;
use crate::viewer::Frame;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Number, Value};
use utoipa::ToSchema;

/// A game to be created.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
// Unknown keys are ignored: programs that were written for other arenas send keys of their own.
pub struct CreateGame {
    /// Ids of the snakes, by seat. The same snake may sit twice. How many may play depends on the map, 16 at most.
    #[schema(min_items = 1, max_items = 16, example = json!(["0190b5a4-7c1e-7000-8000-000000000001"]))]
    pub snakes: Vec<String>,
    /// Width and height in cells, such as `19x21`. Which boards a map takes stands in docs/maps.md; a refusal names them.
    #[schema(default = "11x11", pattern = "^[0-9]{1,2}x[0-9]{1,2}$")]
    pub board: Option<String>,
    /// `standard`, `solo` (of one snake), `royale`, `wrapped`, `constrictor`, `wrapped_constrictor`, or `snail_mode` (also
    /// `snailmode`, `snail`): the standard rules on the map `snail_mode`. Case, and `-`, `_` or a space between words, make no
    /// difference.
    #[schema(default = "standard")]
    pub game_type: Option<String>,
    /// One of the 25 official maps: `standard`, `empty`, `royale`, `snail_mode`, `hz_inner_wall`, `hz_rings`, `hz_columns`, `hz_spiral`,
    /// `hz_scatter`, `hz_grow_box`, `hz_expand_box`, `hz_expand_scatter`, `hz_hazard_pits`, `sinkholes`, `healing_pools`,
    /// `hz_castle_wall`, `hz_castle_wall_lg`, `hz_castle_wall_xl`, `hz_rivers_bridges`, `hz_rivers_bridges_lg`,
    /// `hz_rivers_bridges_xl`, `hz_islands_bridges`, `hz_islands_bridges_lg`, `arcade_maze`, `solo_maze`; when absent, the map that
    /// goes with the game type. Boards, numbers of snakes and settings of each stand in docs/maps.md.
    pub map: Option<String>,
    /// Where all chance of the game comes from; when absent, the server draws one. The same seed, rules and answers make
    /// the same game.
    pub seed: Option<SeedText>,
    /// How long a snake may take for an answer, in milliseconds.
    #[schema(default = 500, minimum = 10, maximum = 10_000)]
    pub timeout_ms: Option<i64>,
    /// Figures of the rules; those left out have the defaults of the game type.
    #[serde(default, deserialize_with = "object")]
    pub settings: Option<SettingsChoice>,
}

/// Reads an object or nothing: a derived reader would take an array of its members as well.
pub(super) fn object<'de, T: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    let members = Option::<Map<String, Value>>::deserialize(from)?;
    members.map(|members| T::deserialize(Value::Object(members)).map_err(D::Error::custom)).transpose()
}

/// A seed: a whole number up to 2^53 - 1, or (for all 64 bits) its decimal digits as a string.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum SeedText {
    /// A number that every JSON program can hold.
    #[schema(value_type = u64)]
    Number(Number),
    /// Decimal digits.
    Text(String),
}

/// Figures of the rules, by the names that the webhook API gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SettingsChoice {
    /// The chance of a new food each turn, in percent.
    #[schema(minimum = 0, maximum = 100)]
    pub food_spawn_chance: Option<i64>,
    /// Food that is always on the board.
    #[schema(minimum = 0)]
    pub minimum_food: Option<i64>,
    /// Health that a turn on one layer of hazards costs; negative heals.
    #[schema(minimum = -100, maximum = 100)]
    pub hazard_damage_per_turn: Option<i64>,
    /// Turns between two steps: `royale` loses a side, `hz_hazard_pits` fills up (both refuse 0), `sinkholes` grows (0 stands for 10),
    /// `healing_pools` loses a pool (0: never). Other maps do not use it.
    #[schema(minimum = 0)]
    pub shrink_every_n_turns: Option<i64>,
}

/// A game was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct GameCreated {
    /// Its id.
    pub id: String,
    /// `waiting`.
    pub status: String,
}

/// Games to be created together.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
pub struct CreateBatch {
    /// The games, 1 to 1,000. Each is judged alone: a bad one does not hinder the others.
    #[schema(value_type = Vec<CreateGame>, min_items = 1, max_items = 1_000)]
    pub games: Vec<Value>,
}

/// What became of each game of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct BatchAnswer {
    /// One item a game, in the order of the request.
    pub items: Vec<BatchItem>,
}

/// What became of one game of a batch: an id, or a problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct BatchItem {
    /// The status that the game would have got alone: 201 or an error's.
    #[schema(example = 201)]
    pub status: u16,
    /// Its id, when it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Why it was not created, otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// A snake in a game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct GameSnake {
    /// The registered snake.
    pub id: String,
    /// Its name when the game was created.
    pub name: String,
    /// The name of the account that owned it then; empty for games older than this field.
    pub owner: String,
    /// How the snake looked in its last match, which may be another one; absent before its first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub face: Option<BotFace>,
    /// Its place once the game has finished; 1 is best, equals share a place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<u8>,
    /// Why it is out, once the game has finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// How the game ended for it: `won`, `drawn` or `lost`, once it has finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Of a snake that is out: the turn of the last request for its move, once the game has finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deciding_turn: Option<u32>,
    /// The path of that turn's evidence, which the snake's owner may read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

/// A game as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct GameSummary {
    /// Its id.
    pub id: String,
    /// `waiting`, `running`, `finished`, `failed` or `cancelled`.
    pub status: String,
    /// The id of the snake that won alone; null before the end and after a draw.
    #[schema(required)]
    pub winner: Option<String>,
    /// The snakes by seat.
    pub snakes: Vec<GameSnake>,
    /// Width and height in cells, such as `11x11`.
    pub board: String,
    /// `Standard`, `Solo`, `Royale`, `Wrapped`, `Constrictor`, `Wrapped Constrictor` or `Snail Mode`. A creation takes these names as well.
    pub game_type: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its status last changed.
    pub updated_at: Timestamp,
    /// When it (last) entered the queue.
    pub enqueued_at: Timestamp,
    /// What it is played for; absent of a game that stands for itself, and where the caller may not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub competition: Option<GameCompetition>,
}

/// What a game is played for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct GameCompetition {
    /// `ladder` (`/api/leaderboards/{id}`), `tournament` or `duel`.
    #[schema(example = "ladder")]
    pub kind: String,
    pub id: String,
    pub name: String,
}

/// The figures of the rules that are in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsView {
    /// The chance of a new food each turn, in percent.
    pub food_spawn_chance: i64,
    /// Food that is always on the board.
    pub minimum_food: i64,
    /// Health that a turn on a hazard costs.
    pub hazard_damage_per_turn: i64,
    /// Turns between two steps of what the rule set or the map does over time.
    pub shrink_every_n_turns: i64,
}

/// Everything about a game.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct GameDetails {
    /// What lists show.
    #[serde(flatten)]
    pub summary: GameSummary,
    /// The map.
    pub map: String,
    /// Where all chance came from: decimal digits, since not every JSON program can hold 64 bits. Until the game is over, null for all but
    /// the account that created it: who knows it can foresee the food.
    #[schema(required)]
    pub seed: Option<String>,
    /// The rules' figures.
    pub settings: SettingsView,
    /// How long a snake may take for an answer, in milliseconds.
    pub timeout_ms: u32,
    /// When the first /start was sent.
    #[schema(required)]
    pub started_at: Option<Timestamp>,
    /// When it finished, failed or was cancelled.
    #[schema(required)]
    pub finished_at: Option<Timestamp>,
    /// Turns played.
    pub turns: u32,
    /// Moves, over all snakes, that came late or never.
    pub late_moves: u32,
    /// Why it failed.
    #[schema(required)]
    pub failure: Option<String>,
    /// Times that it was taken up without getting any further.
    pub attempts: u32,
    /// The node that runs it or ran it last, as `host:port`; null before it was first taken up.
    #[schema(required)]
    pub node: Option<String>,
    /// Every frame so far.
    pub frames: Vec<Frame>,
}

/// What everybody may know of a public game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PublicGame {
    /// What lists show.
    #[serde(flatten)]
    pub summary: GameSummary,
    /// The map.
    pub map: String,
    /// Turns played.
    pub turns: u32,
    /// When the first /start was sent.
    #[schema(required)]
    pub started_at: Option<Timestamp>,
    /// When it finished, failed or was cancelled.
    #[schema(required)]
    pub finished_at: Option<Timestamp>,
}

/// Games whose status is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
pub struct StatusRequest {
    /// Their ids, at most 500.
    #[schema(max_items = 500)]
    pub game_ids: Vec<String>,
}

/// Where a game is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct GameStatus {
    /// Its id.
    pub id: String,
    /// `waiting`, `running`, `finished`, `failed` or `cancelled`.
    pub status: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its status last changed.
    pub updated_at: Timestamp,
    /// When it (last) entered the queue.
    pub enqueued_at: Timestamp,
    /// When the first /start was sent.
    #[schema(required)]
    pub started_at: Option<Timestamp>,
    /// When it finished, failed or was cancelled.
    #[schema(required)]
    pub finished_at: Option<Timestamp>,
    /// Turns played.
    pub turns: u32,
    /// Moves, over all snakes, that came late or never.
    pub late_moves: u32,
    /// Why it failed.
    #[schema(required)]
    pub failure: Option<String>,
    /// The node that runs it or ran it last, as `host:port`; null before it was first taken up.
    #[schema(required)]
    pub node: Option<String>,
}

//! Duels: which of two bots is better, or a table of several.

use super::games::{GameSummary, SettingsChoice, object};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A duel to be created.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateDuel {
    /// Two bots: the baseline, then the candidate. Three to eight are a league.
    #[schema(min_items = 2, max_items = 8)]
    pub bots: Vec<DuelBotChoice>,
    /// What to call the duel; when absent, the names of its bots.
    #[schema(max_length = 100)]
    pub name: Option<String>,
    /// Width and height in cells.
    #[schema(default = "11x11", pattern = "^[0-9]{1,2}x[0-9]{1,2}$")]
    pub board: Option<String>,
    /// As of a game; not `solo`.
    #[schema(default = "standard")]
    pub game_type: Option<String>,
    /// As of a game.
    pub map: Option<String>,
    /// How long a bot may take for an answer, in milliseconds.
    #[schema(default = 500, minimum = 10, maximum = 10_000)]
    pub timeout_ms: Option<i64>,
    /// As of a game.
    #[serde(default, deserialize_with = "object")]
    pub settings: Option<SettingsChoice>,
    /// H0: the candidate is this much stronger, in Elo. Between two bots only, as the next three.
    #[schema(default = 0.0, minimum = -1000, maximum = 1000)]
    pub elo0: Option<f64>,
    /// H1: the candidate is this much stronger, in Elo; at least 10 above `elo0`.
    #[schema(default = 50.0, minimum = -1000, maximum = 1000)]
    pub elo1: Option<f64>,
    /// The rate of accepting H1 where H0 is true.
    #[schema(default = 0.05, minimum = 0.001, maximum = 0.25)]
    pub alpha: Option<f64>,
    /// The rate of accepting H0 where H1 is true.
    #[schema(default = 0.05, minimum = 0.001, maximum = 0.25)]
    pub beta: Option<f64>,
    /// Games of each pairing, two to a pair: at most, between two bots (2,000 when absent); in all cases in a league (100 when
    /// absent). All pairings together have 10,000 at most.
    #[schema(minimum = 2, maximum = 10_000)]
    pub games_max: Option<i64>,
    /// Pairs of games that are played at the same time.
    #[schema(default = 4, minimum = 1, maximum = 16)]
    pub pairs_at_once: Option<i64>,
    /// Whether everyone who has the link may see it, but for the bots' URLs; when absent, if all bots are registered and
    /// public.
    pub is_public: Option<bool>,
}

/// A bot by its id, or by its URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DuelBotChoice {
    /// A registered snake, the account's own or a public one.
    pub snake_id: Option<String>,
    /// The base URL of a bot that is not registered.
    #[schema(max_length = 500)]
    pub url: Option<String>,
    /// What to call a bot that is not registered; when absent, a letter.
    #[schema(max_length = 100)]
    pub name: Option<String>,
}

/// A duel as lists show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DuelSummary {
    /// Its id.
    pub id: String,
    pub name: String,
    /// `scheduled`, `running`, `finished` or `cancelled`.
    pub status: String,
    /// Whether everyone who has the link may see it.
    pub is_public: bool,
    /// The baseline, then the candidate; or the bots of a league.
    pub bots: Vec<DuelBot>,
    /// Games that ended, also those that do not count.
    pub games_ended: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it ended.
    #[schema(required)]
    pub ended_at: Option<Timestamp>,
}

/// A bot of a duel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DuelBot {
    /// Its name when the duel was created.
    pub name: String,
    /// The registered snake; null for a bot that was named by its URL.
    #[schema(required)]
    pub snake_id: Option<String>,
    /// That of a bot which was named by its URL; only the duel's owner sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A duel with all that is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DuelDetails {
    #[serde(flatten)]
    pub summary: DuelSummary,
    /// Whether it is the caller's own, who alone may call it off.
    #[serde(default)]
    pub is_own: bool,
    /// Why it is over, once it is: `h1_accepted` (the candidate is more than `elo0` Elo stronger), `h0_accepted` (it is less than
    /// `elo1` Elo stronger), `games_played` (undecided; the end of a league), `too_many_void_pairs`, `bot_withdrawn`,
    /// `bot_silent` (a bot gave no valid move in three games in a row) or `cancelled`.
    #[schema(required)]
    pub end: Option<String>,
    /// What that means, as a sentence.
    pub verdict: String,
    /// Width and height in cells, such as `11x11`.
    pub board: String,
    pub game_type: String,
    pub map: String,
    pub timeout_ms: u16,
    /// From which the seeds of all games follow, as a string of digits; null until the duel is over.
    #[schema(required)]
    pub seed: Option<String>,
    /// The test; null in a league.
    #[schema(required)]
    pub test: Option<DuelTest>,
    /// Games of each pairing: at most, or in a league exactly, but for void pairs.
    pub games_max: u32,
    /// Pairs that are played at the same time.
    pub pairs_at_once: u32,
    /// Games that wait or are played now.
    pub games_in_flight: usize,
    /// Games that were started again because the attempt before said nothing about the bots.
    pub games_repeated: u32,
    /// The bot that did not play, where that has ended the duel.
    #[schema(required)]
    pub silent_bot: Option<DuelSilentBot>,
    /// Every two bots; between two, one.
    pub pairings: Vec<DuelPairing>,
    /// How the test went, in 100 points at most; empty in a league.
    pub history: Vec<DuelPoint>,
    /// The table of a league, in the order of the bots; empty between two.
    pub table: Vec<LeagueRow>,
}

/// A bot that gave no valid move in several games in a row. None of these games counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DuelSilentBot {
    /// The bot's place in `bots`, from 0.
    pub bot: usize,
    /// How many games.
    pub games: u8,
    /// The class of what came instead of a move: `late`, `unreachable`, `bad_status`, `malformed` …
    pub class: String,
    /// What was wrong.
    pub problem: String,
    /// What the bot's owner can do.
    pub remedy: String,
    /// The status of an answer, where there was one; shown to the duel's owner, and not of other accounts' bots.
    #[schema(required)]
    pub status: Option<u16>,
    /// The beginning of the answer's body, as text; shown like the status.
    #[schema(required)]
    pub body_start: Option<String>,
}

/// The question of a duel between two bots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DuelTest {
    /// H0, in Elo.
    pub elo0: f64,
    /// H1, in Elo.
    pub elo1: f64,
    pub alpha: f64,
    pub beta: f64,
    /// The log-likelihood ratio at which H0 is accepted.
    pub llr_lower: f64,
    /// The log-likelihood ratio at which H1 is accepted.
    pub llr_upper: f64,
}

/// Two bots, and what counts of their games: pairs in the order in which they were started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DuelPairing {
    /// The first bot's place in `bots`, from 0.
    pub first: usize,
    /// The second bot's place. All numbers are from its side.
    pub second: usize,
    pub wins: u32,
    pub draws: u32,
    pub losses: u32,
    /// Pairs by their points: 0, 0.5, 1, 1.5, 2.
    pub pairs: [u32; 5],
    /// Pairs that could not be played and count for nothing.
    pub void_pairs: u32,
    /// The log-likelihood ratio; null in a league.
    #[schema(required)]
    pub llr: Option<f64>,
    #[serde(flatten)]
    pub strength: DuelStrength,
}

/// How much stronger the second bot is, in Elo. Null stands for a number without bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DuelStrength {
    /// What the mean score says. A test stops when results are extreme, so it leans towards the verdict.
    #[schema(required)]
    pub elo: Option<f64>,
    /// The lower end of the 95 % interval, which holds whenever one looks.
    #[schema(required)]
    pub elo_low: Option<f64>,
    /// Its upper end.
    #[schema(required)]
    pub elo_high: Option<f64>,
}

/// A moment of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DuelPoint {
    /// Pairs that counted.
    pub pairs: u32,
    /// The log-likelihood ratio then.
    pub llr: f64,
    #[serde(flatten)]
    pub strength: DuelStrength,
}

/// A bot in the table of a league.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LeagueRow {
    /// Above the mean of the league.
    pub elo: f64,
    /// Half the width of the 95 % interval, for a number of games fixed beforehand: it holds at the end.
    pub elo_margin: f64,
    /// The likelihood that it is stronger than each bot, in the order of the bots; a half for itself.
    pub superiority: Vec<f64>,
}

/// A game of a duel.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct DuelGame {
    /// The pairing's place in `pairings`, from 0.
    pub pairing: u8,
    /// The pair in its pairing, from 0. Both games of a pair have one seed.
    pub pair: u32,
    /// 0 or 1: in the second game of a pair seats are exchanged.
    pub game_of_pair: u8,
    /// How often this game was started before without a result that counts.
    pub attempt: u8,
    /// The game itself.
    pub game: GameSummary,
}

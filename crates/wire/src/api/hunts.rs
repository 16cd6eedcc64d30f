//! Hunts: the lobby, tickets, the leaderboard, statistics.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A hunt to be made; what is left out has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateHunt {
    /// What it is called: small letters, digits and hyphens; unique. A name of its own when absent.
    #[schema(min_length = 1, max_length = 64, example = "harbour-7")]
    pub name: Option<String>,
    /// How many may join.
    #[schema(default = 1000, minimum = 1, maximum = 100_000)]
    pub players_max: Option<i64>,
    /// Who may come in: those who `joined`, or `everybody`, without joining and without an account.
    #[schema(default = "joined", example = "everybody")]
    pub admission: Option<String>,
    /// How long it is open from now.
    #[schema(default = 3_600_000, minimum = 60_000, maximum = 86_400_000)]
    pub open_ms: Option<i64>,
    /// Columns of its grid.
    #[schema(default = 200)]
    pub width: Option<i64>,
    /// Rows of its grid.
    #[schema(default = 200)]
    pub height: Option<i64>,
    /// Cells of a thousand that are trees.
    #[schema(default = 50)]
    pub tree_permille: Option<i64>,
    /// Chests of a round; one for a hundred cells when absent.
    pub chests: Option<i64>,
    /// Power-ups of a round; one for a thousand cells when absent.
    pub power_ups: Option<i64>,
    /// The most that a chest is worth.
    #[schema(default = 10)]
    pub points_max: Option<i64>,
    /// How long a round takes.
    #[schema(default = 300_000)]
    pub round_ms: Option<i64>,
    /// Rounds of the hunt; 0: as many as there is time for.
    #[schema(default = 0)]
    pub rounds: Option<i64>,
}

/// A hunt as every viewer sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct HuntView {
    /// Its id.
    pub id: String,
    /// Its name: the world's name at `/api/worlds/{name}`.
    pub name: String,
    /// Who may come in: `everybody`; `joined`: those who join; `matched`: those whom the matchmaker brought together.
    pub admission: String,
    /// Who created it; null for a built-in hunt.
    #[schema(required)]
    pub creator: Option<String>,
    /// How many have joined.
    pub players: u32,
    /// How many may join; 0 where joining is not needed.
    pub players_max: u32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is over; null for one that stays.
    #[schema(required)]
    pub ends_at: Option<Timestamp>,
    /// Where it is played, `host:port`; null while no server has it in memory: then any server takes it.
    #[schema(required)]
    pub address: Option<String>,
    /// Columns of its grid.
    pub width: u16,
    /// Rows of its grid.
    pub height: u16,
    /// Chests of a round.
    pub chests: u32,
    /// Power-ups of a round.
    pub power_ups: u32,
    /// How long a round takes.
    pub round_ms: u64,
    /// Rounds of the hunt; 0: as many as there is time for.
    pub rounds: u32,
}

/// A hunt, and whether the caller is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct HuntState {
    /// The hunt.
    #[serde(flatten)]
    pub hunt: HuntView,
    /// Whether the caller has joined; null without a token.
    #[schema(required)]
    pub has_joined: Option<bool>,
    /// Whether the caller may come in now.
    pub may_enter: bool,
}

/// A party that wants to be matched; what is left out has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTicket {
    /// How many play together, the caller included. The others join by the ticket's id; it is `gathering` until they have.
    #[schema(default = 1, minimum = 1, maximum = 8)]
    pub party_size: Option<i64>,
    /// Players of the match, the party included.
    #[schema(default = 4, minimum = 2, maximum = 16)]
    pub players: Option<i64>,
    /// Where to play: small letters, digits and hyphens. Anywhere when absent.
    #[schema(min_length = 1, max_length = 32, example = "eu-north")]
    pub region: Option<String>,
    /// How good the party is.
    #[schema(default = 1000, minimum = 0, maximum = 5000)]
    pub rating: Option<i64>,
    /// How long to wait at most.
    #[schema(default = 60_000, minimum = 1_000, maximum = 600_000)]
    pub wait_ms: Option<i64>,
}

/// A ticket as its party sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct TicketView {
    /// Its id.
    pub id: String,
    /// `gathering` (for its party), `waiting` (for others), `matched`, `timed_out` or `cancelled`; the last three are for good.
    pub state: String,
    /// The hunt of a matched ticket.
    #[schema(required)]
    pub hunt: Option<String>,
    /// Who plays together, the one who took it first; the caller alone, of a ticket whose process has died. Of such a matched ticket only the
    /// hunt is known, and what can be null is.
    pub party: Vec<String>,
    /// How many the party is to have.
    #[schema(required)]
    pub party_size: Option<u8>,
    /// Players of the match.
    pub players: u8,
    /// Where to play; null: anywhere.
    #[schema(required)]
    pub region: Option<String>,
    /// How good the party is.
    #[schema(required)]
    pub rating: Option<u16>,
    /// Since when it waits: for its party, then for others.
    #[schema(required)]
    pub since: Option<Timestamp>,
    /// When it gives up.
    #[schema(required)]
    pub until: Option<Timestamp>,
}

/// A player's results in all hunts together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct HunterView {
    /// Their id.
    pub player: String,
    /// What they called themselves last.
    pub name: String,
    /// Points.
    pub points: u64,
    /// Chests dug.
    pub chests: u64,
    /// Power-ups grabbed.
    pub power_ups: u64,
    /// Rounds at whose end they were among the best that are named.
    pub rounds: u64,
    /// Rounds of those that they won or tied.
    pub rounds_won: u64,
    /// When that was last added to.
    pub last_at: Timestamp,
}

/// A round that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct RoundView {
    /// Its number, from 1.
    pub number: u32,
    /// When it ended.
    pub ended_at: Timestamp,
    /// The winner; null when there were no points, or the winner came without a token.
    #[schema(required)]
    pub winner: Option<String>,
    /// The winner's name; empty when there were no points.
    pub winner_name: String,
    /// The winner's points.
    pub points: u32,
    /// How many had points.
    pub hunters: u32,
}

/// Everything that was counted, together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct HuntStatistics {
    /// Players on the leaderboard.
    pub hunters: u64,
    /// Points.
    pub points: u64,
    /// Chests dug.
    pub chests: u64,
    /// Power-ups grabbed.
    pub power_ups: u64,
    /// Rounds ended.
    pub rounds: u64,
    /// Claims that are saved and not counted yet.
    pub claims_behind: u64,
}

/// The aggregator of this process, as operators see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AggregatorView {
    /// Whether it counts.
    pub running: bool,
    /// Claims that this process has counted since its start.
    pub claims_counted: u64,
    /// Claims that are saved and that no process has counted yet.
    pub claims_behind: u64,
    /// Hunts that these are in.
    pub hunts_behind: u64,
}

/// What the aggregator of this process is to do.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetAggregator {
    /// Whether it shall count.
    pub running: bool,
}

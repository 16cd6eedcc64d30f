//! What goes on at a server, for everyone: the home page's figures.

use crate::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// What goes on, in public. Of all nodes, but for `health` and the movers of worlds; counts end at 10,000. `/api/summary`
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Summary {
    /// The answering server's.
    pub health: ServerHealth,
    pub games: GameActivity,
    pub stories: StoryActivity,
    pub leaderboards: LeaderboardActivity,
    /// Worlds that everyone may enter at once, at most 8, the oldest first.
    pub worlds: Vec<WorldActivity>,
    pub hunts: HuntActivity,
    /// The running game to watch, of the newest 32: that of a public leaderboard with the highest ratings of two snakes; where there is none,
    /// that with the most snakes. Null where no public game runs.
    #[schema(required)]
    pub featured: Option<FeaturedGame>,
}

/// How a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerHealth {
    Ok,
    /// It has too much to do, and refuses new games.
    Busy,
    /// It is about to stop.
    Draining,
    /// Its store cannot be read or written: figures are as they were before.
    Degraded,
}

/// Public games of bots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct GameActivity {
    pub running: u64,
    /// Among the next 1,000 of the queue.
    pub waiting: u64,
    /// Over since a minute, with a result or without.
    pub ended_last_minute: u64,
}

/// Games of Stories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoryActivity {
    /// Not over.
    pub live: u64,
    /// Those of them that stand in the lobby: they accept players.
    pub open: u64,
    /// Who sits in these and waits for players.
    pub players_waiting: u64,
    /// Free seats in these.
    pub seats_open: u64,
}

/// Public leaderboards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LeaderboardActivity {
    pub active: u64,
    /// Games that ended in the last minute and are rated; of the 20 oldest leaderboards.
    pub rated_last_minute: u64,
}

/// A world to walk in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct WorldActivity {
    pub name: String,
    /// `world` or `hunt`.
    pub kind: String,
    /// Who is in it. Null where another server has it.
    #[schema(required)]
    pub movers: Option<u64>,
    /// The other server that has it.
    #[schema(required)]
    pub address: Option<String>,
}

/// Hunts that everyone may join, of the 50 that end last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct HuntActivity {
    pub open: u64,
    /// Who has joined them.
    pub players: u64,
}

/// A public game that runs.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct FeaturedGame {
    pub id: String,
    pub game_type: String,
    pub map: String,
    /// Width and height in cells, such as `11x11`.
    pub board: String,
    /// Turns that were played.
    pub turns: u32,
    #[schema(required)]
    pub started_at: Option<Timestamp>,
    /// By seat.
    pub snakes: Vec<FeaturedSnake>,
    /// For which it is played, if for a public one.
    #[schema(required)]
    pub leaderboard: Option<FeaturedLeaderboard>,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct FeaturedSnake {
    pub name: String,
    /// Its score on the leaderboard for which the game is played.
    #[schema(required)]
    pub rating: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FeaturedLeaderboard {
    pub id: String,
    pub name: String,
}

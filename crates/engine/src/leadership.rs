//! Jobs that one process does for all nodes of a database. Which process that is, the store says: a job is free when it has no leader or
//! its leader's lease has ended.

/// A job with one leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeaderJob {
    /// Matches tickets for hunts.
    MatchmakingQueue,
    /// Rates results and pairs bots on ladders.
    Ladders,
    Tournaments,
    Duels,
    /// Checks whether bots answer.
    BotHealth,
    /// Deletes what is old.
    Retention,
}

impl LeaderJob {
    pub const ALL: [Self; 6] =
        [Self::MatchmakingQueue, Self::Ladders, Self::Tournaments, Self::Duels, Self::BotHealth, Self::Retention];

    /// The name in the store and in logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MatchmakingQueue => "matchmaking_queue",
            Self::Ladders => "ladders",
            Self::Tournaments => "tournaments",
            Self::Duels => "duels",
            Self::BotHealth => "bot_health",
            Self::Retention => "retention",
        }
    }

    /// The job of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|job| job.name() == name)
    }
}

//! The shapes of `/api`: what clients send and receive, and nothing of what it means.
//!
//! Requests contain text and plain numbers: whether a board or an id is valid is for the server to decide, with a
//! better message than a parser has. Unknown members of a request are ignored, so that programs written for another
//! server of this API are understood.

mod accounts;
mod games;
mod hunts;
mod inspection;
mod limits;
mod ops;
mod snakes;
mod stories;
mod worlds;

pub use accounts::{AccountView, CreateAccount, CreateToken, CreateTokenFor, TokenCreated, TokenView};
pub use games::{
    BatchAnswer, BatchItem, CreateBatch, CreateGame, GameCreated, GameDetails, GameSnake, GameStatus, GameSummary,
    SeedText, SettingsChoice, SettingsView, StatusRequest,
};
pub use hunts::{
    AggregatorView, CreateHunt, CreateTicket, HuntState, HuntStatistics, HuntView, HunterView, RoundView,
    SetAggregator, TicketView,
};
pub use inspection::{Inspection, InspectionAttempts, InspectionLog, InspectionLogEntry, InspectionWorker};
pub use limits::{
    LimitAllowed, LimitBatchAnswer, LimitBatchItem, LimitCheck, LimitCheckBatch, LimitOverrideView, LimitPart,
    LimitPolicies, LimitPolicyDefinition, LimitPolicyView, LimitProblem, LimitQuota,
};
pub use ops::{
    AdminStats, ConfigEntry, ConfigView, ConnectionStats, GameCounts, JobCount, JobQueue, ProcessStats, QuantileStats,
    Readiness, ReadinessCheck, RecentCounts, RecentError, TimingStats,
};
pub use snakes::{CreateSnake, Snake, UpdateSnake};
pub use stories::{
    CreateGuest, CreateStory, GuestCreated, InvitePlayers, SayText, SessionView, SetBots, SetCountdown, ShowCard,
    StoryChatMessage, StoryEvent, StoryEventKind, StoryFeed, StoryFeedTooOld, StoryGame, StoryHistory, StoryListed,
    StoryMember, StoryMessage, StoryMine, StoryNext, StoryOwn, StoryPlayer, StoryPresence, StoryResult, StorySeat,
    StorySettings, StoryStanding, StoryState, TellSentence,
};
pub use worlds::{
    CreateLife, CreateWorld, SetActors, SowLife, SownLife, WorldActors, WorldCell, WorldDensity, WorldHeap, WorldItem,
    WorldMoveTime, WorldRound, WorldScore, WorldSection, WorldStats, WorldView,
};

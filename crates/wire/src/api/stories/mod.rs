//! Stories: the shapes of a card game whose players see different things. What a viewer may not know is null or left
//! out; the server decides that.

mod event;
mod list;
mod request;
mod view;

pub use event::{StoryEvent, StoryEventKind, StoryFeed, StoryFeedTooOld, StoryMessage, StoryResult};
pub use list::{StoryHistory, StoryListed, StoryMine, StoryPlayer};
pub use request::{
    CreateGuest, CreateStory, GuestCreated, InvitePlayers, SayText, SessionView, SetBots, SetCountdown, ShowCard,
    StorySettings, TellSentence,
};
pub use view::{
    StoryChatMessage, StoryGame, StoryMember, StoryNext, StoryOwn, StoryPresence, StorySeat, StoryStanding, StoryState,
};

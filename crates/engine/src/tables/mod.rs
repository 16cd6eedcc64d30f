//! A table at which stories are told: its members, the current game, and what each viewer may see of it.
//!
//! [`Table`] is the state machine of one table: it decides, applies what was saved, and answers readers.
//! `docs/lifecycles/table.md` draws the phases of a game and of its storytellers. Nothing here reads a clock, has its own
//! random source or knows connections: `now`, a seed and who is present come in.

mod action;
mod bots;
mod change;
mod decide;
mod entry;
mod feed;
mod game;
mod history;
mod index;
mod people;
pub mod phase;
mod record;
mod refusal;
mod settings;
mod state;
mod table;
mod timers;
mod view;

pub use action::Action;
pub use bots::{BOTS, BotSettings, is_bot};
pub use cards::Difficulty;
pub use change::{Change, TableSnapshot};
pub use entry::{PlayerResult, TableLogRow};
pub use feed::{FeedUpdate, TableEvent};
pub use game::TransitionReason;
pub use index::{GameRole, GameRow, IndexChange};
pub use people::Newcomer;
pub use phase::Phase;
pub use record::GameRecord;
pub use refusal::Refusal;
pub use rules::stories::Standing;
pub use settings::TableSettings;
pub use state::{ChatMessage, ChatMessageKind};
pub use table::{Table, TableLoadError};
pub use view::{CardView, EventKind, GameView, MemberView, OwnCards, PlayerView, TableView, ViewerRole};

#[cfg(test)]
mod tests;

//! A table at which stories are told: who sits there, the game that is played, what everybody may see of it.
//!
//! [`Table`] is the machine of one table: it decides, is told what was saved, and answers readers. `docs/lives/table.md` draws
//! the life of a game and of its storytellers. Nothing here reads a clock, rolls dice of its own or knows who is connected:
//! `now`, a seed and who is present come in.

mod action;
mod bots;
mod change;
mod decide;
mod entry;
mod feed;
mod game;
mod history;
pub mod life;
pub(crate) mod pack;
mod people;
mod record;
mod refusal;
mod settings;
mod state;
mod table;
mod timers;
mod view;

pub use action::Action;
pub use bots::{BOTS, is_bot};
pub use change::Change;
pub use entry::Counted;
pub use feed::{Event, Feed, News};
pub use game::Because;
pub use life::Phase;
pub use people::Newcomer;
pub use record::GameRecord;
pub use refusal::Refusal;
pub use rules::stories::Standing;
pub use settings::Settings;
pub use state::{Line, LineKind};
pub use table::{Corrupt, Table};
pub use view::{EventKind, GameView, MemberView, Mine, Part, PlayerView, Shown, TableView};

#[cfg(test)]
mod tests;

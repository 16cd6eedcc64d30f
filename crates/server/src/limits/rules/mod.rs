//! The rules in force: what the file of policies says, and over it what was set while the server ran.

mod book;
mod change;
mod definition;
mod file;
mod keeper;
#[cfg(test)]
mod tests;

pub(crate) use book::quota_of;
pub use book::{Book, Origin, Place, Stored};
pub use change::{Change, ChangeError};
pub use definition::{REFERENCE, WINDOW_MS_MAX, Wrong, definition, policy, quota, refuse_beyond_room, window_ms};
pub use file::{FileError, FileRules, read};
pub(crate) use keeper::WAITING_MAX;
pub use keeper::{BeginError, Keeper, Message};

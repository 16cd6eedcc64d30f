//! Evidence: what a bot was sent, and what its answers counted for. Nothing of it is stored for that: a request is rendered again from the
//! match's log by the code that rendered it for the bot (`bot_client`'s `View`), and the log has the class and the time of every answer.
//!
//! Only what is saved is shown: the request of the turn that is being played now follows with its answer.

mod calls;

pub use calls::{Call, CallAnswer, CallFilter, Calls};

//! Watching matches: the engine API of the official board viewer.
//!
//! Frames are not stored: a match is its seed and its log, so a frame is the log replayed up to a turn. A live viewer subscribes to the
//! match first and reads log *and* state afterwards, again after every notification; a missed notification only costs the time until the
//! next poll. Viewers have their own cursors, so a slow one catches up and is not disconnected.
//!
//! All replays, of pages, of details and of live viewers, share dedicated threads and readers (`replay`): clients can request more of them
//! than there is time for, and matches, creations and readiness checks must not wait behind them.

mod checkpoints;
mod frame;
mod game_file;
mod permits;
mod projection;
mod replay;

pub use game_file::GameFile;
pub use permits::{SpectatorPermit, SpectatorPermits, TooManySpectators};
pub use projection::{PlayedEntry, Projected, Projection};
pub use replay::{Replay, Replays, Slice, SliceOutcome};

//! What must last. One contract ([`Backend`] and [`Reader`]), three stores that keep it (SQLite, PostgreSQL, memory), one
//! conformance suite that all three pass, and one door ([`Store`]) that turns many callers into few commits.
//!
//! Knows SQL, transactions and the engine's values. Knows nothing of HTTP, of who calls, or of how a match is decided.

mod columns;
pub mod contract;
mod door;
mod laws;
pub mod memory;
mod packing;
pub mod postgres;
pub mod sqlite;
mod tally;
#[cfg(feature = "testing")]
pub mod testing;

pub use contract::{
    Backend, BotFilter, Database, MatchFilter, Observer, Reader, RecordedGame, RememberedAnswer, SeatFilter, StoreError,
};
pub use door::{ReaderPool, Store, StoreConfig};

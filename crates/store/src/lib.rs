//! Durable state. One contract ([`Backend`] and [`Reader`]), two stores that implement it (SQLite and PostgreSQL), one
//! conformance suite that both pass, and one handle ([`Store`]) that groups the commands of many callers into few commits.
//!
//! Knows SQL, transactions and the engine's values. Knows nothing of HTTP, of its callers, or of how a match is
//! decided.

mod archives;
pub mod checksums;
mod columns;
pub mod contract;
mod counters;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod handle;
pub mod postgres;
mod schema;
mod semantics;
mod sql;
pub mod sqlite;
#[cfg(feature = "testing")]
pub mod testing;

pub use checksums::{Damage, StoredKind};
pub use contract::{
    AccountFilter, AuditReader, Backend, BanReader, BotFilter, BotToProbe, CompetitionFilter, Database, DeletionReader,
    LadderReader, MatchFilter, MatchList, Observer, PlayerGamesFilter, Reader, RecordedGame, RememberedResponse,
    StoreError,
};
pub use handle::{PendingRead, ReaderPool, Store, StoreConfig};
pub use schema::{SchemaPolicy, SchemaVersion};

//! How much may be used in how much time.
//!
//! Everything here is a function of its arguments: the crate has no clock (it is given `now`), no dice (it is given a seed),
//! no sockets and no threads of its own.

mod batch;
mod check;
mod clock;
mod counted;
mod counter;
mod gcra;
mod home;
mod key;
mod keyed;
mod limiter;
pub mod limits;
mod log;
mod moment;
mod own;
mod pattern;
mod policy;
mod quota;
mod room;
mod ruling;
mod seed;
mod shard;
mod state;
mod states;
mod sync;
mod table;

pub use counted::Census;
pub use counter::Counter;
pub use gcra::Gcra;
pub use keyed::Keyed;
pub use limiter::{Limiter, OverrideError, PoliciesError};
pub use log::Log;
pub use moment::Moment;
pub use pattern::{Pattern, PatternError};
pub use policy::{Algorithm, Capacity, Override, Policy, WhenFull};
pub use quota::{Quota, QuotaError};
pub use room::{Room, TooManyOverrides};
pub use ruling::{Hit, Outcome, Part, Ruling};
pub use seed::Seed;
pub use state::{Decision, State, decide};

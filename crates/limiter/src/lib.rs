//! How much may be used in how much time: a rate limiter as a library.
//!
//! Everything here is a function of its arguments: the crate has no clock (it is given `now`), no random source (it is given a seed),
//! no sockets and no threads of its own. Its only dependencies hash, search and name errors.
//!
//! # Three algorithms
//!
//! A [`Quota`] is a limit L in a window W. Each algorithm keeps one [`State`] a key and decides by it; their promises hold for
//! every sequence of calls and are held to by property tests against the whole history.
//!
//! | | admits | keeps | `at` of a denial |
//! |---|---|---|---|
//! | [`Log`] | at most L in any (t − W, t] | 8 bytes for each unit of the window; nothing in addition to the key for one unit | when enough units are W old |
//! | [`Gcra`] | at most L + L·d/W in any span d | 8 bytes | when enough units have come back, one each W/L |
//! | [`Counter`] | at most 2 L in any window; near L (see there) | 24 bytes | when the bucket before weighs little enough |
//!
//! A [`Decision`] has what remains, or the exact moment: denied strictly before `at`, allowed exactly at it if nothing else is
//! taken meanwhile. A denial costs nothing, and a cost of 0 only looks and is always allowed. Take [`Gcra`] unless its burst is a
//! problem (it lets L through at once, and L more spread over the window that follows), [`Log`] where the limit must hold in
//! every window, [`Counter`] where others count so and numbers are to match.
//!
//! # One quota, many keys
//!
//! [`Keyed`] counts for millions of keys and many threads, [`Budget`] bounds how many. [`WhenFull`] decides what happens when no more
//! fit.
//!
//! ```
//! use std::{sync::Arc, time::{Duration, Instant}};
//! use limiter::{Capacity, Decision, Gcra, Keyed, Moment, Quota, Budget, Seed, WhenFull};
//!
//! let budget = Arc::new(Budget::new(Capacity { keys_max: 1_000_000, timestamps_max: 0 }));
//! let quota = Quota::new(2, Duration::from_secs(60))?;
//! let keyed = Keyed::<Gcra>::new(quota, budget, WhenFull::Deny, Seed::new([7; 32])); // a random seed in earnest
//!
//! let now = Moment::after(Duration::from_secs(5)); // since the process began, by a monotonic clock
//! assert!(keyed.check(b"alice", 1, now).is_allowed());
//! assert!(keyed.check(b"alice", 1, now).is_allowed());
//! assert!(keyed.check(b"bob", 1, now).is_allowed());
//! let Decision::NotUntil { at } = keyed.check(b"alice", 1, now) else { unreachable!() };
//! assert_eq!(at.since(now), Duration::from_secs(30));
//! // Now and then, so that keys without used units are removed: a few shards at a time.
//! keyed.sweep(16, now);
//! # Ok::<(), limiter::QuotaError>(())
//! ```
//!
//! # Many policies
//!
//! A [`Limiter`] has many [`Policy`]s, chosen by patterns over a class and a key, and checks all that match: all or nothing.
//!
//! ```
//! use std::time::Duration;
//! use limiter::{Algorithm, Capacity, Hit, Limiter, Moment, Outcome, Pattern, Policy, Quota, Seed, WhenFull};
//!
//! let policy = |name: &str, algorithm, limit, window_s| -> Result<Policy, limiter::QuotaError> {
//!     let quota = Quota::new(limit, Duration::from_secs(window_s))?;
//!     let (class, key) = (Pattern::everything(), Pattern::everything());
//!     Ok(Policy { name: name.into(), class, key, algorithm, quota, is_shadow: false, when_full: WhenFull::Deny })
//! };
//! let limiter = Limiter::new(Capacity { keys_max: 100_000, timestamps_max: 1_000_000 }, Seed::new([7; 32]));
//! let set = vec![policy("burst", Algorithm::Gcra, 10, 1)?, policy("daily", Algorithm::Log, 1_000, 86_400)?];
//! limiter.set_policies(set, Moment::ZERO)?;
//!
//! let result = limiter.check(&[Hit { class: "search", key: b"user:42", cost: 4 }], Moment::ZERO);
//! assert_eq!(result.outcome, Outcome::Allowed);
//! assert_eq!(result.decisions.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What changes
//!
//! An edit ([`Keyed::set_quota`], [`Limiter::set_policies`], overrides of single keys) keeps what was used, in units, and no key
//! waits longer for one unit than a window (two for the counter). The log and the counter remember all of it. GCRA has one
//! number: where more was used than a lowered limit has, all of that is used, and what was beyond it is forgotten.
//!
//! A clock that goes back does no harm: a call that is earlier than another counts as now, and when the clock really was set back,
//! time continues from where it was, so that every wait stays as long as it was.

#![warn(missing_docs)]

mod batch;
mod budget;
mod check;
mod check_result;
mod clock;
mod counter;
mod gcra;
mod key;
mod key_hasher;
mod key_quotas;
mod keyed;
mod limiter;
pub mod limits;
mod log;
mod moment;
mod pattern;
mod policy;
mod policy_keys;
mod policy_shared;
mod quota;
mod shard;
mod slot_table;
mod state;
mod states;
mod sync;
mod timestamps;

pub use budget::{Budget, TooManyOverrides};
pub use check_result::{CheckResult, Hit, Outcome, PolicyDecision};
pub use counter::Counter;
pub use gcra::Gcra;
pub use key_hasher::Seed;
pub use keyed::Keyed;
pub use limiter::{Limiter, OverrideError, PoliciesError};
pub use log::Log;
pub use moment::Moment;
pub use pattern::{Pattern, PatternError};
pub use policy::{Algorithm, Capacity, Override, Policy, WhenFull};
pub use policy_keys::PolicyStats;
pub use quota::{Quota, QuotaError};
pub use state::{Decision, State, decide};

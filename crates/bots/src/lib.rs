//! Sample bots for many matches at once, all behind one port.
//!
//! Why it exists: a server of bot matches can only be tried against bots, and bots that are slower than the server
//! measure themselves. So these are lean: HTTP/1.1 straight on TCP, no memory for an idle connection but its task, one
//! timer only while a bot pretends to think.
//!
//! # Addresses
//! A bot is a base URL; what is asked of it is joined to the path, as the webhook API has it:
//!
//! ```text
//! path      = "/" character *( "/" modifier ) [ "/" call ]
//! character = "random" | "hungry" | "flood"
//! modifier  = "think-" duration      200ms, 1s, 0
//!           | "careless-" probability 0 to 1: moves without looking, a handicap of known size
//!           | "late-" probability    0 to 1: answers after the timeout of the match
//!           | "garbage-" probability 0 to 1: answers nonsense
//!           | "refuse-" probability  0 to 1: disconnects or answers 500
//!           | "seed-" integer        0 to 2^64-1
//! call      = "start" | "move" | "end"                 (POST; without a call it is GET: the bot's looks)
//! ```
//!
//! Each modifier stands at most once, in any order; the rest is as the command line has it. So one process
//! hosts reliable and faulty bots: `/hungry`, `/hungry/think-300ms`, `/flood/late-0.1/seed-7`. In addition there
//! are `GET /` (the characters), `GET /healthz` and `GET /metrics` (Prometheus text).
//!
//! # Properties
//! - An answer is a pure function of the request, the path and the seed: no clock, no random source, nothing remembered. The
//!   same request gets the same move and the same fault, on any connection, in any process.
//! - Thinking time and faults belong to `/move`; `/start` and `/end` are answered at once.
//! - Every limit is in [`limits`].
//!
//! In addition to these servers there are hunters ([`hunt`]): movers that connect to a world of a server by themselves.
//!
//! It does not know the rules of the game beyond what a bot must, nor anything about the server that calls.

mod characters;
mod cli;
mod config;
mod connection;
mod counters;
mod fault;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod http;
mod hunt;
mod inbox;
pub mod limits;
#[cfg(feature = "testing")]
pub mod local_games;
mod reply;
mod route;
mod server;
mod service;

pub use characters::{Character, Decision, Direction};
pub use cli::BotsArgs;
pub use config::{Config, Faults};
pub use hunt::{HuntArgs, HuntConfig, HuntCounters, hunt};
pub use server::{bind, serve};

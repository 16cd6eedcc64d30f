//! A world: a grid with movers, seen by viewers, and a hunt in which every item is won once.
//!
//! Positions are soft: they live in memory and in snapshots. What is durable (claims, scores, rounds) is a log of
//! [`Fact`]s, each committed before any client sees it. `docs/lifecycles/world.md` draws the states of a mover, a claim and
//! a round. Nothing here reads a clock, has its own random source, or knows connections: `now`, a seed and batches of
//! inputs come in.

mod answers;
mod apply;
mod area;
mod batch_order;
mod claim_log;
mod claims;
mod crowd;
mod delta;
mod facts;
mod hunt;
mod input;
mod move_limiter;
mod picture;
mod presence;
mod profiles;
mod refusal;
mod registration;
mod rounds;
mod settings;
mod snapshot_reader;
mod snapshot_writer;
mod view;
mod viewer;
mod visibility;
mod world;

pub use claims::WorldAppend;
pub use crowd::CellSummary;
pub use delta::{EnteredMover, ViewDelta};
pub use facts::{Claim, Fact, Hunter, HunterScore, WorldLogRow};
pub use input::{Answer, Done, Input, InputKind, MoverId, MoverRef};
pub use picture::{CellRect, Density, Detail, Picture, PictureError, Section};
pub use refusal::Refusal;
pub use registration::{Registered, Registration, ViewOptions};
pub use rounds::{HuntEvent, RoundPhase, RoundStatus};
pub use settings::{settings_from_bytes, settings_to_bytes};
pub use snapshot_writer::{IdWatermark, Snapshot};
pub use world::{World, WorldLoadError, WorldParams, WorldStats};

#[cfg(test)]
mod tests;

//! A world: a grid with movers, seen by viewers, and a hunt whose every claim is won once.
//!
//! Positions are soft: they live in memory and in snapshots. What is hard (claims, scores, rounds) is a log of [`Fact`]s, each
//! committed before anybody is told. `docs/lives/world.md` draws the lives of a mover, a claim and a round. Nothing here reads a
//! clock, rolls dice of its own, or knows connections: `now`, a seed and batches of inputs come in.

mod answers;
mod apply;
mod area;
mod claims;
mod coming;
mod crowd;
mod delta;
mod facts;
mod hunt;
mod input;
mod log;
mod order;
mod pace;
mod picture;
mod profiles;
mod refusal;
mod registration;
mod rounds;
mod settings;
mod sight;
mod snapshot;
mod view;
mod viewer;
mod world;
mod writing;

pub use claims::Pending;
pub use crowd::Heap;
pub use delta::{Entered, ViewDelta};
pub use facts::{Claim, Fact, Hunter, Scored};
pub use input::{Answer, Done, Input, MoverId, Seat, What};
pub use picture::{Density, Detail, Picture, Region, Section, TooLarge};
pub use refusal::Refusal;
pub use registration::{Registered, Registration, ViewOptions};
pub use rounds::{News, RoundPhase, RoundShown};
pub use settings::{settings_from_bytes, settings_to_bytes};
pub use world::{Corrupt, Opening, World, WorldStats};
pub use writing::{Mark, Snapshot};

#[cfg(test)]
mod tests;

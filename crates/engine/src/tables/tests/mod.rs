//! Tables played in memory: a fixture that commits what a table decides as a store would, and checks the invariants
//! after every commit.

mod bots;
mod codec;
mod fixture;
mod games;
mod joining;
mod laws;
mod minds;
mod oracle;
mod refusals;
mod secrecy;
mod size;
mod storytellers;
mod timers;
mod window;

use fixture::{ScriptedAction, TableFixture, player};

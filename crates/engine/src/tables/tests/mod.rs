//! Tables played in memory: a desk that commits what a table decides as a store would, and checks after every commit what must
//! hold at any time.

mod codec;
mod fixture;
mod games;
mod joining;
mod laws;
mod oracle;
mod refusals;
mod secrecy;
mod size;
mod storytellers;
mod timers;
mod window;

use fixture::{ScriptedAction, TableFixture, player};

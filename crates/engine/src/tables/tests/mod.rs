//! Tables played in memory: a desk that commits what a table decides as a store would, and checks after every commit what must
//! hold at any time.

mod codec;
mod comings;
mod desk;
mod games;
mod laws;
mod oracle;
mod refusals;
mod secrecy;
mod size;
mod storytellers;
mod timers;
mod window;

use desk::{Desk, Scripted, player};

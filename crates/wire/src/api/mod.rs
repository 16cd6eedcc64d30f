//! The shapes of `/api`: what clients send and receive, and nothing of what it means.
//!
//! Requests contain text and plain numbers: whether a board or an id is valid is for the server to decide, with a
//! better message than a parser has. Unknown members of a request are ignored, so that programs written for another
//! server of this API are understood.

mod accounts;
mod audit;
mod bans;
mod duels;
mod evidence;
mod export;
mod games;
mod hunts;
mod inspection;
mod leaderboards;
mod limits;
mod nodes;
mod ops;
mod sign_in;
mod snake_health;
mod snakes;
mod stories;
mod summary;
mod tournaments;
mod trials;
mod worlds;

pub use accounts::*;
pub use audit::*;
pub use bans::*;
pub use duels::*;
pub use evidence::*;
pub use export::*;
pub use games::*;
pub use hunts::*;
pub use inspection::*;
pub use leaderboards::*;
pub use limits::*;
pub use nodes::*;
pub use ops::*;
pub use sign_in::*;
pub use snake_health::*;
pub use snakes::*;
pub use stories::*;
pub use summary::*;
pub use tournaments::*;
pub use trials::*;
pub use worlds::*;

//! Ladders: bots that entered are paired for as long as they stay, and rated by the results. What a ladder is, what is kept of it, who plays
//! next, what results change, when a season ends.

pub mod definition;
pub mod entry;
pub mod pairing;
pub mod ranking;
pub mod rating;
pub mod recompute;
pub mod season;

//! Ladders: bots that are entered play each other for as long as they stay, and are rated.

pub mod pairing;

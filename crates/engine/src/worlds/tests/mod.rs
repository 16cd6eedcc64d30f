//! What a world guarantees, as rows and properties.

mod claims;
mod crashes;
mod ends;
mod fixture;
mod life;
mod moves;
mod presence;
mod restore;
mod views;

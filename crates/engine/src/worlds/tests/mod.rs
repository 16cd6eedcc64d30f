//! What a world promises, as rows and laws.

mod claims;
mod crashes;
mod ends;
mod fixture;
mod life;
mod moves;
mod presence;
mod restore;
mod views;

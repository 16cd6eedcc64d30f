//! What a world promises, as rows and laws.

mod claims;
mod coming;
mod crashes;
mod fixture;
mod life;
mod moves;
mod restore;
mod views;

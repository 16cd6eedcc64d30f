//! What a world promises, as rows and laws.

mod claims;
mod coming;
mod crashes;
mod ends;
mod fixture;
mod life;
mod moves;
mod restore;
mod views;

//! A table at which stories are told: who sits there, the game that is played, what everybody may see of it.

pub mod life;

pub use life::Phase;
pub use rules::stories::Standing;

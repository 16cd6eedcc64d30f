//! Tables: who sits there, and what is played there, one game after the other.

mod phase;
mod standing;

pub use phase::Phase;
pub use standing::Standing;

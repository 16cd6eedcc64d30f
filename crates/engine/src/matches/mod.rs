//! Bot matches: their life, what is played, what is logged, and the machine that decides what happens next.

pub mod archive;
pub mod entry;
pub mod lifecycle;
pub mod machine;
pub mod result;
pub mod spec;

//! Bot matches: their state diagram, their specification, their log, and the machine that decides what happens next.

pub mod archive;
pub mod entry;
pub mod lifecycle;
pub mod machine;
pub mod origin;
pub mod response_excerpt;
pub mod result;
pub mod settings;
pub mod slots;
pub mod spec;

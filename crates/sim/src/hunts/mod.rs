//! The life of a hunt on several nodes: the real machine of a world and the real contract of the store, nodes that die or sleep
//! through their lease, commits that are lost, late or fenced, and hunters who ask again for whatever they were not told.
//!
//! What must be true at every moment: nobody is told of a claim that is not in the log, nobody is told two things of one input, and
//! nothing is won twice. A newcomer never gets the number of somebody who was there before. At the end, everybody is heard.

mod hunter;
mod node;
mod run;

pub use run::{HuntReport, run};

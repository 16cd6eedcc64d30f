//! The vocabulary: shapes that scenes are put together from. Each has its origin where it stands or hangs, and is about
//! a hundred units high, unless it fills the whole picture. Does not know scenes.

pub(crate) mod beings;
pub(crate) mod built;
pub(crate) mod grown;
pub(crate) mod land;
pub(crate) mod sky;
pub(crate) mod things;
pub(crate) mod vessels;

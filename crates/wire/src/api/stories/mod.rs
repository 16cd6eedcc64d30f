//! Stories: the shapes of a card game whose players see different things. What a viewer may not know is null or left
//! out; the server decides that.

mod event;
mod list;
mod request;
mod view;

pub use event::*;
pub use list::*;
pub use request::*;
pub use view::*;

//! Stories: hands, pictures, points. Functions of values.

mod card;

pub use card::Card;

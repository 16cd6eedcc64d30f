//! Names of worlds: they appear in URLs, in links and in the first frame of a connection.

use crate::limits::WORLD_NAME_BYTES_MAX;
use std::fmt;
use std::str::FromStr;

/// The name of a world, unique on the server: small letters, digits and hyphens, beginning and ending with none of the
/// latter.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorldName(String);

/// A text that is not the name of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not the name of a world: expected 1 to {WORLD_NAME_BYTES_MAX} small letters (a-z), digits and hyphens, with a letter or a \
     digit at both ends, such as plaza-2"
)]
pub struct ParseWorldNameError;

impl WorldName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WorldName {
    type Err = ParseWorldNameError;
    fn from_str(text: &str) -> Result<Self, ParseWorldNameError> {
        let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = text.as_bytes();
        let ends_well = bytes.first().is_some_and(is_plain) && bytes.last().is_some_and(is_plain);
        let is_made_well = bytes.iter().all(|byte| is_plain(byte) || *byte == b'-');
        let is_name = ends_well && is_made_well && bytes.len() <= WORLD_NAME_BYTES_MAX;
        is_name.then(|| Self(text.to_owned())).ok_or(ParseWorldNameError)
    }
}

impl fmt::Display for WorldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for WorldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, is_name: bool) {
        let read = text.parse::<WorldName>();
        assert_eq!(read.as_ref().map(WorldName::as_str), if is_name { Ok(text) } else { Err(&ParseWorldNameError) });
    }

    #[test]
    fn names_fit_into_addresses() {
        check("plaza", true);
        check("hunt-0190b5a4-7c1e", true);
        check("7", true);
        check(&"a".repeat(WORLD_NAME_BYTES_MAX), true);
        check(&"a".repeat(WORLD_NAME_BYTES_MAX + 1), false);
        check("", false);
        check("-", false);
        check("-plaza", false);
        check("plaza-", false);
        check("Plaza", false);
        check("pla za", false);
        check("pla/za", false);
        check("pläza", false);
        check("plaza\0", false);
    }
}

//! A text that must not appear in logs, listings or error messages.

use std::fmt;

/// A secret text: printing it in any way shows a mask.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

const MASK: &str = "***";

impl Secret {
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself. The caller must not print it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A database URL with its passwords masked; masked as a whole when it cannot be parsed safely.
    #[must_use]
    pub fn masked_url(&self) -> String {
        mask_url(&self.0).unwrap_or_else(|| MASK.to_owned())
    }
}

fn mask_url(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    // Parameters may contain a password, a key file, anything: none of them is shown.
    let rest = rest.split(['?', '#']).next()?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    // The password may contain an unescaped '@': the last one ends it.
    let Some((user_info, host)) = authority.rsplit_once('@') else {
        // A later '@' means that the password contains a '/': the parts cannot be distinguished.
        return (!path.contains('@')).then(|| format!("{scheme}://{authority}/{path}"));
    };
    if path.contains('@') {
        return None;
    }
    let user = user_info.split(':').next()?;
    let password = if user_info.contains(':') { format!(":{MASK}") } else { String::new() };
    Some(format!("{scheme}://{user}{password}@{host}/{path}"))
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, want: &str) {
        assert_eq!(Secret::new(url).masked_url(), want);
    }

    #[test]
    fn a_url_is_shown_without_its_passwords() {
        check("postgres://host/games", "postgres://host/games");
        check("postgres://ann@host/games", "postgres://ann@host/games");
        check("postgres://ann:hunter2@host:5432/games", "postgres://ann:***@host:5432/games");
        check("postgres://ann:hun@ter2@host/games", "postgres://ann:***@host/games");
        check("postgres://ann:hun:ter2@host/games?sslmode=disable", "postgres://ann:***@host/games");
        check("postgres://host/games?user=ann&password=hunter2", "postgres://host/games");
        check("postgres://ann:hun/ter2@host/games", "***");
        check("hunter2", "***");
        check("", "***");
    }

    #[test]
    fn nothing_prints_a_secret() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "*** *** Some(***)");
    }
}

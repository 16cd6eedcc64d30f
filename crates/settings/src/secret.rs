//! Texts that must not appear in logs, listings or error messages, or not as a whole.

use super::value::{Bounds, Value};
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
}

impl Value for Secret {
    const IS_SECRET: bool = true;

    fn parse(text: &str, bounds: &Bounds) -> Option<Self> {
        let is_fit = bounds.range.contains(&(text.len() as u64)) && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_fit.then(|| Self::new(text))
    }

    fn expects(bounds: &Bounds) -> String {
        let (min, max) = (bounds.range.start(), bounds.range.end());
        format!("{min} to {max} printable ASCII characters without spaces")
    }

    fn render(&self, _: &Bounds) -> String {
        self.to_string()
    }
}

/// The URL of a PostgreSQL database: printing it shows no password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(Secret);

impl DatabaseUrl {
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(Secret::new(text))
    }

    /// The URL itself. The caller must not print it.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

impl Value for DatabaseUrl {
    const IS_SECRET: bool = true;

    fn parse(text: &str, _: &Bounds) -> Option<Self> {
        let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
        rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace)).then(|| Self::new(text))
    }

    fn expects(_: &Bounds) -> String {
        "a URL such as postgres://user:password@host:5432/database".into()
    }

    fn render(&self, _: &Bounds) -> String {
        self.to_string()
    }
}

/// The URL with its passwords masked; masked as a whole when it cannot be parsed safely.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(mask_url(self.expose()).as_deref().unwrap_or(MASK))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn mask_url(url: &str) -> Option<String> {
    // Any other text may be `key=value` pairs with a URL in one of them.
    let (scheme, all) = url.split_once("://").filter(|(scheme, _)| matches!(*scheme, "postgres" | "postgresql"))?;
    // Parameters may contain a password, a key file, anything: none of them is shown.
    let rest = all.split(['?', '#']).next()?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    // The password may contain an unescaped '@': the last one ends it.
    let Some((user_info, host)) = authority.rsplit_once('@') else {
        // A later '@' means that the password may contain a '/', a '?' or a '#': the parts cannot be distinguished.
        return (!all.contains('@')).then(|| format!("{scheme}://{authority}/{path}"));
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
        assert_eq!(DatabaseUrl::new(url).to_string(), want);
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
        check("postgres://ann:hun#ter2@host/games", "***");
        check("postgres://ann:hun?ter2@host/games", "***");
        check("postgres://ann:h/un?ter2@host/games", "***");
        check("host=db user=ann password=hunter2 application_name=http://x", "***");
        check("host=db user=ann password=a://hunter2", "***");
        check("hunter2", "***");
        check("", "***");
    }

    #[test]
    fn nothing_prints_a_secret() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "*** *** Some(***)");
    }
}

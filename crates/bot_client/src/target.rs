//! The parsed URL of a bot: scheme, host, port and base path, parsed once a call with as few allocations as possible.

use http::Uri;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) key: HostKey,
    /// Host and port as the URL has them: the `Host` header.
    pub(super) authority: String,
    /// The path without its last slash, so that `/move` can be added.
    pub(super) base_path: String,
}

/// The key of the connection pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct HostKey {
    pub(super) is_tls: bool,
    /// A name or a literal address in small letters, without a dot at its end; IPv6 without brackets.
    pub(super) host: String,
    /// The port, the scheme's own when the URL names none.
    pub(super) port: u16,
}

impl Target {
    /// The target of an http or https URL; `None` for anything else (registration has refused it already).
    pub(super) fn parse(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        let is_tls = match uri.scheme_str()? {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let authority = uri.authority()?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
        if host.is_empty() || authority.as_str().contains('@') {
            return None;
        }
        let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        Some(Self {
            key: HostKey { is_tls, host: host.to_ascii_lowercase(), port },
            authority: authority.as_str().to_owned(),
            base_path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// The bot's program: equal for all spellings of its URL.
    pub(super) fn program(&self) -> (&HostKey, &str) {
        (&self.key, &self.base_path)
    }

    /// See [`canonical_url`].
    pub(super) fn canonical_url(&self) -> String {
        let Self { key: HostKey { is_tls, host, port }, base_path, .. } = self;
        let scheme = if *is_tls { "https" } else { "http" };
        format!("{scheme}://{host}:{port}{base_path}")
    }
}

/// The same text for all spellings of a bot's URL that lead to one program: of scheme and host in small and large letters, with and without a dot
/// after the host, the scheme's own port, or a slash at the end. A URL that cannot be called stays as it is.
#[must_use]
pub fn canonical_url(url: &str) -> String {
    Target::parse(url).map_or_else(|| url.to_owned(), |target| target.canonical_url())
}

/// The host of a bot's URL: the same text for all its spellings, as with [`canonical_url`]. `None`: the URL cannot be called.
#[must_use]
pub fn canonical_host(url: &str) -> Option<String> {
    Target::parse(url).map(|target| target.key.host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, want: Option<(bool, &str, u16, &str, &str)>) {
        let got = Target::parse(url);
        let got = got
            .as_ref()
            .map(|t| (t.key.is_tls, t.key.host.as_str(), t.key.port, t.authority.as_str(), t.base_path.as_str()));
        assert_eq!(got, want, "{url}");
    }

    #[test]
    fn spellings_of_one_url_are_one_program() {
        for same in ["http://a.example/x", "HTTP://A.example./x/", "http://a.EXAMPLE:80/x//"] {
            assert_eq!(canonical_url(same), "http://a.example:80/x", "{same}");
        }
        for other in ["https://a.example/x", "http://a.example:81/x", "http://a.example/X", "http://a.example"] {
            assert_ne!(canonical_url(other), "http://a.example:80/x", "{other}");
        }
        assert_eq!(canonical_url("ftp://a/"), "ftp://a/");
    }

    #[test]
    fn urls() {
        check("http://bot.example", Some((false, "bot.example", 80, "bot.example", "")));
        check("https://bot.example/a/b/", Some((true, "bot.example", 443, "bot.example", "/a/b")));
        check("http://127.0.0.1:8000/snake", Some((false, "127.0.0.1", 8000, "127.0.0.1:8000", "/snake")));
        check("http://[::1]:9/x", Some((false, "::1", 9, "[::1]:9", "/x")));
        // One pool for all spellings of a host; what is sent has the URL's own.
        check("http://BOT.example.:81/X", Some((false, "bot.example", 81, "BOT.example.:81", "/X")));
        check("http://127.0.0.1./", Some((false, "127.0.0.1", 80, "127.0.0.1.", "")));
        check("http://./", None);
        check("ftp://bot.example/", None);
        check("bot.example", None);
        check("http://user@bot.example/", None);
        check("", None);
    }
}

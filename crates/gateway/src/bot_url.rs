//! Validation of a bot's URL. Input from a client makes this server open connections, so everything that it does not need is refused
//! here; the runner checks the addresses behind a name again, at every connect.

use super::problem::{ApiError, ApiResult};
use axum::http::Uri;
use axum::http::uri::{Authority, Scheme};
use bot_client::address::is_public;
use engine::limits::URL_BYTES_MAX;
use std::net::{IpAddr, Ipv4Addr};

/// Checks the URL of a bot before it is stored.
pub(super) fn check(url: &str, are_private_allowed: bool) -> ApiResult<()> {
    check_member("/url", url, are_private_allowed)
}

/// The same of a URL that stands in another member, named as a JSON Pointer.
pub(super) fn check_member(field: &str, url: &str, are_private_allowed: bool) -> ApiResult<()> {
    let authority = parse_authority(url).map_err(|reason| ApiError::bad_value(field, format!("the URL {reason}")))?;
    let host = authority.host();
    if are_private_allowed || is_public_host(host) {
        return Ok(());
    }
    Err(ApiError::PrivateAddress { host: host.to_owned() })
}

fn parse_authority(url: &str) -> Result<Authority, &'static str> {
    if url.len() > URL_BYTES_MAX {
        return Err("is longer than 500 bytes");
    }
    if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("holds spaces or characters outside ASCII: percent-encode them");
    }
    if url.contains(['?', '#', '\\']) {
        return Err("holds a query, a fragment or a backslash: /start, /move and /end could not be appended to it");
    }
    let uri: Uri = url.parse().map_err(|_| "is not a URL: expected http://host/path or https://host/path")?;
    if uri.scheme() != Some(&Scheme::HTTP) && uri.scheme() != Some(&Scheme::HTTPS) {
        return Err("does not begin with http:// or https://");
    }
    let authority = uri.authority().ok_or("names no host")?;
    check_authority(authority)?;
    Ok(authority.clone())
}

const _: () = assert!(URL_BYTES_MAX == 500, "the refusal above names the limit");

fn check_authority(authority: &Authority) -> Result<(), &'static str> {
    if authority.as_str().contains('@') {
        return Err("holds a user name or a password: bots are called without one");
    }
    let host = authority.host();
    match authority.as_str().strip_prefix(host) {
        Some("") => {}
        Some(port) if port.strip_prefix(':').is_some_and(is_port) => {}
        _ => return Err("has a port that is not a number from 1 to 65535"),
    }
    if ip_literal(host).is_none() && !is_dns_name(host) {
        return Err("has a host that is neither a DNS name nor an address such as 192.0.2.1 or [2001:db8::1]");
    }
    Ok(())
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// The address, if the host is written as one.
fn ip_literal(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?.parse().map(IpAddr::V6).ok(),
        None => host.parse::<Ipv4Addr>().map(IpAddr::V4).ok(),
    }
}

/// Whether the host is a DNS name: labels of 1 to 63 letters, digits, `-` and `_`. A last label that begins with a digit is
/// refused, because resolvers take `127.1`, `0x7f.1` and `2130706433` for addresses.
fn is_dns_name(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let last_label = host.rsplit('.').next().unwrap_or_default();
    host.len() <= 253 && host.split('.').all(is_label) && !last_label.starts_with(|first: char| first.is_ascii_digit())
}

/// Whether the host may be public; for a name, only a connect can tell.
fn is_public_host(host: &str) -> bool {
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let is_local_name = name == "localhost" || name.ends_with(".localhost");
    !is_local_name && ip_literal(host).is_none_or(is_public)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_code(url: &str, are_private_allowed: bool, want: &str) {
        let code = check(url, are_private_allowed).map_or_else(|error| error.status_and_code().1, |()| "good");
        assert_eq!(code, want, "{url}");
    }

    #[test]
    fn validates_urls_of_bots() {
        for url in [
            "http://example.com",
            "https://example.com/",
            "https://a-b_c.example.com.:8443/snakes/1%20a",
            "http://1.1.1.1:80",
            "http://[2606:4700::1111]/x",
            "HTTP://EXAMPLE.COM",
            "http://1e100.net",
        ] {
            check_code(url, false, "good");
        }
        for url in [
            "",
            "example.com",
            "/path",
            "ftp://example.com",
            "http://",
            "http:///x",
            "http://user@example.com",
            "http://user:pass@example.com",
            "http://example.com#x",
            "http://example.com/?x",
            "http://example.com:0",
            "http://example.com:65536",
            "http://example.com:+80",
            "http://[::1]x",
            "http://example.com:",
            "http://exa mple.com",
            "http://exämple.com",
            "http://example.com\\@127.0.0.1/",
            "http://127.1",
            "http://0x7f000001/",
            "http://2130706433/",
            "http://0177.0.0.1x",
            "http://a..b/",
            "http://.",
            "http://[::1",
            "http://[::1%25lo]/",
            "http://[1.1.1.1]/",
            "http://ex$mple.com/",
            "*",
            "http://example.com/\n",
        ] {
            check_code(url, true, "bad_value");
        }
        check_code(&format!("http://example.com/{}", "x".repeat(URL_BYTES_MAX)), true, "bad_value");
    }

    #[test]
    fn private_addresses_are_refused_unless_they_are_allowed() {
        for url in [
            "http://127.0.0.1:4100/random",
            "http://localhost/",
            "http://LOCALHOST./",
            "http://x.localhost",
            "http://[::1]:80",
            "http://10.0.0.1",
            "http://192.168.1.1",
            "http://169.254.169.254/latest",
            "http://[::ffff:127.0.0.1]",
            "http://[fe80::1]",
            "http://0.0.0.0",
        ] {
            check_code(url, false, "private_address");
            check_code(url, true, "good");
        }
    }
}

//! Which hosts the lab may load without explicit permission: only this machine. PURE. Does not resolve names; the
//! caller must load the very addresses that it checked, because a name can resolve to another address a moment later.

use std::net::IpAddr;

/// Whether the target may be loaded. `host` is written as in the URL, `addresses` are all that it resolves to, and
/// `allow_host` are the values of `--allow-host`. A loopback address can still lead elsewhere (a tunnel, a forwarded
/// port): the user who opened it is responsible for that.
///
/// # Errors
/// The sentence that says which option to add, and when that is permitted.
pub fn check_allowed(host: &str, addresses: &[IpAddr], allow_host: &[String]) -> Result<(), String> {
    let host = strip_brackets(host);
    if allow_host.iter().any(|named| strip_brackets(named).eq_ignore_ascii_case(host)) {
        return Ok(());
    }
    match addresses.iter().find(|address| !is_loopback(**address)) {
        None if addresses.is_empty() => Err(format!("{host} has no address: nothing can be loaded there")),
        None => Ok(()),
        Some(elsewhere) => Err(refusal(host, *elsewhere)),
    }
}

/// Whether an address leads back to this machine in every case: 127.0.0.0/8 and ::1, also written as IPv6 (RFC 4291,
/// section 2.5.5.2). The unspecified address does so on some systems only, and is no address of a service.
#[must_use]
pub fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

pub(crate) fn strip_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn refusal(host: &str, elsewhere: IpAddr) -> String {
    let which = if host.parse() == Ok(elsewhere) { String::new() } else { format!(" ({elsewhere})") };
    let hint = if elsewhere.is_unspecified() { " If you mean this machine, write 127.0.0.1." } else { "" };
    format!(
        "{host}{which} is not this machine. A load test can take a service down: load only what you own or have leave \
         to load. If you may, say so with --allow-host {host}.{hint}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(host: &str, addresses: &[&str], allow_host: &[&str], expected: bool) {
        let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
        let named: Vec<String> = allow_host.iter().map(|&host| host.to_owned()).collect();
        let found = check_allowed(host, &addresses, &named);
        assert_eq!(found.is_ok(), expected, "{host} {addresses:?} {named:?}: {found:?}");
    }

    #[test]
    fn this_machine_needs_no_permission() {
        check("localhost", &["127.0.0.1"], &[], true);
        check("localhost", &["127.0.0.1", "::1"], &[], true);
        check("127.0.0.2", &["127.0.0.2"], &[], true);
        check("127.255.255.254", &["127.255.255.254"], &[], true);
        check("[::1]", &["::1"], &[], true);
        check("::1", &["::1"], &[], true);
        check("[::ffff:127.0.0.1]", &["::ffff:127.0.0.1"], &[], true);
        check("my-laptop", &["127.0.1.1"], &[], true);
    }

    #[test]
    fn other_machines_need_permission() {
        check("0.0.0.0", &["0.0.0.0"], &[], false);
        check("[::]", &["::"], &[], false);
        check("128.0.0.1", &["128.0.0.1"], &[], false);
        check("126.255.255.255", &["126.255.255.255"], &[], false);
        check("192.168.1.5", &["192.168.1.5"], &[], false);
        check("169.254.169.254", &["169.254.169.254"], &[], false);
        check("[::ffff:10.0.0.1]", &["::ffff:10.0.0.1"], &[], false);
        // The deprecated IPv4-compatible form does not lead back to this machine.
        check("[::127.0.0.1]", &["::127.0.0.1"], &[], false);
        check("[fe80::1]", &["fe80::1"], &[], false);
        check("both.example", &["127.0.0.1", "203.0.113.7"], &[], false);
        check("both.example", &["203.0.113.7", "127.0.0.1"], &[], false);
        check("localhost", &["127.0.0.1", "2001:db8::1"], &[], false);
        check("nowhere.example", &[], &[], false);
    }

    #[test]
    fn permission_is_for_exactly_the_host_of_the_url() {
        check("api.example", &["203.0.113.7"], &["api.example"], true);
        check("api.example", &["203.0.113.7"], &["API.Example"], true);
        check("api.example", &["203.0.113.7"], &["other.example", "api.example"], true);
        check("api.example", &["203.0.113.7"], &["example"], false);
        check("api.example", &["203.0.113.7"], &["203.0.113.7"], false);
        check("api.example", &["203.0.113.7"], &["http://api.example"], false);
        check("api.example", &["203.0.113.7"], &["*"], false);
        check("api.example", &["203.0.113.7"], &[""], false);
        check("[2001:db8::1]", &["2001:db8::1"], &["2001:db8::1"], true);
        check("2001:db8::1", &["2001:db8::1"], &["[2001:db8::1]"], true);
    }

    #[track_caller]
    fn check_words(host: &str, address: &str, parts: &[&str]) {
        let words = check_allowed(host, &[address.parse().unwrap()], &[]).unwrap_err();
        parts.iter().for_each(|part| assert!(words.contains(part), "{part} in: {words}"));
    }

    #[test]
    fn a_refusal_names_the_option_and_its_condition() {
        check_words("api.example", "203.0.113.7", &["(203.0.113.7)", "--allow-host api.example", "own or have leave"]);
        check_words("203.0.113.7", "203.0.113.7", &["203.0.113.7 is not", "--allow-host 203.0.113.7."]);
        check_words("0.0.0.0", "0.0.0.0", &["write 127.0.0.1"]);
    }
}

//! Looks up the database's host before the driver connects, which then tries one address after the other and looks up none: its own lookup
//! is the C library's, which a static binary does not have (docs/decisions/0081). The driver keeps the name beside each address.

use crate::contract::StoreError;
use ::postgres::Config;
use ::postgres::config::Host;
use std::net::IpAddr;

/// Where PostgreSQL listens unless its address says otherwise.
const PORT: u16 = 5432;

/// The same with the addresses of its hosts, one entry for each. Unchanged where there is nothing to look up, or where a socket file is among
/// the hosts: no address belongs to that.
pub(super) fn with_addresses(
    config: &Config,
    look_up: impl Fn(&str) -> std::io::Result<Vec<IpAddr>>,
) -> Result<Config, StoreError> {
    let names: Option<Vec<&str>> = config.get_hosts().iter().map(tcp_name).collect();
    let Some(names) = names.filter(|names| names.iter().any(|name| name.parse::<IpAddr>().is_err())) else {
        return Ok(config.clone());
    };
    if !config.get_hostaddrs().is_empty() {
        return Ok(config.clone());
    }
    let mut resolved = without_hosts(config);
    let mut unknown = None;
    for (place, name) in names.into_iter().enumerate() {
        let port = *config.get_ports().get(place).or(config.get_ports().first()).unwrap_or(&PORT);
        match look_up(name) {
            Ok(addresses) => {
                for address in addresses {
                    resolved.host(name).hostaddr(address).port(port);
                }
            }
            Err(error) => unknown = Some(error),
        }
    }
    match unknown {
        Some(error) if resolved.get_hosts().is_empty() => {
            Err(StoreError::Unavailable { why: format!("the database's host cannot be found: {error}") })
        }
        _ => Ok(resolved),
    }
}

fn tcp_name(host: &Host) -> Option<&str> {
    match host {
        Host::Tcp(name) => Some(name),
        Host::Unix(_) => None,
    }
}

fn without_hosts(config: &Config) -> Config {
    let mut bare = Config::new();
    config.get_user().map(|user| bare.user(user));
    config.get_password().map(|password| bare.password(password));
    config.get_dbname().map(|name| bare.dbname(name));
    config.get_options().map(|options| bare.options(options));
    config.get_application_name().map(|name| bare.application_name(name));
    config.get_connect_timeout().map(|wait| bare.connect_timeout(*wait));
    config.get_tcp_user_timeout().map(|wait| bare.tcp_user_timeout(*wait));
    config.get_keepalives_interval().map(|wait| bare.keepalives_interval(wait));
    config.get_keepalives_retries().map(|retries| bare.keepalives_retries(retries));
    bare.keepalives(config.get_keepalives()).keepalives_idle(config.get_keepalives_idle());
    bare.ssl_mode(config.get_ssl_mode()).ssl_negotiation(config.get_ssl_negotiation());
    bare.target_session_attrs(config.get_target_session_attrs()).channel_binding(config.get_channel_binding());
    bare.load_balance_hosts(config.get_load_balance_hosts());
    bare
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    /// A configuration must lead to these hosts, addresses and ports, with all else as it was.
    #[track_caller]
    fn check_hosts(address: &str, want: Option<&[(&str, &str, u16)]>) {
        let config = address.parse::<Config>().unwrap();
        let look_up = |name: &str| match name {
            "two" => Ok(vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()]),
            "one" => Ok(vec!["10.0.0.1".parse().unwrap()]),
            _ => name.parse().map(|ip| vec![ip]).map_err(|_| Error::new(ErrorKind::NotFound, "not known")),
        };
        let found = with_addresses(&config, look_up).unwrap();
        let Some(want) = want else { return assert_eq!(format!("{found:?}"), format!("{config:?}"), "{address}") };
        let addresses: Vec<String> = found.get_hostaddrs().iter().map(IpAddr::to_string).collect();
        let hosts = found.get_hosts().iter().map(|host| tcp_name(host).unwrap());
        let entries = hosts.zip(addresses.iter().map(String::as_str)).zip(found.get_ports());
        let entries: Vec<_> = entries.map(|((host, address), port)| (host, address, *port)).collect();
        assert_eq!(entries, want, "{address}");
        // What is printed has all but the password.
        let others = |config: &Config| format!("{:?} {:?}", without_hosts(config), config.get_password());
        assert_eq!(others(&found), others(&config), "{address}");
    }

    #[test]
    fn each_address_of_a_name_is_tried() {
        let both = [("two", "127.0.0.1", 5432), ("two", "::1", 5432)];
        check_hosts("postgres://me:secret@two/db?options=-c%20work_mem%3D8MB&sslmode=disable", Some(&both));
        let several = [("two", "127.0.0.1", 1), ("two", "::1", 1), ("one", "10.0.0.1", 2), ("10.9.8.7", "10.9.8.7", 3)];
        check_hosts("host=two,one,10.9.8.7 port=1,2,3 user=me keepalives_idle=7", Some(&several));
        check_hosts("host=lost,one port=7 user=me", Some(&[("one", "10.0.0.1", 7)]));
        check_hosts("host=one,/run/db user=me", None);
        check_hosts("postgres://me@10.0.0.1/db", None);
        check_hosts("host=/run/postgresql user=me", None);
        check_hosts("host=one hostaddr=10.0.0.9 user=me", None);
    }

    #[test]
    fn a_name_that_is_not_known_is_named() {
        let config = "postgres://me:secret@lost/db".parse::<Config>().unwrap();
        let Err(error) = with_addresses(&config, |name| Err(Error::other(format!("no {name}")))) else {
            panic!("found")
        };
        assert!(error.to_string().contains("no lost") && !error.to_string().contains("secret"), "{error}");
    }
}

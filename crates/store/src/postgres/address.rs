//! The address of a database: what the library reads of it, and what libpq knows besides (`sslmode`, `sslrootcert`, `passfile`).
//!
//! No error repeats the address: it may hold a password.

use super::tls::{SslMode, TlsConfig};
use crate::contract::StoreError;
use ::postgres::Config;
use ::postgres::config::{Host, SslMode as Negotiation};
use percent_encoding::percent_decode_str;
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Longest file of passwords, in bytes.
const PASSFILE_BYTES_MAX: u64 = 64 * 1024;
/// Rights of everybody else.
const OTHERS: u32 = 0o077;

/// What the library does not read itself, taken out of a URL's parameters.
#[derive(Default)]
struct Extras {
    ssl_mode: Option<String>,
    root_cert: Option<PathBuf>,
    passfile: Option<PathBuf>,
}

pub(super) fn invalid(why: impl Into<String>) -> StoreError {
    StoreError::Unavailable { why: why.into() }
}

/// Reads an address: `postgres://user:password@host:port/name?sslmode=verify-full&sslrootcert=FILE&passfile=FILE`, or `key=value` pairs
/// without the last two.
///
/// # Errors
/// It cannot be read, or a file that it names cannot.
pub(super) fn parse(address: &str) -> Result<(Config, TlsConfig), StoreError> {
    let (plain, extras) = take_extras(address)?;
    let mut config = read_plain(&plain)?;
    name_hosts(&mut config);
    let ssl_mode = match &extras.ssl_mode {
        Some(text) => SslMode::parse(text)?,
        None if config.get_ssl_mode() == Negotiation::Disable => SslMode::Disable,
        None if config.get_ssl_mode() == Negotiation::Require => SslMode::Require,
        None => SslMode::Prefer,
    };
    // As with libpq: a Unix socket is not encrypted, whatever is said.
    let is_socket =
        !config.get_hosts().is_empty() && config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
    let tls = TlsConfig::new(if is_socket { SslMode::Disable } else { ssl_mode }, extras.root_cert.as_deref())?;
    config.ssl_mode(match tls.mode() {
        SslMode::Disable => Negotiation::Disable,
        SslMode::Prefer => Negotiation::Prefer,
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => Negotiation::Require,
    });
    if let Some(path) = &extras.passfile
        && config.get_password().is_none()
    {
        let password = password_for(&config, path)?;
        config.password(password);
    }
    Ok((config, tls))
}

fn read_plain(address: &str) -> Result<Config, StoreError> {
    let expected = "the database's address cannot be read; expected postgres://user:password@host:port/name";
    address.parse().map_err(|_| invalid(expected))
}

/// Reads an address, and none of the files that it names.
#[cfg(feature = "fuzzing")]
pub(crate) fn without_files(address: &str) -> Result<Config, StoreError> {
    take_extras(address).and_then(|(plain, _)| read_plain(&plain))
}

/// The hosts of other machines; their connections should be encrypted.
pub(super) fn remote_hosts(config: &Config) -> Vec<String> {
    let is_remote = |host: &&String| {
        let ip = host.parse::<IpAddr>().ok();
        !host.eq_ignore_ascii_case("localhost") && !ip.is_some_and(|ip| ip.is_loopback())
    };
    let names = config.get_hosts().iter().filter_map(|host| match host {
        Host::Tcp(name) => Some(name),
        Host::Unix(_) => None,
    });
    names.filter(is_remote).cloned().collect()
}

/// A host given by its address alone has that as its name, too: TLS needs one.
fn name_hosts(config: &mut Config) {
    if config.get_hosts().is_empty() {
        for address in config.get_hostaddrs().to_vec() {
            config.host(&address.to_string());
        }
    }
}

fn take_extras(address: &str) -> Result<(String, Extras), StoreError> {
    let mut extras = Extras::default();
    let is_url = address.starts_with("postgres://") || address.starts_with("postgresql://");
    let Some((base, parameters)) = address.split_once('?').filter(|_| is_url) else {
        return Ok((address.to_owned(), extras));
    };
    let mut kept = Vec::new();
    for parameter in parameters.split('&') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = || {
            let decoded = percent_decode_str(value).decode_utf8();
            let text = decoded.map_err(|_| invalid(format!("{name} of the database's address is not UTF-8")))?;
            if text.is_empty() {
                return Err(invalid(format!(
                    "{name} of the database's address has no value: leave it out, or give one"
                )));
            }
            Ok(text.into_owned())
        };
        match name {
            "sslmode" => extras.ssl_mode = Some(value()?),
            "sslrootcert" => extras.root_cert = Some(value()?.into()),
            "passfile" => extras.passfile = Some(value()?.into()),
            _ => kept.push(parameter),
        }
    }
    let rest = if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) };
    Ok((rest, extras))
}

/// The password of the first line that fits the first host, as in libpq's file of passwords.
fn password_for(config: &Config, path: &Path) -> Result<String, StoreError> {
    let shown = path.display();
    let unreadable = |error: io::Error| invalid(format!("passfile {shown} of the database's address: {error}"));
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.mode() & OTHERS != 0 {
        return Err(invalid(format!(
            "other users of this machine may use the file of passwords {shown}: chmod 600 {shown}"
        )));
    }
    let mut text = String::new();
    file.take(PASSFILE_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(_)) | None => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    let wanted = [host.as_str(), &port, database, user];
    text.lines().find_map(|line| password_of_line(line, wanted)).ok_or_else(|| {
        invalid(format!(
            "the file of passwords {shown} has no line for host {host}, port {port}, database {database}, user {user}; \
             expected hostname:port:database:username:password, * for any"
        ))
    })
}

fn password_of_line(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        // The password is the rest of the line.
        let is_separator = character == ':' && fields.len() <= wanted.len();
        match (character, fields.last_mut()?) {
            _ if is_separator => fields.push(String::new()),
            ('\\', field) => field.extend(characters.next()),
            (other, field) => field.push(other),
        }
    }
    let password = fields.pop()?;
    let fits =
        fields.len() == wanted.len() && fields.iter().zip(wanted).all(|(field, want)| field == "*" || field == want);
    fits.then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;
    use std::os::unix::fs::PermissionsExt;

    #[track_caller]
    fn check_refused(address: &str, want: &str) {
        let Err(error) = parse(address) else { panic!("{address} was taken") };
        let error = error.to_string();
        assert!(error.contains(want), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn an_address_that_cannot_be_read_is_not_repeated() {
        check_refused("postgres://me:secret@host:notaport/db", "the database's address cannot be read");
        check_refused(
            "postgres://me:secret@host/db?sslmode=allow",
            "disable, prefer, require, verify-ca or verify-full",
        );
        check_refused("postgres://me:secret@host/db?sslmode=", "sslmode of the database's address has no value");
        check_refused("postgres://me:secret@host/db?sslrootcert=/none.pem", "sslmode=verify-full");
        check_refused("postgres://me:secret@host/db?sslmode=verify-full&sslrootcert=/none.pem", "/none.pem");
        check_refused("postgres://me:secret@host/db?sslmode=verify-full&sslrootcert=/dev/null", "no certificate");
        check_refused("postgres://me@host/db?passfile=/none", "passfile /none");
    }

    #[track_caller]
    fn check_mode(address: &str, want: SslMode) {
        let (_, tls) = parse(address).unwrap();
        assert_eq!(tls.mode(), want, "{address}");
    }

    #[test]
    fn what_is_said_of_tls_is_read() {
        check_mode("postgres://host/db", SslMode::Prefer);
        check_mode("postgres://host/db?connect_timeout=3", SslMode::Prefer);
        check_mode("postgres://host/db?sslmode=disable", SslMode::Disable);
        check_mode("postgres://host/db?connect_timeout=3&sslmode=require&application_name=x", SslMode::Require);
        check_mode("postgres://host/db?sslmode=verify%2Dca", SslMode::VerifyCa);
        check_mode("postgres://host/db?sslmode=verify-full&sslrootcert=system", SslMode::VerifyFull);
        check_mode("host=host sslmode=require", SslMode::Require);
        check_mode("postgres:///db?host=/run/postgresql&sslmode=verify-full", SslMode::Disable);
    }

    #[track_caller]
    fn check_remote(address: &str, want: &[&str]) {
        assert_eq!(remote_hosts(&parse(address).unwrap().0), want, "{address}");
    }

    #[test]
    fn hosts_of_other_machines_are_told_apart() {
        check_remote("postgres://localhost,db.example,127.0.0.1/db", &["db.example"]);
        check_remote("hostaddr=10.0.0.5", &["10.0.0.5"]);
        check_remote("host=::1 hostaddr=::1", &[]);
        check_remote("host=/run/postgresql", &[]);
    }

    #[test]
    fn a_password_comes_from_a_file() {
        let dir = TempDir::new();
        let path = dir.path().join("pass");
        let text = "# of a friend\nother:5432:db:me:wrong\nhost:*:d\\:b:me:colon\nhost:5433:*:me:a\\\\b:c\n";
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let password = |start: &str| {
            let (config, _) = parse(&format!("{start}?passfile={}", path.display())).ok()?;
            config.get_password().map(|password| String::from_utf8_lossy(password).into_owned())
        };
        assert_eq!(password("postgres://me@host:5433/db").as_deref(), Some("a\\b:c"));
        assert_eq!(password("postgres://me@host/d%3Ab").as_deref(), Some("colon"));
        assert_eq!(password("postgres://me:given@host/none").as_deref(), Some("given"));
        assert_eq!(password("postgres://you@host:5433/db"), None);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        check_refused(&format!("postgres://me@host:5433/db?passfile={}", path.display()), "chmod 600");
    }
}

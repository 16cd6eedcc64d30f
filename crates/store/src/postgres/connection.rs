//! Connecting to the database within bounded time, encrypted as its address says.

use super::address;
use super::host_addresses::with_addresses;
use super::session::Session;
use super::statement_error::store_error;
use super::tls::{SslMode, TlsConfig};
use crate::contract::StoreError;
use ::postgres::error::SqlState;
use ::postgres::{Client, Config};
use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A peer that answers nothing for so long is gone.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(10);
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(3);
const KEEPALIVE_RETRIES: u32 = 3;

/// Limits of one session; durability, in case it was turned off for the whole server; and plans.
///
/// A plan that is kept from when a table was empty scans it from end to end while it fills, until the database analyses
/// it. So none is kept, neither of a statement nor of a check of references: each is made for the tables as they are.
/// Transactions that append are the exception (`Session::begin`, docs/decisions/0041).
///
/// Every statement about a table that grows is the beginning of a range of an index. What PostgreSQL assumes of disks, that a page found by an
/// index costs four pages of a table in its order, makes it sort a whole table for a page of a ranking instead.
pub(crate) const SETTINGS: &str = "
    SET statement_timeout = '30s';
    SET lock_timeout = '10s';
    SET idle_in_transaction_session_timeout = '10s';
    SET client_min_messages = warning;
    SET plan_cache_mode = force_custom_plan;
    SET random_page_cost = 1.1;
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') IN ('off', 'local');";

/// How connections are made.
#[derive(Clone)]
pub(super) struct Connector {
    config: Config,
    tls: TlsConfig,
    /// Whether the newest connection is encrypted.
    is_encrypted: Arc<AtomicBool>,
}

impl Connector {
    pub(super) fn new(address: &str) -> Result<Self, StoreError> {
        let (mut config, tls) = address::parse(address)?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("gauntlet");
        }
        config.tcp_user_timeout(TCP_USER_TIMEOUT).keepalives(true).keepalives_idle(KEEPALIVE_IDLE);
        config.keepalives_interval(KEEPALIVE_INTERVAL).keepalives_retries(KEEPALIVE_RETRIES);
        Ok(Self { config, tls, is_encrypted: Arc::default() })
    }

    pub(super) fn open(&self) -> Result<Session, StoreError> {
        let mut session = Session::new(self.connect()?);
        session.script(SETTINGS)?;
        Ok(session)
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.is_encrypted.load(Relaxed)
    }

    /// The hosts of other machines, if the newest connection is in plain text.
    pub(super) fn plain_text_hosts(&self) -> Vec<String> {
        if self.is_encrypted() { Vec::new() } else { address::remote_hosts(&self.config) }
    }

    fn connect(&self) -> Result<Client, StoreError> {
        let (connector, verifier) = self.tls.connector()?;
        let mut config = with_addresses(&self.config, names::look_up_blocking)?;
        let connected = config.connect(connector.clone());
        let handshake = verifier.handshake();
        self.is_encrypted.store(handshake.has_begun, Relaxed);
        let error = match connected {
            Ok(client) => return Ok(client),
            Err(error) => error,
        };
        // As libpq does: a server whose TLS is too old, or which lets this client in without TLS alone, is no worse off than one without.
        if self.tls.mode() == SslMode::Prefer && (handshake.has_begun || is_tls_failure(&error)) && may_retry(&error) {
            self.is_encrypted.store(false, Relaxed);
            config.ssl_mode(::postgres::config::SslMode::Disable);
            return config.connect(connector).map_err(|error| store_error(&error));
        }
        Err(match handshake.refusal {
            Some(why) => StoreError::Unavailable { why },
            None if is_without_tls(&error) => StoreError::Unavailable { why: WITHOUT_TLS.to_owned() },
            None => store_error(&error),
        })
    }
}

const WITHOUT_TLS: &str = "the database's server speaks no TLS, which sslmode in its address requires: turn it on there (ssl = on), or use \
    sslmode=prefer where nobody else is in the network";

/// A refusal that another connection could avoid: any but that of a user, a password or a database.
fn may_retry(error: &::postgres::Error) -> bool {
    error.code().is_none_or(|code| *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
}

// The library has no code for these.
fn is_tls_failure(error: &::postgres::Error) -> bool {
    error.to_string().starts_with("error performing TLS handshake")
}

fn is_without_tls(error: &::postgres::Error) -> bool {
    is_tls_failure(error) && error.source().is_some_and(|cause| cause.to_string() == "server does not support TLS")
}

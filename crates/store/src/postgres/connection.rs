//! Connecting to the database within bounded time. Connections are not encrypted: database and nodes share a private
//! network.

use super::session::Session;
use crate::contract::StoreError;
use ::postgres::{Config, NoTls};
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

pub(super) fn configured(address: &str) -> Result<Config, StoreError> {
    let mut config: Config = address.parse().map_err(|_| StoreError::Unavailable {
        why: "the database's address cannot be read; expected postgres://user:password@host:port/name".to_owned(),
    })?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_application_name().is_none() {
        config.application_name("gauntlet");
    }
    config.tcp_user_timeout(TCP_USER_TIMEOUT).keepalives(true).keepalives_idle(KEEPALIVE_IDLE);
    config.keepalives_interval(KEEPALIVE_INTERVAL).keepalives_retries(KEEPALIVE_RETRIES);
    Ok(config)
}

pub(super) fn open(config: &Config) -> Result<Session, StoreError> {
    let client = config.connect(NoTls).map_err(|error| super::statement_error::store_error(&error))?;
    let mut session = Session::new(client);
    session.script(SETTINGS)?;
    Ok(session)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_cannot_be_read_is_not_repeated() {
        let Err(error) = configured("postgres://me:secret@host:notaport/db") else { panic!("it was taken") };
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

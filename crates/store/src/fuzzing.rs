//! What the fuzzer reads with parsers that are private otherwise (`crates/fuzz`). Nothing else uses it.

use crate::archives::{compressed, decode_rows};
use crate::contract::StoreError;
use crate::postgres::without_files;
use engine::ids::MatchId;
use engine::rows::MatchLogRow;
use std::borrow::Cow;

/// The log in a stored archive that has so many entries.
///
/// # Errors
/// It is not one.
pub fn read_archive(stored: &[u8], version: u32) -> Result<Vec<MatchLogRow>, StoreError> {
    decode_rows(MatchId(7), stored, version, 0, usize::MAX)
}

/// A packed archive as it is stored.
///
/// # Errors
/// It cannot be compressed.
pub fn compress(archive: &[u8]) -> Result<Vec<u8>, StoreError> {
    compressed(archive).map(Cow::into_owned)
}

/// The password of a database's address, and what of it may be shown; `None` where there is none. No file that it names is read.
///
/// # Errors
/// It is not an address.
pub fn read_address(address: &str) -> Result<Option<DatabasePassword>, StoreError> {
    let config = without_files(address)?;
    let hosts = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let others = format!("{:?} {:?} {hosts:?}", config.get_user(), config.get_dbname());
    let password = config.get_password().map(|password| String::from_utf8_lossy(password).into_owned());
    Ok(password.map(|password| DatabasePassword { password, others }))
}

/// What an address holds.
#[derive(Debug)]
pub struct DatabasePassword {
    pub password: String,
    /// Everything else that its text may hold: user, hosts, ports, name of the database.
    pub others: String,
}

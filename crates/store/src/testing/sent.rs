//! Which statements this process has sent to PostgreSQL so far, and from where: for tests that look at every one of them.

use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

/// What a session of the store sets before it sends anything else.
pub const SETTINGS: &str = crate::postgres::SETTINGS;

static SENT: Mutex<BTreeMap<String, Vec<&'static Location<'static>>>> = Mutex::new(BTreeMap::new());

/// Every statement and the places in the source that send it.
#[must_use]
pub fn statements() -> BTreeMap<String, Vec<&'static Location<'static>>> {
    SENT.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[track_caller]
pub(crate) fn note(sql: &str) {
    let place = Location::caller();
    let mut sent = SENT.lock().unwrap_or_else(PoisonError::into_inner);
    match sent.get_mut(sql) {
        Some(places) if places.contains(&place) => {}
        Some(places) => places.push(place),
        None => drop(sent.insert(sql.to_owned(), vec![place])),
    }
}

//! Which statements this process has sent to PostgreSQL so far, and from which source line: for tests that inspect all
//! of them.

use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

/// What a session of the store sets before it sends anything else.
pub const SETTINGS: &str = crate::postgres::SETTINGS;
/// How it begins a transaction, and one in which it keeps the plans of [`KEPT`].
pub const BEGIN: &str = crate::postgres::BEGIN;
/// See [`BEGIN`].
pub const BEGIN_WITH_PLANS: &str = crate::postgres::BEGIN_WITH_PLANS;
/// The statements whose plans are kept.
pub const KEPT: [&str; 4] = crate::postgres::KEPT;

static SENT: Mutex<BTreeMap<String, Vec<&'static Location<'static>>>> = Mutex::new(BTreeMap::new());

/// Every statement and the places in the source that send it.
#[must_use]
pub fn statements() -> BTreeMap<String, Vec<&'static Location<'static>>> {
    SENT.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[track_caller]
pub(crate) fn record(sql: &str) {
    let place = Location::caller();
    let mut sent = SENT.lock().unwrap_or_else(PoisonError::into_inner);
    match sent.get_mut(sql) {
        Some(places) if places.contains(&place) => {}
        Some(places) => places.push(place),
        None => drop(sent.insert(sql.to_owned(), vec![place])),
    }
}

//! The keys of a worker's connections and running journeys. An index is reused, a key is not: a stale one finds nothing.

use slotmap::new_key_type;

new_key_type! {
    pub(crate) struct ConnectionKey;
    pub(crate) struct JourneyKey;
}

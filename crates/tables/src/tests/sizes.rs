//! Sizes of waits and idle tables: bounds that a careless field would break.

use super::super::owned_table::OwnedTable;
use super::super::waiters::Waiters;
use super::super::{FeedWait, owner_index};
use engine::ids::TableId;
use engine::time::UnixMs;
use std::mem::size_of;

#[test]
fn what_is_kept_per_wait_and_table_is_small() {
    let (wait, slot, owned) = (size_of::<FeedWait>(), Waiters::slot_bytes(), size_of::<OwnedTable>());
    assert!(wait <= 24, "a wait: {wait}");
    assert!(slot <= 112, "a slot of the waiters: {slot}");
    assert!(owned <= 256, "a table without its state: {owned}");
}

#[test]
fn tables_are_spread_over_the_owner_tasks() {
    let mut tables = [0; 3];
    for at in 0..3_000u32 {
        let mut random = [0; 10];
        random[6..].copy_from_slice(&at.wrapping_mul(0x9e37_79b9).to_be_bytes());
        tables[owner_index(TableId::new(UnixMs(1), random), 3)] += 1;
    }
    assert!(tables.iter().all(|count| *count > 900), "{tables:?}");
}

//! What a waiting table costs in memory: most tables are one player who waits for others, and there are very many of them.

use super::super::*;
use super::TableFixture;
use entry::LoggedEntry;
use feed::FeedEntry;
use game::{Game, Player};
use people::{Newcomer, Person};

/// The greatest part of a table that waits for others, in bytes, its heap included.
const WAITING_BYTES_MAX: usize = 992;

/// Every block that such a table holds; an allocator rounds each up to 16 bytes.
#[test]
fn a_waiting_table_is_small() {
    let fixture = TableFixture::with_defaults();
    let name_bytes = "name of usual length".len();
    let blocks = [
        size_of::<Table>(),
        size_of::<Game>(),
        size_of::<Player>(),
        size_of::<Person>(),
        size_of::<FeedEntry>(),
        size_of::<Newcomer>(),
        name_bytes,
        name_bytes,
        fixture.rows[0].bytes.len() + name_bytes,
    ];
    let bytes: usize = blocks.iter().map(|bytes| bytes.next_multiple_of(16)).sum();
    assert!(bytes <= WAITING_BYTES_MAX, "{bytes} bytes: {blocks:?}");
    assert!(size_of::<LoggedEntry>() <= 80, "rare entries with much in them belong into a box");
}

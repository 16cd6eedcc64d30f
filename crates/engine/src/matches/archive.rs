//! A finished match's log as one byte string: what a store compresses and keeps in one row.
//!
//! ```text
//! archive = format:u8=1 rows:varint ( turns:varint late_moves:varint bytes:varint entry*bytes )*rows
//! ```

use super::entry::{BadEntry, ByteReader, put_varint};
use crate::rows::LogRow;

const FORMAT: u8 = 1;

/// Packs a whole log, from version 0 on.
#[must_use]
pub fn pack(rows: &[LogRow]) -> Vec<u8> {
    let mut out = Vec::with_capacity(rows.iter().map(|row| row.bytes.len() + 6).sum::<usize>() + 6);
    out.push(FORMAT);
    put_varint(&mut out, rows.len() as u64);
    for row in rows {
        put_varint(&mut out, u64::from(row.turns));
        put_varint(&mut out, u64::from(row.late_moves));
        put_varint(&mut out, row.bytes.len() as u64);
        out.extend(&row.bytes);
    }
    out
}

/// The log of an archive.
///
/// # Errors
/// [`BadEntry`] when these bytes are not one.
pub fn unpack(archive: &[u8]) -> Result<Vec<LogRow>, BadEntry> {
    let mut from = ByteReader::new(archive);
    if from.take(1)? != [FORMAT] {
        return Err(BadEntry("an archive in another format than 1: by a newer version?"));
    }
    let count = from.varint()? as u32;
    let rows = (0..count).map(|version| unpack_row(&mut from, version)).collect::<Result<_, _>>()?;
    from.finish()?;
    Ok(rows)
}

fn unpack_row(from: &mut ByteReader<'_>, version: u32) -> Result<LogRow, BadEntry> {
    let turns = from.varint()? as u32;
    let late_moves = from.varint()? as u32;
    let length = from.varint()? as usize;
    Ok(LogRow { version, turns, late_moves, bytes: from.take(length)?.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_log_is_read_back(rows in prop::collection::vec((any::<u32>(), any::<u32>(), prop::collection::vec(any::<u8>(), 0..50)), 0..200)) {
            let rows: Vec<_> = rows.into_iter().enumerate()
                .map(|(at, (turns, late_moves, bytes))| LogRow { version: at as u32, turns, late_moves, bytes }).collect();
            prop_assert_eq!(unpack(&pack(&rows)), Ok(rows));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = unpack(&bytes);
        }
    }
}

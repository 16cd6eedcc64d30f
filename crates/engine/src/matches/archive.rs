//! A finished match's log as one byte string: what a store compresses and keeps in one row.
//!
//! ```text
//! archive = format:u8=1 rows:varint ( turns:varint late_moves:varint bytes:varint entry*bytes )*rows
//! ```

use super::entry::MatchLogRow;
use crate::pack::{ByteReader, DecodeError, Pack, put_counted, put_varint};

const FORMAT: u8 = 1;

/// Packs a whole log, from version 0 on.
#[must_use]
pub fn pack(rows: &[MatchLogRow]) -> Vec<u8> {
    let mut out = Vec::with_capacity(rows.iter().map(|row| row.bytes.len() + 6).sum::<usize>() + 6);
    out.push(FORMAT);
    put_varint(&mut out, rows.len() as u64);
    for row in rows {
        row.turns.put(&mut out);
        row.late_moves.put(&mut out);
        put_counted(&mut out, &row.bytes);
    }
    out
}

/// How many entries the log of an archive has, and those from version `from` on, at most `limit`. The others are passed over
/// without being copied.
///
/// # Errors
/// [`DecodeError`] when these bytes are not one.
pub fn unpack(archive: &[u8], from: u32, limit: usize) -> Result<(u32, Vec<MatchLogRow>), DecodeError> {
    let mut reader = ByteReader::of_format(FORMAT, archive)?;
    let count = u32::get(&mut reader)?;
    let wanted = from..from.saturating_add(u32::try_from(limit).unwrap_or(u32::MAX));
    let mut rows = Vec::new();
    for version in 0..count {
        let (turns, late_moves) = (u32::get(&mut reader)?, u32::get(&mut reader)?);
        let entry = reader.counted()?;
        if wanted.contains(&version) {
            rows.push(MatchLogRow { version, turns, late_moves, bytes: entry.to_vec() });
        }
    }
    reader.finish()?;
    Ok((count, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_log_is_read_back(rows in prop::collection::vec((any::<u32>(), any::<u32>(), prop::collection::vec(any::<u8>(), 0..50)), 0..200)) {
            let rows: Vec<_> = rows.into_iter().enumerate()
                .map(|(at, (turns, late_moves, bytes))| MatchLogRow { version: at as u32, turns, late_moves, bytes }).collect();
            prop_assert_eq!(unpack(&pack(&rows), 0, usize::MAX), Ok((rows.len() as u32, rows)));
        }

        #[test]
        fn a_page_of_a_log_is_read_alone(entries in 0u32..100, from in 0u32..120, limit in 0usize..120) {
            let rows: Vec<_> =
                (0..entries).map(|at| MatchLogRow { version: at, turns: at, late_moves: 0, bytes: vec![at as u8; 3] }).collect();
            let want: Vec<_> = rows.iter().skip(from as usize).take(limit).cloned().collect();
            prop_assert_eq!(unpack(&pack(&rows), from, limit), Ok((entries, want)));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = unpack(&bytes, 0, usize::MAX);
        }
    }
}

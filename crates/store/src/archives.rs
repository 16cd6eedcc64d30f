//! Compression of archives: zstd around what [`engine::matches::archive`] packs.
//!
//! The first byte of an archive shows its form: a packed one begins with its format byte, a compressed one with the
//! magic number of zstd. So [`crate::Store`] compresses on the caller's thread, a backend used alone compresses itself,
//! and nothing is compressed twice. A frame ends with the checksum of what is in it (RFC 8878, section 3.1.1), so that no
//! archive in which a bit was flipped is taken for a log. Archives of versions before have none, and are read as well.
//! Does not know what an entry means.

use crate::columns::match_archive;
use crate::contract::StoreError;
use engine::commands::Command;
use engine::ids::MatchId;
use engine::matches::archive;
use engine::rows::MatchLogRow;
use std::borrow::Cow;
use std::cell::RefCell;
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe;

/// The first bytes of every zstd frame (RFC 8878, section 3.1.1). A packed archive begins with 1, its format.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The level at which more work stopped to buy noticeably smaller archives of move logs.
const LEVEL: i32 = 3;
/// The largest archive that is unpacked: 5,000 turns of 16 seats, each with the longest shout, stay below. Anything that
/// claims to be larger was not written by us.
const UNPACKED_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Most that a block of a frame holds, and the fewest bytes that a block has (RFC 8878, sections 3.1.1.2 and 3.1.1.2.4): no frame holds
/// more than this for each of its bytes.
const BLOCK_BYTES_MAX: usize = 128 * 1024;
const BLOCK_BYTES_MIN: usize = 4;

const _: () = assert!(
    engine::limits::TURNS_MAX as usize * engine::limits::SEATS_MAX * (engine::limits::SHOUT_CHARS_MAX * 4 + 8)
        < UNPACKED_BYTES_MAX,
    "the longest match with the longest shouts can be read again"
);

thread_local! {
    // A zstd context is hundreds of kilobytes: made once a thread, not once a match.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// The archive as it is stored. Compressed already: unchanged.
pub(crate) fn compressed(archive: &[u8]) -> Result<Cow<'_, [u8]>, StoreError> {
    if archive.starts_with(&ZSTD_MAGIC) {
        return Ok(Cow::Borrowed(archive));
    }
    let compressed = COMPRESSOR.with_borrow_mut(|slot| {
        let compressor = match slot {
            Some(compressor) => compressor,
            None => {
                let mut compressor = Compressor::new(LEVEL)?;
                compressor.include_checksum(true)?;
                slot.insert(compressor)
            }
        };
        compressor.compress(archive)
    });
    compressed
        .map(Cow::Owned)
        .map_err(|error| StoreError::Corrupt { why: format!("an archive cannot be compressed: {error}") })
}

/// The log in a stored archive of match `id`, which must have `version` entries: those from `from` on, at most `limit`.
pub(crate) fn decode_rows(
    id: MatchId,
    stored: &[u8],
    version: u32,
    from: u32,
    limit: usize,
) -> Result<Vec<MatchLogRow>, StoreError> {
    let corrupt = |why: String| StoreError::from(match_archive(id).damage(why));
    let packed = if stored.starts_with(&ZSTD_MAGIC) {
        Cow::Owned(decompressed(stored).map_err(corrupt)?)
    } else {
        Cow::Borrowed(stored)
    };
    let (count, rows) = archive::unpack(&packed, from, limit).map_err(|error| corrupt(error.to_string()))?;
    if count == version {
        Ok(rows)
    } else {
        Err(corrupt(format!("it has {count} entries where its match has {version}")))
    }
}

fn decompressed(stored: &[u8]) -> Result<Vec<u8>, String> {
    let Ok(Some(size)) = zstd_safe::get_frame_content_size(stored) else {
        return Err("it does not say how large it is".to_owned());
    };
    let size = usize::try_from(size).ok().filter(|size| *size <= UNPACKED_BYTES_MAX);
    let size = size.ok_or_else(|| format!("it says that it is larger than {UNPACKED_BYTES_MAX} bytes"))?;
    // The room is taken before the first block is read: what a frame only announces is not believed.
    if size > (stored.len() / BLOCK_BYTES_MIN).saturating_mul(BLOCK_BYTES_MAX) {
        return Err(format!("it says that it holds {size} bytes, more than {} bytes can hold", stored.len()));
    }
    let unpacked = DECOMPRESSOR.with_borrow_mut(|slot| {
        let decompressor = match slot {
            Some(decompressor) => decompressor,
            None => slot.insert(Decompressor::new()?),
        };
        decompressor.decompress(stored, size)
    });
    unpacked.map_err(|error| error.to_string())
}

/// Does the costly part of a command before it waits for the writer.
pub(crate) fn compress_archive(command: &mut Command) -> Result<(), StoreError> {
    if let Command::FinishMatch { archive, .. } = command
        && let Cow::Owned(compressed) = compressed(archive)?
    {
        *archive = compressed;
    }
    Ok(())
}

/// How many bytes [`prepare`] would have to compress.
pub(crate) fn bytes_to_compress(command: &Command) -> usize {
    match command {
        Command::FinishMatch { archive, .. } if !archive.starts_with(&ZSTD_MAGIC) => archive.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: MatchId = MatchId(7);

    fn log(entries: u32) -> Vec<MatchLogRow> {
        (0..entries).map(|version| MatchLogRow { version, turns: version, late_moves: 0, bytes: vec![7; 40] }).collect()
    }

    #[test]
    fn a_log_comes_back_whether_compressed_or_not() {
        let packed = archive::pack(&log(100));
        let compressed = compressed(&packed).unwrap().into_owned();
        assert!(compressed.len() < packed.len() / 4, "{} of {}", compressed.len(), packed.len());
        assert_eq!(decode_rows(ID, &compressed, 100, 0, usize::MAX), Ok(log(100)));
        assert_eq!(decode_rows(ID, &packed, 100, 0, usize::MAX), Ok(log(100)));
        assert_eq!(decode_rows(ID, &compressed, 100, 90, 5), Ok(log(95).split_off(90)));
    }

    #[test]
    fn nothing_is_compressed_twice() {
        let once = compressed(&archive::pack(&log(3))).unwrap().into_owned();
        assert!(matches!(compressed(&once), Ok(Cow::Borrowed(_))));
    }

    #[test]
    fn no_flipped_bit_changes_a_log() {
        let mut whole = compressed(&archive::pack(&log(40))).unwrap().into_owned();
        for bit in 0..whole.len() * 8 {
            whole[bit / 8] ^= 1 << (bit % 8);
            if let Ok(rows) = decode_rows(ID, &whole, 40, 0, usize::MAX) {
                assert_eq!(rows, log(40), "bit {bit}");
            }
            whole[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn archives_without_a_checksum_are_read() {
        let frame = zstd::bulk::compress(&archive::pack(&log(9)), LEVEL).unwrap();
        assert_eq!(decode_rows(ID, &frame, 9, 0, usize::MAX), Ok(log(9)));
    }

    #[track_caller]
    fn check_refused(stored: &[u8], version: u32, want: &str) {
        let error = decode_rows(ID, stored, version, 0, usize::MAX).unwrap_err().to_string();
        assert!(error.contains(want), "{error:?} does not say {want:?}");
    }

    #[test]
    fn damaged_archives_are_refused() {
        let whole = compressed(&archive::pack(&log(3))).unwrap().into_owned();
        check_refused(&whole, 4, "it has 3 entries where its match has 4");
        check_refused(&whole[..whole.len() - 1], 3, "the archive of match");
        check_refused(&whole[..5], 3, "how large");
        check_refused(b"", 0, "ends too early");
        // A frame header that announces 1 TiB: descriptor with an 8-byte content size, single segment.
        let mut bomb = ZSTD_MAGIC.to_vec();
        bomb.push(0b1110_0000);
        bomb.extend((1u64 << 40).to_le_bytes());
        check_refused(&bomb, 3, "larger than");
        // The same of 100 MiB, with blocks for none of them.
        bomb.truncate(ZSTD_MAGIC.len() + 1);
        bomb.extend((100u64 << 20).to_le_bytes());
        bomb.extend([0; 8]);
        check_refused(&bomb, 3, "more than 21 bytes can hold");
    }
}

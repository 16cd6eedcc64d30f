//! What the checksum of stored bytes costs, beside encoding and compressing the same: `cargo run --release -p store --example checksums`.

use engine::matches::archive;
use engine::rows::MatchLogRow;
use std::hint::black_box;
use std::time::{Duration, Instant};
use store::checksums::{StoredKey, StoredKind};

/// Entries of a log, and bytes of each: a turn of four snakes.
const ENTRIES: u32 = 300;
const ENTRY_BYTES: usize = 100;
const FOR: Duration = Duration::from_millis(300);

/// Nanoseconds that one run takes on average.
fn time(mut run: impl FnMut()) -> f64 {
    let (began, mut runs) = (Instant::now(), 0u32);
    while began.elapsed() < FOR {
        run();
        runs += 1;
    }
    began.elapsed().as_secs_f64() * 1e9 / f64::from(runs)
}

/// Bytes that are no easier to compress than a log's: a third of them differ from turn to turn.
fn log() -> Vec<MatchLogRow> {
    let mut state = 7u32;
    let mut byte = |at: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if at.is_multiple_of(3) { (state >> 24) as u8 } else { at as u8 }
    };
    let mut row = |version| MatchLogRow {
        version,
        turns: version,
        late_moves: 0,
        bytes: (0..ENTRY_BYTES).map(&mut byte).collect(),
    };
    (0..ENTRIES).map(&mut row).collect()
}

fn main() {
    let rows = log();
    let key = StoredKey::new(StoredKind::MatchEntry, [7; 16]);
    let mut version = 0;
    let of_entry = time(|| {
        version = (version + 1) % ENTRIES;
        let row = &rows[version as usize];
        black_box(key.number(row.version.into()).checksum(black_box(&row.bytes)));
    });
    println!("an entry of {ENTRY_BYTES} bytes: {of_entry:.0} ns");
    let packed = archive::pack(&rows);
    let kib = packed.len() as f64 / 1024.0;
    let mut compressor = zstd::bulk::Compressor::new(3).expect("zstd has this level");
    let compressed = compressor.compress(&packed).expect("it can be compressed");
    for (what, took) in [
        ("pack", time(|| drop(black_box(archive::pack(black_box(&rows)))))),
        ("compress", time(|| drop(black_box(compressor.compress(black_box(&packed)))))),
        ("checksum the packed", time(|| _ = black_box(key.checksum(black_box(&packed))))),
        ("checksum the compressed", time(|| _ = black_box(key.checksum(black_box(&compressed))))),
    ] {
        println!(
            "{what}, an archive of {ENTRIES} entries ({} B, {} B compressed): {:.0} ns, {:.1} ns a KiB of the log",
            packed.len(),
            compressed.len(),
            took,
            took / kib
        );
    }
}

use super::*;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
/// What the kept corpus may come to, in bytes.
const CORPUS_BYTES_MAX: u64 = 200 * 1024;

/// The kept files of a target: its name is the name of their folder.
fn kept(target: &Target) -> Vec<Vec<u8>> {
    let Ok(files) = fs::read_dir(Path::new(CORPUS).join(target.name)) else { return Vec::new() };
    files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
}

#[test]
fn everything_that_was_kept_holds() {
    for target in TARGETS {
        for bytes in (target.seeds)().into_iter().chain(kept(target)) {
            target.run(&bytes);
            // Cut off, and with one bit changed: what every reader must refuse or take.
            for at in 0..bytes.len().min(256) {
                target.run(&bytes[..at]);
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                target.run(&flipped);
            }
        }
        target.run(&[]);
    }
}

#[test]
fn the_corpus_is_of_targets_and_small() {
    let (mut bytes, mut folders) = (0, BTreeSet::new());
    for folder in fs::read_dir(CORPUS).unwrap() {
        let folder = folder.unwrap();
        folders.insert(folder.file_name().into_string().unwrap());
        bytes += fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum::<u64>();
    }
    let names: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    let unknown: Vec<_> = folders.difference(&names).collect();
    assert!(unknown.is_empty(), "folders of no target: {unknown:?}");
    assert!(bytes <= CORPUS_BYTES_MAX, "{bytes} bytes are kept, at most {CORPUS_BYTES_MAX} may be");
}

#[test]
fn names_are_unique() {
    let names: Vec<_> = TARGETS.iter().chain(PLANTED).map(|target| target.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
}

#[test]
fn pieces_are_the_whole() {
    for pattern in 0..=255 {
        let input: Vec<u8> = std::iter::once(pattern).chain(0..100).collect();
        let pieces = Pieces::of(&input).unwrap();
        assert_eq!(pieces.cut().collect::<Vec<_>>().concat(), pieces.whole);
    }
}

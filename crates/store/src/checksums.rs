//! Checksums beside whatever is kept as opaque bytes, so that a bit which flipped on a disk is found and not taken for what was written.
//! A checksum covers what the bytes are and whose they are, too: bytes that got into another row are found as well. Rows of programs from
//! before checksums have none, and are read as they are (docs/decisions/0086). Plain columns have none: a row of which one cannot be read
//! is damaged as well.

use engine::ids::MatchId;
use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::sync::{Mutex, PoisonError};

/// What bytes are: the value of the label `kind`, and the words for it.
macro_rules! stored_kinds {
    ($($(#[$doc:meta])* $code:literal => $kind:ident, $name:literal, $text:literal;)+) => {
        /// What is kept as opaque bytes, and rows that have none.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum StoredKind { $($(#[$doc])* $kind = $code),+ }

        impl StoredKind {
            pub const ALL: [Self; [$($code),+].len()] = [$(Self::$kind),+];

            /// As metrics and reports name it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name),+ }
            }

            /// Before a key, in a sentence.
            const fn text(self) -> &'static str {
                match self { $(Self::$kind => $text),+ }
            }
        }
    };
}

// The codes are part of what a checksum covers: none is changed or used again.
stored_kinds! {
    1 => MatchEntry, "match_log", "the log of match";
    2 => MatchArchive, "match_archive", "the archive of match";
    3 => TableEntry, "table_log", "the log of table";
    4 => TableSnapshot, "table_snapshot", "the snapshot of table";
    5 => GameRecord, "game_record", "the record of a game of table";
    /// The settings; and a row of which another column cannot be read.
    6 => World, "world", "the row of world";
    7 => WorldEntry, "world_log", "the log of world";
    8 => WorldSnapshot, "world_snapshot", "the snapshot of world";
    9 => Competition, "competition", "the definition of competition";
    10 => CompetitionEntry, "competition_log", "the log of competition";
    11 => CompetitionResult, "competition_result", "a result of competition";
    12 => LadderEntry, "ladder_entry", "a ladder's record of bot";
    13 => BotHealth, "bot_health", "the evidence about bot";
    14 => BotCalls, "bot_calls", "the counted calls of bot";
    15 => Response, "response", "the answer remembered for";
    16 => Secret, "secret", "the secret";
    17 => Match, "match", "the row of match";
    18 => Account, "account", "the row of account";
    19 => Token, "token", "the row of token";
    20 => Bot, "bot", "the row of bot";
    21 => Code, "code", "the row of code";
    22 => Ban, "ban", "the row of ban";
    23 => AuditEntry, "audit_entry", "the entry of the audit log";
    24 => Game, "game", "the row of a game of table";
    25 => Player, "player", "what is counted of player";
    26 => Lease, "lease", "the lease of worker";
    27 => LimitRule, "limit_rule", "a rule of the rate limiter, of policy";
}

/// Bytes that are not what was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Damage {
    pub kind: StoredKind,
    /// Whose bytes, and which of them: `ID`, `ID, number 7`.
    pub key: String,
    /// For operators.
    pub why: String,
}

impl Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.kind.text(), self.key, self.why)
    }
}

/// What bytes are and whose they are.
#[derive(Clone, Copy, Debug)]
pub struct StoredKey<'a> {
    kind: StoredKind,
    id: [u8; 16],
    number: Option<u64>,
    name: &'a str,
}

impl<'a> StoredKey<'a> {
    #[must_use]
    pub const fn new(kind: StoredKind, id: [u8; 16]) -> Self {
        Self { kind, id, number: None, name: "" }
    }

    /// One of several of the same id.
    #[must_use]
    pub const fn number(self, number: u64) -> Self {
        Self { number: Some(number), ..self }
    }

    /// The one of this name.
    #[must_use]
    pub const fn name(self, name: &'a str) -> Self {
        Self { name, ..self }
    }

    /// The checksum of these bytes as a store keeps it: CRC-32, which misses no flipped bit, and no damage within 32 bits of each other.
    #[must_use]
    pub fn checksum(&self, bytes: &[u8]) -> i64 {
        let mut crc = crc32fast::Hasher::new();
        let mut head = [0; 25];
        head[0] = self.kind as u8;
        head[1..17].copy_from_slice(&self.id);
        head[17..].copy_from_slice(&self.number.unwrap_or_default().to_le_bytes());
        crc.update(&head);
        crc.update(self.name.as_bytes());
        crc.update(bytes);
        i64::from(crc.finalize())
    }

    /// # Errors
    /// The bytes are not those of the checksum.
    pub(crate) fn check(&self, bytes: &[u8], checksum: Option<i64>) -> Result<(), Damage> {
        match checksum {
            Some(checksum) if checksum != self.checksum(bytes) => Err(self.damage("its checksum does not match")),
            Some(_) | None => Ok(()),
        }
    }

    pub(crate) fn damage(&self, why: impl Display) -> Damage {
        // All ids are written alike.
        let id = (self.id != [0; 16]).then(|| MatchId::from_bytes(self.id).to_string());
        let number = self.number.map(|number| format!("number {number}"));
        let name = Some(self.name).filter(|name| !name.is_empty()).map(str::to_owned);
        let key: Vec<String> = id.into_iter().chain(number).chain(name).collect();
        Damage { kind: self.kind, key: key.join(", "), why: why.to_string() }
    }
}

/// What became of checking all checksums of a store.
#[derive(Debug, Default)]
pub struct ChecksumReport {
    pub rows: u64,
    /// Rows without a checksum: a program of the version before wrote them.
    pub without_checksum: u64,
    /// At most [`ChecksumReport::COUNTED_MAX`].
    pub damaged: u64,
    /// The first of them, at most [`ChecksumReport::SHOWN_MAX`].
    pub shown: Vec<Damage>,
    known: KnownDamage,
}

impl ChecksumReport {
    pub const SHOWN_MAX: usize = 100;
    pub const COUNTED_MAX: u64 = KNOWN_MAX as u64;

    pub(crate) fn add(&mut self, damage: Damage) {
        // Some rows are read twice: for their checksum, and for what their columns say.
        if !self.known.is_new(&damage) {
            return;
        }
        self.damaged += 1;
        if self.shown.len() < Self::SHOWN_MAX {
            self.shown.push(damage);
        }
    }
}

/// Damage that a process has met: each is told once, however often it is read.
#[derive(Debug, Default)]
pub(crate) struct KnownDamage {
    keys: Mutex<BTreeSet<(StoredKind, String)>>,
}

/// Most that are remembered. A store with more is lost, and was told to be so often enough.
const KNOWN_MAX: usize = 10_000;

impl KnownDamage {
    /// Whether it was not known, and is from now on.
    pub(crate) fn is_new(&self, damage: &Damage) -> bool {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.len() < KNOWN_MAX && keys.insert((damage.kind, damage.key.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: StoredKey<'static> = StoredKey::new(StoredKind::MatchEntry, [7; 16]).number(3);

    #[test]
    fn every_flipped_bit_is_found() {
        let bytes: Vec<u8> = (0..97).collect();
        let checksum = KEY.checksum(&bytes);
        assert_eq!(KEY.check(&bytes, Some(checksum)), Ok(()));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(KEY.check(&flipped, Some(checksum)).is_err(), "bit {bit}");
        }
        for bit in 0..64 {
            assert!(KEY.check(&bytes, Some(checksum ^ (1 << bit))).is_err(), "bit {bit} of the checksum");
        }
    }

    #[track_caller]
    fn check_bound(other: StoredKey<'_>) {
        assert_ne!(KEY.checksum(b"bytes"), other.checksum(b"bytes"), "{other:?}");
    }

    #[test]
    fn bytes_are_bound_to_their_row() {
        check_bound(StoredKey::new(StoredKind::TableEntry, [7; 16]).number(3));
        check_bound(StoredKey::new(StoredKind::MatchEntry, [8; 16]).number(3));
        check_bound(KEY.number(4));
        check_bound(KEY.name("x"));
    }

    #[test]
    fn what_has_no_checksum_is_read() {
        assert_eq!(KEY.check(b"anything", None), Ok(()));
    }

    #[test]
    fn damage_says_what_and_whose() {
        let damage = KEY.check(b"anything", Some(1)).unwrap_err().to_string();
        assert_eq!(
            damage,
            "the log of match 07070707-0707-0707-0707-070707070707, number 3: its checksum does not match"
        );
        let secret = StoredKey::new(StoredKind::Secret, [0; 16]).name("guests").damage("so it is");
        assert_eq!(secret.to_string(), "the secret guests: so it is");
    }

    #[test]
    fn damage_is_told_once() {
        let known = KnownDamage::default();
        let damages = [KEY, KEY, KEY.number(4)].map(|key| known.is_new(&key.damage("why")));
        assert_eq!(damages, [true, false, true]);
    }
}

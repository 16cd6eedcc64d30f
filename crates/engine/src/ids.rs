//! Ids: 128 bits in the RFC 9562 layout, one newtype for each kind, so that a bot's id cannot be passed for a match's.
//!
//! New ids are version 7 (time-ordered): a table keyed by id grows at its end, and ids sort by age. The caller supplies
//! time and randomness; nothing here reads a clock or a random source.

mod world_name;

pub use world_name::{ParseWorldNameError, WorldName};

use crate::time::UnixMs;
use std::fmt;
use std::str::FromStr;
use uuid::fmt::Hyphenated;
use uuid::{Builder, Uuid};

/// A text that is not an id in the form `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not an id: expected 32 hexadecimal digits in the form 8-4-4-4-12, such as 0190b5a4-7c1e-7000-8000-000000000001"
)]
pub struct ParseIdError;

/// Of the other forms that ids are written in, none is taken.
fn parse_hyphenated(text: &str) -> Result<u128, ParseIdError> {
    let id = if text.len() == Hyphenated::LENGTH { Uuid::try_parse(text).ok() } else { None };
    id.map(|id| id.as_u128()).ok_or(ParseIdError)
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u128);

        impl $name {
            /// A new id, ordered by `now`; `random` must come from the operating system's generator.
            #[must_use]
            pub fn new(now: UnixMs, random: [u8; 10]) -> Self {
                let ms = u64::try_from(now.0).unwrap_or(0);
                Self(Builder::from_unix_timestamp_millis(ms, &random).into_uuid().as_u128())
            }

            /// When it was made: the time that a version 7 id carries.
            #[must_use]
            pub fn created_at(self) -> UnixMs {
                UnixMs((self.0 >> 80) as i64)
            }

            /// The 16 bytes in network order, as the stores keep them: they sort as the ids do.
            #[must_use]
            pub fn to_bytes(self) -> [u8; 16] {
                self.0.to_be_bytes()
            }

            /// The id of 16 bytes in network order.
            #[must_use]
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(u128::from_be_bytes(bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&Uuid::from_u128(self.0), f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&Uuid::from_u128(self.0), f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;
            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                parse_hyphenated(text).map(Self)
            }
        }
    };
}

id! {
    MatchId
}
id! {
    /// A registered bot ("snake" in the API).
    BotId
}
id! {
    /// An account: owns bots, tokens and a fair share of the queue.
    AccountId
}
id! {
    /// A bearer token (not its secret).
    TokenId
}
id! {
    /// An invitation or a sign-in link (not its code).
    CodeId
}
id! {
    /// A ban of an account, a guest or an address.
    BanId
}
id! {
    /// An entry of the audit log. Ids sort by time, and so does the log.
    AuditId
}
id! {
    /// One life of one runner: a process that starts again is another worker.
    WorkerId
}

id! {
    /// A player at tables. A signed-in player has the number of the account, a guest one of its own.
    PlayerId
}
id! {
    /// A table: who sits there, what is played there, one game after the other.
    TableId
}
id! {
    /// A world: a grid with movers, and perhaps a hunt.
    WorldId
}
id! {
    /// A ticket of a party that waits to be matched.
    TicketId
}
id! {
    /// A ladder, a tournament or a duel.
    CompetitionId
}

id! {
    /// An entry of a bot on a ladder.
    EntryId
}

impl From<AccountId> for PlayerId {
    fn from(account: AccountId) -> Self {
        Self(account.0)
    }
}

/// The id of a game contains that of its table, so the table can be found from the game.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GameId {
    /// Where it is played.
    pub table: TableId,
    /// Which of the table's games.
    pub number: u32,
}

/// A text that is not the id of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not the id of a game: expected the id of its table, a hyphen and a decimal number without leading zeros, such as \
     0190b5a4-7c1e-7000-8000-000000000001-1"
)]
pub struct ParseGameIdError;

/// A decimal number as we write it: digits, no sign, no leading zeros.
fn parse_decimal<T: FromStr>(text: &str) -> Option<T> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if is_plain { text.parse().ok() } else { None }
}

impl fmt::Display for GameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.table, self.number)
    }
}

impl fmt::Debug for GameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for GameId {
    type Err = ParseGameIdError;
    fn from_str(text: &str) -> Result<Self, ParseGameIdError> {
        let (table, rest) = text.split_at_checked(Hyphenated::LENGTH).ok_or(ParseGameIdError)?;
        let table = table.parse().map_err(|_| ParseGameIdError)?;
        let number = rest.strip_prefix('-').and_then(parse_decimal).ok_or(ParseGameIdError)?;
        Ok(Self { table, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: Result<u128, ParseIdError>) {
        assert_eq!(text.parse::<MatchId>().map(|id| id.0), want, "{text}");
    }

    #[test]
    fn ids_are_read_strictly() {
        check("00000000-0000-0000-0000-00000000000a", Ok(10));
        check("0190B5A4-7c1e-7000-8000-000000000001", Ok(0x0190b5a47c1e70008000000000000001));
        check("", Err(ParseIdError));
        check("0190b5a47c1e70008000000000000001", Err(ParseIdError));
        check("{0190b5a4-7c1e-7000-8000-000000000001}", Err(ParseIdError));
        check("urn:uuid:0190b5a4-7c1e-7000-8000-000000000001", Err(ParseIdError));
        check("0190b5a4-7c1e-7000-8000-00000000000g", Err(ParseIdError));
        check("0190b5a4-7c1e-7000-8000-0000000000011", Err(ParseIdError));
        check("0190b5a4-7c1e-7000-8000+000000000001", Err(ParseIdError));
        check("+190b5a4-7c1e-7000-8000-000000000001", Err(ParseIdError));
        check("é190b5a4-7c1e-7000-8000-00000000001", Err(ParseIdError));
    }

    #[track_caller]
    fn check_game(text: &str, want: Option<(u128, u32)>) {
        let read = text.parse::<GameId>();
        assert_eq!(read.ok().map(|id| (id.table.0, id.number)), want, "{text}");
        assert!(read.is_err() || read.is_ok_and(|id| id.to_string() == text.to_lowercase()), "{text}");
    }

    #[test]
    fn a_game_names_its_table() {
        check_game("00000000-0000-0000-0000-00000000000a-7", Some((10, 7)));
        check_game("00000000-0000-0000-0000-00000000000A-0", Some((10, 0)));
        check_game("00000000-0000-0000-0000-00000000000a-4294967295", Some((10, u32::MAX)));
        check_game("00000000-0000-0000-0000-00000000000a-4294967296", None);
        check_game("00000000-0000-0000-0000-00000000000a-07", None);
        check_game("00000000-0000-0000-0000-00000000000a-+7", None);
        check_game("00000000-0000-0000-0000-00000000000a--7", None);
        check_game("00000000-0000-0000-0000-00000000000a-", None);
        check_game("00000000-0000-0000-0000-00000000000a7", None);
        check_game("00000000-0000-0000-0000-00000000000a", None);
        check_game("00000000-0000-0000-0000-0000000000é0-7", None);
        check_game("00000000-0000-0000-0000-00000000000é-7", None);
        check_game("", None);
    }

    #[test]
    fn new_ids_are_version_7_and_sort_by_time() {
        let early = MatchId::new(UnixMs(1_700_000_000_000), [0xff; 10]);
        let late = MatchId::new(UnixMs(1_700_000_000_001), [0; 10]);
        assert!(early < late);
        assert_eq!(late.created_at(), UnixMs(1_700_000_000_001));
        assert_eq!(early.to_string(), "018bcfe5-6800-7fff-bfff-ffffffffffff");
        assert_eq!(early.to_string().parse(), Ok(early));
        assert_eq!(MatchId::from_bytes(late.to_bytes()), late);
    }
}

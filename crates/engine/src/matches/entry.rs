//! One entry of a match log, and its binary form.
//!
//! A match is its seed plus this log: what every bot answered, how fast, and with what shout, because later requests to bots
//! contain all of that. The form is versioned by its first byte, canonical (one entry, one byte string) and checked when read.
//!
//! ```text
//! entry     = format:u8=1 kind:u8 ( opened | delivered | turn )
//! opened    = rules_version:u16le seats:u8 ( color:text head:text tail:text )*seats
//! delivered = notice:u8 seat:u8 class:u8 latency_ms:u16le
//! turn      = turn:varint seats:u8 ( 0xff | tag:u8 latency_ms:u16le [shout:text] [response] )*seats state_hash:u32le
//! tag       = move(2 bits) | class(4 bits) << 2 | has_shout << 6 | has_response << 7
//! response  = status:u16le excerpt:text
//! text      = bytes:varint utf8*bytes
//! ```

use super::response_excerpt::ResponseExcerpt;
use crate::limits::SEATS_MAX;
use crate::pack::{
    ByteReader, DecodeError, Pack, decode_versioned, encode_versioned, packed, packed_as, packed_variants,
};
use rules::snake::Move;

const FORMAT: u8 = 1;
const KIND_OPENED: u8 = 1;
const KIND_DELIVERED: u8 = 2;
const KIND_TURN: u8 = 3;
const NOT_ASKED: u8 = 0xff;
const SHOUT_FLAG: u8 = 1 << 6;
const RESPONSE_FLAG: u8 = 1 << 7;

/// What a bot looks like on the board, as it answered when the match was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Face {
    /// `#RRGGBB`.
    pub color: String,
    /// Name of the head drawing.
    pub head: String,
    /// Name of the tail drawing.
    pub tail: String,
}
packed!(Face { color, head, tail });

impl Default for Face {
    /// The looks of a bot that named none: the webhook API's defaults.
    fn default() -> Self {
        Self { color: "#888888".to_owned(), head: "default".to_owned(), tail: "default".to_owned() }
    }
}

/// What kind of answer a call to a bot got. Everything but [`AnswerClass::Valid`] means that the bot's previous move counted again.
/// Everything but that and [`AnswerClass::ServerFault`] is the bot's own doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnswerClass {
    /// A valid answer, in time.
    Valid,
    /// No whole answer before the deadline, whatever was still missing: connection, head or body.
    Late,
    /// No connection, or one that broke.
    Unreachable,
    /// An answer that was not 200; redirects are not followed.
    BadStatus,
    /// An answer over the size limit.
    Oversized,
    /// Not HTTP, or not the expected JSON.
    Malformed,
    /// A move that does not exist.
    UnknownMove,
    /// The bot's URL leads to no address that this server may call: its name does not resolve, or to addresses that may not be called. One
    /// class for both, so that it says nothing about names and addresses inside the server's network.
    Forbidden,
    /// This server could not make the call, or was too slow itself: no file, port or memory was left, or its tasks did not run in time.
    ServerFault,
    /// The bot was not called: calls to it, or by its owner to its address, have gone without a valid move too often, and this server does
    /// not go on calling hosts that may not be bots.
    Throttled,
}

impl AnswerClass {
    /// Every class, in the order of its code in the log: codes are never reused.
    pub const ALL: [Self; 10] = [
        Self::Valid,
        Self::Late,
        Self::Unreachable,
        Self::BadStatus,
        Self::Oversized,
        Self::Malformed,
        Self::UnknownMove,
        Self::Forbidden,
        Self::ServerFault,
        Self::Throttled,
    ];

    /// The stable name: metrics labels and inspection use it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Late => "late",
            Self::Unreachable => "unreachable",
            Self::BadStatus => "bad_status",
            Self::Oversized => "oversized",
            Self::Malformed => "malformed",
            Self::UnknownMove => "unknown_move",
            Self::Forbidden => "forbidden",
            Self::ServerFault => "server_fault",
            Self::Throttled => "throttled",
        }
    }

    /// Whether this server could not call the bot, through no fault of the bot.
    #[must_use]
    pub fn is_server_fault(self) -> bool {
        match self {
            Self::Valid
            | Self::Late
            | Self::Unreachable
            | Self::BadStatus
            | Self::Oversized
            | Self::Malformed
            | Self::UnknownMove
            | Self::Forbidden
            | Self::Throttled => false,
            Self::ServerFault => true,
        }
    }

    fn from_code(code: u8) -> Result<Self, DecodeError> {
        Self::ALL.get(usize::from(code)).copied().ok_or(DecodeError("an unknown class of answer"))
    }
}
packed_as!(AnswerClass: u8, |class| *class as u8, Self::from_code);

/// The two calls that only inform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// POST /start
    Start,
    /// POST /end
    End,
}
packed_variants!(Notice { 0 => Start {}, 1 => End {} });

/// A seat's part in one turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayedMove {
    /// The move that counted: the bot's, or its previous one again.
    pub mv: Move,
    /// What kind of answer it was.
    pub class: AnswerClass,
    /// From sending to the end of the answer, in milliseconds, at most the timeout.
    pub latency_ms: u16,
    /// What the bot shouted; empty for nothing.
    pub shout: Box<str>,
    /// What it answered instead of a valid move, if that is kept.
    pub response: Option<Box<ResponseExcerpt>>,
}

/// One thing that happened in a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The match was opened: which rules it is played by, and what each seat looks like.
    Opened {
        /// [`rules::snake::RULES_VERSION`] at that time.
        rules_version: u16,
        /// By seat.
        faces: Vec<Face>,
    },
    /// A bot was notified of the start or the end; whatever it answered, it is not notified again.
    Delivered {
        notice: Notice,
        seat: u8,
        class: AnswerClass,
        /// In milliseconds.
        latency_ms: u16,
    },
    /// A turn was played.
    Turn {
        /// Its number, from 1: the board's turn after it.
        turn: u32,
        /// By seat; `None` for those that were out.
        played: Vec<Option<PlayedMove>>,
        /// Low half of [`rules::snake::state_hash`] of the board after it.
        state_hash: u32,
    },
}

/// One entry of a match log as it is stored: its version, the counters after it, its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchLogRow {
    /// Its place in the log, from 0, without gaps.
    pub version: u32,
    /// Turns played once this entry counts.
    pub turns: u32,
    /// Late moves so far once this entry counts.
    pub late_moves: u32,
    /// The entry, see [`Entry::encode`].
    pub bytes: Vec<u8>,
}

impl Entry {
    /// The entry's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode_versioned(FORMAT, self)
    }

    /// The entry of these bytes: all of them, and nothing but the canonical form.
    ///
    /// # Errors
    /// [`DecodeError`], saying what is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode_versioned(FORMAT, bytes)
    }
}

impl Pack for Entry {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Opened { rules_version, faces } => {
                out.push(KIND_OPENED);
                rules_version.to_le_bytes().put(out);
                out.push(faces.len() as u8);
                faces.iter().for_each(|face| face.put(out));
            }
            Self::Delivered { notice, seat, class, latency_ms } => {
                out.push(KIND_DELIVERED);
                notice.put(out);
                seat.put(out);
                class.put(out);
                latency_ms.to_le_bytes().put(out);
            }
            Self::Turn { turn, played, state_hash } => {
                out.push(KIND_TURN);
                turn.put(out);
                out.push(played.len() as u8);
                played.iter().for_each(|seat| put_played(seat.as_ref(), out));
                state_hash.to_le_bytes().put(out);
            }
        }
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        match u8::get(from)? {
            KIND_OPENED => Ok(Self::Opened { rules_version: get_u16(from)?, faces: get_by_seat(from, Face::get)? }),
            KIND_DELIVERED => Ok(Self::Delivered {
                notice: Pack::get(from)?,
                seat: Pack::get(from)?,
                class: Pack::get(from)?,
                latency_ms: get_u16(from)?,
            }),
            KIND_TURN => Ok(Self::Turn {
                turn: Pack::get(from)?,
                played: get_by_seat(from, get_played)?,
                state_hash: u32::from_le_bytes(Pack::get(from)?),
            }),
            _ => Err(DecodeError("an unknown kind")),
        }
    }
}

fn put_played(seat: Option<&PlayedMove>, out: &mut Vec<u8>) {
    let Some(PlayedMove { mv, class, latency_ms, shout, response }) = seat else { return out.push(NOT_ASKED) };
    let shout_flag = if shout.is_empty() { 0 } else { SHOUT_FLAG };
    let response_flag = if response.is_none() { 0 } else { RESPONSE_FLAG };
    out.push(*mv as u8 | (*class as u8) << 2 | shout_flag | response_flag);
    latency_ms.to_le_bytes().put(out);
    if shout_flag != 0 {
        shout.put(out);
    }
    if let Some(response) = response {
        response.put(out);
    }
}

fn get_played(from: &mut ByteReader<'_>) -> Result<Option<PlayedMove>, DecodeError> {
    let tag = u8::get(from)?;
    if tag == NOT_ASKED {
        return Ok(None);
    }
    let (mv, class) = (move_from_code(tag), AnswerClass::from_code(tag >> 2 & 0b1111)?);
    let latency_ms = get_u16(from)?;
    let shout: Box<str> = if tag & SHOUT_FLAG == 0 { Box::default() } else { Pack::get(from)? };
    if tag & SHOUT_FLAG != 0 && shout.is_empty() {
        return Err(DecodeError("an empty shout that says it is there"));
    }
    let response = if tag & RESPONSE_FLAG == 0 { None } else { Some(Box::new(ResponseExcerpt::get(from)?)) };
    Ok(Some(PlayedMove { mv, class, latency_ms, shout, response }))
}

/// Two bytes always; numbers of 16 bits elsewhere are varints.
fn get_u16(from: &mut ByteReader<'_>) -> Result<u16, DecodeError> {
    Pack::get(from).map(u16::from_le_bytes)
}

fn get_by_seat<T>(
    from: &mut ByteReader<'_>,
    get: fn(&mut ByteReader<'_>) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let seats = u8::get(from)?;
    if usize::from(seats) > SEATS_MAX {
        return Err(DecodeError("more seats than any match has"));
    }
    (0..seats).map(|_| get(from)).collect()
}

/// Of the lowest two bits; a move's code is its place in [`Move::ALL`].
fn move_from_code(code: u8) -> Move {
    Move::ALL[usize::from(code & 0b11)]
}

#[cfg(test)]
mod tests;

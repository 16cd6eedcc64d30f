//! One entry of a match log, and its binary form.
//!
//! A match is its seed plus this log: what every bot answered, how fast, and with what shout, because later requests to bots
//! contain all of that. The form is versioned by its first byte, canonical (one entry, one byte string) and checked when read.
//!
//! ```text
//! entry     = format:u8=1 kind:u8 ( opened | delivered | turn )
//! opened    = rules_version:u16le seats:u8 ( color:text head:text tail:text )*seats
//! delivered = notice:u8 seat:u8 class:u8 latency_ms:u16le
//! turn      = turn:varint seats:u8 ( 0xff | tag:u8 latency_ms:u16le [shout:text] )*seats state_hash:u32le
//! tag       = move(2 bits) | class(4 bits) << 2 | has_shout << 6
//! text      = bytes:varint utf8*bytes
//! ```

use crate::limits::SEATS_MAX;
use crate::pack::{ByteReader, DecodeError, put_text, put_varint};
use rules::snake::Move;

const FORMAT: u8 = 1;
const KIND_OPENED: u8 = 1;
const KIND_DELIVERED: u8 = 2;
const KIND_TURN: u8 = 3;
const NOT_ASKED: u8 = 0xff;
const SHOUT_FLAG: u8 = 1 << 6;

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

impl Default for Face {
    /// The looks of a bot that named none: the webhook API's defaults.
    fn default() -> Self {
        Self { color: "#888888".to_owned(), head: "default".to_owned(), tail: "default".to_owned() }
    }
}

/// What kind of answer a call to a bot got. Everything but [`AnswerClass::Valid`] means that the bot's previous move counted again.
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
    /// The bot's address is not one that this server may call.
    Forbidden,
}

impl AnswerClass {
    /// Every class, in the order of its code in the log: codes are never reused.
    pub const ALL: [Self; 8] = [
        Self::Valid,
        Self::Late,
        Self::Unreachable,
        Self::BadStatus,
        Self::Oversized,
        Self::Malformed,
        Self::UnknownMove,
        Self::Forbidden,
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
        }
    }

    fn code(self) -> u8 {
        self as u8
    }

    fn from_code(code: u8) -> Result<Self, DecodeError> {
        Self::ALL.get(usize::from(code)).copied().ok_or(DecodeError("an unknown class of answer"))
    }
}

/// The two calls that only inform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// POST /start
    Start,
    /// POST /end
    End,
}

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
        let mut out = Vec::with_capacity(32);
        out.push(FORMAT);
        match self {
            Self::Opened { rules_version, faces } => encode_opened(&mut out, *rules_version, faces),
            Self::Delivered { notice, seat, class, latency_ms } => {
                out.extend([KIND_DELIVERED, *notice as u8, *seat, class.code()]);
                out.extend(latency_ms.to_le_bytes());
            }
            Self::Turn { turn, played, state_hash } => encode_turn(&mut out, *turn, played, *state_hash),
        }
        out
    }

    /// The entry of these bytes: all of them, and nothing but the canonical form.
    ///
    /// # Errors
    /// [`DecodeError`], saying what is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut from = ByteReader::new(bytes);
        if from.u8()? != FORMAT {
            return Err(DecodeError("written in another format than 1: by a newer version?"));
        }
        let entry = match from.u8()? {
            KIND_OPENED => decode_opened(&mut from)?,
            KIND_DELIVERED => decode_delivered(&mut from)?,
            KIND_TURN => decode_turn(&mut from)?,
            _ => return Err(DecodeError("an unknown kind")),
        };
        from.finish()?;
        Ok(entry)
    }
}

fn encode_opened(out: &mut Vec<u8>, rules_version: u16, faces: &[Face]) {
    out.push(KIND_OPENED);
    out.extend(rules_version.to_le_bytes());
    out.push(faces.len() as u8);
    for face in faces {
        for text in [&face.color, &face.head, &face.tail] {
            put_text(out, text);
        }
    }
}

fn encode_turn(out: &mut Vec<u8>, turn: u32, played: &[Option<PlayedMove>], state_hash: u32) {
    out.push(KIND_TURN);
    put_varint(out, u64::from(turn));
    out.push(played.len() as u8);
    for seat in played {
        let Some(seat) = seat else {
            out.push(NOT_ASKED);
            continue;
        };
        let shout_flag = if seat.shout.is_empty() { 0 } else { SHOUT_FLAG };
        out.push(move_code(seat.mv) | seat.class.code() << 2 | shout_flag);
        out.extend(seat.latency_ms.to_le_bytes());
        if shout_flag != 0 {
            put_text(out, &seat.shout);
        }
    }
    out.extend(state_hash.to_le_bytes());
}

fn decode_opened(from: &mut ByteReader<'_>) -> Result<Entry, DecodeError> {
    let rules_version = from.u16()?;
    let seats = read_seat_count(from)?;
    let face = |from: &mut ByteReader<'_>| {
        Ok(Face { color: from.text()?.into(), head: from.text()?.into(), tail: from.text()?.into() })
    };
    let faces = (0..seats).map(|_| face(from)).collect::<Result<_, DecodeError>>()?;
    Ok(Entry::Opened { rules_version, faces })
}

fn decode_delivered(from: &mut ByteReader<'_>) -> Result<Entry, DecodeError> {
    let notice = match from.u8()? {
        0 => Notice::Start,
        1 => Notice::End,
        _ => return Err(DecodeError("an unknown notice")),
    };
    let seat = from.u8()?;
    let class = AnswerClass::from_code(from.u8()?)?;
    Ok(Entry::Delivered { notice, seat, class, latency_ms: from.u16()? })
}

fn decode_turn(from: &mut ByteReader<'_>) -> Result<Entry, DecodeError> {
    let turn = u32::try_from(from.varint()?).map_err(|_| DecodeError("a turn beyond any limit"))?;
    let seats = read_seat_count(from)?;
    let played = (0..seats).map(|_| decode_played(from)).collect::<Result<_, _>>()?;
    Ok(Entry::Turn { turn, played, state_hash: from.u32()? })
}

fn decode_played(from: &mut ByteReader<'_>) -> Result<Option<PlayedMove>, DecodeError> {
    let tag = from.u8()?;
    if tag == NOT_ASKED {
        return Ok(None);
    }
    if tag & 0x80 != 0 {
        return Err(DecodeError("an unknown flag"));
    }
    let mv = move_from_code(tag & 0b11);
    let class = AnswerClass::from_code(tag >> 2 & 0b1111)?;
    let latency_ms = from.u16()?;
    let shout = if tag & SHOUT_FLAG == 0 { "" } else { from.text()? };
    if tag & SHOUT_FLAG != 0 && shout.is_empty() {
        return Err(DecodeError("an empty shout that says it is there"));
    }
    Ok(Some(PlayedMove { mv, class, latency_ms, shout: shout.into() }))
}

fn read_seat_count(from: &mut ByteReader<'_>) -> Result<u8, DecodeError> {
    let seats = from.u8()?;
    if usize::from(seats) > SEATS_MAX { Err(DecodeError("more seats than any match has")) } else { Ok(seats) }
}

fn move_code(mv: Move) -> u8 {
    match mv {
        Move::Up => 0,
        Move::Down => 1,
        Move::Left => 2,
        Move::Right => 3,
    }
}

fn move_from_code(code: u8) -> Move {
    match code & 0b11 {
        0 => Move::Up,
        1 => Move::Down,
        2 => Move::Left,
        _ => Move::Right,
    }
}

#[cfg(test)]
mod tests;

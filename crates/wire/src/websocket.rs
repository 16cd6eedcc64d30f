//! The frames of WebSockets (RFC 6455, section 5), as a server reads and writes them: without memory between frames,
//! for tens of thousands of connections that send something once a second. [`MessageAssembler`] assembles messages of
//! several frames.
//!
//! Pure; does not know sockets, or what is in a message.

mod messages;

pub use messages::{MessageAssembler, MessageKind, SocketEvent, first_kind};

/// Longest body of a control frame, in bytes (section 5.5).
pub const CONTROL_BYTES_MAX: usize = 125;
/// Longest header of a server's frame, in bytes.
pub const HEADER_BYTES_MAX: usize = 10;

const FINAL: u8 = 0x80;
const RESERVED: u8 = 0x70;
const MASKED: u8 = 0x80;
/// Bytes of the mask behind a client's header.
pub const MASK_BYTES: usize = 4;
/// Lengths from here stand in two bytes, those from the next in eight.
const LENGTH_OF_TWO: usize = 126;
const LENGTH_OF_EIGHT: usize = 65_536;

/// What a frame is (section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// A continuation of the message.
    Continuation = 0,
    /// UTF-8.
    Text = 1,
    /// Bytes.
    Binary = 2,
    /// The last frame.
    Close = 8,
    /// To be answered.
    Ping = 9,
    /// The answer.
    Pong = 10,
}

impl Opcode {
    fn of(code: u8) -> Option<Self> {
        let all = [Self::Continuation, Self::Text, Self::Binary, Self::Close, Self::Ping, Self::Pong];
        all.into_iter().find(|opcode| *opcode as u8 == code)
    }

    fn is_control(self) -> bool {
        self as u8 >= 8
    }
}

/// What a client did that ends its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The client violates the protocol, as described. Close with 1002.
    Protocol(&'static str),
    /// A text is not UTF-8. Close with 1007.
    NotText,
    /// A message is longer than is read here. Close with 1009.
    TooLong,
}

/// The head of a client's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FrameHeader {
    is_final: bool,
    opcode: Opcode,
    mask: [u8; MASK_BYTES],
    /// Where its body begins.
    start: usize,
    /// Bytes of its body.
    len: usize,
}

/// The head that these bytes begin with; `None` if it is not all there. What cannot be right is refused as soon as it is seen.
fn read_header(bytes: &[u8], bytes_max: usize) -> Result<Option<FrameHeader>, Violation> {
    let Some(&first) = bytes.first() else { return Ok(None) };
    if first & RESERVED != 0 {
        return Err(Violation::Protocol("a frame has reserved bits, and no extension was agreed on"));
    }
    let (is_final, opcode) = (first & FINAL != 0, Opcode::of(first & 0x0f));
    let opcode = opcode.ok_or(Violation::Protocol("a frame has an opcode that nothing has"))?;
    let Some(&second) = bytes.get(1) else { return Ok(None) };
    if second & MASKED == 0 {
        return Err(Violation::Protocol("a frame of a client is not masked"));
    }
    let short = usize::from(second & 0x7f);
    if opcode.is_control() && (!is_final || short > CONTROL_BYTES_MAX) {
        return Err(Violation::Protocol("a control frame is in parts, or longer than 125 bytes"));
    }
    let Some((len, at)) = read_length(bytes, short)? else { return Ok(None) };
    if len > bytes_max && !opcode.is_control() {
        return Err(Violation::TooLong);
    }
    let mask = bytes.get(at..at + MASK_BYTES).and_then(|mask| mask.try_into().ok());
    Ok(mask.map(|mask| FrameHeader { is_final, opcode, mask, start: at + MASK_BYTES, len }))
}

/// The length of the body and where it ends itself.
fn read_length(bytes: &[u8], short: usize) -> Result<Option<(usize, usize)>, Violation> {
    const NOT_SHORTEST: Violation = Violation::Protocol("the length of a frame is not in its shortest form");
    match short {
        126 => {
            let Some(&length) = bytes[2..].first_chunk() else { return Ok(None) };
            let length = usize::from(u16::from_be_bytes(length));
            if length < LENGTH_OF_TWO { Err(NOT_SHORTEST) } else { Ok(Some((length, 4))) }
        }
        127 => {
            let Some(&length) = bytes[2..].first_chunk() else { return Ok(None) };
            let length = u64::from_be_bytes(length);
            // More than there are addresses is too long as well.
            let length = usize::try_from(length).map_err(|_| Violation::TooLong)?;
            if length < LENGTH_OF_EIGHT { Err(NOT_SHORTEST) } else { Ok(Some((length, 10))) }
        }
        short => Ok(Some((short, 2))),
    }
}

/// Takes the mask off, or puts it on.
fn unmask(bytes: &mut [u8], mask: [u8; MASK_BYTES]) {
    bytes.iter_mut().zip(mask.into_iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
}

/// Appends the header of a server's whole message with a body of so many bytes.
pub fn put_header(opcode: Opcode, len: usize, out: &mut Vec<u8>) {
    out.push(FINAL | opcode as u8);
    match len {
        0..LENGTH_OF_TWO => out.push(len as u8),
        LENGTH_OF_TWO..LENGTH_OF_EIGHT => {
            out.push(126);
            out.extend_from_slice(&(len as u16).to_be_bytes());
        }
        _ => {
            out.push(127);
            out.extend_from_slice(&(len as u64).to_be_bytes());
        }
    }
}

/// Appends a close with this status. What of the reason does not fit is cut off at a character.
pub fn put_close(status: u16, reason: &str, out: &mut Vec<u8>) {
    let reason = &reason[..reason.floor_char_boundary(CONTROL_BYTES_MAX - 2)];
    put_header(Opcode::Close, 2 + reason.len(), out);
    out.extend_from_slice(&status.to_be_bytes());
    out.extend_from_slice(reason.as_bytes());
}

/// Appends the answer to a ping.
pub fn put_pong(body: &[u8], out: &mut Vec<u8>) {
    put_header(Opcode::Pong, body.len(), out);
    out.extend_from_slice(body);
}

#[cfg(test)]
mod tests;

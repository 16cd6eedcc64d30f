//! Assembles messages from frames: fragments are put together, control frames may come between them. Between messages
//! nothing is kept but a pointer.

use super::{FrameHeader, Opcode, Violation, read_header, unmask};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// UTF-8.
    Text,
    /// Bytes.
    Binary,
}

/// What the message is that these bytes of a client begin; `None` where they begin none.
#[must_use]
pub fn first_kind(bytes: &[u8]) -> Option<MessageKind> {
    match Opcode::of(bytes.first()? & 0x0f)? {
        Opcode::Text => Some(MessageKind::Text),
        Opcode::Binary => Some(MessageKind::Binary),
        Opcode::Continuation | Opcode::Close | Opcode::Ping | Opcode::Pong => None,
    }
}

/// An event from a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent<'a> {
    /// A whole message; a text is UTF-8.
    Message(MessageKind, &'a [u8]),
    /// To be answered with the same bytes.
    Ping(&'a [u8]),
    /// An answer to nothing, or to a ping.
    Pong,
    /// The last frame: its status, if it has one. To be answered with the same.
    Close(Option<u16>),
}

/// A message in parts.
#[derive(Debug)]
struct FragmentedMessage {
    kind: MessageKind,
    body: Vec<u8>,
    /// Whether its last part has come: it is kept only as long as it is looked at.
    is_whole: bool,
}

/// The messages of one client.
#[derive(Debug, Default)]
pub struct MessageAssembler {
    fragmented: Option<Box<FragmentedMessage>>,
}

impl MessageAssembler {
    /// Whether a message has begun and not ended.
    #[must_use]
    pub fn has_fragment(&self) -> bool {
        self.fragmented.is_some()
    }

    /// The first event in these bytes, and how many of them it takes. `(0, None)` waits for more bytes; `None` with a
    /// count is a fragment, and more may follow it. Payloads are unmasked in place.
    ///
    /// # Errors
    /// The client violates the protocol, or one message exceeds `bytes_max`. The rest of the stream cannot be read.
    pub fn next_event<'a>(
        &'a mut self,
        bytes: &'a mut [u8],
        bytes_max: usize,
    ) -> Result<(usize, Option<SocketEvent<'a>>), Violation> {
        self.release();
        let room = bytes_max - self.fragmented.as_ref().map_or(0, |begun| begun.body.len());
        let Some(head) = read_header(bytes, room)? else { return Ok((0, None)) };
        let end = head.start + head.len;
        let Some(body) = bytes.get_mut(head.start..end) else { return Ok((0, None)) };
        unmask(body, head.mask);
        Ok((end, self.event(head, body)?))
    }

    fn event<'a>(&'a mut self, head: FrameHeader, body: &'a [u8]) -> Result<Option<SocketEvent<'a>>, Violation> {
        let kind = match head.opcode {
            Opcode::Ping => return Ok(Some(SocketEvent::Ping(body))),
            Opcode::Pong => return Ok(Some(SocketEvent::Pong)),
            Opcode::Close => return Ok(Some(SocketEvent::Close(close_status(body)?))),
            Opcode::Continuation => None,
            Opcode::Text => Some(MessageKind::Text),
            Opcode::Binary => Some(MessageKind::Binary),
        };
        match (kind, self.fragmented.take(), head.is_final) {
            (Some(_), Some(_), _) => Err(Violation::Protocol("a message begins inside of another")),
            (None, None, _) => Err(Violation::Protocol("a message goes on that has not begun")),
            (Some(kind), None, true) => checked_message(kind, body).map(Some),
            (Some(kind), None, false) => {
                self.fragmented = Some(Box::new(FragmentedMessage { kind, body: body.to_vec(), is_whole: false }));
                Ok(None)
            }
            (None, Some(mut begun), is_final) => {
                begun.body.extend_from_slice(body);
                begun.is_whole = is_final;
                let begun = self.fragmented.insert(begun);
                if is_final { checked_message(begun.kind, &begun.body).map(Some) } else { Ok(None) }
            }
        }
    }

    /// Releases a message that was assembled and processed.
    pub fn release(&mut self) {
        self.fragmented.take_if(|begun| begun.is_whole);
    }
}

fn checked_message(kind: MessageKind, body: &[u8]) -> Result<SocketEvent<'_>, Violation> {
    if kind == MessageKind::Text && std::str::from_utf8(body).is_err() {
        return Err(Violation::NotText);
    }
    Ok(SocketEvent::Message(kind, body))
}

/// The status of a close (section 5.5.1): two bytes, then a reason in UTF-8; or nothing.
fn close_status(body: &[u8]) -> Result<Option<u16>, Violation> {
    let Some((status, reason)) = body.split_first_chunk() else {
        return if body.is_empty() { Ok(None) } else { Err(Violation::Protocol("a close has half a status")) };
    };
    let status = u16::from_be_bytes(*status);
    // Section 7.4: other codes are never sent, or unassigned.
    if !matches!(status, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(Violation::Protocol("a close has a status that must not be sent"));
    }
    if std::str::from_utf8(reason).is_err() {
        return Err(Violation::NotText);
    }
    Ok(Some(status))
}

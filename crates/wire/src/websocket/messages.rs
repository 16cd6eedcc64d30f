//! Messages out of frames: fragments are put together, control frames come through between them. Between messages nothing is
//! kept but a pointer.

use super::{Head, Opcode, Violation, head, unmask};

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// Bytes.
    Binary,
}

/// What the message is that these bytes of a client begin; `None` where they begin none.
#[must_use]
pub fn begun(bytes: &[u8]) -> Option<Kind> {
    match Opcode::of(bytes.first()? & 0x0f)? {
        Opcode::Text => Some(Kind::Text),
        Opcode::Binary => Some(Kind::Binary),
        Opcode::Continuation | Opcode::Close | Opcode::Ping | Opcode::Pong => None,
    }
}

/// What a client said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A whole message; a text is UTF-8.
    Message(Kind, &'a [u8]),
    /// To be answered with the same bytes.
    Ping(&'a [u8]),
    /// An answer to nothing, or to a ping.
    Pong,
    /// The last frame: its status, if it has one. To be answered with the same.
    Close(Option<u16>),
}

/// A message in parts.
#[derive(Debug)]
struct Begun {
    kind: Kind,
    body: Vec<u8>,
    /// Whether its last part has come: it is kept only as long as it is looked at.
    is_whole: bool,
}

/// The messages of one client.
#[derive(Debug, Default)]
pub struct Messages {
    begun: Option<Box<Begun>>,
}

impl Messages {
    /// Whether a message has begun and not ended.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// What stands first in these bytes, and how many of them it takes. `(0, None)` waits for more; `None` behind some bytes is
    /// a fragment, and more may follow it. A mask is taken off where it stands.
    ///
    /// # Errors
    /// The client does not speak WebSocket, or says more than `bytes_max` in one message. Nothing behind that can be read.
    pub fn next<'a>(
        &'a mut self,
        bytes: &'a mut [u8],
        bytes_max: usize,
    ) -> Result<(usize, Option<Event<'a>>), Violation> {
        self.forget();
        let room = bytes_max - self.begun.as_ref().map_or(0, |begun| begun.body.len());
        let Some(head) = head(bytes, room)? else { return Ok((0, None)) };
        let end = head.start + head.len;
        let Some(body) = bytes.get_mut(head.start..end) else { return Ok((0, None)) };
        unmask(body, head.mask);
        Ok((end, self.event(head, body)?))
    }

    fn event<'a>(&'a mut self, head: Head, body: &'a [u8]) -> Result<Option<Event<'a>>, Violation> {
        let kind = match head.opcode {
            Opcode::Ping => return Ok(Some(Event::Ping(body))),
            Opcode::Pong => return Ok(Some(Event::Pong)),
            Opcode::Close => return Ok(Some(Event::Close(status(body)?))),
            Opcode::Continuation => None,
            Opcode::Text => Some(Kind::Text),
            Opcode::Binary => Some(Kind::Binary),
        };
        match (kind, self.begun.take(), head.is_final) {
            (Some(_), Some(_), _) => Err(Violation::Protocol("a message begins inside of another")),
            (None, None, _) => Err(Violation::Protocol("a message goes on that has not begun")),
            (Some(kind), None, true) => whole(kind, body).map(Some),
            (Some(kind), None, false) => {
                self.begun = Some(Box::new(Begun { kind, body: body.to_vec(), is_whole: false }));
                Ok(None)
            }
            (None, Some(mut begun), is_final) => {
                begun.body.extend_from_slice(body);
                begun.is_whole = is_final;
                let begun = self.begun.insert(begun);
                if is_final { whole(begun.kind, &begun.body).map(Some) } else { Ok(None) }
            }
        }
    }

    /// Lets go of a message whose parts have been put together and looked at.
    pub fn forget(&mut self) {
        self.begun.take_if(|begun| begun.is_whole);
    }
}

fn whole(kind: Kind, body: &[u8]) -> Result<Event<'_>, Violation> {
    if kind == Kind::Text && std::str::from_utf8(body).is_err() {
        return Err(Violation::NotText);
    }
    Ok(Event::Message(kind, body))
}

/// The status of a close (section 5.5.1): two bytes, then a reason in UTF-8; or nothing.
fn status(body: &[u8]) -> Result<Option<u16>, Violation> {
    let Some((status, reason)) = body.split_first_chunk() else {
        return if body.is_empty() { Ok(None) } else { Err(Violation::Protocol("a close has half a status")) };
    };
    let status = u16::from_be_bytes(*status);
    // Section 7.4: others are not sent, or nobody's.
    if !matches!(status, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(Violation::Protocol("a close has a status that must not be sent"));
    }
    if std::str::from_utf8(reason).is_err() {
        return Err(Violation::NotText);
    }
    Ok(Some(status))
}

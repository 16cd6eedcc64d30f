//! Frames over a stream of bytes, both ways. Knows length-delimited protocol buffers, and nothing of what they mean.

use crate::limits::HUNT_FRAME_BYTES_MAX;
use prost::Message;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use wire::delimited;
use wire::world::{ClientFrame, ClientMessage, ServerFrame, ServerMessage};

/// A stream with what came of it and was not a whole frame yet.
pub(super) struct FrameConnection<S> {
    stream: S,
    unread: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> FrameConnection<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, unread: Vec::new() }
    }

    /// Sends these in one piece.
    pub(super) async fn send(&mut self, messages: impl IntoIterator<Item = ClientMessage>) -> io::Result<()> {
        let mut bytes = Vec::new();
        for what in messages {
            ClientFrame { what: Some(what) }.encode_length_delimited(&mut bytes).map_err(io::Error::other)?;
        }
        self.stream.write_all(&bytes).await
    }

    /// The next frame; frames of a later version are passed over. Losing the race in a `select!` loses nothing: what was read
    /// is kept.
    pub(super) async fn next(&mut self) -> io::Result<ServerMessage> {
        loop {
            let broken = |error| io::Error::other(format!("not a frame: {error:?}"));
            while let Some(place) = delimited::first_frame(&self.unread, HUNT_FRAME_BYTES_MAX).map_err(broken)? {
                let end = place.end;
                let frame = ServerFrame::decode(&self.unread[place]).map_err(io::Error::other)?;
                self.unread.drain(..end);
                if let Some(message) = frame.what {
                    return Ok(message);
                }
            }
            if self.stream.read_buf(&mut self.unread).await? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server has closed it"));
            }
        }
    }
}

//! Metrics of connections to worlds: how many are open, by kind; the frames received and sent; and why they ended.

use super::instruments::{Counter, Gauge};
use super::text::{Exposed, FamilyKind, Page};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The transport of a connection to worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldTransport {
    /// Frames over TCP.
    Tcp,
    /// A WebSocket.
    WebSocket,
}

impl WorldTransport {
    const ALL: [Self; 2] = [Self::Tcp, Self::WebSocket];

    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::WebSocket => "websocket",
        }
    }
}

/// The kind of a frame to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// The result of an input.
    Answer,
    /// What changed around the mover.
    View,
    /// An event for all clients.
    Event,
}

impl FrameKind {
    const ALL: [Self; 3] = [Self::Answer, Self::View, Self::Event];

    fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::View => "view",
            Self::Event => "event",
        }
    }
}

#[derive(Debug, Default)]
pub struct WorldConnections {
    open: [Gauge; 2],
    opened: [Counter; 2],
    received_frames: Counter,
    received_bytes: Counter,
    sent_frames: [Counter; 3],
    /// Codes are constants: there are as many as the source has.
    ended: Mutex<BTreeMap<&'static str, u64>>,
}

impl WorldConnections {
    /// A connection has begun to exchange frames.
    pub fn opened(&self, kind: WorldTransport) {
        self.open[kind as usize].inc();
        self.opened[kind as usize].inc();
    }

    pub fn closed(&self, kind: WorldTransport) {
        self.open[kind as usize].dec();
    }

    /// Frames were received, of this many bytes together.
    pub fn frames_received(&self, frames: u64, bytes: u64) {
        self.received_frames.add(frames);
        self.received_bytes.add(bytes);
    }

    /// A frame was encoded.
    pub fn frame_sent(&self, kind: FrameKind) {
        self.sent_frames[kind as usize].inc();
    }

    /// This process ended a connection, with this code.
    pub fn ended(&self, code: &'static str) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner).entry(code).or_default() += 1;
    }
}

impl Exposed for WorldConnections {
    /// Several families under one stem.
    fn expose(&self, page: &mut Page, stem: &str, help: &str) {
        let of = |values: [u64; 2]| WorldTransport::ALL.map(WorldTransport::name).into_iter().zip(values);
        let open = self.open.each_ref().map(|open| u64::try_from(open.get()).unwrap_or_default());
        page.gauges(stem, help, "kind", of(open));
        let opened = format!("{stem}_opened_total");
        page.head(&opened, "Connections to worlds that were opened, by kind.", FamilyKind::Counter);
        of(self.opened.each_ref().map(Counter::get)).for_each(|(kind, count)| page.sample(&[("kind", kind)], count));
        let ended = format!("{stem}_ended_total");
        page.head(
            &ended,
            "Connections to worlds that this process ended, by the code that was sent.",
            FamilyKind::Counter,
        );
        let codes = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        codes.iter().for_each(|(code, count)| page.sample(&[("code", code)], *count));
        let sent = "gauntlet_world_frames_sent_total";
        page.head(sent, "Frames that were sent on connections to worlds, by kind.", FamilyKind::Counter);
        FrameKind::ALL
            .into_iter()
            .zip(&self.sent_frames)
            .for_each(|(kind, count)| page.sample(&[("frame", kind.name())], count.get()));
        self.received_frames.expose(
            page,
            "gauntlet_world_frames_received_total",
            "Frames that were received on connections to worlds.",
        );
        self.received_bytes.expose(
            page,
            "gauntlet_world_received_bytes_total",
            "Bytes of those frames, their framing included.",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_by_kind_and_end() {
        let connections = WorldConnections::default();
        connections.opened(WorldTransport::Tcp);
        connections.opened(WorldTransport::WebSocket);
        connections.closed(WorldTransport::Tcp);
        connections.frames_received(3, 21);
        connections.frame_sent(FrameKind::View);
        connections.ended("too_fast");
        connections.ended("too_fast");
        let mut page = Page::default();
        connections.expose(&mut page, "c", "Connections.");
        let text = page.into_text();
        for want in [
            r#"c{kind="tcp"} 0"#,
            r#"c{kind="websocket"} 1"#,
            r#"c_opened_total{kind="tcp"} 1"#,
            r#"c_ended_total{code="too_fast"} 2"#,
            r#"gauntlet_world_frames_sent_total{frame="view"} 1"#,
            "gauntlet_world_frames_received_total 3",
            "gauntlet_world_received_bytes_total 21",
        ] {
            assert!(text.lines().any(|line| line == want), "{want} is not in\n{text}");
        }
    }
}

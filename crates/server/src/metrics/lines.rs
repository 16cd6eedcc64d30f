//! What is measured of connections to worlds: how many are open, by kind; what they say and are told; and why they ended.

use super::kinds::{Counter, Gauge};
use super::text::{Exposed, Page};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// How a connection to worlds came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// Frames over TCP.
    Tcp,
    /// A WebSocket.
    WebSocket,
}

impl LineKind {
    const ALL: [Self; 2] = [Self::Tcp, Self::WebSocket];

    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::WebSocket => "websocket",
        }
    }
}

/// What a connection is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// What became of an input.
    Answer,
    /// What changed around the mover.
    View,
    /// What everybody is told.
    News,
}

impl Word {
    const ALL: [Self; 3] = [Self::Answer, Self::View, Self::News];

    fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::View => "view",
            Self::News => "news",
        }
    }
}

/// The figures of connections to worlds.
#[derive(Debug, Default)]
pub struct Lines {
    open: [Gauge; 2],
    opened: [Counter; 2],
    heard_frames: Counter,
    heard_bytes: Counter,
    said: [Counter; 3],
    /// Codes are words of ours: there are as many as the source has.
    ended: Mutex<BTreeMap<&'static str, u64>>,
}

impl Lines {
    /// A connection speaks frames from now on.
    pub fn opened(&self, kind: LineKind) {
        self.open[kind as usize].inc();
        self.opened[kind as usize].inc();
    }

    /// A connection is gone.
    pub fn closed(&self, kind: LineKind) {
        self.open[kind as usize].dec();
    }

    /// So many frames came, of so many bytes together.
    pub fn heard(&self, frames: u64, bytes: u64) {
        self.heard_frames.add(frames);
        self.heard_bytes.add(bytes);
    }

    /// One more frame was put together.
    pub fn said(&self, word: Word) {
        self.said[word as usize].inc();
    }

    /// We ended a connection, and this is why.
    pub fn ended(&self, code: &'static str) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner).entry(code).or_default() += 1;
    }
}

impl Exposed for Lines {
    /// Several families under one stem.
    fn expose(&self, page: &mut Page, stem: &str, help: &str) {
        let of = |figures: [u64; 2]| LineKind::ALL.map(LineKind::name).into_iter().zip(figures);
        let open = self.open.each_ref().map(|open| u64::try_from(open.get()).unwrap_or_default());
        page.gauges(stem, help, "kind", of(open));
        let opened = format!("{stem}_opened_total");
        page.head(&opened, "Connections to worlds that were opened, by kind.", "counter");
        of(self.opened.each_ref().map(Counter::get))
            .for_each(|(kind, count)| page.sample(&opened, &[("kind", kind)], count));
        let ended = format!("{stem}_ended_total");
        page.head(&ended, "Connections to worlds that this process ended, by the code that they were told.", "counter");
        let codes = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        codes.iter().for_each(|(code, count)| page.sample(&ended, &[("code", code)], count));
        let said = "gauntlet_world_frames_sent_total";
        page.head(said, "Frames that connections to worlds were told, by what they say.", "counter");
        Word::ALL
            .into_iter()
            .zip(&self.said)
            .for_each(|(word, count)| page.sample(said, &[("frame", word.name())], count.get()));
        self.heard_frames.expose(
            page,
            "gauntlet_world_frames_received_total",
            "Frames that came on connections to worlds.",
        );
        self.heard_bytes.expose(
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
        let lines = Lines::default();
        lines.opened(LineKind::Tcp);
        lines.opened(LineKind::WebSocket);
        lines.closed(LineKind::Tcp);
        lines.heard(3, 21);
        lines.said(Word::View);
        lines.ended("too_fast");
        lines.ended("too_fast");
        let mut page = Page::default();
        lines.expose(&mut page, "c", "Connections.");
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

//! What hunters did so far: counted where it happens, read by reports. Knows no time.

use crate::counters::count;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use wire::world::ServerMessage;

/// Counters that all hunters share.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) registered: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) moved: AtomicU64,
    pub(super) dug: AtomicU64,
    pub(super) points: AtomicU64,
    pub(super) grabbed: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) views: AtomicU64,
    pub(super) late: AtomicU64,
    /// Why a connection was lost last.
    last_error: Mutex<Option<String>>,
}

/// What hunters did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HuntTotals {
    /// Hunters that were asked for.
    pub hunters: u64,
    /// Hunters in the world now.
    pub present: u64,
    /// Connections that were lost, or did not come about.
    pub lost: u64,
    /// Steps done.
    pub moved: u64,
    /// Chests dug out.
    pub dug: u64,
    /// What they were worth.
    pub points: u64,
    /// Power-ups grabbed.
    pub grabbed: u64,
    /// Acts that the rules refused.
    pub refused: u64,
    /// Views that came.
    pub views: u64,
    /// Acts left out because the one before was not answered yet.
    pub late: u64,
    /// Why a connection was lost last, or did not come about.
    pub last_error: Option<String>,
}

impl Counters {
    /// A connection was lost, or did not come about.
    pub(super) fn count_lost(&self, why: &dyn fmt::Display) {
        count(&self.lost);
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_string());
    }

    pub(super) fn count_message(&self, message: &ServerMessage) {
        match message {
            ServerMessage::Moved(_) => count(&self.moved),
            ServerMessage::Dug(dug) => {
                count(&self.dug);
                self.points.fetch_add(u64::from(dug.points), Relaxed);
            }
            ServerMessage::Grabbed(_) => count(&self.grabbed),
            ServerMessage::Refused(_) => count(&self.refused),
            ServerMessage::View(_) => count(&self.views),
            ServerMessage::Welcome(_)
            | ServerMessage::Registered(_)
            | ServerMessage::Round(_)
            | ServerMessage::Error(_)
            | ServerMessage::Watched(_) => {}
        }
    }

    pub(super) fn totals(&self, hunters: u32) -> HuntTotals {
        let read = |counter: &AtomicU64| counter.load(Relaxed);
        HuntTotals {
            hunters: u64::from(hunters),
            present: read(&self.registered),
            lost: read(&self.lost),
            moved: read(&self.moved),
            dug: read(&self.dug),
            points: read(&self.points),
            grabbed: read(&self.grabbed),
            refused: read(&self.refused),
            views: read(&self.views),
            late: read(&self.late),
            last_error: self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

impl fmt::Display for HuntTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hunters, present, lost, moved, dug, points, grabbed, refused, views, late, last_error: trouble } =
            self;
        write!(
            f,
            "{present} of {hunters} hunters there, {moved} steps, {dug} chests ({points} points), {grabbed} power-ups, \
             {refused} refused, {views} views, {late} acts left out, {lost} connections lost"
        )?;
        trouble.as_ref().map_or(Ok(()), |trouble| write!(f, "; the last one: {trouble}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(counters: &Counters, want: &str) {
        let message = counters.totals(2).to_string();
        assert!(message.ends_with(want), "{message}");
    }

    #[test]
    fn the_last_error_is_reported() {
        let counters = Counters::default();
        check(&counters, ", 0 connections lost");
        counters.count_lost(&"not let in: world_full");
        counters.count_lost(&"Connection refused");
        check(&counters, ", 2 connections lost; the last one: Connection refused");
    }
}

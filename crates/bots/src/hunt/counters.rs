//! What hunters did so far: counted where it happens, read by reports. Knows no time.

use crate::counters::count;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use wire::world::ServerMessage;

/// Counters that all hunters share.
#[derive(Debug, Default)]
pub struct HuntCounters {
    /// Hunters that were asked for.
    pub(super) hunters: u32,
    /// Hunters in the world; those that have left when told to are counted as well.
    pub(super) registered: AtomicU64,
    /// Connections that were lost, or did not come about; and why the last of them.
    pub(super) lost: AtomicU64,
    pub(super) last_error: Mutex<Option<String>>,
    /// Steps done.
    pub(super) moved: AtomicU64,
    /// Chests dug out, and what they were worth.
    pub(super) dug: AtomicU64,
    pub(super) points: AtomicU64,
    /// Power-ups grabbed.
    pub(super) grabbed: AtomicU64,
    /// Acts that the rules refused.
    pub(super) refused: AtomicU64,
    /// Views that came.
    pub(super) views: AtomicU64,
    /// Acts left out because the one before was not answered yet.
    pub(super) late: AtomicU64,
}

impl HuntCounters {
    /// Whether any hunter was answered by the world.
    #[must_use]
    pub fn has_played(&self) -> bool {
        [&self.moved, &self.refused, &self.views].iter().any(|counter| counter.load(Relaxed) > 0)
    }

    /// Why a connection was lost last, or did not come about.
    #[must_use]
    pub fn last_error(&self) -> Option<String> {
        self.lock_last_error().clone()
    }

    fn lock_last_error(&self) -> MutexGuard<'_, Option<String>> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection was lost, or did not come about.
    pub(super) fn count_lost(&self, why: &dyn fmt::Display) {
        count(&self.lost);
        *self.lock_last_error() = Some(why.to_string());
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
}

impl fmt::Display for HuntCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [present, lost, moved, dug, points, grabbed, refused, views, late] = [
            &self.registered,
            &self.lost,
            &self.moved,
            &self.dug,
            &self.points,
            &self.grabbed,
            &self.refused,
            &self.views,
            &self.late,
        ]
        .map(|counter| counter.load(Relaxed));
        write!(
            f,
            "{present} of {} hunters there, {moved} steps, {dug} chests ({points} points), {grabbed} power-ups, \
             {refused} refused, {views} views, {late} acts left out, {lost} connections lost",
            self.hunters
        )?;
        self.last_error().map_or(Ok(()), |error| write!(f, "; the last one: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(counters: &HuntCounters, want: &str) {
        let message = counters.to_string();
        assert!(message.ends_with(want), "{message}");
    }

    #[test]
    fn the_last_error_is_reported() {
        let counters = HuntCounters::default();
        check(&counters, ", 0 connections lost");
        counters.count_lost(&"not let in: world_full");
        counters.count_lost(&"Connection refused");
        check(&counters, ", 2 connections lost; the last one: Connection refused");
    }
}

//! Which tickets are compatible.

use super::ticket::Ticket;
use crate::time::UnixMs;

/// How near ratings must be, and how that widens with the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchingRules {
    /// How far another rating may be from the own one at first.
    pub window: u16,
    /// How much further with every second of waiting.
    pub widens_per_s: u16,
    /// How far at most.
    pub window_max: u16,
}

impl Default for MatchingRules {
    /// Within 100 at first, 20 more with every second, any rating after a while.
    fn default() -> Self {
        Self { window: 100, widens_per_s: 20, window_max: crate::limits::RATING_MAX }
    }
}

impl MatchingRules {
    /// How far another rating may be from this ticket's.
    #[must_use]
    pub(super) fn rating_window(&self, ticket: &Ticket, now: UnixMs) -> u16 {
        let waited_ms = u64::try_from(now.since(ticket.since).as_millis()).unwrap_or(u64::MAX);
        let wider = waited_ms.saturating_mul(u64::from(self.widens_per_s)) / 1_000;
        let window = u64::from(self.window).saturating_add(wider).min(u64::from(self.window_max));
        u16::try_from(window).unwrap_or(u16::MAX)
    }

    /// Whether two tickets may be in one match: each accepts the other.
    #[must_use]
    pub(super) fn is_compatible(&self, one: &Ticket, other: &Ticket, now: UnixMs) -> bool {
        let window = self.rating_window(one, now).min(self.rating_window(other, now));
        let is_one_region = match (&one.region, &other.region) {
            (Some(one), Some(other)) => one == other,
            (None, _) | (_, None) => true,
        };
        one.players == other.players
            && is_one_region
            && one.rating.abs_diff(other.rating) <= window
            && !one.party.iter().any(|player| other.party.contains(player))
    }
}

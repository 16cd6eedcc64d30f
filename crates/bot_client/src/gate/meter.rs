//! Counts calls that are paid back at a steady rate: a leaky bucket. Time is an argument.

use engine::limits::CALL_BUDGET_PERIOD;
use std::time::Duration;

/// One call, in the unit in which fractions are counted: each microsecond pays back as many units as the period does calls.
const CALL: u64 = CALL_BUDGET_PERIOD.as_micros() as u64;

/// How much may be counted at once, and what is paid back in [`CALL_BUDGET_PERIOD`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    pub(super) max: u32,
    pub(super) paid_back: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    rate: Rate,
    counted: u64,
    /// Up to when it was paid back, since the start of the process.
    as_of: Duration,
}

impl Meter {
    pub(super) fn new(rate: Rate, now: Duration) -> Self {
        Self { rate, counted: 0, as_of: now }
    }

    /// Counts calls, up to the most that it can hold.
    pub(super) fn add(&mut self, calls: u32, now: Duration) {
        self.pay_back(now);
        self.counted = (self.counted + u64::from(calls) * CALL).min(u64::from(self.rate.max) * CALL);
    }

    /// Takes calls back.
    pub(super) fn remove(&mut self, calls: u32, now: Duration) {
        self.pay_back(now);
        self.counted = self.counted.saturating_sub(u64::from(calls) * CALL);
    }

    pub(super) fn is_empty(&mut self, now: Duration) -> bool {
        self.pay_back(now);
        self.counted == 0
    }

    /// How long until one more call can be counted under this limit.
    pub(super) fn wait_for(&mut self, limit: u32, now: Duration) -> Option<Duration> {
        self.pay_back(now);
        let over = (self.counted + CALL).saturating_sub(u64::from(limit) * CALL);
        (over > 0).then(|| Duration::from_micros(over.div_ceil(u64::from(self.rate.paid_back))))
    }

    fn pay_back(&mut self, now: Duration) {
        let elapsed_us = now.saturating_sub(self.as_of).as_micros() as u64;
        self.counted = self.counted.saturating_sub(elapsed_us.saturating_mul(u64::from(self.rate.paid_back)));
        // Only whole microseconds were paid back: the rest counts next time, however often that is.
        self.as_of += Duration::from_micros(elapsed_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_paid_back_at_a_steady_rate() {
        let at = Duration::from_secs;
        let mut meter = Meter::new(Rate { max: 10, paid_back: 60 }, at(0));
        meter.add(20, at(0));
        assert_eq!(
            meter.wait_for(10, at(0)),
            Some(at(10)),
            "a call every ten seconds, and no more than ten were counted"
        );
        assert_eq!(meter.wait_for(8, at(0)), Some(at(30)));
        assert_eq!(meter.wait_for(10, at(10)), None);
        meter.remove(4, at(10));
        assert_eq!(meter.wait_for(6, at(10)), None);
        assert!(!meter.is_empty(at(59)) && meter.is_empty(at(60)));
        assert!(meter.is_empty(at(50)), "a clock that goes back changes nothing");
    }
}

//! Many timers with short periods, such as viewers' views or actors' moves: a ring of lists, one for each tick, so that arming a timer is
//! one push and a tick's timers lie side by side.
//!
//! A timer is a number and nothing else: its owner knows when exactly it is due, and whether at all; a number that fires before its time is
//! armed again. Has no clock: the caller passes the time, in microseconds since a moment of its choice. Unlike the
//! sorted set of the tables' timers, which can cancel and reaches any distance, this one cannot cancel, and arms a million a second.

/// Ticks of one revolution: the longest wait without firing early.
const TICKS: usize = 2_048;
const WORD_BITS: usize = u64::BITS as usize;

/// Timers by the tick in which they are due.
pub(super) struct TimerRing {
    tick_us: u64,
    /// No tick before this one holds a timer.
    next_tick: u64,
    lists: Vec<Vec<u32>>,
    /// Which lists hold a timer.
    occupied: [u64; TICKS / WORD_BITS],
    armed: usize,
}

impl TimerRing {
    pub(super) fn new(tick_us: u64, now_us: u64) -> Self {
        let lists = std::iter::repeat_with(Vec::new).take(TICKS).collect();
        Self { tick_us, next_tick: now_us / tick_us, lists, occupied: [0; TICKS / WORD_BITS], armed: 0 }
    }

    /// Numbers that are armed.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.armed
    }

    /// Arms a number: it fires in the tick that begins at `due_us` or next after it, or whole revolutions before that.
    pub(super) fn arm(&mut self, number: u32, due_us: u64) {
        let farthest = self.next_tick + TICKS as u64 - 1;
        let tick = due_us.div_ceil(self.tick_us).clamp(self.next_tick, farthest);
        let at = tick as usize % TICKS;
        self.lists[at].push(number);
        self.occupied[at / WORD_BITS] |= 1 << (at % WORD_BITS);
        self.armed += 1;
    }

    /// When to call [`TimerRing::expire`] next: no timer fires before.
    pub(super) fn next_us(&self) -> Option<u64> {
        self.first().map(|tick| tick * self.tick_us)
    }

    /// Takes the numbers of the first tick that has begun by `now_us`, into an empty list; returns whether there was one.
    pub(super) fn expire(&mut self, now_us: u64, numbers: &mut Vec<u32>) -> bool {
        let now_tick = now_us / self.tick_us;
        let Some(tick) = self.first().filter(|tick| *tick <= now_tick) else {
            self.next_tick = self.next_tick.max(now_tick);
            return false;
        };
        let at = tick as usize % TICKS;
        // Swaps in the caller's list: the lists keep their capacity.
        std::mem::swap(&mut self.lists[at], numbers);
        self.occupied[at / WORD_BITS] &= !(1 << (at % WORD_BITS));
        self.armed -= numbers.len();
        self.next_tick = tick + 1;
        true
    }

    /// The first tick that holds a timer.
    fn first(&self) -> Option<u64> {
        if self.armed == 0 {
            return None;
        }
        let begin = self.next_tick as usize % TICKS;
        let words = TICKS / WORD_BITS;
        // The word in which the revolution begins is read twice: its end first, its beginning last.
        let found = (0..=words).find_map(|step| {
            let word = (begin / WORD_BITS + step) % words;
            let bits = match step {
                0 => self.occupied[word] >> (begin % WORD_BITS) << (begin % WORD_BITS),
                _ => self.occupied[word],
            };
            (bits != 0).then(|| word * WORD_BITS + bits.trailing_zeros() as usize)
        })?;
        Some(self.next_tick + ((found + TICKS - begin) % TICKS) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TICK_US: u64 = 1_000;

    /// Arms timers given as (moment, wait) and follows the ring, arming early numbers again; returns when each fired for good.
    fn fired(begin_us: u64, waits_us: &[u64], step_us: u64) -> Vec<(u32, u64)> {
        let mut ring = TimerRing::new(TICK_US, begin_us);
        let dues: Vec<u64> = waits_us.iter().map(|wait| begin_us + wait).collect();
        dues.iter().enumerate().for_each(|(number, due)| ring.arm(number as u32, *due));
        let (mut now_us, mut fired, mut list) = (begin_us, Vec::new(), Vec::new());
        while ring.len() > 0 {
            assert!(ring.next_us().is_some());
            now_us += step_us;
            while ring.expire(now_us, &mut list) {
                for number in list.drain(..) {
                    match dues[number as usize] {
                        due if due > now_us => ring.arm(number, due),
                        _ => fired.push((number, now_us)),
                    }
                }
            }
        }
        assert_eq!(ring.next_us(), None);
        fired
    }

    proptest! {
        #[test]
        fn every_number_comes_up_once_and_in_its_tick(
            begin_us in 0..u64::from(u32::MAX),
            waits_us in prop::collection::vec(prop_oneof![0..5_000u64, 0..3_000_000u64, 0..10_000_000u64], 1..60),
            step_us in prop_oneof![1_000..3_000u64, 1_000..400_000u64],
        ) {
            let mut fired = fired(begin_us, &waits_us, step_us);
            fired.sort_unstable();
            let numbers: Vec<u32> = fired.iter().map(|(number, _)| *number).collect();
            prop_assert_eq!(numbers, (0..waits_us.len() as u32).collect::<Vec<_>>());
            for (number, at_us) in fired {
                let due_us = begin_us + waits_us[number as usize];
                prop_assert!(at_us >= due_us, "{number} came up {} us early", due_us - at_us);
                prop_assert!(at_us < due_us + TICK_US + step_us, "{number} came up {} us late", at_us - due_us);
            }
        }

        /// A thread that sleeps until the ring says so misses nothing, and does not wake in vain more often than once a revolution.
        #[test]
        fn a_sleeper_is_woken_in_time(begin_us in 0..1u64 << 50, wait_us in 0..20_000_000u64) {
            let mut ring = TimerRing::new(TICK_US, begin_us);
            let (due_us, mut now_us, mut woken, mut list) = (begin_us + wait_us, begin_us, 0, Vec::new());
            ring.arm(7, due_us);
            while now_us < due_us {
                now_us = now_us.max(ring.next_us().unwrap());
                woken += 1;
                while ring.expire(now_us, &mut list) {
                    for number in list.drain(..) {
                        ring.arm(number, due_us);
                    }
                }
            }
            prop_assert!(now_us < due_us + TICK_US);
            prop_assert!(woken <= wait_us / ((TICKS as u64 - 1) * TICK_US) + 2);
        }
    }
}

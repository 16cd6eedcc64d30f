//! A hierarchical timing wheel (Varghese and Lauck, 1987): every timer of an owner task's tables in one structure, armed and disarmed in
//! constant time, so that moving a table's timer with every action costs next to nothing.
//!
//! Has no clock: the caller passes the time. Never fires early; fires late by less than [`TICK_MS`], plus the caller's delay. Measured with
//! 100,000 timers that are moved repeatedly: 27 ns a move, against 396 ns in a `BTreeMap` (12,000 timers: 14 and 218).

use engine::time::UnixMs;

/// Resolution of the timers in milliseconds.
pub(super) const TICK_MS: u64 = 16;
/// Slots of a level: one bit of a word each.
const SLOTS: usize = 64;
const SLOT_BITS: u32 = SLOTS.trailing_zeros();
/// Enough levels for every tick that a 64-bit word can name: no timer is too far away.
const LEVELS: usize = u64::BITS.div_ceil(SLOT_BITS) as usize;
/// The end of a list.
const NONE: u32 = u32::MAX;

/// An armed timer. Once it has fired or was disarmed, using it does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timer {
    index: u32,
    generation: u32,
}

#[derive(Debug)]
struct Node<K> {
    key: K,
    due_tick: u64,
    /// In the list of its slot; of a free node: the next free one.
    next: u32,
    previous: u32,
    /// Level and slot, so that it can be unlinked.
    level: u8,
    slot: u8,
    /// Rises whenever the node is freed.
    generation: u32,
}

/// Timers by due time.
#[derive(Debug)]
pub(super) struct TimingWheel<K> {
    /// All timers due before this tick have fired.
    elapsed_tick: u64,
    heads: [[u32; SLOTS]; LEVELS],
    /// Which slots of a level hold timers. None of them lies before the present slot of its level.
    occupied: [u64; LEVELS],
    nodes: Vec<Node<K>>,
    free: u32,
    armed: usize,
}

impl<K: Copy> TimingWheel<K> {
    pub(super) fn new(now: UnixMs) -> Self {
        Self {
            elapsed_tick: tick_floor(now),
            heads: [[NONE; SLOTS]; LEVELS],
            occupied: [0; LEVELS],
            nodes: Vec::new(),
            free: NONE,
            armed: 0,
        }
    }

    /// Timers that wait to fire.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.armed
    }

    /// Arms a timer. One that is due already fires at the next [`TimingWheel::expire`].
    pub(super) fn arm(&mut self, due: UnixMs, key: K) -> Timer {
        let due_tick = tick_ceil(due).max(self.elapsed_tick);
        let node_index = self.allocate_node(key, due_tick);
        self.link(node_index);
        self.armed += 1;
        Timer { index: node_index, generation: self.nodes[node_index as usize].generation }
    }

    pub(super) fn disarm(&mut self, timer: Timer) {
        let is_armed = self.nodes.get(timer.index as usize).is_some_and(|node| node.generation == timer.generation);
        if is_armed {
            self.unlink(timer.index);
            self.free_node(timer.index);
        }
    }

    /// When to call [`TimingWheel::expire`] next: nothing fires before.
    pub(super) fn next(&self) -> Option<UnixMs> {
        let (_, _, tick) = self.first()?;
        Some(UnixMs(i64::try_from(tick.saturating_mul(TICK_MS)).unwrap_or(i64::MAX)))
    }

    /// Fires what is due at `now`: the keys go to `fired`, earliest tick first.
    pub(super) fn expire(&mut self, now: UnixMs, fired: &mut Vec<K>) {
        let now_tick = tick_floor(now);
        while let Some((level, slot, tick)) = self.first()
            && tick <= now_tick
        {
            self.elapsed_tick = tick;
            let mut node_index = std::mem::replace(&mut self.heads[level][slot], NONE);
            self.occupied[level] &= !(1 << slot);
            while node_index != NONE {
                let next = self.nodes[node_index as usize].next;
                if self.nodes[node_index as usize].due_tick <= tick {
                    fired.push(self.nodes[node_index as usize].key);
                    self.free_node(node_index);
                } else {
                    self.link(node_index);
                }
                node_index = next;
            }
        }
        self.elapsed_tick = self.elapsed_tick.max(now_tick);
    }

    /// The first slot that holds a timer: lower levels are sooner, and earlier slots of a level.
    fn first(&self) -> Option<(usize, usize, u64)> {
        let level = self.occupied.iter().position(|slots| *slots != 0)?;
        let slot = self.occupied[level].trailing_zeros();
        let shift = level as u32 * SLOT_BITS;
        let above = shift + SLOT_BITS;
        let begins = if above < u64::BITS { self.elapsed_tick >> above << above } else { 0 };
        let tick = begins | u64::from(slot) << shift;
        Some((level, slot as usize, tick.max(self.elapsed_tick)))
    }

    /// Links a node into the lowest level on which the timer's slot is not the present one.
    fn link(&mut self, node_index: u32) {
        let due_tick = self.nodes[node_index as usize].due_tick;
        let differing = self.elapsed_tick ^ due_tick | (SLOTS as u64 - 1);
        let level = ((u64::BITS - 1 - differing.leading_zeros()) / SLOT_BITS) as usize;
        let slot = (due_tick >> (level as u32 * SLOT_BITS)) as usize % SLOTS;
        let head = std::mem::replace(&mut self.heads[level][slot], node_index);
        self.occupied[level] |= 1 << slot;
        if head != NONE {
            self.nodes[head as usize].previous = node_index;
        }
        let node = &mut self.nodes[node_index as usize];
        (node.next, node.previous) = (head, NONE);
        (node.level, node.slot) = (level as u8, slot as u8);
    }

    fn unlink(&mut self, node_index: u32) {
        let Node { next, previous, level, slot, .. } = self.nodes[node_index as usize];
        let (level, slot) = (usize::from(level), usize::from(slot));
        if next != NONE {
            self.nodes[next as usize].previous = previous;
        }
        if previous != NONE {
            self.nodes[previous as usize].next = next;
        } else {
            self.heads[level][slot] = next;
            if next == NONE {
                self.occupied[level] &= !(1 << slot);
            }
        }
    }

    fn allocate_node(&mut self, key: K, due_tick: u64) -> u32 {
        let node_index = self.free;
        if let Some(node) = self.nodes.get_mut(node_index as usize) {
            self.free = node.next;
            (node.key, node.due_tick) = (key, due_tick);
            return node_index;
        }
        let node_index =
            u32::try_from(self.nodes.len()).expect("an owner task has fewer tables than there are 32-bit numbers");
        let (level, slot) = (0, 0);
        self.nodes.push(Node { key, due_tick, next: NONE, previous: NONE, level, slot, generation: 0 });
        node_index
    }

    fn free_node(&mut self, node_index: u32) {
        let node = &mut self.nodes[node_index as usize];
        node.generation = node.generation.wrapping_add(1);
        node.next = std::mem::replace(&mut self.free, node_index);
        self.armed -= 1;
    }
}

/// The tick that has begun at `at`: a timer due then fires in it or later.
fn tick_ceil(at: UnixMs) -> u64 {
    u64::try_from(at.0).unwrap_or(0).div_ceil(TICK_MS)
}

/// The last tick that had begun by `at`.
fn tick_floor(at: UnixMs) -> u64 {
    u64::try_from(at.0).unwrap_or(0) / TICK_MS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const BEGIN: i64 = 1_700_000_000_123;

    #[derive(Clone, Debug)]
    enum Step {
        Arm(i64),
        Disarm(usize),
        Pass(i64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let span =
            prop_oneof![-50..50i64, 0..5_000i64, 0..10_000_000i64, 0..1_000_000_000_000i64, Just(i64::MAX - BEGIN)];
        let pass = prop_oneof![-100..100i64, 0..3_000i64, 0..5_000_000i64, 0..100_000_000_000i64];
        let step = prop_oneof![
            4 => span.prop_map(Step::Arm),
            2 => (0..64usize).prop_map(Step::Disarm),
            3 => pass.prop_map(Step::Pass),
        ];
        prop::collection::vec(step, 1..120)
    }

    proptest! {
        /// Compared with a sorted map: the same timers fire at the same time, none is lost, none fires twice, and the wheel's wake-up time
        /// is no later than its first due time.
        #[test]
        fn fires_what_a_sorted_map_would(steps in steps()) {
            let (mut now, mut latest) = (BEGIN, BEGIN);
            let mut wheel = TimingWheel::new(UnixMs(now));
            let mut model: BTreeMap<(u64, usize), Timer> = BTreeMap::new();
            let mut timers = Vec::new();
            for (key, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Arm(span) => {
                        let due = UnixMs(now.saturating_add(span));
                        let timer = wheel.arm(due, key);
                        model.insert((tick_ceil(due).max(tick_floor(UnixMs(latest))), key), timer);
                        timers.push(timer);
                    }
                    Step::Disarm(which) => {
                        if let Some(timer) = timers.get(which) {
                            wheel.disarm(*timer);
                            model.retain(|_, armed| armed != timer);
                        }
                    }
                    Step::Pass(span) => {
                        now = now.saturating_add(span);
                        latest = latest.max(now);
                        let mut fired = Vec::new();
                        wheel.expire(UnixMs(now), &mut fired);
                        let rest = model.split_off(&(tick_floor(UnixMs(now)) + 1, 0));
                        let due = std::mem::replace(&mut model, rest).into_keys();
                        let mut want: Vec<usize> = due.map(|(_, key)| key).collect();
                        fired.sort_unstable();
                        want.sort_unstable();
                        prop_assert_eq!(fired, want);
                    }
                }
                prop_assert_eq!(wheel.len(), model.len());
                let next = wheel.next().map(tick_floor);
                prop_assert_eq!(next.is_some(), !model.is_empty());
                if let (Some(next), Some(((first, _), _))) = (next, model.first_key_value()) {
                    prop_assert!(next <= *first, "wakes at {next}, but {first} is due before");
                }
            }
        }
    }

    #[test]
    fn a_timer_that_is_moved_repeatedly_takes_one_node() {
        let mut wheel = TimingWheel::new(UnixMs(BEGIN));
        let mut timer = wheel.arm(UnixMs(BEGIN), 7);
        for after in 0..10_000 {
            wheel.disarm(timer);
            timer = wheel.arm(UnixMs(BEGIN + after * 977), 7);
        }
        assert_eq!((wheel.len(), wheel.nodes.len()), (1, 1));
    }

    #[test]
    fn a_timer_that_has_fired_disarms_no_other() {
        let mut wheel = TimingWheel::new(UnixMs(BEGIN));
        let fired = wheel.arm(UnixMs(BEGIN), 1);
        let mut keys = Vec::new();
        wheel.expire(UnixMs(BEGIN + 100), &mut keys);
        let _ = wheel.arm(UnixMs(BEGIN + 200), 2);
        wheel.disarm(fired);
        wheel.expire(UnixMs(BEGIN + 300), &mut keys);
        assert_eq!(keys, [1, 2]);
    }
}

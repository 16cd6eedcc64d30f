//! The order in which the movers of a batch are served: drawn anew for every batch, so that no mover and no connection
//! always wins.
//!
//! Every input gets a key: its mover's number, scattered by a function that the batch draws, before its own index in
//! the batch. Sorted by it, movers stand in random order and each mover's own inputs stay together, in the order in
//! which they came.

use super::input::Input;
use rules::chance::{Chance, Dice, Purpose, Seed};

/// The order of one batch; its memory is used again for the next.
#[derive(Clone, Debug, Default)]
pub(super) struct BatchOrder {
    keys: Vec<u64>,
}

impl BatchOrder {
    /// Draws the order of a batch: a batch of the same number and seed always has the same.
    pub(super) fn shuffle(&mut self, seed: Seed, batch: u32, inputs: &[Input]) {
        let mut dice = Chance::new(seed, batch, Purpose::WorldOrder);
        let (add, multiply) = (dice.below(u32::MAX), dice.below(u32::MAX) | 1);
        self.keys.clear();
        self.keys.extend((0_u64..).zip(inputs).map(|(index, input)| {
            let scattered = scatter((input.mover.slot ^ add).wrapping_mul(multiply));
            u64::from(scattered) << 32 | index
        }));
        self.keys.sort_unstable();
    }

    /// A key for each input, in order.
    pub(super) fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// The index of the input that a key stands for.
    pub(super) fn index_of(key: u64) -> usize {
        key as u32 as usize
    }
}

/// One to one on 32 bits, every bit of the result depending on every bit of the input: the finalizer of `MurmurHash3`.
fn scatter(mut bits: u32) -> u32 {
    bits ^= bits >> 16;
    bits = bits.wrapping_mul(0x85eb_ca6b);
    bits ^= bits >> 13;
    bits = bits.wrapping_mul(0xc2b2_ae35);
    bits ^ bits >> 16
}

#[cfg(test)]
mod tests {
    use super::super::input::{InputKind, MoverId, MoverRef};
    use super::*;
    use rules::world::Step;

    fn inputs(slots: &[u32]) -> Vec<Input> {
        let input = |(index, slot): (u32, &u32)| Input {
            mover: MoverRef { slot: *slot, id: MoverId(slot + 1) },
            seq: index,
            tag: 0,
            at_us: 0,
            kind: InputKind::Step(Step::Stay),
        };
        (0..).zip(slots).map(input).collect()
    }

    fn drawn(batch: u32, inputs: &[Input]) -> Vec<(u32, u32)> {
        let mut order = BatchOrder::default();
        order.shuffle(Seed(11), batch, inputs);
        order
            .keys()
            .iter()
            .map(|key| &inputs[BatchOrder::index_of(*key)])
            .map(|input| (input.mover.slot, input.seq))
            .collect()
    }

    #[test]
    fn a_movers_own_inputs_stay_in_sequence_and_together() {
        let inputs = inputs(&[3, 1, 3, 2, 1, 3, 9, 2, 3]);
        for batch in 0..200 {
            let order = drawn(batch, &inputs);
            assert_eq!(order.len(), inputs.len());
            let mut movers: Vec<u32> = order.iter().map(|(slot, _)| *slot).collect();
            movers.dedup();
            assert_eq!(movers.len(), 4, "all are served in one piece: {order:?}");
            let own = order.windows(2).filter(|pair| pair[0].0 == pair[1].0);
            assert!(own.clone().all(|pair| pair[0].1 < pair[1].1) && own.count() == 5);
        }
    }

    /// Chi square over which of eight is served first, with neighbouring slots and few: 7 degrees of freedom, 24.3 is p
    /// = 0.001.
    #[test]
    fn no_mover_is_first_more_often_than_others() {
        for slots in [[0, 1, 2, 3, 4, 5, 6, 7], [0, 64, 128, 192, 256, 320, 384, 448]] {
            let inputs = inputs(&slots);
            let mut first = [0_u32; 8];
            let mut last = [0_u32; 8];
            for batch in 0..8_000 {
                let order = drawn(batch, &inputs);
                let index = |slot| slots.iter().position(|have| *have == slot).unwrap();
                first[index(order[0].0)] += 1;
                last[index(order[7].0)] += 1;
            }
            for counts in [first, last] {
                let chi: f64 = counts.iter().map(|count| (f64::from(*count) - 1_000.0).powi(2) / 1_000.0).sum();
                assert!(chi < 24.3, "{counts:?}: {chi}");
            }
        }
    }

    #[test]
    fn a_batch_has_one_order_and_the_next_another() {
        let inputs = inputs(&(0..50).collect::<Vec<_>>());
        assert_eq!(drawn(1, &inputs), drawn(1, &inputs));
        assert_ne!(drawn(1, &inputs), drawn(2, &inputs));
    }
}

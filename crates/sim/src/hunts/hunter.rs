//! Hunters, and the answers that they received: the oracle of a simulated hunt.

use engine::limits::MOVER_ANSWERS_KEPT;
use engine::worlds::{Answer, Done, Fact, Input, InputKind, MoverId, Refusal, Registered};
use rules::world::Step;
use std::collections::{BTreeMap, BTreeSet};

/// A hunter: sends one input after the other, and again what was not answered.
#[derive(Default)]
pub(super) struct Hunter {
    /// The hunter's node.
    pub(super) node: Option<usize>,
    pub(super) registered: Option<Registered>,
    seq: u32,
    /// The input without an answer.
    unanswered: Option<InputKind>,
    pub(super) repeated: u32,
}

impl Hunter {
    /// The hunter is registered, perhaps again: an unanswered input is sent again, if the world has not gone back
    /// behind it.
    pub(super) fn register(&mut self, node: usize, registered: Registered) {
        let is_same = self.registered.is_some_and(|before| before.mover.id == registered.mover.id);
        if !is_same || registered.next_seq < self.seq {
            (self.seq, self.unanswered) = (registered.next_seq, None);
        }
        (self.node, self.registered) = (Some(node), Some(registered));
    }

    pub(super) fn next(&mut self, choice: u64, now_us: i64) -> Option<Input> {
        self.repeated += u32::from(self.unanswered.is_some());
        let what = *self.unanswered.get_or_insert(match choice % 4 {
            0 => InputKind::Dig,
            1 => InputKind::Grab,
            _ => InputKind::Step(Step::ALL[(choice / 4 % 9) as usize]),
        });
        Some(Input { mover: self.registered?.mover, seq: self.seq, tag: 0, at_us: now_us, kind: what })
    }

    fn receive(&mut self, answer: &Answer) {
        let is_awaited = self.unanswered.is_some() && self.seq == answer.seq;
        match answer.result {
            Err(Refusal::OutOfOrder { expected }) => (self.seq, self.unanswered) = (expected, None),
            Err(Refusal::UnknownMover) => self.node = None,
            _ if is_awaited => (self.seq, self.unanswered) = (answer.seq + 1, None),
            _ => {}
        }
    }
}

/// All answers that hunters ever received.
#[derive(Default)]
pub(super) struct ReceivedAnswers {
    won: BTreeMap<(MoverId, u32), Done>,
    ids: BTreeSet<MoverId>,
}

impl ReceivedAnswers {
    /// A new mover's number was never used before.
    pub(super) fn check_new_id(&mut self, id: MoverId) {
        assert!(self.ids.insert(id), "{id:?} was in use before");
    }

    /// `is_latest`: whether no other node has claimed the world since. A node that is behind may still move movers, as
    /// positions are soft; in a server its own clock ends that with its lease. Nothing durable follows from it.
    pub(super) fn receive(&mut self, node: usize, is_latest: bool, hunters: &mut [Hunter], answers: &[Answer]) {
        for answer in answers {
            let key = (answer.mover.id, answer.seq);
            match answer.result {
                Ok(done @ (Done::Dug { .. } | Done::Grabbed { .. })) => {
                    let before = self.won.insert(key, done);
                    assert!(before.is_none_or(|before| before == done), "{before:?}, and then {answer:?}");
                }
                // A node that was behind may have led its hunter back behind what is kept.
                Err(Refusal::OutOfOrder { expected })
                    if expected.wrapping_sub(answer.seq) > MOVER_ANSWERS_KEPT as u32 => {}
                _ => assert!(!is_latest || !self.won.contains_key(&key), "{key:?} had won, and receives {answer:?}"),
            }
            let is_his = |hunter: &&mut Hunter| {
                hunter.node == Some(node)
                    && hunter.registered.is_some_and(|registered| registered.mover == answer.mover)
            };
            if let Some(hunter) = hunters.iter_mut().find(is_his) {
                hunter.receive(answer);
            }
        }
    }

    /// Compares with the log: every answered claim is there, and nothing is there twice. Returns the number of claims.
    pub(super) fn check(&self, facts: &[Fact]) -> u32 {
        let mut items = BTreeSet::new();
        let mut saved = BTreeMap::new();
        for fact in facts {
            let (claim, done) = match fact {
                Fact::Dug { claim, points, score, .. } => {
                    (claim, Done::Dug { points: u16::try_from(*points).expect("a chest's points"), score: *score })
                }
                Fact::Grabbed { claim, kind, until, .. } => (claim, Done::Grabbed { item: *kind, until: *until }),
                Fact::RoundBegan { .. } | Fact::RoundEnded { .. } => continue,
            };
            assert!(items.insert((claim.round, claim.item)), "item {} was won twice", claim.item);
            let before = saved.insert((claim.hunter.mover, claim.seq), done);
            assert!(before.is_none(), "one input of {:?} won twice", claim.hunter.mover);
        }
        for (key, done) in &self.won {
            assert_eq!(saved.get(key), Some(done), "{key:?} was answered what the log does not have");
        }
        items.len() as u32
    }
}

//! Crashes at every moment of a claim: what was answered stays true, and what was not answered is answered once.
//!
//! A world, a log and a snapshot are separate; hunters repeat what they got no answer to. The world crashes between
//! deciding and saving, between saving and answering, or because another worker has claimed it, and is opened again
//! from what the store has.

use super::fixture::*;
use crate::rows::WorldLogRow;
use crate::worlds::{Answer, Done, Fact, InputKind, Refusal, Registered, Registration, World};
use proptest::prelude::*;
use rules::world::{Cell, Item, Step, WorldSettings};
use std::collections::{BTreeMap, BTreeSet};

/// What lasts.
#[derive(Default)]
struct Disk {
    snapshot: Option<(Vec<u8>, u32)>,
    rows: Vec<WorldLogRow>,
    epoch: u32,
}

impl Disk {
    fn open(&mut self, settings: WorldSettings, seed: u64) -> World {
        self.epoch += 1;
        let from = self.snapshot.as_ref().map_or(0, |(_, version)| *version);
        let rows: Vec<_> = self.rows.iter().filter(|row| row.version >= from).cloned().collect();
        let snapshot = self.snapshot.as_ref().map(|(bytes, _)| &bytes[..]);
        World::open(opening(settings, seed, self.epoch), snapshot, &rows, START_US).unwrap()
    }
}

/// A hunter on one cell, who digs there with one input after the other.
struct Digger {
    at: Cell,
    is_chest: bool,
    registered: Registered,
    seq: u32,
    is_waiting: bool,
}

impl Digger {
    fn what(&self) -> InputKind {
        if self.is_chest { InputKind::Dig } else { InputKind::Grab }
    }

    fn come_back(&mut self, world: &mut World) {
        let resume = Some((self.registered.mover.id, self.registered.key));
        self.registered = world.register(&Registration { resume, ..walker(Some(self.at)) }, START_US).unwrap();
        // What the world never received is sent again; what it received and did not answer is sent again as well.
        self.seq = self.seq.min(self.registered.next_seq);
    }
}

/// All answers that clients ever received.
#[derive(Default)]
struct ReceivedAnswers {
    answers: BTreeMap<(u32, u32), Result<Done, Refusal>>,
    won: BTreeSet<(u32, u32)>,
}

impl ReceivedAnswers {
    fn record(&mut self, diggers: &mut [Digger], answers: &[Answer]) {
        for answer in answers {
            let key = (answer.mover.id.0, answer.seq);
            let digger = diggers.iter_mut().find(|digger| digger.registered.mover.id == answer.mover.id);
            if let Some(digger) = digger.filter(|digger| digger.seq == answer.seq) {
                digger.is_waiting = false;
                digger.seq = match answer.result {
                    Err(Refusal::OutOfOrder { expected }) => expected,
                    _ => answer.seq + 1,
                };
            }
            match answer.result {
                Ok(Done::Dug { .. } | Done::Grabbed { .. }) => {
                    let before = self.answers.insert(key, answer.result);
                    assert!(before.is_none_or(|before| before == answer.result), "{before:?}, then {answer:?}");
                    self.won.insert(key);
                }
                _ => assert!(!self.won.contains(&key), "{key:?} had won, and receives {answer:?}"),
            }
        }
    }
}

/// The winner of each item in the log; every item once.
fn winners(rows: &[WorldLogRow]) -> BTreeMap<(u32, u32), (u32, u32)> {
    let mut items = BTreeSet::new();
    let facts = rows.iter().map(|row| Fact::from_bytes(&row.bytes).unwrap());
    let claims = facts.filter_map(|fact| match fact {
        Fact::Dug { claim, .. } | Fact::Grabbed { claim, .. } => Some(claim),
        _ => None,
    });
    claims
        .map(|claim| {
            assert!(items.insert((claim.round, claim.item)), "item {} has two winners", claim.item);
            ((claim.hunter.mover.0, claim.seq), (claim.round, claim.item))
        })
        .collect()
}

proptest! {
    #[test]
    fn every_answer_stays_true_after_a_crash(
        seed in any::<u64>(), deeds in proptest::collection::vec((0_u8..16, 0_usize..24), 10..250),
    ) {
        let settings = hunt(12, 12, 12, 6);
        let mut disk = Disk::default();
        let mut world = disk.open(settings, seed);
        register(&mut world, &walker(None));
        world.tick(START_US, &mut Vec::new());
        let begin = world.take_claims().unwrap();
        disk.rows.extend(begin.rows.clone());
        world.committed(begin.version(), START_US, &mut Vec::new()).unwrap();
        let placed: Vec<(Cell, Item)> = world.hunt.as_ref().unwrap().placed().iter().map(|at| (at.cell, at.item)).collect();
        let mut diggers: Vec<Digger> = (0..24).map(|number| {
            let (at, item) = placed[number % placed.len()];
            let registered = register(&mut world, &walker(Some(at)));
            Digger { at, is_chest: matches!(item, Item::Chest { .. }), registered, seq: 1, is_waiting: false }
        }).collect();
        let (mut received, mut draft) = (ReceivedAnswers::default(), None);
        for (deed, who) in deeds {
            let mut out = Vec::new();
            match deed {
                0..=5 => {
                    let digger = &mut diggers[who];
                    digger.is_waiting = true;
                    world.apply(&[input(digger.registered.mover, digger.seq, digger.what())], START_US, &mut out);
                }
                6 | 7 => {
                    // Another step ahead of what is not answered yet.
                    let digger = &mut diggers[who];
                    let ahead = digger.seq + u32::from(digger.is_waiting);
                    world.apply(&[input(digger.registered.mover, ahead, InputKind::Step(Step::Stay))], START_US, &mut out);
                }
                8..=10 => if let Some(pending) = world.take_claims() {
                    disk.rows.extend(pending.rows.clone());
                    world.committed(pending.version(), START_US, &mut out).unwrap();
                },
                11 | 12 => {
                    let mut snapshot = draft.take().unwrap_or_else(|| world.begin_snapshot(false));
                    if world.write_movers(&mut snapshot, who) {
                        let version = snapshot.claims_version;
                        prop_assert!(version as usize <= disk.rows.len());
                        disk.snapshot = Some((snapshot.into_bytes(), version));
                    } else {
                        draft = Some(snapshot);
                    }
                }
                13 => {
                    // Decided, perhaps on its way, and never saved.
                    let _ = world.take_claims();
                    draft = None;
                    world = disk.open(settings, seed);
                    diggers.iter_mut().for_each(|digger| digger.come_back(&mut world));
                }
                14 => {
                    // Saved, and not answered.
                    if let Some(pending) = world.take_claims() {
                        disk.rows.extend(pending.rows);
                    }
                    draft = None;
                    world = disk.open(settings, seed);
                    diggers.iter_mut().for_each(|digger| digger.come_back(&mut world));
                }
                _ => world.tick(START_US, &mut Vec::new()),
            }
            received.record(&mut diggers, &out);
            let durable = winners(&disk.rows);
            prop_assert!(received.won.iter().all(|key| durable.contains_key(key)), "announced and not saved");
        }
        let mut last = disk.open(settings, seed);
        let mut shown: Vec<u32> = last.hunt.as_ref().unwrap().top_scores(100).iter().map(|scored| scored.points).collect();
        let facts = disk.rows.iter().map(|row| Fact::from_bytes(&row.bytes).unwrap());
        let dug: u32 = facts.filter_map(|fact| match fact { Fact::Dug { points, .. } => Some(points), _ => None }).sum();
        shown.push(0);
        prop_assert_eq!(shown.iter().sum::<u32>(), dug);
        // No mover is locked out: all inputs are served again after that.
        for digger in &mut diggers {
            digger.come_back(&mut last);
            let answer = apply_input(&mut last, digger.registered.mover, digger.registered.next_seq, InputKind::Step(Step::Stay));
            prop_assert!(matches!(answer, Some(Ok(Done::Moved(_)))), "{:?}", answer);
        }
    }
}

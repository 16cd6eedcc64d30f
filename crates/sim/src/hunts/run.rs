//! One simulated hunt from its seed to its verdict.

use super::hunter::{Hunter, ReceivedAnswers};
use super::node::{CommitFate, Node, SaveResult, commit_one, commit_world};
use crate::dice::Dice;
use engine::commands::{Command, Outcome, WorldCommand};
use engine::ids::{WorkerId, WorldId, WorldName};
use engine::limits::LEASE_DURATION;
use engine::rows::{Admission, WorldKind, WorldRow};
use engine::time::UnixMs;
use engine::worlds::{
    Fact, Input, InputKind, Registration, World, WorldParams, settings_from_bytes, settings_to_bytes,
};
use rules::chance::Seed;
use rules::world::{HuntSettings, Size, Step, WorldSettings};
use std::time::Duration;
use store::contract::{Backend, Database};
use store::testing::MemoryDatabase;

const START_MS: i64 = 1_700_000_000_000;
const STEPS: u32 = 1_500;
const NODES: usize = 3;
const HUNTERS: usize = 10;
const WORLD: WorldId = WorldId(7);

/// What a simulation did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HuntReport {
    /// Claims in the log.
    pub claims: u32,
    /// Times that a node opened the world.
    pub opened: u32,
    /// Commits that another node's claim of the world refused.
    pub fenced: u32,
    /// Commits without an outcome for the node.
    pub unknown: u32,
    /// Nodes that died.
    pub killed: u32,
    /// Inputs that were sent again.
    pub repeated: u32,
}

struct Hunt {
    dice: Dice,
    store: Box<dyn Backend>,
    now_us: i64,
    workers: u64,
    nodes: Vec<Node>,
    hunters: Vec<Hunter>,
    received: ReceivedAnswers,
    report: HuntReport,
}

/// Runs the hunt of a seed.
///
/// # Panics
/// When anything that must be true is not; the seed is printed first.
#[must_use]
pub fn run(seed: u64) -> HuntReport {
    println!("simulating a hunt with seed {seed}");
    let database = MemoryDatabase::new();
    let store = database.writer().expect("a store in memory is always there");
    let mut hunt = Hunt {
        dice: Dice::new(seed ^ 0x4a17),
        store,
        now_us: START_MS * 1_000,
        workers: 0,
        nodes: Vec::new(),
        hunters: std::iter::repeat_with(Hunter::default).take(HUNTERS).collect(),
        received: ReceivedAnswers::default(),
        report: HuntReport::default(),
    };
    hunt.create(seed);
    for _ in 0..STEPS {
        hunt.step();
    }
    hunt.heal();
    let log = database.reader().expect("a store in memory is always there").world_log(WORLD, 0, usize::MAX);
    let rows = log.expect("a store in memory is always there").expect("the world is there").rows;
    let facts: Vec<Fact> =
        rows.iter().map(|row| Fact::from_bytes(&row.bytes).expect("the log has what was written")).collect();
    hunt.report.claims = hunt.received.check(&facts);
    hunt.report.repeated = hunt.hunters.iter().map(|hunter| hunter.repeated).sum();
    hunt.report
}

/// A small meadow with an item on every cell, and a round that outlasts the simulation.
fn settings() -> WorldSettings {
    let (round, pause) = (Duration::from_secs(7 * 24 * 3_600), Duration::ZERO);
    let hunt = HuntSettings { chests: 300, power_ups: 100, round, pause, ..HuntSettings::default() };
    let size = Size { width: 20, height: 20 };
    WorldSettings { size, tree_permille: 0, hunt: Some(hunt), move_min: Duration::ZERO, ..WorldSettings::default() }
}

impl Hunt {
    fn create(&mut self, seed: u64) {
        let row = WorldRow {
            id: WORLD,
            name: "meadow".parse::<WorldName>().expect("a meadow is a name"),
            kind: WorldKind::Hunt,
            settings: settings_to_bytes(&settings()),
            seed: Seed(seed),
            creator: None,
            created_at: self.now(),
            ends_at: None,
            admission: Admission::Everybody,
            players_max: 0,
        };
        let made = commit_world(&mut *self.store, WorldCommand::Ensure { row, members: Vec::new() });
        assert!(matches!(made, Outcome::World(_)), "{made:?}");
        for _ in 0..NODES {
            let node = self.new_node();
            self.nodes.push(node);
        }
    }

    fn now(&self) -> UnixMs {
        UnixMs(self.now_us / 1_000)
    }

    fn new_node(&mut self) -> Node {
        self.workers += 1;
        let mut random = [0; 10];
        random[..8].copy_from_slice(&self.workers.to_be_bytes());
        Node { worker: WorkerId::new(self.now(), random), held: None, asleep: 0 }
    }

    /// Everything that may happen, one of it.
    fn step(&mut self) {
        self.now_us += 1_000 * self.dice.below(40) as i64;
        self.renew();
        self.tick();
        let node = self.dice.below(NODES as u64) as usize;
        match self.dice.below(100) {
            0..=69 => self.send_input(),
            70..=91 => {
                let fate = match self.dice.below(100) {
                    0..=2 => CommitFate::Lost,
                    3..=5 => CommitFate::SavedUnreported,
                    6..=13 => CommitFate::Late,
                    _ => CommitFate::Saved,
                };
                self.save(node, fate);
            }
            92..=94 => {
                let kept = self.nodes[node].snapshot(&mut *self.store, WORLD);
                self.record_save(node, kept);
            }
            95 => self.kill(node),
            96 => self.nodes[node].asleep = 60,
            97 => self.now_us += LEASE_DURATION.as_micros() as i64 + 1_000,
            _ => self.disconnect_one(),
        }
    }

    /// A running node renews its lease; a suspended one continues to believe that it owns its world.
    fn renew(&mut self) {
        let (now, until) = (self.now(), self.now().plus(LEASE_DURATION));
        for at in 0..NODES {
            if self.nodes[at].asleep > 0 {
                self.nodes[at].asleep -= 1;
                continue;
            }
            let renew = |worker| Command::RenewLease { worker, address: format!("node-{at}.example:4000"), now, until };
            if commit_one(&mut *self.store, renew(self.nodes[at].worker)) != Outcome::Done {
                // A lease that has ended is over: the node continues as another worker, with what it has in memory.
                self.nodes[at].worker = self.new_node().worker;
                commit_one(&mut *self.store, renew(self.nodes[at].worker));
            }
        }
    }

    fn tick(&mut self) {
        for held in self.nodes.iter_mut().filter_map(|node| node.held.as_mut()) {
            held.world.tick(self.now_us, &mut Vec::new());
        }
    }

    /// A hunter sends an input, again if it was not answered; one without a connection enters the world first.
    fn send_input(&mut self) {
        let who = self.dice.below(HUNTERS as u64) as usize;
        let choice = self.dice.next();
        let Some(node) = self.hunters[who].node.or_else(|| self.visit(who)) else { return };
        if let Some(input) = self.hunters[who].next(choice, self.now_us) {
            self.apply(node, input);
        }
    }

    fn apply(&mut self, node: usize, input: Input) {
        let mut out = Vec::new();
        let is_latest = self.is_latest(node);
        if let Some(held) = &mut self.nodes[node].held {
            held.world.apply(&[input], self.now_us, &mut out);
        }
        self.received.receive(node, is_latest, &mut self.hunters, &out);
    }

    fn is_latest(&self, node: usize) -> bool {
        self.nodes[node].held.as_ref().is_some_and(|held| held.epoch == self.report.opened)
    }

    /// Finds the world at some node, which claims it if it has no owner, and registers.
    fn visit(&mut self, who: usize) -> Option<usize> {
        let node = self.dice.below(NODES as u64) as usize;
        let node = if self.nodes[node].held.is_some() { node } else { self.claim(node)? };
        let is_new = self.hunters[who].registered.is_none() || self.dice.bool_per_mille(50);
        let resume =
            self.hunters[who].registered.filter(|_| !is_new).map(|registered| (registered.mover.id, registered.key));
        let registration = Registration { is_resumable: true, resume, ..Registration::default() };
        let held = self.nodes[node].held.as_mut()?;
        let registered = held.world.register(&registration, self.now_us).expect("a meadow has room");
        if !registered.is_resumed {
            self.received.check_new_id(registered.mover.id);
        }
        self.hunters[who].register(node, registered);
        Some(node)
    }

    /// The node that has the world after a request to this one, if it can be reached.
    fn claim(&mut self, node: usize) -> Option<usize> {
        let (worker, now) = (self.nodes[node].worker, self.now());
        match commit_world(&mut *self.store, WorldCommand::Claim { id: WORLD, worker, now }) {
            Outcome::WorldClaimed(claimed) => {
                let settings =
                    settings_from_bytes(&claimed.row.settings).expect("the settings are as they were written");
                let opening =
                    WorldParams { id: WORLD, settings, seed: claimed.row.seed, epoch: claimed.epoch, ends_at: None };
                let world = World::open(opening, claimed.snapshot.as_deref(), &claimed.rows, self.now_us);
                self.nodes[node].hold(world.expect("a world that was saved can be opened"), claimed.epoch);
                self.report.opened += 1;
                Some(node)
            }
            Outcome::WorldElsewhere { address } => {
                let owner = (0..NODES).find(|at| address == format!("node-{at}.example:4000"))?;
                self.nodes[owner].held.is_some().then_some(owner)
            }
            Outcome::LeaseLost => None,
            other => unreachable!("a claim is answered {other:?}"),
        }
    }

    fn save(&mut self, node: usize, fate: CommitFate) {
        let mut out = Vec::new();
        let is_latest = self.is_latest(node);
        let kept = self.nodes[node].save(&mut *self.store, fate, self.now_us, &mut out);
        self.received.receive(node, is_latest, &mut self.hunters, &out);
        self.record_save(node, kept);
    }

    /// Who was at a node that lost its world looks for it anew.
    fn record_save(&mut self, node: usize, kept: SaveResult) {
        self.report.fenced += u32::from(kept == SaveResult::Fenced);
        self.report.unknown += u32::from(kept == SaveResult::Unknown);
        if kept != SaveResult::Saved {
            self.disconnect_all(node);
        }
    }

    fn disconnect_all(&mut self, node: usize) {
        let there = self.hunters.iter_mut().filter(|hunter| hunter.node == Some(node));
        there.for_each(|hunter| hunter.node = None);
    }

    fn kill(&mut self, node: usize) {
        if self.dice.bool_per_mille(500) {
            commit_one(&mut *self.store, Command::EndLease { worker: self.nodes[node].worker });
        }
        self.report.killed += 1;
        self.nodes[node] = self.new_node();
        self.disconnect_all(node);
    }

    /// A hunter's connection breaks; the node may notice.
    fn disconnect_one(&mut self) {
        let who = self.dice.below(HUNTERS as u64) as usize;
        let Some(node) = self.hunters[who].node.take() else { return };
        if let (Some(held), Some(registered)) = (&mut self.nodes[node].held, self.hunters[who].registered)
            && self.dice.bool_per_mille(500)
        {
            held.world.connection_lost(registered.mover, self.now_us);
        }
    }

    /// No more faults: what is decided is saved, and every input is answered.
    fn heal(&mut self) {
        self.now_us += LEASE_DURATION.as_micros() as i64 + 1_000;
        for node in 0..NODES {
            self.nodes[node].asleep = 0;
            self.save(node, CommitFate::Saved);
            self.save(node, CommitFate::Saved);
        }
        for node in 0..NODES {
            self.nodes[node].held = None;
            self.disconnect_all(node);
        }
        self.renew();
        for who in 0..HUNTERS {
            let node = (0..100).find_map(|_| self.visit(who)).expect("the world can be found");
            let registered = self.hunters[who].registered.expect("a hunter that visits is registered");
            let stay = Input {
                mover: registered.mover,
                seq: registered.next_seq,
                tag: 0,
                at_us: self.now_us,
                kind: InputKind::Step(Step::Stay),
            };
            let mut out = Vec::new();
            let held = self.nodes[node].held.as_mut().expect("a world that was found is there");
            held.world.apply(&[stay], self.now_us, &mut out);
            assert!(out.iter().any(|answer| answer.result.is_ok()), "hunter {who} gets no answer: {out:?}");
        }
    }
}

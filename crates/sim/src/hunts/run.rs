//! One simulated hunt from its seed to its verdict.

use super::hunter::{Hunter, ReceivedAnswers};
use super::node::{CommitFate, Node, SaveResult, commit_one, commit_world};
use super::plan::HuntPlan;
use crate::dice::Dice;
use crate::fault_counts::{FaultCounts, FaultKind};
use crate::world::DiskFailure;
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
    /// What went wrong.
    pub faults: FaultCounts,
    /// Made-up time that passed, in milliseconds.
    pub elapsed_ms: u64,
    /// Inputs that were sent again.
    pub repeated: u32,
}

struct Hunt {
    plan: HuntPlan,
    dice: Dice,
    /// For kinds of faults that came later: what the other dice give does not depend on them.
    fault_dice: Dice,
    /// How every commit fails, for so many more steps.
    disk: Option<(DiskFailure, u32)>,
    /// The epoch of the last claim of the world that was saved.
    latest_epoch: u32,
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
/// When anything that must be true is not; the plan is printed first.
#[must_use]
pub fn run(plan: HuntPlan) -> HuntReport {
    println!("simulating a hunt {plan:?}");
    let seed = plan.seed;
    let database = MemoryDatabase::new();
    let store = database.writer().expect("a store in memory is always there");
    let mut hunt = Hunt {
        dice: Dice::new(seed ^ 0x4a17),
        fault_dice: Dice::new(seed ^ 0xfa17),
        disk: None,
        latest_epoch: 0,
        plan,
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
    hunt.report.elapsed_ms = (hunt.now_us / 1_000 - START_MS) as u64;
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

    fn new_worker(&mut self) -> WorkerId {
        self.workers += 1;
        let mut random = [0; 10];
        random[..8].copy_from_slice(&self.workers.to_be_bytes());
        WorkerId::new(self.now(), random)
    }

    fn new_node(&mut self) -> Node {
        let skew_us = self.skew_us();
        Node { worker: self.new_worker(), held: None, asleep: 0, cut_off: 0, skew_us, steady_skew_us: skew_us }
    }

    fn skew_us(&mut self) -> i64 {
        let max = self.plan.skew_ms_max;
        1_000 * (self.fault_dice.below(2 * max + 1) as i64 - max as i64)
    }

    /// Everything that may happen, one of it.
    fn step(&mut self) {
        self.now_us += 1_000 * self.dice.below(40) as i64;
        self.begin_and_end_faults();
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
            92..=94 => self.snapshot(node),
            95 => self.kill(node),
            96 => {
                self.report.faults.record(FaultKind::Suspended);
                self.nodes[node].asleep = 60;
            }
            97 => self.now_us += LEASE_DURATION.as_micros() as i64 + 1_000,
            _ => self.disconnect_one(),
        }
    }

    /// Faults that last for a while: some begin, and some end.
    fn begin_and_end_faults(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.cut_off = node.cut_off.saturating_sub(1));
        self.disk = self.disk.and_then(|(failure, steps)| Some((failure, steps.checked_sub(1)?)));
        let node = self.fault_dice.below(NODES as u64) as usize;
        if self.fault_dice.bool_per_mille(self.plan.clock_set_per_mille) {
            self.report.faults.record(FaultKind::ClockSet);
            self.nodes[node].skew_us = self.skew_us();
        }
        if self.fault_dice.bool_per_mille(self.plan.cut_off_per_mille) {
            self.report.faults.record(FaultKind::CutOff);
            self.nodes[node].cut_off = self.fault_dice.below(300) as u32;
        }
        if self.fault_dice.bool_per_mille(self.plan.disk_failed_per_mille) {
            self.report.faults.record(FaultKind::DiskFailed);
            let is_saved = self.fault_dice.bool_per_mille(300);
            let failure = if is_saved { DiskFailure::AfterCommit } else { DiskFailure::BeforeCommit };
            self.disk = Some((failure, self.fault_dice.below(60) as u32));
        }
    }

    /// What happens to a node's commit that would otherwise go so.
    fn fate(&mut self, node: usize, otherwise: CommitFate) -> CommitFate {
        match self.disk {
            // What was sent waits in a connection, or the connection breaks.
            _ if self.nodes[node].cut_off > 0 => {
                if self.fault_dice.bool_per_mille(500) {
                    CommitFate::Late
                } else {
                    CommitFate::Lost
                }
            }
            Some((DiskFailure::BeforeCommit, _)) => CommitFate::Lost,
            Some((DiskFailure::AfterCommit, _)) => CommitFate::SavedUnreported,
            None => otherwise,
        }
    }

    /// One command of a node that waits for its outcome, and not for long; `None` when it gets none.
    fn commit_of(&mut self, node: usize, command: Command) -> Option<Outcome> {
        match self.fate(node, CommitFate::Saved) {
            CommitFate::Lost | CommitFate::Late => None,
            CommitFate::SavedUnreported => {
                self.commit(command);
                None
            }
            CommitFate::Saved => Some(self.commit(command)),
        }
    }

    fn commit(&mut self, command: Command) -> Outcome {
        let outcome = commit_one(&mut *self.store, command);
        if let Outcome::WorldClaimed(claimed) = &outcome {
            self.latest_epoch = claimed.epoch;
        }
        outcome
    }

    /// A running node renews its lease; a suspended one continues to believe that it owns its world.
    fn renew(&mut self) {
        for at in 0..NODES {
            if self.nodes[at].asleep > 0 {
                self.nodes[at].asleep -= 1;
                continue;
            }
            let now = self.nodes[at].date(self.now_us);
            let until = now.plus(LEASE_DURATION);
            let renew = |worker| Command::RenewLease { worker, address: format!("node-{at}.example:4000"), now, until };
            let renewed = self.commit_of(at, renew(self.nodes[at].worker));
            if renewed.is_some_and(|outcome| outcome != Outcome::Done) {
                // A lease that has ended is over: the node continues as another worker, with what it has in memory.
                self.nodes[at].worker = self.new_worker();
                self.commit_of(at, renew(self.nodes[at].worker));
            }
        }
    }

    fn tick(&mut self) {
        for node in &mut self.nodes {
            let now_us = node.steady_us(self.now_us);
            if let Some(held) = &mut node.held {
                held.world.tick(now_us, &mut Vec::new());
            }
        }
    }

    /// A hunter sends an input, again if it was not answered; one without a connection enters the world first.
    fn send_input(&mut self) {
        let who = self.dice.below(HUNTERS as u64) as usize;
        let choice = self.dice.next();
        let Some(node) = self.hunters[who].node.or_else(|| self.visit(who)) else { return };
        let now_us = self.nodes[node].steady_us(self.now_us);
        if let Some(input) = self.hunters[who].next(choice, now_us) {
            self.apply(node, input);
        }
    }

    fn apply(&mut self, node: usize, input: Input) {
        let mut out = Vec::new();
        let is_latest = self.is_latest(node);
        let now_us = self.nodes[node].steady_us(self.now_us);
        if let Some(held) = &mut self.nodes[node].held {
            held.world.apply(&[input], now_us, &mut out);
        }
        self.received.receive(node, is_latest, &mut self.hunters, &out);
    }

    fn is_latest(&self, node: usize) -> bool {
        self.nodes[node].held.as_ref().is_some_and(|held| held.epoch == self.latest_epoch)
    }

    /// Finds the world at some node, which claims it if it has no owner, and registers.
    fn visit(&mut self, who: usize) -> Option<usize> {
        let node = self.dice.below(NODES as u64) as usize;
        let node = if self.nodes[node].held.is_some() { node } else { self.claim(node)? };
        let is_new = self.hunters[who].registered.is_none() || self.dice.bool_per_mille(50);
        let resume =
            self.hunters[who].registered.filter(|_| !is_new).map(|registered| (registered.mover.id, registered.key));
        let registration = Registration { is_resumable: true, resume, ..Registration::default() };
        let now_us = self.nodes[node].steady_us(self.now_us);
        let held = self.nodes[node].held.as_mut()?;
        let registered = held.world.register(&registration, now_us).expect("a meadow has room");
        if !registered.is_resumed {
            self.received.check_new_id(registered.mover.id);
        }
        self.hunters[who].register(node, registered);
        Some(node)
    }

    /// The node that has the world after a request to this one, if it can be reached.
    fn claim(&mut self, node: usize) -> Option<usize> {
        let (worker, now) = (self.nodes[node].worker, self.nodes[node].date(self.now_us));
        let claim = Command::World(WorldCommand::Claim { id: WORLD, worker, now });
        let outcome = self.commit_of(node, claim)?;
        if self.fault_dice.bool_per_mille(self.plan.claim_unreported_per_mille) {
            self.report.faults.record(FaultKind::OutcomeLost);
            return None;
        }
        match outcome {
            Outcome::WorldClaimed(claimed) => {
                let settings =
                    settings_from_bytes(&claimed.row.settings).expect("the settings are as they were written");
                let opening =
                    WorldParams { id: WORLD, settings, seed: claimed.row.seed, epoch: claimed.epoch, ends_at: None };
                let now_us = self.nodes[node].steady_us(self.now_us);
                let world = World::open(opening, claimed.snapshot.as_deref(), &claimed.rows, now_us);
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
        let fate = self.fate(node, fate);
        match fate {
            CommitFate::Lost => self.report.faults.record(FaultKind::CommitLost),
            CommitFate::SavedUnreported => self.report.faults.record(FaultKind::OutcomeLost),
            CommitFate::Late => self.report.faults.record(FaultKind::CommitLate),
            CommitFate::Saved => {}
        }
        let now_us = self.nodes[node].steady_us(self.now_us);
        let kept = self.nodes[node].save(&mut *self.store, fate, now_us, &mut out);
        self.received.receive(node, is_latest, &mut self.hunters, &out);
        self.record_save(node, kept);
    }

    /// A snapshot that is not saved costs nothing but what is newer than the last one.
    fn snapshot(&mut self, node: usize) {
        let kept = match self.fate(node, CommitFate::Saved) {
            CommitFate::Saved => self.nodes[node].snapshot(&mut *self.store, WORLD),
            fate => {
                self.nodes[node].lose_snapshot(&mut *self.store, WORLD, fate == CommitFate::SavedUnreported);
                SaveResult::Saved
            }
        };
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
            self.commit_of(node, Command::EndLease { worker: self.nodes[node].worker });
        }
        self.report.faults.record(FaultKind::Killed);
        self.nodes[node] = self.new_node();
        self.disconnect_all(node);
    }

    /// A hunter's connection breaks; the node may notice.
    fn disconnect_one(&mut self) {
        let who = self.dice.below(HUNTERS as u64) as usize;
        let Some(node) = self.hunters[who].node.take() else { return };
        self.report.faults.record(FaultKind::RequestLost);
        let now_us = self.nodes[node].steady_us(self.now_us);
        if let (Some(held), Some(registered)) = (&mut self.nodes[node].held, self.hunters[who].registered)
            && self.dice.bool_per_mille(500)
        {
            held.world.connection_lost(registered.mover, now_us);
        }
    }

    /// No more faults: what is decided is saved, and every input is answered.
    fn heal(&mut self) {
        let skew_ms_max = self.plan.skew_ms_max as i64;
        self.now_us += LEASE_DURATION.as_micros() as i64 + 1_000 * (1 + 2 * skew_ms_max);
        self.disk = None;
        self.plan.claim_unreported_per_mille = 0;
        for node in 0..NODES {
            (self.nodes[node].asleep, self.nodes[node].cut_off) = (0, 0);
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
                at_us: self.nodes[node].steady_us(self.now_us),
                kind: InputKind::Step(Step::Stay),
            };
            let mut out = Vec::new();
            let now_us = self.nodes[node].steady_us(self.now_us);
            let held = self.nodes[node].held.as_mut().expect("a world that was found is there");
            held.world.apply(&[stay], now_us, &mut out);
            assert!(out.iter().any(|answer| answer.result.is_ok()), "hunter {who} gets no answer: {out:?}");
        }
    }
}

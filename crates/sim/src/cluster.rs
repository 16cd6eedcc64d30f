//! The processes of a simulation, and what goes wrong with them and how often: every option a number with a unit, drawn from the
//! seed.

use crate::dice::Dice;
use engine::limits::LEASE_DURATION;
use std::time::Duration;

/// Longer than any lease that ends: busy disks were seen to take seconds for an fsync.
const STALL: Duration = Duration::from_secs(10);

/// The processes of a simulation.
#[derive(Clone, Debug)]
pub struct ClusterPlan {
    /// Where all chance comes from.
    pub seed: u64,
    /// Processes that share the store.
    pub nodes: usize,
    /// Whether one process has the store for itself: the next one comes when it has gone.
    pub has_exclusive_store: bool,
    /// What goes wrong.
    pub faults: Faults,
}

impl ClusterPlan {
    /// Nothing goes wrong.
    pub fn remove_faults(&mut self) {
        self.faults.faulty_for = Duration::ZERO;
    }

    /// One process, which has the store for itself.
    pub fn use_exclusive_store(&mut self) {
        (self.has_exclusive_store, self.nodes) = (true, 1);
    }
}

/// Faults of the processes of a simulation and of their commands.
#[derive(Clone, Debug)]
pub struct Faults {
    /// How long faults happen.
    pub faulty_for: Duration,
    /// Of 1,000 commands, so many fail before they are saved.
    pub commit_lost_per_mille: u64,
    /// Of 1,000 commands, so many are saved and then reported as failed.
    pub commit_unknown_per_mille: u64,
    /// Of 1,000 commands, so many arrive late, by [`Faults::delay_min`] to [`Faults::delay_max`].
    pub commit_delayed_per_mille: u64,
    /// The shortest delay of a late command.
    pub delay_min: Duration,
    /// The longest delay of a late command.
    pub delay_max: Duration,
    /// A process is killed, drained or frozen about this often; `None` for never.
    pub process_fault_interval: Option<Duration>,
    /// The store is away about this often, for up to eight seconds; `None` for never.
    pub outage_interval: Option<Duration>,
    /// The disk stalls about this often, for [`Faults::stall_for`]: commits wait, and are saved after it in their order; `None` for
    /// never.
    pub stall_interval: Option<Duration>,
    /// How long a stall lasts.
    pub stall_for: Duration,
    /// Clocks of processes differ from the store's by up to this many milliseconds.
    pub skew_ms_max: u64,
    /// Of 1,000 reads, so many have no answer.
    pub read_lost_per_mille: u64,
    /// Of 1,000 commands, so many are refused because too many wait.
    pub overloaded_per_mille: u64,
    /// Of 1,000 requests of clients, so many are lost, or their answers.
    pub request_lost_per_mille: u64,
    /// For up to eight seconds all commits fail about this often, before they are saved or after it, while reads go on; `None` for never.
    pub disk_failure_interval: Option<Duration>,
    /// Whether processes are also cut off from the store, and their clocks set.
    pub has_cuts_and_clock_changes: bool,
}

impl Faults {
    /// The faults of a seed; `dice` are those of its plan.
    pub(crate) fn of(dice: &mut Dice, seed: u64) -> Self {
        let first = Self::first_kinds(dice);
        // By dice of their own: what else a seed stands for is as it was.
        let mut dice = Dice::new(seed ^ 0xd15c);
        Self {
            stall_interval: dice.bool_per_mille(200).then(|| Duration::from_millis(10_000 + dice.below(20_000))),
            stall_for: Duration::from_millis(500 + dice.below(STALL.as_millis() as u64)),
            read_lost_per_mille: dice.below(60),
            overloaded_per_mille: dice.below(40),
            request_lost_per_mille: dice.below(60),
            disk_failure_interval: dice.bool_per_mille(400).then(|| Duration::from_millis(5_000 + dice.below(20_000))),
            has_cuts_and_clock_changes: dice.bool_per_mille(800),
            ..first
        }
    }

    /// Only the kinds that there were when the first seeds were kept: with them a kept seed is what it was when it failed.
    #[must_use]
    pub fn of_first_kinds(self) -> Self {
        Self {
            stall_interval: None,
            stall_for: STALL,
            read_lost_per_mille: 0,
            overloaded_per_mille: 0,
            request_lost_per_mille: 0,
            disk_failure_interval: None,
            has_cuts_and_clock_changes: false,
            ..self
        }
    }

    fn first_kinds(dice: &mut Dice) -> Self {
        Self {
            faulty_for: Duration::from_secs(20 + dice.below(40)),
            commit_lost_per_mille: dice.below(60),
            commit_unknown_per_mille: dice.below(60),
            commit_delayed_per_mille: dice.below(20),
            delay_min: Duration::ZERO,
            delay_max: Duration::from_millis(1 + dice.below(12_000)),
            process_fault_interval: dice.bool_per_mille(800).then(|| Duration::from_millis(500 + dice.below(6_000))),
            outage_interval: dice.bool_per_mille(400).then(|| Duration::from_millis(5_000 + dice.below(20_000))),
            stall_interval: None,
            stall_for: STALL,
            skew_ms_max: dice.below(300),
            read_lost_per_mille: 0,
            overloaded_per_mille: 0,
            request_lost_per_mille: 0,
            disk_failure_interval: None,
            has_cuts_and_clock_changes: false,
        }
    }

    /// Nothing goes wrong but that the disk stalls again and again.
    #[must_use]
    pub fn only_stalls() -> Self {
        Self {
            faulty_for: STALL * 6,
            commit_lost_per_mille: 0,
            commit_unknown_per_mille: 0,
            commit_delayed_per_mille: 0,
            delay_min: Duration::ZERO,
            delay_max: Duration::from_millis(1),
            process_fault_interval: None,
            outage_interval: None,
            stall_interval: Some(STALL / 2),
            stall_for: STALL,
            skew_ms_max: 0,
            read_lost_per_mille: 0,
            overloaded_per_mille: 0,
            request_lost_per_mille: 0,
            disk_failure_interval: None,
            has_cuts_and_clock_changes: false,
        }
    }

    /// Appends arrive just after another process has claimed what they are about, and before it has written anything: nothing but the
    /// epoch refuses them.
    pub fn delay_appends_beyond_the_lease(&mut self) {
        self.commit_delayed_per_mille = 60;
        self.delay_min = LEASE_DURATION;
        self.delay_max = LEASE_DURATION + Duration::from_millis(1_200);
        self.process_fault_interval = Some(Duration::from_secs(2));
    }
}

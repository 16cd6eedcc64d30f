//! All simulators by name, each as a function of its seed: for `make simulate`, which knows nothing else of them.

use crate::competitions::{self, CompetitionPlan};
use crate::ladders::{self, LadderPlan};
use crate::tables::{self, TablePlan};
use crate::{ClusterPlan, FaultCounts, MatchPlan, hunts, run};
use std::time::Duration;

/// What one seed came to.
#[derive(Clone, Debug)]
pub struct SeedSummary {
    /// Made-up time that passed.
    pub simulated: Duration,
    pub faults: FaultCounts,
}

/// One simulator, with the plans that it draws from seeds.
pub struct Simulator {
    pub name: &'static str,
    /// Runs a seed. It panics when anything that must be true is not.
    pub run: fn(u64) -> SeedSummary,
}

/// Deaths of the process that has just moved a ladder on, in `ladders-deaths`.
const LADDER_DEATHS: u32 = 30;

/// What can be simulated. `-late`: appends arrive after another process has claimed what they are about; `-alone`: the store belongs to one
/// process at a time.
pub const SIMULATORS: &[Simulator] = &[
    Simulator { name: "matches", run: |seed| matches(MatchPlan::of_seed(seed)) },
    Simulator { name: "matches-late", run: |seed| matches(with(MatchPlan::of_seed(seed), late)) },
    Simulator {
        name: "matches-alone",
        run: |seed| matches(with(MatchPlan::of_seed(seed), ClusterPlan::use_exclusive_store)),
    },
    Simulator { name: "tables", run: |seed| tables(TablePlan::of_seed(seed)) },
    Simulator { name: "tables-late", run: |seed| tables(with(TablePlan::of_seed(seed), late)) },
    Simulator {
        name: "tables-alone",
        run: |seed| tables(with(TablePlan::of_seed(seed), ClusterPlan::use_exclusive_store)),
    },
    Simulator { name: "tables-bots", run: |seed| tables(TablePlan::few_people_and_bots(seed)) },
    Simulator { name: "hunts", run: hunt },
    Simulator { name: "competitions", run: |seed| competition(CompetitionPlan::of_seed(seed)) },
    Simulator { name: "competitions-late", run: |seed| competition(with(CompetitionPlan::of_seed(seed), late)) },
    Simulator { name: "ladders", run: |seed| ladder(LadderPlan::of_seed(seed)) },
    Simulator { name: "ladders-late", run: |seed| ladder(with(LadderPlan::of_seed(seed), late)) },
    Simulator { name: "ladders-deaths", run: |seed| ladder(LadderPlan::dies_at_every_step(seed, LADDER_DEATHS)) },
];

/// A plan for several processes.
trait OfCluster {
    fn cluster(&mut self) -> &mut ClusterPlan;
}

macro_rules! of_cluster {
    ($($plan:ty),+) => {
        $(impl OfCluster for $plan {
            fn cluster(&mut self) -> &mut ClusterPlan {
                &mut self.cluster
            }
        })+
    };
}

of_cluster!(MatchPlan, TablePlan, CompetitionPlan, LadderPlan);

fn with<P: OfCluster>(mut plan: P, change: fn(&mut ClusterPlan)) -> P {
    change(plan.cluster());
    plan
}

fn late(cluster: &mut ClusterPlan) {
    cluster.nodes = 3;
    cluster.faults.delay_appends_beyond_the_lease();
}

fn summary(elapsed_ms: u64, faults: FaultCounts) -> SeedSummary {
    SeedSummary { simulated: Duration::from_millis(elapsed_ms), faults }
}

fn matches(plan: MatchPlan) -> SeedSummary {
    let report = run(plan);
    summary(report.elapsed_ms, report.faults)
}

fn tables(plan: TablePlan) -> SeedSummary {
    let report = tables::run(plan);
    summary(report.elapsed_ms, report.faults)
}

fn competition(plan: CompetitionPlan) -> SeedSummary {
    let report = competitions::run(plan);
    summary(report.elapsed_ms, report.faults)
}

fn ladder(plan: LadderPlan) -> SeedSummary {
    let report = ladders::run(plan);
    summary(report.elapsed_ms, report.faults)
}

fn hunt(seed: u64) -> SeedSummary {
    let report = hunts::run(hunts::HuntPlan::of_seed(seed));
    summary(report.elapsed_ms, report.faults)
}

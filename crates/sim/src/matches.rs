//! The story of matches: what is played, by which bots, and what the runner touches beyond the store.

use crate::bots;
use crate::oracle::Oracle;
use crate::plan::Plan;
use crate::world::{Node, Story, World};
use engine::ids::MatchId;
use engine::matches::entry::Face;
use engine::matches::spec::MatchSpec;
use engine::rows::{LogPage, LogRow};
use server::metrics::Metrics;
use server::runner::{Answer, Call, Outside, Path};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::StoreError;
use tokio::time::sleep;

/// What is played.
pub(crate) struct Matches {
    pub(crate) plan: Plan,
    specs: BTreeMap<MatchId, MatchSpec>,
}

impl Story for Matches {
    type Oracle = Oracle;
}

impl Matches {
    pub(crate) fn world(plan: Plan) -> Arc<World<Self>> {
        let specs = plan.matches.iter().map(|spec| (spec.id, spec.clone())).collect();
        let (seed, faults, is_own) = (plan.seed, plan.faults.clone(), plan.is_own);
        World::new(Self { plan, specs }, seed, faults, is_own)
    }
}

impl World<Matches> {
    pub(crate) fn page(&self, id: MatchId) -> LogPage {
        self.read(|reader| reader.log(id, 0, usize::MAX)).expect("a planned match exists")
    }
}

impl Outside for Node<Matches> {
    async fn log(&self, id: MatchId) -> Result<Vec<LogRow>, StoreError> {
        self.reach_store().await?;
        Ok(self.world.page(id).rows)
    }

    async fn face(&self, url: String) -> Face {
        self.lag(20_000).await;
        bots::face(&url)
    }

    async fn call(&self, call: Call) -> Answer {
        self.thawed().await;
        let (id, turn, _) = bots::read(&call.body);
        let id: MatchId = id.parse().expect("the runner sends the match's id");
        if let Some((poisoned, from_turn)) = self.world.story.plan.poison {
            assert!(id != poisoned || turn < from_turn || call.path != Path::Move, "poison");
        }
        let saved = self.world.page(id);
        let spec = &self.world.story.specs[&id];
        self.world.oracle(|oracle| oracle.called(&call, spec, &saved));
        let (answer, latency) = bots::answer(&call);
        sleep(latency).await;
        self.thawed().await;
        answer
    }

    fn saved(&self, _id: MatchId, _version: u32) {}

    async fn queue_rung(&self) {
        std::future::pending::<()>().await;
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

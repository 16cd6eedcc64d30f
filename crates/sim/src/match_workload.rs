//! The workload of matches: what is played, by which bots, and the runner's effects beyond the store.

use crate::bots;
use crate::cluster::ClusterPlan;
use crate::oracle::MatchOracle;
use crate::plan::MatchPlan;
use crate::world::{Node, SimWorld, Workload};
use bot_client::signing::{CallSigner, SecretDeriver, SigningKeys};
use bot_client::statistics::Presence;
use bot_client::{BotCall, Webhook};
use engine::ids::{AccountId, BotId, MatchId};
use engine::matches::entry::{AnswerClass, Face};
use engine::matches::machine::BotAnswer;
use engine::matches::spec::MatchSpec;
use engine::rows::{MatchLogPage, MatchLogRow, SigningRow};
use matches::MatchEnvironment;
use metrics::Metrics;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::StoreError;
use telemetry::Tracer;
use tokio::time::sleep;

/// What is played.
pub(crate) struct MatchWorkload {
    pub(crate) plan: MatchPlan,
    specs: BTreeMap<MatchId, MatchSpec>,
}

impl Workload for MatchWorkload {
    type Oracle = MatchOracle;

    fn cluster(&self) -> &ClusterPlan {
        &self.plan.cluster
    }
}

impl MatchWorkload {
    pub(crate) fn world(plan: MatchPlan) -> Arc<SimWorld<Self>> {
        let specs = plan.matches.iter().map(|spec| (spec.id, spec.clone())).collect();
        SimWorld::new(Self { plan, specs })
    }
}

impl SimWorld<MatchWorkload> {
    pub(crate) fn page(&self, id: MatchId) -> MatchLogPage {
        self.read(|reader| reader.match_log(id, 0, usize::MAX)).expect("a planned match exists")
    }
}

impl MatchEnvironment for Node<MatchWorkload> {
    type Node = Self;

    fn node(&self) -> &Self {
        self
    }

    async fn read_log(&self, id: MatchId) -> Result<Vec<MatchLogRow>, StoreError> {
        self.reach_store_to_read().await?;
        Ok(self.world.page(id).rows)
    }

    async fn fetch_face(&self, url: String, _signer: Option<CallSigner>, _account: AccountId) -> Face {
        self.delay(20_000).await;
        bots::face(&url)
    }

    async fn call(&self, call: BotCall) -> BotAnswer {
        self.thawed().await;
        let (id, turn, _) = bots::read(&call.body);
        let id: MatchId = id.parse().expect("the runner sends the match's id");
        if let Some((poisoned, from_turn)) = self.world.workload.plan.poisoned {
            assert!(id != poisoned || turn < from_turn || call.webhook != Webhook::Move, "poison");
        }
        let saved = self.world.page(id);
        let spec = &self.world.workload.specs[&id];
        self.world.with_oracle(|oracle| oracle.on_call(&call, spec, &saved));
        let (answer, latency) = bots::answer(&call);
        sleep(latency).await;
        self.thawed().await;
        answer
    }

    async fn signing_keys(&self, row: SigningRow) -> Result<Arc<SigningKeys>, StoreError> {
        Ok(Arc::new(SecretDeriver::new(b"simulated").keys(row.bot, row.state, self.world.now())))
    }

    fn record_call(&self, _bot: BotId, _class: AnswerClass, _latency_ms: u16) {}

    fn record_face(&self, _bot: BotId, _face: &Face) {}

    fn record_match(&self, _bot: BotId, _presence: Presence, _is_competing: bool) {}

    fn notify_saved(&self, _id: MatchId) {}

    async fn queue_notified(&self) {
        std::future::pending::<()>().await;
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    fn tracer(&self) -> &Tracer {
        static NONE: Tracer = Tracer::OFF;
        &NONE
    }
}

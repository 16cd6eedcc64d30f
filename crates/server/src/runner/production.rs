//! The real environment of a runner: the store, the notifiers, and bots over HTTP.

use super::bots::BotClient;
use super::environment::{BotAnswer, BotCall, MatchEnvironment};
use crate::app::App;
use crate::lease::LeaseContext;
use crate::metrics::Metrics;
use engine::commands::{Command, Outcome};
use engine::ids::MatchId;
use engine::matches::entry::Face;
use engine::rows::MatchLogRow;
use engine::time::UnixMs;
use std::time::Duration;
use store::StoreError;

/// How often idle connections and outdated faces are dropped.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(super) struct ProductionEnvironment {
    app: App,
    bots: BotClient,
}

impl ProductionEnvironment {
    pub(super) fn new(app: App) -> Self {
        let config = &app.config;
        let (metrics, sockets) = (app.metrics.clone(), app.socket_budget.clone());
        let bots = BotClient::new(config.bot_connections_per_host, config.allow_private_bots, metrics, sockets);
        tokio::spawn(sweep(bots.clone(), app.clone()));
        Self { app, bots }
    }
}

async fn sweep(bots: BotClient, app: App) {
    loop {
        tokio::select! {
            () = app.drain.begun() => return,
            () = tokio::time::sleep(SWEEP_EVERY) => bots.sweep(),
            () = app.socket_budget.wait_for_shortage() => bots.close_idle(),
        }
    }
}

impl LeaseContext for ProductionEnvironment {
    fn now(&self) -> UnixMs {
        self.app.now()
    }

    fn random_bytes(&self) -> [u8; 10] {
        self.app.random_bytes()
    }

    fn address(&self) -> String {
        self.app.address()
    }

    fn has_exclusive_store(&self) -> bool {
        self.app.has_exclusive_store()
    }

    async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
        self.app.commit(command).await
    }
}

impl MatchEnvironment for ProductionEnvironment {
    async fn read_log(&self, id: MatchId) -> Result<Vec<MatchLogRow>, StoreError> {
        let page = self.app.store.read(move |reader| reader.match_log(id, 0, usize::MAX)).await?;
        Ok(page.map(|page| page.rows).unwrap_or_default())
    }

    async fn fetch_face(&self, url: String) -> Face {
        self.bots.face(&url).await
    }

    async fn call(&self, call: BotCall) -> BotAnswer {
        self.bots.call(call).await
    }

    fn notify_saved(&self, id: MatchId, version: u32) {
        self.app.notifier.notify(id, version);
    }

    async fn queue_notified(&self) {
        self.app.notifier.queue_notified().await;
    }

    fn metrics(&self) -> &Metrics {
        &self.app.metrics
    }
}

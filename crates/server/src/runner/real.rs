//! The real world of a runner: the store, the bells, and bots over HTTP.

use super::bots::Bots;
use super::outside::{Answer, Call, Outside};
use crate::app::App;
use crate::lease::Tenant;
use crate::metrics::Metrics;
use engine::commands::{Command, Outcome};
use engine::ids::MatchId;
use engine::matches::entry::Face;
use engine::rows::MatchLogRow;
use engine::time::UnixMs;
use std::time::Duration;
use store::StoreError;

/// How often connections and looks that nobody needs any more are dropped.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(super) struct Real {
    app: App,
    bots: Bots,
}

impl Real {
    pub(super) fn new(app: App) -> Self {
        let config = &app.config;
        let (metrics, sockets) = (app.metrics.clone(), app.sockets.clone());
        let bots = Bots::new(config.bot_connections_per_host, config.allow_private_bots, metrics, sockets);
        tokio::spawn(sweep(bots.clone(), app.clone()));
        Self { app, bots }
    }
}

async fn sweep(bots: Bots, app: App) {
    loop {
        tokio::select! {
            () = app.drain.begun() => return,
            () = tokio::time::sleep(SWEEP_EVERY) => bots.sweep(),
            () = app.sockets.wanted() => bots.make_room(),
        }
    }
}

impl Tenant for Real {
    fn now(&self) -> UnixMs {
        self.app.now()
    }

    fn random(&self) -> [u8; 10] {
        self.app.random()
    }

    fn address(&self) -> String {
        self.app.address()
    }

    fn is_alone(&self) -> bool {
        self.app.is_alone()
    }

    async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
        self.app.commit(command).await
    }
}

impl Outside for Real {
    async fn log(&self, id: MatchId) -> Result<Vec<MatchLogRow>, StoreError> {
        let page = self.app.store.read(move |reader| reader.match_log(id, 0, usize::MAX)).await?;
        Ok(page.map(|page| page.rows).unwrap_or_default())
    }

    async fn face(&self, url: String) -> Face {
        self.bots.face(&url).await
    }

    async fn call(&self, call: Call) -> Answer {
        self.bots.call(call).await
    }

    fn saved(&self, id: MatchId, version: u32) {
        self.app.bells.ring(id, version);
    }

    async fn queue_rung(&self) {
        self.app.bells.queue_rung().await;
    }

    fn metrics(&self) -> &Metrics {
        &self.app.metrics
    }
}

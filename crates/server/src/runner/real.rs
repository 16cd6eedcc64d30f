//! The real world of a runner: the store, the bells, and bots over HTTP.

use super::bots::Bots;
use super::outside::{Answer, Call, Outside};
use crate::app::App;
use crate::clock::random_bytes;
use crate::metrics::Metrics;
use engine::commands::{Command, Outcome};
use engine::ids::MatchId;
use engine::matches::entry::Face;
use engine::rows::LogRow;
use engine::time::UnixMs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;

/// How often connections and looks that nobody needs any more are dropped.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(super) struct Real {
    app: App,
    address: Arc<str>,
    bots: Bots,
}

impl Real {
    pub(super) fn new(app: App) -> Self {
        let config = &app.config;
        let bots = Bots::new(config.bot_connections_per_host, config.allow_private_bots, app.metrics.clone());
        tokio::spawn(sweep(bots.clone(), app.clone()));
        let address = reachable(config.address, &rustix::system::uname().nodename().to_string_lossy()).into();
        Self { app, address, bots }
    }
}

/// Where others reach who listens on `address`. "Every interface" is no place to them, and on every node the same: the machine's
/// name stands for it.
fn reachable(address: SocketAddr, machine: &str) -> String {
    if address.ip().is_unspecified() { format!("{machine}:{}", address.port()) } else { address.to_string() }
}

async fn sweep(bots: Bots, app: App) {
    loop {
        tokio::select! {
            () = app.drain.begun() => return,
            () = tokio::time::sleep(SWEEP_EVERY) => bots.sweep(),
        }
    }
}

impl Outside for Real {
    fn now(&self) -> UnixMs {
        self.app.clock.now()
    }

    fn random(&self) -> [u8; 10] {
        random_bytes()
    }

    fn address(&self) -> String {
        self.address.to_string()
    }

    async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
        self.app.store.commit(command).await
    }

    async fn log(&self, id: MatchId) -> Result<Vec<LogRow>, StoreError> {
        let page = self.app.store.read(move |reader| reader.log(id, 0, usize::MAX)).await?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, want: &str) {
        assert_eq!(reachable(address.parse().unwrap(), "node-a"), want, "{address}");
    }

    #[test]
    fn who_listens_everywhere_is_reached_by_the_machines_name() {
        check("127.0.0.1:4000", "127.0.0.1:4000");
        check("10.0.0.7:80", "10.0.0.7:80");
        check("[::1]:4000", "[::1]:4000");
        check("0.0.0.0:4000", "node-a:4000");
        check("[::]:4001", "node-a:4001");
    }
}

//! Readiness: whether a request that must be saved would be saved now, and whether this node serves tables where it should.
//!
//! The route is public and costs the store a small write, so requests at about the same time share one probe.

use crate::app::App;
use settings::ServeMode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio::time::timeout;
use wire::api::{Readiness, ReadinessCheck};

/// A store that does not respond for so long is not ready.
const PROBE_WAIT: Duration = Duration::from_secs(2);
/// How long a result is reused.
const PROBE_CACHE_TTL: Duration = Duration::from_millis(250);

/// The last result. Requests during a probe wait for its result.
#[derive(Clone, Default)]
pub(super) struct Probe(Arc<Mutex<Option<CachedProbe>>>);

/// Why a check failed, if it did.
type CheckResult = Result<(), &'static str>;

struct CachedProbe {
    at: Instant,
    result: CheckResult,
}

impl Probe {
    async fn check_store(&self, app: &App) -> CheckResult {
        let mut last = self.0.lock().await;
        if let Some(known) = last.as_ref().filter(|known| known.at.elapsed() < PROBE_CACHE_TTL) {
            return known.result;
        }
        let result = probe_store(app).await;
        *last = Some(CachedProbe { at: Instant::now(), result });
        result
    }
}

/// Without details, because the route needs no token: the log has them.
async fn probe_store(app: &App) -> CheckResult {
    // The writer knows better than a probe: a small write may succeed where the last commit did not.
    if let Some(error) = app.node.store.refusal() {
        tracing::debug!(%error, "not ready: the store was lost");
        return Err("the store cannot be reached or written");
    }
    if let Some((count, error)) = app.node.store.missing_readers() {
        tracing::debug!(count, %error, "not ready: connections to the database that this server needs cannot be made");
        return Err(
            "connections to the database that this server needs cannot be made: its max_connections must allow each \
                    server one to write, store.connections and replays.threads to read, and one for /readyz",
        );
    }
    match timeout(PROBE_WAIT, app.probe_reader.read(|reader| reader.probe())).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            tracing::debug!(%error, "not ready: the store refuses");
            Err("the store cannot be reached or written")
        }
        Err(_) => Err("the store does not answer in time"),
    }
}

/// A node serves tables while it holds a lease of its own. A draining node releases them; another check reports that.
fn check_tables(app: &App) -> CheckResult {
    let is_served = app.config.serve_mode != ServeMode::All || app.drain.has_begun() || app.tables.is_serving();
    if is_served { Ok(()) } else { Err("this server holds no lease on tables at the moment") }
}

/// Every check, and whether all passed.
pub(super) async fn check_readiness(app: &App, probe: &Probe) -> Readiness {
    let serving = if app.drain.is_announced() { Err("this server is leaving") } else { Ok(()) };
    let checks = [("serving", serving), ("tables", check_tables(app)), ("store", probe.check_store(app).await)];
    let checks = checks.map(|(name, result)| ReadinessCheck {
        name: name.to_owned(),
        ok: result.is_ok(),
        detail: result.err().map(str::to_owned),
    });
    Readiness { ready: checks.iter().all(|check| check.ok), checks: checks.into() }
}

//! Metrics of the store: waiting and working apart. The store reports them through its `Observer`.

use super::Metrics;
use super::instruments::{Counter, Histogram};
use super::macros::metrics;
use super::text::{Exposed, FamilyKind, Page};
use ::store::{Damage, Observer, StoredKind};
use std::time::Duration;

metrics! {
    pub StoreMetrics;
    batches: Counter = "gauntlet_store_batches_total", "Batches of commands that the store executed.";
    batches_failed: Counter = "gauntlet_store_batches_failed_total", "Batches of commands that were not saved.";
    commands: Counter = "gauntlet_store_commands_total", "Commands that were saved.";
    commit_wait: Histogram = "gauntlet_store_commit_wait_seconds",
        "Longest time that a command of a batch waited for the batch to begin, in seconds.";
    commit: Histogram = "gauntlet_store_commit_seconds", "Time that a batch took in the database, in seconds.";
    pool_wait: Histogram = "gauntlet_store_pool_wait_seconds", "Time that a read waited for a free reader, in seconds.";
    query: Histogram = "gauntlet_store_query_seconds", "Time that a read took in the database, in seconds.";
    queries_failed: Counter = "gauntlet_store_queries_failed_total", "Reads that failed.";
    damaged: ByStoredKind = "gauntlet_store_damaged_total",
        "Stored bytes that are not what was written, by what they are; each is counted once in the life of a process.";
}

/// What was damaged, by what it is.
#[derive(Debug, Default)]
pub struct ByStoredKind([Counter; StoredKind::ALL.len()]);

impl ByStoredKind {
    fn inc(&self, kind: StoredKind) {
        if let Some(at) = StoredKind::ALL.into_iter().position(|known| known == kind) {
            self.0[at].inc();
        }
    }
}

impl Exposed for ByStoredKind {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, FamilyKind::Counter);
        for (kind, counter) in StoredKind::ALL.into_iter().zip(&self.0) {
            page.sample(&[("kind", kind.name())], counter.get());
        }
    }
}

impl Observer for Metrics {
    fn committed(&self, commands: usize, queue_wait_max: Duration, took: Duration, is_ok: bool) {
        self.store.batches.inc();
        self.store.commit_wait.observe(queue_wait_max);
        self.store.commit.observe(took);
        if is_ok {
            self.store.commands.add(commands as u64);
        } else {
            self.store.batches_failed.inc();
        }
    }

    fn read(&self, pool_wait: Duration, took: Duration, is_ok: bool) {
        self.store.pool_wait.observe(pool_wait);
        self.store.query.observe(took);
        self.store.queries_failed.add(u64::from(!is_ok));
    }

    fn damaged(&self, damage: &Damage) {
        self.store.damaged.inc(damage.kind);
        tracing::error!(
            kind = damage.kind.name(),
            key = damage.key,
            why = damage.why,
            "stored data are damaged: what they belong to cannot be read, and nothing of it is changed; everything else goes on. Restore \
             them from a backup (docs/operate.md)"
        );
    }
}

//! Metrics of the store.

use super::Metrics;
use ::store::Observer;
use std::time::Duration;

impl Observer for Metrics {
    fn committed(&self, commands: usize, queue_wait_max: Duration, took: Duration, is_ok: bool) {
        let metrics = &self.core;
        metrics.store_batches.inc();
        metrics.commit_wait.observe(queue_wait_max);
        metrics.commit.observe(took);
        if is_ok {
            metrics.store_commands.add(commands as u64);
        } else {
            metrics.store_batches_failed.inc();
        }
    }

    fn read(&self, pool_wait: Duration, took: Duration, is_ok: bool) {
        self.core.pool_wait.observe(pool_wait);
        self.core.query.observe(took);
        self.core.queries_failed.add(u64::from(!is_ok));
    }
}

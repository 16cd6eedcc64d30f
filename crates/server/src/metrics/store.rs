//! What the store tells of itself.

use super::Metrics;
use ::store::Observer;
use std::time::Duration;

impl Observer for Metrics {
    fn committed(&self, commands: usize, queue_wait_max: Duration, took: Duration, is_ok: bool) {
        let figures = &self.core;
        figures.store_batches.inc();
        figures.commit_wait.observe(queue_wait_max);
        figures.commit.observe(took);
        if is_ok {
            figures.store_commands.add(commands as u64);
        } else {
            figures.store_batches_failed.inc();
        }
    }

    fn read(&self, pool_wait: Duration, took: Duration, is_ok: bool) {
        self.core.pool_wait.observe(pool_wait);
        self.core.query.observe(took);
        self.core.queries_failed.add(u64::from(!is_ok));
    }
}

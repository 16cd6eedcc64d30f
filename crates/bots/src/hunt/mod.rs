//! Hunters: movers over the network, in protocol buffers over TCP, who wander through a world, dig what chests they
//! come by and grab power-ups. For trying a server out by hand, and for company; measuring is the lab's.
//!
//! Each hunter is one connection and one mover. It acts at its rate, at a phase of its own, with at most one act
//! unanswered; when the connection is lost it reconnects, and resumes its mover.

mod brain;
mod cli;
mod counters;
mod frames;
mod hunter;

pub use cli::{HuntArgs, HuntConfig};
pub use counters::HuntCounters;

use crate::characters::Chance;
use hunter::Hunter;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

/// How often `report` is called.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);
/// Time in which hunters disconnect.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(2);

/// Hunts until `shutdown`, and reports progress now and then; returns the counters, with the hunters that were in the
/// world at the shutdown. Call it on a runtime.
pub async fn hunt(
    config: HuntConfig,
    mut report: impl FnMut(&HuntCounters),
    shutdown: impl Future<Output = ()>,
) -> Arc<HuntCounters> {
    let config = Arc::new(config);
    let counters = Arc::new(HuntCounters { hunters: config.count, ..HuntCounters::default() });
    let (leave, left) = watch::channel(false);
    let mut hunters = JoinSet::new();
    for number in 0..config.count {
        let chance = Chance::from_seed(config.seed.wrapping_add(u64::from(number)));
        hunters.spawn(Hunter::new(config.clone(), counters.clone(), chance).run(left.clone()));
    }
    let reporting = async {
        let mut ticks = interval(REPORT_INTERVAL);
        ticks.tick().await;
        loop {
            ticks.tick().await;
            report(&counters);
        }
    };
    tokio::select! {
        () = shutdown => {}
        () = reporting => {}
    }
    leave.send_replace(true);
    let all_left = async { while hunters.join_next().await.is_some() {} };
    if timeout(LEAVE_TIMEOUT, all_left).await.is_err() {
        hunters.shutdown().await;
    }
    counters
}

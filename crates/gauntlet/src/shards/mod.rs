//! `gauntlet serve --shards N`: plain servers under one supervisor, each with its own port, worlds and data file, so that more
//! connections than one process may open are a setting.
//!
//! The supervisor starts them, starts again what dies (that one alone), hands signals on, and says which worlds are where. It
//! serves no game, opens no store, and no byte of a game passes through it. When it dies, however that comes about, the kernel
//! ends the shards: a data file never has a server that nobody knows of.

mod child;
mod client;
mod metrics_sum;
mod plan;
mod registry;
mod restart_backoff;
mod supervisor_api;

use crate::cli_settings::CliSettings;
use crate::output::{CliError, print_line};
use crate::signals::{reload_signals, shutdown_signal};
use engine::limits::OPS_CONNECTIONS_MAX;
use plan::ShardPlan;
use registry::{ShardCommands, ShardEvent, ShardRegistry};
use server::config::Config;
use server::gateway::listener::{self, AddressLimit};
use server::metrics::Metrics;
use server::process;
use std::future::pending;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use supervisor_api::SupervisorApi;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// Time in which questions under way at the supervisor's port are answered.
const API_DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Supervises until a signal to leave.
pub(crate) fn serve(config: &Config, typed: &CliSettings) -> Result<ExitCode, CliError> {
    let plans = ShardPlan::of(config, typed.file.as_deref(), &typed.given);
    // One thread: shards are bound to the life of the thread that starts them, and this one lives as long as the process.
    let runtime = crate::serve::runtime(1)?;
    runtime.block_on(supervise(config, plans))?;
    Ok(ExitCode::SUCCESS)
}

async fn supervise(config: &Config, plans: Vec<ShardPlan>) -> Result<(), CliError> {
    let (shutdown, mut reloads) = (shutdown_signal()?, reload_signals()?);
    tokio::pin!(shutdown);
    let listener = process::bind(config.address)?;
    let address = listener.local_addr()?;
    let ops = config
        .ops_port
        .map(|port| process::bind_operators(SocketAddr::new(config.ops_address.ip(), port)))
        .transpose()?;
    let house = Arc::new(ShardRegistry::new(&plans));
    let (orders, _) = watch::channel(ShardCommands::default());
    let (mut tending, mut news) = supervise_all(&house, plans, &orders);
    let opened = tokio::select! {
        opened = wait_until_serving(&mut news, config.shards) => opened.map(|()| true),
        () = &mut shutdown => Ok(false),
    };
    if let Ok(true) = opened {
        drop(news);
        print_line(ready_line(address, &house))?;
        let limits = listener::ListenerConfig::of(config, API_DRAIN_TIMEOUT);
        let pass_reloads_on = async {
            while reloads.recv().await.is_some() {
                orders.send_modify(|orders| orders.reloads += 1);
            }
        };
        let (door, metrics) = (SupervisorApi::new(house), Arc::new(Metrics::default()));
        let address_limit = Some(AddressLimit::of(config));
        let shares =
            listener::ListenerResources { address_limit, ..listener::ListenerResources::from(metrics.clone()) };
        let operators = async {
            let Some(ops) = ops else { return pending().await };
            let limits = listener::ListenerConfig { connections_max: OPS_CONNECTIONS_MAX, ..limits };
            listener::serve(ops, door.clone(), limits, metrics, pending()).await;
        };
        tokio::select! {
            () = listener::serve(listener, door.clone(), limits, shares, shutdown) => {}
            () = operators => {}
            () = pass_reloads_on => {}
        }
    }
    tracing::info!("leaving: every shard is asked to leave");
    orders.send_modify(|orders| orders.stop = true);
    while tending.join_next().await.is_some() {}
    opened.map(drop)
}

fn supervise_all(
    house: &Arc<ShardRegistry>,
    plans: Vec<ShardPlan>,
    orders: &watch::Sender<ShardCommands>,
) -> (JoinSet<()>, mpsc::Receiver<ShardEvent>) {
    let (tell, news) = mpsc::channel(plans.len().max(1));
    let mut tending = JoinSet::new();
    for plan in plans {
        let (house, orders, tell) = (house.clone(), orders.subscribe(), tell.clone());
        tending.spawn(async move { house.supervise(plan, orders, tell).await });
    }
    (tending, news)
}

/// Waits until every shard serves. One that never did so does not because of how it was started: somebody must act.
async fn wait_until_serving(news: &mut mpsc::Receiver<ShardEvent>, shards: usize) -> Result<(), CliError> {
    let mut up = 0;
    while up < shards {
        match news.recv().await {
            Some(ShardEvent::Serving) => up += 1,
            Some(ShardEvent::FailedToStart(number, how)) => {
                let why = format_args!("shard {number} did not start ({how}): what it said stands above");
                return Err(CliError::failed(why));
            }
            None => return Err(CliError::failed("the shards are no longer tended, by a defect of this program")),
        }
    }
    Ok(())
}

/// The one line that says where to go. Said once every shard serves.
fn ready_line(address: SocketAddr, house: &ShardRegistry) -> String {
    let shards = house.shards();
    let places: Vec<String> = shards.iter().map(|shard| shard.address.to_string()).collect();
    format!(
        "gauntlet supervises http://{address} ({} shards: {}; process: {})",
        shards.len(),
        places.join(" "),
        std::process::id()
    )
}

//! `gauntlet serve --shards N`: plain servers under one supervisor, each with its own port, worlds and data file, so
//! that more connections than one process may open are a setting.
//!
//! The supervisor starts them, restarts one that ends (that one alone), passes signals on, and lists which worlds are
//! where. It serves no game, opens no store, and no byte of a game passes through it. When it ends, for any reason, the
//! kernel ends the shards: a data file never has a server without a supervisor.

mod child;
mod client;
mod metrics_sum;
mod plan;
mod registry;
mod supervisor_api;

use crate::cli_settings::CliSettings;
use crate::output::{CliError, print_line};
use crate::runtime::{reload_signals, shutdown_signal};
use engine::limits::OPS_CONNECTIONS_MAX;
use gateway::listener;
use metrics::Metrics;
use plan::ShardPlan;
use quotas::address_limit::AddressLimit;
use registry::{ShardCommands, ShardEvent, ShardRegistry};
use server::process;
use settings::Config;
use std::future::pending;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use supervisor_api::SupervisorApi;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Time in which requests under way at the supervisor's port are answered.
const API_DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Supervises until a signal to leave.
pub(crate) fn serve(config: &Config, typed: &CliSettings) -> Result<ExitCode, CliError> {
    let plans = ShardPlan::of(config, typed.file.as_deref(), &typed.given);
    // One thread: shards are bound to the thread that starts them, and this one lives as long as the process.
    let runtime = crate::runtime::runtime(1)?;
    runtime.block_on(supervise(config, plans))?;
    Ok(ExitCode::SUCCESS)
}

async fn supervise(config: &Config, plans: Vec<ShardPlan>) -> Result<(), CliError> {
    let (shutdown, mut reloads) = (shutdown_signal()?, reload_signals()?);
    tokio::pin!(shutdown);
    let listener = process::bind(config.address())?;
    let address = listener.local_addr()?;
    let ops = config
        .ops_port
        .map(|port| process::bind_operators(SocketAddr::new(config.ops_interface.0, port)))
        .transpose()?;
    let registry = Arc::new(ShardRegistry::new(&plans));
    let (commands, _) = watch::channel(ShardCommands::default());
    let (mut supervisors, mut events) = supervise_all(&registry, plans, &commands);
    let opened = tokio::select! {
        opened = wait_until_serving(&mut events, config.shards) => opened.map(|()| true),
        () = &mut shutdown => Ok(false),
    };
    if let Ok(true) = opened {
        drop(events);
        print_line(ready_line(address, &registry))?;
        let limits = listener::ListenerConfig::of(config, API_DRAIN_TIMEOUT);
        let forward_reloads = async {
            while reloads.recv().await.is_some() {
                commands.send_modify(|commands| commands.reloads += 1);
            }
        };
        let (api, metrics) = (SupervisorApi::new(registry), Arc::new(Metrics::default()));
        let address_limit = Some(AddressLimit::of(config));
        let resources =
            listener::ListenerResources { address_limit, ..listener::ListenerResources::from(metrics.clone()) };
        let operators = async {
            let Some(ops) = ops else { return pending().await };
            let limits = listener::ListenerConfig { connections_max: OPS_CONNECTIONS_MAX, ..limits };
            listener::serve(ops, api.clone(), limits, metrics, pending()).await;
        };
        // Shards say at once that they leave, and so does the supervisor, by theirs; it serves for as long as they do.
        let left = async {
            shutdown.await;
            if !config.drain_delay.is_zero() {
                stop_shards(&commands);
                sleep(config.drain_delay).await;
            }
        };
        tokio::select! {
            () = listener::serve(listener, api.clone(), limits, resources, left) => {}
            () = operators => {}
            () = forward_reloads => {}
        }
    }
    stop_shards(&commands);
    while supervisors.join_next().await.is_some() {}
    opened.map(drop)
}

/// Repeating it changes nothing.
fn stop_shards(commands: &watch::Sender<ShardCommands>) {
    commands.send_if_modified(|commands| {
        let is_first = !commands.stop;
        if is_first {
            tracing::info!("stopping: every shard is sent SIGTERM");
        }
        commands.stop = true;
        is_first
    });
}

fn supervise_all(
    registry: &Arc<ShardRegistry>,
    plans: Vec<ShardPlan>,
    commands: &watch::Sender<ShardCommands>,
) -> (JoinSet<()>, mpsc::Receiver<ShardEvent>) {
    let (sender, events) = mpsc::channel(plans.len().max(1));
    let mut supervisors = JoinSet::new();
    for plan in plans {
        let (registry, commands, sender) = (registry.clone(), commands.subscribe(), sender.clone());
        supervisors.spawn(async move { registry.supervise(plan, commands, sender).await });
    }
    (supervisors, events)
}

/// Waits until every shard serves. A shard that never did so has a wrong setting or environment: an operator must act.
async fn wait_until_serving(events: &mut mpsc::Receiver<ShardEvent>, shards: usize) -> Result<(), CliError> {
    let mut up = 0;
    while up < shards {
        match events.recv().await {
            Some(ShardEvent::Serving) => up += 1,
            Some(ShardEvent::FailedToStart(number, reason)) => {
                let text = format_args!("shard {number} did not start ({reason}): see its output above");
                return Err(CliError::failed(text));
            }
            None => return Err(CliError::failed("the shards are no longer supervised, by a defect of this program")),
        }
    }
    Ok(())
}

/// The one line with the addresses. Printed once every shard serves.
fn ready_line(address: SocketAddr, registry: &ShardRegistry) -> String {
    let shards = registry.shards();
    let addresses: Vec<String> = shards.iter().map(|shard| shard.address.to_string()).collect();
    format!(
        "gauntlet supervises http://{address} ({} shards: {}; process: {})",
        shards.len(),
        addresses.join(" "),
        std::process::id()
    )
}

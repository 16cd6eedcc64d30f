//! One serving process: opens its resources, serves clients, and on the signal drains in order and in time.
//!
//! Takes the configuration, the listener and the signal as arguments: the binary provides the real ones, tests their own.

mod advertised;
mod store_location;
mod system_limits;
#[cfg(test)]
mod tests;

pub use advertised::AddressError;
pub use store_location::{DataLock, StoreLocationError, check_rows, migrate_store, open_store, schema_version};
pub use system_limits::{machine, raise_file_limit};

use crate::assembly::assemble;
use crate::telemetry_tasks::Telemetry;
use crate::{background_jobs, owners, retirement, subsystem_configs};
use advertised::AddressClaim;
use engine::commands::{Command, Outcome};
use engine::ids::AccountId;
use engine::limits::{DRAIN_MAX, OPS_CONNECTIONS_MAX, WORLD_DRAIN_MAX};
use engine::rows::{Account, BOOTSTRAP_ACCOUNT_NAME};
use gateway::Gateway;
use gateway::app::{App, AppState};
use gateway::auth::BootstrapToken;
use gateway::listener::{self, ProxyListener, ServerTls};
use gateway::trials::TrialsHandle;
use metrics::Metrics;
use node::clock::random_bytes;
use node::lease;
use quotas::address_limit::AddressLimit;
use rate_limit::rules::{RuleOwner, RuleSources, StartError};
use settings::{Config, Secret, ServeMode};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use store::{SchemaPolicy, Store, StoreError};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use worlds::BuiltInWorldsError;

/// Time in which requests in flight are answered and matches are released.
const DRAIN_TASKS_MAX: Duration = Duration::from_millis(3_500);
/// Time in which the gateway closes by itself.
const DRAIN_GATEWAY_MAX: Duration = DRAIN_TASKS_MAX.saturating_sub(Duration::from_millis(500));
/// Time in which the store finishes its pending writes.
const STORE_CLOSE_MAX: Duration = Duration::from_millis(1_000);
/// Time in which the last spans are sent.
const TELEMETRY_FLUSH_MAX: Duration = Duration::from_millis(300);
const _: () = assert!(
    DRAIN_TASKS_MAX.as_millis() + TELEMETRY_FLUSH_MAX.as_millis() + STORE_CLOSE_MAX.as_millis() < DRAIN_MAX.as_millis()
);
const STALLED_STORE: &str = "the store, whose disk or database stalls,";
const _: () = assert!(
    WORLD_DRAIN_MAX.as_millis() < DRAIN_GATEWAY_MAX.as_millis(),
    "a client that was asked to leave is not disconnected before"
);
/// Pause before an owner that ended because of a defect is restarted.
const RESTART_PAUSE: Duration = Duration::from_secs(1);
/// Connections that the kernel queues while all connection permits are taken.
const LISTEN_BACKLOG: u32 = 4_096;

/// Why a process could not serve, or could not drain in order.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another program listens there, or the system forbids it.
    #[error("cannot listen on {address}: {}", bind_error_hint(.source, .flag))]
    Bind {
        address: SocketAddr,
        /// The flag that sets the port.
        flag: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The data file or database cannot be used.
    #[error(transparent)]
    StoreLocation(#[from] StoreLocationError),
    /// The store refuses at the start.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The built-in worlds are not as configured.
    #[error("{0}")]
    Worlds(#[from] BuiltInWorldsError),
    /// The advertised address belongs to another server.
    #[error("{0}")]
    Address(#[from] AddressError),
    /// The rules of the rate limiter cannot be loaded.
    #[error("{0}")]
    Rules(#[from] StartError),
    /// The store returned an unexpected outcome.
    #[error("the bootstrap account could not be made: the store answered {0:?}")]
    Bootstrap(Outcome),
    /// The certificate or its key cannot be used.
    #[error("{0}")]
    Tls(String),
    /// The gateway ended by itself.
    #[error("the gateway ended unexpectedly, by a defect of this program: see its log")]
    GatewayEnded,
    /// A component did not end.
    #[error(
        "{0} did not end within {DRAIN_MAX:?}: the process ends without it. Nothing that was acknowledged is lost; the next process goes \
         on from what was saved, and another node as soon as the lease has ended"
    )]
    ShutdownTimeout(&'static str),
}

fn bind_error_hint(source: &io::Error, flag: &str) -> String {
    match source.kind() {
        io::ErrorKind::AddrInUse => {
            format!("another program listens there; stop it, or choose another port with --{flag} (0 takes a free one)")
        }
        io::ErrorKind::PermissionDenied => {
            format!("ports below 1024 need a permission that this user lacks; choose another port with --{flag}")
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address; choose one of its own with --interface".to_owned()
        }
        _ => source.to_string(),
    }
}

/// Listens on `address`. Must be called on a runtime.
///
/// # Errors
/// [`ServeError::Bind`], with what to do.
pub fn bind(address: SocketAddr) -> Result<TcpListener, ServeError> {
    bind_for(address, "port")
}

fn bind_for(address: SocketAddr, flag: &'static str) -> Result<TcpListener, ServeError> {
    let listen = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // A restart must not wait for the last connections of the previous process.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(LISTEN_BACKLOG)
    };
    listen().map_err(|source| ServeError::Bind { address, flag, source })
}

/// Serves on `listener` until `shutdown` completes or an admin asks for a drain, then drains within [`DRAIN_MAX`]. `ready` is called once, when the start can no longer
/// fail. With every message of `reloads` the file of the rate limiter's policies is read again, and so is the certificate. Operators see `trials`, if there are any.
///
/// # Errors
/// Why it could not start, or what did not end.
pub async fn serve(
    mut config: Config,
    trials: TrialsHandle,
    listener: TcpListener,
    reloads: mpsc::Receiver<()>,
    ready: impl FnOnce(),
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    // The requested port may be "any free port"; the configuration shows the actual one.
    config.set_address(address_of(&listener, config.address())?);
    let grpc = bind_grpc(&mut config)?;
    let ops = bind_ops(&mut config)?;
    for warning in config.warnings() {
        tracing::warn!("{warning}");
    }
    let tls = match (&config.tls_certificate, &config.tls_key) {
        (Some(certificate), Some(key)) => Some(Arc::new(ServerTls::load(certificate, key).map_err(ServeError::Tls)?)),
        _ => None,
    };
    let lock = DataLock::acquire(&config)?;
    let metrics = Arc::new(Metrics::default());
    let store = open_store(&config, SchemaPolicy::Migrate, metrics.clone()).await?;
    config.resolve_retention(store_location::has_retention_periods(&store).await?);
    let bootstrap = match &config.bootstrap_token {
        Some(secret) => Some(ensure_bootstrap_account(&store, secret).await?),
        None => None,
    };
    let assembled = assemble(store, Arc::new(config), metrics, bootstrap);
    let telemetry = Telemetry::new(&assembled.config, assembled.process_id, &assembled.metrics);
    let app = App::from(AppState { trials, tracer: telemetry.tracer.clone(), ..assembled });
    store_location::open_dedicated_readers(&app.config, &app.node.store).await?;
    background_jobs::correct_clock(&app).await?;
    app.node.clock.begin_steady();
    lease::end_previous_leases(&app.node).await?;
    if app.config.serve_mode == ServeMode::All {
        worlds::ensure_built_in(&app.node.store, app.node.clock.now(), &subsystem_configs::actor_plan(&app.config))
            .await?;
    }
    // In force before the first request.
    gateway::grants::refresh_bans(&app.grants, &app.node.store, app.node.clock.now()).await?;
    let rule_owner = start_rule_owner(&app).await?;
    let telemetry = telemetry.start(&app);
    let result_of_run =
        run_until_shutdown(&app, (listener, ops, grpc), tls, rule_owner, reloads, ready, shutdown).await;
    telemetry.finish(TELEMETRY_FLUSH_MAX).await;
    let closed =
        timeout(STORE_CLOSE_MAX, app.node.store.close()).await.map_err(|_| ServeError::ShutdownTimeout(STALLED_STORE));
    // Only now may another process open the file.
    drop(lock);
    // Tasks that wait for a hanging store hang because of it.
    closed.and(result_of_run)
}

fn address_of(listener: &TcpListener, address: SocketAddr) -> Result<SocketAddr, ServeError> {
    listener.local_addr().map_err(|source| ServeError::Bind { address, flag: "port", source })
}

/// The gRPC listener, if there is one.
fn bind_grpc(config: &mut Config) -> Result<Option<TcpListener>, ServeError> {
    let Some(port) = config.limiter_grpc_port else { return Ok(None) };
    let address = SocketAddr::new(config.interface.0, port);
    let listener = bind_for(address, "grpc-port")?;
    let address = address_of(&listener, address)?;
    config.limiter_grpc_port = Some(address.port());
    tracing::info!(%address, "the rate limiter serves proxies over gRPC");
    Ok(Some(listener))
}

/// Listens on `address`, for operators. Must be called on a runtime.
///
/// # Errors
/// [`ServeError::Bind`], with what to do.
pub fn bind_operators(address: SocketAddr) -> Result<TcpListener, ServeError> {
    bind_for(address, "ops-port")
}

/// The separate listener for operators, if there is one.
fn bind_ops(config: &mut Config) -> Result<Option<TcpListener>, ServeError> {
    let Some(port) = config.ops_port else { return Ok(None) };
    let address = SocketAddr::new(config.ops_interface.0, port);
    let listener = bind_operators(address)?;
    let address = address_of(&listener, address)?;
    config.ops_port = Some(address.port());
    tracing::info!(%address, "operators are served on a separate port");
    Ok(Some(listener))
}

async fn ensure_bootstrap_account(store: &Store, secret: &Secret) -> Result<BootstrapToken, ServeError> {
    let now = node::clock::Clock::default().now();
    let account =
        Account { id: AccountId::new(now, random_bytes()), name: BOOTSTRAP_ACCOUNT_NAME.to_owned(), created_at: now };
    match store.commit(Command::EnsureAccount(account)).await? {
        Outcome::Account(id) => Ok(BootstrapToken::new(secret.expose(), id)),
        other => Err(ServeError::Bootstrap(other)),
    }
}

/// The rules of the rate limiter are in force before the first request.
async fn start_rule_owner(app: &App) -> Result<RuleOwner, StartError> {
    let inbox = app.limits.take_inbox().expect("a process has one rule owner, and this is it");
    RuleOwner::start(app.limits.clone(), app.node.store.clone(), rule_sources(&app.config), inbox).await
}

fn rule_sources(config: &Config) -> RuleSources {
    RuleSources { path: config.limiter_policies.clone(), has_built_in: config.limiter_defaults }
}

/// The rate limiter's policies that a server with this configuration starts with, a line each. Reads their file.
///
/// # Errors
/// What is wrong with the file, as text.
pub fn limit_policies(config: &Config) -> Result<Vec<String>, String> {
    Ok(rule_sources(config).read(config.limiter_timestamps_max)?.lines())
}

/// Serves clients, checks that this node may advertise its address, and then runs all other components until the drain.
async fn run_until_shutdown(
    app: &App,
    (listener, ops, grpc): (TcpListener, Option<TcpListener>, Option<TcpListener>),
    tls: Option<Arc<ServerTls>>,
    rule_owner: RuleOwner,
    reloads: mpsc::Receiver<()>,
    ready: impl FnOnce(),
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let mut gateway = tokio::spawn(serve_gateway(app.clone(), listener, tls.clone(), ops));
    let mut leaving = pin!(wait_until_leaving(app, shutdown));
    let claim = AddressClaim::of(app);
    // The drain first: the gateway ends with it.
    let checked = tokio::select! {
        biased;
        () = &mut leaving => Ok(false),
        checked = claim.check() => checked.map(|()| true).map_err(ServeError::from),
        _ = &mut gateway => Err(ServeError::GatewayEnded),
    };
    if !matches!(checked, Ok(true)) {
        app.drain.begin();
        let _ = tokio::join!(timeout(DRAIN_TASKS_MAX, finish(gateway)), timeout(DRAIN_TASKS_MAX, claim.release()));
        return checked.map(|_| ());
    }
    ready();
    let proxies = tokio::spawn(serve_grpc(app.clone(), grpc));
    let runner = tokio::spawn(keep_running(app.clone(), "matches", owners::play_matches));
    let tables = tokio::spawn(keep_running(app.clone(), "tables", owners::own_tables));
    let mut hunts = tokio::spawn(keep_running(app.clone(), "hunts", owners::run_hunts));
    let worlds = tokio::spawn(keep_running(app.clone(), "worlds", owners::own_worlds));
    let arena = tokio::spawn(keep_running(app.clone(), "arena", owners::run_arena));
    let retention = tokio::spawn(keep_running(app.clone(), "retention", retirement::run));
    let jobs = tokio::spawn(background_jobs::run(app.clone()));
    let rules = tokio::spawn(run_rule_owner(app.clone(), rule_owner, tls, reloads));
    let ended = tokio::select! {
        biased;
        () = async {
            leaving.await;
            delay_drain(app).await;
        } => Ok(()),
        _ = &mut gateway => Err(ServeError::GatewayEnded),
    };
    tracing::info!("draining: no new work, requests in flight are finished, matches are released");
    app.drain.begin();
    let (result_of_run, ..) = tokio::join!(
        wait_for_tasks([
            ("the gRPC service", proxies),
            ("the runner", runner),
            ("the card tables", tables),
            ("the worlds", worlds),
            ("the arena", arena),
            ("the deletion of what is old", retention),
            ("the gateway", gateway),
        ]),
        timeout(DRAIN_TASKS_MAX, &mut hunts),
        timeout(DRAIN_TASKS_MAX, claim.release())
    );
    // They are never in the middle of a commit, and no client waits for one: aborting them loses nothing.
    hunts.abort();
    jobs.abort();
    rules.abort();
    ended.and(result_of_run)
}

/// Completes when this process is to leave: by the signal, or because an admin asked for it.
async fn wait_until_leaving(app: &App, shutdown: impl Future<Output = ()>) {
    tokio::select! {
        () = shutdown => app.drain.announce(),
        () = app.drain.announced() => {}
    }
}

/// Serves as before, but is not ready, for as long as a load balancer may take to notice.
async fn delay_drain(app: &App) {
    let delay = app.config.drain_delay;
    if !delay.is_zero() {
        tracing::info!(?delay, "leaving: not ready any more; the drain begins after the delay");
        sleep(delay).await;
    }
}

/// Waits for all of these, within one time.
async fn wait_for_tasks(tasks: [(&'static str, JoinHandle<()>); 7]) -> Result<(), ServeError> {
    let deadline = Instant::now() + DRAIN_TASKS_MAX;
    let mut result = Ok(());
    for (name, task) in tasks {
        let ended = timeout_at(deadline, finish(task)).await.map_err(|_| ServeError::ShutdownTimeout(name));
        result = result.and(ended);
    }
    result
}

/// Waits for a task, which may have ended already.
async fn finish(task: JoinHandle<()>) {
    if !task.is_finished() {
        let _ = task.await;
    }
}

/// Serves the API, and operators on their own port, if there is one.
async fn serve_gateway(app: App, listener: TcpListener, tls: Option<Arc<ServerTls>>, ops: Option<TcpListener>) {
    let limits = listener::ListenerConfig::of(&app.config, DRAIN_GATEWAY_MAX);
    let proxies = app.config.proxy_protocol_peers();
    let listener = ProxyListener::new(listener, proxies, limits.header_timeout, app.metrics.clone())
        .counting_loopback(app.config.counts_loopback());
    let resources = listener::ListenerResources {
        metrics: app.metrics.clone(),
        socket_budget: Some(app.socket_budget.clone()),
        address_limit: Some(AddressLimit::of(&app.config)),
        tls,
    };
    let drain = app.drain.clone();
    let operators = async {
        if let Some(ops) = ops {
            let limits = listener::ListenerConfig { connections_max: OPS_CONNECTIONS_MAX, ..limits };
            listener::serve(ops, Gateway::for_operators(app.clone()), limits, app.metrics.clone(), drain.begun()).await;
        }
    };
    let api = listener::serve(listener, Gateway::new(app.clone()), limits, resources, drain.begun());
    tokio::join!(api, operators);
}

/// Serves gRPC, if there is a listener.
async fn serve_grpc(app: App, listener: Option<TcpListener>) {
    let Some(listener) = listener else { return };
    let terms = subsystem_configs::rls(&app.config, DRAIN_GATEWAY_MAX);
    let (limits, metrics, drain) = (app.limits.clone(), app.metrics.clone(), app.drain.clone());
    rls::serve(listener, limits, terms, metrics, async move { drain.begun().await }).await;
}

/// Changes the rate limiter's rules on request, until the end: requests in flight may still use them.
async fn run_rule_owner(app: App, rule_owner: RuleOwner, tls: Option<Arc<ServerTls>>, mut reloads: mpsc::Receiver<()>) {
    let pass_on = async {
        while reloads.recv().await.is_some() {
            if let Some(tls) = tls.clone() {
                // A mount that does not answer must hold up no request.
                let _ = tokio::task::spawn_blocking(move || tls.reload()).await;
            }
            // The rule owner has logged the result.
            let _ = app.limits.reload().await;
        }
    };
    tokio::join!(rule_owner.run(), pass_on);
}

/// Runs one of the process's owners until the drain, where games are served. One that ends before it ended by a defect of this program:
/// it starts again, under another lease.
async fn keep_running<F: Future<Output = ()> + Send + 'static>(app: App, owner: &'static str, run: fn(App) -> F) {
    while app.config.serve_mode == ServeMode::All && !app.drain.has_begun() {
        let ended = tokio::spawn(run(app.clone())).await;
        if !app.drain.has_begun() {
            let reason = ended.err().map(|error| error.to_string());
            tracing::error!(owner, reason, "an owner ended by a defect of this program; it starts again");
            sleep(RESTART_PAUSE).await;
        }
    }
}

//! The card tables of this process. Each has one owner, an owner task, which alone changes it and answers requests for it.
//!
//! `owner_task` is a task with a mailbox, a map of tables (`owned_table`) and their timers. `waiters` are the long polls of a table.
//! `ownership` holds the lease under which all tables of the process are owned. `environment` has all their side effects; the simulated ones
//! are in the crate `sim`. The rules of a table are in `engine::tables`.
//!
//! Save first, then answer: an action is decided, committed, applied, and only then answered; reads see committed state only.

mod config;
mod environment;
mod message;
mod owned_table;
mod owner_context;
mod owner_task;
mod ownership;
mod table_permits;
#[cfg(test)]
mod tests;
mod wait_permits;
mod waiters;

pub use config::TablesConfig;
pub use environment::{Committed, TableEnvironment};
pub use ownership::run;
pub use waiters::FeedWait;

use bytes::Bytes;
use engine::commands::Idempotency;
use engine::ids::{PlayerId, TableId};
use engine::limits::TABLE_MAILBOX_MAX;
use engine::tables::{Action, BotSettings, FeedUpdate, Newcomer, Refusal, TableView};
use message::{OwnerMessage, ReplySender, Request};
use metrics::Metrics;
use node::lease::LeaseSlot;
use quotas::address_key::AddressKey;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::StoreError;
use table_permits::TablePermits;
use tokio::sync::{Mutex, mpsc, oneshot};
use wait_permits::{WaitLimits, WaitPermits};
use waiters::PresenceNotifier;

/// The tables of this process. Cheap to clone.
#[derive(Clone)]
pub struct Tables {
    shared: Arc<TablesState>,
}

/// What the handles, the owner tasks and the ownership share.
struct TablesState {
    config: TablesConfig,
    mailboxes: Vec<OwnerMailbox>,
    wait_permits: Arc<WaitPermits>,
    metrics: Arc<Metrics>,
    /// Tables in memory, over all owner tasks.
    loaded: AtomicUsize,
    /// Limits tables by player and by address.
    table_permits: Arc<TablePermits>,
    /// Whether tables are owned: owner tasks read the mailboxes.
    is_serving: AtomicBool,
    /// The slot of the worker that owns this process's tables.
    lease_slot: LeaseSlot,
    /// Whether this process is draining: no tables, actions or waits are accepted any more.
    is_draining: AtomicBool,
}

/// The mailbox of one owner task; it outlives the task.
struct OwnerMailbox {
    sender: mpsc::Sender<OwnerMessage>,
    inbox: Arc<Mutex<mpsc::Receiver<OwnerMessage>>>,
    presence: Arc<PresenceNotifier>,
}

/// A table to be opened.
#[derive(Clone, Debug)]
pub struct NewTable {
    pub id: TableId,
    /// The player who opens it and tells the first story.
    pub opener: Newcomer,
    /// The client address that it counts against. `None` counts against none.
    pub address: Option<AddressKey>,
    /// Whether it may take one of the tables that are reserved for operators.
    pub is_operator: bool,
    /// The game's settings.
    pub settings: engine::tables::TableSettings,
    /// Whether bots may join, and how hard their stories are.
    pub bots: BotSettings,
    /// What to store about the request, when it came with an idempotency key.
    pub idempotency: Option<Idempotency>,
}

/// The result of opening a table.
#[derive(Clone, Debug)]
pub enum OpenResult {
    /// The table is created and saved.
    New {
        /// What the opener sees.
        view: Box<TableView>,
        /// When it was saved, in microseconds since the Unix epoch.
        committed_at_us: i64,
    },
    /// The same request was answered before; this was stored of the response.
    Replayed(Vec<u8>),
}

/// The result of an action.
#[derive(Clone, Debug)]
pub struct ActionResult {
    /// What the actor sees now.
    pub view: Box<TableView>,
    /// When the action was saved, in microseconds since the Unix epoch; `None` for one that changed nothing.
    pub committed_at_us: Option<i64>,
    /// Members that are present.
    pub online: Vec<PlayerId>,
}

/// A view of a table.
#[derive(Clone, Debug)]
pub struct ViewResult {
    /// What this viewer may know.
    pub view: Box<TableView>,
    /// Members that are present.
    pub online: Vec<PlayerId>,
}

/// What is new for one viewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Feed {
    /// What the viewer has not seen yet, possibly nothing.
    News(FeedUpdate),
    /// The table no longer stores what followed on this cursor, or never returned it: this is the whole table.
    TooOld(Box<TableView>),
}

/// Updates of a table for one viewer, and for all viewers who may know exactly as much.
#[derive(Clone, Debug)]
pub struct FeedResponse {
    /// What happened since.
    pub feed: Feed,
    /// Members that are present.
    pub online: Vec<PlayerId>,
    encoded: OnceLock<Bytes>,
}

impl FeedResponse {
    fn new(feed: Feed, online: Vec<PlayerId>) -> Self {
        Self { feed, online, encoded: OnceLock::new() }
    }

    /// The encoded response, computed once for all who get it: `encode` must depend on the response alone.
    pub fn encoded_once(&self, encode: impl FnOnce(&Self) -> Bytes) -> Bytes {
        self.encoded.get_or_init(|| encode(self)).clone()
    }
}

/// The player and address of a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiter {
    /// The player who waits; `None` is a visitor.
    pub player: Option<PlayerId>,
    /// The client address that it counts against. `None` counts against none.
    pub address: Option<AddressKey>,
}

/// A waiter without a known address.
impl From<Option<PlayerId>> for Waiter {
    fn from(player: Option<PlayerId>) -> Self {
        Self { player, address: None }
    }
}

/// What a limit of waits or tables applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitScope {
    Player,
    /// One client address.
    Address,
    /// All of this process.
    All,
}

/// Why a request for a table failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TableError {
    /// The table refuses, and nothing changed.
    #[error("the table refuses: {0:?}")]
    Refused(Refusal),
    #[error("no table has this id")]
    NoSuchTable,
    /// Another node owns it: send the request there.
    #[error("another node owns this table: send the request to {address}")]
    Elsewhere {
        /// `host:port`.
        address: String,
    },
    /// Too many requests wait. Nothing was tried.
    #[error("too many requests wait for this table, or for its owner task: try again in a moment")]
    Busy,
    /// The process is draining: nothing is accepted.
    #[error("this node is draining: use another one")]
    Draining,
    /// The process holds no lease at the moment, or has just lost one. What was in flight may have been saved.
    #[error(
        "this node has just started, or lost its database connection, and serves no tables at the moment; whether this was done is not known: look at the table, then try again"
    )]
    NotServing,
    /// It belongs to an earlier process of this node, which has died, and whose lease has not expired. Nothing was done.
    #[error(
        "this table still belongs to a process that has died; it is taken over in at most {} s: try again", lease.as_secs()
    )]
    HeldByPreviousProcess {
        /// The duration of a lease without renewal.
        lease: Duration,
    },
    /// The store failed. Whether an action was saved is unknown, unless the store was only overloaded.
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("this idempotency key was used for another request")]
    KeyReused,
    /// The limit of waits is reached.
    #[error("as many wait{} as may: {max}", of(*scope))]
    TooManyWaiters { max: usize, scope: LimitScope },
    /// The limit of tables in memory is reached.
    #[error("{} as many tables as may be in memory: {max}; {}", holders(*scope), remedy(*scope))]
    TooManyTables { max: usize, scope: LimitScope },
    /// The table breaks an invariant. It is kept on disk as it is, for study.
    #[error("this table is broken, by a defect of this program: see the server's log")]
    Broken,
}

fn holders(scope: LimitScope) -> &'static str {
    match scope {
        LimitScope::Player => "you have opened",
        LimitScope::Address => "clients of your address have opened",
        LimitScope::All => "this node holds",
    }
}

fn remedy(scope: LimitScope) -> &'static str {
    match scope {
        LimitScope::Player | LimitScope::Address => "end a game or leave its table, and try again half a minute later",
        LimitScope::All => "try again later",
    }
}

fn of(scope: LimitScope) -> &'static str {
    match scope {
        LimitScope::Player => " for this player",
        LimitScope::Address => " from this address",
        LimitScope::All => "",
    }
}

/// Totals of one process's tables, for operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Tables in memory.
    pub tables: usize,
    /// Waits for updates.
    pub waiters: usize,
}

impl Tables {
    /// An empty set of tables; no requests are served before [`run`].
    #[must_use]
    pub fn new(settings: TablesConfig, metrics: Arc<Metrics>) -> Self {
        let limits = WaitLimits {
            all: settings.waiters_max,
            per_player: settings.waiters_per_player_max,
            per_address: settings.waiters_per_address_max,
        };
        let permits = Arc::new(WaitPermits::new(limits));
        let mailbox = || {
            let (sender, inbox) = mpsc::channel(TABLE_MAILBOX_MAX);
            let presence = Arc::new(PresenceNotifier::new(permits.clone(), metrics.clone(), settings.presence_grace));
            OwnerMailbox { sender, inbox: Arc::new(Mutex::new(inbox)), presence }
        };
        let mailboxes = (0..settings.owner_tasks.max(1)).map(|_| mailbox()).collect();
        let openers = Arc::new(TablePermits::new(&settings, metrics.clone()));
        let shared = TablesState {
            config: settings,
            mailboxes,
            wait_permits: permits,
            metrics,
            loaded: AtomicUsize::new(0),
            table_permits: openers,
            is_serving: AtomicBool::new(false),
            lease_slot: LeaseSlot::default(),
            is_draining: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Opens a table. Returns when it is saved.
    ///
    /// # Errors
    /// See [`TableError`].
    pub async fn open(&self, opening: NewTable) -> Result<OpenResult, TableError> {
        self.shared.refuse_if_draining()?;
        let table = opening.id;
        self.request(table, |reply| OwnerMessage::Open { opening: Box::new(opening), reply }).await
    }

    /// Does an action at a table. Returns when it is saved. With `game`, only if that is the game being played.
    ///
    /// # Errors
    /// See [`TableError`].
    pub async fn act(
        &self,
        table: TableId,
        game: Option<u32>,
        actor: PlayerId,
        action: Action,
    ) -> Result<ActionResult, TableError> {
        let request =
            |reply| Request::Act(Box::new(message::ActionRequest { game, actor, action, reply, attempts: 0 }));
        self.request(table, |reply| OwnerMessage::Request { table, request: request(reply) }).await
    }

    /// A view of a table, which is loaded for it.
    ///
    /// # Errors
    /// See [`TableError`].
    pub async fn view(&self, table: TableId, viewer: Option<PlayerId>) -> Result<ViewResult, TableError> {
        self.request(table, |reply| OwnerMessage::Request { table, request: Request::View { viewer, reply } }).await
    }

    /// A view of a table that is in this process's memory; `None` when it is not, or does not answer.
    pub async fn view_if_loaded(&self, table: TableId, viewer: Option<PlayerId>) -> Option<ViewResult> {
        self.request(table, |reply| OwnerMessage::ViewIfLoaded { table, viewer, reply }).await.ok()
    }

    /// What happened at a table since the viewer's `after`, possibly nothing: a poll that does not wait.
    ///
    /// # Errors
    /// See [`TableError`].
    pub async fn feed(
        &self,
        table: TableId,
        viewer: Option<PlayerId>,
        after: u64,
    ) -> Result<Arc<FeedResponse>, TableError> {
        self.request(table, |reply| OwnerMessage::Request { table, request: Request::Feed { viewer, after, reply } })
            .await
    }

    /// Waits for what happens at a table after the waiter's `after`; returns at once when something has. During the wait, and for
    /// [`TablesConfig::presence_grace`] longer, the player is present.
    ///
    /// # Errors
    /// See [`TableError`].
    pub async fn wait(&self, table: TableId, waiter: impl Into<Waiter>, after: u64) -> Result<FeedWait, TableError> {
        self.shared.refuse_if_draining()?;
        let permit = self.shared.wait_permits.acquire(waiter.into())?;
        self.request(table, |reply| OwnerMessage::Request { table, request: Request::Wait { after, permit, reply } })
            .await
    }

    #[must_use]
    pub fn totals(&self) -> Totals {
        Totals { tables: self.shared.loaded.load(Ordering::Relaxed), waiters: self.shared.wait_permits.in_use() }
    }

    /// Whether this process holds a lease, and serves tables under it.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.shared.is_serving.load(Ordering::Acquire)
    }

    #[must_use]
    pub fn config(&self) -> &TablesConfig {
        &self.shared.config
    }

    async fn request<T>(
        &self,
        table: TableId,
        message: impl FnOnce(ReplySender<T>) -> OwnerMessage,
    ) -> Result<T, TableError> {
        if !self.shared.is_serving.load(Ordering::Acquire) {
            return Err(self.shared.not_serving_error());
        }
        let (reply, response) = oneshot::channel();
        self.shared.mailbox_of(table).sender.try_send(message(reply)).map_err(|_| TableError::Busy)?;
        self.shared.metrics.tables.messages.inc();
        // The owner task ended with the request in flight: its outcome is unknown.
        response.await.unwrap_or(Err(TableError::NotServing))
    }
}

impl TablesState {
    fn mailbox_of(&self, table: TableId) -> &OwnerMailbox {
        &self.mailboxes[owner_index(table, self.mailboxes.len())]
    }

    fn refuse_if_draining(&self) -> Result<(), TableError> {
        if self.is_draining.load(Ordering::Acquire) { Err(TableError::Draining) } else { Ok(()) }
    }

    fn not_serving_error(&self) -> TableError {
        if self.is_draining.load(Ordering::Acquire) { TableError::Draining } else { TableError::NotServing }
    }
}

/// Which of `owner_tasks` owns a table: ids end in random bits, so that tables are spread evenly.
fn owner_index(table: TableId, owner_tasks: usize) -> usize {
    (table.0 as u32 as usize) % owner_tasks
}

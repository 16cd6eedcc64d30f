//! The card tables of this process: each has one owner, a keeper, that alone changes it and tells of it.
//!
//! `keeper` is a task with a mailbox, a map of tables (`slot`) and one wheel of timers (`wheel`); `room` is who waits at a table;
//! `life` holds the lease under which all tables of the process are owned; `outside` is all that they touch of the world: the real
//! one stands in `real`, the simulated one in the crate `sim`. What a table may do next, `engine::tables` decides.
//!
//! Save, then tell: an action is decided, committed, applied, and only then answered; reads see nothing but what is committed.

mod config;
mod environment;
mod load;
mod message;
mod owned_table;
mod owner_task;
mod ownership;
mod production;
mod table_permits;
#[cfg(test)]
mod tests;
mod timing_wheel;
mod wait_permits;
mod waiters;

pub use config::TablesConfig;
pub use environment::{Committed, TableEnvironment};
pub use ownership::run as run_with;
pub use waiters::FeedWait;

use crate::address_key::AddressKey;
use crate::app::App;
use crate::lease::LeaseSlot;
use crate::metrics::Metrics;
use bytes::Bytes;
use engine::commands::Idempotency;
use engine::ids::{PlayerId, TableId};
use engine::limits::TABLE_MAILBOX_MAX;
use engine::tables::{Action, FeedUpdate, Newcomer, Refusal, TableView};
use message::{OwnerMessage, ReplySender, Request};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::StoreError;
use table_permits::TablePermits;
use tokio::sync::{Mutex, mpsc, oneshot};
use wait_permits::{WaitLimits, WaitPermits};
use waiters::PresenceNotifier;

/// Owns tables until the process drains, then gives them up and returns.
pub async fn run(app: App) {
    ownership::run(app.clone(), app.tables.clone(), app.drain.clone()).await;
}

/// The tables of this process, for everybody who asks for one. Cheap to clone.
#[derive(Clone)]
pub struct Tables {
    shared: Arc<TablesState>,
}

/// What the handles, the keepers and the life share.
struct TablesState {
    config: TablesConfig,
    mailboxes: Vec<OwnerMailbox>,
    wait_permits: Arc<WaitPermits>,
    metrics: Arc<Metrics>,
    /// Tables in memory, over all keepers.
    loaded: AtomicUsize,
    /// Whose they are.
    table_permits: Arc<TablePermits>,
    /// Whether a life is going on: somebody reads the mailboxes.
    is_serving: AtomicBool,
    /// The place of whoever owns this process's tables.
    lease_slot: LeaseSlot,
    /// Whether this process is leaving: nothing that lasts is begun any more.
    is_draining: AtomicBool,
}

/// Where one keeper takes its messages; it outlives the keeper.
struct OwnerMailbox {
    sender: mpsc::Sender<OwnerMessage>,
    inbox: Arc<Mutex<mpsc::Receiver<OwnerMessage>>>,
    presence: Arc<PresenceNotifier>,
}

/// A table to be opened.
#[derive(Clone, Debug)]
pub struct NewTable {
    /// Its id, new.
    pub id: TableId,
    /// Who opens it and tells the first story.
    pub opener: Newcomer,
    /// The client address that it is counted by as well. `None` is counted nowhere.
    pub address: Option<AddressKey>,
    /// Whether it may take one of the tables that are reserved for operators.
    pub is_operator: bool,
    /// What is played.
    pub settings: engine::tables::TableSettings,
    /// Whether bots may sit down.
    pub bots: bool,
    /// What to remember about the request, when it came with an idempotency key.
    pub idempotency: Option<Idempotency>,
}

/// What came of an opening.
#[derive(Clone, Debug)]
pub enum OpenResult {
    /// The table is there, and saved.
    New {
        /// What the opener sees.
        view: Box<TableView>,
        /// When it was saved, in microseconds since the Unix epoch.
        committed_at_us: i64,
    },
    /// The same request was answered before; this was remembered of the answer.
    Replayed(Vec<u8>),
}

/// What came of an action.
#[derive(Clone, Debug)]
pub struct ActionResult {
    /// What the actor sees now.
    pub view: Box<TableView>,
    /// When the action was saved, in microseconds since the Unix epoch; `None` for one that changed nothing.
    pub committed_at_us: Option<i64>,
    /// Members that are present.
    pub online: Vec<PlayerId>,
}

/// A look at a table.
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
    /// What he has not seen yet, be it nothing.
    News(FeedUpdate),
    /// The table does not remember what followed on his cursor, or never gave it: this is the table as it is.
    TooOld(Box<TableView>),
}

/// News of a table, cut for a viewer, and for all who may know exactly as much.
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

    /// The answer in somebody's words, which are found once for all who get it: `find` must follow from the answer alone.
    pub fn encoded_once(&self, find: impl FnOnce(&Self) -> Bytes) -> Bytes {
        self.encoded.get_or_init(|| find(self)).clone()
    }
}

/// Whose a wait is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiter {
    /// Who is told; `None` is a visitor.
    pub player: Option<PlayerId>,
    /// The client address that it is counted by as well. `None` is counted nowhere.
    pub address: Option<AddressKey>,
}

/// Somebody whose address is not known.
impl From<Option<PlayerId>> for Waiter {
    fn from(player: Option<PlayerId>) -> Self {
        Self { player, address: None }
    }
}

/// Whose waits, or tables, are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitScope {
    /// One player's.
    Player,
    /// Those of one address.
    Address,
    /// Everybody's, in this process.
    All,
}

/// Why a table cannot be had, or an action was not done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TableError {
    /// The table says no, and nothing changed.
    #[error("the table refuses: {0:?}")]
    Refused(Refusal),
    /// No table has this id.
    #[error("no table has this id")]
    NoSuchTable,
    /// Another node owns it: ask there.
    #[error("another node owns this table: ask at {address}")]
    Elsewhere {
        /// Where: `host:port`.
        address: String,
    },
    /// Too many ask at once. Nothing was tried.
    #[error("too many requests wait for this table, or for its keeper: ask again in a moment")]
    Busy,
    /// The process is leaving: nothing that lasts is begun.
    #[error("this node is leaving: ask another one")]
    Draining,
    /// The process holds no lease at the moment, or has just lost one. What was under way may have been saved.
    #[error(
        "this node has just begun, or lost touch with its database, and serves no tables at the moment; whether this was done is not known: look, then ask again"
    )]
    NotServing,
    /// It belongs to an earlier process of this node, which has died, and whose lease has not ended. Nothing was done.
    #[error(
        "this table still belongs to a process that has died; it is taken over in at most {} s: ask again", lease.as_secs()
    )]
    HeldByPreviousProcess {
        /// How long a lease holds that nobody renews.
        lease: Duration,
    },
    /// The store did not answer as it should. Of an action nobody knows whether it was saved, unless the store was only busy.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The idempotency key was used before, for another request.
    #[error("this idempotency key was used for another request")]
    KeyReused,
    /// As many wait as may.
    #[error("as many wait{} as may: {max}", of(*whose))]
    TooManyWaiters {
        /// How many.
        max: usize,
        /// Of whom.
        whose: LimitScope,
    },
    /// As many tables are in memory as may be.
    #[error("{} as many tables as may be in memory: {max}; {}", holders(*whose), remedy(*whose))]
    TooManyTables {
        /// How many.
        max: usize,
        /// Of whom.
        whose: LimitScope,
    },
    /// The table breaks an invariant of ours. It is kept on disk as it is, for study.
    #[error("this table is broken, by a defect of this program: its log says more")]
    Broken,
}

fn holders(whose: LimitScope) -> &'static str {
    match whose {
        LimitScope::Player => "you have opened",
        LimitScope::Address => "clients of your address have opened",
        LimitScope::All => "this node holds",
    }
}

fn remedy(whose: LimitScope) -> &'static str {
    match whose {
        LimitScope::Player | LimitScope::Address => "end a game or leave its table, and try again half a minute later",
        LimitScope::All => "try again later",
    }
}

fn of(whose: LimitScope) -> &'static str {
    match whose {
        LimitScope::Player => " for this player",
        LimitScope::Address => " from this address",
        LimitScope::All => "",
    }
}

/// What one process's tables come to, for operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Tables in memory.
    pub tables: usize,
    /// Waits for news.
    pub waiters: usize,
}

impl Tables {
    /// The tables of a process that begins now; nobody keeps them before [`run`].
    #[must_use]
    pub fn new(settings: TablesConfig, metrics: Arc<Metrics>) -> Self {
        let caps = WaitLimits {
            all: settings.waiters_max,
            per_player: settings.waiters_per_player_max,
            per_address: settings.waiters_per_address_max,
        };
        let tally = Arc::new(WaitPermits::new(caps));
        let desk = || {
            let (sender, inbox) = mpsc::channel(TABLE_MAILBOX_MAX);
            let hall = Arc::new(PresenceNotifier::new(tally.clone(), metrics.clone(), settings.presence_grace));
            OwnerMailbox { sender, inbox: Arc::new(Mutex::new(inbox)), presence: hall }
        };
        let desks = (0..settings.owner_tasks.max(1)).map(|_| desk()).collect();
        let openers = Arc::new(TablePermits::new(&settings, metrics.clone()));
        let shared = TablesState {
            config: settings,
            mailboxes: desks,
            wait_permits: tally,
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

    /// Does something at a table. Returns when it is saved. With `game`, only if that is the one being played.
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

    /// A look at a table, wherever it was: it comes into memory for it.
    ///
    /// # Errors
    /// See [`TableError`].
    pub async fn view(&self, table: TableId, viewer: Option<PlayerId>) -> Result<ViewResult, TableError> {
        self.request(table, |reply| OwnerMessage::Request { table, request: Request::View { viewer, reply } }).await
    }

    /// A look at a table that is in this process's memory; `None` when it is not, or does not answer.
    pub async fn view_if_loaded(&self, table: TableId, viewer: Option<PlayerId>) -> Option<ViewResult> {
        self.request(table, |reply| OwnerMessage::ViewIfLoaded { table, viewer, reply }).await.ok()
    }

    /// What happened at a table since the viewer's `after`, be it nothing: a poll that does not wait.
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

    /// Waits for what happens at a table after the waiter's `after`: over at once when something has. While it lives, and for
    /// [`ReferenceConfig::presence_grace`] longer, the player is present.
    ///
    /// # Errors
    /// See [`TableError`].
    pub async fn wait(&self, table: TableId, waiter: impl Into<Waiter>, after: u64) -> Result<FeedWait, TableError> {
        self.shared.refuse_if_draining()?;
        let place = self.shared.wait_permits.acquire(waiter.into())?;
        self.request(table, |reply| OwnerMessage::Request { table, request: Request::Wait { after, place, reply } })
            .await
    }

    /// What it comes to at the moment.
    #[must_use]
    pub fn totals(&self) -> Totals {
        Totals { tables: self.shared.loaded.load(Ordering::Relaxed), waiters: self.shared.wait_permits.in_use() }
    }

    /// Whether this process holds a lease, and serves tables under it.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.shared.is_serving.load(Ordering::Acquire)
    }

    /// What is in force.
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
        let (reply, answer) = oneshot::channel();
        self.shared.mailbox_of(table).sender.try_send(message(reply)).map_err(|_| TableError::Busy)?;
        self.shared.metrics.table_message_enqueued();
        // The keeper ended with it under way: nobody knows what became of it.
        answer.await.unwrap_or(Err(TableError::NotServing))
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

/// Which of `keepers` owns a table: ids end in random bits, so that each gets its share.
fn owner_index(table: TableId, keepers: usize) -> usize {
    (table.0 as u32 as usize) % keepers
}

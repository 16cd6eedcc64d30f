//! The card tables of this process: each has one owner, a keeper, that alone changes it and tells of it.
//!
//! `keeper` is a task with a mailbox, a map of tables (`slot`) and one wheel of timers (`wheel`); `room` is who waits at a table;
//! `life` holds the lease under which all tables of the process are owned; `outside` is all that they touch of the world: the real
//! one stands in `real`, the simulated one in the crate `sim`. What a table may do next, `engine::tables` decides.
//!
//! Save, then tell: an action is decided, committed, applied, and only then answered; reads see nothing but what is committed.

mod keeper;
mod life;
mod load;
mod message;
mod openers;
mod outside;
mod real;
mod room;
mod settings;
mod slot;
mod tally;
#[cfg(test)]
mod tests;
mod wheel;

pub use life::run as run_with;
pub use outside::{Committed, Outside};
pub use room::Waiting;
pub use settings::Settings;

use crate::address_key::AddressKey;
use crate::app::App;
use crate::lease::Seat;
use crate::metrics::Metrics;
use bytes::Bytes;
use engine::commands::Idempotency;
use engine::ids::{PlayerId, TableId};
use engine::limits::TABLE_MAILBOX_MAX;
use engine::tables::{Action, FeedUpdate, Newcomer, Refusal, TableView};
use message::{Message, Reply, Request};
use openers::Openers;
use room::Hall;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::StoreError;
use tally::{Caps, Tally};
use tokio::sync::{Mutex, mpsc, oneshot};

/// Owns tables until the process drains, then gives them up and returns.
pub async fn run(app: App) {
    life::run(app.clone(), app.tables.clone(), app.drain.clone()).await;
}

/// The tables of this process, for everybody who asks for one. Cheap to clone.
#[derive(Clone)]
pub struct Tables {
    shared: Arc<Shared>,
}

/// What the handles, the keepers and the life share.
struct Shared {
    settings: Settings,
    desks: Vec<Desk>,
    tally: Arc<Tally>,
    metrics: Arc<Metrics>,
    /// Tables in memory, over all keepers.
    loaded: AtomicUsize,
    /// Whose they are.
    openers: Arc<Openers>,
    /// Whether a life is going on: somebody reads the mailboxes.
    is_serving: AtomicBool,
    /// The place of whoever owns this process's tables.
    seat: Seat,
    /// Whether this process is leaving: nothing that lasts is begun any more.
    is_leaving: AtomicBool,
}

/// Where one keeper takes its messages; it outlives the keeper.
struct Desk {
    sender: mpsc::Sender<Message>,
    inbox: Arc<Mutex<mpsc::Receiver<Message>>>,
    hall: Arc<Hall>,
}

/// A table to be opened.
#[derive(Clone, Debug)]
pub struct Opening {
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
pub enum Opened {
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
pub struct Acted {
    /// What the actor sees now.
    pub view: Box<TableView>,
    /// When the action was saved, in microseconds since the Unix epoch; `None` for one that changed nothing.
    pub committed_at_us: Option<i64>,
    /// Members that are present.
    pub online: Vec<PlayerId>,
}

/// A look at a table.
#[derive(Clone, Debug)]
pub struct Seen {
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
pub struct FeedAnswer {
    /// What happened since.
    pub feed: Feed,
    /// Members that are present.
    pub online: Vec<PlayerId>,
    words: OnceLock<Bytes>,
}

impl FeedAnswer {
    fn new(feed: Feed, online: Vec<PlayerId>) -> Self {
        Self { feed, online, words: OnceLock::new() }
    }

    /// The answer in somebody's words, which are found once for all who get it: `find` must follow from the answer alone.
    pub fn words(&self, find: impl FnOnce(&Self) -> Bytes) -> Bytes {
        self.words.get_or_init(|| find(self)).clone()
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
pub enum Whose {
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
    Inherited {
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
        whose: Whose,
    },
    /// As many tables are in memory as may be.
    #[error("{} as many tables as may be in memory: {max}; {}", holders(*whose), remedy(*whose))]
    TooManyTables {
        /// How many.
        max: usize,
        /// Of whom.
        whose: Whose,
    },
    /// The table breaks an invariant of ours. It is kept on disk as it is, for study.
    #[error("this table is broken, by a defect of this program: its log says more")]
    Broken,
}

fn holders(whose: Whose) -> &'static str {
    match whose {
        Whose::Player => "you have opened",
        Whose::Address => "clients of your address have opened",
        Whose::All => "this node holds",
    }
}

fn remedy(whose: Whose) -> &'static str {
    match whose {
        Whose::Player | Whose::Address => "end a game or leave its table, and try again half a minute later",
        Whose::All => "try again later",
    }
}

fn of(whose: Whose) -> &'static str {
    match whose {
        Whose::Player => " for this player",
        Whose::Address => " from this address",
        Whose::All => "",
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
    pub fn new(settings: Settings, metrics: Arc<Metrics>) -> Self {
        let caps = Caps {
            all: settings.waiters_max,
            per_player: settings.waiters_per_player_max,
            per_address: settings.waiters_per_address_max,
        };
        let tally = Arc::new(Tally::new(caps));
        let desk = || {
            let (sender, inbox) = mpsc::channel(TABLE_MAILBOX_MAX);
            let hall = Arc::new(Hall::new(tally.clone(), metrics.clone(), settings.presence_grace));
            Desk { sender, inbox: Arc::new(Mutex::new(inbox)), hall }
        };
        let desks = (0..settings.keepers.max(1)).map(|_| desk()).collect();
        let openers = Arc::new(Openers::new(&settings, metrics.clone()));
        let shared = Shared {
            settings,
            desks,
            tally,
            metrics,
            loaded: AtomicUsize::new(0),
            openers,
            is_serving: AtomicBool::new(false),
            seat: Seat::default(),
            is_leaving: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Opens a table. Returns when it is saved.
    ///
    /// # Errors
    /// See [`TableError`].
    pub async fn open(&self, opening: Opening) -> Result<Opened, TableError> {
        self.shared.refuse_if_leaving()?;
        let table = opening.id;
        self.ask(table, |reply| Message::Open { opening: Box::new(opening), reply }).await
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
    ) -> Result<Acted, TableError> {
        let request = |reply| Request::Act(Box::new(message::Act { game, actor, action, reply, attempts: 0 }));
        self.ask(table, |reply| Message::Request { table, request: request(reply) }).await
    }

    /// A look at a table, wherever it was: it comes into memory for it.
    ///
    /// # Errors
    /// See [`TableError`].
    pub async fn view(&self, table: TableId, viewer: Option<PlayerId>) -> Result<Seen, TableError> {
        self.ask(table, |reply| Message::Request { table, request: Request::View { viewer, reply } }).await
    }

    /// A look at a table that is in this process's memory; `None` when it is not, or does not answer.
    pub async fn view_here(&self, table: TableId, viewer: Option<PlayerId>) -> Option<Seen> {
        self.ask(table, |reply| Message::Look { table, viewer, reply }).await.ok()
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
    ) -> Result<Arc<FeedAnswer>, TableError> {
        self.ask(table, |reply| Message::Request { table, request: Request::Feed { viewer, after, reply } }).await
    }

    /// Waits for what happens at a table after the waiter's `after`: over at once when something has. While it lives, and for
    /// [`Settings::presence_grace`] longer, the player is present.
    ///
    /// # Errors
    /// See [`TableError`].
    pub async fn wait(&self, table: TableId, waiter: impl Into<Waiter>, after: u64) -> Result<Waiting, TableError> {
        self.shared.refuse_if_leaving()?;
        let place = self.shared.tally.take(waiter.into())?;
        self.ask(table, |reply| Message::Request { table, request: Request::Wait { after, place, reply } }).await
    }

    /// What it comes to at the moment.
    #[must_use]
    pub fn totals(&self) -> Totals {
        Totals { tables: self.shared.loaded.load(Ordering::Relaxed), waiters: self.shared.tally.taken() }
    }

    /// Whether this process holds a lease, and serves tables under it.
    #[must_use]
    pub fn are_served(&self) -> bool {
        self.shared.is_serving.load(Ordering::Acquire)
    }

    /// What is in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    async fn ask<T>(&self, table: TableId, message: impl FnOnce(Reply<T>) -> Message) -> Result<T, TableError> {
        if !self.shared.is_serving.load(Ordering::Acquire) {
            return Err(self.shared.why_not_serving());
        }
        let (reply, answer) = oneshot::channel();
        self.shared.desk_of(table).sender.try_send(message(reply)).map_err(|_| TableError::Busy)?;
        self.shared.metrics.table_mail_came();
        // The keeper ended with it under way: nobody knows what became of it.
        answer.await.unwrap_or(Err(TableError::NotServing))
    }
}

impl Shared {
    fn desk_of(&self, table: TableId) -> &Desk {
        &self.desks[keeper_of(table, self.desks.len())]
    }

    fn refuse_if_leaving(&self) -> Result<(), TableError> {
        if self.is_leaving.load(Ordering::Acquire) { Err(TableError::Draining) } else { Ok(()) }
    }

    fn why_not_serving(&self) -> TableError {
        if self.is_leaving.load(Ordering::Acquire) { TableError::Draining } else { TableError::NotServing }
    }
}

/// Which of `keepers` owns a table: ids end in random bits, so that each gets its share.
fn keeper_of(table: TableId, keepers: usize) -> usize {
    (table.0 as u32 as usize) % keepers
}

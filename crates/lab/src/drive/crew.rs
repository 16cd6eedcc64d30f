//! The crew: all workers of a trial behind one door, threads of this process or of others. Of each leg that they are
//! sent, each takes its own segment. Refuses to know what workers do and what their reports mean.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use http::HeaderMap;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::moment::Moment;
use super::poller::Bell;
use super::processes::{Outpost, Processes, split};
use super::worker::Worker;
use crate::plan::Leg;
use crate::record::{Interval, OwnTime};
use crate::scenario::{Rows, Scenario};

/// Everything that the workers of a trial share.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The trial.
    pub scenario: Arc<Scenario>,
    /// The target, resolved: the first address that takes a connection is used.
    pub addresses: Vec<SocketAddr>,
    /// The doors for messages, resolved, in the scenario's order.
    pub doors: Vec<Vec<SocketAddr>>,
    /// Headers of every request.
    pub headers: HeaderMap,
    /// Values of the whole run: its id, secrets, what the setup kept.
    pub globals: BTreeMap<String, String>,
    /// The lists to pick from.
    pub picks: Vec<Vec<String>>,
    /// The rows of every feed.
    pub feeds: Vec<Rows>,
    /// The id of the run.
    pub run_id: String,
    /// The plan's first moment: the same in every process of the machine.
    pub start: Moment,
    /// Addresses that connections come from, in turn; the system chooses where there are none.
    pub sources: Vec<IpAddr>,
    /// Whether rows of samples.csv are wanted.
    pub samples: bool,
    /// The share of the plan that this crew drives.
    pub segment: Segment,
    /// How workers are started in processes of their own, where this one may not open all connections; without it
    /// all workers are threads of this process.
    pub processes: Option<Processes>,
}

/// A share of the plan: some of its workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The number of the first worker.
    pub first: u32,
    /// Workers of this share.
    pub count: u32,
    /// Workers in all.
    pub of: u32,
}

impl Segment {
    /// The whole plan, for so many workers.
    #[must_use]
    pub fn whole(workers: u32) -> Self {
        Self { first: 0, count: workers, of: workers }
    }
}

/// What a worker has to say.
#[derive(Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant)] // One a second: a box would save nothing.
pub enum Report {
    /// Once a second, while there is something to say, before it says that a part is over, and at the end: a second may
    /// come in several pieces.
    Interval(Interval),
    /// Pieces of work whose creation was answered.
    Started(Vec<Begun>),
    /// Every connection that this worker holds for that part has stood. Each worker says so once for every leg that
    /// holds some, after all figures of their opening; what is asked over them begins when it is told to.
    Opened {
        /// The worker.
        worker: u32,
        /// The part.
        part: u32,
        /// When the last of them stood, from the start of the plan.
        at: Duration,
    },
    /// This worker will never send anything for that part again, and everything of it has ended. Each worker says so
    /// once for every part of every leg, after all figures of the part and all work that it started.
    Over {
        /// The worker.
        worker: u32,
        /// The part.
        part: u32,
        /// When, from the start of the plan.
        at: Duration,
        /// Arrivals of the part that were due and never sent.
        not_sent: u64,
        /// What pauses of the worker did to the part's length.
        own: OwnTime,
    },
    /// The worker is gone.
    Ended {
        /// The worker.
        worker: u32,
    },
    /// The worker cannot go on, and the trial must end with this sentence.
    Broken {
        /// The worker.
        worker: u32,
        /// Why.
        message: String,
    },
}

/// A piece of work that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The kind of work, by its place in the scenario.
    pub work: usize,
    /// Its id.
    pub id: Box<str>,
    /// When the arrival that started it was due.
    pub intended: Duration,
    /// When its creation was answered.
    pub done: Duration,
}

/// The load at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Arrivals under way.
    pub in_flight: u64,
    /// Arrivals that are due and wait for a place in flight.
    pub queued: u64,
    /// Connections, those that are being opened or closed included.
    pub connections: u64,
    /// Arrivals that have been due so far.
    pub due: u64,
    /// Arrivals that have ended so far.
    pub over: u64,
    /// Connections of `hold` phases that stand.
    pub held: u64,
    /// Requests under way whose answers are waited for.
    pub waiting: u64,
    /// Requests under way, those among them.
    pub exchanging: u64,
    /// Requests that have ended so far, however they did.
    pub exchanged: u64,
}

/// What a worker is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Drive your segment of this.
    Leg(Leg),
    /// All connections that the part holds are open, at every worker: its time begins at this moment from the start of
    /// the plan.
    Ask {
        /// The part.
        part: u32,
        /// The moment.
        at: Duration,
    },
    /// That part and its leg are over.
    Cut(u32),
    /// Everything is over; what is under way may take so long.
    Stop(Duration),
}

/// The gauges of one worker, written by it alone.
#[derive(Debug, Default)]
pub(crate) struct Dials([AtomicU64; DIALS]);

/// Gauges of a worker.
pub(crate) const DIALS: usize = 9;

impl Dials {
    /// Shows these.
    pub(crate) fn show(&self, gauges: Gauges) {
        let Gauges { in_flight, queued, connections, due, over, held, waiting, exchanging, exchanged } = gauges;
        self.set([in_flight, queued, connections, due, over, held, waiting, exchanging, exchanged]);
    }

    /// The same, in the order of the fields.
    pub(crate) fn set(&self, values: [u64; DIALS]) {
        for (dial, value) in self.0.iter().zip(values) {
            dial.store(value, Ordering::Relaxed);
        }
    }

    fn read(&self) -> [u64; DIALS] {
        std::array::from_fn(|i| self.0[i].load(Ordering::Relaxed))
    }
}

/// All workers of a trial. Dropping it stops them at once and waits for them.
#[derive(Debug)]
pub struct Crew {
    hands: Vec<Hand>,
    outposts: Vec<Outpost>,
    workers: u32,
}

/// The crew's end of one worker that is a thread.
#[derive(Debug)]
struct Hand {
    orders: Option<mpsc::Sender<Order>>,
    bell: Bell,
    dials: Arc<Dials>,
    thread: Option<JoinHandle<()>>,
}

impl Crew {
    /// Starts workers: as many as the setting's segment says, or `workers` where it is empty. Where more connections
    /// are wanted than this process may open, there may be more of them, in processes of their own.
    ///
    /// # Errors
    /// The system gives no thread, process or descriptor, or the requests cannot be put together.
    #[allow(clippy::needless_pass_by_value)] // It is the crew's from here on.
    pub fn start(setting: Arc<Setting>, workers: usize) -> io::Result<(Self, UnboundedReceiver<Report>)> {
        let (reports, inbox) = unbounded_channel();
        let segment = match setting.segment {
            Segment { count: 0, .. } => Segment::whole(u32::try_from(workers.max(1)).unwrap_or(u32::MAX)),
            given => given,
        };
        let mut crew = Self { hands: Vec::new(), outposts: Vec::new(), workers: segment.count };
        if let Some(processes) = &setting.processes {
            let segments = split(segment, processes.connections);
            crew.outposts = Outpost::start(&setting, processes, &segments, &reports)?;
            crew.workers = segments.iter().map(|segment| segment.count).sum::<u32>().max(segment.count);
        }
        if crew.outposts.is_empty() {
            for number in segment.first..segment.first.saturating_add(segment.count) {
                crew.hands.push(Hand::start(&setting, number, segment.of, reports.clone())?);
            }
        }
        Ok((crew, inbox))
    }

    /// Has every worker drive its own segment of a leg.
    pub fn send(&self, leg: Leg) {
        self.order(&Order::Leg(leg));
    }

    /// Begins what a leg of held connections is for, at a moment from the start of the plan: every worker has said that
    /// its connections have been opened.
    pub fn ask(&self, part: u32, at: Duration) {
        self.order(&Order::Ask { part, at });
    }

    /// Ends a part and the leg that it belongs to: what is due and was not sent is counted as such and dropped,
    /// clients of a closed loop end after their exchange, held connections are closed.
    pub fn cut(&self, part: u32) {
        self.order(&Order::Cut(part));
    }

    /// Ends everything: nothing new is sent; what is under way after `grace` is dropped and counted as abandoned.
    pub fn stop(&self, grace: Duration) {
        self.order(&Order::Stop(grace));
    }

    /// How many workers it has, each of which reports by itself.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.workers as usize
    }

    /// The processes that carry them, where this one does not.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.outposts.iter().map(Outpost::pid).collect()
    }

    /// The load at this moment.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        let [in_flight, queued, connections, due, over, held, waiting, exchanging, exchanged] = self.read_dials();
        Gauges { in_flight, queued, connections, due, over, held, waiting, exchanging, exchanged }
    }

    pub(crate) fn read_dials(&self) -> [u64; DIALS] {
        let mut sum = [0; DIALS];
        let dials = self.hands.iter().map(|hand| &hand.dials).chain(self.outposts.iter().map(|outpost| &outpost.dials));
        for dials in dials {
            sum.iter_mut().zip(dials.read()).for_each(|(sum, value)| *sum += value);
        }
        sum
    }

    pub(crate) fn order(&self, order: &Order) {
        self.hands.iter().for_each(|hand| hand.tell(order.clone()));
        self.outposts.iter().for_each(|outpost| outpost.tell(order));
    }
}

impl Hand {
    fn start(setting: &Arc<Setting>, number: u32, of: u32, reports: UnboundedSender<Report>) -> io::Result<Self> {
        let (orders, inbox) = mpsc::channel();
        let (ready, readiness) = mpsc::sync_channel(1);
        let dials = Arc::new(Dials::default());
        let (setting, shown) = (setting.clone(), dials.clone());
        let thread = std::thread::Builder::new().name(format!("load-{number}")).spawn(move || {
            match Worker::new(setting, number, of, inbox, reports, shown) {
                Ok(worker) => {
                    let _ = ready.send(Ok(worker.bell()));
                    worker.run();
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                }
            }
        })?;
        let gone = |_| io::Error::other("a worker ended before it began");
        let bell = readiness.recv().map_err(gone)??;
        Ok(Self { orders: Some(orders), bell, dials, thread: Some(thread) })
    }

    fn tell(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // A worker that has ended needs no orders.
            let _ = orders.send(order);
            self.bell.ring();
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for hand in &mut self.hands {
            hand.orders = None;
            hand.bell.ring();
        }
        for hand in &mut self.hands {
            if let Some(thread) = hand.thread.take() {
                // A panic of a worker has been reported by the worker itself.
                let _ = thread.join();
            }
        }
    }
}

//! The addresses of bots' names.
//!
//! Names are strangers' text, and the owner of a domain decides how slowly it answers. So names are looked up by tasks that wait (no thread
//! does), one lookup for a name however many calls want it, a bounded number at once in all and under one registered domain, and what was
//! answered is cached. The wait for a lookup's turn is no bot's time; the lookup itself is, because its owner chose who answers.

mod cache;
mod resolver;

use super::clock::CallClock;
use super::failure::CallFailure;
pub(super) use ::names::Sources;
use cache::{NameCache, Recalled};
use engine::health::CallFault;
use engine::limits::{
    NAME_BYTES_MAX, NAME_LOOKUPS_AT_ONCE, NAME_LOOKUPS_PER_DOMAIN, NAME_LOOKUPS_WAITING_MAX,
    NAME_LOOKUPS_WAITING_PER_DOMAIN, NAME_TURN_WAIT_MAX,
};
use metrics::Metrics;
use resolver::{Answer, Resolver};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout};

/// The addresses of a name, at least one, or whose fault it is that there are none.
type Addresses = Result<Arc<[IpAddr]>, CallFault>;

#[derive(Clone)]
pub(super) struct Names(Arc<Shared>);

struct Shared {
    resolver: Resolver,
    state: Mutex<State>,
    turns: Arc<Semaphore>,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct State {
    cache: NameCache,
    lookups: HashMap<Arc<str>, Arc<watch::Sender<Progress>>>,
    /// Registered domains of which names are looked up.
    domains: HashMap<Box<str>, Domain>,
}

struct Domain {
    turns: Arc<Semaphore>,
    /// Lookups that are under way or wait.
    lookups: usize,
}

/// How far a lookup is.
#[derive(Clone, Debug)]
enum Progress {
    /// Other names of its registered domain come first.
    WaitsForDomain,
    WaitsForTurn,
    UnderWay,
    Done(Addresses),
}

/// What a call for a name begins with.
enum Begin {
    Done(Addresses),
    /// A lookup to wait for, and what may be used meanwhile.
    Lookup(watch::Receiver<Progress>, Option<Arc<[IpAddr]>>),
}

impl Names {
    pub(super) fn new(sources: Sources, metrics: Arc<Metrics>) -> Self {
        let turns = Arc::new(Semaphore::new(NAME_LOOKUPS_AT_ONCE));
        Self(Arc::new(Shared { resolver: Resolver::new(sources), state: Mutex::default(), turns, metrics }))
    }

    /// The addresses of a name, in the time of `clock`, which stands still until the lookup's turn has come.
    ///
    /// # Errors
    /// Whose fault it is that there is no address, or that it did not come in time.
    pub(super) async fn addresses(&self, host: &str, clock: &mut CallClock<'_>) -> Result<Arc<[IpAddr]>, CallFailure> {
        let (mut progress, stale) = match self.begin(host) {
            Begin::Done(addresses) => return Ok(addresses?),
            Begin::Lookup(progress, stale) => (progress, stale),
        };
        let is_waiting = matches!(*progress.borrow(), Progress::WaitsForDomain | Progress::WaitsForTurn);
        if let (true, Some(stale)) = (is_waiting, stale) {
            return Ok(stale);
        }
        let has_begun = |progress: &Progress| matches!(progress, Progress::UnderWay | Progress::Done(_));
        if timeout(NAME_TURN_WAIT_MAX, clock.aside(progress.wait_for(has_begun))).await.is_err() {
            return Err(overdue(&progress.borrow()).into());
        }
        let done = clock.run(progress.wait_for(|progress| matches!(progress, Progress::Done(_)))).await?;
        match done.as_deref() {
            Ok(Progress::Done(addresses)) => Ok(addresses.clone()?),
            // The lookup has ended by a defect.
            Ok(_) | Err(_) => Err(CallFault::ServerFault.into()),
        }
    }

    /// Reads the system's configuration again if it has changed. For a background job.
    pub(super) fn sweep(&self) {
        if self.0.resolver.reload() {
            self.0.state().cache.clear();
        }
    }

    fn begin(&self, host: &str) -> Begin {
        if host.len() > NAME_BYTES_MAX {
            return Begin::Done(Err(CallFault::NoPublicAddress));
        }
        let name: Arc<str> = host.trim_end_matches('.').to_ascii_lowercase().into();
        let mut state = self.0.state();
        let stale = match state.cache.get(&name, Instant::now()) {
            Recalled::Fresh(addresses) => {
                self.0.metrics.matches.name_cache_hits.inc();
                return Begin::Done(addresses);
            }
            Recalled::Stale(addresses) => Some(addresses),
            Recalled::Unknown => None,
        };
        if let Some(lookup) = state.lookups.get(&name) {
            return Begin::Lookup(lookup.subscribe(), stale);
        }
        let started = self.start(&mut state, name, stale.is_some());
        // A runtime that shuts down drops what it is given at once, and a lookup that is dropped takes the lock.
        drop(state);
        match started {
            Ok((lookup, turns, progress)) => {
                tokio::spawn(lookup.run(turns));
                Begin::Lookup(progress, stale)
            }
            Err(fault) => Begin::Done(stale.ok_or(fault)),
        }
    }

    /// Enters a lookup. Once it is under way it goes on without its callers: its answer serves the next call. One that refreshes a stale address
    /// waits for its turn without them, too: they have gone with that address.
    fn start(&self, state: &mut State, name: Arc<str>, is_refresh: bool) -> Result<Started, CallFault> {
        if state.lookups.len() >= NAME_LOOKUPS_WAITING_MAX {
            self.0.metrics.matches.name_lookups_not_made.inc();
            return Err(CallFault::ServerFault);
        }
        let domain = state.domains.entry(registered_domain(&name).into()).or_insert_with(Domain::new);
        if domain.lookups >= NAME_LOOKUPS_WAITING_PER_DOMAIN {
            return Err(CallFault::TooLate);
        }
        domain.lookups += 1;
        let domain_turns = domain.turns.clone();
        // Most lookups need not wait, and then no caller should take them for one that does.
        let turns = match domain_turns.clone().try_acquire_owned() {
            Ok(of_domain) => Turns::OfDomain(of_domain, self.0.turns.clone().try_acquire_owned().ok()),
            Err(_) => Turns::None(domain_turns),
        };
        let progress = match &turns {
            Turns::OfDomain(_, Some(_)) => Progress::UnderWay,
            Turns::OfDomain(_, None) => Progress::WaitsForTurn,
            Turns::None(_) => Progress::WaitsForDomain,
        };
        let (sender, receiver) = watch::channel(progress);
        let sender = Arc::new(sender);
        state.lookups.insert(name.clone(), sender.clone());
        let kept = is_refresh.then(|| receiver.clone());
        let lookup = Lookup { names: self.clone(), name, sender, begun: Instant::now(), _kept: kept };
        Ok((lookup, turns, receiver))
    }
}

/// One lookup; it is forgotten when dropped, whatever ended it.
struct Lookup {
    names: Names,
    name: Arc<str>,
    sender: Arc<watch::Sender<Progress>>,
    begun: Instant,
    /// With a receiver of its own, it is never abandoned.
    _kept: Option<watch::Receiver<Progress>>,
}

/// The turns that a lookup has from the beginning: its domain's, and one of all.
enum Turns {
    None(Arc<Semaphore>),
    OfDomain(OwnedSemaphorePermit, Option<OwnedSemaphorePermit>),
}

type Started = (Lookup, Turns, watch::Receiver<Progress>);

impl Lookup {
    async fn run(self, turns: Turns) {
        let shared = self.names.0.clone();
        let _turns = tokio::select! {
            turns = self.take_turns(turns) => turns,
            // No caller waits for it any more: its game has ended.
            () = self.abandoned() => return,
        };
        let metrics = &shared.metrics.matches;
        metrics.name_turn_wait.observe(self.begun.elapsed());
        metrics.name_lookups.inc();
        metrics.name_lookups_under_way.inc();
        let asked = Instant::now();
        let answer = shared.resolver.look_up(&self.name).await;
        metrics.name_lookup.observe(asked.elapsed());
        metrics.name_lookups_under_way.dec();
        match &answer {
            Answer::Found { .. } => {}
            Answer::Missing { .. } | Answer::Failed => metrics.name_lookups_failed.inc(),
            Answer::NotMade => metrics.name_lookups_not_made.inc(),
        }
        let addresses = shared.state().cache.put(self.name.clone(), answer, Instant::now());
        self.sender.send_replace(Progress::Done(addresses));
    }

    async fn take_turns(&self, turns: Turns) -> (OwnedSemaphorePermit, OwnedSemaphorePermit) {
        let (domain, turn) = match turns {
            Turns::OfDomain(domain, turn) => (domain, turn),
            Turns::None(domain_turns) => {
                let domain = acquire(domain_turns).await;
                self.sender.send_replace(Progress::WaitsForTurn);
                (domain, None)
            }
        };
        let turn = match turn {
            Some(turn) => turn,
            None => acquire(self.names.0.turns.clone()).await,
        };
        self.sender.send_replace(Progress::UnderWay);
        (domain, turn)
    }

    /// Waits until no caller waits for this lookup, and takes it out, so that none can come.
    async fn abandoned(&self) {
        loop {
            self.sender.closed().await;
            let mut state = self.names.0.state();
            if self.sender.receiver_count() == 0 {
                state.lookups.remove(&self.name);
                return;
            }
        }
    }
}

impl Drop for Lookup {
    fn drop(&mut self) {
        let mut state = self.names.0.state();
        // A later lookup of the name may have taken the place of one that was abandoned.
        if state.lookups.get(&self.name).is_some_and(|sender| Arc::ptr_eq(sender, &self.sender)) {
            state.lookups.remove(&self.name);
        }
        let domain = registered_domain(&self.name);
        if let Some(entry) = state.domains.get_mut(domain) {
            entry.lookups -= 1;
            if entry.lookups == 0 {
                state.domains.remove(domain);
            }
        }
    }
}

impl Domain {
    fn new() -> Self {
        Self { turns: Arc::new(Semaphore::new(NAME_LOOKUPS_PER_DOMAIN)), lookups: 0 }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn acquire(turns: Arc<Semaphore>) -> OwnedSemaphorePermit {
    turns.acquire_owned().await.expect("the semaphore is never closed")
}

/// Whose fault it is that a lookup's turn did not come.
fn overdue(progress: &Progress) -> CallFault {
    match progress {
        Progress::WaitsForDomain => CallFault::TooLate,
        Progress::WaitsForTurn | Progress::UnderWay | Progress::Done(_) => CallFault::ServerFault,
    }
}

/// The part of a name that its owner has registered, as far as its labels tell: the last two, or three where the second is as short as in
/// `co.uk`. A guess is enough: names that share it by mistake share eight lookups at once.
fn registered_domain(name: &str) -> &str {
    const SHORT: usize = 3;
    let mut dots = name.rmatch_indices('.').map(|(at, _)| at);
    let (Some(last), Some(second)) = (dots.next(), dots.next()) else { return name };
    let is_short = last - second - 1 <= SHORT && name.len() - last - 1 < SHORT;
    let begin = if is_short { dots.next().map_or(0, |third| third + 1) } else { second + 1 };
    &name[begin..]
}

#[cfg(test)]
mod tests;

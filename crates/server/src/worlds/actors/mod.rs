//! Actors: movers of our own, for load and for life. Each has its own identity, its own timer, and its own move, which goes through the
//! same mailbox as everybody's and whose answer is awaited and timed from the moment for which it was intended.
//!
//! `crew` is the thread that lets them move; several moves travel together when they are due together, and none is made before it is
//! due. When their world leaves memory the crew visits it again, as everybody does.

mod counters;
pub(super) mod inbox;
mod plan;
mod worker;

pub use plan::{ActorPlan, ActorStats, MoveTime, SpawnOutOfBounds};

use super::{VisitError, Worlds};
use counters::ActorCounters;
use engine::ids::WorldName;
use engine::limits::{ACTOR_REVISIT_DELAY, ACTORS_MAX};
use inbox::{ActorInbox, ActorWorkerMessage};
use plan::PlanShare;
use rules::world::{Cell, Size};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use tokio::time::sleep;
use worker::ActorWorker;

/// The crews of a process, by world.
#[derive(Default)]
pub(super) struct ActorRegistry(Mutex<BTreeMap<WorldName, Vec<RegisteredWorker>>>);

/// A crew, as its process sees it.
struct RegisteredWorker {
    counters: Arc<ActorCounters>,
    /// Where it is told how many are wanted, while it moves.
    inbox: Arc<Mutex<Option<Arc<ActorInbox>>>>,
}

/// Why actors were not let loose.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ActorError {
    /// So many may not be.
    #[error("at most {ACTORS_MAX} actors move in one world")]
    TooMany,
    /// They would begin outside of the world.
    #[error(transparent)]
    SpawnOutOfBounds(#[from] SpawnOutOfBounds),
    /// The world is not to be had here.
    #[error(transparent)]
    Visit(#[from] VisitError),
}

impl Worlds {
    /// Lets actors move in a world by this plan. Where some move already, those who come from now on begin as it says, and all go on
    /// at its pace; with a count of 0 all go.
    ///
    /// # Errors
    /// See [`ActorError`].
    pub async fn set_actors(&self, name: &WorldName, plan: ActorPlan) -> Result<(), ActorError> {
        if plan.count > ACTORS_MAX {
            return Err(ActorError::TooMany);
        }
        // Whoever asks learns whether the world can be had.
        let door = self.visit(name).await?;
        plan.check_spawn(name, door.info().settings.size)?;
        self.start_actors(name, plan);
        Ok(())
    }

    /// The same without a look whether the world can be had now: the crews visit it until it can.
    pub(super) fn start_actors(&self, name: &WorldName, plan: ActorPlan) {
        let crews = u32::try_from(self.config().actor_threads.max(1)).unwrap_or(1);
        let mut register = self.shared.actors.lock();
        if let Some(posted) = register.get(name) {
            posted.iter().zip(0..).for_each(|(posted, crew)| posted.set_share(plan.share(crew, crews)));
        } else if plan.count > 0 {
            let posted = (0..crews).map(|crew| self.start_worker(name, plan.share(crew, crews), crew)).collect();
            register.insert(name.clone(), posted);
        }
    }

    /// What the actors of a world come to; nothing when there are none.
    #[must_use]
    pub fn actors(&self, name: &WorldName) -> Option<ActorStats> {
        let register = self.shared.actors.lock();
        let tallies: Vec<_> = register.get(name)?.iter().map(|posted| posted.counters.clone()).collect();
        drop(register);
        Some(counters::stats(&tallies))
    }

    /// Starts a crew: a task that visits the world and, while it is here, a thread that lets actors move.
    fn start_worker(&self, name: &WorldName, share: PlanShare, number: u32) -> RegisteredWorker {
        let (tally, place) = (Arc::new(ActorCounters::new(share)), Arc::new(Mutex::new(None)));
        let posted = RegisteredWorker { counters: tally.clone(), inbox: place.clone() };
        let (worlds, name) = (self.clone(), name.clone());
        tokio::spawn(async move {
            let mut said = None;
            while tally.share().plan.count > 0 {
                match worlds.visit(&name).await {
                    Ok(door) => {
                        said = None;
                        let desk = Arc::new(ActorInbox::new());
                        *lock(&place) = Some(desk.clone());
                        let (ended, has_ended) = oneshot::channel();
                        let (metrics, tally) = (worlds.shared.metrics.clone(), tally.clone());
                        let crew = move || {
                            ActorWorker::new(door, desk, number, tally, metrics).run();
                            let _ = ended.send(());
                        };
                        if let Err(error) = std::thread::Builder::new().name("world-actors".to_owned()).spawn(crew) {
                            tracing::error!(%error, "the thread of actors cannot be started");
                        }
                        // However it ended: an error is a crew that broke down.
                        let _ = has_ended.await;
                        *lock(&place) = None;
                    }
                    Err(VisitError::Draining | VisitError::NoSuchWorld | VisitError::Over) => break,
                    // Once for each reason: it may be so for as long as another node lives.
                    Err(why) if said.as_ref() != Some(&why) => {
                        tracing::warn!(world = %name, error = %why, "actors cannot come into their world; they try again");
                        said = Some(why);
                    }
                    Err(_) => {}
                }
                sleep(ACTOR_REVISIT_DELAY).await;
            }
            worlds.shared.actors.forget(&name, &tally);
        });
        posted
    }
}

impl RegisteredWorker {
    fn set_share(&self, share: PlanShare) {
        self.counters.set_share(share);
        if let Some(desk) = &*lock(&self.inbox) {
            // A crew that has just ended begins anew with this.
            let _ = desk.mailbox.send_control(ActorWorkerMessage::PlanChanged(share));
        }
    }
}

impl ActorRegistry {
    /// Forgets a crew that has ended, and its world with the last one.
    fn forget(&self, name: &WorldName, tally: &Arc<ActorCounters>) {
        let mut register = self.lock();
        if let Some(posted) = register.get_mut(name) {
            posted.retain(|posted| !Arc::ptr_eq(&posted.counters, tally));
            if posted.is_empty() {
                register.remove(name);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<WorldName, Vec<RegisteredWorker>>> {
        lock(&self.0)
    }
}

/// What the lists hold is whole even if a holder of the lock panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

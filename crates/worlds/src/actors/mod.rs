//! Actors: built-in movers, for load and to bring a world to life. Each has its own identity, timer and move. A move goes through the same
//! mailbox as every client's, and its answer is timed from the moment for which the move was intended.
//!
//! `worker` is the thread that moves them. Moves that are due together are sent together, and none is made before it is due. When their
//! world leaves memory the worker visits it again, as a client would.

mod counters;
mod plan;
mod worker;

pub use plan::{ActorPlan, ActorStats, MoveTime, SpawnOutOfBounds};

use super::{VisitError, Worlds};
use counters::ActorCounters;
use engine::ids::WorldName;
use engine::limits::{ACTOR_REVISIT_DELAY, ACTORS_MAX};
use plan::PlanShare;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use tokio::time::sleep;
use worker::ActorWorker;

/// The actor workers of a process, by world.
#[derive(Default)]
pub(super) struct ActorRegistry(Mutex<BTreeMap<WorldName, Vec<Arc<ActorCounters>>>>);

/// Why actors were not started.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ActorError {
    #[error("at most {ACTORS_MAX} actors move in one world")]
    TooMany,
    #[error(transparent)]
    SpawnOutOfBounds(#[from] SpawnOutOfBounds),
    /// The world cannot be visited here.
    #[error(transparent)]
    Visit(#[from] VisitError),
}

impl Worlds {
    /// Runs actors in a world by this plan. If some move already, those that start from now on begin as the plan says, and all continue at
    /// its pace; a count of 0 removes all.
    ///
    /// # Errors
    /// See [`ActorError`].
    pub async fn set_actors(&self, name: &WorldName, plan: ActorPlan) -> Result<(), ActorError> {
        if plan.count > ACTORS_MAX {
            return Err(ActorError::TooMany);
        }
        // The caller learns whether the world can be visited.
        let world = self.visit(name).await?;
        plan.check_spawn(name, world.info().settings.size)?;
        self.start_actors(name, plan);
        Ok(())
    }

    /// The same without checking that the world can be visited now: the workers try until it can.
    pub(super) fn start_actors(&self, name: &WorldName, plan: ActorPlan) {
        let workers = u32::try_from(self.config().actor_threads.max(1)).unwrap_or(1);
        let mut registry = self.shared.actors.lock();
        if let Some(registered) = registry.get(name) {
            registered.iter().zip(0..).for_each(|(counters, worker)| counters.set_share(plan.share(worker, workers)));
        } else if plan.count > 0 {
            let registered =
                (0..workers).map(|worker| self.start_worker(name, plan.share(worker, workers), worker)).collect();
            registry.insert(name.clone(), registered);
        }
    }

    /// Statistics of a world's actors; `None` when it has none.
    #[must_use]
    pub fn actors(&self, name: &WorldName) -> Option<ActorStats> {
        let registry = self.shared.actors.lock();
        let counters = registry.get(name)?.clone();
        drop(registry);
        Some(counters::stats(&counters))
    }

    /// Starts a worker: a task that visits the world and, while the world is in memory, a thread that moves actors.
    fn start_worker(&self, name: &WorldName, share: PlanShare, number: u32) -> Arc<ActorCounters> {
        let counters = Arc::new(ActorCounters::new(share));
        let registered = counters.clone();
        let (worlds, name) = (self.clone(), name.clone());
        tokio::spawn(async move {
            let mut logged = None;
            while counters.share().plan.count > 0 {
                match worlds.visit(&name).await {
                    Ok(world) => {
                        logged = None;
                        let (ended, has_ended) = oneshot::channel();
                        let (metrics, counters) = (worlds.shared.metrics.clone(), counters.clone());
                        let worker = move || {
                            ActorWorker::new(world, number, counters, metrics).run();
                            let _ = ended.send(());
                        };
                        if let Err(error) = std::thread::Builder::new().name("world-actors".to_owned()).spawn(worker) {
                            tracing::error!(%error, "cannot start the thread of actors");
                        }
                        // An error is a worker that panicked.
                        let _ = has_ended.await;
                    }
                    Err(VisitError::Draining | VisitError::NoSuchWorld | VisitError::Over) => break,
                    // Logged once for each reason: it may last as long as another node lives.
                    Err(reason) if logged.as_ref() != Some(&reason) => {
                        tracing::warn!(world = %name, error = %reason, "actors cannot enter their world; they try again");
                        logged = Some(reason);
                    }
                    Err(_) => {}
                }
                sleep(ACTOR_REVISIT_DELAY).await;
            }
            worlds.shared.actors.forget(&name, &counters);
        });
        registered
    }
}

impl ActorRegistry {
    /// Removes a worker that has ended, and its world with the last one.
    fn forget(&self, name: &WorldName, counters: &Arc<ActorCounters>) {
        let mut registry = self.lock();
        if let Some(registered) = registry.get_mut(name) {
            registered.retain(|registered| !Arc::ptr_eq(registered, counters));
            if registered.is_empty() {
                registry.remove(name);
            }
        }
    }

    /// The map is consistent even if a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<WorldName, Vec<Arc<ActorCounters>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Actors: movers of our own, for load and for life. Each has its own identity, its own timer, and its own move, which goes through the
//! same mailbox as everybody's and whose answer is awaited and timed from the moment for which it was intended.
//!
//! `crew` is the thread that lets them move; several moves travel together when they are due together, and none is made before it is
//! due. When their world leaves memory the crew visits it again, as everybody does.

mod crew;
pub(super) mod desk;
mod plan;
mod tally;

pub use plan::{ActorStats, MoveTime, Plan};

use super::{VisitError, Worlds};
use crew::Crew;
use desk::{Desk, Word};
use engine::ids::WorldName;
use engine::limits::{ACTOR_REVISIT, ACTORS_MAX};
use rules::world::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tally::Tally;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// The crews of a process, by world.
#[derive(Default)]
pub(super) struct Register(Mutex<BTreeMap<WorldName, Vec<Posted>>>);

/// A crew, as its process sees it.
struct Posted {
    tally: Arc<Tally>,
    /// Where it is told how many are wanted, while it moves.
    desk: Arc<Mutex<Option<Arc<Desk>>>>,
}

/// Why actors were not let loose.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ActorError {
    /// So many may not be.
    #[error("at most {ACTORS_MAX} actors move in one world")]
    TooMany,
    /// The world is not to be had here.
    #[error(transparent)]
    Visit(#[from] VisitError),
}

impl Worlds {
    /// Lets so many actors move in a world. When some move there already, only their number is changed; with 0 all go.
    ///
    /// # Errors
    /// See [`ActorError`].
    pub async fn set_actors(&self, name: &WorldName, plan: Plan) -> Result<(), ActorError> {
        if plan.count > ACTORS_MAX {
            return Err(ActorError::TooMany);
        }
        // Whoever asks learns whether the world can be had.
        let door = self.visit(name).await?;
        drop(door);
        let crews = u32::try_from(self.settings().actor_threads.max(1)).unwrap_or(1);
        let share = |crew: u32| plan.count / crews + u32::from(crew < plan.count % crews);
        let mut register = self.shared.actors.lock();
        if let Some(posted) = register.get(name) {
            posted.iter().zip(0..).for_each(|(posted, crew)| posted.want(share(crew)));
        } else if plan.count > 0 {
            let posted = (0..crews).map(|crew| self.post(name, Plan { count: share(crew), ..plan }, crew)).collect();
            register.insert(name.clone(), posted);
        }
        Ok(())
    }

    /// What the actors of a world come to; nothing when there are none.
    #[must_use]
    pub fn actors(&self, name: &WorldName) -> Option<ActorStats> {
        let register = self.shared.actors.lock();
        let tallies: Vec<_> = register.get(name)?.iter().map(|posted| posted.tally.clone()).collect();
        drop(register);
        Some(tally::stats(&tallies))
    }

    /// Starts a crew: a task that visits the world and, while it is here, a thread that lets actors move.
    fn post(&self, name: &WorldName, plan: Plan, number: u32) -> Posted {
        let (tally, place) = (Arc::new(Tally::new(plan.count)), Arc::new(Mutex::new(None)));
        let posted = Posted { tally: tally.clone(), desk: place.clone() };
        let (worlds, name) = (self.clone(), name.clone());
        tokio::spawn(async move {
            while tally.wanted() > 0 {
                match worlds.visit(&name).await {
                    Ok(door) => {
                        let desk = Arc::new(Desk::new());
                        *lock(&place) = Some(desk.clone());
                        let (ended, has_ended) = oneshot::channel();
                        let (metrics, tally) = (worlds.shared.metrics.clone(), tally.clone());
                        let crew = move || {
                            Crew::new(door, desk, plan, number, tally, metrics).run();
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
                    Err(why) => {
                        tracing::warn!(world = %name, error = %why, "actors cannot come into their world; they try again");
                    }
                }
                sleep(ACTOR_REVISIT).await;
            }
            worlds.shared.actors.forget(&name, &tally);
        });
        posted
    }
}

impl Posted {
    fn want(&self, count: u32) {
        self.tally.want(count);
        if let Some(desk) = &*lock(&self.desk) {
            // A crew that has just ended begins anew with this number.
            let _ = desk.tray.order(Word::Wanted(count));
        }
    }
}

impl Register {
    /// Forgets a crew that has ended, and its world with the last one.
    fn forget(&self, name: &WorldName, tally: &Arc<Tally>) {
        let mut register = self.lock();
        if let Some(posted) = register.get_mut(name) {
            posted.retain(|posted| !Arc::ptr_eq(&posted.tally, tally));
            if posted.is_empty() {
                register.remove(name);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<WorldName, Vec<Posted>>> {
        lock(&self.0)
    }
}

/// What the lists hold is whole even if a holder of the lock panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Actors: movers of our own, for load and for life. Each has its own identity, its own timer, and its own move, which goes through the
//! same mailbox as everybody's and whose answer is awaited and timed from the moment for which it was intended.
//!
//! `crew` is the thread that lets them move; several moves travel together when they are due together, and none is made before it is
//! due. When their world leaves memory the crew visits it again, as everybody does.

mod crew;
pub(super) mod desk;
mod plan;
mod tally;

pub use plan::{ActorStats, MoveTime, OutsideOfWorld, Plan};

use super::{VisitError, Worlds};
use crew::Crew;
use desk::{Desk, Word};
use engine::ids::WorldName;
use engine::limits::{ACTOR_REVISIT_DELAY, ACTORS_MAX};
use plan::Share;
use rules::world::{Cell, Size};
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
    /// They would begin outside of the world.
    #[error(transparent)]
    Outside(#[from] OutsideOfWorld),
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
    pub async fn set_actors(&self, name: &WorldName, plan: Plan) -> Result<(), ActorError> {
        if plan.count > ACTORS_MAX {
            return Err(ActorError::TooMany);
        }
        // Whoever asks learns whether the world can be had.
        let door = self.visit(name).await?;
        plan.fits(name, door.facts().settings.size)?;
        self.post_actors(name, plan);
        Ok(())
    }

    /// The same without a look whether the world can be had now: the crews visit it until it can.
    pub(super) fn post_actors(&self, name: &WorldName, plan: Plan) {
        let crews = u32::try_from(self.settings().actor_threads.max(1)).unwrap_or(1);
        let mut register = self.shared.actors.lock();
        if let Some(posted) = register.get(name) {
            posted.iter().zip(0..).for_each(|(posted, crew)| posted.want(plan.share(crew, crews)));
        } else if plan.count > 0 {
            let posted = (0..crews).map(|crew| self.post(name, plan.share(crew, crews), crew)).collect();
            register.insert(name.clone(), posted);
        }
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
    fn post(&self, name: &WorldName, share: Share, number: u32) -> Posted {
        let (tally, place) = (Arc::new(Tally::new(share)), Arc::new(Mutex::new(None)));
        let posted = Posted { tally: tally.clone(), desk: place.clone() };
        let (worlds, name) = (self.clone(), name.clone());
        tokio::spawn(async move {
            let mut said = None;
            while tally.share().plan.count > 0 {
                match worlds.visit(&name).await {
                    Ok(door) => {
                        said = None;
                        let desk = Arc::new(Desk::new());
                        *lock(&place) = Some(desk.clone());
                        let (ended, has_ended) = oneshot::channel();
                        let (metrics, tally) = (worlds.shared.metrics.clone(), tally.clone());
                        let crew = move || {
                            Crew::new(door, desk, number, tally, metrics).run();
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

impl Posted {
    fn want(&self, share: Share) {
        self.tally.want(share);
        if let Some(desk) = &*lock(&self.desk) {
            // A crew that has just ended begins anew with this.
            let _ = desk.tray.order(Word::Wanted(share));
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

//! An outlet that remembers what it is told, and wakes whoever waits for it.

use super::super::{Ending, Outlet, Tiding};
use engine::worlds::{Answer, Done, HuntEvent, Refusal, ViewDelta, ViewOptions};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// Longer than anything here takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// One thing that was told.
#[derive(Clone, Debug)]
pub(super) enum Heard {
    Answer(Answer),
    View(Box<ViewDelta>),
    News(HuntEvent),
    Watched(Option<ViewOptions>),
    End(Ending),
}

#[derive(Default)]
pub(super) struct Ear {
    heard: Mutex<Vec<Heard>>,
    bell: Notify,
    /// What it says of itself.
    pub(super) is_behind: AtomicBool,
    /// Whether encoding breaks down.
    pub(super) is_broken: AtomicBool,
}

impl Ear {
    pub(super) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Everything so far.
    pub(super) fn all(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    /// The first thing that `find` finds, now or later.
    pub(super) async fn wait<T>(&self, what: &str, find: impl Fn(&Heard) -> Option<T>) -> T {
        let found = async {
            loop {
                let rung = self.bell.notified();
                let found = self.heard.lock().unwrap().iter().find_map(&find);
                match found {
                    Some(found) => return found,
                    None => rung.await,
                }
            }
        };
        let found = timeout(PATIENCE, found).await;
        found.unwrap_or_else(|_| panic!("never heard {what}: {:?}", self.all()))
    }

    /// What became of the input of this number.
    pub(super) async fn answer(&self, seq: u32) -> Result<Done, Refusal> {
        self.wait("an answer", |heard| match heard {
            Heard::Answer(answer) if answer.seq == seq => Some(answer.result),
            _ => None,
        })
        .await
    }

    /// Why it was told nothing more.
    pub(super) async fn end(&self) -> Ending {
        self.wait("the end", |heard| if let Heard::End(why) = heard { Some(*why) } else { None }).await
    }

    fn hear(&self, heard: Heard) {
        self.heard.lock().unwrap().push(heard);
        self.bell.notify_waiters();
    }
}

impl Outlet for Ear {
    fn encode(&self, tiding: &Tiding<'_>, out: &mut Vec<u8>) {
        assert!(!self.is_broken.load(Ordering::Relaxed), "told to break down");
        out.push(0);
        self.hear(match tiding {
            Tiding::Answer(answer) => Heard::Answer(**answer),
            Tiding::View(view) => Heard::View(Box::new((*view).clone())),
            Tiding::News(news) => Heard::News((*news).clone()),
            Tiding::Watched(options) => Heard::Watched(*options),
        });
    }

    fn tell(&self, frames: &[u8]) {
        assert!(!frames.is_empty(), "nothing is not sent");
    }

    fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::Relaxed)
    }

    fn end(&self, why: Ending) {
        self.hear(Heard::End(why));
    }
}

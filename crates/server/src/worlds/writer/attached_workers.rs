//! Crews of actors as a writer sees them: answers with a crew's number in their tag go to its desk, in batches.

use crate::worlds::actors::inbox::{ActorInbox, ActorWorkerMessage};
use crate::worlds::client_sink::CloseReason;
use engine::worlds::Answer;
use std::sync::Arc;

/// Bits of a tag below the crew's number.
const WORKER_SHIFT: u32 = 48;

/// The tag of an actor's inputs. Tags of connections lie below 2^48: those of no crew.
pub(in crate::worlds) fn tag(crew: u16, actor: u32) -> u64 {
    u64::from(crew) << WORKER_SHIFT | u64::from(actor)
}

/// Which actor an answer is for.
pub(in crate::worlds) fn actor_of(tag: u64) -> u32 {
    tag as u32
}

#[derive(Default)]
pub(super) struct AttachedWorkers {
    /// By number, from 1.
    workers: Vec<Option<AttachedWorker>>,
}

struct AttachedWorker {
    inbox: Arc<ActorInbox>,
    answers: Vec<Answer>,
}

impl AttachedWorkers {
    /// Whether no crew is here.
    pub(super) fn is_empty(&self) -> bool {
        self.workers.iter().all(Option::is_none)
    }

    /// Lets a crew sit down.
    pub(super) fn attach(&mut self, desk: Arc<ActorInbox>) {
        let at = self.workers.iter().position(Option::is_none).unwrap_or(self.workers.len());
        let Ok(number) = u16::try_from(at + 1) else {
            let _ = desk.mailbox.send_control(ActorWorkerMessage::Ended(CloseReason::Gone));
            return;
        };
        if at == self.workers.len() {
            self.workers.push(None);
        }
        if desk.mailbox.send_control(ActorWorkerMessage::Attached(number)).is_ok() {
            self.workers[at] = Some(AttachedWorker { inbox: desk, answers: Vec::new() });
        }
    }

    /// Takes an answer if it is a crew's.
    pub(super) fn take_answer(&mut self, answer: &Answer) -> bool {
        let number = (answer.tag >> WORKER_SHIFT) as usize;
        if number == 0 {
            return false;
        }
        if let Some(Some(crew)) = self.workers.get_mut(number - 1) {
            crew.answers.push(*answer);
        }
        true
    }

    /// Tells a crew something. Whether it is there.
    pub(super) fn send(&mut self, number: u16, word: ActorWorkerMessage) -> bool {
        let crew = usize::from(number).checked_sub(1).and_then(|at| self.workers.get(at)?.as_ref());
        crew.is_some_and(|crew| crew.inbox.mailbox.send_control(word).is_ok())
    }

    /// Hands over what was answered. A crew that is gone leaves its place.
    pub(super) fn flush(&mut self) {
        for place in &mut self.workers {
            if let Some(crew) = place
                && !crew.answers.is_empty()
                && crew.inbox.mailbox.send(&mut crew.answers).is_err()
            {
                *place = None;
            }
        }
    }

    /// Forgets crews that are gone.
    pub(super) fn sweep(&mut self) {
        for place in &mut self.workers {
            if place.as_ref().is_some_and(|crew| crew.inbox.mailbox.is_closed()) {
                *place = None;
            }
        }
    }

    /// All crews are told that it is over.
    pub(super) fn close(&mut self, why: CloseReason) {
        self.flush();
        for crew in self.workers.drain(..).flatten() {
            let _ = crew.inbox.mailbox.send_control(ActorWorkerMessage::Ended(why));
        }
    }
}

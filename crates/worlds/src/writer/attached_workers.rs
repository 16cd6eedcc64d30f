//! Actor workers as a writer sees them: answers with a worker's number in their tag go to its inbox, in batches.

use crate::actor_inbox::{ActorInbox, ActorWorkerMessage, WORKER_SHIFT};
use engine::worlds::Answer;
use std::sync::Arc;

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
    pub(super) fn is_empty(&self) -> bool {
        self.workers.iter().all(Option::is_none)
    }

    /// Gives a worker its number.
    pub(super) fn attach(&mut self, inbox: Arc<ActorInbox>) {
        let at = self.workers.iter().position(Option::is_none).unwrap_or(self.workers.len());
        let Ok(number) = u16::try_from(at + 1) else {
            return inbox.mailbox.close();
        };
        if at == self.workers.len() {
            self.workers.push(None);
        }
        if inbox.mailbox.send_control(ActorWorkerMessage::Attached(number)).is_ok() {
            self.workers[at] = Some(AttachedWorker { inbox, answers: Vec::new() });
        }
    }

    /// Takes an answer if it is for an actor.
    pub(super) fn take_answer(&mut self, answer: &Answer) -> bool {
        let number = (answer.tag >> WORKER_SHIFT) as usize;
        if number == 0 {
            return false;
        }
        if let Some(Some(worker)) = self.workers.get_mut(number - 1) {
            worker.answers.push(*answer);
        }
        true
    }

    /// Sends a message to a worker; returns whether the worker is attached.
    pub(super) fn send(&mut self, number: u16, message: ActorWorkerMessage) -> bool {
        let worker = usize::from(number).checked_sub(1).and_then(|at| self.workers.get(at)?.as_ref());
        worker.is_some_and(|worker| worker.inbox.mailbox.send_control(message).is_ok())
    }

    /// Sends the collected answers. A worker that is gone is detached.
    pub(super) fn flush(&mut self) {
        for slot in &mut self.workers {
            if let Some(worker) = slot
                && !worker.answers.is_empty()
                && worker.inbox.mailbox.send(&mut worker.answers).is_err()
            {
                *slot = None;
            }
        }
    }

    /// Detaches workers that are gone.
    pub(super) fn sweep(&mut self) {
        for slot in &mut self.workers {
            if slot.as_ref().is_some_and(|worker| worker.inbox.mailbox.is_closed()) {
                *slot = None;
            }
        }
    }

    /// Ends all workers.
    pub(super) fn close(&mut self) {
        self.flush();
        self.workers.drain(..).flatten().for_each(|worker| worker.inbox.mailbox.close());
    }
}

//! Which thread runs a writer: its own, and, while that sleeps, the thread that sends a few inputs. Waking a thread for one move costs more
//! than the move, and the sender's thread is awake.
//!
//! The consumer state of the writer's mailbox says which thread has the writer, so that there is one at a time. Knows nothing of worlds.

use super::mailbox::Mailbox;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

pub(super) trait RoundRunner: Send {
    /// Waits for the minimum interval between rounds; returns when something is due by itself.
    fn throttle(&mut self) -> Instant;
    /// One round. Returns whether more may follow.
    fn run_round(&mut self) -> bool;
    /// One round on the thread of a sender with a few inputs, if it is short. Returns whether the writer's own thread has something to do
    /// now.
    fn run_inline_round(&mut self) -> bool;
    /// Ends the writer.
    fn end(self: Box<Self>);
}

/// Holds the writer while its thread sleeps.
#[derive(Default)]
pub(super) struct ParkedWriter(Mutex<Option<Box<dyn RoundRunner>>>);

impl ParkedWriter {
    fn put(&self, writer: Box<dyn RoundRunner>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
    }

    fn take(&self) -> Option<Box<dyn RoundRunner>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Runs a writer to its end, on this thread and on those of senders.
pub(super) fn run_writer<I, C>(mailbox: &Mailbox<I, C>, parked: &ParkedWriter, mut writer: Box<dyn RoundRunner>) {
    loop {
        let until = writer.throttle();
        parked.put(writer);
        mailbox.wait(until);
        // It panicked on a sender's thread, and has ended.
        let Some(back) = parked.take() else { return };
        writer = back;
        if !writer.run_round() {
            return writer.end();
        }
    }
}

/// One round on the thread of the sender to which the mailbox gave the consumer's turn.
pub(super) fn run_round_inline<I, C>(mailbox: &Mailbox<I, C>, parked: &ParkedWriter) {
    let mut run = InlineRun { mailbox, should_notify: true };
    if let Some(mut writer) = parked.take() {
        run.should_notify = writer.run_inline_round();
        parked.put(writer);
    }
}

/// Gives the turn back however the round ends; after a panic to the writer's thread, which finds no writer.
struct InlineRun<'a, I, C> {
    mailbox: &'a Mailbox<I, C>,
    should_notify: bool,
}

impl<I, C> Drop for InlineRun<'_, I, C> {
    fn drop(&mut self) {
        self.mailbox.finish_inline(self.should_notify);
    }
}

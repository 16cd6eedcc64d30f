//! Walks through every interleaving of the mailbox protocol's steps for one consumer and several senders: no two threads consume at once,
//! and the consumer never sleeps while something is queued.
//!
//! A step is what a thread does while it holds the lock. A notification is sent after the lock is released, wakes the consumer if it waits
//! at that moment, and is lost otherwise; wake-ups may be spurious, and the consumer may time out at any moment.

use super::super::state::MailboxState;
use std::collections::HashSet;

/// Most items for which a sender runs inline.
const FEW: usize = 1;
const ROOM: usize = 9;

/// Where the consumer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Consumer {
    /// Awake, about to look at the mailbox.
    Checks,
    /// Waits for a notification, or its timeout.
    Parked,
    /// Timed out while a sender ran inline: waits for a notification.
    Waits,
    /// Running, about to take everything out.
    Takes,
    /// The mailbox is closed and empty.
    Gone,
}

/// Where a sender is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sender {
    /// About to do its next action.
    Sends,
    /// Runs inline, about to take everything out.
    RunsInline,
    /// Has taken everything out, about to finish; with a reason of its own to wake the consumer, or without.
    FinishesInline,
    /// Has released the lock, about to notify.
    Notifies,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SenderAction {
    Send,
    SendOrRunInline,
    SendControl,
    Close,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ModelState {
    mailbox: MailboxState<(), ()>,
    consumer: Consumer,
    senders: Vec<(Sender, Vec<SenderAction>)>,
    /// A waiting consumer was notified.
    is_notified: bool,
    /// A sender has left the consumer work that is not in the mailbox.
    is_owed: bool,
    /// Items that were sent and not taken.
    left: usize,
}

impl ModelState {
    fn begin(actions: &[&[SenderAction]]) -> Self {
        let senders = actions.iter().map(|actions| (Sender::Sends, actions.to_vec())).collect();
        Self {
            mailbox: MailboxState::new(),
            consumer: Consumer::Checks,
            senders,
            is_notified: false,
            is_owed: false,
            left: 0,
        }
    }

    /// The running thread takes everything out.
    fn take(&mut self) {
        let (mut items, mut control) = (Vec::new(), Vec::new());
        self.mailbox.swap(&mut items, &mut control);
        self.left -= items.len() + control.len();
    }

    fn try_resume(&mut self) {
        self.consumer = if self.mailbox.try_resume() { Consumer::Takes } else { Consumer::Waits };
    }

    /// The consumer's next step, other than a timeout.
    fn consumer_step(&self) -> Option<Self> {
        let mut next = self.clone();
        match self.consumer {
            Consumer::Checks if self.mailbox.is_idle() => {
                next.mailbox.park();
                next.consumer = Consumer::Parked;
            }
            Consumer::Checks => next.consumer = Consumer::Takes,
            Consumer::Takes => {
                next.is_owed = false;
                next.take();
                next.consumer = if next.mailbox.is_closed() { Consumer::Gone } else { Consumer::Checks };
            }
            Consumer::Parked if self.is_notified => {
                next.is_notified = false;
                if next.mailbox.is_unparked() {
                    next.try_resume();
                }
            }
            Consumer::Waits if self.is_notified => {
                next.is_notified = false;
                next.try_resume();
            }
            Consumer::Parked | Consumer::Waits | Consumer::Gone => return None,
        }
        Some(next)
    }

    /// The consumer's wait times out.
    fn consumer_timeout(&self) -> Option<Self> {
        let mut next = (self.consumer == Consumer::Parked).then(|| self.clone())?;
        // A notification at the same moment is lost: the consumer is awake already.
        next.is_notified = false;
        next.try_resume();
        Some(next)
    }

    /// The possible next steps of a sender.
    fn sender_steps(&self, at: usize) -> Vec<Self> {
        let (sender, actions) = &self.senders[at];
        let mut next = self.clone();
        let then = |mut next: Self, sender| {
            next.senders[at].0 = sender;
            next
        };
        let after = |should_notify| if should_notify { Sender::Notifies } else { Sender::Sends };
        match sender {
            Sender::Sends => {
                let Some(action) = actions.first().copied() else { return Vec::new() };
                next.senders[at].1.remove(0);
                let is_inline = next.begin_action(action);
                let sender = if is_inline { Sender::RunsInline } else { after(next.mailbox.unpark()) };
                vec![then(next, sender)]
            }
            Sender::RunsInline => {
                next.take();
                vec![then(next, Sender::FinishesInline)]
            }
            Sender::FinishesInline => [false, true]
                .map(|is_to_wake| {
                    let mut next = self.clone();
                    next.is_owed |= is_to_wake;
                    let sender = after(next.mailbox.finish_inline(is_to_wake));
                    then(next, sender)
                })
                .to_vec(),
            Sender::Notifies => {
                next.is_notified |= matches!(self.consumer, Consumer::Parked | Consumer::Waits);
                vec![then(next, Sender::Sends)]
            }
        }
    }

    /// Whether the sender is to run inline.
    fn begin_action(&mut self, action: SenderAction) -> bool {
        match action {
            SenderAction::Send | SenderAction::SendOrRunInline => {
                let is_taken = self.mailbox.push_items(&mut vec![()], ROOM).is_ok();
                self.left += usize::from(is_taken);
                is_taken && action == SenderAction::SendOrRunInline && self.mailbox.try_inline(FEW)
            }
            SenderAction::SendControl => {
                self.left += usize::from(self.mailbox.push_control((), ROOM).is_ok());
                false
            }
            SenderAction::Close => {
                self.mailbox.close();
                false
            }
        }
    }

    fn check(&self, is_stuck: bool) {
        let is_consuming = |sender: &Sender| matches!(sender, Sender::RunsInline | Sender::FinishesInline);
        let inline = self.senders.iter().filter(|(sender, _)| is_consuming(sender)).count();
        assert!(inline + usize::from(self.consumer == Consumer::Takes) <= 1, "two threads consume: {self:?}");
        assert!(
            !self.mailbox.is_parked() || self.mailbox.is_idle(),
            "the consumer sleeps while something is queued: {self:?}"
        );
        if is_stuck {
            let is_served = self.left == 0 && !self.is_owed && self.consumer != Consumer::Waits;
            let is_ended = self.mailbox.is_closed() == (self.consumer == Consumer::Gone);
            assert!(is_served && is_ended, "no thread can proceed: {self:?}");
        }
    }
}

/// Explores all interleavings of senders that do these actions, each in order; returns the number of states.
fn explore(actions: &[&[SenderAction]]) -> usize {
    let (mut seen, mut open) = (HashSet::new(), vec![ModelState::begin(actions)]);
    while let Some(state) = open.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        let mut next_states: Vec<ModelState> = (0..state.senders.len()).flat_map(|at| state.sender_steps(at)).collect();
        next_states.extend(state.consumer_step());
        // A consumer may sleep for an hour: work that waits for its timeout counts as never done.
        state.check(next_states.is_empty());
        next_states.extend(state.consumer_timeout());
        open.extend(next_states);
    }
    seen.len()
}

#[test]
fn in_every_order_one_thread_consumes_and_nothing_is_left() {
    use SenderAction::{Close, Send, SendControl, SendOrRunInline};
    let cases: [&[&[SenderAction]]; 5] = [
        &[&[SendOrRunInline, SendOrRunInline]],
        &[&[SendOrRunInline, SendOrRunInline], &[SendOrRunInline, SendOrRunInline]],
        &[&[SendOrRunInline, SendOrRunInline], &[SendOrRunInline], &[SendControl]],
        &[&[SendOrRunInline, SendOrRunInline], &[SendOrRunInline, Send], &[Send]],
        &[&[SendOrRunInline], &[SendOrRunInline], &[SendControl, Close]],
    ];
    let states: Vec<usize> = cases.into_iter().map(explore).collect();
    assert!(states.iter().all(|count| *count > 20), "{states:?}");
}

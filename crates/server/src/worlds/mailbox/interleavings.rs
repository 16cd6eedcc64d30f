//! Every order in which a taker and some who bring things may take the steps of a tray, walked through to its end: no two have the turn
//! at once, and nobody sleeps while something waits for him.
//!
//! A step is what a thread does while it holds the lock. A bell is rung after the lock is let go, wakes who waits at that moment, and is
//! lost on who does not; it may ring for nothing, and a taker's time may come at any moment.

use super::state::MailboxState;
use std::collections::HashSet;

/// Who moves inputs in lends turns for so few.
const FEW: usize = 1;
const ROOM: usize = 9;

/// Where the taker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Consumer {
    /// Awake, and about to look whether anything is there.
    Checks,
    /// Waits for the bell, or its time.
    Parked,
    /// Its time has come while its turn was lent: waits for the bell.
    Waits,
    /// Has its turn, and is about to take.
    Takes,
    /// The tray is closed, and empty.
    Gone,
}

/// Where somebody is who brings things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sender {
    /// About to do the next of his deeds.
    Sends,
    /// Has been lent the turn, and is about to take.
    RunsInline,
    /// Has taken, and is about to give the turn back; with a reason of his own to wake the taker, or without.
    FinishesInline,
    /// Has let go of the lock, and is about to ring.
    Notifies,
}

/// What somebody does.
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
    /// The bell has rung for a taker who waits.
    is_rung: bool,
    /// Somebody has left the taker something to do that is not in the tray.
    is_owed: bool,
    /// Things that were brought and not taken.
    left: usize,
}

impl ModelState {
    fn begin(deeds: &[&[SenderAction]]) -> Self {
        let bringers = deeds.iter().map(|deeds| (Sender::Sends, deeds.to_vec())).collect();
        Self {
            mailbox: MailboxState::new(),
            consumer: Consumer::Checks,
            senders: bringers,
            is_rung: false,
            is_owed: false,
            left: 0,
        }
    }

    /// Everything goes out, by whoever has the turn.
    fn take(&mut self) {
        let (mut things, mut orders) = (Vec::new(), Vec::new());
        self.mailbox.swap(&mut things, &mut orders);
        self.left -= things.len() + orders.len();
    }

    fn try_resume(&mut self) {
        self.consumer = if self.mailbox.try_resume() { Consumer::Takes } else { Consumer::Waits };
    }

    /// What the taker may do next, but that its time comes.
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
            Consumer::Parked if self.is_rung => {
                next.is_rung = false;
                if next.mailbox.is_unparked() {
                    next.try_resume();
                }
            }
            Consumer::Waits if self.is_rung => {
                next.is_rung = false;
                next.try_resume();
            }
            Consumer::Parked | Consumer::Waits | Consumer::Gone => return None,
        }
        Some(next)
    }

    /// The taker's time comes.
    fn consumer_timeout(&self) -> Option<Self> {
        let mut next = (self.consumer == Consumer::Parked).then(|| self.clone())?;
        // A bell that rings at the same moment wakes whoever is awake already.
        next.is_rung = false;
        next.try_resume();
        Some(next)
    }

    /// What somebody may do next who brings things.
    fn sender_steps(&self, at: usize) -> Vec<Self> {
        let (bringer, deeds) = &self.senders[at];
        let mut next = self.clone();
        let then = |mut next: Self, bringer| {
            next.senders[at].0 = bringer;
            next
        };
        let after = |is_to_ring| if is_to_ring { Sender::Notifies } else { Sender::Sends };
        match bringer {
            Sender::Sends => {
                let Some(deed) = deeds.first().copied() else { return Vec::new() };
                next.senders[at].1.remove(0);
                let is_lent = next.begin_action(deed);
                let bringer = if is_lent { Sender::RunsInline } else { after(next.mailbox.unpark()) };
                vec![then(next, bringer)]
            }
            Sender::RunsInline => {
                next.take();
                vec![then(next, Sender::FinishesInline)]
            }
            Sender::FinishesInline => [false, true]
                .map(|is_to_wake| {
                    let mut next = self.clone();
                    next.is_owed |= is_to_wake;
                    let bringer = after(next.mailbox.finish_inline(is_to_wake));
                    then(next, bringer)
                })
                .to_vec(),
            Sender::Notifies => {
                next.is_rung |= matches!(self.consumer, Consumer::Parked | Consumer::Waits);
                vec![then(next, Sender::Sends)]
            }
        }
    }

    /// Whether the turn is lent for it.
    fn begin_action(&mut self, deed: SenderAction) -> bool {
        match deed {
            SenderAction::Send | SenderAction::SendOrRunInline => {
                let is_taken = self.mailbox.push_items(&mut vec![()], ROOM).is_ok();
                self.left += usize::from(is_taken);
                is_taken && deed == SenderAction::SendOrRunInline && self.mailbox.try_inline(FEW)
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
        let has_turn = |bringer: &Sender| matches!(bringer, Sender::RunsInline | Sender::FinishesInline);
        let aside = self.senders.iter().filter(|(bringer, _)| has_turn(bringer)).count();
        assert!(aside + usize::from(self.consumer == Consumer::Takes) <= 1, "two have the turn: {self:?}");
        assert!(!self.mailbox.is_parked() || self.mailbox.is_idle(), "it sleeps over what waits: {self:?}");
        if is_stuck {
            let is_served = self.left == 0 && !self.is_owed && self.consumer != Consumer::Waits;
            let is_ended = self.mailbox.is_closed() == (self.consumer == Consumer::Gone);
            assert!(is_served && is_ended, "nobody goes on: {self:?}");
        }
    }
}

/// Walks all ways of some who do these deeds, each in order; how many states there are.
fn explore(deeds: &[&[SenderAction]]) -> usize {
    let (mut seen, mut open) = (HashSet::new(), vec![ModelState::begin(deeds)]);
    while let Some(state) = open.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        let mut ways: Vec<ModelState> = (0..state.senders.len()).flat_map(|at| state.sender_steps(at)).collect();
        ways.extend(state.consumer_step());
        // A taker may sleep for an hour: what only its time would bring is never done.
        state.check(ways.is_empty());
        ways.extend(state.consumer_timeout());
        open.extend(ways);
    }
    seen.len()
}

#[test]
fn whatever_the_order_one_has_the_turn_and_nothing_is_left() {
    use SenderAction::{Close, Send, SendControl, SendOrRunInline};
    let casts: [&[&[SenderAction]]; 5] = [
        &[&[SendOrRunInline, SendOrRunInline]],
        &[&[SendOrRunInline, SendOrRunInline], &[SendOrRunInline, SendOrRunInline]],
        &[&[SendOrRunInline, SendOrRunInline], &[SendOrRunInline], &[SendControl]],
        &[&[SendOrRunInline, SendOrRunInline], &[SendOrRunInline, Send], &[Send]],
        &[&[SendOrRunInline], &[SendOrRunInline], &[SendControl, Close]],
    ];
    let states: Vec<usize> = casts.into_iter().map(explore).collect();
    assert!(states.iter().all(|count| *count > 20), "{states:?}");
}

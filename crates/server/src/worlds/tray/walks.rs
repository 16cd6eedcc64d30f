//! Every order in which a taker and some who bring things may take the steps of a tray, walked through to its end: no two have the turn
//! at once, and nobody sleeps while something waits for him.
//!
//! A step is what a thread does while it holds the lock. A bell is rung after the lock is let go, wakes who waits at that moment, and is
//! lost on who does not; it may ring for nothing, and a taker's time may come at any moment.

use super::inside::Inside;
use std::collections::HashSet;

/// Who moves inputs in lends turns for so few.
const FEW: usize = 1;
const ROOM: usize = 9;

/// Where the taker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Taker {
    /// Awake, and about to look whether anything is there.
    Looks,
    /// Waits for the bell, or its time.
    Sleeps,
    /// Its time has come while its turn was lent: waits for the bell.
    Waits,
    /// Has its turn, and is about to take.
    Takes,
    /// The tray is closed, and empty.
    Gone,
}

/// Where somebody is who brings things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Bringer {
    /// About to do the next of his deeds.
    Brings,
    /// Has been lent the turn, and is about to take.
    TakesAside,
    /// Has taken, and is about to give the turn back; with a reason of his own to wake the taker, or without.
    GivesBack,
    /// Has let go of the lock, and is about to ring.
    Rings,
}

/// What somebody does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Deed {
    Put,
    PutOrBorrow,
    Order,
    Close,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    inside: Inside<(), ()>,
    taker: Taker,
    bringers: Vec<(Bringer, Vec<Deed>)>,
    /// The bell has rung for a taker who waits.
    is_rung: bool,
    /// Somebody has left the taker something to do that is not in the tray.
    is_owed: bool,
    /// Things that were brought and not taken.
    left: usize,
}

impl State {
    fn begin(deeds: &[&[Deed]]) -> Self {
        let bringers = deeds.iter().map(|deeds| (Bringer::Brings, deeds.to_vec())).collect();
        Self { inside: Inside::new(), taker: Taker::Looks, bringers, is_rung: false, is_owed: false, left: 0 }
    }

    /// Everything goes out, by whoever has the turn.
    fn take(&mut self) {
        let (mut things, mut orders) = (Vec::new(), Vec::new());
        self.inside.swap(&mut things, &mut orders);
        self.left -= things.len() + orders.len();
    }

    fn claim(&mut self) {
        self.taker = if self.inside.claim() { Taker::Takes } else { Taker::Waits };
    }

    /// What the taker may do next, but that its time comes.
    fn taker_goes_on(&self) -> Option<Self> {
        let mut next = self.clone();
        match self.taker {
            Taker::Looks if self.inside.is_quiet() => {
                next.inside.lie_down();
                next.taker = Taker::Sleeps;
            }
            Taker::Looks => next.taker = Taker::Takes,
            Taker::Takes => {
                next.is_owed = false;
                next.take();
                next.taker = if next.inside.is_closed() { Taker::Gone } else { Taker::Looks };
            }
            Taker::Sleeps if self.is_rung => {
                next.is_rung = false;
                if next.inside.is_woken() {
                    next.claim();
                }
            }
            Taker::Waits if self.is_rung => {
                next.is_rung = false;
                next.claim();
            }
            Taker::Sleeps | Taker::Waits | Taker::Gone => return None,
        }
        Some(next)
    }

    /// The taker's time comes.
    fn is_late(&self) -> Option<Self> {
        let mut next = (self.taker == Taker::Sleeps).then(|| self.clone())?;
        // A bell that rings at the same moment wakes whoever is awake already.
        next.is_rung = false;
        next.claim();
        Some(next)
    }

    /// What somebody may do next who brings things.
    fn bringer_goes_on(&self, at: usize) -> Vec<Self> {
        let (bringer, deeds) = &self.bringers[at];
        let mut next = self.clone();
        let then = |mut next: Self, bringer| {
            next.bringers[at].0 = bringer;
            next
        };
        let after = |is_to_ring| if is_to_ring { Bringer::Rings } else { Bringer::Brings };
        match bringer {
            Bringer::Brings => {
                let Some(deed) = deeds.first().copied() else { return Vec::new() };
                next.bringers[at].1.remove(0);
                let is_lent = next.begin_deed(deed);
                let bringer = if is_lent { Bringer::TakesAside } else { after(next.inside.rouse()) };
                vec![then(next, bringer)]
            }
            Bringer::TakesAside => {
                next.take();
                vec![then(next, Bringer::GivesBack)]
            }
            Bringer::GivesBack => [false, true]
                .map(|is_to_wake| {
                    let mut next = self.clone();
                    next.is_owed |= is_to_wake;
                    let bringer = after(next.inside.give_back(is_to_wake));
                    then(next, bringer)
                })
                .to_vec(),
            Bringer::Rings => {
                next.is_rung |= matches!(self.taker, Taker::Sleeps | Taker::Waits);
                vec![then(next, Bringer::Brings)]
            }
        }
    }

    /// Whether the turn is lent for it.
    fn begin_deed(&mut self, deed: Deed) -> bool {
        match deed {
            Deed::Put | Deed::PutOrBorrow => {
                let is_taken = self.inside.fill(&mut vec![()], ROOM).is_ok();
                self.left += usize::from(is_taken);
                is_taken && deed == Deed::PutOrBorrow && self.inside.lend(FEW)
            }
            Deed::Order => {
                self.left += usize::from(self.inside.order((), ROOM).is_ok());
                false
            }
            Deed::Close => {
                self.inside.close();
                false
            }
        }
    }

    fn check(&self, is_stuck: bool) {
        let has_turn = |bringer: &Bringer| matches!(bringer, Bringer::TakesAside | Bringer::GivesBack);
        let aside = self.bringers.iter().filter(|(bringer, _)| has_turn(bringer)).count();
        assert!(aside + usize::from(self.taker == Taker::Takes) <= 1, "two have the turn: {self:?}");
        assert!(!self.inside.is_asleep() || self.inside.is_quiet(), "it sleeps over what waits: {self:?}");
        if is_stuck {
            let is_served = self.left == 0 && !self.is_owed && self.taker != Taker::Waits;
            let is_ended = self.inside.is_closed() == (self.taker == Taker::Gone);
            assert!(is_served && is_ended, "nobody goes on: {self:?}");
        }
    }
}

/// Walks all ways of some who do these deeds, each in order; how many states there are.
fn walk(deeds: &[&[Deed]]) -> usize {
    let (mut seen, mut open) = (HashSet::new(), vec![State::begin(deeds)]);
    while let Some(state) = open.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        let mut ways: Vec<State> = (0..state.bringers.len()).flat_map(|at| state.bringer_goes_on(at)).collect();
        ways.extend(state.taker_goes_on());
        // A taker may sleep for an hour: what only its time would bring is never done.
        state.check(ways.is_empty());
        ways.extend(state.is_late());
        open.extend(ways);
    }
    seen.len()
}

#[test]
fn whatever_the_order_one_has_the_turn_and_nothing_is_left() {
    use Deed::{Close, Order, Put, PutOrBorrow};
    let casts: [&[&[Deed]]; 5] = [
        &[&[PutOrBorrow, PutOrBorrow]],
        &[&[PutOrBorrow, PutOrBorrow], &[PutOrBorrow, PutOrBorrow]],
        &[&[PutOrBorrow, PutOrBorrow], &[PutOrBorrow], &[Order]],
        &[&[PutOrBorrow, PutOrBorrow], &[PutOrBorrow, Put], &[Put]],
        &[&[PutOrBorrow], &[PutOrBorrow], &[Order, Close]],
    ];
    let states: Vec<usize> = casts.into_iter().map(walk).collect();
    assert!(states.iter().all(|count| *count > 20), "{states:?}");
}

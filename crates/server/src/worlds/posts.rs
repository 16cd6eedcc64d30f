//! Who in a world is told what through which outlet, and whose turn it is to be shown around: viewers are spread over their periods,
//! so that no burst of views stands between two moves.
//!
//! Knows seats and outlets; what a viewer sees, the world knows.

use super::door::Hold;
use super::outlet::Outlet;
use super::ring::Ring;
use engine::worlds::MoverRef;
use std::collections::VecDeque;
use std::sync::Arc;

/// No post.
const NONE: u32 = u32::MAX;
/// Viewers' turns are kept to this many microseconds.
const TURN_TICK_US: u64 = 2_000;
/// The golden ratio in 1/2^32: steps of it, modulo one, leave no gap among any number of viewers.
const GOLDEN: u32 = 0x9e37_79b9;

/// One mover with an outlet.
pub(super) struct Post {
    pub(super) hold: Hold,
    pub(super) outlet: Arc<dyn Outlet>,
    /// Turns since the last view at which none was cut.
    pub(super) skipped: u32,
    /// The number below which he has heard all news.
    pub(super) heard: u64,
    turn: Option<Turn>,
}

/// When a viewer's next view is due.
#[derive(Clone, Copy)]
struct Turn {
    due_us: u64,
    period_us: u64,
    /// He has a phase of his own. Who waits for his first view has that of whoever came in the same moment.
    has_phase: bool,
}

#[derive(Default)]
struct Place {
    post: Option<Post>,
    /// The ring, or the queue of turns, has this place's number: it cannot be given to somebody else.
    is_armed: bool,
}

/// All movers of a world that have outlets. A line is a post's number while it is held.
pub(super) struct Posts {
    line_by_slot: Vec<u32>,
    places: Vec<Place>,
    free: Vec<u32>,
    ring: Ring,
    /// Turns that have come and were not served yet.
    waiting: VecDeque<u32>,
    due: Vec<u32>,
    held: usize,
    viewers: usize,
    /// Rises with every hold.
    holds: u32,
}

impl Posts {
    pub(super) fn new(now_us: u64) -> Self {
        Self {
            line_by_slot: Vec::new(),
            places: Vec::new(),
            free: Vec::new(),
            ring: Ring::new(TURN_TICK_US, now_us),
            waiting: VecDeque::new(),
            due: Vec::new(),
            held: 0,
            viewers: 0,
            holds: 0,
        }
    }

    /// Movers with outlets.
    pub(super) fn len(&self) -> usize {
        self.held
    }

    /// Those of them that want views.
    pub(super) fn viewers(&self) -> usize {
        self.viewers
    }

    /// Gives a mover an outlet that has heard all news below a number; the one that it had comes back with its line.
    pub(super) fn take(&mut self, seat: MoverRef, outlet: Arc<dyn Outlet>, heard: u64) -> (Hold, Option<(u32, Post)>) {
        let before = self.line(seat).and_then(|line| self.clear(line).map(|post| (line, post)));
        self.holds = self.holds.wrapping_add(1);
        let hold = Hold { seat, number: self.holds };
        let line = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            u32::try_from(self.places.len() - 1).expect("connections are fewer than 32-bit numbers")
        });
        self.places[line as usize].post = Some(Post { hold, outlet, skipped: 0, heard, turn: None });
        let slot = seat.slot as usize;
        if self.line_by_slot.len() <= slot {
            self.line_by_slot.resize(slot + 1, NONE);
        }
        self.line_by_slot[slot] = line;
        self.held += 1;
        (hold, before)
    }

    /// Takes the outlet away, if this hold still has it.
    pub(super) fn leave(&mut self, hold: Hold) -> Option<Post> {
        let line = self.line_of(hold)?;
        self.clear(line)
    }

    /// Takes the outlet of a mover that is gone.
    pub(super) fn drop_seat(&mut self, seat: MoverRef) -> Option<(u32, Post)> {
        let line = self.line(seat)?;
        self.clear(line).map(|post| (line, post))
    }

    /// A viewer's turn went by without a view.
    pub(super) fn skip(&mut self, line: u32) {
        if let Some(post) = self.places.get_mut(line as usize).and_then(|place| place.post.as_mut()) {
            post.skipped = post.skipped.saturating_add(1);
        }
    }

    /// A viewer knows the newest.
    pub(super) fn caught_up(&mut self, line: u32) {
        if let Some(post) = self.places.get_mut(line as usize).and_then(|place| place.post.as_mut()) {
            post.skipped = 0;
        }
    }

    /// This line has heard all news below a number. Below which it had before, if anybody has it.
    pub(super) fn hear(&mut self, line: u32, heard: u64) -> Option<u64> {
        let post = self.places.get_mut(line as usize)?.post.as_mut()?;
        Some(std::mem::replace(&mut post.heard, heard))
    }

    /// Lines that somebody has or may get: all are below this number.
    pub(super) fn lines(&self) -> u32 {
        self.places.len() as u32
    }

    /// The line of a mover, if it has an outlet.
    pub(super) fn line(&self, seat: MoverRef) -> Option<u32> {
        let line = *self.line_by_slot.get(seat.slot as usize)?;
        self.post(line).filter(|post| post.hold.seat == seat).map(|_| line)
    }

    /// The line of a hold, if nobody came after it.
    pub(super) fn line_of(&self, hold: Hold) -> Option<u32> {
        self.line(hold.seat).filter(|line| self.post(*line).is_some_and(|post| post.hold == hold))
    }

    /// Who has this line.
    pub(super) fn post(&self, line: u32) -> Option<&Post> {
        self.places.get(line as usize)?.post.as_ref()
    }

    /// A mover wants so many views a second from now on; or none. Who had none gets the first at once, who had others gets it when the
    /// next of those would have come: asking for views brings no more of them.
    pub(super) fn watch(&mut self, line: u32, per_s: Option<u8>, now_us: u64) {
        let Some(place) = self.places.get_mut(line as usize) else { return };
        let Some(post) = &mut place.post else { return };
        self.viewers -= usize::from(post.turn.is_some());
        let period_us = |per_s: u8| 1_000_000 / u64::from(per_s.max(1));
        post.turn = per_s.map(|per_s| Turn { due_us: now_us, period_us: period_us(per_s), has_phase: false });
        self.viewers += usize::from(post.turn.is_some());
        if post.turn.is_some() && !place.is_armed {
            place.is_armed = true;
            self.waiting.push_back(line);
        }
    }

    /// When the next turn is due; now, if one waits.
    pub(super) fn next_us(&self) -> Option<u64> {
        if self.waiting.is_empty() { self.ring.next_us() } else { Some(0) }
    }

    /// The next viewer whose turn has come, with the microseconds by which it is late. His next turn is a period later.
    pub(super) fn next_turn(&mut self, now_us: u64) -> Option<(u32, u64)> {
        loop {
            let line = match self.waiting.pop_front() {
                Some(line) => line,
                None if self.ring.expire(now_us, &mut self.due) => {
                    self.waiting.extend(self.due.drain(..));
                    continue;
                }
                None => return None,
            };
            if let Some(late_us) = self.turn(line, now_us) {
                return Some((line, late_us));
            }
        }
    }

    /// A number came up: whose turn it is, or nobody's any more, or not yet.
    fn turn(&mut self, line: u32, now_us: u64) -> Option<u64> {
        let place = &mut self.places[line as usize];
        place.is_armed = false;
        let Some(turn) = place.post.as_mut().and_then(|post| post.turn.as_mut()) else {
            if place.post.is_none() {
                self.free.push(line);
            }
            return None;
        };
        place.is_armed = true;
        if turn.due_us > now_us {
            self.ring.arm(line, turn.due_us);
            return None;
        }
        let late_us = now_us - turn.due_us;
        // From the first view on, and whenever turns were missed, the viewer's phase is drawn anew.
        turn.due_us = if turn.has_phase && late_us <= turn.period_us {
            turn.due_us + turn.period_us
        } else {
            now_us + ((turn.period_us * u64::from(line.wrapping_mul(GOLDEN))) >> 32).max(1)
        };
        turn.has_phase = true;
        self.ring.arm(line, turn.due_us);
        Some(late_us)
    }

    fn clear(&mut self, line: u32) -> Option<Post> {
        let place = self.places.get_mut(line as usize)?;
        let post = place.post.take()?;
        if !place.is_armed {
            self.free.push(line);
        }
        self.line_by_slot[post.hold.seat.slot as usize] = NONE;
        self.held -= 1;
        self.viewers -= usize::from(post.turn.is_some());
        Some(post)
    }
}

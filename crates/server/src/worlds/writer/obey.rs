//! What a writer does with orders: who comes and goes, who watches, and what came of commits.

use super::{Course, Writer, catch_up};
use crate::worlds::actors::desk::Word;
use crate::worlds::door::{Hold, Order, Place, RegisterError, Reply};
use crate::worlds::outlet::{Ending, Outlet};
use crate::worlds::outside::Outside;
use engine::worlds::{MoverRef, Registration, ViewOptions};
use std::sync::Arc;

impl<O: Outside> Writer<O> {
    /// Does what was ordered, in order.
    pub(super) fn obey(&mut self) {
        let mut orders = std::mem::take(&mut self.orders);
        for order in orders.drain(..) {
            self.obey_one(order);
        }
        self.orders = orders;
    }

    fn obey_one(&mut self, order: Order) {
        match order {
            Order::Register { registration, outlet, reply } => self.register(&registration, outlet, reply),
            Order::Watch { hold, options } => self.watch(hold, options),
            Order::Leave(hold) => self.part(hold, true),
            Order::Lost(hold) => self.part(hold, false),
            Order::Crew(desk) => self.crews.seat(desk),
            Order::Actor { crew, actor, registration } => self.register_actor(crew, actor, &registration),
            Order::Dismiss(seat) => self.dismiss(seat),
            Order::Claimed(outcome) => self.claims_saved(outcome),
            Order::Kept(outcome) => self.snapshot_saved(outcome),
            // Who does not wait for it any more has his bacteria all the same.
            Order::Sow { cells, reply } => drop(reply.send(self.world.sow(&cells))),
            Order::Look => self.exposure.look(self.round),
            Order::Leaving(why) => self.leave(why),
            Order::Drop(why) => self.course = Course::Lost(why),
        }
    }

    fn register(&mut self, registration: &Registration, outlet: Arc<dyn Outlet>, reply: Reply) {
        self.active();
        let per_s = registration.view.map(|view| view.per_s);
        let registered = match self.world.register(registration, self.now_us) {
            Ok(registered) => registered,
            Err(refusal) => return drop(reply.send(Err(RegisterError::Refused(refusal)))),
        };
        let (hold, before) = self.posts.take(registered.mover, outlet, self.bulletin.end());
        if let Some((line, before)) = before {
            self.pen.end(line, &before.outlet, Ending::Replaced);
        }
        if let Some(line) = self.posts.line_of(hold) {
            self.posts.watch(line, per_s, self.elapsed_us());
        }
        // Whoever asked and is gone has lost the place with the answer.
        drop(reply.send(Ok((registered, Place::new(self.inside.mailbox.clone(), hold)))));
    }

    fn watch(&mut self, hold: Hold, options: Option<ViewOptions>) {
        let Some(line) = self.posts.line_of(hold) else { return };
        // Refused is what the door lets nobody ask for.
        let _ = self.world.watch(hold.seat, options);
        self.posts.watch(line, options.map(|options| options.per_s), self.elapsed_us());
        // Behind the last view as before, ahead of the first as asked for.
        catch_up(line, &mut self.posts, &self.bulletin, &mut self.pen);
        if let Some(post) = self.posts.post(line) {
            self.pen.watched(line, &post.outlet, options);
        }
    }

    /// A connection is over. One that was replaced is nobody's any more.
    fn part(&mut self, hold: Hold, is_for_good: bool) {
        if self.posts.leave(hold).is_none() {
            return;
        }
        if is_for_good {
            self.world.leave(hold.seat);
        } else {
            self.world.connection_lost(hold.seat, self.now_us);
        }
    }

    fn register_actor(&mut self, crew: u16, actor: u32, registration: &Registration) {
        let word = match self.world.register(registration, self.now_us) {
            Ok(registered) => Word::Registered { actor, seat: registered.mover, next_seq: registered.next_seq },
            Err(refusal) => Word::Refused { actor, refusal },
        };
        let seat = match word {
            Word::Registered { seat, .. } => Some(seat),
            _ => None,
        };
        if !self.crews.tell(crew, word)
            && let Some(seat) = seat
        {
            self.world.leave(seat);
        }
    }

    fn dismiss(&mut self, seat: MoverRef) {
        self.world.leave(seat);
    }

    /// The world leaves memory: nothing new is taken in; what was decided is saved, and told.
    fn leave(&mut self, why: Ending) {
        self.inside.mailbox.refuse(why);
        if self.course == Course::Serving {
            self.course = Course::Leaving { by: self.round + self.leave_max, why };
        }
    }
}

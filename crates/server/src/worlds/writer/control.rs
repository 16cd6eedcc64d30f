//! What a writer does with orders: who comes and goes, who watches, and what came of commits.

use super::{Writer, WriterState, send_missed_events};
use crate::worlds::actors::inbox::ActorWorkerMessage;
use crate::worlds::client_sink::{ClientSink, CloseReason};
use crate::worlds::environment::WorldEnvironment;
use crate::worlds::handle::{ControlMessage, MoverHandle, Occupancy, RegisterError, RegisterReply};
use engine::worlds::{MoverRef, Registration, ViewOptions};
use std::sync::Arc;

impl<O: WorldEnvironment> Writer<O> {
    /// Does what was ordered, in order.
    pub(super) fn apply_control(&mut self) {
        let mut orders = std::mem::take(&mut self.control);
        for order in orders.drain(..) {
            self.apply_control_message(order);
        }
        self.control = orders;
    }

    fn apply_control_message(&mut self, order: ControlMessage) {
        match order {
            ControlMessage::Register { registration, outlet, reply } => self.register(&registration, outlet, reply),
            ControlMessage::Watch { hold, options } => self.watch(hold, options),
            ControlMessage::Leave(hold) => self.disconnect(hold, true),
            ControlMessage::ConnectionLost(hold) => self.disconnect(hold, false),
            ControlMessage::AddActorWorker(desk) => self.actor_workers.attach(desk),
            ControlMessage::RegisterActor { crew, actor, registration } => {
                self.register_actor(crew, actor, &registration)
            }
            ControlMessage::RemoveActor(seat) => self.remove_actor(seat),
            ControlMessage::ClaimsSaved(outcome) => self.claims_saved(outcome),
            ControlMessage::SnapshotSaved(outcome) => self.snapshot_saved(outcome),
            // Who does not wait for it any more has his bacteria all the same.
            ControlMessage::Sow { cells, reply } => drop(reply.send(self.world.sow(&cells))),
            ControlMessage::PublishPicture => self.picture_schedule.request(self.round_began),
            ControlMessage::Drain(why) => self.start_draining(why),
            ControlMessage::Abandon(why) => self.state = WriterState::Lost(why),
        }
    }

    fn register(&mut self, registration: &Registration, outlet: Arc<dyn ClientSink>, reply: RegisterReply) {
        self.active();
        let per_s = registration.view.map(|view| view.per_s);
        let registered = match self.world.register(registration, self.now_us) {
            Ok(registered) => registered,
            Err(refusal) => return drop(reply.send(Err(RegisterError::Refused(refusal)))),
        };
        let (hold, before) = self.subscribers.add(registered.mover, outlet, self.broadcast_log.next_number());
        if let Some((line, before)) = before {
            self.outbound.close(line, &before.sink, CloseReason::Replaced);
        }
        if let Some(line) = self.subscribers.index_of(hold) {
            self.subscribers.set_view_rate(line, per_s, self.elapsed_us());
        }
        // Whoever asked and is gone has lost the place with the answer.
        drop(reply.send(Ok((registered, MoverHandle::new(self.context.inbox.clone(), hold)))));
    }

    fn watch(&mut self, hold: Occupancy, options: Option<ViewOptions>) {
        let Some(line) = self.subscribers.index_of(hold) else { return };
        // Refused is what the door lets nobody ask for.
        let _ = self.world.watch(hold.seat, options);
        self.subscribers.set_view_rate(line, options.map(|options| options.per_s), self.elapsed_us());
        // Behind the last view as before, ahead of the first as asked for.
        send_missed_events(line, &mut self.subscribers, &self.broadcast_log, &mut self.outbound);
        if let Some(post) = self.subscribers.get(line) {
            self.outbound.view_changed(line, &post.sink, options);
        }
    }

    /// A connection is over. One that was replaced is nobody's any more.
    fn disconnect(&mut self, hold: Occupancy, is_for_good: bool) {
        if self.subscribers.remove(hold).is_none() {
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
            Ok(registered) => {
                ActorWorkerMessage::Registered { actor, seat: registered.mover, next_seq: registered.next_seq }
            }
            Err(refusal) => ActorWorkerMessage::Refused { actor, refusal },
        };
        let seat = match word {
            ActorWorkerMessage::Registered { seat, .. } => Some(seat),
            _ => None,
        };
        if !self.actor_workers.send(crew, word)
            && let Some(seat) = seat
        {
            self.world.leave(seat);
        }
    }

    fn remove_actor(&mut self, seat: MoverRef) {
        self.world.leave(seat);
    }

    /// The world leaves memory: nothing new is taken in; what was decided is saved, and told.
    fn start_draining(&mut self, why: CloseReason) {
        self.context.inbox.start_refusing(why);
        if self.state == WriterState::Serving {
            self.state = WriterState::Draining { by: self.round_began + self.drain_max, why };
        }
    }
}

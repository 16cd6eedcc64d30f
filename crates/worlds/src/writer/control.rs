//! How a writer handles control messages: movers that enter and leave, views, and the results of commits.

use super::{Writer, WriterState, send_missed_events};
use crate::actor_inbox::ActorWorkerMessage;
use crate::client_sink::{ClientSink, CloseReason};
use crate::environment::WorldEnvironment;
use crate::inbox::{ControlMessage, MoverHandle, Occupancy, RegisterError, RegisterReply};
use crate::sender_pool::BatchItem;
use engine::ids::PlayerId;
use engine::worlds::{Registration, ViewOptions};
use std::sync::Arc;

impl<O: WorldEnvironment> Writer<O> {
    pub(super) fn apply_control(&mut self) {
        let mut messages = std::mem::take(&mut self.control);
        for message in messages.drain(..) {
            self.apply_control_message(message);
        }
        self.control = messages;
    }

    fn apply_control_message(&mut self, message: ControlMessage) {
        match message {
            ControlMessage::Register { registration, sink, reply } => self.register(&registration, sink, reply),
            ControlMessage::Watch { occupancy, options } => self.watch(occupancy, options),
            ControlMessage::Leave(occupancy) => self.disconnect(occupancy, true),
            ControlMessage::ConnectionLost(occupancy) => self.disconnect(occupancy, false),
            ControlMessage::RemovePlayer(player) => self.remove_player(player),
            ControlMessage::AddActorWorker(inbox) => self.actor_workers.attach(inbox),
            ControlMessage::RegisterActor { worker, actor, registration } => {
                self.register_actor(worker, actor, &registration);
            }
            ControlMessage::RemoveActor(seat) => self.world.leave(seat),
            ControlMessage::ClaimsSaved(outcome) => self.claims_saved(outcome),
            ControlMessage::SnapshotSaved(outcome) => self.snapshot_saved(outcome),
            // A client that does not wait for the reply has its bacteria all the same.
            ControlMessage::Sow { cells, reply } => drop(reply.send(self.world.sow(&cells))),
            ControlMessage::PublishPicture => self.picture_schedule.request(self.round_began),
            ControlMessage::Drain(reason) => self.start_draining(reason),
            ControlMessage::Abandon(reason) => self.state = WriterState::Lost(reason),
        }
    }

    fn register(&mut self, registration: &Registration, sink: Arc<dyn ClientSink>, reply: RegisterReply) {
        self.active();
        let per_s = registration.view.map(|view| view.per_s);
        let registered = match self.world.register(registration, self.now_us) {
            Ok(registered) => registered,
            Err(refusal) => return drop(reply.send(Err(RegisterError::Refused(refusal)))),
        };
        let (occupancy, previous) = self.subscribers.add(registered.mover, sink, self.broadcast_log.next_number());
        if let Some((index, previous)) = previous {
            self.outbound.push(index, &previous.sink, BatchItem::Close(CloseReason::Replaced));
        }
        if let Some(index) = self.subscribers.index_of(occupancy) {
            self.subscribers.set_view_rate(index, per_s, self.elapsed_us());
        }
        // If the client is gone, dropping the reply gives the handle up.
        drop(reply.send(Ok((registered, MoverHandle::new(self.context.inbox.clone(), occupancy)))));
    }

    fn watch(&mut self, occupancy: Occupancy, options: Option<ViewOptions>) {
        let Some(index) = self.subscribers.index_of(occupancy) else { return };
        // The gateway refuses all options that the world would refuse.
        let _ = self.world.watch(occupancy.seat, options);
        self.subscribers.set_view_rate(index, options.map(|options| options.per_s), self.elapsed_us());
        // After the last view with the old options, before the first with the new ones.
        send_missed_events(index, &mut self.subscribers, &self.broadcast_log, &mut self.outbound);
        if let Some(subscriber) = self.subscribers.get(index) {
            self.outbound.push(index, &subscriber.sink, BatchItem::ViewChanged(options));
        }
    }

    /// A connection is over. One that was replaced has no mover any more.
    fn disconnect(&mut self, occupancy: Occupancy, is_for_good: bool) {
        if self.subscribers.remove(occupancy).is_none() {
            return;
        }
        if is_for_good {
            self.world.leave(occupancy.seat);
        } else {
            self.world.connection_lost(occupancy.seat, self.now_us);
        }
    }

    fn remove_player(&mut self, player: PlayerId) {
        let Some(seat) = self.world.mover_of(player) else { return };
        if let Some((index, subscriber)) = self.subscribers.remove_seat(seat) {
            self.outbound.push(index, &subscriber.sink, BatchItem::Close(CloseReason::Left));
        }
        self.world.leave(seat);
    }

    fn register_actor(&mut self, worker: u16, actor: u32, registration: &Registration) {
        let (reply, seat) = match self.world.register(registration, self.now_us) {
            Ok(registered) => {
                let (seat, next_seq) = (registered.mover, registered.next_seq);
                (ActorWorkerMessage::Registered { actor, seat, next_seq }, Some(seat))
            }
            Err(refusal) => (ActorWorkerMessage::Refused { actor, refusal }, None),
        };
        let is_sent = self.actor_workers.send(worker, reply);
        if let Some(seat) = seat.filter(|_| !is_sent) {
            self.world.leave(seat);
        }
    }

    /// The world leaves memory: nothing new is taken in; what was decided is saved, and sent.
    fn start_draining(&mut self, reason: CloseReason) {
        self.context.inbox.start_refusing(reason);
        if self.state == WriterState::Serving {
            self.state = WriterState::Draining { by: self.round_began + self.shared.config.drain_max, reason };
        }
    }
}

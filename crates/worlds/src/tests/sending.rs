//! Which thread sends: the writer itself when there is little, a sender thread otherwise, and always in order.

use super::super::client_sink::{ClientSink, CloseReason, OutboundMessage};
use super::super::sender_pool::{BatchItem, OutboundBuffer, SenderPool};
use super::recording_sink::PATIENCE;
use engine::limits::WORLD_INLINE_SENDS_MAX;
use engine::worlds::{Answer, Done, MoverId, MoverRef, ViewDelta};
use metrics::Metrics;
use rules::world::Cell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

/// Records which thread sent what; with a gate, each message waits there.
struct ThreadRecordingSink {
    sent: Sender<(ThreadId, u32)>,
    gate: Option<Mutex<Receiver<()>>>,
}

impl ClientSink for ThreadRecordingSink {
    fn encode(&self, message: &OutboundMessage<'_>, out: &mut Vec<u8>) {
        let seq = if let OutboundMessage::Answer(answer) = message { answer.seq } else { 0 };
        out.extend(seq.to_ne_bytes());
    }

    fn send(&self, frames: &[u8]) {
        if let Some(gate) = &self.gate {
            let _ = gate.lock().unwrap().recv_timeout(PATIENCE);
        }
        for seq in frames.as_chunks().0 {
            let _ = self.sent.send((std::thread::current().id(), u32::from_ne_bytes(*seq)));
        }
    }

    fn is_behind(&self) -> bool {
        false
    }

    fn close(&self, _why: CloseReason) {}
}

struct Scene {
    outbound: OutboundBuffer,
    sink: Arc<dyn ClientSink>,
    sent: Receiver<(ThreadId, u32)>,
}

impl Scene {
    fn new(gate: Option<Receiver<()>>) -> Self {
        let (sender, sent) = channel();
        let sink = Arc::new(ThreadRecordingSink { sent: sender, gate: gate.map(Mutex::new) });
        Self { outbound: SenderPool::start(1, &Arc::new(Metrics::default())).unwrap().buffer(), sink, sent }
    }

    fn answer(&mut self, seq: u32) {
        let seat = MoverRef { slot: 0, id: MoverId(1) };
        let result = Ok(Done::Moved(Cell { x: 0, y: 0 }));
        self.outbound.push(0, &self.sink, BatchItem::Answer(Answer { tag: 0, mover: seat, seq, result }));
    }

    /// The next message, and whether this thread sent it.
    fn next(&self) -> (bool, u32) {
        let (thread, seq) = self.sent.recv_timeout(PATIENCE).unwrap();
        (thread == std::thread::current().id(), seq)
    }
}

/// A round with this many answers, and perhaps a view: checks whether the writer sends it itself.
#[track_caller]
fn check(answers: usize, has_view: bool, is_own: bool) {
    let mut scene = Scene::new(None);
    let seqs: Vec<u32> = (1..).take(answers).collect();
    seqs.iter().for_each(|seq| scene.answer(*seq));
    if has_view {
        scene.outbound.view(0, &scene.sink, |_: &mut ViewDelta| true);
    }
    scene.outbound.flush();
    let sent: Vec<_> = seqs.iter().map(|_| scene.next()).collect();
    let want: Vec<_> = seqs.iter().map(|seq| (is_own, *seq)).collect();
    assert_eq!(sent, want, "{answers} answers, with a view: {has_view}");
}

#[test]
fn few_answers_are_sent_by_the_writer_and_more_by_a_sender_thread() {
    check(1, false, true);
    check(WORLD_INLINE_SENDS_MAX, false, true);
    check(WORLD_INLINE_SENDS_MAX + 1, false, false);
    check(1, true, false);
}

#[test]
fn nothing_overtakes_what_a_sender_thread_has_not_sent() {
    let (open, gate) = channel();
    let mut scene = Scene::new(Some(gate));
    let many = WORLD_INLINE_SENDS_MAX as u32 + 1;
    (1..=many).for_each(|seq| scene.answer(seq));
    scene.outbound.flush();
    // The sender thread waits at the gate, or has not come there yet.
    scene.answer(many + 1);
    scene.outbound.flush();
    open.send(()).unwrap();
    open.send(()).unwrap();
    let sent: Vec<_> = (0..=many).map(|_| scene.next()).collect();
    assert_eq!(sent, (1..=many + 1).map(|seq| (false, seq)).collect::<Vec<_>>());
}

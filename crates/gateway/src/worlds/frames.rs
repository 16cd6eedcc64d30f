//! A world's messages as frames. A view is built in a buffer of the thread, and encoded from there.

use super::connection::WorldConnection;
use super::disconnect::{CloseMessage, Disconnect};
use super::registration::to_wire_view;
use engine::worlds::{Answer, Done, EnteredMover, HuntEvent, Refusal, RoundPhase, RoundStatus, ViewDelta};
use metrics::FrameKind;
use rules::world::{Cell, Indicator, PowerUp};
use std::cell::RefCell;
use wire::world::{
    Dug, FrameFormat, Grabbed, Item, ItemKind, Moved, Mover, MoverPosition, Refusal as RefusalFrame, Round,
    RoundPhase as WirePhase, Score, View, Watched, encode,
};
use worlds::{ClientSink, CloseReason, OutboundMessage};

thread_local! {
    static VIEW: RefCell<View> = RefCell::default();
}

impl ClientSink for WorldConnection {
    fn encode(&self, message: &OutboundMessage<'_>, out: &mut Vec<u8>) {
        let (format, metrics) = (self.format(), &self.metrics().process.world_connections);
        match message {
            OutboundMessage::Answer(answer) => {
                metrics.frame_sent(FrameKind::Answer);
                write_answer(answer, format, out);
            }
            OutboundMessage::View(delta) => {
                metrics.frame_sent(FrameKind::View);
                VIEW.with_borrow_mut(|view| {
                    fill_view(view, delta);
                    encode(view, format, out);
                });
            }
            OutboundMessage::Event(event) => {
                metrics.frame_sent(FrameKind::Event);
                encode(&round_event(event), format, out);
            }
            OutboundMessage::ViewChanged(options) => {
                metrics.frame_sent(FrameKind::Answer);
                encode(&Watched { view: options.map(to_wire_view) }, format, out);
            }
        }
    }

    fn send(&self, frames: &[u8]) {
        self.send_frames(frames);
    }

    fn is_behind(&self) -> bool {
        Self::has_backlog(self)
    }

    fn close(&self, reason: CloseReason) {
        self.close_with(&Disconnect::ClosedByServer(CloseMessage::from(reason)));
    }
}

fn write_answer(answer: &Answer, format: FrameFormat, out: &mut Vec<u8>) {
    let seq = answer.seq;
    match answer.result {
        Ok(Done::Moved(Cell { x, y })) => encode(&Moved { seq, x: x.into(), y: y.into() }, format, out),
        Ok(Done::Dug { points, score }) => encode(&Dug { seq, points: points.into(), score }, format, out),
        Ok(Done::Grabbed { item, until }) => {
            encode(&Grabbed { seq, item: item_kind(item).into(), until_ms: until.0 }, format, out);
        }
        Err(refused) => write_refusal(seq, refused, format, out),
    }
}

/// A refusal, with a reason in words only for clients that want it.
pub(super) fn write_refusal(seq: u32, refusal: Refusal, format: FrameFormat, out: &mut Vec<u8>) {
    let reason = if format.has_reasons { refusal.to_string() } else { String::new() };
    let expected_seq = if let Refusal::OutOfOrder { expected } = refusal { expected } else { 0 };
    encode(&RefusalFrame { seq, code: refusal.code(), reason: &reason, expected_seq }, format, out);
}

fn item_kind(item: PowerUp) -> ItemKind {
    match item {
        PowerUp::DoubleStep => ItemKind::DoubleStep,
        PowerUp::Farsight => ItemKind::Farsight,
        PowerUp::Magnet => ItemKind::Magnet,
    }
}

/// The item on a cell, identified by its indicator.
fn item((Cell { x, y }, indicator): &(Cell, Indicator)) -> Item {
    let found =
        PowerUp::ALL.into_iter().find(|known| Indicator::from(rules::world::Item::PowerUp(*known)) == *indicator);
    Item { x: (*x).into(), y: (*y).into(), kind: found.map_or(ItemKind::Chest, item_kind).into() }
}

/// Fills a view, reusing its memory.
fn fill_view(view: &mut View, delta: &ViewDelta) {
    prost::Message::clear(view);
    let ViewDelta { is_full, tick, centre, radius_x, radius_y, crowd, score, skipped, .. } = *delta;
    (view.tick, view.is_full, view.x, view.y) = (tick, is_full, centre.x.into(), centre.y.into());
    (view.crowd, view.score, view.skipped) = (crowd, score, skipped);
    if is_full {
        (view.radius_x, view.radius_y) = (radius_x.into(), radius_y.into());
    }
    view.oldest_change_us = delta.oldest_change_us.unwrap_or_default();
    view.round = delta.round.map(round);
    view.entered.extend(delta.entered.iter().map(mover));
    view.moved.extend(delta.moved.iter().map(|(id, cell)| MoverPosition {
        id: id.0,
        x: cell.x.into(),
        y: cell.y.into(),
    }));
    view.left.extend(delta.left.iter().map(|id| id.0));
    view.items.extend(delta.items_in.iter().map(item));
    write_cells(&mut view.trees, &delta.trees);
    write_cells(&mut view.items_gone, &delta.items_gone);
    write_cells(&mut view.life, &delta.life_on);
    write_cells(&mut view.life_gone, &delta.life_off);
}

fn write_cells(numbers: &mut Vec<u32>, cells: &[Cell]) {
    numbers.extend(cells.iter().flat_map(|cell| [u32::from(cell.x), u32::from(cell.y)]));
}

fn mover(entered: &EnteredMover) -> Mover {
    Mover {
        id: entered.id.0,
        x: entered.cell.x.into(),
        y: entered.cell.y.into(),
        indicator: entered.indicator.code().into(),
        name: entered.name.as_deref().unwrap_or_default().to_owned(),
    }
}

fn round(status: RoundStatus) -> Round {
    let phase = match status.phase {
        RoundPhase::Waiting => WirePhase::Waiting,
        RoundPhase::Running => WirePhase::Running,
        RoundPhase::Over => WirePhase::Over,
    };
    Round {
        number: status.number,
        phase: phase.into(),
        until_ms: status.until.0,
        chests_left: status.chests_left,
        ..Round::default()
    }
}

fn round_event(event: &HuntEvent) -> Round {
    match event {
        HuntEvent::Began(status) | HuntEvent::Over(status) => round(*status),
        HuntEvent::Ended { number, scores, next } => {
            let score = |scored: &engine::worlds::HunterScore| Score {
                id: scored.hunter.mover.0,
                name: scored.hunter.name.to_string(),
                score: scored.points,
            };
            Round { ended: *number, scores: scores.iter().map(score).collect(), ..round(*next) }
        }
    }
}

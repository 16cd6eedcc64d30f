//! Stands in for the machine of a world until `engine::worlds::World` is there: movers walk on an empty grid.

use engine::rows::{WorldLogRow, WorldRow};
use engine::time::UnixMs;
use engine::worlds::{
    Answer, Done, Input, MoverId, News, Refusal, Registered, Registration, Seat, ViewDelta, ViewOptions, What,
    settings_from_bytes,
};
use rules::world::{Cell, Settings};

/// What is read of a world.
#[derive(Debug, Default)]
pub struct Picture {
    /// Movers.
    pub movers: usize,
}

pub(super) struct Pending {
    pub(super) expected_version: u32,
    pub(super) rows: Vec<WorldLogRow>,
}

#[derive(Clone, Copy)]
struct Mover {
    id: MoverId,
    cell: Cell,
    seq: u32,
}

pub(super) struct World {
    settings: Settings,
    movers: Vec<Option<Mover>>,
    free: Vec<u32>,
    ids: u32,
}

impl World {
    pub(super) fn restore(
        row: &WorldRow,
        _snapshot: Option<&[u8]>,
        _claims_version: u32,
        _rows: &[WorldLogRow],
    ) -> Result<Self, engine::matches::entry::BadEntry> {
        Ok(Self { settings: settings_from_bytes(&row.settings)?, movers: Vec::new(), free: Vec::new(), ids: 0 })
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn movers(&self) -> usize {
        self.movers.len() - self.free.len()
    }

    pub(super) fn register(&mut self, registration: Registration, _now_us: i64) -> Result<Registered, Refusal> {
        self.ids += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.movers.push(None);
            self.movers.len() as u32 - 1
        });
        let cell = registration.at.unwrap_or_default();
        self.movers[slot as usize] = Some(Mover { id: MoverId(self.ids), cell, seq: 0 });
        let seat = Seat { slot, id: MoverId(self.ids) };
        Ok(Registered { seat, key: 0, cell, next_seq: 0, is_resumed: false, score: 0 })
    }

    pub(super) fn watch(&mut self, _seat: Seat, _options: Option<ViewOptions>) {}

    pub(super) fn leave(&mut self, seat: Seat) {
        if let Some(place) = self.movers.get_mut(seat.slot as usize)
            && place.is_some_and(|mover| mover.id == seat.id)
        {
            *place = None;
            self.free.push(seat.slot);
        }
    }

    pub(super) fn lost(&mut self, seat: Seat, _now_us: i64) {
        self.leave(seat);
    }

    pub(super) fn apply(&mut self, inputs: &mut [Input], _now_us: i64, out: &mut Vec<Answer>) {
        for input in inputs {
            let place = self.movers.get_mut(input.seat.slot as usize).and_then(Option::as_mut);
            let result = match (place, input.what) {
                (Some(mover), What::Step(step)) if mover.id == input.seat.id => {
                    mover.seq = input.seq;
                    let to = self.settings.size.neighbour(mover.cell, step);
                    mover.cell = to.unwrap_or(mover.cell);
                    to.map(Done::Moved).ok_or(Refusal::Bounds)
                }
                (Some(_), _) => Err(Refusal::NothingHere),
                (None, _) => Err(Refusal::Unknown),
            };
            out.push(Answer { tag: input.tag, seat: input.seat, seq: input.seq, result });
        }
    }

    pub(super) fn take_claims(&mut self) -> Option<Pending> {
        None
    }

    pub(super) fn committed(&mut self, _version: u32, _now_us: i64, _out: &mut Vec<Answer>) {}

    pub(super) fn take_news(&mut self, _news: &mut Vec<News>) {}

    pub(super) fn tick(&mut self, _now_us: i64, _now: UnixMs) {}

    pub(super) fn next_due(&self) -> Option<i64> {
        None
    }

    pub(super) fn view(&mut self, _seat: Seat, _delta: &mut ViewDelta) -> bool {
        false
    }

    pub(super) fn snapshot(&self, _out: &mut Vec<u8>) -> u32 {
        0
    }

    pub(super) fn picture(&self, picture: &mut Picture) {
        picture.movers = self.movers();
    }
}

//! What a hunter knows and does next: goes to the nearest item in sight and takes it, wanders when there is none. Pure:
//! chance is drawn from its seed; knows no sockets and no time.

use crate::characters::Chance;
use std::collections::BTreeMap;
use wire::world::{ClientMessage, Dig, Grab, ItemKind, Move, Registered, ServerMessage, Step, View};

/// Ways to go, around the clock.
const DIRECTIONS: [(Step, i64, i64); 8] = [
    (Step::N, 0, -1),
    (Step::Ne, 1, -1),
    (Step::E, 1, 0),
    (Step::Se, 1, 1),
    (Step::S, 0, 1),
    (Step::Sw, -1, 1),
    (Step::W, -1, 0),
    (Step::Nw, -1, -1),
];
/// One step in so many changes the way without need.
const TURNS_ONE_IN: usize = 12;
/// A hunter that sees nothing digs once in so many acts.
const BLIND_DIGS_ONE_IN: usize = 8;

type Cell = (u32, u32);

/// A hunter's mind.
#[derive(Debug)]
pub(super) struct HunterBrain {
    chance: Chance,
    has_views: bool,
    at: Cell,
    /// An index into [`DIRECTIONS`].
    direction: usize,
    /// Steps to take around an obstacle before anything else is looked for.
    detour: usize,
    next_seq: u32,
    radius: Cell,
    items: BTreeMap<Cell, ItemKind>,
}

impl HunterBrain {
    pub(super) fn new(mut chance: Chance, has_sight: bool) -> Self {
        let way = chance.below(DIRECTIONS.len());
        Self {
            chance,
            has_views: has_sight,
            at: (0, 0),
            direction: way,
            detour: 0,
            next_seq: 1,
            radius: (0, 0),
            items: BTreeMap::new(),
        }
    }

    /// The world took it in.
    pub(super) fn registered(&mut self, registered: &Registered) {
        self.at = (registered.x, registered.y);
        self.next_seq = registered.next_seq;
        self.radius = registered.view.map_or((0, 0), |view| (view.radius_x, view.radius_y));
        self.items.clear();
    }

    /// Updates its knowledge from a message of the server.
    pub(super) fn observe(&mut self, message: &ServerMessage) {
        match message {
            ServerMessage::Moved(moved) => self.at = (moved.x, moved.y),
            ServerMessage::View(view) => self.observe_view(view),
            ServerMessage::Refused(refused) if refused.code == "out_of_order" => self.next_seq = refused.expected_seq,
            ServerMessage::Refused(_) => self.turn_away(),
            ServerMessage::Dug(_) | ServerMessage::Grabbed(_) => drop(self.items.remove(&self.at)),
            ServerMessage::Welcome(_)
            | ServerMessage::Registered(_)
            | ServerMessage::Round(_)
            | ServerMessage::Error(_)
            | ServerMessage::Watched(_) => {}
        }
    }

    /// What to do now.
    pub(super) fn next_input(&mut self) -> ClientMessage {
        let seq = self.next_seq;
        self.next_seq = self.next_seq.wrapping_add(1);
        if self.digs_blindly() {
            return ClientMessage::Dig(Dig { seq });
        }
        match self.items.get(&self.at) {
            Some(ItemKind::Chest) => ClientMessage::Dig(Dig { seq }),
            Some(_) => ClientMessage::Grab(Grab { seq }),
            None => ClientMessage::Move(Move { seq, step: self.step().into() }),
        }
    }

    fn digs_blindly(&mut self) -> bool {
        !self.has_views && self.chance.below(BLIND_DIGS_ONE_IN) == 0
    }

    fn observe_view(&mut self, view: &View) {
        if view.is_full {
            self.items.clear();
        }
        if view.radius_x > 0 && view.radius_y > 0 {
            self.radius = (view.radius_x, view.radius_y);
        }
        let (middle, radius) = ((view.x, view.y), self.radius);
        // Cells further away than this are sent again when they come near.
        let is_near =
            |cell: &Cell| cell.0.abs_diff(middle.0) <= radius.0 + 2 && cell.1.abs_diff(middle.1) <= radius.1 + 2;
        self.items.retain(|cell, _| is_near(cell));
        for gone in view.items_gone.chunks_exact(2) {
            self.items.remove(&(gone[0], gone[1]));
        }
        let kind = |item: &wire::world::Item| ItemKind::try_from(item.kind).unwrap_or(ItemKind::Chest);
        self.items.extend(view.items.iter().map(|item| ((item.x, item.y), kind(item))));
    }

    fn step(&mut self) -> Step {
        if self.detour > 0 {
            self.detour -= 1;
        } else if let Some(goal) = self.nearest() {
            self.direction = direction_to(self.at, goal);
        } else if self.chance.below(TURNS_ONE_IN) == 0 {
            self.direction = (self.direction + DIRECTIONS.len() - 1 + self.chance.below(3)) % DIRECTIONS.len();
        }
        DIRECTIONS[self.direction].0
    }

    /// Its act was refused: a tree, the border, another hunter was faster. It goes around, or drops the item.
    fn turn_away(&mut self) {
        self.items.remove(&self.at);
        self.direction = self.chance.below(DIRECTIONS.len());
        self.detour = 1 + self.chance.below(3);
    }

    fn nearest(&self) -> Option<Cell> {
        let far = |cell: &Cell| cell.0.abs_diff(self.at.0).max(cell.1.abs_diff(self.at.1));
        self.items.keys().copied().min_by_key(far)
    }
}

fn direction_to(from: Cell, to: Cell) -> usize {
    let sign = |from: u32, to: u32| (i64::from(to) - i64::from(from)).signum();
    let (x, y) = (sign(from.0, to.0), sign(from.1, to.1));
    DIRECTIONS.iter().position(|way| (way.1, way.2) == (x, y)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::world::{Item, Moved, Refused, ViewOptions};

    fn brain(has_sight: bool) -> HunterBrain {
        let mut brain = HunterBrain::new(Chance::from_seed(7), has_sight);
        let view = Some(ViewOptions { radius_x: 4, radius_y: 4, per_s: 1 });
        brain.registered(&Registered { x: 5, y: 5, next_seq: 3, view, ..Registered::default() });
        brain
    }

    fn view(items: &[(u32, u32, ItemKind)], gone: &[u32]) -> ServerMessage {
        let item = |(x, y, kind): &(u32, u32, ItemKind)| Item { x: *x, y: *y, kind: (*kind).into() };
        let items = items.iter().map(item).collect();
        ServerMessage::View(Box::new(View { x: 5, y: 5, items, items_gone: gone.to_vec(), ..View::default() }))
    }

    fn word(message: &ClientMessage) -> String {
        match message {
            ClientMessage::Move(step) => format!("{:?} {}", Step::try_from(step.step).unwrap(), step.seq),
            ClientMessage::Dig(dig) => format!("dig {}", dig.seq),
            ClientMessage::Grab(grab) => format!("grab {}", grab.seq),
            ClientMessage::Hello(_)
            | ClientMessage::Register(_)
            | ClientMessage::Watch(_)
            | ClientMessage::Leave(_) => panic!("no act"),
        }
    }

    #[track_caller]
    fn check(received: &[ServerMessage], want: &str) {
        let mut brain = brain(true);
        received.iter().for_each(|message| brain.observe(message));
        assert_eq!(word(&brain.next_input()), want);
    }

    #[test]
    fn it_goes_to_the_nearest_thing_and_takes_it() {
        use ItemKind::{Chest, Magnet};
        check(&[view(&[(8, 5, Chest)], &[])], "E 3");
        check(&[view(&[(8, 5, Chest), (4, 4, Magnet)], &[])], "Nw 3");
        check(&[view(&[(8, 5, Chest), (4, 4, Magnet)], &[]), view(&[], &[4, 4])], "E 3");
        check(&[view(&[(5, 5, Chest)], &[])], "dig 3");
        check(&[view(&[(5, 5, Magnet)], &[])], "grab 3");
        check(&[view(&[(6, 6, Magnet)], &[]), ServerMessage::Moved(Moved { seq: 3, x: 6, y: 6 })], "grab 3");
        let far = View { x: 60, y: 5, items: vec![Item { x: 60, y: 2, kind: 0 }], ..View::default() };
        let moved = ServerMessage::Moved(Moved { seq: 3, x: 60, y: 5 });
        check(&[view(&[(6, 5, Chest)], &[]), moved, ServerMessage::View(Box::new(far))], "N 3");
    }

    #[test]
    fn a_refusal_leads_around_and_the_count_is_the_servers() {
        let mut brain = brain(true);
        brain.observe(&view(&[(5, 5, ItemKind::Chest)], &[]));
        brain.observe(&ServerMessage::Refused(Refused { code: "taken".into(), ..Refused::default() }));
        assert!(!word(&brain.next_input()).starts_with("dig"), "what is taken is left alone");
        brain.observe(&ServerMessage::Refused(Refused {
            code: "out_of_order".into(),
            expected_seq: 40,
            ..Refused::default()
        }));
        assert!(word(&brain.next_input()).ends_with(" 40"));
        assert!(word(&brain.next_input()).ends_with(" 41"));
    }

    #[test]
    fn a_hunter_that_sees_nothing_digs_now_and_then() {
        let mut blind = brain(false);
        let acts: Vec<String> = (0..400).map(|_| word(&blind.next_input())).collect();
        let digs = acts.iter().filter(|act| act.starts_with("dig")).count();
        assert!((20..100).contains(&digs), "{digs}");
        let mut seeing = brain(true);
        assert!((0..400).all(|_| !word(&seeing.next_input()).starts_with("dig")));
    }
}

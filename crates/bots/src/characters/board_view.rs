//! What a snake must know of a request before it moves: where it can go, at what risk, what lies around. Knows the
//! rules as far as the next turn; has no preferences.

use wire::webhook::{Coord, Request, Snake};

use super::Direction;
use super::cells::{Cell, Cells, Plane};
use super::chance::Chance;

/// The board as one snake sees it.
#[derive(Debug)]
pub(super) struct BoardView<'r> {
    request: &'r Request<'r>,
    pub(super) plane: Plane,
    head: Cell,
    /// Cells without a body after this turn, new heads apart.
    pub(super) open: Cells,
    pub(super) food: Cells,
    /// Cells where it hurts to be; healing ones are none.
    pub(super) hazards: Cells,
    /// Cells that a snake of at least our length may enter in the same turn.
    contested: Cells,
}

/// What awaits a snake after a move, best last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MoveRisk {
    Deadly,
    /// A head-to-head that would be lost or end both.
    Contested,
    Safe,
}

/// A move that is not certain death, and where it leads.
#[derive(Debug, Clone, Copy)]
pub(super) struct MoveOption {
    pub(super) direction: Direction,
    pub(super) cell: Cell,
}

/// The moves of the least risk that is left: never none, never deadly.
#[derive(Debug)]
pub(super) struct MoveOptions {
    options: [Option<MoveOption>; 4],
}

impl<'r> BoardView<'r> {
    /// What `request.you` sees; nothing when the board is too large or the head is not on it.
    pub(super) fn of(request: &'r Request<'r>) -> Option<BoardView<'r>> {
        let board = &request.board;
        let ruleset = &*request.game.ruleset.name;
        let plane = Plane::new(board.width, board.height, ruleset.contains("wrapped"))?;
        let head = plane.cell(*request.you.body.first()?)?;
        let hurts = request.game.ruleset.settings.hazard_damage_per_turn > 0;
        Some(BoardView {
            request,
            plane,
            head,
            open: plane.all().without(&bodies(&plane, request, !ruleset.contains("constrictor"))),
            food: cells(&plane, &board.food),
            hazards: if hurts { cells(&plane, &board.hazards) } else { Cells::default() },
            contested: contested(&plane, request),
        })
    }

    /// Length of the snake that sees this.
    pub(super) fn length(&self) -> u32 {
        self.request.you.body.len() as u32
    }

    /// Health of the snake that sees this.
    pub(super) fn health(&self) -> i32 {
        self.request.you.health
    }

    fn risk_of(&self, cell: Cell) -> MoveRisk {
        if !self.open.contains(cell) || self.health_at(cell) <= 0 {
            MoveRisk::Deadly
        } else if self.contested.contains(cell) {
            MoveRisk::Contested
        } else {
            MoveRisk::Safe
        }
    }

    /// Health after moving to `cell`. Food makes hazards harmless; hazards that are stacked hurt once per layer.
    fn health_at(&self, cell: Cell) -> i64 {
        if self.food.contains(cell) {
            return 100;
        }
        let layers = self.request.board.hazards.iter().filter(|&&hazard| self.plane.cell(hazard) == Some(cell)).count();
        let damage = i64::from(self.request.game.ruleset.settings.hazard_damage_per_turn);
        i64::from(self.health()) - 1 - damage.saturating_mul(layers as i64)
    }
}

fn cells(plane: &Plane, coords: &[Coord]) -> Cells {
    let mut cells = Cells::default();
    coords.iter().filter_map(|&coord| plane.cell(coord)).for_each(|cell| cells.insert(cell));
    cells
}

/// Snakes in the game; some servers still list those that are out.
fn living<'r>(request: &'r Request<'r>) -> impl Iterator<Item = &'r Snake<'r>> {
    request.board.snakes.iter().filter(|snake| snake.health > 0)
}

/// Cells that bodies hold after this turn. A tail leaves its cell, unless its end is doubled (the snake has just
/// grown) or tails never leave.
fn bodies(plane: &Plane, request: &Request<'_>, tails_leave: bool) -> Cells {
    let mut cells = Cells::default();
    for snake in living(request).chain([&request.you]) {
        let stays = match &snake.body[..] {
            [rest @ .., before, tail] if tails_leave && before != tail => &snake.body[..=rest.len()],
            body => body,
        };
        stays.iter().filter_map(|&coord| plane.cell(coord)).for_each(|cell| cells.insert(cell));
    }
    cells
}

/// Cells next to the heads of snakes that are at least as long as `you`.
fn contested(plane: &Plane, request: &Request<'_>) -> Cells {
    let you = &request.you;
    let heads = living(request)
        .filter(|snake| snake.id != you.id && snake.body.len() >= you.body.len())
        .filter_map(|snake| plane.cell(*snake.body.first()?));
    let mut cells = Cells::default();
    for head in heads {
        Direction::ALL.into_iter().filter_map(|way| plane.step(head, way)).for_each(|cell| cells.insert(cell));
    }
    cells
}

impl MoveOptions {
    /// The moves of the least risk; nothing when all are deadly.
    pub(super) fn least_risky(view: &BoardView<'_>) -> Option<MoveOptions> {
        let all = Direction::ALL.map(|direction| {
            let cell = view.plane.step(view.head, direction)?;
            Some((view.risk_of(cell), MoveOption { direction, cell }))
        });
        let best = all.iter().flatten().map(|&(risk, _)| risk).max().filter(|&risk| risk != MoveRisk::Deadly)?;
        Some(MoveOptions {
            options: all.map(|option| option.and_then(|(risk, option)| (risk == best).then_some(option))),
        })
    }

    /// The move with the highest `score`; among equals chance decides.
    pub(super) fn choose<S: PartialOrd>(&self, chance: &mut Chance, score: impl Fn(MoveOption) -> S) -> Direction {
        let mut best: Option<(S, Direction)> = None;
        let mut equals = 0;
        for option in self.options.iter().flatten() {
            let score = score(*option);
            let is_better = best.as_ref().is_none_or(|(highest, _)| score > *highest);
            let is_equal = best.as_ref().is_some_and(|(highest, _)| score == *highest);
            equals = if is_better { 1 } else { equals + usize::from(is_equal) };
            if is_better || (is_equal && chance.below(equals) == 0) {
                best = Some((score, option.direction));
            }
        }
        best.map_or(Direction::Up, |(_, direction)| direction)
    }
}

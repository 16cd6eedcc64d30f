//! Boards as rows, and properties of every character on every board.

use proptest::prelude::*;
use wire::webhook::{Board, Coord, Customizations, Game, RulesetShape, SettingsShape, Snake};

use super::Direction::{Down, Left, Right, Up};
use super::*;

const CENTRE: Coord = Coord { x: 1, y: 1 };

fn at(x: i32, y: i32) -> Coord {
    Coord { x, y }
}

fn snake(id: &str, health: i32, body: &[Coord]) -> Snake<'static> {
    Snake {
        id: id.to_owned().into(),
        name: "".into(),
        health,
        body: body.to_vec(),
        latency: "0".into(),
        head: body.first().copied().unwrap_or(CENTRE),
        length: body.len() as u32,
        shout: "".into(),
        squad: "".into(),
        customizations: Customizations { color: "".into(), head: "".into(), tail: "".into() },
    }
}

fn request(ruleset: &'static str, (width, height): (u32, u32), snakes: Vec<Snake<'static>>) -> Request<'static> {
    let settings = SettingsShape { hazard_damage_per_turn: 14, ..SettingsShape::default() };
    let ruleset = RulesetShape { name: ruleset.into(), version: "".into(), settings };
    let game = Game { id: "g".into(), ruleset, map: "standard".into(), timeout: 500, source: "".into() };
    let you = snakes.first().cloned().unwrap_or_else(|| snake("you", 100, &[]));
    Request { game, turn: 3, board: Board { height, width, food: vec![], hazards: vec![], snakes }, you }
}

/// The directions that `character` takes over many seeds are exactly `expected`.
#[track_caller]
fn check(character: Character, request: &Request<'_>, expected: &[Direction]) {
    let seen: Vec<_> = (0..64).map(|seed| character.decide(request, seed).direction).collect();
    for direction in Direction::ALL {
        assert_eq!(seen.contains(&direction), expected.contains(&direction), "{character:?} {direction:?}");
    }
}

#[track_caller]
fn check_all(request: &Request<'_>, expected: &[Direction]) {
    Character::ALL.into_iter().for_each(|character| check(character, request, expected));
}

#[test]
fn walls_kill_unless_the_board_is_wrapped() {
    let corner = || vec![snake("you", 90, &[at(0, 0), at(1, 0), at(2, 0)])];
    check_all(&request("standard", (7, 7), corner()), &[Up]);
    check(Character::Random, &request("wrapped", (7, 7), corner()), &[Up, Down, Left]);
    check(Character::Random, &request("wrapped_constrictor", (7, 7), corner()), &[Up, Down, Left]);
}

#[test]
fn a_tail_leaves_unless_it_is_doubled_or_tails_never_leave() {
    let round = [at(0, 0), at(1, 0), at(1, 1), at(0, 1)];
    let grown = [at(0, 0), at(1, 0), at(1, 1), at(0, 1), at(0, 1)];
    check_all(&request("standard", (2, 2), vec![snake("you", 90, &round)]), &[Up]);
    let doubled = request("standard", (2, 2), vec![snake("you", 90, &grown)]);
    check_all(&doubled, &Direction::ALL);
    assert_eq!(Character::Flood.decide(&doubled, 1).shout, Some(CORNERED));
    check_all(&request("constrictor", (2, 2), vec![snake("you", 90, &round)]), &Direction::ALL);
}

#[test]
fn bodies_of_the_living_are_walls() {
    let you = || snake("you", 90, &[at(0, 1), at(0, 0), at(1, 0)]);
    let other = |health| snake("b", health, &[at(3, 1), at(2, 1), at(1, 1), at(1, 2), at(2, 2)]);
    check_all(&request("standard", (7, 7), vec![you(), other(50)]), &[Up]);
    check(Character::Random, &request("standard", (7, 7), vec![you(), other(0)]), &[Up, Right]);
}

#[test]
fn a_head_to_head_is_avoided_unless_it_is_won() {
    let you = || snake("you", 90, &[at(0, 0), at(1, 0), at(2, 0)]);
    let longer = snake("b", 90, &[at(0, 2), at(1, 2), at(2, 2)]);
    let shorter = snake("b", 90, &[at(0, 2), at(1, 2)]);
    let corner_free = || snake("you", 90, &[at(1, 1), at(1, 0), at(0, 0)]);
    check_all(&request("standard", (7, 7), vec![you(), longer.clone()]), &[Up]);
    check(Character::Random, &request("standard", (7, 7), vec![corner_free(), longer]), &[Right]);
    check(Character::Random, &request("standard", (7, 7), vec![corner_free(), shorter]), &[Up, Left, Right]);
}

#[test]
fn hazards_cost_health_once_per_layer() {
    let with = |health, layers: usize, food: &[Coord]| {
        let mut request = request("standard", (3, 3), vec![snake("you", health, &[at(0, 0), at(0, 1), at(0, 2)])]);
        request.board.hazards = vec![at(1, 0); layers];
        request.board.food = food.to_vec();
        request
    };
    check_all(&with(16, 1, &[]), &[Right]);
    check_all(&with(15, 1, &[]), &Direction::ALL);
    check_all(&with(30, 2, &[]), &[Right]);
    check_all(&with(29, 2, &[]), &Direction::ALL);
    check_all(&with(1, 9, &[at(1, 0)]), &[Right]);
    check_all(&with(1, 0, &[]), &Direction::ALL);
}

#[test]
fn hungry_goes_to_the_nearest_food_around_hazards() {
    let mut request = request("standard", (7, 7), vec![snake("you", 90, &[at(3, 3), at(3, 2), at(3, 1)])]);
    request.board.food = vec![at(6, 3), at(3, 6), at(0, 4)];
    check(Character::Hungry, &request, &[Up, Right]);
    request.board.food = vec![at(5, 3), at(3, 6)];
    check(Character::Hungry, &request, &[Right]);
    request.board.hazards = (0..7).map(|y| at(4, y)).collect();
    check(Character::Hungry, &request, &[Up]);
    request.board.food = vec![at(5, 3)];
    check(Character::Hungry, &request, &[Right]);
}

#[test]
fn flood_takes_the_larger_space_and_eats_when_weak_where_it_fits() {
    let wall: Vec<_> = (0..=5).map(|y| at(2, y)).collect();
    let pocket: Vec<_> = wall.iter().copied().chain([at(0, 4), at(0, 5), at(0, 5)]).collect();
    let world = |health, other: &[Coord], food| {
        let you = snake("you", health, &[at(1, 6), at(1, 5), at(1, 4)]);
        let mut request = request("standard", (9, 7), vec![you, snake("b", 90, other)]);
        request.board.food = vec![food];
        request
    };
    check(Character::Flood, &world(90, &wall, at(0, 6)), &[Right]);
    check(Character::Flood, &world(20, &wall, at(0, 0)), &[Left]);
    check(Character::Flood, &world(20, &wall, at(8, 6)), &[Right]);
    check(Character::Flood, &world(20, &pocket, at(0, 6)), &[Right]);
    check(Character::Hungry, &world(20, &pocket, at(0, 6)), &[Left]);
}

#[test]
fn careless_moves_come_as_often_as_configured() {
    let request = request("standard", (7, 7), vec![snake("you", 90, &[at(3, 3), at(3, 2)])]);
    for share in [0.0, 0.1, 0.5, 1.0] {
        let moves: Vec<_> = (0..10_000).filter_map(|seed| Decision::careless(&request, seed, share)).collect();
        assert!((moves.len() as f64 / 10_000.0 - share).abs() < 0.02, "{} of 10,000 for {share}", moves.len());
        assert!(moves.is_empty() || Direction::ALL.iter().all(|way| moves.iter().any(|made| made.direction == *way)));
    }
}

#[test]
fn names_lead_back_to_characters() {
    for character in Character::ALL {
        assert_eq!(Character::from_name(character.name()), Some(character));
        let index: wire::webhook::IndexReply<'_> = serde_json::from_str(character.index_json()).expect("an index");
        assert_eq!(index.apiversion, wire::webhook::API_VERSION);
        assert_eq!(index.version.as_deref(), Some(character.name()));
    }
    assert_eq!(Character::from_name("Random"), None);
    for direction in Direction::ALL {
        let reply: wire::webhook::MoveReply<'_> = serde_json::from_str(direction.reply_json()).expect("a move");
        assert_eq!((&*reply.direction, reply.shout), (direction.name(), None));
    }
}

/// The rules once more, written plainly: whether a step kills for certain.
fn is_deadly(request: &Request<'_>, direction: Direction) -> bool {
    let (width, height) = (request.board.width as i32, request.board.height as i32);
    let ruleset = &request.game.ruleset;
    let head = request.you.body[0];
    let mut to = match direction {
        Up => at(head.x, head.y + 1),
        Down => at(head.x, head.y - 1),
        Left => at(head.x - 1, head.y),
        Right => at(head.x + 1, head.y),
    };
    if ruleset.name.contains("wrapped") {
        to = at(to.x.rem_euclid(width), to.y.rem_euclid(height));
    }
    let is_outside = to.x < 0 || to.y < 0 || to.x >= width || to.y >= height;
    let stays = |body: &[Coord]| {
        let n = body.len();
        let leaves = n >= 2 && body[n - 1] != body[n - 2] && !ruleset.name.contains("constrictor");
        body[..n - usize::from(leaves)].contains(&to)
    };
    let snakes = request.board.snakes.iter().filter(|s| s.health > 0).chain([&request.you]);
    let is_blocked = snakes.map(|s| &s.body).any(|body| stays(body));
    let layers = request.board.hazards.iter().filter(|&&h| h == to).count() as i32;
    let health = request.you.health - 1 - layers * ruleset.settings.hazard_damage_per_turn;
    is_outside || is_blocked || (health <= 0 && !request.board.food.contains(&to))
}

fn coords(range: std::ops::Range<i32>, most: usize) -> impl Strategy<Value = Vec<Coord>> {
    proptest::collection::vec((range.clone(), range).prop_map(|(x, y)| at(x, y)), 0..most)
}

/// Requests of every kind, most of them impossible: points outside, empty bodies, boards of no or too many cells.
fn any_request(points: std::ops::Range<i32>, sides: std::ops::Range<u32>) -> impl Strategy<Value = Request<'static>> {
    const RULESETS: [&str; 6] = ["standard", "royale", "wrapped", "constrictor", "wrapped_constrictor", "unheard-of"];
    let bodies = proptest::collection::vec((-5..101_i32, coords(points.clone(), 12)), 0..5);
    let lists = (coords(points.clone(), 8), coords(points, 12));
    let numbers = (any::<u32>(), prop_oneof![-20..40_i32, any::<i32>()]);
    (proptest::sample::select(RULESETS.to_vec()), (sides.clone(), sides), bodies, lists, numbers).prop_map(
        |(ruleset, sides, bodies, (food, hazards), (turn, damage))| {
            let snakes = bodies.iter().zip('a'..).map(|((health, body), id)| snake(&id.to_string(), *health, body));
            let mut request = request(ruleset, sides, snakes.collect());
            request.board.food = food;
            request.board.hazards = hazards;
            request.turn = turn;
            request.game.ruleset.settings.hazard_damage_per_turn = damage;
            request
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_same_request_gets_the_same_answer(
        request in prop_oneof![any_request(-3..30, 0..30), any_request(i32::MIN..i32::MAX, 0..u32::MAX)],
        seed in any::<u64>(),
    ) {
        for character in Character::ALL {
            prop_assert_eq!(character.decide(&request, seed), character.decide(&request.clone(), seed));
        }
    }

    #[test]
    fn no_deadly_move_while_another_is_left(mut request in any_request(0..5, 5..6), seed in any::<u64>()) {
        prop_assume!(!request.you.body.is_empty());
        let damage = request.game.ruleset.settings.hazard_damage_per_turn;
        request.game.ruleset.settings.hazard_damage_per_turn = damage.clamp(-50, 50);
        let is_any_safe = Direction::ALL.into_iter().any(|direction| !is_deadly(&request, direction));
        for character in Character::ALL {
            let decision = character.decide(&request, seed);
            prop_assert_eq!(is_deadly(&request, decision.direction) && is_any_safe, false, "{:?}", character);
            prop_assert_eq!(decision.shout.is_some(), !is_any_safe);
        }
    }
}

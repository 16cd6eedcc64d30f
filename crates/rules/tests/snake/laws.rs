//! Properties of every match, whatever the orders: proptest plays matches of random rules with random, broken and
//! doubled orders and checks every board.

use proptest::prelude::*;
use rules::chance::Seed;
use rules::snake::{
    Board, HEALTH_MAX, Map, Move, MoveOrder, Point, Rules, Ruleset, Seat, Settings, Snake, is_over, outcome, setup,
    state_hash, turn,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One turn's steps by seat; `None` is an invalid answer.
type Steps = Vec<Option<Move>>;

#[derive(Clone, Debug)]
struct Match {
    rules: Rules,
    width: u8,
    height: u8,
    snakes: u8,
    seed: Seed,
    steps: Vec<Steps>,
}

fn any_rules() -> impl Strategy<Value = Rules> {
    let settings =
        (0..=100_u32, 0..5_u32, -20..60_i32, 1..12_u32).prop_map(|(chance, food, damage, shrink)| Settings {
            food_spawn_chance: chance,
            minimum_food: food,
            hazard_damage_per_turn: damage,
            shrink_every_n_turns: shrink,
        });
    let names = (prop::sample::select(Ruleset::ALL.to_vec()), prop::sample::select(Map::ALL.to_vec()));
    (names, settings, any::<bool>()).prop_map(|((ruleset, map), settings, solo)| Rules { ruleset, map, settings, solo })
}

fn any_step() -> impl Strategy<Value = Option<Move>> {
    prop_oneof![1 => Just(None), 9 => prop::sample::select(Move::ALL.to_vec()).prop_map(Some)]
}

fn any_match() -> impl Strategy<Value = Match> {
    let steps = prop::collection::vec(prop::collection::vec(any_step(), 16), 1..40);
    let rules_and_board = any_rules().prop_flat_map(|rules| {
        let size = prop::sample::select(board_sizes(rules.map));
        (Just(rules), size, 1..=rules.map.snakes_max())
    });
    (rules_and_board, any::<u64>(), steps).prop_map(|((rules, (width, height), snakes), seed, steps)| Match {
        rules,
        width,
        height,
        snakes,
        seed: Seed(seed),
        steps,
    })
}

/// The boards of a map, but of those that take all sizes the large ones only now and then, because they take their time.
fn board_sizes(map: Map) -> Vec<(u8, u8)> {
    let sides = [7, 9, 11, 19, 21, 25];
    let all = sides.into_iter().flat_map(|width| sides.map(|height| (width, height)));
    let mut sizes: Vec<_> = all.filter(|(width, height)| map.sizes().contain(*width, *height)).collect();
    let small: Vec<_> =
        sizes.iter().copied().filter(|(width, height)| u16::from(*width) * u16::from(*height) <= 121).collect();
    sizes.extend(small.repeat(3));
    sizes
}

fn orders(steps: &Steps) -> Vec<MoveOrder> {
    steps.iter().enumerate().map(|(seat, step)| MoveOrder { seat: Seat(seat as u8), direction: *step }).collect()
}

impl Match {
    fn start(&self) -> Board {
        setup(&self.rules, self.width, self.height, self.snakes, self.seed).expect("every legal board can be set up")
    }

    /// All boards, from the start to the end of the game or of the orders.
    fn play(&self) -> Vec<Board> {
        let mut boards = vec![self.start()];
        for steps in &self.steps {
            let last = boards.last().expect("the start is there");
            if is_over(&self.rules, last) {
                break;
            }
            let next = turn(&self.rules, last, &orders(steps), self.seed).expect("every living snake has an order");
            boards.push(next);
        }
        boards
    }
}

fn has_duplicates(points: &[Point]) -> bool {
    points.iter().enumerate().any(|(i, point)| points[..i].contains(point))
}

/// Once dead, a snake stays as it is; only constrictor fills it up and stacks its tail, once, and `solo_maze` puts it into the next maze.
fn is_at_rest(rules: &Rules, before: &Snake, after: &Snake) -> bool {
    let constrictor = matches!(rules.ruleset, Ruleset::Constrictor | Ruleset::WrappedConstrictor);
    let moved = rules.map == Map::SoloMaze && before.elimination == after.elimination;
    before == after
        || moved
        || constrictor && before.elimination == after.elimination && after.body.starts_with(&before.body)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_board_is_sound(game in any_match()) {
        for board in game.play() {
            prop_assert!(!has_duplicates(&board.food), "two food on one cell: {board:?}");
            prop_assert!(board.food.iter().all(|food| board.contains(*food)));
            prop_assert_eq!(board.snakes.len(), usize::from(game.snakes));
            for snake in &board.snakes {
                prop_assert!(snake.health <= HEALTH_MAX && snake.length() >= 3);
            }
            for (_, snake) in board.living() {
                prop_assert!(snake.health > 0 && snake.body.iter().all(|point| board.contains(*point)));
                prop_assert!(!snake.body[1..].contains(&snake.body[0]) || board.turn == 0, "{board:?}");
            }
        }
    }

    #[test]
    fn living_snakes_share_no_cell(game in any_match()) {
        for board in game.play().iter().skip(1) {
            let mut cells = BTreeSet::new();
            for (_, snake) in board.living() {
                let own: BTreeSet<Point> = snake.body.iter().copied().collect();
                for cell in own {
                    prop_assert!(cells.insert(cell), "{cell:?} belongs to two snakes: {board:?}");
                }
            }
            prop_assert!(cells.len() <= usize::from(board.width) * usize::from(board.height));
        }
    }

    #[test]
    fn a_turn_counts_one_and_the_dead_rest(game in any_match()) {
        for pair in game.play().windows(2) {
            prop_assert_eq!(pair[1].turn, pair[0].turn + 1);
            for (before, after) in pair[0].snakes.iter().zip(&pair[1].snakes) {
                prop_assert!(before.is_alive() || is_at_rest(&game.rules, before, after), "{before:?} became {after:?}");
                let died_now = before.is_alive() && !after.is_alive();
                prop_assert!(!died_now || after.elimination.map(|out| out.turn) == Some(pair[1].turn));
            }
        }
    }

    #[test]
    fn the_same_seed_and_orders_give_the_same_boards(game in any_match()) {
        let (once, again) = (game.play(), game.play());
        prop_assert_eq!(&once, &again);
        let hashes: BTreeSet<u64> = once.iter().map(state_hash).collect();
        prop_assert_eq!(hashes, again.iter().map(state_hash).collect());
        prop_assert_eq!(once.iter().map(state_hash).collect::<BTreeSet<_>>().len(), once.len(), "no two boards look alike");
    }

    #[test]
    fn the_order_of_the_orders_does_not_matter(game in any_match(), rotate in 0..16_usize) {
        let board = game.start();
        let mut orders = orders(&game.steps[0]);
        let straight = turn(&game.rules, &board, &orders, game.seed);
        orders.rotate_left(rotate);
        prop_assert_eq!(&straight, &turn(&game.rules, &board, &orders, game.seed));
        orders.reverse();
        prop_assert_eq!(&straight, &turn(&game.rules, &board, &orders, game.seed));
    }

    #[test]
    fn any_orders_at_all_are_played_or_refused(
        game in any_match(),
        wild in prop::collection::vec((0..20_u8, any_step()), 0..60),
    ) {
        let orders: Vec<MoveOrder> = wild.into_iter().map(|(seat, step)| MoveOrder { seat: Seat(seat), direction: step }).collect();
        for board in game.play() {
            let _ = turn(&game.rules, &board, &orders, game.seed);
        }
    }

    #[test]
    fn damaged_boards_are_refused_or_played(game in any_match(), damage in prop::collection::vec(any::<(u8, usize, i8, i8)>(), 0..4)) {
        let mut board = game.play().pop().expect("the start is there");
        for (what, seat, x, y) in damage {
            let seat = seat % board.snakes.len();
            match what % 6 {
                0 => board.food.push(Point::new(x, y)),
                1 => Arc::make_mut(&mut board.hazards).push(Point::new(x, y)),
                2 => board.snakes[seat].health = x.unsigned_abs().min(HEALTH_MAX),
                3 => board.snakes[seat].body.clear(),
                4 => board.snakes[seat].body.insert(0, Point::new(x, y)),
                _ => board.snakes[seat].elimination = None,
            }
        }
        let _ = outcome(&board);
        let _ = turn(&game.rules, &board, &orders(&game.steps[0]), game.seed);
        let _ = state_hash(&board);
    }

    #[test]
    fn places_agree_with_the_end(game in any_match()) {
        let boards = game.play();
        let last = boards.last().expect("the start is there");
        let result = outcome(last);
        prop_assert!(result.placements.contains(&1));
        prop_assert!(!(result.is_draw && result.winner.is_some()));
        for (seat, _) in last.living() {
            prop_assert_eq!(result.placements[seat.index()], 1);
        }
    }

    /// Left and right are the same to the rules: a match without chance, seen in a mirror, is the match with mirrored orders.
    #[test]
    fn a_mirrored_match_is_a_match(game in any_match()) {
        let settings = Settings { food_spawn_chance: 0, minimum_food: 0, ..game.rules.settings };
        let ruleset = if game.rules.ruleset == Ruleset::Royale { Ruleset::Standard } else { game.rules.ruleset };
        let mut seen = game.start();
        let rules = Rules { ruleset, map: Map::Empty, settings, ..game.rules };
        for steps in &game.steps {
            // An invalid answer goes up from a stacked start, which has no mirror image but itself.
            let mirrored_orders: Vec<MoveOrder> = orders(steps).into_iter().map(mirrored_order).collect();
            let straight = turn(&rules, &seen, &orders(steps), game.seed);
            let crooked = turn(&rules, &mirrored(&seen), &mirrored_orders, game.seed);
            prop_assert_eq!(straight.clone().map(|board| mirrored(&board)), crooked);
            let Ok(next) = straight else { break };
            seen = next;
        }
    }
}

fn mirrored_order(order: MoveOrder) -> MoveOrder {
    let step = order.direction.map(|step| match step {
        Move::Left => Move::Right,
        Move::Right => Move::Left,
        Move::Up | Move::Down => step,
    });
    MoveOrder { direction: step, ..order }
}

fn mirrored(board: &Board) -> Board {
    let mut image = board.clone();
    let x_max = i8::try_from(board.width).expect("small") - 1;
    let bodies = image.snakes.iter_mut().flat_map(|snake| &mut snake.body);
    for point in bodies.chain(&mut image.food).chain(Arc::make_mut(&mut image.hazards)) {
        point.x = x_max - point.x;
    }
    image
}

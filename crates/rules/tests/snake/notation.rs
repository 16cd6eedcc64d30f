//! Boards and orders as text: one line says everything, and what is printed can be read back.
//!
//! `t3 7x7 | A 100 3,3 DD | B 9 0,6 . 1,6 | food 1,1 | hazards 2,2*3 0,0`
//!
//! Turn and size, then the snakes by seat, then food and hazards if there are any. A snake is a letter, its health and its body:
//! the head as `x,y`, then one letter per point for the way to it (U D L R, `.` stays: a stacked point); where a body jumps over
//! an edge, the next point is written out. An eliminated snake is `A x:cause:by:turn 90 3,3 DD`, with `-` for no snake.
//! `2,2*3` is three entries for one cell.

use rules::snake::{Board, Cause, Elimination, Move, MoveOrder, Point, Seat, Snake};

pub(crate) fn board(text: &str) -> Board {
    let mut parts = text.split('|').map(str::trim);
    let (turn, size) = parts.next().unwrap().split_once(' ').unwrap();
    let (width, height) = size.split_once('x').unwrap();
    let mut board = Board::new(width.parse().unwrap(), height.parse().unwrap());
    board.turn = turn.strip_prefix('t').unwrap().parse().unwrap();
    for part in parts {
        match part.split_once(' ').unwrap() {
            ("food", points) => board.food = stacks(points),
            ("hazards", points) => board.hazards = stacks(points).into(),
            (seat, snake) => {
                assert_eq!(seat, letter(board.snakes.len()), "snakes come by seat");
                board.snakes.push(self::snake(snake));
            }
        }
    }
    board
}

pub(crate) fn text(board: &Board) -> String {
    let mut parts = vec![format!("t{} {}x{}", board.turn, board.width, board.height)];
    parts
        .extend(board.snakes.iter().enumerate().map(|(seat, snake)| format!("{} {}", letter(seat), snake_text(snake))));
    for (name, points) in [("food", &board.food), ("hazards", &*board.hazards)] {
        if !points.is_empty() {
            parts.push(format!("{name} {}", stacks_text(points)));
        }
    }
    parts.join(" | ")
}

/// `A:up B:left C:?` — `?` is an answer which is no move.
pub(crate) fn orders(text: &str) -> Vec<MoveOrder> {
    let order = |word: &str| {
        let (seat, step) = word.split_once(':').unwrap();
        assert!(step == "?" || Move::parse(step).is_some(), "{step} is no move and not ?");
        MoveOrder { seat: Seat(seat.as_bytes()[0] - b'A'), direction: Move::parse(step) }
    };
    text.split_whitespace().map(order).collect()
}

fn letter(seat: usize) -> String {
    char::from(b'A' + u8::try_from(seat).unwrap()).to_string()
}

fn snake(text: &str) -> Snake {
    let mut words = text.split_whitespace().peekable();
    let elimination = words.next_if(|word| word.starts_with("x:")).map(elimination);
    let health = words.next().unwrap().parse().unwrap();
    let mut body: Vec<Point> = Vec::new();
    for word in words {
        if word.contains(',') {
            body.push(point(word));
        } else {
            word.chars().for_each(|way| body.push(next(*body.last().unwrap(), way)));
        }
    }
    Snake { health, body, elimination }
}

fn snake_text(snake: &Snake) -> String {
    let mut text = snake.elimination.map_or(String::new(), |out| {
        let by = out.by.map_or("-".to_owned(), |seat| letter(seat.index()));
        format!("x:{}:{by}:{} ", out.cause, out.turn)
    });
    text += &snake.health.to_string();
    let mut previous: Option<Point> = None;
    let mut in_word = false;
    for here in &snake.body {
        let way = previous.and_then(|previous| "UDLR.".chars().find(|way| next(previous, *way) == *here));
        match way {
            Some(way) if in_word => text.push(way),
            Some(way) => text += &format!(" {way}"),
            None => text += &format!(" {},{}", here.x, here.y),
        }
        in_word = way.is_some();
        previous = Some(*here);
    }
    text
}

fn elimination(word: &str) -> Elimination {
    let [_, cause, by, turn] = word.split(':').collect::<Vec<_>>()[..] else { panic!("x:cause:by:turn, not {word}") };
    Elimination {
        cause: Cause::ALL.into_iter().find(|known| known.as_str() == cause).expect("a cause"),
        by: (by != "-").then(|| Seat(by.as_bytes()[0] - b'A')),
        turn: turn.parse().unwrap(),
    }
}

fn next(from: Point, way: char) -> Point {
    match way {
        'U' => from.step(Move::Up),
        'D' => from.step(Move::Down),
        'L' => from.step(Move::Left),
        'R' => from.step(Move::Right),
        '.' => from,
        _ => panic!("{way} is none of U D L R ."),
    }
}

fn point(word: &str) -> Point {
    let (x, y) = word.split_once(',').unwrap();
    Point::new(x.parse().unwrap(), y.parse().unwrap())
}

fn stacks(text: &str) -> Vec<Point> {
    let stack = |word: &str| {
        let (cell, count) = word.split_once('*').unwrap_or((word, "1"));
        vec![point(cell); count.parse().unwrap()]
    };
    text.split_whitespace().flat_map(stack).collect()
}

fn stacks_text(points: &[Point]) -> String {
    let stack = |same: &[Point]| match same {
        [one] => format!("{},{}", one.x, one.y),
        _ => format!("{},{}*{}", same[0].x, same[0].y, same.len()),
    };
    points.chunk_by(|a, b| a == b).map(stack).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_printed_can_be_read_back() {
    for line in [
        "t0 11x11",
        "t3 7x7 | A 100 3,3 DD | B 9 0,6 . 1,6 L | food 1,1 | hazards 2,2*3 0,0",
        "t9 7x7 | A x:wall-collision:-:4 90 -1,3 RR | B x:head-collision:A:4 0 6,0 0,0 RU..",
    ] {
        let read = board(line);
        assert_eq!(board(&text(&read)), read, "{line}");
    }
    assert_eq!(
        text(&board("t3 7x7 | A 100 3,3 DD | food 1,1 | hazards 2,2*3 0,0")),
        "t3 7x7 | A 100 3,3 DD | food 1,1 | hazards 2,2*3 0,0"
    );
}

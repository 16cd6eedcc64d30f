use super::*;
use std::time::Duration;

/// Worlds of one address: how many, of which class, and seconds since the last activity in each.
type Held = (u8, usize, CapacityClass, i64);

const ACTIVE: i64 = 0;
const SILENT: i64 = 60;

fn player(cells: u64) -> CapacityClass {
    CapacityClass::Player { cells }
}

fn address(host: u8) -> Option<AddressKey> {
    Some(AddressKey::of([192, 0, 2, host].into()))
}

#[track_caller]
fn check(others: &[Held], host: u8, new: CapacityClass, want: Result<&[&str], VisitError>) {
    let silent = Duration::from_secs(60);
    let settings = WorldsConfig { loaded_max: 8, players_cells_max: 100, silent, ..crate::tests::support::settings() };
    let now_us = 1_000_000_000;
    let mut loaded = LoadedWorlds::new();
    for (host, count, class, quiet_s) in others {
        for _ in 0..*count {
            // Among the worlds of one address, the first was inactive for longest.
            let at_us = now_us - quiet_s * 1_000_000 - 1_000 + loaded.len() as i64;
            let world = Loaded { state: CapacityState::Here, ..Loaded::new(*class, address(*host), at_us) };
            loaded.insert(format!("w{}", loaded.len()).parse().unwrap(), world);
        }
    }
    let evicted = giving_way(&Loaded::new(new, address(host), now_us), &loaded, &settings, now_us);
    let evicted = evicted.map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(evicted, want.map(|names| names.iter().map(ToString::to_string).collect()), "{others:?} {new:?}");
}

#[test]
fn players_worlds_leave_room_for_the_others() {
    use CapacityClass::{Permanent, Server};
    let full = Err(VisitError::YourShare);
    check(&[(1, 5, player(1), ACTIVE)], 1, player(1), Ok(&[]));
    check(&[(1, 6, player(1), ACTIVE)], 1, player(1), full.clone());
    check(&[(1, 6, player(1), ACTIVE), (1, 1, Server, ACTIVE)], 1, Server, Ok(&[]));
    check(&[(1, 6, player(1), ACTIVE), (1, 2, Server, ACTIVE)], 1, Server, full.clone());
    check(&[(1, 8, Server, ACTIVE)], 1, player(1), full.clone());
    check(&[(1, 6, player(1), ACTIVE), (1, 2, Server, ACTIVE), (1, 20, Permanent, ACTIVE)], 1, Permanent, Ok(&[]));
    check(&[(1, 20, Permanent, ACTIVE)], 1, player(1), Ok(&[]));
    check(&[(1, 1, player(60), ACTIVE)], 1, player(40), Ok(&[]));
    check(&[(1, 1, player(60), ACTIVE)], 1, player(41), full);
    check(&[], 1, player(1_000), Ok(&[]));
}

#[test]
fn the_address_that_holds_most_gives_way_first() {
    let few = (2, 2, player(1), ACTIVE);
    check(&[few, (1, 4, player(1), ACTIVE)], 3, player(1), Ok(&["w2"]));
    check(&[few, (1, 4, player(1), SILENT)], 3, player(1), Ok(&["w2"]));
    check(&[few, (1, 4, player(1), ACTIVE)], 1, player(1), Err(VisitError::YourShare));
    // An inactive world is evicted before an active one, whichever address holds more.
    check(&[(2, 2, player(1), SILENT), (1, 4, player(1), ACTIVE)], 3, player(1), Ok(&["w0"]));
    check(&[(2, 2, player(1), SILENT), (1, 4, player(1), ACTIVE)], 2, player(1), Ok(&["w0"]));
}

#[test]
fn no_address_takes_from_one_that_holds_no_more() {
    let each: Vec<_> = (1..=6).map(|host| (host, 1, player(1), ACTIVE)).collect();
    check(&each, 7, player(1), Err(VisitError::WorldsFull));
    check(&each, 6, player(1), Err(VisitError::YourShare));
    let silent: Vec<_> = (1..=6).map(|host| (host, 1, player(1), SILENT)).collect();
    check(&silent, 7, player(1), Ok(&["w0"]));
    check(&silent, 6, player(1), Ok(&["w5"]));
}

#[test]
fn a_lack_of_cells_is_shared_by_cells() {
    // Many small worlds take less than one large one.
    let worlds = [(2, 4, player(1), ACTIVE), (1, 1, player(50), ACTIVE), (3, 1, player(46), ACTIVE)];
    check(&worlds, 4, player(2), Ok(&["w0", "w1"]));
    check(&worlds, 4, player(4), Err(VisitError::WorldsFull));
    let worlds = [(2, 3, player(1), ACTIVE), (1, 2, player(30), ACTIVE), (3, 1, player(37), ACTIVE)];
    check(&worlds, 4, player(20), Ok(&["w3"]));
    // As many as needed, or none.
    check(&[(1, 4, player(25), SILENT)], 4, player(60), Ok(&["w0", "w1", "w2"]));
}

#[test]
fn the_matchmakers_quarter_is_shared_as_well() {
    use CapacityClass::Server;
    check(&[(1, 6, player(1), ACTIVE), (7, 2, Server, ACTIVE)], 8, Server, Ok(&["w0"]));
    check(&[(7, 8, Server, ACTIVE)], 8, Server, Ok(&["w0"]));
}

use super::*;
use crate::ids::{PlayerId, TicketId};
use crate::limits::{
    MATCHMAKING_CANDIDATES_MAX, MATCHMAKING_LOOKS_MAX, MATCHMAKING_SEARCHES_MAX, PARTY_MAX, RATING_MAX, TICKETS_MAX,
};
use crate::time::UnixMs;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const TERMS: MatchingRules = MatchingRules { window: 100, widens_per_s: 50, window_max: 400 };

/// A ticket of `party` players for a match of `players`; owner and members follow from the id.
fn ticket(id: u128, party: u128, players: u8, rating: u16) -> Ticket {
    Ticket {
        id: TicketId(id),
        owner: PlayerId(id * 100),
        party: (0..party).map(|n| PlayerId(id * 100 + n)).collect(),
        party_size: party as u8,
        players,
        region: None,
        rating,
        since: UnixMs(0),
        until: UnixMs(60_000),
    }
}

fn within(region: &str, ticket: Ticket) -> Ticket {
    Ticket { region: Some(region.parse().unwrap()), ..ticket }
}

fn pool(tickets: impl IntoIterator<Item = Ticket>) -> TicketPool {
    let mut pool = TicketPool::new(TERMS);
    for ticket in tickets {
        pool.add(ticket).unwrap();
    }
    pool
}

/// The ids of those who were matched, match by match, and of those whose time was over.
fn ids(ended: &[TicketEnd]) -> (Vec<BTreeSet<u128>>, Vec<u128>) {
    let matched = ended.iter().filter_map(|ended| match ended {
        TicketEnd::Matched(tickets) => Some(tickets.iter().map(|ticket| ticket.id.0).collect()),
        TicketEnd::TimedOut(_) => None,
    });
    let timed_out = ended.iter().filter_map(|ended| match ended {
        TicketEnd::TimedOut(ticket) => Some(ticket.id.0),
        TicketEnd::Matched(_) => None,
    });
    (matched.collect(), timed_out.collect())
}

#[track_caller]
fn check(tickets: impl IntoIterator<Item = Ticket>, at_ms: i64, want: &[&[u128]]) {
    let (matched, _) = ids(&pool(tickets).step(UnixMs(at_ms)));
    let want: Vec<BTreeSet<u128>> = want.iter().map(|ids| ids.iter().copied().collect()).collect();
    assert_eq!(matched, want);
}

#[test]
fn a_match_is_full_to_the_last_place() {
    check([ticket(1, 1, 2, 0)], 0, &[]);
    check([ticket(1, 1, 2, 0), ticket(2, 1, 2, 0)], 0, &[&[1, 2]]);
    check([ticket(1, 1, 3, 0), ticket(2, 1, 3, 0)], 0, &[]);
    check([ticket(1, 1, 2, 0), ticket(2, 1, 3, 0)], 0, &[]);
    check([ticket(1, 2, 4, 0), ticket(2, 3, 4, 0), ticket(3, 2, 4, 0)], 0, &[&[1, 3]]);
    check([ticket(1, 2, 4, 0), ticket(2, 1, 4, 9), ticket(3, 1, 4, 5)], 0, &[&[1, 2, 3]]);
    // A party that comes first must not stand in the way of those who fill the match.
    check([ticket(1, 1, 4, 0), ticket(2, 2, 4, 0), ticket(3, 3, 4, 1)], 0, &[&[1, 3]]);
    check((1..=6).map(|id| ticket(id, 1, 2, 0)), 0, &[&[1, 2], &[3, 4], &[5, 6]]);
}

#[test]
fn ratings_are_near_and_the_window_widens_with_the_wait() {
    let two = |rating| [ticket(1, 1, 2, 1_000), ticket(2, 1, 2, rating)];
    check(two(1_100), 0, &[&[1, 2]]);
    check(two(1_101), 0, &[]);
    check(two(900), 0, &[&[1, 2]]);
    check(two(1_150), 999, &[]);
    check(two(1_150), 1_000, &[&[1, 2]]);
    check(two(1_400), 6_000, &[&[1, 2]]);
    check(two(1_401), 59_000, &[]);
    // From both sides: a new ticket is strict even if the other accepts any rating.
    let late = Ticket { since: UnixMs(5_000), ..ticket(2, 1, 2, 1_300) };
    check([ticket(1, 1, 2, 1_000), late], 5_000, &[]);
    // The nearest first, and all of a match with each other.
    check([ticket(1, 1, 2, 500), ticket(2, 1, 2, 560), ticket(3, 1, 2, 450)], 0, &[&[1, 3]]);
    check([ticket(1, 1, 2, 500), ticket(2, 1, 2, 540), ticket(3, 1, 2, 450)], 0, &[&[1, 2]]);
    check([ticket(1, 1, 3, 500), ticket(2, 1, 3, 560), ticket(3, 1, 3, 450)], 0, &[]);
}

#[test]
fn a_match_is_in_one_region() {
    let three = |a: &str, b: &str| [within(a, ticket(1, 1, 2, 0)), within(b, ticket(2, 1, 2, 0))];
    check(three("eu", "eu"), 0, &[&[1, 2]]);
    check(three("eu", "us"), 59_000, &[]);
    check([within("eu", ticket(1, 1, 2, 0)), ticket(2, 1, 2, 0)], 0, &[&[1, 2]]);
    let mixed = [ticket(1, 1, 3, 0), within("eu", ticket(2, 1, 3, 0)), within("us", ticket(3, 1, 3, 0))];
    check(mixed.clone(), 59_000, &[]);
    check(mixed.into_iter().chain([within("us", ticket(4, 1, 3, 0))]), 0, &[&[1, 3, 4]]);
}

/// A ticket whose party is not whole: the owner waits for `size` in all.
fn gathering(id: u128, size: u8, players: u8) -> Ticket {
    Ticket { party_size: size, ..ticket(id, 1, players, 0) }
}

#[test]
fn a_party_is_looked_for_with_once_all_of_it_have_joined() {
    let mut pool = pool([gathering(1, 3, 4), ticket(2, 1, 4, 0)]);
    assert_eq!(pool.step(UnixMs(0)), []);
    for (player, is_whole) in [(7, false), (7, false), (100, false), (8, true)] {
        let joined = pool.join(TicketId(1), PlayerId(player), UnixMs(50_000)).unwrap();
        assert_eq!(joined.is_party_complete(), is_whole, "{player}");
    }
    let party = [100, 7, 8].map(PlayerId).to_vec();
    let want = (UnixMs(50_000), UnixMs(110_000), party);
    assert_eq!(joined_at(&pool, 1), want, "others are waited for as long as the party was");
    assert_eq!(pool.join(TicketId(1), PlayerId(9), UnixMs(0)).err(), Some(TicketRefusal::PartyFull));
    assert_eq!(ids(&pool.step(UnixMs(50_000))), (vec![BTreeSet::from([1, 2])], vec![]));
    assert_eq!(pool.join(TicketId(1), PlayerId(9), UnixMs(0)).err(), Some(TicketRefusal::NotWaiting));
}

fn joined_at(pool: &TicketPool, id: u128) -> (UnixMs, UnixMs, Vec<PlayerId>) {
    let mut copy = pool.clone();
    let ticket = copy.remove(TicketId(id)).unwrap();
    (ticket.since, ticket.until, ticket.party)
}

#[test]
fn a_party_that_does_not_become_whole_gives_up_in_time() {
    let mut pool = pool([gathering(1, 2, 4)]);
    assert_eq!(ids(&pool.step(UnixMs(60_000))), (vec![], vec![1]));
    assert!(pool.is_empty());
}

#[test]
fn a_player_is_on_one_ticket_at_a_time() {
    let mut other = ticket(2, 2, 3, 0);
    other.party[1] = PlayerId(100);
    let mut pool = pool([gathering(1, 2, 3), gathering(3, 2, 3)]);
    check_refused(&mut pool, other, TicketRefusal::AlreadyWaiting(TicketId(1)));
    assert!(pool.join(TicketId(1), PlayerId(7), UnixMs(0)).is_ok());
    for player in [7, 100] {
        let refused = pool.join(TicketId(3), PlayerId(player), UnixMs(0)).err();
        assert_eq!(refused, Some(TicketRefusal::AlreadyWaiting(TicketId(1))), "{player}");
    }
    check_refused(
        &mut pool,
        Ticket { owner: PlayerId(7), party: vec![PlayerId(7)], ..ticket(9, 1, 2, 0) },
        TicketRefusal::AlreadyWaiting(TicketId(1)),
    );
    assert!(pool.remove(TicketId(1)).is_some());
    assert!(pool.join(TicketId(3), PlayerId(7), UnixMs(0)).is_ok());
}

#[track_caller]
fn check_refused(pool: &mut TicketPool, ticket: Ticket, want: TicketRefusal) {
    let before = pool.len();
    assert_eq!(pool.add(ticket), Err(want));
    assert_eq!(pool.len(), before);
}

#[test]
fn what_cannot_be_matched_is_not_taken() {
    let mut pool = pool([ticket(1, 1, 2, 0)]);
    let usual = ticket(2, 2, 4, 0);
    check_refused(&mut pool, Ticket { owner: PlayerId(7), ..usual.clone() }, TicketRefusal::InvalidParty);
    let twice = vec![PlayerId(200), PlayerId(201), PlayerId(201)];
    check_refused(&mut pool, Ticket { party: twice, party_size: 3, ..usual.clone() }, TicketRefusal::InvalidParty);
    check_refused(&mut pool, Ticket { party_size: 1, ..usual.clone() }, TicketRefusal::InvalidParty);
    check_refused(&mut pool, gathering(2, PARTY_MAX as u8 + 1, 16), TicketRefusal::InvalidParty);
    check_refused(&mut pool, ticket(2, PARTY_MAX as u128 + 1, 16, 0), TicketRefusal::InvalidParty);
    check_refused(&mut pool, Ticket { party: Vec::new(), ..usual.clone() }, TicketRefusal::InvalidParty);
    check_refused(&mut pool, Ticket { players: 1, ..ticket(2, 1, 2, 0) }, TicketRefusal::InvalidPlayers);
    check_refused(&mut pool, Ticket { players: 17, ..usual.clone() }, TicketRefusal::InvalidPlayers);
    check_refused(&mut pool, Ticket { players: 2, ..usual.clone() }, TicketRefusal::InvalidPlayers);
    check_refused(&mut pool, Ticket { rating: RATING_MAX + 1, ..usual }, TicketRefusal::InvalidRating);
    let again = Ticket { id: TicketId(9), ..ticket(1, 1, 3, 0) };
    check_refused(&mut pool, again.clone(), TicketRefusal::AlreadyWaiting(TicketId(1)));
    assert!(pool.remove(TicketId(1)).is_some());
    assert!(pool.remove(TicketId(1)).is_none());
    assert_eq!(pool.add(again), Ok(()));
}

#[test]
fn time_runs_out_before_a_match_is_made() {
    let mut pool = pool([ticket(1, 1, 2, 0), Ticket { until: UnixMs(70_000), ..ticket(2, 1, 2, 0) }]);
    assert_eq!(ids(&pool.clone().step(UnixMs(59_999))), (vec![BTreeSet::from([1, 2])], vec![]));
    assert_eq!(ids(&pool.step(UnixMs(60_000))), (vec![], vec![1]));
    assert_eq!(ids(&pool.step(UnixMs(70_000))), (vec![], vec![2]));
    assert!(pool.is_empty());
}

#[test]
fn those_whose_match_came_to_nothing_wait_on() {
    let mut pool = pool([ticket(1, 1, 2, 0), ticket(2, 1, 2, 0)]);
    let Some(TicketEnd::Matched(tickets)) = pool.step(UnixMs(0)).pop() else { panic!("they suit") };
    assert!(pool.is_empty());
    tickets.into_iter().for_each(|ticket| pool.insert(ticket));
    check_refused(
        &mut pool,
        Ticket { id: TicketId(9), ..ticket(1, 1, 2, 0) },
        TicketRefusal::AlreadyWaiting(TicketId(1)),
    );
    assert_eq!(ids(&pool.step(UnixMs(60_000))).1, [1, 2]);
}

/// However many tickets that cannot be matched stand before them: every ticket is searched for in time.
#[test]
fn a_step_is_bounded_and_skips_no_ticket() {
    let lonely = (1..=MATCHMAKING_SEARCHES_MAX as u128 * 2).map(|id| {
        let rating = (id % 8 * 500) as u16;
        within(&format!("region-{id}"), ticket(id, 1, 2, rating))
    });
    let pair = [9_001, 9_002].map(|id| Ticket { since: UnixMs(1), ..within("eu", ticket(id, 1, 2, 0)) });
    let mut pool = pool(lonely.chain(pair));
    let found: Vec<_> = (0..3).map(|_| ids(&pool.step(UnixMs(1))).0.pop()).collect();
    assert_eq!(found, [None, None, Some(BTreeSet::from([9_001, 9_002]))], "two steps for those before them");
    assert_eq!(pool.len(), MATCHMAKING_SEARCHES_MAX * 2);
}

/// A search looks at so many, the nearest: a crowd that fills no match costs no more, however large it is.
#[test]
fn a_search_is_bounded() {
    let crowded = |pairs: usize| {
        let pair = |id: u128| within(&format!("region-{id}"), ticket(id, 2, 4, 10));
        let pairs = (10..).take(pairs).map(pair);
        pool([ticket(1, 1, 4, 0), ticket(2, 3, 4, 50)].into_iter().chain(pairs)).step(UnixMs(0))
    };
    assert_eq!(ids(&crowded(MATCHMAKING_CANDIDATES_MAX - 1)).0, [BTreeSet::from([1, 2])]);
    assert_eq!(crowded(MATCHMAKING_CANDIDATES_MAX), []);
}

/// However many tickets of other regions have a nearer rating, those of the own region and of none are found.
#[test]
fn tickets_of_other_regions_are_in_nobodys_way() {
    let crowd = (100..).take(MATCHMAKING_LOOKS_MAX + 1).map(|id| within(&format!("region-{id}"), ticket(id, 1, 3, 10)));
    let pool_with = |others: [Ticket; 2]| {
        let seeker = Ticket { since: UnixMs(-1), ..within("eu", ticket(1, 1, 3, 0)) };
        pool(crowd.clone().chain(others).chain([seeker]))
    };
    let mut found = pool_with([within("eu", ticket(2, 1, 3, 60)), ticket(3, 1, 3, 50)]);
    assert_eq!(ids(&found.step(UnixMs(0))).0, [BTreeSet::from([1, 2, 3])]);
    let mut alone = pool_with([within("us", ticket(2, 1, 3, 60)), within("us", ticket(3, 1, 3, 50))]);
    assert_eq!(ids(&alone.step(UnixMs(0))).0, []);
}

#[test]
fn the_pool_is_bounded() {
    let mut pool = pool((1..=TICKETS_MAX as u128).map(|id| ticket(id, 1, 2, 0)));
    check_refused(&mut pool, ticket(TICKETS_MAX as u128 + 1, 1, 2, 0), TicketRefusal::QueueFull);
}

fn any_ticket() -> impl Strategy<Value = Ticket> {
    let about = (1_u128..60, 1_u128..5, 2_u8..6, 0_u16..900, 0_i64..20_000, 0_usize..3, 0_u8..3);
    about.prop_map(|(id, party, players, rating, since, region, missing)| {
        let until = UnixMs(since + 1_000 + i64::from(rating) * 10);
        let region = ["eu", "us"].get(region).map(|name| name.parse().unwrap());
        let missing = missing / 2;
        let ticket = ticket(id, party, players, rating);
        let party_size = ticket.party_size + missing;
        Ticket { since: UnixMs(since), until, region, party_size, ..ticket }
    })
}

#[derive(Clone, Debug)]
enum Deed {
    Enter(Ticket),
    Cancel(u128),
    Join(u128, u128),
    Step(i64),
    /// The last match that was made came to nothing.
    PutBack,
}

fn any_deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        6 => any_ticket().prop_map(Deed::Enter),
        1 => (1_u128..60).prop_map(Deed::Cancel),
        3 => (1_u128..60, 90_000_u128..90_006).prop_map(|(id, player)| Deed::Join(id, player)),
        4 => (0_i64..3_000).prop_map(Deed::Step),
        1 => Just(Deed::PutBack),
    ]
}

/// Every rule of a match, for every pair in it.
fn judge(tickets: &[Ticket], now: UnixMs) {
    let players: Vec<_> = tickets.iter().flat_map(|ticket| &ticket.party).collect();
    assert_eq!(players.len(), usize::from(tickets[0].players), "it is full: {tickets:?}");
    assert_eq!(players.iter().collect::<BTreeSet<_>>().len(), players.len(), "no player twice");
    let regions: BTreeSet<_> = tickets.iter().filter_map(|ticket| ticket.region.as_ref()).collect();
    assert!(regions.len() <= 1, "one region: {tickets:?}");
    for (at, one) in tickets.iter().enumerate() {
        for other in &tickets[at + 1..] {
            let window = TERMS.rating_window(one, now).min(TERMS.rating_window(other, now));
            assert!(one.rating.abs_diff(other.rating) <= window, "beyond {window}: {tickets:?}");
        }
    }
    assert!(
        tickets
            .iter()
            .all(|ticket| ticket.players == tickets[0].players && ticket.until > now && ticket.is_party_complete())
    );
}

proptest! {
    /// Each ticket that is taken ends once, in one of three ways, at the latest at the first step after its time; and every match
    /// keeps every rule.
    #[test]
    fn every_ticket_ends(deeds in prop::collection::vec(any_deed(), 1..120)) {
        let mut pool = TicketPool::new(TERMS);
        let (mut open, mut now) = (BTreeMap::<TicketId, UnixMs>::new(), UnixMs(0));
        let mut last_match = Vec::new();
        for deed in deeds.into_iter().chain([Deed::Step(1_000_000)]) {
            match deed {
                Deed::Enter(ticket) => {
                    let (id, until) = (ticket.id, ticket.until);
                    if !open.contains_key(&id) && pool.add(ticket).is_ok() {
                        last_match.clear();
                        open.insert(id, until);
                    }
                }
                Deed::Cancel(id) => {
                    let was_open = open.remove(&TicketId(id)).is_some();
                    prop_assert_eq!(pool.remove(TicketId(id)).is_some(), was_open);
                }
                Deed::Join(id, player) => {
                    if let Ok(ticket) = pool.join(TicketId(id), PlayerId(player), now) {
                        prop_assert!(ticket.party.contains(&PlayerId(player)));
                        last_match.clear();
                        open.insert(TicketId(id), ticket.until);
                    }
                }
                Deed::PutBack => {
                    let back: Vec<Ticket> = std::mem::take(&mut last_match);
                    open.extend(back.iter().map(|ticket| (ticket.id, ticket.until)));
                    back.into_iter().for_each(|ticket| pool.insert(ticket));
                }
                Deed::Step(ms) => {
                    now = UnixMs(now.0 + ms);
                    for ended in pool.step(now) {
                        match ended {
                            TicketEnd::TimedOut(ticket) => {
                                prop_assert!(ticket.until <= now);
                                prop_assert!(open.remove(&ticket.id).is_some(), "ended twice");
                            }
                            TicketEnd::Matched(tickets) => {
                                judge(&tickets, now);
                                for ticket in &tickets {
                                    prop_assert!(open.remove(&ticket.id).is_some(), "ended twice");
                                }
                                last_match = tickets;
                            }
                        }
                    }
                    prop_assert!(open.values().all(|until| *until > now), "a ticket waits beyond its time");
                }
            }
            prop_assert_eq!(pool.len(), open.len());
        }
        prop_assert_eq!(format!("{pool:?}"), format!("{:?}", TicketPool::new(TERMS)), "nothing of them is left");
    }

    /// When no search was skipped, no two tickets are left that would have made a match of two.
    #[test]
    fn no_pair_is_left_waiting(tickets in prop::collection::vec(any_ticket(), 2..40), at_ms in 0_i64..30_000) {
        let now = UnixMs(at_ms);
        let mut pool = TicketPool::new(TERMS);
        let mut left = BTreeMap::new();
        for ticket in tickets {
            let ticket = Ticket { players: 2, until: UnixMs(i64::MAX), ..ticket };
            let ticket = Ticket { party: vec![ticket.owner], party_size: 1, ..ticket };
            if pool.add(ticket.clone()).is_ok() {
                left.insert(ticket.id, ticket);
            }
        }
        for ended in pool.step(now) {
            let TicketEnd::Matched(tickets) = ended else { continue };
            for ticket in tickets {
                left.remove(&ticket.id);
            }
        }
        for (id, one) in &left {
            let other = left.iter().find(|(other, ticket)| *other != id && TERMS.is_compatible(one, ticket, now));
            prop_assert!(other.is_none(), "{one:?} and {other:?} suit each other");
        }
    }
}

use super::*;
use crate::barred_players;
use engine::commands::{AccountCommand, Command};
use engine::ids::AccountId;
use engine::rows::Account;
use node::Node;
use node::clock::Clock;
use node::clock::random_bytes;
use node::drain::Drain;
use store::testing::MemoryDatabase;
use store::{Store, StoreConfig};

/// A ticket of a party of one.
fn ticket(owner: u128, now: UnixMs) -> Ticket {
    let (owner, until) = (PlayerId(owner), now.plus(Duration::from_secs(600)));
    let id = TicketId::new(now, random_bytes());
    let party = vec![owner];
    Ticket { id, owner, party, party_size: 1, players: 2, region: None, rating: 0, since: now, until }
}

/// Tickets that are submitted and cancelled in a loop keep no others out, and do not pile up.
#[tokio::test]
async fn ended_tickets_do_not_count() {
    let matchmaker = Matchmaker::new(1, Arc::default());
    matchmaker.start_accepting(WorkerId(1), Lease::always_valid());
    let now = UnixMs(1_700_000_000_000);
    let first = matchmaker.submit(ticket(1, now), None, None).unwrap().borrow().ticket.id;
    assert!(matchmaker.cancel(first, Some(PlayerId(1)), now).is_some());
    for number in 0..=TICKETS_KNOWN_MAX as u128 {
        let owner = PlayerId(number % 48);
        let seen =
            matchmaker.submit(ticket(number % 48, now), None, None).unwrap_or_else(|error| panic!("{number}: {error}"));
        let id = seen.borrow().ticket.id;
        assert!(matchmaker.cancel(id, Some(owner), now).is_some());
    }
    assert_eq!(matchmaker.lock().tickets.len(), TICKETS_KNOWN_MAX - TICKETS_MAX);
    assert!(matchmaker.find(first, PlayerId(1)).is_none(), "the earliest end is forgotten first");
}

/// A matched ticket counts until its hunt is over, another one until it ends.
#[tokio::test]
async fn tickets_of_an_address_are_limited() {
    let matchmaker = Matchmaker::new(2, Arc::default());
    matchmaker.start_accepting(WorkerId(1), Lease::always_valid());
    let now = UnixMs(1_700_000_000_000);
    let key = |host: u8| Some(AddressKey::of([192, 0, 2, host].into()));
    let enter = |owner, host, now| {
        let entered = matchmaker.submit(ticket(owner, now), None, key(host));
        entered.map(|seen| seen.borrow().ticket.clone())
    };
    let refusal = Err(TicketError::Quota(QuotaExceeded::at_once(QuotaKind::Tickets, 2)));
    let pair = [enter(1, 1, now).unwrap(), enter(2, 1, now).unwrap()];
    assert_eq!(enter(3, 1, now), refusal);
    assert_eq!(enter(1, 1, now), Err(TicketRefusal::AlreadyWaiting(pair[0].id).into()), "the nearer reason");
    let other = enter(3, 2, now).unwrap();
    assert!(matchmaker.cancel(other.id, Some(PlayerId(3)), now).is_some());
    assert!(enter(3, 2, now).is_ok() && enter(4, 2, now).is_ok(), "what is taken back is no more");
    assert!(matchmaker.step(now, now, false).is_empty(), "no ticket is matched into a hunt that could not be entered");
    let matches = matchmaker.step(now, now, true);
    assert_eq!(matches.len(), 2);
    matches.into_iter().for_each(|made| matchmaker.settle(made, SaveOutcome::Saved, now));
    let over = now.plus(new_hunt::matched_hunt_duration());
    assert_eq!(enter(5, 1, over.minus(Duration::from_millis(1))), refusal, "they play");
    assert!(enter(5, 1, over).is_ok());
    matchmaker.stop_accepting(over);
    assert_eq!(matchmaker.address_permits.key_count(), 0, "no address is kept for ever");
}

#[tokio::test]
async fn an_ended_ticket_is_kept_for_five_minutes_and_makes_room() {
    let metrics = Arc::<Metrics>::default();
    let store = Store::open(Arc::new(MemoryDatabase::new()), StoreConfig { readers: 1 }, metrics.clone()).unwrap();
    let clock = Clock::default();
    let node = Node::new(store, clock.clone(), "127.0.0.1:1");
    let hunts = Arc::new(Hunts::new(8, node, Drain::default(), metrics));
    tokio::spawn(crate::run(hunts.clone(), |_| true, |_| false));
    let (now, owner) = (clock.now(), PlayerId(1));
    let (party, until) = (vec![owner], now.plus(Duration::from_secs(600)));
    let id = TicketId::new(now, random_bytes());
    let ticket = Ticket { id, owner, party, party_size: 1, players: 2, region: None, rating: 0, since: now, until };
    let seen = crate::submit_ticket(&hunts, ticket, None).await.unwrap().unwrap();
    let (matchmaker, id) = (&hunts.matchmaker, seen.borrow().ticket.id);
    assert!(matchmaker.cancel(id, Some(owner), now).is_some());
    let is_known_after = |time: Duration| {
        matchmaker.step(now.plus(time), now, true);
        matchmaker.find(id, owner).is_some()
    };
    assert!(is_known_after(TICKET_RETENTION.saturating_sub(Duration::from_millis(1))));
    assert!(!is_known_after(TICKET_RETENTION));
    assert!(matchmaker.lock().has_issued(id), "it is forgotten, and was not lost");
}

/// A ticket of a deleted account or a banned player is cancelled, with its whole party; those of others and of guests wait on.
#[tokio::test]
async fn tickets_of_players_who_may_play_no_more_leave() {
    let metrics = Arc::<Metrics>::default();
    let store = Store::open(Arc::new(MemoryDatabase::new()), StoreConfig { readers: 1 }, metrics.clone()).unwrap();
    let hunts = Hunts::new(8, Node::new(store, Clock::default(), "127.0.0.1:1"), Drain::default(), metrics);
    let now = UnixMs(1_700_000_000_000);
    for n in 1..=2 {
        let account = Account { id: AccountId(n), name: format!("player {n}"), created_at: now };
        hunts.node.store.commit(Command::EnsureAccount(account)).await.unwrap();
    }
    hunts.matchmaker.start_accepting(WorkerId(1), Lease::always_valid());
    let seen: Vec<_> = (1..=4).map(|n| hunts.matchmaker.submit(ticket(n, now), None, None).unwrap()).collect();
    let cancelled = || {
        let state = |n: &u128| seen[*n as usize - 1].borrow().state.clone();
        (1..=4).filter(|n| state(n) == TicketState::Cancelled).collect::<Vec<_>>()
    };
    let nobody = |_| false;
    barred_players::cancel_tickets(&hunts, nobody).await.unwrap();
    assert_eq!(cancelled(), []);
    let delete = AccountCommand::Delete { id: AccountId(2), now };
    hunts.node.store.commit(Command::Account(delete)).await.unwrap();
    barred_players::cancel_tickets(&hunts, nobody).await.unwrap();
    assert_eq!(cancelled(), [2]);
    barred_players::cancel_tickets(&hunts, |player| player == PlayerId(4)).await.unwrap();
    assert_eq!(cancelled(), [2, 4]);
}

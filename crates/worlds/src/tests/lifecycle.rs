//! Loading and unloading of worlds, with their processes or without.

use super::recording_sink::{Received, RecordingSink};
use super::support::{Node, Player, TestStore, name, settings, until, walker};
use crate::actors::ActorPlan;
use crate::{CloseReason, RegisterError, VisitError, WorldsConfig};
use engine::ids::WorldId;
use engine::limits::{LEASE_DURATION, WORLD_SNAPSHOT_MOVERS_PER_SLICE};
use engine::worlds::{Done, InputKind, Registration, World, WorldParams};
use futures_util::future::join_all;
use quotas::address_key::AddressKey;
use rules::chance::Seed;
use rules::world::{Cell, Step};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const MIDDLE: Cell = Cell { x: 5, y: 5 };
const EAST: Cell = Cell { x: 6, y: 5 };

#[tokio::test]
async fn visitors_share_one_load_and_unknown_worlds_cost_no_write() {
    let store = TestStore::with_world(false);
    let node = Node::start(&store, "a");
    let unknown = "nowhere".parse().unwrap();
    assert_eq!(node.worlds.visit(&unknown).await.err(), Some(VisitError::NoSuchWorld));
    assert_eq!(store.leases.load(Ordering::Relaxed), 0, "nothing is owned, so no lease is held");
    let visits = join_all((0..16).map(|_| node.visit())).await;
    assert!(visits.iter().all(Result::is_ok));
    assert_eq!(store.loads.load(Ordering::Relaxed), 1);
}

/// Any player may create hunts and keep them in memory by playing in them.
#[tokio::test]
async fn players_worlds_cannot_keep_built_in_ones_out() {
    let store = TestStore::with_world(false);
    let passing = ["one", "other"].map(|name| name.parse().unwrap());
    for (id, name) in [8, 9].into_iter().zip(&passing) {
        store.make_passing(id, name);
    }
    let node = Node::start_with(&store, "a", WorldsConfig { loaded_max: 1, ..settings() });
    let one = node.worlds.visit(&passing[0]).await.unwrap();
    assert_eq!(node.worlds.visit(&passing[1]).await.err(), Some(VisitError::YourShare));
    assert!(node.visit().await.is_ok());
    drop(one);
}

/// A world counts against the address that loaded it as long as it is in memory; entering a loaded world does not count.
#[tokio::test]
async fn an_address_may_load_a_limited_number_of_worlds() {
    let store = TestStore::with_world(false);
    let passing = ["one", "other"].map(|name| name.parse().unwrap());
    for (id, name) in [8, 9].into_iter().zip(&passing) {
        store.make_passing(id, name);
    }
    let node = Node::start_with(&store, "a", WorldsConfig { per_address_max: 1, ..settings() });
    let [here, there] = [7, 8].map(|host| Some(AddressKey::of([192, 0, 2, host].into())));
    let one = node.worlds.visit_from(&passing[0], here).await.unwrap();
    let refused = node.worlds.visit_from(&passing[1], here).await.err();
    assert_eq!(refused, Some(VisitError::TooManyWorlds { max: 1 }));
    assert!(node.worlds.visit_from(&name(), here).await.is_ok(), "permanent worlds are not counted");
    assert!(node.worlds.visit_from(&passing[0], here).await.is_ok(), "it is loaded already");
    assert!(node.worlds.visit_from(&passing[1], there).await.is_ok(), "another address");
    assert_eq!(node.worlds.shared.address_permits.key_count(), 2);
    drop(one);
}

const SILENT: Duration = Duration::from_secs(60);

fn address(host: u8) -> Option<AddressKey> {
    Some(AddressKey::of([192, 0, 2, host].into()))
}

/// Other addresses have loaded as many worlds as fit in memory, and a player is in each.
#[tokio::test]
async fn in_a_full_memory_the_address_that_holds_most_gives_way() {
    let store = TestStore::own();
    let [one, other, third] = store.make_passing_all(["one", "other", "third"]);
    let node = Node::start_with(&store, "a", WorldsConfig { loaded_max: 2, silent: SILENT, ..settings() });
    let mut players = Vec::new();
    for world in [&one, &other] {
        node.worlds.visit_from(world, address(1)).await.unwrap();
        players.push(node.come_to(world, walker(MIDDLE)).await);
    }
    let (id, key) = (players[0].seat().id, players[0].registered.key);
    assert_eq!(node.worlds.visit_from(&third, address(1)).await.err(), Some(VisitError::YourShare));
    // The last activity of its mover is long ago, compared with the other's.
    store.pass(Duration::from_secs(1));
    assert!(players[1].step(Step::E).await.is_ok());
    let third = node.worlds.visit_from(&third, address(2)).await.unwrap();
    assert_eq!(players[0].sink.end().await, CloseReason::Unloaded);
    assert!(node.worlds.loaded(&other).is_some() && node.worlds.loaded(&one).is_none());
    assert_eq!(node.metrics.worlds.unloaded.get(), 1);
    // Each address holds one: none takes from the other, and a third address has no room either.
    assert_eq!(node.worlds.visit_from(&one, address(1)).await.err(), Some(VisitError::YourShare));
    assert_eq!(node.worlds.visit_from(&one, address(3)).await.err(), Some(VisitError::WorldsFull));
    let row = third.info().row.clone();
    assert_eq!(node.worlds.check_room(&row, address(3), store.now_us()), Err(VisitError::WorldsFull));
    // Until one is inactive. Its movers come back to where they stood.
    store.pass(SILENT);
    assert!(players[1].step(Step::W).await.is_ok());
    assert_eq!(node.worlds.check_room(&row, address(3), store.now_us()), Ok(()));
    let back = node.worlds.visit_from(&one, address(3)).await.unwrap();
    let mut again = walker(MIDDLE);
    again.resume = Some((id, key));
    let (registered, _) = back.register(again, RecordingSink::new()).await.unwrap();
    assert!(registered.is_resumed, "what was in it was saved");
    assert!(node.worlds.loaded(&other).is_some(), "it is active");
}

/// Pictures are read off the runtime, one at a time, and clients' addresses take turns.
#[tokio::test]
async fn a_reader_of_many_pictures_waits_behind_its_own() {
    let store = TestStore::with_world(false);
    let node = Node::start(&store, "a");
    let world = node.visit().await.unwrap();
    // From here on there is a picture, and reads do not wait for one: they arrive in the order in which they are polled.
    assert!(world.picture().await.is_some());
    let (go_on, held) = std::sync::mpsc::channel::<()>();
    let (order, came) = std::sync::mpsc::channel();
    let read = |host: u8, order: std::sync::mpsc::Sender<u8>| {
        let (worlds, world) = (node.worlds.clone(), world.clone());
        async move { worlds.read_picture(&world, address(host), move |_| order.send(host).unwrap()).await }
    };
    // While it is being read, this thread, the only one of the runtime, goes on.
    let first = node.worlds.read_picture(&world, address(1), move |picture| {
        held.recv().unwrap();
        picture.size()
    });
    let others = join_all([1, 1, 1, 2].map(|host| read(host, order.clone())));
    let release = async {
        until("all wait", || node.worlds.shared.picture_permits.waiting() == 4).await;
        go_on.send(()).unwrap();
    };
    let (first, others, ()) = tokio::join!(first, others, release);
    assert!(first.is_some() && others.iter().all(Option::is_some));
    assert_eq!(came.try_iter().collect::<Vec<_>>(), [1, 2, 1, 1]);
}

/// Visits before there is a lease are counted, too.
#[tokio::test]
async fn concurrent_visits_load_no_more_worlds_than_there_is_room_for() {
    let store = TestStore::with_world(false);
    let passing = store.make_passing_all(["one", "other", "third"]);
    let node = Node::start_with(&store, "a", WorldsConfig { loaded_max: 2, ..settings() });
    let visits = join_all(passing.iter().map(|name| node.worlds.visit(name))).await;
    assert_eq!(visits.iter().filter(|visit| visit.is_ok()).count(), 2);
}

#[tokio::test]
async fn a_world_without_movers_leaves_memory_and_the_lease_with_it() {
    let store = TestStore::with_world(false);
    let node = Node::start_with(&store, "a", WorldsConfig { idle_timeout: Duration::ZERO, ..settings() });
    let player = node.come(walker(MIDDLE)).await;
    let (id, key) = (player.seat().id, player.registered.key);
    assert_eq!(node.metrics.worlds.loaded.get(), 1);
    player.mover.leave();
    assert_eq!(node.worlds.all_loaded().len(), 1, "a handle exists");
    drop(player.world);
    until("it has left memory", || node.metrics.worlds.loaded.get() == 0).await;
    until("the lease is given up", || store.leases_ended.load(Ordering::Relaxed) == 1).await;
    // The next visitor loads it again.
    let mut again = walker(MIDDLE);
    again.resume = Some((id, key));
    assert!(!node.come(again).await.registered.is_resumed, "the mover had left for good");
    assert_eq!(store.loads.load(Ordering::Relaxed), 2);
}

/// Rows of a world's log, and a snapshot with the number of rows that it is to stand for.
type Kept<'a> = (&'a [&'a [u8]], Option<(u32, &'a [u8])>);

/// The store may return other bytes than were written.
#[tokio::test]
async fn a_damaged_world_is_closed_and_left_as_it_is_and_others_go_on() {
    let opening = WorldParams {
        id: WorldId(7),
        settings: rules::world::WorldSettings::default(),
        seed: Seed(3),
        epoch: 1,
        ends_at: None,
    };
    let healthy = World::open(opening, None, &[], 0).unwrap().snapshot(true).into_bytes();
    let damages: [Kept<'_>; 6] = [
        (&[b"nonsense"], None),
        (&[b""], None),
        (&[], Some((0, b"nonsense"))),
        (&[], Some((0, b""))),
        (&[], Some((0, &healthy[..healthy.len() - 1]))),
        // Another world's, or an older one.
        (&[b"counted"], Some((1, &healthy))),
    ];
    for (log, snapshot) in damages {
        let (store, other) = (TestStore::with_world(false), "other".parse().unwrap());
        store.make_passing(8, &other);
        store.damage(log, snapshot);
        let node = Node::start(&store, "a");
        for _ in 0..2 {
            assert_eq!(node.visit().await.err(), Some(VisitError::Broken), "{log:?} {snapshot:?}");
        }
        assert!(node.worlds.visit(&other).await.is_ok());
        node.stop().await;
    }
    let store = TestStore::with_world(false);
    store.damage(&[], Some((0, &healthy)));
    assert!(Node::start(&store, "a").visit().await.is_ok(), "this one is not");
}

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Drained,
    Killed,
}

#[tokio::test]
async fn unloading_waits_for_a_snapshot_in_flight_which_would_arrive_after_the_last_one() {
    let store = TestStore::with_world(false);
    let node = Node::start_with(&store, "a", WorldsConfig { snapshot_every: Duration::from_millis(1), ..settings() });
    let mut player = node.come(walker(MIDDLE)).await;
    store.hold(true);
    assert!(player.step(Step::E).await.is_ok());
    until("a snapshot is under way", || node.metrics.worlds.snapshot_bytes.get() > 0).await;
    assert!(player.step(Step::W).await.is_ok());
    let mailbox = player.world.context.inbox.clone();
    let stopping = tokio::spawn(node.stop());
    until("it leaves", || mailbox.is_refusing() && (mailbox.mailbox.is_parked() || mailbox.mailbox.is_closed())).await;
    assert!(!mailbox.mailbox.is_closed());
    store.hold(false);
    stopping.await.unwrap();
    let node = Node::start(&store, "b");
    let resume = Some((player.seat().id, player.registered.key));
    let again = node.come(Registration { resume, ..walker(MIDDLE) }).await.registered;
    assert_eq!((again.is_resumed, again.cell), (true, MIDDLE));
}

#[tokio::test]
async fn positions_come_back() {
    for last in [Last::Drained, Last::Killed] {
        let store = TestStore::with_world(false);
        let often = WorldsConfig { snapshot_every: Duration::from_millis(1), ..settings() };
        let node = Node::start_with(&store, "a", often);
        let mut player = node.come(walker(MIDDLE)).await;
        let first = player.next;
        // To and fro: when one snapshot begins after another, the other was saved.
        for step in [Step::E, Step::W, Step::E] {
            let before = node.metrics.worlds.snapshot_bytes.get();
            assert!(player.step(step).await.is_ok());
            if last == Last::Killed {
                until("a snapshot", || node.metrics.worlds.snapshot_bytes.get() > before).await;
            }
        }
        match last {
            Last::Drained => node.stop().await,
            Last::Killed => node.kill().await,
        }
        let sent = if last == Last::Drained { CloseReason::Draining } else { CloseReason::WorldMoved };
        assert_eq!(player.sink.end().await, sent);
        if last == Last::Killed {
            store.pass(LEASE_DURATION * 2);
        }
        let node = Node::start(&store, "b");
        let mut again = walker(MIDDLE);
        again.resume = Some((player.seat().id, player.registered.key));
        let again = node.come(again).await.registered;
        let steps = again.next_seq - first;
        assert!(again.is_resumed && (steps == 3 || last == Last::Killed && steps >= 1), "{last:?}: {again:?}");
        assert_eq!(again.cell, if steps % 2 == 1 { EAST } else { MIDDLE }, "{last:?}");
    }
}

#[tokio::test]
async fn a_snapshot_of_many_movers_is_written_a_portion_a_round() {
    let store = TestStore::with_world(false);
    let node = Node::start_with(&store, "a", WorldsConfig { snapshot_every: Duration::from_millis(1), ..settings() });
    let mut players = Vec::new();
    for _ in 0..=WORLD_SNAPSHOT_MOVERS_PER_SLICE {
        players.push(node.come(walker(MIDDLE)).await);
    }
    let (metrics, mut portions) = (&node.metrics.worlds, Vec::new());
    // It is unknown how many movers the first one had, and the second may have begun by then; when one snapshot begins after another, the
    // other was saved.
    for step in [Step::E, Step::W, Step::E, Step::W] {
        let before = metrics.snapshot_bytes.get();
        assert!(players[0].step(step).await.is_ok());
        until("a snapshot", || metrics.snapshot_bytes.get() > before).await;
        portions.push(metrics.snapshot.snapshot().count());
    }
    assert!(portions[3] - portions[0] > 3, "three at most are written in more than three rounds");
    node.kill().await;
    store.pass(LEASE_DURATION * 2);
    let node = Node::start(&store, "b");
    for Player { mover, registered, .. } in &players {
        let resume = Some((mover.seat().id, registered.key));
        assert!(node.come(Registration { resume, ..walker(MIDDLE) }).await.registered.is_resumed);
    }
}

#[tokio::test]
async fn a_world_belongs_to_one_node_until_its_lease_ends() {
    let store = TestStore::with_world(false);
    let (first, second) = (Node::start(&store, "a"), Node::start(&store, "b"));
    let player = first.come(walker(MIDDLE)).await;
    assert_eq!(second.visit().await.err(), Some(VisitError::Elsewhere { address: "a".to_owned() }));
    first.kill().await;
    assert_eq!(player.sink.end().await, CloseReason::WorldMoved);
    assert_eq!(second.visit().await.err(), Some(VisitError::Elsewhere { address: "a".to_owned() }));
    store.pass(LEASE_DURATION * 2);
    assert!(second.visit().await.is_ok(), "taken over");
}

/// The store still believes in a lease that its owner has given up.
#[tokio::test]
async fn a_lost_lease_does_not_delay_the_next_owner() {
    for next in ["a", "b"] {
        let store = TestStore::with_world(false);
        let (first, second) = (Node::start(&store, "a"), Node::start(&store, "b"));
        let player = first.come(walker(MIDDLE)).await;
        store.refuse_renewal();
        assert_eq!(player.sink.end().await, CloseReason::WorldMoved);
        until("the lease is ended", || store.leases_ended.load(Ordering::Relaxed) == 1).await;
        let node = if next == "a" { &first } else { &second };
        assert!(node.visit().await.is_ok(), "{next} has it without waiting");
    }
}

#[tokio::test]
async fn a_client_is_not_redirected_to_the_node_it_came_from() {
    let store = TestStore::with_world(false);
    let dead = Node::start(&store, "a");
    let _ = dead.come(walker(MIDDLE)).await;
    dead.kill().await;
    let (node, other) = (Node::start(&store, "a"), Node::start(&store, "b"));
    assert_eq!(node.visit().await.err(), Some(VisitError::Busy), "its own address has no world of this name yet");
    assert_eq!(other.visit().await.err(), Some(VisitError::Elsewhere { address: "a".to_owned() }));
    store.pass(LEASE_DURATION * 2);
    assert!(node.visit().await.is_ok());
}

#[tokio::test]
async fn a_single_process_writes_one_lease_for_its_whole_life() {
    let store = TestStore::own();
    let node = Node::start_with(&store, "a", WorldsConfig { idle_timeout: Duration::ZERO, ..settings() });
    for visit in 1..=3 {
        let player = node.come(walker(MIDDLE)).await;
        assert_eq!(store.loads.load(Ordering::Relaxed), visit);
        player.mover.leave();
        drop(player.world);
        until("the world has left memory", || node.metrics.worlds.loaded.get() == 0).await;
        // The clock is set forward, or the machine has slept.
        store.pass(Duration::from_secs(30 * 24 * 3_600));
    }
    let leases = (store.leases.load(Ordering::Relaxed), store.leases_ended.load(Ordering::Relaxed));
    assert_eq!(leases, (1, 0));
    // The next process does not wait for the lease to expire.
    let player = node.come(walker(MIDDLE)).await;
    node.kill().await;
    assert_eq!(player.sink.end().await, CloseReason::WorldMoved);
    assert!(Node::start(&store, "a").visit().await.is_ok());
}

#[tokio::test]
async fn a_draining_process_saves_what_was_decided_and_frees_its_worlds_at_once() {
    let store = TestStore::with_world(true);
    let (first, second) = (Node::start(&store, "a"), Node::start(&store, "b"));
    let player = first.come(walker(MIDDLE)).await;
    player.sink.wait("a round", |received| matches!(received, Received::Event(_)).then_some(())).await;
    let chest = loop {
        if let Some(chest) = player.chests().await.first() {
            break *chest;
        }
    };
    let mut digger = first.come(walker(chest)).await;
    store.hold(true);
    let requests = store.claims_requested.load(Ordering::Relaxed);
    let dug = digger.want(InputKind::Dig);
    until("the claim is on its way", || store.claims_requested.load(Ordering::Relaxed) > requests).await;
    let (world, worlds) = (player.world.clone(), first.worlds.clone());
    let draining = tokio::spawn(first.stop());
    until("nothing new is taken in", || world.send(&mut Vec::new()).is_err()).await;
    let refused = world.register(walker(MIDDLE), digger.sink.clone()).await.err();
    assert_eq!(refused, Some(RegisterError::Gone(CloseReason::Draining)));
    store.hold(false);
    assert!(matches!(digger.sink.answer(dug).await, Ok(Done::Dug { .. })), "what was decided is saved, and sent");
    assert_eq!((player.sink.end().await, digger.sink.end().await), (CloseReason::Draining, CloseReason::Draining));
    draining.await.unwrap();
    assert_eq!(worlds.visit(&name()).await.err(), Some(VisitError::Draining));
    // No lease has to expire first.
    let again = second.come(walker(MIDDLE)).await;
    assert!(!again.chests().await.contains(&chest), "the claim is there");
}

#[tokio::test]
async fn a_world_whose_claim_was_on_its_way_when_the_drain_began_is_free_at_once() {
    let store = TestStore::with_world(false);
    let a = Node::start(&store, "a");
    store.hold(true);
    let mut visit = Box::pin(a.visit());
    assert!(futures_util::FutureExt::now_or_never(visit.as_mut()).is_none());
    until("its claim is on its way", || store.loads.load(Ordering::Relaxed) == 1).await;
    a.begin_drain();
    store.hold(false);
    assert_eq!(visit.await.err(), Some(VisitError::Draining));
    a.stop().await;
    Node::start(&store, "b").come(walker(MIDDLE)).await;
}

#[tokio::test]
async fn actors_move_by_their_own_timers_and_leave_when_not_wanted() {
    let store = TestStore::with_world(false);
    let node = Node::start(&store, "a");
    let plan = ActorPlan { period: Duration::from_millis(20), jitter: Duration::from_millis(5), ..ActorPlan::of(101) };
    node.worlds.set_actors(&name(), plan).await.unwrap();
    let stats = || node.worlds.actors(&name()).unwrap_or_default();
    until("all of them move", || stats().moving == 101).await;
    let seen = stats();
    assert_eq!((seen.planned, seen.registered), (101, 101), "planned, registered and moving are counted apart");
    assert!(seen.run.moves >= 101 && seen.run.p99_ms.is_some() && seen.mailbox_max > 0, "{seen:?}");
    let picture = node.visit().await.unwrap().picture().await.unwrap();
    assert_eq!((picture.stats().movers, picture.stats().lasting), (101, 0));
    drop(picture);
    node.worlds.set_actors(&name(), ActorPlan::of(10)).await.unwrap();
    until("most have gone", || stats().registered == 10).await;
    node.worlds.set_actors(&name(), ActorPlan::of(0)).await.unwrap();
    until("the workers have ended", || node.worlds.actors(&name()).is_none()).await;
    let world = node.visit().await.unwrap();
    loop {
        if world.picture().await.unwrap().stats().movers == 0 {
            break;
        }
    }
}

#[tokio::test]
async fn actors_come_back_when_their_world_has_left_memory() {
    let store = TestStore::with_world(false);
    let node = Node::start(&store, "a");
    node.worlds.set_actors(&name(), ActorPlan { period: Duration::from_millis(20), ..ActorPlan::of(8) }).await.unwrap();
    let moves = || node.worlds.actors(&name()).map_or(0, |stats| stats.run.moves);
    until("they move", || moves() > 8).await;
    let world = node.visit().await.unwrap();
    world.context.inbox.mailbox.send_control(crate::inbox::ControlMessage::Abandon(CloseReason::WorldMoved)).ok();
    drop(world);
    until("the world was loaded again", || store.loads.load(Ordering::Relaxed) == 2).await;
    let before = moves();
    until("they move again", || moves() > before + 8).await;
}

/// Some have gone, some are leaving: wherever they are in the worker's list, as many move again as are wanted.
#[tokio::test]
async fn actors_that_are_wanted_again_move_again() {
    let store = TestStore::with_world(false);
    let node = Node::start(&store, "a");
    let of = |count| ActorPlan { period: Duration::from_secs(2), ..ActorPlan::of(count) };
    node.worlds.set_actors(&name(), of(101)).await.unwrap();
    let registered = || node.worlds.actors(&name()).map_or(0, |stats| stats.registered);
    until("all have come", || registered() == 101).await;
    node.worlds.set_actors(&name(), of(2)).await.unwrap();
    until("some have gone", || registered() < 101).await;
    node.worlds.set_actors(&name(), of(101)).await.unwrap();
    until("all have come again", || registered() == 101).await;
}

#[tokio::test]
async fn actors_with_a_long_period_leave_when_not_wanted() {
    let store = TestStore::with_world(false);
    let node = Node::start(&store, "a");
    node.worlds
        .set_actors(&name(), ActorPlan { period: Duration::from_secs(3_600), ..ActorPlan::of(9) })
        .await
        .unwrap();
    until("all have come", || node.worlds.actors(&name()).is_some_and(|stats| stats.registered == 9)).await;
    node.worlds.set_actors(&name(), ActorPlan::of(0)).await.unwrap();
    until("the workers have ended", || node.worlds.actors(&name()).is_none()).await;
}

#[tokio::test]
async fn actors_start_where_and_as_slowly_as_the_plan_says() {
    let store = TestStore::with_world(false);
    let node = Node::start(&store, "a");
    let elsewhere = ActorPlan { spawn: Some(Cell { x: 12, y: 0 }), ..ActorPlan::of(1) };
    let refused = node.worlds.set_actors(&name(), elsewhere).await.unwrap_err().to_string();
    assert!(
        refused.starts_with("actors cannot begin at 12,0: the world plaza has 12 x 12 cells; choose x from 0 to 11")
    );
    let hour = Duration::from_secs(3_600);
    let slow =
        ActorPlan { spawn: Some(MIDDLE), period: hour, start_delay: Duration::from_millis(20), ..ActorPlan::of(20) };
    let begun = Instant::now();
    node.worlds.set_actors(&name(), slow).await.unwrap();
    until("all have come", || node.worlds.actors(&name()).is_some_and(|stats| stats.registered == 20)).await;
    // The first enters at once, however many workers there are, and each pause is waited for.
    assert!(begun.elapsed() >= slow.start_delay * 19, "{:?}", begun.elapsed());
    let picture = node.visit().await.unwrap().picture().await.unwrap();
    let section =
        picture.section(engine::worlds::CellRect::whole(picture.size()), engine::worlds::Detail::Everything).unwrap();
    let stands: Vec<_> = section.movers.iter().map(|(cell, _, count)| (*cell, *count)).collect();
    assert_eq!(stands, [(MIDDLE, 20)]);
}

/// The configured plan waits for its world: the second node runs it once the first is gone.
#[tokio::test]
async fn configured_actors_start_once_their_world_can_be_loaded() {
    let store = TestStore::with_world(false);
    let first = Node::start(&store, "a");
    drop(first.visit().await.unwrap());
    let second = Node::start(&store, "b");
    second.worlds.start_actors(&name(), ActorPlan::of(3));
    assert_eq!(second.worlds.actors(&name()).map(|stats| stats.planned), Some(3));
    first.stop().await;
    until("they have come", || second.worlds.actors(&name()).is_some_and(|stats| stats.registered == 3)).await;
}

//! What waiting clients get, and when: waits, presence and their limits.

use super::super::*;
use super::support::{CommitFault, events, newcomer, player};
use super::{Node, TestStore, settings};
use engine::tables::{Action, EventKind};
use futures_util::FutureExt;
use std::time::Duration;
use tokio::time::{sleep, timeout};

fn seq(response: &FeedResponse) -> u64 {
    match &response.feed {
        Feed::News(update) => update.seq,
        Feed::TooOld(view) => view.seq,
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_wakes_all_waits_each_with_its_viewers_part() {
    let node = Node::start(&TestStore::new(), "a").await;
    let table = node.open().await;
    for number in 2..=4 {
        node.join(table, number).await.unwrap();
    }
    node.tell_story(table).await;
    let seen = node.tables.view(table, Some(player(2))).await.unwrap();
    let (after, card) = (seen.view.seq, seen.view.game.unwrap().own.unwrap().hand.iter().next().unwrap());
    let mut waits = Vec::new();
    for viewer in [Some(player(1)), Some(player(2)), Some(player(3)), None] {
        let after = node.tables.view(table, viewer).await.unwrap().view.seq;
        waits.push(node.tables.wait(table, viewer, after).await.unwrap());
    }
    assert!(waits.iter_mut().all(|wait| wait.now_or_never().is_none()), "nothing has happened yet");
    let acted = node.act(table, 2, Action::Pick(card)).await.unwrap();
    let mut picked = Vec::new();
    for wait in waits {
        let response = wait.await.unwrap();
        let Feed::News(update) = &response.feed else { panic!("{response:?}") };
        assert_eq!(update.committed_at_us, acted.committed_at_us);
        assert_eq!(response.online, [player(1), player(2), player(3)], "those who wait");
        match &events(&response)[..] {
            [(at, EventKind::Picked { player: who, card, .. })] => {
                assert_eq!((*at, *who), (update.seq, player(2)));
                picked.push(*card);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(picked, [Some(card), Some(card), None, None], "the storyteller and the picker know it");
    assert!(seq(&node.tables.feed(table, Some(player(2)), after).await.unwrap()) > after);
}

#[tokio::test(start_paused = true)]
async fn viewers_with_equal_rights_share_one_encoded_response() {
    let node = Node::start(&TestStore::new(), "a").await;
    let table = node.open().await;
    for number in 2..=5 {
        node.join(table, number).await.unwrap();
    }
    node.tell_story(table).await;
    let seen = node.tables.view(table, Some(player(2))).await.unwrap();
    let (after, card) = (seen.view.seq, seen.view.game.unwrap().own.unwrap().hand.iter().next().unwrap());
    let mut waits = Vec::new();
    for viewer in [Some(player(1)), Some(player(3)), Some(player(2)), Some(player(4)), None] {
        waits.push(node.tables.wait(table, viewer, after).await.unwrap());
    }
    let late = node.tables.wait(table, Some(player(5)), after - 1).await.unwrap().await.unwrap();
    node.act(table, 2, Action::Pick(card)).await.unwrap();
    let mut responses = Vec::new();
    for wait in waits {
        responses.push(wait.await.unwrap());
    }
    let [storyteller, third, picker, fourth, visitor] = &responses[..] else { panic!("five waited") };
    assert!(Arc::ptr_eq(storyteller, picker), "both know the card");
    assert!(Arc::ptr_eq(third, fourth) && Arc::ptr_eq(third, visitor), "none of them does");
    assert!(!Arc::ptr_eq(storyteller, third) && !Arc::ptr_eq(&late, third));
    let encoded = |text: &'static str| third.encoded_once(|_| Bytes::from_static(text.as_bytes()));
    assert_eq!((encoded("once"), encoded("twice")), (Bytes::from("once"), Bytes::from("once")));
    assert_eq!(storyteller.encoded_once(|_| Bytes::from("others")), "others");
}

#[tokio::test(start_paused = true)]
async fn a_reader_behind_does_not_wait_and_one_ahead_gets_a_view() {
    let node = Node::start(&TestStore::new(), "a").await;
    let table = node.open().await;
    node.join(table, 2).await.unwrap();
    let response = node.tables.wait(table, None, 0).await.unwrap().now_or_never().unwrap().unwrap();
    assert_eq!(events(&response).iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [1, 2]);
    let response = node.tables.wait(table, None, 99).await.unwrap().now_or_never().unwrap().unwrap();
    assert!(matches!(&response.feed, Feed::TooOld(view) if view.seq == 2), "{response:?}");
    let response = node.tables.feed(table, None, 2).await.unwrap();
    assert_eq!((events(&response).len(), seq(&response)), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_wait_costs_nothing_without_a_notification() {
    let node = Node::start(&TestStore::new(), "a").await;
    let table = node.open().await;
    let viewer = Some(player(1));
    let first = node.tables.wait(table, viewer, 1).await.unwrap();
    let second = node.tables.wait(table, viewer, 1).await.unwrap();
    let third = node.tables.wait(table, None, 1).await.unwrap();
    assert_eq!(node.tables.totals(), Totals { tables: 1, waiters: 3 });
    drop(second);
    let fourth = node.tables.wait(table, viewer, 1).await.unwrap();
    assert_eq!(node.tables.totals().waiters, 3);
    node.join(table, 2).await.unwrap();
    for wait in [first, third, fourth] {
        assert_eq!(events(&wait.await.unwrap()).len(), 1, "each gets it, whichever waits were dropped");
    }
    assert_eq!(node.tables.totals().waiters, 0);
}

#[tokio::test(start_paused = true)]
async fn at_the_deadline_there_is_nothing_new() {
    let node = Node::start(&TestStore::new(), "a").await;
    let table = node.open().await;
    let wait = node.tables.wait(table, Some(player(1)), 1).await.unwrap();
    let so_far = wait.so_far().unwrap();
    assert_eq!((events(&so_far).len(), seq(&so_far), so_far.online.clone()), (0, 1, vec![player(1)]));
    node.join(table, 2).await.unwrap();
    let so_far = wait.so_far().unwrap();
    assert_eq!(events(&so_far).len(), 1, "what came in the last moment is included");
}

#[tokio::test(start_paused = true)]
async fn presence_ends_a_while_after_the_last_wait() {
    let node = Node::start(&TestStore::new(), "a").await;
    let table = node.open().await;
    node.join(table, 2).await.unwrap();
    let online = async || node.tables.view(table, None).await.unwrap().online;
    assert_eq!(online().await, []);
    let waits = [
        node.tables.wait(table, Some(player(1)), 2).await.unwrap(),
        node.tables.wait(table, Some(player(1)), 2).await.unwrap(),
        node.tables.wait(table, Some(player(7)), 2).await.unwrap(),
    ];
    sleep(Duration::from_secs(60)).await;
    assert_eq!(online().await, [player(1)], "visitors are not listed");
    drop(waits);
    sleep(Duration::from_secs(14)).await;
    assert_eq!(online().await, [player(1)]);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(online().await, []);
    node.tables.feed(table, Some(player(2)), 2).await.unwrap();
    assert_eq!(online().await, [player(2)], "a poll that does not wait counts");
}

#[tokio::test(start_paused = true)]
async fn waits_and_tables_have_limits() {
    let caps = TablesConfig { waiters_max: 4, waiters_per_player_max: 2, waiters_per_address_max: 2, ..settings() };
    let settings = TablesConfig { tables_max: 1, ..caps };
    let node = Node::start_with(&TestStore::new(), "a", settings).await;
    let table = node.open().await;
    let wait = async |waiter: Waiter| node.tables.wait(table, waiter, 1).await;
    let (ann, visitor) = (Waiter::from(Some(player(1))), Waiter::default());
    let here = Waiter { address: Some(AddressKey::of([192, 0, 2, 1].into())), ..visitor };
    let mut waits = vec![wait(ann).await.unwrap(), wait(ann).await.unwrap()];
    let refused = wait(ann).await.err();
    assert_eq!(refused, Some(TableError::TooManyWaiters { max: 2, scope: LimitScope::Player }));
    // A visitor that comes and goes leaves no trace.
    drop((wait(here).await.unwrap(), wait(here).await.unwrap()));
    waits.extend([wait(here).await.unwrap(), wait(here).await.unwrap()]);
    drop(waits.pop());
    let also_here = Waiter { player: Some(player(2)), ..here };
    waits.push(wait(also_here).await.unwrap());
    drop(waits.remove(0));
    let refused = wait(here).await.err();
    assert_eq!(refused, Some(TableError::TooManyWaiters { max: 2, scope: LimitScope::Address }));
    waits.push(wait(visitor).await.unwrap());
    let refused = wait(visitor).await.err();
    assert_eq!(refused, Some(TableError::TooManyWaiters { max: 4, scope: LimitScope::All }));
    let opened = node.tables.open(node.opening(2)).await;
    assert_eq!(opened.err(), Some(TableError::TooManyTables { max: 1, scope: LimitScope::All }));
    drop(waits);
    drop(wait(ann).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn requests_behind_a_commit_are_bounded() {
    let world = TestStore::new();
    let node = Node::start(&world, "a").await;
    let table = node.open().await;
    world.is_stuck.store(true, Ordering::Relaxed);
    let actions: Vec<_> = (2..200)
        .map(|number| {
            let tables = node.tables.clone();
            tokio::spawn(async move {
                let action = Action::Join(newcomer(number));
                tables.act(table, None, player(number), action).await.map(|_| ())
            })
        })
        .collect();
    sleep(Duration::from_millis(1)).await;
    let seen = node.tables.view(table, None).await.unwrap();
    assert_eq!(seen.view.members.len(), 1, "reads do not wait, and see what is committed");
    world.is_stuck.store(false, Ordering::Relaxed);
    let (mut done, mut busy, mut full) = (0, 0, 0);
    for action in actions {
        match action.await.unwrap() {
            Ok(()) => done += 1,
            Err(TableError::Busy) => busy += 1,
            Err(TableError::Refused(Refusal::TableFull { players_max: 6 })) => full += 1,
            Err(other) => panic!("{other}"),
        }
    }
    // They are not members until they have joined; the rest of the queue is for members.
    let behind = engine::limits::TABLE_QUEUE_NON_MEMBERS_MAX;
    assert_eq!((done, full, busy), (5, behind + 1 - 5, 198 - behind - 1));
}

#[tokio::test(start_paused = true)]
async fn nothing_unsaved_is_sent() {
    let world = TestStore::new();
    let node = Node::start(&world, "a").await;
    let table = node.open().await;
    let mut wait = node.tables.wait(table, None, 1).await.unwrap();
    world.inject_faults(&[CommitFault::Overloaded]);
    let refused = node.join(table, 2).await.err();
    assert_eq!(refused, Some(TableError::Store(StoreError::Overloaded { waiting_max: 1 })));
    assert!((&mut wait).now_or_never().is_none());
    world.inject_faults(&[CommitFault::Lost]);
    assert!(matches!(node.join(table, 2).await, Err(TableError::Store(StoreError::Unavailable { .. }))));
    assert_eq!(node.tables.view(table, None).await.unwrap().view.seq, 1, "loaded from the store again");
    assert!((&mut wait).now_or_never().is_none());
    // Saved, but reported as failed: the table is loaded again, and waiting clients get the saved state.
    world.inject_faults(&[CommitFault::Unreported]);
    assert!(matches!(node.join(table, 2).await, Err(TableError::Store(StoreError::Unavailable { .. }))));
    let received = timeout(Duration::from_secs(1), wait).await.expect("no request is needed first");
    assert_eq!(events(&received.unwrap()).len(), 1);
    assert_eq!(node.join(table, 2).await.err(), Some(TableError::Refused(Refusal::AlreadyJoined)));
    node.join(table, 3).await.unwrap();
}

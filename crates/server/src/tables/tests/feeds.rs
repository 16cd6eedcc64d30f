//! Who is told what, and when: waits, presence and their limits.

use super::super::*;
use super::support::{CommitFault, events, newcomer, player};
use super::{Node, TestStore, settings};
use engine::tables::{Action, EventKind};
use futures_util::FutureExt;
use std::time::Duration;
use tokio::time::{sleep, timeout};

fn seq(answer: &FeedResponse) -> u64 {
    match &answer.feed {
        Feed::News(news) => news.seq,
        Feed::TooOld(view) => view.seq,
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_wakes_everybody_who_waits_with_his_own_cut() {
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
        let answer = wait.await.unwrap();
        let Feed::News(news) = &answer.feed else { panic!("{answer:?}") };
        assert_eq!(news.committed_at_us, acted.committed_at_us);
        assert_eq!(answer.online, [player(1), player(2), player(3)], "those who wait");
        match &events(&answer)[..] {
            [(at, EventKind::Picked { player: who, card, .. })] => {
                assert_eq!((*at, *who), (news.seq, player(2)));
                picked.push(*card);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(picked, [Some(card), Some(card), None, None], "the storyteller and the picker know it");
    assert!(seq(&node.tables.feed(table, Some(player(2)), after).await.unwrap()) > after);
}

#[tokio::test(start_paused = true)]
async fn who_may_know_as_much_gets_the_same_answer_in_the_same_words() {
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
    let mut answers = Vec::new();
    for wait in waits {
        answers.push(wait.await.unwrap());
    }
    let [teller, third, picker, fourth, visitor] = &answers[..] else { panic!("five waited") };
    assert!(Arc::ptr_eq(teller, picker), "both know the card");
    assert!(Arc::ptr_eq(third, fourth) && Arc::ptr_eq(third, visitor), "none of them does");
    assert!(!Arc::ptr_eq(teller, third) && !Arc::ptr_eq(&late, third));
    let words = |text: &'static str| third.encoded_once(|_| Bytes::from_static(text.as_bytes()));
    assert_eq!((words("once"), words("twice")), (Bytes::from("once"), Bytes::from("once")));
    assert_eq!(teller.encoded_once(|_| Bytes::from("others")), "others");
}

#[tokio::test(start_paused = true)]
async fn who_is_behind_does_not_wait_and_who_is_ahead_gets_a_view() {
    let node = Node::start(&TestStore::new(), "a").await;
    let table = node.open().await;
    node.join(table, 2).await.unwrap();
    let answer = node.tables.wait(table, None, 0).await.unwrap().now_or_never().unwrap().unwrap();
    assert_eq!(events(&answer).iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [1, 2]);
    let answer = node.tables.wait(table, None, 99).await.unwrap().now_or_never().unwrap().unwrap();
    assert!(matches!(&answer.feed, Feed::TooOld(view) if view.seq == 2), "{answer:?}");
    let answer = node.tables.feed(table, None, 2).await.unwrap();
    assert_eq!((events(&answer).len(), seq(&answer)), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_given_up_costs_nothing_though_nobody_rings() {
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
        assert_eq!(events(&wait.await.unwrap()).len(), 1, "each is told, whoever went in between");
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
    assert_eq!(events(&so_far).len(), 1, "what came in the last moment is told");
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
    assert_eq!(online().await, [player(1)], "visitors are not told of");
    drop(waits);
    sleep(Duration::from_secs(14)).await;
    assert_eq!(online().await, [player(1)]);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(online().await, []);
    node.tables.feed(table, Some(player(2)), 2).await.unwrap();
    assert_eq!(online().await, [player(2)], "a poll that does not wait is a poll");
}

#[tokio::test(start_paused = true)]
async fn there_is_room_for_so_many_waits_and_tables() {
    let caps = TablesConfig { waiters_max: 4, waiters_per_player_max: 2, waiters_per_address_max: 2, ..settings() };
    let settings = TablesConfig { tables_max: 1, ..caps };
    let node = Node::start_with(&TestStore::new(), "a", settings).await;
    let table = node.open().await;
    let wait = async |waiter: Waiter| node.tables.wait(table, waiter, 1).await;
    let (ann, somebody) = (Waiter::from(Some(player(1))), Waiter::default());
    let here = Waiter { address: Some(AddressKey::of([192, 0, 2, 1].into())), ..somebody };
    let mut waits = vec![wait(ann).await.unwrap(), wait(ann).await.unwrap()];
    let refused = wait(ann).await.err();
    assert_eq!(refused, Some(TableError::TooManyWaiters { max: 2, whose: LimitScope::Player }));
    // Whoever comes and goes leaves no trace.
    drop((wait(here).await.unwrap(), wait(here).await.unwrap()));
    waits.extend([wait(here).await.unwrap(), wait(here).await.unwrap()]);
    drop(waits.pop());
    let also_here = Waiter { player: Some(player(2)), ..here };
    waits.push(wait(also_here).await.unwrap());
    drop(waits.remove(0));
    let refused = wait(here).await.err();
    assert_eq!(refused, Some(TableError::TooManyWaiters { max: 2, whose: LimitScope::Address }));
    waits.push(wait(somebody).await.unwrap());
    let refused = wait(somebody).await.err();
    assert_eq!(refused, Some(TableError::TooManyWaiters { max: 4, whose: LimitScope::All }));
    let opened = node.tables.open(node.opening(2)).await;
    assert_eq!(opened.err(), Some(TableError::TooManyTables { max: 1, whose: LimitScope::All }));
    drop(waits);
    drop(wait(ann).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn what_waits_behind_a_commit_is_bounded() {
    let world = TestStore::new();
    let node = Node::start(&world, "a").await;
    let table = node.open().await;
    world.is_stuck.store(true, Ordering::Relaxed);
    let deeds: Vec<_> = (2..200)
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
    for deed in deeds {
        match deed.await.unwrap() {
            Ok(()) => done += 1,
            Err(TableError::Busy) => busy += 1,
            Err(TableError::Refused(Refusal::TableFull { players_max: 6 })) => full += 1,
            Err(other) => panic!("{other}"),
        }
    }
    // All of them are strangers until they have joined; the rest of the queue is for those who sit there.
    let behind = engine::limits::TABLE_QUEUE_NON_MEMBERS_MAX;
    assert_eq!((done, full, busy), (5, behind + 1 - 5, 198 - behind - 1));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_told_that_was_not_saved() {
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
    assert_eq!(node.tables.view(table, None).await.unwrap().view.seq, 1, "read from the store again");
    assert!((&mut wait).now_or_never().is_none());
    // Saved, and nobody heard of it: the table is read again, and who waits learns what is so.
    world.inject_faults(&[CommitFault::Unreported]);
    assert!(matches!(node.join(table, 2).await, Err(TableError::Store(StoreError::Unavailable { .. }))));
    let heard = timeout(Duration::from_secs(1), wait).await.expect("nobody has to ask first");
    assert_eq!(events(&heard.unwrap()).len(), 1);
    assert_eq!(node.join(table, 2).await.err(), Some(TableError::Refused(Refusal::AlreadyJoined)));
    node.join(table, 3).await.unwrap();
}

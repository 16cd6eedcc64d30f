//! Limits on one client's share: of a table's queue, of the tables in memory, of the present players.

use super::super::*;
use super::support::*;
use engine::limits::{TABLE_PRESENT_MAX, TABLE_QUEUE_PER_PLAYER_MAX, TABLE_UNKNOWN_OPENINGS_MAX};
use engine::tables::{Phase, TransitionReason};
use tokio::task::JoinHandle;
use tokio::time::sleep;

fn begin(node: &Node, table: TableId, actor: u128, action: Action) -> JoinHandle<Result<(), TableError>> {
    let tables = node.tables.clone();
    tokio::spawn(async move { tables.act(table, None, player(actor), action).await.map(|_| ()) })
}

#[tokio::test(start_paused = true)]
async fn a_player_in_a_hurry_leaves_room_for_others() {
    let world = TestStore::new();
    let node = Node::start(&world, "a").await;
    let table = node.open().await;
    world.is_stuck.store(true, Ordering::Relaxed);
    // The first is in flight, and does not count as queued.
    let at_once = 1 + TABLE_QUEUE_PER_PLAYER_MAX;
    let hasty: Vec<_> = (0..at_once + 3).map(|_| begin(&node, table, 1, Action::SetBots(true))).collect();
    sleep(Duration::from_millis(1)).await;
    let others: Vec<_> = (2..5).map(|number| begin(&node, table, number, Action::Join(newcomer(number)))).collect();
    sleep(Duration::from_millis(1)).await;
    world.is_stuck.store(false, Ordering::Relaxed);
    for (at, action) in hasty.into_iter().enumerate() {
        let want = if at < at_once { Ok(()) } else { Err(TableError::Busy) };
        assert_eq!(action.await.unwrap(), want, "the {at}. of one player");
    }
    for action in others {
        assert_eq!(action.await.unwrap(), Ok(()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_player_opens_a_limited_number_of_tables() {
    let settings = TablesConfig { tables_per_player_max: 2, ..settings() };
    let node = Node::start_with(&TestStore::new(), "a", settings).await;
    let open = async |opener| node.tables.open(node.opening(opener)).await.map(|_| ());
    let refusal = Err(TableError::TooManyTables { max: 2, scope: LimitScope::Player });
    let first = node.open().await;
    assert_eq!(open(1).await, Ok(()));
    assert_eq!(open(1).await, refusal);
    assert_eq!(open(2).await, Ok(()), "another player has its own limit");
    assert_eq!(node.tables.totals().tables, 3, "a refusal takes no permit");
    // A table that has left memory counts against no player; one that is loaded again counts against its opener.
    node.act(first, 1, Action::Leave).await.unwrap();
    sleep(settings.presence_grace * 2).await;
    assert_eq!(node.tables.totals().tables, 2);
    assert_eq!(open(1).await, Ok(()));
    assert_eq!(open(1).await, refusal);
    // A player's tables are loaded for others, however many they are.
    node.tables.view(first, None).await.unwrap();
    assert_eq!(open(1).await, refusal);
}

/// A game without other players or waiting clients is closed after a while; with another player, or a waiting one, it goes on.
#[tokio::test(start_paused = true)]
async fn a_game_without_other_players_is_closed() {
    let node = Node::start(&TestStore::new(), "a").await;
    let (alone, joined, watched) = (node.open().await, node.open().await, node.open().await);
    node.join(joined, 2).await.unwrap();
    let seq = node.tables.view(watched, Some(player(1))).await.unwrap().view.seq;
    let waiting = node.tables.wait(watched, Some(player(1)), seq).await.unwrap();
    let phase = async |table| node.tables.view(table, None).await.unwrap().view.game.unwrap().phase;
    sleep(settings().unjoined_timeout - Duration::from_secs(60)).await;
    assert_eq!(node.tables.totals().tables, 3);
    sleep(Duration::from_secs(120)).await;
    assert_eq!(node.tables.totals().tables, 2, "it has left memory, too");
    assert_eq!(phase(alone).await, Phase::Canceled);
    assert_eq!((phase(joined).await, phase(watched).await), (Phase::Create, Phase::Create));
    drop(waiting);
}

#[tokio::test(start_paused = true)]
async fn an_operator_closes_a_game() {
    let node = Node::start(&TestStore::new(), "a").await;
    let table = node.open().await;
    node.join(table, 2).await.unwrap();
    node.act(table, 99, Action::Close).await.unwrap();
    let game = node.tables.view(table, None).await.unwrap().view.game.unwrap();
    assert_eq!((game.phase, game.because), (Phase::Canceled, Some(TransitionReason::Closed)));
    assert!(node.act(table, 99, Action::Close).await.is_ok(), "closed twice is closed");
}

/// Its outcome is unknown, and its owner task keeps claiming it; it does not count against the player.
#[tokio::test(start_paused = true)]
async fn a_failed_opening_does_not_count_against_its_player() {
    let settings = TablesConfig { tables_per_player_max: 2, tables_max: 2 * TABLE_UNKNOWN_OPENINGS_MAX, ..settings() };
    let world = TestStore::new();
    let node = Node::start_with(&world, "a", settings).await;
    let open = async |opener| node.tables.open(node.opening(opener)).await.map(|_| ());
    world.is_full.store(true, Ordering::Relaxed);
    for number in 0..TABLE_UNKNOWN_OPENINGS_MAX + 10 {
        let refused = open(1).await;
        assert!(matches!(refused, Err(TableError::Store(StoreError::Unavailable { .. }))), "{number}: {refused:?}");
    }
    assert_eq!(node.tables.totals().tables, TABLE_UNKNOWN_OPENINGS_MAX, "those that may have been saved are claimed");
    world.is_full.store(false, Ordering::Relaxed);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(node.tables.totals().tables, 0, "none was");
    assert_eq!((open(1).await, open(1).await), (Ok(()), Ok(())));
    assert_eq!(open(1).await, Err(TableError::TooManyTables { max: 2, scope: LimitScope::Player }));
}

/// One that was saved counts against its player once that is known.
#[tokio::test(start_paused = true)]
async fn an_opening_that_was_saved_after_all_counts() {
    let world = TestStore::new();
    let node = Node::start_with(&world, "a", TablesConfig { tables_per_player_max: 1, ..settings() }).await;
    world.inject_faults(&[CommitFault::Unreported]);
    let opened = node.tables.open(node.opening(1)).await.map(|_| ());
    assert!(matches!(opened, Err(TableError::Store(_))), "{opened:?}");
    sleep(Duration::from_secs(1)).await;
    let again = node.tables.open(node.opening(1)).await.map(|_| ());
    assert_eq!(again, Err(TableError::TooManyTables { max: 1, scope: LimitScope::Player }));
}

#[tokio::test(start_paused = true)]
async fn visitors_do_not_crowd_out_members() {
    let node = Node::start(&TestStore::new(), "a").await;
    let table = node.open().await;
    let look_in = async |number: u128| drop(node.tables.feed(table, Some(player(number)), 0).await.unwrap());
    let present = || {
        let page = node.tables.shared.metrics.page().into_text();
        let line = page.lines().find_map(|line| line.strip_prefix("gauntlet_table_players "));
        line.unwrap().parse::<usize>().unwrap()
    };
    for number in 0..TABLE_PRESENT_MAX as u128 + 10 {
        look_in(1_000 + number).await;
    }
    assert_eq!(present(), TABLE_PRESENT_MAX);
    look_in(1).await;
    assert_eq!(present(), TABLE_PRESENT_MAX + 1);
    assert_eq!(node.tables.view(table, None).await.unwrap().online, [player(1)]);
    sleep(settings().presence_grace + Duration::from_secs(1)).await;
    assert_eq!(present(), 0, "absent players are forgotten");
}

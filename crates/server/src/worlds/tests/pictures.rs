//! Readers and a writer that does not come round to them. The clock is the test's: what is waited for takes no time here.

use super::super::pictures::Pictures;
use engine::ids::WorldId;
use engine::limits::{WORLD_PICTURE_INTERVAL, WORLD_VISIT_TIMEOUT};
use engine::worlds::{World, WorldParams};
use rules::chance::Seed;
use rules::world::{Size, WorldSettings};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, advance, timeout};

fn world() -> World {
    let settings = WorldSettings { size: Size { width: 12, height: 12 }, ..WorldSettings::default() };
    World::open(WorldParams { id: WorldId(1), settings, seed: Seed(1), epoch: 1, ends_at: None }, None, &[], 0).unwrap()
}

/// Whether somebody who looks sees anything, and after how long.
async fn look(pictures: &Pictures, asked: &AtomicUsize) -> (bool, Duration) {
    let began = Instant::now();
    let ask = || asked.fetch_add(1, Ordering::Relaxed) < usize::MAX;
    let seen = timeout(Duration::from_secs(60), pictures.get(ask)).await.expect("nobody waits for ever");
    (seen.is_some(), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_is_stuck_keeps_readers_waiting_for_a_tick_and_is_asked_once() {
    let (pictures, asked, mut world) = (Pictures::default(), AtomicUsize::new(0), world());
    pictures.publish(&world);
    assert_eq!(look(&pictures, &asked).await, (true, Duration::ZERO), "what is fresh is there");
    advance(WORLD_PICTURE_INTERVAL * 2).await;
    for _ in 0..3 {
        assert_eq!(look(&pictures, &asked).await, (true, WORLD_PICTURE_INTERVAL), "the last one has to do");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1, "however many look, the writer is asked once");
    world.tick(1, &mut Vec::new());
    pictures.publish(&world);
    assert_eq!(look(&pictures, &asked).await, (true, Duration::ZERO));
    advance(WORLD_PICTURE_INTERVAL * 2).await;
    look(&pictures, &asked).await;
    assert_eq!(asked.load(Ordering::Relaxed), 2, "for the next one it is asked again");
}

#[tokio::test(start_paused = true)]
async fn where_there_is_no_picture_yet_one_is_waited_for_and_not_for_ever() {
    let (pictures, asked) = (Arc::new(Pictures::default()), AtomicUsize::new(0));
    assert_eq!(look(&pictures, &asked).await, (false, WORLD_VISIT_TIMEOUT));
    let publisher = pictures.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        publisher.publish(&world());
    });
    assert_eq!(look(&pictures, &asked).await, (true, Duration::from_secs(1)));
    pictures.end();
    assert_eq!(pictures.get(|| false).await.map(|_| ()), None, "a world that has gone is not waited for");
}

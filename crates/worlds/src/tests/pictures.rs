//! Readers, and a writer that does not publish in time. The clock is the test's: waiting takes no real time.

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

/// Reads a picture; returns whether there was one, and after how long.
async fn look(pictures: &Pictures, requests: &AtomicUsize) -> (bool, Duration) {
    let began = Instant::now();
    let ask = || requests.fetch_add(1, Ordering::Relaxed) < usize::MAX;
    let seen = timeout(Duration::from_secs(60), pictures.get(ask)).await.expect("no reader waits for ever");
    (seen.is_some(), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_stuck_writer_makes_readers_wait_a_tick_and_gets_one_request() {
    let (pictures, requests, mut world) = (Pictures::default(), AtomicUsize::new(0), world());
    pictures.publish(&world);
    assert_eq!(look(&pictures, &requests).await, (true, Duration::ZERO), "a fresh one is there");
    advance(WORLD_PICTURE_INTERVAL * 2).await;
    for _ in 0..3 {
        assert_eq!(look(&pictures, &requests).await, (true, WORLD_PICTURE_INTERVAL), "the last one is used");
    }
    assert_eq!(requests.load(Ordering::Relaxed), 1, "however many read, there is one request");
    world.tick(1, &mut Vec::new());
    pictures.publish(&world);
    assert_eq!(look(&pictures, &requests).await, (true, Duration::ZERO));
    advance(WORLD_PICTURE_INTERVAL * 2).await;
    look(&pictures, &requests).await;
    assert_eq!(requests.load(Ordering::Relaxed), 2, "the next one is requested again");
}

#[tokio::test(start_paused = true)]
async fn a_reader_waits_for_the_first_picture_but_not_for_ever() {
    let (pictures, requests) = (Arc::new(Pictures::default()), AtomicUsize::new(0));
    assert_eq!(look(&pictures, &requests).await, (false, WORLD_VISIT_TIMEOUT));
    let publisher = pictures.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        publisher.publish(&world());
    });
    assert_eq!(look(&pictures, &requests).await, (true, Duration::from_secs(1)));
    pictures.end();
    assert_eq!(pictures.get(|| false).await.map(|_| ()), None, "a reader does not wait for a world that has gone");
}

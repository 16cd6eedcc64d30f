//! How often pages are rendered, what is kept, and what a client that has one already is answered.

use super::*;
use axum::body::to_bytes;
use std::sync::mpsc;
use tokio::time::{Duration, timeout};

const ID: CompetitionId = CompetitionId(1);

fn cache() -> (ViewCache, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::default());
    (ViewCache::new(metrics.clone()), metrics)
}

fn at(log: u32) -> ViewVersion {
    ViewVersion { log, results: 0 }
}

async fn get(cache: &ViewCache, id: u128, log: u32, body: &'static str) -> Bytes {
    let view = cache.get(CompetitionId(id), ViewKind::Tournament, at(log), || body.as_bytes().to_vec()).await;
    view.unwrap().body
}

#[tokio::test]
async fn all_who_ask_at_once_wait_for_one_rendering() {
    let (cache, metrics) = cache();
    let (finish, finished) = mpsc::channel::<()>();
    let mut first = Box::pin(cache.get(ID, ViewKind::Duel, at(1), move || {
        finished.recv().expect("the test goes on");
        b"once".to_vec()
    }));
    assert!(first.as_mut().now_or_never().is_none());
    // Who asked first leaves: the rendering goes on for the others.
    drop(first);
    let others: Vec<_> = (0..100).map(|_| cache.get(ID, ViewKind::Duel, at(1), || unreachable!("once"))).collect();
    let others = futures_util::future::join_all(others);
    finish.send(()).unwrap();
    for view in others.await {
        assert_eq!(view.unwrap().body, "once");
    }
    assert_eq!((metrics.views.rendered.get(), metrics.views.cached_bytes.get()), (1, 4));
}

#[tokio::test]
async fn another_version_kind_or_competition_is_rendered_anew() {
    let (cache, metrics) = cache();
    assert_eq!(get(&cache, 1, 1, "old").await, "old");
    assert_eq!(get(&cache, 1, 1, "unused").await, "old");
    assert_eq!(get(&cache, 1, 2, "newer").await, "newer");
    assert_eq!(get(&cache, 2, 2, "other").await, "other");
    let owner = cache.get(ID, ViewKind::DuelOfOwner, at(2), || b"secret".to_vec()).await.unwrap();
    let results = ViewVersion { log: 2, results: 1 };
    let everyone = cache.get(ID, ViewKind::Duel, results, || b"public".to_vec()).await.unwrap();
    assert_eq!((owner.body, everyone.body), (Bytes::from("secret"), Bytes::from("public")));
    assert_eq!((metrics.views.rendered.get(), metrics.views.cached_bytes.get()), (5, 5 + 5 + 6 + 6));
}

#[tokio::test]
async fn the_bytes_that_are_kept_are_bounded() {
    let (cache, metrics) = cache();
    let third = VIEW_CACHE_BYTES_MAX / 3;
    let large = async |id| {
        cache.get(CompetitionId(id), ViewKind::Tournament, at(1), move || vec![b'x'; third]).await.unwrap();
        metrics.views.cached_bytes.get() as usize
    };
    assert_eq!([large(1).await, large(2).await, large(3).await], [third, 2 * third, 3 * third]);
    // It was asked for again: the second is the one that is forgotten.
    assert_eq!(large(1).await, 3 * third);
    assert_eq!(large(4).await, 3 * third);
    large(1).await;
    assert_eq!(metrics.views.rendered.get(), 4);
    large(2).await;
    assert_eq!(metrics.views.rendered.get(), 5);
}

#[tokio::test]
async fn the_pages_that_are_kept_are_bounded() {
    let (cache, metrics) = cache();
    for id in 0..VIEW_CACHE_ENTRIES_MAX as u128 + 10 {
        get(&cache, id, 1, "x").await;
    }
    assert_eq!(metrics.views.cached_bytes.get() as usize, VIEW_CACHE_ENTRIES_MAX);
}

#[tokio::test]
async fn a_rendering_that_panics_is_an_error_and_is_tried_again() {
    let (cache, _) = cache();
    let broken = cache.get(ID, ViewKind::Tournament, at(1), || panic!("a row of the test")).await;
    assert!(matches!(broken, Err(ApiError::Internal(_))));
    assert_eq!(get(&cache, 1, 1, "mended").await, "mended");
}

#[tokio::test]
async fn a_slow_rendering_does_not_keep_the_next_one_waiting() {
    let (cache, _) = cache();
    let (finish, finished) = mpsc::channel::<()>();
    let slow = cache.get(ID, ViewKind::Duel, at(1), move || finished.recv().map(|()| Vec::new()).unwrap());
    let mut slow = Box::pin(slow);
    assert!(slow.as_mut().now_or_never().is_none());
    assert_eq!(timeout(Duration::from_secs(60), get(&cache, 2, 1, "quick")).await.unwrap(), "quick");
    finish.send(()).unwrap();
    slow.await.unwrap();
}

/// As many renderings as run at once, which go on until the sender is dropped.
async fn keep_busy(cache: &ViewCache) -> mpsc::Sender<()> {
    let (finish, finished) = mpsc::channel::<()>();
    let finished = Arc::new(Mutex::new(finished));
    let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
    for id in 0..VIEW_RENDERINGS_AT_ONCE_MAX {
        let (finished, begun) = (finished.clone(), begun.clone());
        let slow = cache.get(CompetitionId(1_000 + id as u128), ViewKind::Duel, at(1), move || {
            begun.send(()).expect("the test goes on");
            finished.lock().unwrap_or_else(PoisonError::into_inner).recv().expect_err("nothing is sent");
            b"slow".to_vec()
        });
        assert!(slow.now_or_never().is_none());
    }
    for _ in 0..VIEW_RENDERINGS_AT_ONCE_MAX {
        begins.recv().await.expect("it begins");
    }
    finish
}

#[tokio::test]
async fn of_the_versions_of_a_page_that_wait_only_the_last_is_rendered_for_all() {
    let (cache, metrics) = cache();
    let busy = keep_busy(&cache).await;
    let mut all: Vec<_> = (1..=100u32)
        .map(|log| Box::pin(cache.get(ID, ViewKind::Tournament, at(log), move || log.to_string().into_bytes())))
        .collect();
    assert!(all.iter_mut().all(|one| one.as_mut().now_or_never().is_none()));
    drop(busy);
    for view in futures_util::future::join_all(all).await {
        assert_eq!(view.unwrap().body, "100");
    }
    assert_eq!(get(&cache, ID.0, 100, "unused").await, "100");
    // Those before it are over, too.
    for id in 0..VIEW_RENDERINGS_AT_ONCE_MAX {
        cache.get(CompetitionId(1_000 + id as u128), ViewKind::Duel, at(1), || unreachable!("once")).await.unwrap();
    }
    assert_eq!(metrics.views.rendered.get() as usize, VIEW_RENDERINGS_AT_ONCE_MAX + 1);
}

#[tokio::test]
async fn pages_that_wait_are_bounded_and_none_of_them_is_forgotten() {
    let (cache, _) = cache();
    let busy = keep_busy(&cache).await;
    let wait = |id: usize| {
        let mut one = Box::pin(cache.get(CompetitionId(id as u128), ViewKind::Tournament, at(1), || b"x".to_vec()));
        let answered = one.as_mut().now_or_never();
        (one, answered)
    };
    let waiting: Vec<_> = (0..VIEW_RENDERINGS_WAITING_MAX).map(wait).collect();
    assert!(waiting.iter().all(|(_, answered)| answered.is_none()));
    let (_, refused) = wait(VIEW_RENDERINGS_WAITING_MAX);
    assert!(matches!(refused, Some(Err(ApiError::ResponsesFull))));
    drop(busy);
    for (one, _) in waiting {
        assert_eq!(one.await.unwrap().body, "x");
    }
    assert_eq!(get(&cache, VIEW_RENDERINGS_WAITING_MAX as u128, 1, "y").await, "y");
}

#[track_caller]
fn check(known: Option<&str>, want: StatusCode) {
    let view = View::new(b"{}".to_vec());
    let tag = view.tag.to_str().unwrap().to_owned();
    let known = known.map(|known| known.replace("TAG", &tag));
    let headers = known.map(|known| (header::IF_NONE_MATCH, HeaderValue::try_from(known).unwrap()));
    let response = view.into_response(&headers.into_iter().collect(), HeaderValue::from_static("application/json"));
    assert_eq!(response.status(), want);
    assert_eq!(response.headers()[header::ETAG], tag);
    assert_eq!(response.headers()[header::CACHE_CONTROL], "private, no-cache");
    let body = to_bytes(response.into_body(), 100).now_or_never().unwrap().unwrap();
    assert_eq!(&body[..], if want == StatusCode::OK { &b"{}"[..] } else { b"" });
}

#[test]
fn who_has_it_already_is_sent_no_body() {
    check(None, StatusCode::OK);
    check(Some("\"another\""), StatusCode::OK);
    check(Some("TAG"), StatusCode::NOT_MODIFIED);
    check(Some("W/TAG"), StatusCode::NOT_MODIFIED);
    check(Some("\"another\", TAG"), StatusCode::NOT_MODIFIED);
    check(Some("*"), StatusCode::NOT_MODIFIED);
}

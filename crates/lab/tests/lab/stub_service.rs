//! A small service under test: it creates work, reports its status, and misbehaves if a test wants it to. Work advances
//! with every status request and never with the clock, so that tests wait for nothing.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// The outcome of the n-th request that creates work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestFate {
    /// The work runs, and is finished at the third poll.
    Finishes,
    /// The work runs and never makes progress.
    Hangs,
    /// The work fails.
    Fails,
    /// The creation is answered, and the work is unknown afterwards.
    Vanishes,
    /// A status request for the work gets no response.
    NoStatus,
    /// Denied with 429.
    Denied,
    /// Fails with 500.
    ServerError,
    /// The connection is closed without a response, once; the same key again creates the work.
    DropsOnce,
}

pub(crate) type PauseFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(crate) struct Stub {
    fate: Box<dyn Fn(u64) -> RequestFate + Send + Sync>,
    pause: Box<dyn Fn(u64) -> PauseFuture + Send + Sync>,
    creations: AtomicU64,
    connections: AtomicU64,
    /// By idempotency key, in the order of creation.
    works: Mutex<BTreeMap<String, StubWork>>,
    dropped: Mutex<Vec<String>>,
    /// Added to the reported totals: a service that miscounts.
    pub(crate) miscount: AtomicU64,
    arrived: watch::Sender<u64>,
    /// Closes every connection without a request in flight.
    hang_up: watch::Sender<u64>,
    /// Open connections.
    open_connections: watch::Sender<u64>,
}

#[derive(Clone, Debug)]
struct StubWork {
    fate: RequestFate,
    polls: u64,
}

impl Stub {
    pub(crate) fn new(fate: impl Fn(u64) -> RequestFate + Send + Sync + 'static) -> Arc<Self> {
        Self::pausing(fate, |_| Box::pin(std::future::ready(())))
    }

    /// A service that makes the n-th request wait.
    pub(crate) fn pausing(
        fate: impl Fn(u64) -> RequestFate + Send + Sync + 'static,
        pause: impl Fn(u64) -> PauseFuture + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            fate: Box::new(fate),
            pause: Box::new(pause),
            creations: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            works: Mutex::default(),
            dropped: Mutex::default(),
            miscount: AtomicU64::new(0),
            arrived: watch::channel(0).0,
            hang_up: watch::channel(0).0,
            open_connections: watch::channel(0).0,
        })
    }

    /// Listens on a free port and serves until the runtime ends.
    pub(crate) async fn listen(self: &Arc<Self>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(self.clone().serve(listener));
        address
    }

    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener) {
        while let Ok((stream, _)) = listener.accept().await {
            let (stub, mut hung_up) = (self.clone(), self.hang_up.subscribe());
            self.open_connections.send_modify(|standing| *standing += 1);
            tokio::spawn(async move {
                let standing = stub.open_connections.clone();
                let has_created = AtomicBool::new(false);
                let service = service_fn(move |request: Request<Incoming>| {
                    if request.uri().path() == "/work" && !has_created.swap(true, Ordering::Relaxed) {
                        stub.connections.fetch_add(1, Ordering::Relaxed);
                    }
                    stub.clone().respond(request)
                });
                // Dropped with the block: when a connection is reported as gone, it is closed.
                {
                    let serving =
                        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                    let mut serving = std::pin::pin!(serving);
                    tokio::select! {
                        _ = serving.as_mut() => {}
                        _ = hung_up.changed() => {
                            serving.as_mut().graceful_shutdown();
                            let _ = serving.await;
                        }
                    }
                }
                standing.send_modify(|standing| *standing -= 1);
            });
        }
    }

    /// Connections over which work was created; those that only poll are not counted.
    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn created(&self) -> usize {
        self.works.lock().unwrap().len()
    }

    /// Waits until there were so many requests to create work.
    pub(crate) async fn await_creations(&self, count: u64) {
        self.arrived.subscribe().wait_for(|seen| *seen >= count).await.unwrap();
    }

    async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Dropped> {
        let path = request.uri().path().to_owned();
        let key = request.headers().get("idempotency-key").and_then(|key| key.to_str().ok()).unwrap_or("").to_owned();
        let authorized = request.headers().get("authorization").is_some_and(|value| value == "Bearer sesame");
        let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        match path.as_str() {
            "/ready" => reply(200, &json!({})),
            "/hang-up" => {
                self.hang_up.send_modify(|times| *times += 1);
                // All but the one of this request.
                self.open_connections.subscribe().wait_for(|standing| *standing <= 1).await.unwrap();
                reply(200, &json!({}))
            }
            "/die" => std::process::exit(7),
            "/metrics" => Ok(Response::new(Full::new(Bytes::from_static(b"jobs{state=\"ready\"} 3\n")))),
            "/config" => reply(200, &json!({ "workers": 4, "token": "sesame" })),
            "/secret" if authorized => reply(201, &json!({ "id": "s1" })),
            "/secret" => reply(401, &json!({ "code": "unauthorized" })),
            "/work" => self.create(&key).await,
            "/status" => {
                let asked: Value = serde_json::from_slice(&body).unwrap();
                if asked["ids"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|id| self.request_fate(id.as_str().unwrap()) == Some(RequestFate::NoStatus))
                {
                    return Err(Dropped);
                }
                reply(200, &self.status(asked["ids"].as_array().unwrap()))
            }
            _ if path.starts_with("/status/") => {
                let id = &path["/status/".len()..];
                if self.request_fate(id) == Some(RequestFate::NoStatus) {
                    return Err(Dropped);
                }
                match self.status(&[id.into()]).get(0) {
                    Some(status) => reply(200, status),
                    None => reply(404, &json!({ "code": "not_found" })),
                }
            }
            "/totals" => reply(200, &self.totals()),
            _ => reply(404, &json!({ "code": "not_found" })),
        }
    }

    async fn create(&self, key: &str) -> Result<Response<Full<Bytes>>, Dropped> {
        let number = self.creations.fetch_add(1, Ordering::Relaxed);
        self.arrived.send_modify(|seen| *seen += 1);
        (self.pause)(number).await;
        let fate = (self.fate)(number);
        match fate {
            RequestFate::Denied => return reply(429, &json!({ "code": "rate_limited" })),
            RequestFate::ServerError => return reply(500, &json!({ "code": "internal" })),
            RequestFate::DropsOnce => {
                let mut dropped = self.dropped.lock().unwrap();
                if !dropped.iter().any(|known| known == key) {
                    dropped.push(key.to_owned());
                    return Err(Dropped);
                }
            }
            RequestFate::Finishes
            | RequestFate::Hangs
            | RequestFate::Fails
            | RequestFate::Vanishes
            | RequestFate::NoStatus => {}
        }
        let id = if key.is_empty() { format!("w{number}") } else { key.to_owned() };
        self.works.lock().unwrap().entry(id.clone()).or_insert(StubWork { fate, polls: 0 });
        reply(201, &json!({ "id": id }))
    }

    fn request_fate(&self, id: &str) -> Option<RequestFate> {
        self.works.lock().unwrap().get(id).map(|work| work.fate)
    }

    fn status(&self, ids: &[Value]) -> Value {
        let mut works = self.works.lock().unwrap();
        let items = ids.iter().filter_map(|id| {
            let id = id.as_str()?;
            let work = works.get_mut(id).filter(|work| work.fate != RequestFate::Vanishes)?;
            work.polls += 1;
            let state = match (work.fate, work.polls) {
                (_, 1) => "waiting",
                (RequestFate::Hangs, _) => "running",
                (RequestFate::Fails, 3..) => "failed",
                (_, 3..) => "finished",
                _ => "running",
            };
            let turns = if work.fate == RequestFate::Hangs { 1 } else { work.polls };
            Some(json!({ "id": id, "state": state, "turns": turns,
                         "created_at": "2026-01-31T12:00:00.000Z",
                         "started_at": "2026-01-31T12:00:00.500Z",
                         "finished_at": "2026-01-31T12:00:03.500Z" }))
        });
        items.collect()
    }

    fn totals(&self) -> Value {
        let works = self.works.lock().unwrap();
        let ended = |failed: bool| {
            let fate = |work: &&StubWork| {
                (work.fate == RequestFate::Fails) == failed && work.fate != RequestFate::Hangs && work.polls > 2
            };
            works.values().filter(fate).count() as u64
        };
        // A miscount shows only once there is work, so that the first reading is right.
        let miscount = if works.is_empty() { 0 } else { self.miscount.load(Ordering::Relaxed) };
        json!({ "created": works.len(), "finished": ended(false) + miscount, "failed": ended(true) })
    }
}

/// The error that makes hyper close a connection without a response.
#[derive(Debug)]
pub(crate) struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("dropped on purpose")
    }
}

impl std::error::Error for Dropped {}

fn reply(status: u16, body: &Value) -> Result<Response<Full<Bytes>>, Dropped> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
    Ok(response)
}

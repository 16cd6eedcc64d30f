//! A budget for the bytes of large answers that are under way, whole and for each client address: a client that asks for much and
//! reads little costs memory, and there are many of them. Small answers fit the buffer of their connection and are not counted.
//!
//! Knows neither what an answer says nor how it travels.

use super::admission::Client;
use super::body::holding;
use super::listener::BUFFER_BYTES_MAX;
use super::problem::ApiError;
use crate::address_key::AddressKey;
use crate::app::App;
use crate::config::Config;
use crate::metrics::{AnswerFigures, Metrics};
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::Body as _;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Stands in the extensions of a response whose body is one for all who get it, or is made as it is taken and counted by its maker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uncounted;

/// What is under way, and how much may be.
#[derive(Debug)]
pub struct Answers {
    bytes_max: usize,
    per_address_max: usize,
    held: Mutex<Held>,
    figures: Arc<AnswerFigures>,
}

#[derive(Debug, Default)]
struct Held {
    bytes: usize,
    /// Who has nothing is not remembered.
    by_address: HashMap<Option<AddressKey>, usize>,
}

/// A part of the budget, until it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    answers: Arc<Answers>,
    address: Option<AddressKey>,
    bytes: usize,
}

impl Answers {
    /// What the configuration allows.
    #[must_use]
    pub fn new(config: &Config, metrics: &Metrics) -> Arc<Self> {
        Arc::new(Self {
            bytes_max: config.http_answer_bytes_max,
            per_address_max: config.http_answer_bytes_per_address_max,
            held: Mutex::default(),
            figures: metrics.answers().clone(),
        })
    }

    /// Room for an answer to this address. One that is larger than its whole share finds room while its address has no other.
    ///
    /// # Errors
    /// [`ApiError::TooManyAnswers`] when the address has its share, [`ApiError::AnswersFull`] when all is taken.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        address: Option<AddressKey>,
        bytes: usize,
    ) -> Result<Reservation, ApiError> {
        let has_room = |held: usize, max: usize| held == 0 || held.saturating_add(bytes) <= max;
        let mut held = self.held();
        let of_address = held.by_address.get(&address).copied().unwrap_or_default();
        let refusal = if !has_room(of_address, self.per_address_max) {
            ApiError::TooManyAnswers
        } else if !has_room(held.bytes, self.bytes_max) {
            ApiError::AnswersFull
        } else {
            return Ok(self.take(&mut held, address, bytes));
        };
        self.figures.refused.inc();
        Err(refusal)
    }

    /// The same for an answer that must be given: what it tells of has been done.
    fn count(self: &Arc<Self>, address: Option<AddressKey>, bytes: usize) -> Reservation {
        self.take(&mut self.held(), address, bytes)
    }

    fn take(self: &Arc<Self>, held: &mut Held, address: Option<AddressKey>, bytes: usize) -> Reservation {
        held.bytes += bytes;
        *held.by_address.entry(address).or_default() += bytes;
        self.figures.bytes.add(bytes as u64);
        Reservation { answers: self.clone(), address, bytes }
    }

    /// Whole even if a holder of the lock panicked: nothing between two updates can.
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut held = self.answers.held();
        held.bytes -= self.bytes;
        if let Entry::Occupied(mut of_address) = held.by_address.entry(self.address) {
            *of_address.get_mut() -= self.bytes;
            if *of_address.get() == 0 {
                of_address.remove();
            }
        }
        self.answers.figures.bytes.sub(self.bytes);
    }
}

/// Counts every large answer of the router that is in memory as a whole. A layer behind admission, which knows the client's address.
pub(super) async fn count(State(app): State<App>, request: Request, next: Next) -> Response {
    // Requests that admission lets pass ask how the server is: whatever others hold must not be in their way.
    let (address, answers) = match request.extensions().get::<Client>() {
        Some(client) => (client.address_key(), &app.answers),
        None => (peer(&request), &app.ops_answers),
    };
    let is_safe = request.method().is_safe();
    let response = next.run(request).await;
    let Some(bytes) = large(&response) else { return response };
    let reserved = if is_safe { answers.reserve(address, bytes) } else { Ok(answers.count(address, bytes)) };
    match reserved {
        Ok(reservation) => response.map(|body| holding(body, reservation)),
        Err(refusal) => refusal.into_response(),
    }
}

fn peer(request: &Request) -> Option<AddressKey> {
    request.extensions().get().map(|ConnectInfo(peer): &ConnectInfo<SocketAddr>| AddressKey::of(peer.ip()))
}

/// How many bytes of this answer are to be counted.
fn large(response: &Response) -> Option<usize> {
    if response.extensions().get::<Uncounted>().is_some() {
        return None;
    }
    let bytes = usize::try_from(response.body().size_hint().exact()?).ok()?;
    Some(bytes).filter(|bytes| *bytes > BUFFER_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::body::Body;
    use axum::http::{Method, StatusCode};
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use std::net::IpAddr;
    use store::memory::MemoryDatabase;
    use store::{Store, StoreConfig};
    use tower::ServiceExt;

    const KIB: usize = 1_024;

    fn app() -> App {
        let (metrics, mut config) = (Arc::new(Metrics::default()), Config::default());
        (config.http_answer_bytes_max, config.http_answer_bytes_per_address_max) = (100 * KIB, 60 * KIB);
        let store = Store::open(Arc::new(MemoryDatabase::new()), StoreConfig { readers: 1 }, metrics.clone()).unwrap();
        App::new(store, Arc::new(config), metrics, None)
    }

    /// Asks for 40 KiB, as somebody at this address behind admission, or without it at 9.
    async fn ask(app: &App, method: Method, path: &str, client: Option<u8>) -> Response {
        let large = async || vec![b'x'; 40 * KIB];
        let shared = async || (axum::Extension(Uncounted), vec![b'x'; 40 * KIB]);
        let small = async || vec![b'x'; BUFFER_BYTES_MAX];
        let router = Router::new().route("/large", get(large).post(large)).route("/shared", get(shared));
        let router = router.route("/small", get(small)).layer(from_fn_with_state(app.clone(), count));
        let mut request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(address(9), 4_711)));
        client.map(|last| request.extensions_mut().insert(Client(Some(address(last)))));
        router.oneshot(request).await.unwrap()
    }

    #[tokio::test]
    async fn large_answers_have_a_budget_and_each_address_its_share() {
        let app = app();
        let get = async |path, client| ask(&app, Method::GET, path, client).await;
        let first = get("/large", Some(1)).await;
        assert_eq!(first.body().size_hint().exact(), Some(40 * KIB as u64));
        assert_eq!(get("/large", Some(1)).await.status(), StatusCode::TOO_MANY_REQUESTS);
        let second = get("/large", Some(2)).await;
        assert_eq!(get("/large", Some(3)).await.status(), StatusCode::SERVICE_UNAVAILABLE);
        for path in ["/small", "/shared"] {
            assert_eq!(get(path, Some(1)).await.status(), StatusCode::OK, "{path} costs nothing");
        }
        // What was done is told, and counted.
        let done = ask(&app, Method::POST, "/large", Some(1)).await;
        assert_eq!((done.status(), app.metrics.answers().bytes.get()), (StatusCode::OK, 120 * KIB as i64));
        // Whoever asks how the server is has a budget apart.
        let figures = get("/large", None).await;
        assert_eq!(figures.status(), StatusCode::OK);
        assert_eq!(get("/large", None).await.status(), StatusCode::TOO_MANY_REQUESTS);
        drop((first, second, done, figures));
        assert_eq!(app.metrics.answers().bytes.get(), 0);
        assert!(app.answers.held().by_address.is_empty(), "who has nothing is not remembered");
    }

    #[test]
    fn an_answer_beyond_its_share_goes_alone() {
        let answers = app().answers.clone();
        let alone = answers.reserve(None, 200 * KIB).unwrap();
        assert!(matches!(answers.reserve(None, 1), Err(ApiError::TooManyAnswers)));
        assert!(matches!(answers.reserve(Some(AddressKey::of([192, 0, 2, 1].into())), 1), Err(ApiError::AnswersFull)));
        drop(alone);
        assert!(answers.reserve(None, 1).is_ok());
    }
}

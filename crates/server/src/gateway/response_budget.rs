//! A budget for the bytes of large answers that are under way, whole and for each client address: a client that asks for much and
//! reads little costs memory, and there are many of them. Small answers fit the buffer of their connection and are not counted.
//!
//! Knows neither what an answer says nor how it travels.

use super::admission::ClientAddress;
use super::body::holding;
use super::budget::{Account, Budget, NoRoom, Reservation};
use super::listener::{BUFFER_BYTES_MAX, Keeps};
use super::problem::ApiError;
use crate::address_key::AddressKey;
use crate::app::App;
use crate::config::Config;
use crate::metrics::Metrics;
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use engine::limits::REPLAY_RESPONSE_BYTES;
use hyper::body::Body as _;
use std::net::SocketAddr;
use std::sync::Arc;

/// Stands in the extensions of a response whose body is one for all who get it, or is made as it is taken and counted by its maker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BudgetExempt;

/// Two budgets of one size each: of answers that are whole, and of replays, which are taken for as long as somebody watches.
#[derive(Debug)]
pub struct ResponseBudget {
    whole: Arc<Budget>,
    replays: Arc<Budget>,
}

impl ResponseBudget {
    /// What the configuration allows.
    #[must_use]
    pub fn new(config: &Config, metrics: &Arc<Metrics>) -> Self {
        let (bytes_max, per_address_max) = (config.http_response_bytes_max, config.http_response_bytes_per_address_max);
        let budget = || Budget::new(bytes_max, per_address_max, metrics, Metrics::answer_budget);
        Self { whole: budget(), replays: budget() }
    }

    /// Room for a replay.
    ///
    /// # Errors
    /// [`ApiError::TooManyResponses`] when the address has its share, [`ApiError::ResponsesFull`] when all is taken.
    pub(crate) fn reserve_replay(&self, account: &Account) -> Result<Reservation, ApiError> {
        self.replays.reserve(account, REPLAY_RESPONSE_BYTES).map_err(refusal)
    }
}

fn refusal(why: NoRoom) -> ApiError {
    match why {
        NoRoom::Address => ApiError::TooManyResponses,
        NoRoom::All => ApiError::ResponsesFull,
    }
}

/// Counts every large answer of the router that is in memory as a whole. A layer behind admission, which knows the client's address.
pub(super) async fn reserve_unchecked(State(app): State<App>, request: Request, next: Next) -> Response {
    // Requests that admission lets pass ask how the server is: whatever others hold must not be in their way.
    let account = Account::of(request.extensions());
    let (account, budget) = match request.extensions().get::<ClientAddress>() {
        Some(_) => (account, &app.response_budget.whole),
        None => (Account { address: peer_key(&request), ..account }, &app.ops_response_budget.whole),
    };
    let is_safe = request.method().is_safe();
    let response = next.run(request).await;
    let Some(bytes) = budgeted_bytes(&response) else { return response };
    let reserved =
        if is_safe { budget.reserve(&account, bytes).map_err(refusal) } else { Ok(budget.count(&account, bytes)) };
    match reserved {
        Ok(reservation) => {
            let mut response = response.map(|body| holding(body, reservation));
            response.extensions_mut().insert(Keeps(bytes));
            response
        }
        Err(refusal) => refusal.into_response(),
    }
}

fn peer_key(request: &Request) -> Option<AddressKey> {
    request.extensions().get().map(|ConnectInfo(peer): &ConnectInfo<SocketAddr>| AddressKey::of(peer.ip()))
}

/// How many bytes of this answer are to be counted.
fn budgeted_bytes(response: &Response) -> Option<usize> {
    if response.extensions().get::<BudgetExempt>().is_some() {
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
        (config.http_response_bytes_max, config.http_response_bytes_per_address_max) = (100 * KIB, 60 * KIB);
        let store = Store::open(Arc::new(MemoryDatabase::new()), StoreConfig { readers: 1 }, metrics.clone()).unwrap();
        App::new(store, Arc::new(config), metrics, None)
    }

    /// Asks for 40 KiB, as somebody at this address behind admission, or without it at 9.
    async fn ask(app: &App, method: Method, path: &str, client: Option<u8>) -> Response {
        let large = async || vec![b'x'; 40 * KIB];
        let shared = async || (axum::Extension(BudgetExempt), vec![b'x'; 40 * KIB]);
        let small = async || vec![b'x'; BUFFER_BYTES_MAX];
        let router = Router::new().route("/large", get(large).post(large)).route("/shared", get(shared));
        let router = router.route("/small", get(small)).layer(from_fn_with_state(app.clone(), reserve_unchecked));
        let mut request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(address(9), 4_711)));
        client.map(|last| request.extensions_mut().insert(ClientAddress(Some(address(last)))));
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
        assert_eq!((done.status(), app.metrics.responses().bytes.get()), (StatusCode::OK, 120 * KIB as i64));
        // Whoever asks how the server is has a budget apart.
        let figures = get("/large", None).await;
        assert_eq!(figures.status(), StatusCode::OK);
        assert_eq!(get("/large", None).await.status(), StatusCode::TOO_MANY_REQUESTS);
        drop((first, second, done, figures));
        assert_eq!(app.metrics.responses().bytes.get(), 0);
        assert_eq!(app.response_budget.whole.addresses(), 0, "who has nothing is not remembered");
    }

    #[tokio::test]
    async fn replays_and_whole_answers_do_not_take_room_from_each_other() {
        let app = app();
        let alone = app.response_budget.reserve_replay(&Account::default()).unwrap();
        assert!(matches!(app.response_budget.reserve_replay(&Account::default()), Err(ApiError::TooManyResponses)));
        let another = Account { address: Some(AddressKey::of([192, 0, 2, 1].into())), connection: None };
        assert!(matches!(app.response_budget.reserve_replay(&another), Err(ApiError::ResponsesFull)));
        assert_eq!(ask(&app, Method::GET, "/large", Some(1)).await.status(), StatusCode::OK);
        drop(alone);
        assert!(app.response_budget.reserve_replay(&another).is_ok());
    }
}

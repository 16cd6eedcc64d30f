//! A budget for the bytes of large responses in progress, in all and for each client address: a client that requests much and reads
//! little costs memory, and there are many of them. Small responses fit the buffer of their connection and are not counted.
//!
//! Knows neither what a response contains nor how it is sent.

use super::body::with_guard;
use super::budget::{Budget, BudgetExceeded, BudgetOwner, Reservation};
use super::client_address::ClientAddress;
use super::listener::{BUFFER_BYTES_MAX, Keeps};
use super::problem::ApiError;
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use engine::limits::REPLAY_RESPONSE_BYTES;
use hyper::body::Body as _;
use metrics::Metrics;
use quotas::address_key::AddressKey;
use settings::Config;
use std::net::SocketAddr;
use std::sync::Arc;

/// In the extensions of a response whose body is shared by all clients, or is generated while it is read and counted by its generator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BudgetExempt;

/// Budgets of one size each.
#[derive(Debug)]
pub struct ResponseBudgets {
    /// Whole responses.
    whole: Arc<Budget>,
    /// Whole responses to requests that bypass admission: about the health and the metrics of the process.
    ops: Arc<Budget>,
    /// Replays, which last as long as their spectators watch.
    replays: Arc<Budget>,
}

impl ResponseBudgets {
    /// The budgets of the configuration.
    #[must_use]
    pub fn new(config: &Config, metrics: &Arc<Metrics>) -> Self {
        let (bytes_max, per_address_max) = (config.http_response_bytes_max, config.http_response_bytes_per_address_max);
        let budget = || Budget::new(bytes_max, per_address_max, metrics, Metrics::answer_budget);
        Self { whole: budget(), ops: budget(), replays: budget() }
    }

    /// Reserves the bytes of a replay.
    ///
    /// # Errors
    /// [`ApiError::TooManyResponses`] when the address has its share, [`ApiError::ResponsesFull`] when all is used.
    pub(crate) fn reserve_replay(&self, owner: &BudgetOwner) -> Result<Reservation, ApiError> {
        self.replays.reserve(owner, REPLAY_RESPONSE_BYTES).map_err(refusal)
    }
}

fn refusal(error: BudgetExceeded) -> ApiError {
    match error {
        BudgetExceeded::Address => ApiError::TooManyResponses,
        BudgetExceeded::All => ApiError::ResponsesFull,
    }
}

/// Counts every whole large response of the router. A layer behind admission, which knows the client's address.
pub(super) async fn reserve_unchecked(
    State(budgets): State<Arc<ResponseBudgets>>,
    request: Request,
    next: Next,
) -> Response {
    // Requests that bypass admission ask about the state of the server: other clients' usage must not block them.
    let owner = BudgetOwner::of(request.extensions());
    let (owner, budget) = match request.extensions().get::<ClientAddress>() {
        Some(_) => (owner, &budgets.whole),
        None => (BudgetOwner { address: peer_key(&request), ..owner }, &budgets.ops),
    };
    let is_safe = request.method().is_safe();
    let response = next.run(request).await;
    let Some(bytes) = budgeted_bytes(&response) else { return response };
    let reserved =
        if is_safe { budget.reserve(&owner, bytes).map_err(refusal) } else { Ok(budget.count(&owner, bytes)) };
    match reserved {
        Ok(reservation) => {
            let mut response = response.map(|body| with_guard(body, reservation));
            response.extensions_mut().insert(Keeps(bytes));
            response
        }
        Err(refusal) => refusal.into_response(),
    }
}

fn peer_key(request: &Request) -> Option<AddressKey> {
    request.extensions().get().map(|ConnectInfo(peer): &ConnectInfo<SocketAddr>| AddressKey::of(peer.ip()))
}

/// How many bytes of this response count.
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
    use tower::ServiceExt;

    const KIB: usize = 1_024;

    fn budgets() -> (Arc<ResponseBudgets>, Arc<Metrics>) {
        let (metrics, mut config) = (Arc::new(Metrics::default()), Config::default());
        (config.http_response_bytes_max, config.http_response_bytes_per_address_max) = (100 * KIB, 60 * KIB);
        (Arc::new(ResponseBudgets::new(&config, &metrics)), metrics)
    }

    /// Requests 40 KiB from this address behind admission, or without admission from address 9.
    async fn send(budgets: &Arc<ResponseBudgets>, method: Method, path: &str, client: Option<u8>) -> Response {
        let large = async || vec![b'x'; 40 * KIB];
        let shared = async || (axum::Extension(BudgetExempt), vec![b'x'; 40 * KIB]);
        let small = async || vec![b'x'; BUFFER_BYTES_MAX];
        let router = Router::new().route("/large", get(large).post(large)).route("/shared", get(shared));
        let router = router.route("/small", get(small)).layer(from_fn_with_state(budgets.clone(), reserve_unchecked));
        let mut request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(address(9), 4_711)));
        client.map(|last| request.extensions_mut().insert(ClientAddress(Some(address(last)))));
        router.oneshot(request).await.unwrap()
    }

    #[tokio::test]
    async fn large_responses_have_a_budget_and_each_address_its_share() {
        let (budgets, metrics) = budgets();
        let responses = || metrics.responses.bytes.get();
        let get = async |path, client| send(&budgets, Method::GET, path, client).await;
        let first = get("/large", Some(1)).await;
        assert_eq!(first.body().size_hint().exact(), Some(40 * KIB as u64));
        assert_eq!(get("/large", Some(1)).await.status(), StatusCode::TOO_MANY_REQUESTS);
        let second = get("/large", Some(2)).await;
        assert_eq!(get("/large", Some(3)).await.status(), StatusCode::SERVICE_UNAVAILABLE);
        for path in ["/small", "/shared"] {
            assert_eq!(get(path, Some(1)).await.status(), StatusCode::OK, "{path} costs nothing");
        }
        // The response to a change is sent even beyond the budget, and counted.
        let done = send(&budgets, Method::POST, "/large", Some(1)).await;
        assert_eq!((done.status(), responses()), (StatusCode::OK, 120 * KIB as i64));
        // Requests about the state of the server have a budget of their own.
        let ops = get("/large", None).await;
        assert_eq!(ops.status(), StatusCode::OK);
        assert_eq!(get("/large", None).await.status(), StatusCode::TOO_MANY_REQUESTS);
        drop((first, second, done, ops));
        assert_eq!(responses(), 0);
        assert_eq!(budgets.whole.addresses(), 0, "an address without reservations has no entry");
    }

    #[tokio::test]
    async fn replays_and_whole_responses_have_separate_budgets() {
        let (budgets, _metrics) = budgets();
        let alone = budgets.reserve_replay(&BudgetOwner::default()).unwrap();
        assert!(matches!(budgets.reserve_replay(&BudgetOwner::default()), Err(ApiError::TooManyResponses)));
        let another = BudgetOwner { address: Some(AddressKey::of([192, 0, 2, 1].into())), connection: None };
        assert!(matches!(budgets.reserve_replay(&another), Err(ApiError::ResponsesFull)));
        assert_eq!(send(&budgets, Method::GET, "/large", Some(1)).await.status(), StatusCode::OK);
        drop(alone);
        assert!(budgets.reserve_replay(&another).is_ok());
    }
}

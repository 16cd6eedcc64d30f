//! The service as a proxy sees it: over TCP, by the client that is generated from the public protocol.

use super::*;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::{Entry, RateLimitOverride};
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::DescriptorStatus;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use envoy_types::pb::google::protobuf::UInt64Value;
use limiter::{Capacity, Seed};
use rate_limit::LimitClock;
use rate_limit::RateLimitConfig;
use rate_limit::rules::{LimitRuleSet, StoredRules, parse_policies};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tonic::Code;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

fn terms() -> RlsConfig {
    RlsConfig {
        request_timeout: Duration::from_secs(30),
        idle_timeout: Duration::from_secs(30),
        connections_max: 10,
        address_limit: AddressLimit {
            max: 2,
            includes_loopback: false,
            trusted_proxies: settings::Networks::default(),
        },
        drain_max: Duration::from_secs(30),
        token: None,
    }
}

/// A running service with the policies of a file, on a clock that stands still.
struct TestService {
    address: SocketAddr,
    clock: LimitClock,
    leave: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl TestService {
    async fn open(file: &str, terms: RlsConfig, is_shadow: bool) -> Self {
        let capacity = Capacity { keys_max: 10_000, timestamps_max: 10_000 };
        let config = RateLimitConfig { capacity, is_shadow, new_seed: || Seed::new([7; 32]) };
        let (metrics, clock) = (Arc::new(Metrics::default()), LimitClock::manual());
        let limits = RateLimiter::with_clock(config, metrics.clone(), clock.clone());
        limits
            .replace_rules(LimitRuleSet {
                file: parse_policies(file, limits.timestamps_max()).unwrap(),
                stored: StoredRules::default(),
            })
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (leave, left) = oneshot::channel::<()>();
        let served = tokio::spawn(serve(listener, Arc::new(limits), terms, metrics, async {
            let _ = left.await;
        }));
        Self { address, clock, leave, served }
    }

    async fn client(&self) -> RateLimitServiceClient<Channel> {
        RateLimitServiceClient::connect(format!("http://{}", self.address)).await.unwrap()
    }

    async fn health(&self) -> HealthClient<Channel> {
        let channel = Channel::from_shared(format!("http://{}", self.address)).unwrap();
        HealthClient::new(channel.connect().await.unwrap())
    }
}

/// `user=1,path=/x` as a descriptor.
fn descriptor(text: &str) -> RateLimitDescriptor {
    let entries = text.split(',').filter_map(|entry| entry.split_once('='));
    let entries = entries.map(|(key, value)| Entry { key: key.to_owned(), value: value.to_owned() });
    RateLimitDescriptor { entries: entries.collect(), ..RateLimitDescriptor::default() }
}

fn request(descriptors: &[&str]) -> RateLimitRequest {
    RateLimitRequest {
        domain: "shop".to_owned(),
        descriptors: descriptors.iter().map(|text| descriptor(text)).collect(),
        hits_addend: 0,
    }
}

/// A change to a request that is otherwise in order.
fn request_with(descriptors: &[&str], change: impl FnOnce(&mut RateLimitRequest)) -> RateLimitRequest {
    let mut request = request(descriptors);
    change(&mut request);
    request
}

fn text(response: &RateLimitResponse) -> String {
    let statuses: Vec<String> = response.statuses.iter().map(status_text).collect();
    format!("{}: {}", response.overall_code().as_str_name(), statuses.join("; "))
}

fn status_text(status: &DescriptorStatus) -> String {
    let mut text = status.code().as_str_name().to_owned();
    if let Some(limit) = &status.current_limit {
        let (per, unit) = (limit.requests_per_unit, limit.unit().as_str_name());
        text += &format!(" {} of {per} per {unit} ({})", status.limit_remaining, limit.name);
    }
    if let Some(reset) = &status.duration_until_reset {
        text += &format!(", {}.{:03} s", reset.seconds, reset.nanos / 1_000_000);
    }
    text
}

/// Requests in their order, all at one moment, and the response to each.
#[track_caller]
fn check(file: &str, exchanges: &[(RateLimitRequest, &str)]) {
    let responses = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let service = TestService::open(file, terms(), false).await;
        let (mut client, mut responses) = (service.client().await, Vec::new());
        for (request, _) in exchanges {
            responses.push(client.should_rate_limit(request.clone()).await.unwrap().into_inner());
        }
        responses
    });
    for ((request, expected), response) in exchanges.iter().zip(&responses) {
        assert_eq!(text(response), *expected, "{request:?}");
    }
}

const BURST: &str =
    "[[policy]]\nname = \"burst\"\nkey = \"user=*\"\nalgorithm = \"log\"\nlimit = 3\nwindow = \"60s\"\n";
const PATHS: &str =
    "[[policy]]\nname = \"paths\"\nkey = \"path=*\"\nalgorithm = \"log\"\nlimit = 2\nwindow = \"90s\"\n";

#[test]
fn a_descriptor_is_a_hit() {
    check(
        BURST,
        &[
            (request(&["user=1"]), "OK: OK 2 of 3 per MINUTE (burst), 60.000 s"),
            (request(&["user=1"]), "OK: OK 1 of 3 per MINUTE (burst), 60.000 s"),
            (request(&["user=1"]), "OK: OK 0 of 3 per MINUTE (burst), 60.000 s"),
            (request(&["user=1"]), "OVER_LIMIT: OVER_LIMIT 0 of 3 per MINUTE (burst), 60.000 s"),
            (request(&["user=2"]), "OK: OK 2 of 3 per MINUTE (burst), 60.000 s"),
            (request(&["user=1,path=/"]), "OK: OK 2 of 3 per MINUTE (burst), 60.000 s"),
            (request(&["host=1"]), "OK: OK"),
        ],
    );
}

#[test]
fn descriptors_are_charged_all_or_none() {
    let both = || request(&["path=/", "user=1", "host=1"]);
    check(
        &format!("{BURST}{PATHS}"),
        &[
            (both(), "OK: OK 1 of 2 per UNKNOWN (paths), 90.000 s; OK 2 of 3 per MINUTE (burst), 60.000 s; OK"),
            (both(), "OK: OK 0 of 2 per UNKNOWN (paths), 90.000 s; OK 1 of 3 per MINUTE (burst), 60.000 s; OK"),
            // What could be taken still can be.
            (
                both(),
                "OVER_LIMIT: OVER_LIMIT 0 of 2 per UNKNOWN (paths), 90.000 s; OK 1 of 3 per MINUTE (burst), 60.000 s; OK",
            ),
            (request(&["user=1"]), "OK: OK 0 of 3 per MINUTE (burst), 60.000 s"),
            // The same descriptor twice is twice the cost.
            (
                request(&["user=2", "user=2"]),
                "OK: OK 1 of 3 per MINUTE (burst), 60.000 s; OK 1 of 3 per MINUTE (burst), 60.000 s",
            ),
        ],
    );
}

#[test]
fn the_hardest_policy_speaks_for_a_descriptor() {
    let daily = BURST.replace("burst", "daily").replace("60s", "24h").replace("limit = 3", "limit = 4");
    check(
        &format!("{daily}{BURST}"),
        &[
            (
                request_with(&["user=1"], |request| request.hits_addend = 3),
                "OK: OK 0 of 3 per MINUTE (burst), 60.000 s",
            ),
            (request(&["user=1"]), "OVER_LIMIT: OVER_LIMIT 0 of 3 per MINUTE (burst), 60.000 s"),
            (
                request_with(&["user=1"], |request| request.hits_addend = 2),
                "OVER_LIMIT: OVER_LIMIT 0 of 4 per DAY (daily), 86400.000 s",
            ),
            (
                request_with(&["user=1"], |request| request.hits_addend = 4),
                "OVER_LIMIT: OVER_LIMIT 0 of 3 per MINUTE (burst)",
            ),
        ],
    );
}

#[test]
fn hits_cost_what_is_said() {
    let own = |hits: u64| {
        request_with(&["user=1", "user=2"], |request| {
            request.hits_addend = 2;
            request.descriptors[1].hits_addend = Some(UInt64Value { value: hits });
        })
    };
    check(
        BURST,
        &[
            // A descriptor's own is stronger, and 0 only looks.
            (own(1), "OK: OK 1 of 3 per MINUTE (burst), 60.000 s; OK 2 of 3 per MINUTE (burst), 60.000 s"),
            (
                request_with(&["user=2"], |request| request.hits_addend = 2),
                "OK: OK 0 of 3 per MINUTE (burst), 60.000 s",
            ),
            (
                request_with(&["user=2"], |request| {
                    request.descriptors[0].hits_addend = Some(UInt64Value { value: 0 });
                }),
                "OK: OK 0 of 3 per MINUTE (burst), 60.000 s",
            ),
            (request(&["user=2"]), "OVER_LIMIT: OVER_LIMIT 0 of 3 per MINUTE (burst), 60.000 s"),
            (
                request_with(&["user=3"], |request| request.hits_addend = u32::MAX),
                "OVER_LIMIT: OVER_LIMIT 0 of 3 per MINUTE (burst)",
            ),
            (
                own(u64::MAX),
                "OVER_LIMIT: OVER_LIMIT 0 of 3 per MINUTE (burst), 60.000 s; OVER_LIMIT 0 of 3 per MINUTE (burst)",
            ),
        ],
    );
}

#[test]
fn a_request_may_bring_its_limit() {
    let with = |requests_per_unit, unit| {
        let limit = RateLimitOverride { requests_per_unit, unit };
        request_with(&["user=1", "host=1"], |request| {
            request.descriptors.iter_mut().for_each(|descriptor| descriptor.limit = Some(limit));
        })
    };
    let own = "[[policy.override]]\nkey = \"user=9\"\nlimit = 100\nwindow = \"60s\"\n";
    check(
        &format!("{BURST}{own}"),
        &[
            (request(&["user=1"]), "OK: OK 2 of 3 per MINUTE (burst), 60.000 s"),
            // What was used stays used; a descriptor that no policy is for has no limit all the same.
            (with(5, 3), "OK: OK 3 of 5 per HOUR (burst), 3600.000 s; OK"),
            (with(2, 2), "OVER_LIMIT: OVER_LIMIT 0 of 2 per MINUTE (burst), 60.000 s; OK"),
            (request(&["user=1"]), "OK: OK 0 of 3 per MINUTE (burst), 60.000 s"),
            // What an operator has set for a key is stronger.
            (
                request_with(&["user=9"], |request| {
                    request.descriptors[0].limit = Some(RateLimitOverride { requests_per_unit: 1, unit: 1 });
                }),
                "OK: OK 99 of 100 per MINUTE (burst), 60.000 s",
            ),
        ],
    );
}

#[test]
fn a_policy_in_shadow_says_nothing() {
    let too_much = request_with(&["user=1"], |request| request.hits_addend = 4);
    check(&format!("{BURST}shadow = true\n"), &[(too_much, "OK: OK")]);
}

#[tokio::test]
async fn a_limiter_in_shadow_denies_no_request() {
    let service = TestService::open(BURST, terms(), true).await;
    let too_much = request_with(&["user=1"], |request| request.hits_addend = 4);
    let response = service.client().await.should_rate_limit(too_much).await.unwrap().into_inner();
    assert_eq!(text(&response), "OK: OK");
}

#[tokio::test]
async fn headers_are_for_the_answer_to_the_limited() {
    let service = TestService::open(BURST, terms(), false).await;
    let mut client = service.client().await;
    let mut headers = async |hits| {
        let request = request_with(&["user=1"], |request| request.hits_addend = hits);
        let response = client.should_rate_limit(request).await.unwrap().into_inner();
        let headers = response.response_headers_to_add.into_iter();
        headers.map(|header| format!("{}: {}", header.key, header.value)).collect::<Vec<_>>()
    };
    assert_eq!(headers(2).await, [r#"ratelimit-policy: "burst";q=3;w=60"#, r#"ratelimit: "burst";r=1;t=60"#]);
    service.clock.advance(Duration::from_millis(10_500));
    assert_eq!(
        headers(2).await,
        [r#"ratelimit-policy: "burst";q=3;w=60"#, r#"ratelimit: "burst";r=0;t=50"#, "retry-after: 50"]
    );
    assert_eq!(headers(4).await, [r#"ratelimit-policy: "burst";q=3;w=60"#]);
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused() {
    let service = TestService::open(BURST, terms(), false).await;
    let mut client = service.client().await;
    let mut check = async |request: RateLimitRequest, code: Code, words: &str| {
        let status = client.should_rate_limit(request).await.unwrap_err();
        assert_eq!((status.code(), status.message()), (code, words));
    };
    let bad = Code::InvalidArgument;
    let domain = |domain: &str| request_with(&["user=1"], |request| request.domain = domain.to_owned());
    check(domain(""), bad, "domain of 0 bytes: expected 1 to 256").await;
    check(domain(&"d".repeat(257)), bad, "domain of 257 bytes: expected 1 to 256").await;
    let own = "domain \"gateway.guest.read\": names that begin with \"gateway.\" are this server's own";
    check(domain("gateway.guest.read"), bad, own).await;
    check(request(&[]), bad, "0 descriptors: expected 1 to 64").await;
    check(request(&["user=1"; 65]), bad, "65 descriptors: expected 1 to 64").await;
    check(request(&["user=1", ""]), bad, "descriptors[1] has 0 entries: expected 1 to 32").await;
    check(request(&[&"a=b,".repeat(33)]), bad, "descriptors[0] has 33 entries: expected 1 to 32").await;
    check(request(&["a=b,=c"]), bad, "descriptors[0].entries[1].key is empty: expected a name").await;
    let long = format!("user={}", "x".repeat(1_020));
    check(request(&[&long]), bad, "descriptors[0] makes a key of 1025 bytes: expected at most 1024").await;
    let limit = |requests_per_unit, unit| {
        request_with(&["user=1"], |request| {
            request.descriptors[0].limit = Some(RateLimitOverride { requests_per_unit, unit });
        })
    };
    check(limit(5, 0), bad, "descriptors[0].limit.unit is 0: expected 1 (second) to 7 (week)").await;
    check(limit(5, 99), bad, "descriptors[0].limit.unit is 99: expected 1 (second) to 7 (week)").await;
    let none = "descriptors[0].limit.requests_per_unit: the limit is 0; expected at least 1 unit";
    check(limit(0, 1), bad, none).await;
    let negative = request_with(&["user=1"], |request| request.descriptors[0].is_negative_hits = true);
    let words = "descriptors[0].is_negative_hits: units cannot be returned";
    check(negative, Code::Unimplemented, words).await;
    let huge = format!("user={}", "x".repeat(200_000));
    let status = client.should_rate_limit(request(&[&huge])).await.unwrap_err();
    assert_eq!(status.code(), Code::OutOfRange, "{status}");
    // Nothing of all this was counted.
    let response = client.should_rate_limit(request(&["user=1"])).await.unwrap().into_inner();
    assert_eq!(text(&response), "OK: OK 2 of 3 per MINUTE (burst), 60.000 s");
}

#[tokio::test]
async fn the_longest_request_that_makes_sense_fits() {
    let service = TestService::open("", terms(), false).await;
    let longest = format!("user={}", "x".repeat(1_019));
    let response =
        service.client().await.should_rate_limit(request(&[longest.as_str(); 64])).await.unwrap().into_inner();
    assert_eq!((response.statuses.len(), response.overall_code), (64, 1));
}

#[tokio::test]
async fn other_methods_are_not_served() {
    let service = TestService::open(BURST, terms(), false).await;
    let channel = Channel::from_shared(format!("http://{}", service.address)).unwrap().connect().await.unwrap();
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.unwrap();
    let codec = tonic_prost::ProstCodec::<RateLimitRequest, RateLimitResponse>::default();
    let path = http::uri::PathAndQuery::from_static("/envoy.service.ratelimit.v2.RateLimitService/ShouldRateLimit");
    let status = client.unary(tonic::Request::new(request(&["user=1"])), path, codec).await.unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
}

#[tokio::test]
async fn a_client_that_asks_is_told_whether_it_serves() {
    let service = TestService::open(BURST, terms(), false).await;
    let mut client = service.health().await;
    let of = |service: &str| HealthCheckRequest { service: service.to_owned() };
    let known = "envoy.service.ratelimit.v3.RateLimitService";
    for service in ["", known] {
        let answer = client.check(of(service)).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service:?}");
    }
    assert_eq!(client.check(of("shop")).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(client.check(of(&"s".repeat(2_000))).await.unwrap_err().code(), Code::OutOfRange);
    let mut known = client.watch(of(known)).await.unwrap().into_inner();
    let mut unknown = client.watch(of("shop")).await.unwrap().into_inner();
    let next = async |watched: &mut tonic::Streaming<tonic_health::pb::HealthCheckResponse>| {
        watched.message().await.unwrap().map(|answer| answer.status())
    };
    assert_eq!(next(&mut known).await, Some(ServingStatus::Serving));
    assert_eq!(next(&mut unknown).await, Some(ServingStatus::ServiceUnknown));
    // Who watches hears of the end first, and does not hold it up.
    service.leave.send(()).unwrap();
    assert_eq!(next(&mut known).await, Some(ServingStatus::NotServing));
    assert_eq!((next(&mut known).await, next(&mut unknown).await), (None, None));
    service.served.await.unwrap();
}

#[tokio::test]
async fn without_the_token_nothing_is_judged() {
    let token = ServiceToken::new("0123456789abcdef");
    let service = TestService::open(BURST, RlsConfig { token: Some(token), ..terms() }, false).await;
    let mut client = service.client().await;
    let mut ask = async |authorization: Option<&'static str>| {
        let mut request = tonic::Request::new(request(&["user=1"]));
        if let Some(text) = authorization {
            request.metadata_mut().insert("authorization", text.parse().unwrap());
        }
        client.should_rate_limit(request).await.map(|answer| text(answer.get_ref())).map_err(|status| status.code())
    };
    assert_eq!(ask(None).await, Err(Code::Unauthenticated));
    assert_eq!(ask(Some("Bearer 0123456789abcdeg")).await, Err(Code::Unauthenticated));
    let first = "OK: OK 2 of 3 per MINUTE (burst), 60.000 s";
    assert_eq!(ask(Some("Bearer 0123456789abcdef")).await.as_deref(), Ok(first), "nobody was charged before");
    let mut health = service.health().await;
    let answer = health.check(HealthCheckRequest::default()).await.unwrap();
    assert_eq!(answer.get_ref().status(), ServingStatus::Serving, "health is everybody's to know");
}

/// What a connection is told for which there is no room.
async fn check_refused(service: &TestService) {
    let mut heard = Vec::new();
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    stream.read_to_end(&mut heard).await.unwrap();
    let (settings, go_away) = heard.split_at(9);
    assert_eq!((settings[3], go_away[3], go_away[16]), (4, 7, 11), "SETTINGS, then GOAWAY with ENHANCE_YOUR_CALM");
}

#[tokio::test]
async fn further_connections_are_sent_away_until_one_leaves() {
    let service = TestService::open(BURST, RlsConfig { connections_max: 1, ..terms() }, false).await;
    let mut first = service.client().await;
    first.should_rate_limit(request(&["user=1"])).await.unwrap();
    check_refused(&service).await;
    first.should_rate_limit(request(&["user=1"])).await.unwrap();
    drop(first);
    // The end of the first is seen sooner or later.
    while service.client().await.should_rate_limit(request(&["user=2"])).await.is_err() {}
}

#[tokio::test]
async fn an_address_has_its_share_of_connections() {
    let address_limit = AddressLimit { includes_loopback: true, ..terms().address_limit };
    let service = TestService::open(BURST, RlsConfig { address_limit, ..terms() }, false).await;
    let mut clients = [service.client().await, service.client().await];
    for client in &mut clients {
        client.should_rate_limit(request(&["user=1"])).await.unwrap();
    }
    check_refused(&service).await;
    drop(clients);
    while service.client().await.should_rate_limit(request(&["user=2"])).await.is_err() {}
}

#[tokio::test]
async fn who_says_nothing_is_put_out() {
    let silence_max = Duration::from_millis(1_500);
    let service = TestService::open(BURST, RlsConfig { idle_timeout: silence_max, ..terms() }, false).await;
    let ends = |greeting| ended(service.address, greeting);
    // Nothing at all; half of the greeting; something that is not HTTP/2.
    tokio::join!(ends(""), ends("PRI * HTTP"), ends("GET / HTTP/1.1\r\n\r\n"));
}

/// Says this, and waits until the other side ends it, in order or not.
async fn ended(address: SocketAddr, greeting: &str) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(greeting.as_bytes()).await.unwrap();
    let _ = stream.read_to_end(&mut Vec::new()).await;
}

#[tokio::test]
async fn who_answers_pings_stays() {
    let silence_max = Duration::from_millis(1_500);
    let service =
        TestService::open(BURST, RlsConfig { idle_timeout: silence_max, connections_max: 1, ..terms() }, false).await;
    let mut client = service.client().await;
    client.should_rate_limit(request(&["user=1"])).await.unwrap();
    sleep(2 * silence_max).await;
    // It has the only permit still.
    check_refused(&service).await;
    drop(client);
}

#[tokio::test]
async fn it_leaves_when_told_to() {
    let service = TestService::open(BURST, terms(), false).await;
    let mut client = service.client().await;
    client.should_rate_limit(request(&["user=1"])).await.unwrap();
    service.leave.send(()).unwrap();
    service.served.await.unwrap();
    assert!(TcpStream::connect(service.address).await.is_err());
    // And in time, when a client does not hear it.
    let service = TestService::open(BURST, RlsConfig { drain_max: Duration::from_millis(50), ..terms() }, false).await;
    let _deaf = TcpStream::connect(service.address).await.unwrap();
    service.leave.send(()).unwrap();
    service.served.await.unwrap();
}

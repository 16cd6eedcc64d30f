//! HTTP: requests to the server and to sample bots, and responses of bots and of services under test.

use crate::Pieces;
use gateway::fuzzing::{self, HttpConnections};
use lab::generator::fuzzing::{Protocol, find_in_json, read};
use lab::measurement::ErrorKind;
use std::iter::once;

const HTTP2: &[u8] = b"PRI * HTTP/2.0";
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

thread_local! {
    static SERVER: HttpConnections = HttpConnections::new();
}

/// A connection to the server: the same responses, however its bytes were cut.
pub(super) fn http_connection(input: &[u8]) {
    let Some(pieces) = Pieces::of(input) else { return };
    // hyper knows the first line of HTTP/2 only where all of it is there: it is refused in either case, with 505 or with 400.
    if pieces.whole.windows(HTTP2.len()).any(|line| line == HTTP2) {
        return;
    }
    SERVER.with(|server| {
        // A client that is told to go on sends the rest only then; whether it is told depends on what was there already.
        let answered = |text: String| text.replace("HTTP/1.1 100 Continue\n\n", "");
        // hyper looks at a head that came in pieces only when its end is there: so there is one.
        let whole = [pieces.whole, END_OF_HEAD].concat();
        let cut = answered(server.exchange(pieces.cut().chain(once(END_OF_HEAD))));
        let whole = answered(server.exchange(once(whole.as_slice())));
        assert_eq!(cut, whole, "in pieces, and at once");
    });
}

pub(super) fn http_connection_seeds() -> Vec<Vec<u8>> {
    let requests = [
        "GET /park HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /park HTTP/1.1\r\nHost: x\r\n\r\nPOST /read HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nokGET /park HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "POST /read HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nGET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "GET /park HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /park HTTP/1.0\r\n\r\n",
        "GET /park HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        "\r\nGET /park HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
    ];
    requests.map(|text| [b"\x3f", text.as_bytes()].concat()).into()
}

/// The beginning of a load balancer's connection: the same client, however its bytes were cut.
pub(super) fn proxy_header(input: &[u8]) {
    let Some(pieces) = Pieces::of(input) else { return };
    let whole = fuzzing::read_proxy_header(once(pieces.whole));
    assert_eq!(fuzzing::read_proxy_header(pieces.cut()), whole, "in pieces, and at once");
}

pub(super) fn proxy_header_seeds() -> Vec<Vec<u8>> {
    let behind: [&[u8]; 6] = [
        b"\x20\x00\x00\x00GET",
        b"\x21\x11\x00\x0c\xc0\x00\x02\x07\x0a\x00\x00\x01\x12\x67\x01\xbbGET",
        b"\x21\x11\x00\x1b\xc0\x00\x02\x07\x0a\x00\x00\x01\x12\x67\x01\xbb\x20\x00\x05\x01\x00\x00\x00\x00\x04\x00\x04abcd",
        b"\x21\x11\x00\x13\xc0\x00\x02\x07\x0a\x00\x00\x01\x12\x67\x01\xbb\x03\x00\x04\x00\x00\x00\x00",
        b"\x21\x21\x00\x24\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x12\x67\x01\xbb",
        b"\x21\x31\x10\x00",
    ];
    behind.map(|behind| [b"\x3f\r\n\r\n\0\r\nQUIT\n", behind].concat()).into()
}

/// What is read out of a head by hand.
pub(super) fn request_head(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        fuzzing::read_head(text);
    }
}

pub(super) fn request_head_seeds() -> Vec<Vec<u8>> {
    let head = "GET /api/games?limit=3 HTTP/1.1\nhost: play.example:4000\ncookie: a=b; gauntlet_session=gst_x; gauntlet_session=gnt_y\nauthorization: Bearer gnt_z\nx-forwarded-for: 198.51.100.9, [2001:db8::9]:80, 10.9.9.9\nx-forwarded-proto: https\nx-forwarded-host: play.example\norigin: https://play.example\nsec-fetch-site: same-origin\naccept: text/event-stream;q=0.5, */*;q=0\ncontent-type: application/problem+json; charset=utf-8\ntransfer-encoding: chunked\nupgrade: h2c, websocket\nconnection: upgrade\nidempotency-key: \"k-1\"";
    vec![head.replace(" HTTP/1.1", "").into_bytes()]
}

pub(super) fn reference_request(bytes: &[u8]) {
    fuzzing::read_reference_request(bytes);
}

pub(super) fn reference_request_seeds() -> Vec<Vec<u8>> {
    let requests = [
        "POST /ratelimit?x=1\ncontent-type: application/json\n\n{\"client_id\":{\"b\":[1.0,\"\\u0061\"],\"a\":null}}",
        "POST /configure\ncontent-type: application/x-www-form-urlencoded\n\nwindow=60&limit=5&client_id[a][b][]=x%20y",
        "POST /configure-client\ncontent-type: multipart/form-data; boundary=b\n\n--b\r\nContent-Disposition: form-data; name=\"client_id\"\r\n\r\nann\r\n--b--\r\n",
        "GET /client-config/a%2Fb\naccept: application/json\n\n",
        "POST /client-config/ann\ncontent-type: application/json\n\n{\"_method\":\"delete\"}",
    ];
    requests.map(|text| text.as_bytes().to_vec()).into()
}

pub(super) fn new_game(bytes: &[u8]) {
    fuzzing::read_new_game(bytes);
}

pub(super) fn new_game_seeds() -> Vec<Vec<u8>> {
    let id = "0190b5a4-7c1e-7000-8000-000000000001";
    let games = [
        format!(r#"{{"snakes":["{id}","{id}"]}}"#),
        format!(
            r#"{{"snakes":["{id}"],"game_type":"Solo","board":"19x21","map":"hz_islands_bridges","seed":"18446744073709551615","timeout_ms":500,"settings":{{"foodSpawnChance":15,"minimumFood":1,"hazardDamagePerTurn":14,"shrinkEveryNTurns":25}}}}"#
        ),
    ];
    games.map(String::into_bytes).into()
}

/// URLs of bots, before they are registered and when they are called.
pub(super) fn bot_url(bytes: &[u8]) {
    if let Ok(url) = str::from_utf8(bytes) {
        fuzzing::read_bot_url(url);
        bot_client::fuzzing::read_url(url);
    }
}

pub(super) fn bot_url_seeds() -> Vec<Vec<u8>> {
    let urls =
        ["http://bot.example:8080/a/b/", "HTTPS://[2001:db8::1]:9/x", "http://192.0.2.1", "http://a.example./x//"];
    urls.map(|url| url.as_bytes().to_vec()).into()
}

/// A bot's response, after which the connection is closed: the same, however its bytes were cut.
pub(super) fn bot_response(input: &[u8]) {
    let Some(pieces) = Pieces::of(input) else { return };
    let whole = bot_client::fuzzing::read_response(once(pieces.whole));
    assert_eq!(bot_client::fuzzing::read_response(pieces.cut()), whole, "in pieces, and at once");
    if let Ok((status, body)) = whole {
        bot_client::fuzzing::read_body(status, &body);
    }
}

pub(super) fn bot_body(bytes: &[u8]) {
    bot_client::fuzzing::read_body(200, bytes);
}

pub(super) fn bot_body_seeds() -> Vec<Vec<u8>> {
    let bodies = [
        r#"{"move":"up","shout":"\u2028caf\u00e9"}"#,
        r##"{"apiversion":"1","color":"#a0B1c2","head":"safe","tail":"round"}"##,
        " <html>",
    ];
    bodies.map(|text| text.as_bytes().to_vec()).into()
}

const RESPONSES: [&str; 6] = [
    "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{\"move\":\"up\"}",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n1;x=y\r\n!\r\n0\r\nA: b\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
    "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\nhello",
    "HTTP/1.1 204 No Content\r\n\r\n",
    "\r\n\nHTTP/1.1 200 OK\ncontent-length: 2\nconnection: close\n\nok",
];

pub(super) fn response_seeds() -> Vec<Vec<u8>> {
    RESPONSES.map(|text| [b"\x07", text.as_bytes()].concat()).into()
}

/// What the lab reads from a service: the same, however its bytes were cut. The lowest bits of the cuts choose the protocol.
pub(super) fn lab_connection(input: &[u8]) {
    let Some((&kind, rest)) = input.split_first() else { return };
    let Some(pieces) = Pieces::of(rest) else { return };
    let protocol = [Protocol::Http1, Protocol::LengthDelimited, Protocol::WebSocket][usize::from(kind) % 3];
    let (cut, whole) = (read(protocol, pieces.cut()), read(protocol, once(pieces.whole)));
    assert_eq!((&cut.events, &cut.body), (&whole.events, &whole.body), "{protocol:?} in pieces, and at once");
    // The text of a failure shows what had come by then.
    let kind = |failure: Option<(ErrorKind, String)>| failure.map(|(kind, _)| kind);
    assert_eq!(kind(cut.failure), kind(whole.failure), "{protocol:?} in pieces, and at once");
}

pub(super) fn lab_connection_seeds() -> Vec<Vec<u8>> {
    let http = RESPONSES.map(|text| [b"\x00\x07", text.as_bytes()].concat());
    let others = [&b"\x01\x07\x02ab\x01c"[..], b"\x02\x07\x81\x02hi\x01\x01a\x89\x01p\x80\x01b\x88\x05\x03\xe8bye"];
    http.into_iter().chain(others.map(<[u8]>::to_vec)).collect()
}

pub(super) fn json_pointer(bytes: &[u8]) {
    let Some(at) = bytes.iter().position(|byte| *byte == b'\n') else { return };
    if let Ok(pointer) = str::from_utf8(&bytes[..at]) {
        find_in_json(&bytes[at + 1..], pointer);
    }
}

pub(super) fn json_pointer_seeds() -> Vec<Vec<u8>> {
    vec![b"/a/0/b~1c\n{\"x\":1,\"a\":[{\"b/c\":\"y\"}]}".to_vec()]
}

/// Text of metrics, as the lab reads it from a service.
pub(super) fn metrics_text(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        assert!(lab::metrics::parse(text).len() <= text.lines().count(), "a value of each line at most");
    }
}

pub(super) fn metrics_text_seeds() -> Vec<Vec<u8>> {
    vec![b"# TYPE a counter\na{b=\"c d\",e=\"\\\"}\"} 1.5\nf 2e3 1700000000000\n".to_vec()]
}

/// A request to a sample bot: the same, however its bytes were cut.
pub(super) fn bot_request(input: &[u8]) {
    let Some(pieces) = Pieces::of(input) else { return };
    let whole = bots::fuzzing::read_request(once(pieces.whole));
    assert_eq!(bots::fuzzing::read_request(pieces.cut()), whole, "in pieces, and at once");
}

pub(super) fn bot_request_seeds() -> Vec<Vec<u8>> {
    let requests = [
        "POST /move HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}GET / HTTP/1.1\r\n\r\n",
        "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    ];
    requests.map(|text| [b"\x07", text.as_bytes()].concat()).into()
}

//! Compares the decoder with hyper: both decode every valid response alike. Where the decoder deliberately rejects what
//! hyper tolerates, the tests around this one say so.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::decode_all;

/// Status and body as hyper decodes them; none if it reports an error.
fn decode_with_hyper(answer: &[u8], head_only: bool) -> Option<(u16, Vec<u8>)> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (ours, mut theirs) = tokio::io::duplex(1 << 20);
        let serve = async move {
            let mut request = [0; 1024];
            let _ = theirs.read(&mut request).await;
            let _ = theirs.write_all(answer).await;
            let _ = theirs.shutdown().await;
        };
        let ask = async move {
            let (mut sender, connection) = http1::handshake(TokioIo::new(ours)).await.unwrap();
            let method = if head_only { "HEAD" } else { "GET" };
            let request = http::Request::builder().method(method).uri("/").body(Empty::<Bytes>::new()).unwrap();
            let asking = async {
                let response = sender.send_request(request).await.ok()?;
                let status = response.status().as_u16();
                let body = response.into_body().collect().await.ok()?.to_bytes();
                Some((status, body.to_vec()))
            };
            let driving = async {
                let _ = connection.await;
                std::future::pending::<()>().await;
            };
            tokio::select! { received = asking => received, () = driving => None }
        };
        tokio::join!(serve, ask).1
    })
}

#[track_caller]
fn check(answer: &str, head_only: bool) {
    let received = decode_all(&[answer.as_bytes()], head_only);
    let ours = received.end.is_ok().then(|| (received.status.unwrap(), received.body));
    assert_eq!(ours, decode_with_hyper(answer.as_bytes(), head_only), "{answer:?}");
}

#[test]
fn odd_and_legal_answers() {
    for head_only in [false, true] {
        check("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", head_only);
        check("HTTP/1.0 200 OK\r\n\r\nuntil the end", head_only);
        check("HTTP/1.1 204 No Content\r\n\r\n", head_only);
        check("HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\n\r\n", head_only);
        check("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok", head_only);
    }
    check("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel", false);
    check("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", false);
    check("", false);
    check("HTTP/1.1 200 OK\r\n", false);
}

/// Valid responses: any status line, headers and framing.
fn legal() -> impl Strategy<Value = String> {
    let status = prop_oneof![Just("200 OK"), Just("404"), Just("500 "), Just("299 A reason: why?")];
    let version = prop_oneof![4 => Just("1.1"), 1 => Just("1.0")];
    let header = prop_oneof![
        Just("X-Empty:\r\n"),
        Just("x-spaces: \t a b \t \r\n"),
        Just("Connection: keep-alive\r\n"),
        Just("connection: close\r\n"),
        Just("!#$%&'*+-.^_`|~: marks\r\n"),
    ];
    let chunk = ("[a-z]{1,30}", prop_oneof![Just(""), Just(";x"), Just("; a=b"), Just(" ")]);
    let chunked = (prop::collection::vec(chunk, 0..5), prop_oneof![Just(""), Just("T: 1\r\n"), Just("A: 1\r\nB:\r\n")])
        .prop_map(|(chunks, trailers)| {
            let chunk = |(data, extension): &(String, &str)| format!("{:x}{extension}\r\n{data}\r\n", data.len());
            let data: String = chunks.iter().map(chunk).collect();
            ("Transfer-Encoding: chunked\r\n".to_owned(), format!("{data}0\r\n{trailers}\r\n"))
        });
    let framed = prop_oneof![
        "[ -~]{0,60}".prop_map(|body| (format!("Content-Length: {}\r\n", body.len()), body)),
        chunked,
        "[ -~]{0,60}".prop_map(|body| (String::new(), body)),
    ];
    let interim = prop_oneof![3 => Just(""), 1 => Just("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")];
    (interim, version, status, prop::collection::vec(header, 0..3), framed)
        .prop_filter("a transfer coding is of HTTP/1.1", |(_, version, .., (framing, _))| {
            *version == "1.1" || !framing.starts_with("Transfer")
        })
        .prop_map(|(interim, version, status, headers, (framing, body))| {
            format!("{interim}HTTP/{version} {status}\r\n{}{framing}\r\n{body}", headers.concat())
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn both_clients_decode_the_same(answer in legal(), head_only: bool, cut in 0usize..400) {
        // Whole, or cut off somewhere.
        let answer = &answer.as_bytes()[..cut.min(answer.len())];
        let received = decode_all(&[answer], head_only);
        let ours = received.end.is_ok().then(|| (received.status.unwrap_or_default(), received.body));
        prop_assert_eq!(ours, decode_with_hyper(answer, head_only), "{:?}", String::from_utf8_lossy(answer));
    }
}

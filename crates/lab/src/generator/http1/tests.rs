//! Responses that the standard allows and forbids; any split of the bytes gives the same result.

mod oracle;

use proptest::prelude::*;

use super::*;
use crate::generator::decoder::BodyCapture;

/// What was decoded from all bytes of a connection after one request.
#[derive(Debug, PartialEq, Eq)]
struct DecodedResponse {
    status: Option<u16>,
    body: Vec<u8>,
    /// Whether the connection can be reused, or why there is no response.
    end: Result<bool, Failure>,
}

/// Decodes `pieces` one after the other, and then the end of the connection if nothing was decided.
fn decode_all(pieces: &[&[u8]], head_only: bool) -> DecodedResponse {
    let mut codec = Http1Decoder::default();
    let mut body = ResponseBody { capture: BodyCapture::Whole, ..ResponseBody::default() };
    codec.expect_response(head_only);
    let (mut status, mut waiting) = (None, Vec::new());
    for piece in pieces {
        waiting.extend_from_slice(piece);
        loop {
            let (consumed, event) = match codec.decode(&waiting, &mut body) {
                Ok(decoded) => decoded,
                Err(failure) => return DecodedResponse { status, body: body.bytes, end: Err(failure) },
            };
            waiting.drain(..consumed);
            match event {
                Event::NeedMore if consumed == 0 => break,
                Event::NeedMore => {}
                Event::Head { status: found } => status = Some(found),
                Event::Done { keep } => return DecodedResponse { status, body: body.bytes, end: Ok(keep) },
                other @ (Event::Frame(_) | Event::Ping(_) | Event::Upgraded) => panic!("{other:?} of an answer"),
            }
        }
    }
    let end = codec.decode_eof().map(|()| false);
    DecodedResponse { status, body: body.bytes, end }
}

#[track_caller]
fn check(answer: &str, status: u16, body: &str, keep: bool) {
    let received = decode_all(&[answer.as_bytes()], false);
    let expected = DecodedResponse { status: Some(status), body: body.as_bytes().to_vec(), end: Ok(keep) };
    assert_eq!(received, expected, "{answer:?}");
}

#[track_caller]
fn refuse(answer: &str, kind: ErrorKind, message: &str) {
    let failure = decode_all(&[answer.as_bytes()], false).end.unwrap_err();
    assert_eq!((failure.kind, failure.message.as_str()), (kind, message), "{answer:?}");
}

#[test]
fn lengths_and_statuses_end_a_response() {
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", true);
    check("HTTP/1.1 200 OK\r\ncontent-length:5\r\n\r\nhello", 200, "hello", true);
    check("HTTP/1.1 200 OK\r\nCONTENT-LENGTH: \t 5 \r\n\r\nhello", 200, "hello", true);
    check("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 200, "", true);
    check("HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok", 200, "ok", true);
    check("HTTP/1.1 500 Sch\u{f6}n war's\r\nContent-Length: 0\r\n\r\n", 500, "", true);
    check("HTTP/1.1 204 No Content\r\n\r\n", 204, "", true);
    check("HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", 304, "", true);
    check("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 200, "abc", true);
    check("HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\nabc", 200, "abc", true);
    check("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200, "ok", true);
    check("\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true);
    check("HTTP/1.1 200 OK\r\nEmpty:\r\nContent-Length: 2\r\nX: a:b\r\n\r\nok", 200, "ok", true);
}

#[test]
fn when_the_connection_is_kept() {
    check("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false);
    check("HTTP/1.1 200 OK\r\nConnection: Upgrade, CLOSE\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false);
    check("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false);
    check("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true);
    check("HTTP/1.1 200 OK\r\nConnection: keep-alive, close\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false);
    check("HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, "until the end", false);
    check("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nuntil the end", 200, "until the end", false);
    check("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 101, "", false);
}

#[test]
fn interim_responses_are_skipped() {
    check("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true);
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\nContent-Length: 7\r\n\r\n";
    check(&format!("{early}{early}HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"), 201, "ok", true);
}

#[test]
fn chunks() {
    let chunked = |rest: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{rest}");
    check(&chunked("5\r\nhello\r\n0\r\n\r\n"), 200, "hello", true);
    check(&chunked("0\r\n\r\n"), 200, "", true);
    check(&chunked("00A\r\n0123456789\r\na \t\r\n0123456789\r\n000\r\n\r\n"), 200, "01234567890123456789", true);
    check(&chunked("2;name=value\r\nok\r\n0;last\r\nTrailer: 1\r\nOther: 2\r\n\r\n"), 200, "ok", true);
    let list = "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, Chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    check(list, 200, "ok", true);
    check("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nzipped", 200, "zipped", false);
    for wrong in ["x", "", "-1", "0x5", "5 5", "11111111111111111"] {
        let message = format!("not the size of a chunk: {wrong:?}");
        refuse(&chunked(&format!("{wrong}\r\nhello\r\n0\r\n\r\n")), ErrorKind::BadChunk, &message);
    }
    let behind = "a chunk is longer than its size: \"lo\\r\\n0\\r\\n\\r\\n\" stands behind it";
    refuse(&chunked("3\r\nhello\r\n0\r\n\r\n"), ErrorKind::BadChunk, behind);
    let line = "a line of a chunked body must end with CR and LF: \"2\\nok\"";
    refuse(&chunked("2\nok"), ErrorKind::BadChunk, line);
    let long = format!("5;{}\r\nhello\r\n", "x".repeat(5000));
    refuse(&chunked(&long), ErrorKind::BadChunk, "the size of a chunk of more than 4096 bytes");
    let endless = format!("0\r\n{}", "Name: value\r\n".repeat(10_000));
    let failure = decode_all(&[chunked(&endless).as_bytes()], false).end.unwrap_err();
    assert!(failure.message.starts_with("trailers of more than "), "{failure:?}");
    refuse(&chunked("5\r\nhel"), ErrorKind::Truncated, "the connection was closed before the answer's last chunk");
}

#[test]
fn faulty_framing_is_rejected() {
    let head = |headers: &str| format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\nbody");
    let both = "Content-Length: 4\r\nTransfer-Encoding: chunked";
    refuse(&head(both), ErrorKind::Malformed, "both a content length and a transfer coding");
    let differ = "two content lengths that differ";
    refuse(&head("Content-Length: 4\r\nContent-Length: 5"), ErrorKind::Malformed, differ);
    refuse(&head("Content-Length: 4, 5"), ErrorKind::Malformed, differ);
    for wrong in ["", "+4", "4x", "-1", "4 4", "18446744073709551616"] {
        let message = format!("not a content length: {wrong:?}");
        refuse(&head(&format!("Content-Length: {wrong}")), ErrorKind::Malformed, &message);
    }
    let folded = "a header goes on in a second line, which the standard has given up";
    refuse(&head("A: 1\r\n 2"), ErrorKind::Malformed, folded);
    refuse(&head("no colon"), ErrorKind::Malformed, "a header without a colon: \"no colon\"");
    refuse(&head("Content-Length : 4"), ErrorKind::Malformed, "not the name of a header: \"Content-Length \"");
    refuse(&head(": 4"), ErrorKind::Malformed, "not the name of a header: \"\"");
    refuse(&head("A: 1\r2"), ErrorKind::Malformed, "a control character in header \"A\"");
    refuse(&head("A: \0"), ErrorKind::Malformed, "a control character in header \"A\"");
    let old = "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    refuse(old, ErrorKind::Malformed, "a transfer coding in HTTP/1.0");
}

#[test]
fn bytes_that_are_no_response_are_rejected() {
    let wrong = |text: &str| format!("not an HTTP/1 answer: it begins with {text:?}");
    for line in [
        "HTTP/2.0 200 OK",
        "HTTP/1.2 200 OK",
        "HTTP/1.1 20 OK",
        "HTTP/1.1 2000 OK",
        "HTTP/1.1 2x0 OK",
        "HTTP/1.1  200 OK",
        "HTTP/1.1 099 Low",
        "SSH-2.0-x",
        "GET / HTTP/1.1",
    ] {
        refuse(&format!("{line}\r\n\r\n"), ErrorKind::Malformed, &wrong(line));
    }
    let long = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(70_000));
    refuse(&long, ErrorKind::Malformed, "the head of an answer has more than 65536 bytes");
}

#[test]
fn connections_that_end_too_early() {
    refuse("", ErrorKind::Closed, "the connection was closed before an answer had come");
    refuse("H", ErrorKind::Truncated, "the connection was closed in the head of the answer");
    refuse("HTTP/1.1 200 O", ErrorKind::Truncated, "the connection was closed in the head of the answer");
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe";
    refuse(short, ErrorKind::Truncated, "the connection was closed 3 bytes before the answer's end");
}

#[test]
fn responses_over_the_limits_are_rejected_as_such() {
    let failure = decode_all(&[b"HTTP/1.1 200 OK\r\nContent-Length: 16777217\r\n\r\n"], false).end.unwrap_err();
    assert_eq!(failure.kind, ErrorKind::TooLarge);
    let mut body = ResponseBody::default();
    assert_eq!(body.push(&vec![0; ANSWER_BYTES_MAX]), Ok(()));
    assert_eq!(body.push(b"x").unwrap_err().kind, ErrorKind::TooLarge);
}

#[test]
fn the_response_to_a_head_request_has_no_body() {
    let received = decode_all(&[b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"], true);
    assert_eq!((received.status, received.end), (Some(200), Ok(true)));
    let received = decode_all(&[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"], true);
    assert_eq!((received.status, received.end), (Some(200), Ok(true)));
}

#[test]
fn unsolicited_bytes_break_the_connection() {
    let mut codec = Http1Decoder::default();
    let taken = codec.decode(b"HTTP/1.1 408 Request Timeout\r\n\r\n", &mut ResponseBody::default());
    assert_eq!(taken, Err(Failure::new(ErrorKind::ExcessBytes, "bytes that belong to no answer")));
}

#[test]
fn headers_are_found_by_name() {
    let head = b"HTTP/1.1 200 OK\r\nLocation:  /games/7 \r\nX-Empty:\r\nlocation: /second\r\n\r\n";
    assert_eq!(header(head, "location"), Some(b"/games/7".as_slice()));
    assert_eq!(header(head, "x-empty"), Some(b"".as_slice()));
    assert_eq!(header(head, "x-missing"), None);
}

#[test]
fn excerpts_are_short_and_unwanted_bodies_empty() {
    for (wanted, expected) in [(BodyCapture::Nothing, 0), (BodyCapture::Excerpt, 1200), (BodyCapture::Whole, 3000)] {
        let mut body = ResponseBody { capture: wanted, ..ResponseBody::default() };
        (0..3).for_each(|_| body.push(&[b'x'; 1000]).unwrap());
        assert_eq!(body.bytes.len(), expected);
    }
}

/// Pieces of responses, valid and not, combined at random.
fn any_answer() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        Just("HTTP/1.1 200 OK\r\n"),
        Just("HTTP/1.0 404 Not Found\r\n"),
        Just("HTTP/1.1 204 \r\n"),
        Just("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"),
        Just("HTTP/1.1 20\r\n"),
        Just("\r\nHTTP/1.1 200\n"),
    ];
    let header = prop_oneof![
        Just("Content-Length: 5\r\n"),
        Just("Content-Length: 12\r\n"),
        Just("Transfer-Encoding: chunked\r\n"),
        Just("Connection: close\r\n"),
        Just("X-Other: value\r\n"),
        Just("Bad header\r\n"),
        Just(" folded\r\n"),
    ];
    let body = prop_oneof![
        Just("hello".to_owned()),
        Just("hello, world".to_owned()),
        Just("5\r\nhello\r\n0\r\n\r\n".to_owned()),
        Just("3;x=y\r\nabc\r\nb\r\n0123456789a\r\n0\r\nTrailer: 1\r\n\r\n".to_owned()),
        Just("zz\r\n".to_owned()),
        ".{0,40}",
    ];
    (line, prop::collection::vec(header, 0..4), body)
        .prop_map(|(line, headers, body)| format!("{line}{}\r\n{body}", headers.concat()).into_bytes())
}

proptest! {
    #[test]
    fn any_split_gives_the_same_result(
        answer in any_answer(),
        mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        head_only: bool,
    ) {
        let whole = decode_all(&[&answer], head_only);
        let mut places: Vec<usize> = cuts.drain(..).map(|cut| cut.index(answer.len() + 1)).collect();
        places.sort_unstable();
        let ends = places.iter().copied().chain([answer.len()]);
        let pieces: Vec<&[u8]> =
            ends.scan(0, |from, to| Some(&answer[std::mem::replace(from, to)..to])).collect();
        prop_assert_eq!(&decode_all(&pieces, head_only), &whole);
        let bytes: Vec<&[u8]> = answer.chunks(1).collect();
        prop_assert_eq!(&decode_all(&bytes, head_only), &whole);
    }

    #[test]
    fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), head_only: bool) {
        let _ = decode_all(&[&bytes], head_only);
    }
}

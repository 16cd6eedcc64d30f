//! Rows of bytes: what they are parsed into, whole, split at every byte, and damaged.

use proptest::prelude::*;

use super::*;

type Cut = Result<(Method, String, Vec<u8>, bool, usize), Status>;

/// Reads `bytes` as they grow by `step` bytes a time; the end of the story, or nothing while it is incomplete.
fn read_in_steps(bytes: &[u8], step: usize) -> Option<Cut> {
    let mut memo = RequestParser::default();
    let ends = (0..bytes.len()).step_by(step).skip(1).chain([bytes.len()]);
    for end in ends {
        match memo.read(&bytes[..end]) {
            Ok(Progress::Complete(m)) => {
                return Some(Ok((m.method, m.target.to_owned(), m.body.to_vec(), m.keep_alive, m.used)));
            }
            Ok(Progress::Partial { .. }) => {}
            Err(problem) => return Some(Err(problem.status)),
        }
    }
    None
}

/// However `text` is split, it is cut in the same way.
#[track_caller]
fn check_all_splits(text: &str, expected: Option<&Cut>) {
    for step in [text.len().max(1), 1, 2, 3, 7, 64] {
        assert_eq!(read_in_steps(text.as_bytes(), step).as_ref(), expected, "in steps of {step}: {text:?}");
    }
}

#[track_caller]
fn check(text: &str, method: Method, target: &str, body: &str, keep_alive: bool, left: usize) {
    let used = text.len() - left;
    let message = (method, target.to_owned(), body.as_bytes().to_vec(), keep_alive, used);
    check_all_splits(text, Some(&Ok(message)));
}

#[track_caller]
fn check_refused(text: &str, status: Status) {
    check_all_splits(text, Some(&Err(status)));
}

#[test]
fn bodies_end_at_their_length() {
    check("GET / HTTP/1.1\r\n\r\n", Method::Get, "/", "", true, 0);
    check("POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", Method::Post, "/a", "{}", true, 0);
    check("POST /a HTTP/1.1\r\ncontent-length: 0\r\n\r\nGET /b", Method::Post, "/a", "", true, 6);
    check("POST /a HTTP/1.1\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n{}x", Method::Post, "/a", "{}", true, 1);
    check("\r\nPUT /a HTTP/1.1\r\n\r\n", Method::Other, "/a", "", true, 0);
}

#[test]
fn chunks_are_joined() {
    let head = "POST /a HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n";
    check(&format!("{head}0\r\n\r\n"), Method::Post, "/a", "", true, 0);
    check(
        &format!("{head}2\r\n{{\"\r\n3;x=y\r\na\":\r\n2\r\n1}}\r\n0\r\n\r\nGET"),
        Method::Post,
        "/a",
        "{\"a\":1}",
        true,
        3,
    );
    check(&format!("{head}A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"), Method::Post, "/a", "0123456789", true, 0);
    check_refused(&format!("{head}2\r\n{{}}xx0\r\n\r\n"), Status::BAD_REQUEST);
    check_refused(&format!("{head}g\r\n"), Status::BAD_REQUEST);
    check_refused(&format!("{head}{:x}\r\n", BODY_BYTES_MAX + 1), Status::CONTENT_TOO_LARGE);
    check_refused(&format!("{head}ffffffffffffffff\r\n"), Status::CONTENT_TOO_LARGE);
    check_all_splits(&format!("{head}2\r\n{{}}\r\n0\r\n"), None);
}

#[test]
fn the_client_decides_about_the_connection() {
    check("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", Method::Get, "/", "", false, 0);
    check("GET / HTTP/1.1\r\nConnection: x, Close\r\n\r\n", Method::Get, "/", "", false, 0);
    check("GET / HTTP/1.1\r\nConnection: closed\r\n\r\n", Method::Get, "/", "", true, 0);
    check("GET / HTTP/1.0\r\n\r\n", Method::Get, "/", "", false, 0);
    check("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", Method::Get, "/", "", true, 0);
}

#[test]
fn ambiguous_and_endless_heads_are_refused() {
    check_refused("POST / HTTP/1.1\r\n\r\n", Status::LENGTH_REQUIRED);
    check_refused("POST / HTTP/1.1\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n", Status::BAD_REQUEST);
    check_refused("POST / HTTP/1.1\r\ncontent-length: +2\r\n\r\n", Status::BAD_REQUEST);
    check_refused("POST / HTTP/1.1\r\ncontent-length: \r\n\r\n", Status::BAD_REQUEST);
    check_refused("POST / HTTP/1.1\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n", Status::BAD_REQUEST);
    check_refused("POST / HTTP/1.1\r\ntransfer-encoding: gzip, chunked\r\n\r\n", Status::NOT_IMPLEMENTED);
    check_refused("POST / HTTP/1.1\r\ncontent-length: 262145\r\n\r\n", Status::CONTENT_TOO_LARGE);
    check_refused("hello\r\n\r\n", Status::BAD_REQUEST);
    check_refused("GET / HTTP/2.0\r\n\r\n", Status::BAD_REQUEST);
    check_refused(&format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(HEAD_BYTES_MAX)), Status::HEADER_FIELDS_TOO_LARGE);
    check_refused(
        &format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX + 1)),
        Status::HEADER_FIELDS_TOO_LARGE,
    );
    check_all_splits("POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\n{}", None);
    check_all_splits("GET / HTTP/1.1\r\n", None);
}

#[test]
fn useless_chunk_extensions_are_bounded() {
    let chunk = format!("1;{}\r\nx\r\n", "e".repeat(4_000));
    let text = format!("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{}", chunk.repeat(300));
    assert_eq!(read_in_steps(text.as_bytes(), 65_536), Some(Err(Status::CONTENT_TOO_LARGE)));
}

#[test]
fn continue_is_requested_once() {
    let text = b"POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n{}";
    let mut memo = RequestParser::default();
    let head = text.len() - 2;
    assert_eq!(memo.read(&text[..head - 1]), Ok(Progress::Partial { wants_continue: false }));
    assert_eq!(memo.read(&text[..head]), Ok(Progress::Partial { wants_continue: true }));
    assert_eq!(memo.read(&text[..head]), Ok(Progress::Partial { wants_continue: false }));
    assert_eq!(memo.read(&text[..=head]), Ok(Progress::Partial { wants_continue: false }));
    assert!(matches!(memo.read(text), Ok(Progress::Complete(ParsedMessage { body: b"{}", .. }))));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_and_no_split_changes_the_outcome(
        noise in proptest::collection::vec(any::<u8>(), 0..40),
        at in 0_usize..120,
        step in 1_usize..50,
    ) {
        let mut bytes =
            b"POST /hungry/move HTTP/1.1\r\ntransfer-encoding: chunked\r\nhost: a\r\n\r\n5\r\nabcde\r\n0\r\n\r\n".to_vec();
        let at = at.min(bytes.len());
        bytes.splice(at..at, noise);
        prop_assert_eq!(read_in_steps(&bytes, step), read_in_steps(&bytes, bytes.len()));
    }
}

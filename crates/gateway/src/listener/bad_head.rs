//! Responses to a head that cannot be parsed. Hyper answers such a head with a status and no body; here the response gets
//! the body that every other refusal has.

use super::BUFFER_BYTES_MAX;
use crate::problem::{ApiError, HttpRefusal};
use bytes::Bytes;
use wire::problem::PROBLEM_JSON;

/// Hyper's response with a body; `None` if this is not such a response.
pub(super) fn with_body(response: &[u8]) -> Option<Bytes> {
    let error: ApiError = match response.strip_prefix(b"HTTP/1.1 ")?.get(..4)? {
        b"400 " => HttpRefusal::BadHead.into(),
        b"414 " => HttpRefusal::UrlTooLong.into(),
        b"431 " => HttpRefusal::HeadTooLarge { bytes_max: BUFFER_BYTES_MAX }.into(),
        _ => return None,
    };
    let head = std::str::from_utf8(response.strip_suffix(b"\r\n\r\n")?).ok()?;
    let mut lines = head.split("\r\n");
    let is_whole = lines.clone().all(|line| !line.is_empty()) && head.lines().count() == lines.clone().count();
    let is_bare = lines.clone().skip(1).all(|line| content_length(line).is_none_or(|length| length == "0"));
    if !is_whole || !is_bare {
        return None;
    }
    let mut whole = lines.next()?.to_owned();
    for line in lines.filter(|line| content_length(line).is_none()) {
        whole.push_str("\r\n");
        whole.push_str(line);
    }
    append_problem(&error, &mut whole);
    Some(whole.into())
}

/// The response to a connection that ended with this error, where hyper sends none.
pub(super) fn unsent_response(error: &hyper::Error) -> Option<String> {
    // Hyper does not expose the kind of the error; its text is public.
    let is_http2 = error.is_parse() && error.to_string().contains("HTTP2 preface");
    is_http2.then(|| {
        let mut whole = "HTTP/1.1 505 HTTP Version Not Supported\r\nconnection: close".to_owned();
        append_problem(&HttpRefusal::OtherVersion.into(), &mut whole);
        whole
    })
}

/// Ends a head, and appends the body.
fn append_problem(error: &ApiError, whole: &mut String) {
    let body = serde_json::to_string(&error.to_problem()).expect("a problem holds only text and numbers");
    let length = body.len();
    whole.push_str(&format!("\r\ncontent-type: {PROBLEM_JSON}\r\ncontent-length: {length}\r\n\r\n{body}"));
}

/// The content length in this line of a head, if it is that header.
fn content_length(line: &str) -> Option<&str> {
    let (name, value) = line.split_once(':')?;
    name.eq_ignore_ascii_case("content-length").then(|| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(response: &str, code: Option<&str>) {
        let whole = with_body(response.as_bytes()).map(|whole| String::from_utf8(whole.to_vec()).unwrap());
        assert_eq!(whole.is_some(), code.is_some(), "{response}");
        let (Some(whole), Some(code)) = (whole, code) else { return };
        let (head, body) = whole.split_once("\r\n\r\n").unwrap();
        assert!(body.contains(&format!("\"code\":\"{code}\"")), "{body}");
        let lengths: Vec<_> = head.lines().filter_map(content_length).collect();
        assert_eq!(lengths, [body.len().to_string()], "{head}");
        assert!(response.starts_with(head.lines().next().unwrap()) && head.contains("date: now"), "{head}");
    }

    #[test]
    fn only_bare_refusals_get_a_body() {
        check(
            "HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\ndate: now\r\n\r\n",
            Some("head_too_large"),
        );
        check("HTTP/1.1 414 URI Too Long\r\ndate: now\r\n\r\n", Some("url_too_long"));
        check(
            "HTTP/1.1 400 Bad Request\r\nconnection: close\r\nContent-Length: 0\r\ndate: now\r\n\r\n",
            Some("bad_head"),
        );
        check("HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\ndate: now\r\n\r\n", None);
        check("HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}", None);
        check("HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}\r\n\r\n", None);
        check("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", None);
        check("HTTP/1.1 431 ", None);
        check("", None);
    }
}

//! One request and its response. Does not know sockets, and treats all clients alike.

use std::borrow::Cow;
use std::hint::black_box;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Body;
use hyper::header::CONTENT_TYPE;
use hyper::http::HeaderValue;
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;

/// As long as a limiter's response to an allowed request.
const PASS: &[u8] = br#"{"allowed":true,"remaining":99}"#;
const BAD: &[u8] = b"{}";

/// What a limiter must read before it can decide.
#[derive(Deserialize)]
struct LimiterRequest<'a> {
    #[serde(borrow)]
    client_id: Cow<'a, str>,
    #[serde(borrow)]
    resource: Cow<'a, str>,
}

/// Allows every check. A GET is for scripts that wait until there is a server.
pub(crate) async fn answer<B: Body>(request: Request<B>) -> Result<Response<Full<Bytes>>, B::Error> {
    if request.method() == Method::GET {
        return Ok(json(StatusCode::OK, PASS));
    }
    let body = request.into_body().collect().await?.to_bytes();
    Ok(match serde_json::from_slice::<LimiterRequest>(&body) {
        Ok(question) => {
            // Or the compiler would see that they are never read.
            black_box((&question.client_id, &question.resource));
            json(StatusCode::OK, PASS)
        }
        Err(_) => json(StatusCode::BAD_REQUEST, BAD),
    })
}

fn json(status: StatusCode, body: &'static [u8]) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: Method, body: &'static str, expected: (StatusCode, &[u8])) {
        let request = Request::builder().method(method).body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (status, body) = runtime.block_on(async {
            let response = answer(request).await.unwrap();
            (response.status(), response.into_body().collect().await.unwrap().to_bytes())
        });
        assert_eq!((status, &body[..]), expected);
    }

    #[test]
    fn questions_are_parsed() {
        check(Method::POST, r#"{"client_id":"a","resource":"api"}"#, (StatusCode::OK, PASS));
        check(Method::POST, r#"{"resource":"a\"pi","client_id":"\u00e4"}"#, (StatusCode::OK, PASS));
        check(Method::POST, r#"{"client_id":"a"}"#, (StatusCode::BAD_REQUEST, BAD));
        check(Method::POST, r#"{"client_id":"a","resource":1}"#, (StatusCode::BAD_REQUEST, BAD));
        check(Method::POST, r#"{"client_id":"a","resource":"#, (StatusCode::BAD_REQUEST, BAD));
        check(Method::GET, "", (StatusCode::OK, PASS));
    }
}

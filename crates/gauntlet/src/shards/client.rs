//! One request to one shard over HTTP, with a timeout: a shard that hangs must not hang requests about all of them. A
//! list in pages is one request.

use axum::http::HeaderMap;
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper::{Request, Response, header};
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Time for the whole answer: shorter than what a monitor waits for ours.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest response that is read, in bytes: metrics of a server are a hundredth of it.
const RESPONSE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Most pages of a list that are read: as many as all worlds of a shard can fill.
const PAGES_MAX: usize = engine::limits::WORLDS_MAX.div_ceil(engine::limits::PAGE_MAX) + 1;

/// The body of a GET, or `None` when there was no whole and good answer in time.
pub(super) async fn get(address: SocketAddr, path: &str) -> Option<Bytes> {
    timeout(RESPONSE_TIMEOUT, exchange(address, path)).await.ok()?.map(Response::into_body)
}

/// All pages of a list, or `None` when one of them did not come well, or not all in time.
pub(super) async fn get_pages(address: SocketAddr, first: &str) -> Option<Vec<Bytes>> {
    let read = async {
        let (mut pages, mut path) = (Vec::new(), Some(first.to_owned()));
        while let Some(next) = path.filter(|_| pages.len() < PAGES_MAX) {
            let response = exchange(address, &next).await?;
            path = next_page(response.headers());
            pages.push(response.into_body());
        }
        Some(pages)
    };
    timeout(RESPONSE_TIMEOUT, read).await.ok()?
}

/// Where the page behind this one is (RFC 8288): a path of the same server.
fn next_page(headers: &HeaderMap) -> Option<String> {
    let link = headers.get(header::LINK)?.to_str().ok()?;
    let (path, about) = link.strip_prefix('<')?.split_once('>')?;
    (about.contains("rel=\"next\"") && path.starts_with('/')).then(|| path.to_owned())
}

/// A response whose status is a success.
async fn exchange(address: SocketAddr, path: &str) -> Option<Response<Bytes>> {
    let stream = TcpStream::connect(address).await.ok()?;
    let (mut send, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    let request = Request::get(path).header(header::HOST, address.to_string()).body(Empty::<Bytes>::new()).ok()?;
    let answer = async {
        let (head, body) = send.send_request(request).await.ok()?.into_parts();
        let body = Limited::new(body, RESPONSE_BYTES_MAX).collect().await.ok()?;
        head.status.is_success().then(|| Response::from_parts(head, body.to_bytes()))
    };
    tokio::pin!(answer);
    tokio::select! {
        answer = &mut answer => answer,
        _ = connection => answer.await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(link: &str, want: Option<&str>) {
        let headers = HeaderMap::from_iter([(header::LINK, link.parse().unwrap())]);
        assert_eq!(next_page(&headers).as_deref(), want, "{link}");
    }

    #[test]
    fn reads_the_link_to_the_next_page() {
        check("</api/worlds?limit=100&after=7>; rel=\"next\"", Some("/api/worlds?limit=100&after=7"));
        check("</api/worlds>; rel=\"prev\"", None);
        check("<http://elsewhere/>; rel=\"next\"", None);
        check("nonsense", None);
        assert_eq!(next_page(&HeaderMap::new()), None);
    }
}

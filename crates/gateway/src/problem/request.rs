//! Refusals of requests that are not HTTP as this server reads it: one stable code each.

use axum::http::StatusCode;

/// Why a request cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HttpRefusal {
    /// The head is longer than any request needs.
    #[error(
        "the head of the request is longer than {bytes_max} bytes, or has too many headers: send fewer, or shorter ones"
    )]
    HeadTooLarge {
        /// The most that is read.
        bytes_max: usize,
    },
    /// The URL is longer than any route needs.
    #[error("the URL of the request is too long: shorten it, or send its content in the body")]
    UrlTooLong,
    #[error("this server speaks HTTP/1.1, and the connection begins in HTTP/2: use HTTP/1.1, or a proxy that does")]
    OtherVersion,
    /// The head is not HTTP.
    #[error("the head of the request is not HTTP/1.1: it could not be read")]
    BadHead,
    /// The body is longer than any request needs.
    #[error("the body is longer than {bytes_max} bytes: send less, or several requests")]
    BodyTooLarge {
        /// The most that is read.
        bytes_max: usize,
    },
    /// The transfer coding is not supported.
    #[error("the body comes in a transfer coding that is not supported: send it plain, with its length or in chunks")]
    UnknownTransferCoding,
    /// The end of the body cannot be determined.
    #[error("the header Transfer-Encoding must be `chunked`, once")]
    BadFraming,
    /// A WebSocket is requested by a request that cannot be upgraded.
    #[error("a WebSocket begins with a GET without a body: send no Content-Length but 0, and no Transfer-Encoding")]
    BadUpgrade,
    /// The site cannot be determined.
    #[error("the request must name its host, in one header Host")]
    BadHost,
    /// A proxy does not tell who its client is.
    #[error(
        "what the proxy in front of this server wrote into X-Forwarded-For is no address, so the client is not known: it must append its client's address"
    )]
    BadForwardedFor,
    /// The body did not arrive completely.
    #[error("the body could not be read to its end: the connection broke or was too slow")]
    BodyUnreadable,
}

impl HttpRefusal {
    /// The status and the stable code.
    pub(super) fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::HeadTooLarge { .. } => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "head_too_large"),
            Self::UrlTooLong => (StatusCode::URI_TOO_LONG, "url_too_long"),
            Self::OtherVersion => (StatusCode::HTTP_VERSION_NOT_SUPPORTED, "http_version"),
            Self::BadHead => (StatusCode::BAD_REQUEST, "bad_head"),
            Self::BodyTooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
            Self::UnknownTransferCoding => (StatusCode::NOT_IMPLEMENTED, "unknown_coding"),
            Self::BadFraming => (StatusCode::BAD_REQUEST, "bad_framing"),
            Self::BadUpgrade => (StatusCode::BAD_REQUEST, "bad_upgrade"),
            Self::BadHost => (StatusCode::BAD_REQUEST, "bad_host"),
            Self::BadForwardedFor => (StatusCode::BAD_REQUEST, "bad_forwarded_for"),
            Self::BodyUnreadable => (StatusCode::BAD_REQUEST, "body_unreadable"),
        }
    }
}

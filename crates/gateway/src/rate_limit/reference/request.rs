//! A request to the reference API, read: its route and its content, all checked in the reference's order.

use super::client_id::{self, ClientIdError};
use super::forms::{multipart, percent_decode, urlencoded};
use super::params::{Param, ParamName, Params, Unreadable, parse_json};
use super::responses::Refusal;
use super::{ReferenceConfig, ReferenceRoute as Route};
use http::request::Parts;
use http::{HeaderMap, Method, header};
use std::borrow::Cow;

/// What a body is read as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::rate_limit) enum BodyKind {
    /// Nothing: it is passed over.
    Ignored,
    /// JSON.
    Json,
    /// A form, URL-encoded.
    Form,
    /// A form in parts, between these boundaries.
    Multipart(String),
}

impl BodyKind {
    pub(in crate::rate_limit) fn of(parts: &Parts) -> Self {
        if !matches!(parts.method, Method::POST | Method::PUT | Method::PATCH | Method::DELETE) {
            return Self::Ignored;
        }
        let Some(Ok(content_type)) = parts.headers.get(header::CONTENT_TYPE).map(|value| value.to_str()) else {
            return Self::Ignored;
        };
        // What nearly every client sends needs no parsing.
        if content_type == "application/json" {
            return Self::Json;
        }
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/json" => Self::Json,
            "application/x-www-form-urlencoded" => Self::Form,
            "multipart/form-data" => multer::parse_boundary(content_type).map_or(Self::Ignored, Self::Multipart),
            other if other.starts_with("application/") && other.ends_with("+json") => Self::Json,
            _ => Self::Ignored,
        }
    }

    /// What a body of this kind says.
    fn parse<'a>(&self, body: &'a [u8]) -> Result<Params<'a>, Unreadable> {
        match self {
            Self::Ignored => Ok(Params::default()),
            Self::Json => parse_json(body),
            Self::Form => urlencoded(body),
            Self::Multipart(boundary) => multipart(boundary, body),
        }
    }
}

/// A request, by its route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReferenceRequest<'a> {
    Health,
    RateLimit { client: Cow<'a, [u8]> },
    Configure(ReferenceConfig),
    ConfigureClient { client: Cow<'a, [u8]>, config: ReferenceConfig },
    GetClient { client: Cow<'a, [u8]> },
    ResetClient { client: Cow<'a, [u8]> },
}

/// Reads a request with its whole body: its route, and its content.
pub(super) fn parse_request<'a>(
    parts: &'a Parts,
    kind: &BodyKind,
    body: &'a [u8],
) -> Result<(Route, ReferenceRequest<'a>), (Route, Refusal)> {
    let nowhere = |refusal| (Route::None, refusal);
    let unreadable = |_| nowhere(Refusal::BadRequest);
    let mut params = kind.parse(body).map_err(unreadable)?;
    let method = method_of(&parts.method, &params);
    if let Some(query) = parts.uri.query() {
        params = params.with_fallback(urlencoded(query.as_bytes()).map_err(unreadable)?);
    }
    let (route, id) = route_of(&method, parts.uri.path()).ok_or_else(|| nowhere(Refusal::NotFound))?;
    let at = |refusal| (route, refusal);
    if let Some(id) = id {
        let id = percent_decode(id.as_bytes(), false).map_err(|_| at(Refusal::BadRequest))?;
        params.set(ParamName::ClientId, Param::Text(id));
    }
    if !is_json_acceptable(&parts.headers, &params) {
        return Err(at(Refusal::NotAcceptable));
    }
    Ok((route, build_request(route, &params).map_err(at)?))
}

/// The method, or the one that the body of a POST names instead.
fn method_of(method: &Method, params: &Params<'_>) -> Method {
    if *method != Method::POST {
        // The answer to a HEAD is that to a GET, without its body.
        return if *method == Method::HEAD { Method::GET } else { method.clone() };
    }
    let named = params.text(ParamName::Method).map(|name| name.to_ascii_uppercase());
    match named.as_deref() {
        Some("PUT") => Method::PUT,
        Some("PATCH") => Method::PATCH,
        Some("DELETE") => Method::DELETE,
        Some(_) | None => Method::POST,
    }
}

/// The route, and the client that stands in its path. Empty segments do not count.
fn route_of<'p>(method: &Method, path: &'p str) -> Option<(Route, Option<&'p str>)> {
    // What nearly every client requests needs no split.
    if path == "/api/v1/ratelimit" && *method == Method::POST {
        return Some((Route::RateLimit, None));
    }
    let mut segments = path.split('/').filter(|segment| !segment.is_empty()).skip(2);
    let (first, id, more) = (segments.next()?, segments.next(), segments.next());
    let route = match (method.as_str(), first, id, more) {
        ("GET", "health", None, None) => Route::Health,
        ("POST", "ratelimit", None, None) => Route::RateLimit,
        ("POST", "configure", None, None) => Route::Configure,
        ("POST", "configure-client", None, None) => Route::ConfigureClient,
        ("GET", "client-config", Some(_), None) => Route::GetClient,
        ("DELETE", "client-config", Some(_), None) => Route::ResetClient,
        _ => return None,
    };
    Some((route, id))
}

/// Whether the client takes JSON. Weights do not matter where there is only one thing to choose.
fn is_json_acceptable(headers: &HeaderMap, params: &Params<'_>) -> bool {
    if let Some(format) = params.get(ParamName::Format) {
        return matches!(format, Param::Text(text) if text == "json") || matches!(format, Param::Json("\"json\""));
    }
    let Some(accept) = headers.get(header::ACCEPT) else { return true };
    let is_json = |range: &str| {
        let range = range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let of_application =
            || range.strip_prefix("application/").is_some_and(|of| matches!(of, "*" | "json") || of.ends_with("+json"));
        range == "*/*" || of_application()
    };
    accept.to_str().is_ok_and(|accept| accept.split(',').any(is_json))
}

fn build_request<'a>(route: Route, params: &Params<'a>) -> Result<ReferenceRequest<'a>, Refusal> {
    Ok(match route {
        Route::Health => ReferenceRequest::Health,
        Route::RateLimit => {
            let client = client_id::client_key(params.get(ParamName::ClientId)).map_err(check_refusal)?;
            client_id::check_present(params.get(ParamName::Resource)).map_err(check_refusal)?;
            ReferenceRequest::RateLimit { client }
        }
        Route::Configure => ReferenceRequest::Configure(parse_config(params)?),
        Route::ConfigureClient => {
            let client = require_client(params)?;
            ReferenceRequest::ConfigureClient { client, config: parse_config(params)? }
        }
        Route::GetClient => ReferenceRequest::GetClient { client: require_client(params)? },
        Route::ResetClient => ReferenceRequest::ResetClient { client: require_client(params)? },
        Route::None => return Err(Refusal::NotFound),
    })
}

/// The response to an incomplete check does not say what is missing: an empty object.
fn check_refusal(why: ClientIdError) -> Refusal {
    match why {
        ClientIdError::Unreadable => Refusal::BadRequest,
        ClientIdError::Missing | ClientIdError::Empty | ClientIdError::TooLong => Refusal::InvalidCheck,
    }
}

fn require_client<'a>(params: &Params<'a>) -> Result<Cow<'a, [u8]>, Refusal> {
    client_id::client_key(params.get(ParamName::ClientId)).map_err(|why| match why {
        ClientIdError::Missing => Refusal::InvalidField("Missing required field: client_id"),
        ClientIdError::Empty => Refusal::InvalidField("client_id cannot be empty"),
        ClientIdError::TooLong => Refusal::InvalidField("client_id is too long"),
        ClientIdError::Unreadable => Refusal::BadRequest,
    })
}

fn parse_config(params: &Params<'_>) -> Result<ReferenceConfig, Refusal> {
    let window_s = parse_positive(params.get(ParamName::WindowSeconds), ReferenceConfig::WINDOW_S_MAX).map_err(
        |why| match why {
            NotPositive::Text => Refusal::InvalidField("window_seconds must be a positive integer"),
            NotPositive::Other => {
                Refusal::InvalidField("Missing or invalid required field: window_seconds (must be positive integer)")
            }
        },
    )?;
    let limit = parse_positive(params.get(ParamName::RequestPerWindow), u64::MAX).map_err(|why| match why {
        NotPositive::Text => Refusal::InvalidField("request_per_window must be a positive integer"),
        NotPositive::Other => {
            Refusal::InvalidField("Missing or invalid required field: request_per_window (must be positive integer)")
        }
    })?;
    Ok(ReferenceConfig { window_s, limit })
}

/// What is no positive integer: a text that is not one, or anything else.
enum NotPositive {
    Text,
    Other,
}

/// A positive integer, as a number or as text. The reference has no upper bound; ours is what is stored.
fn parse_positive(param: Option<&Param<'_>>, max: u64) -> Result<u64, NotPositive> {
    let within = |number: Option<u64>| number.filter(|number| (1..=max).contains(number));
    let of_text = |text: &str| within(parse_digits(text.strip_prefix('+').unwrap_or(text))).ok_or(NotPositive::Text);
    match param {
        Some(Param::Text(text)) => of_text(text),
        Some(Param::Json(json)) if json.starts_with('"') => {
            serde_json::from_str::<String>(json).map_or(Err(NotPositive::Text), |text| of_text(&text))
        }
        Some(Param::Json(json)) => within(parse_digits(json)).ok_or(NotPositive::Other),
        Some(Param::Tree(_)) | None => Err(NotPositive::Other),
    }
}

fn parse_digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

//! Checks that refusals are documented: the code that a route returns must be in the API document, with its status.

use crate::test_server::Reply;
use serde_json::Value;
use std::sync::LazyLock;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::to_value(gateway::openapi()).unwrap());

/// Whether this path matches this pattern.
fn is_of(path: &str, pattern: &str) -> bool {
    let (path, pattern): (Vec<_>, Vec<_>) = (path.split('/').collect(), pattern.split('/').collect());
    path.len() == pattern.len() && path.iter().zip(&pattern).all(|(have, want)| want.starts_with('{') || have == want)
}

/// The document's description of this status, for the route of a request line (method and path).
fn description(line: &str, status: u16) -> Option<&'static str> {
    let (method, uri) = line.split_once(' ')?;
    let path = uri.split('?').next()?;
    let paths = DOCUMENT["paths"].as_object()?;
    let (_, item) = paths.iter().find(|(pattern, _)| is_of(path, pattern))?;
    item[method.to_lowercase()]["responses"][status.to_string()]["description"].as_str()
}

/// Checks that the refusal is in the document.
#[track_caller]
pub(crate) fn check(line: &str, reply: &Reply) {
    let code = reply.body["code"].as_str().unwrap();
    let description = description(line, reply.status.as_u16());
    let is_documented = description.is_some_and(|description| description.contains(&format!("`{code}`")));
    assert!(is_documented, "{line} returns {} `{code}`, but the document has {description:?}", reply.status);
}

#[test]
fn request_lines_find_their_routes() {
    let found = description("POST /api/stories/games/x-1/pick?a=b", 409);
    assert!(found.is_some_and(|description| description.contains("`not_in_hand`")), "{found:?}");
    assert_eq!(description("GET /api/stories/games/x-1/pick", 409), None);
    assert_eq!(description("POST /api/stories/games/x-1/pick/more", 409), None);
}

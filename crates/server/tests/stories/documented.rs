//! What the document of the API says of a route's refusals, read as a client's author reads it: a code that a route answers with
//! stands there, with that status.

use crate::test_server::Reply;
use serde_json::Value;
use std::sync::LazyLock;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::to_value(server::gateway::openapi()).unwrap());

/// Whether this path is of the kind that this pattern describes.
fn is_of(path: &str, pattern: &str) -> bool {
    let (path, pattern): (Vec<_>, Vec<_>) = (path.split('/').collect(), pattern.split('/').collect());
    path.len() == pattern.len() && path.iter().zip(&pattern).all(|(have, want)| want.starts_with('{') || have == want)
}

/// What the document says of this status of the route that a line (method and path) asks.
fn said(line: &str, status: u16) -> Option<&'static str> {
    let (method, uri) = line.split_once(' ')?;
    let path = uri.split('?').next()?;
    let paths = DOCUMENT["paths"].as_object()?;
    let (_, item) = paths.iter().find(|(pattern, _)| is_of(path, pattern))?;
    item[method.to_lowercase()]["responses"][status.to_string()]["description"].as_str()
}

/// The refusal must stand in the document.
#[track_caller]
pub(crate) fn check(line: &str, reply: &Reply) {
    let code = reply.body["code"].as_str().unwrap();
    let said = said(line, reply.status.as_u16());
    let is_said = said.is_some_and(|said| said.contains(&format!("`{code}`")));
    assert!(is_said, "{line} answers {} `{code}`, of which the document says {said:?}", reply.status);
}

#[test]
fn lines_find_their_routes() {
    let found = said("POST /api/stories/games/x-1/pick?a=b", 409);
    assert!(found.is_some_and(|said| said.contains("`not_in_hand`")), "{found:?}");
    assert_eq!(said("GET /api/stories/games/x-1/pick", 409), None);
    assert_eq!(said("POST /api/stories/games/x-1/pick/more", 409), None);
}

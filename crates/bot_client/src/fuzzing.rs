//! What the fuzzer reads with parsers that are private otherwise (`crates/fuzz`). Nothing else uses it.

use super::call::ProbeStep;
use super::replies::{classify_move, fault, parse_face};
use super::response::{Progress, ResponseParser};
use super::target::canonical_url;
use engine::health::CallFault;
use engine::matches::response_excerpt::ResponseExcerpt;

/// Status and body of the response in these pieces, behind which the connection is closed.
///
/// # Errors
/// As the owner of a bot is told.
pub fn read_response<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<(u16, Vec<u8>), CallFault> {
    let mut parser = ResponseParser::default();
    for piece in pieces {
        parser.buffer().extend_from_slice(piece);
        if let Progress::Complete(response) = parser.advance(false)? {
            return Ok((response.status, response.body));
        }
    }
    match parser.advance(true)? {
        Progress::Complete(response) => Ok((response.status, response.body)),
        Progress::Partial => Err(CallFault::Closed),
    }
}

/// Everything that is read out of the body of an answer.
pub fn read_body(status: u16, body: &[u8]) {
    for step in [ProbeStep::Index, ProbeStep::Start, ProbeStep::Move, ProbeStep::End] {
        let _ = fault(step, status, false, body);
    }
    let (_, direction, shout) = classify_move(body);
    assert!(direction.is_some() || fault(ProbeStep::Move, 200, false, body).is_some(), "no move, and no fault");
    assert!(shout.chars().count() <= wire::webhook::SHOUT_CHARS_MAX, "a shout of {} characters", shout.chars().count());
    let _ = (parse_face(body), ResponseExcerpt::new(status, body));
}

/// Of a URL and the URL that it is equal to.
pub fn read_url(url: &str) {
    let canonical = canonical_url(url);
    assert_eq!(canonical_url(&canonical), canonical, "the text for all spellings of a URL is one of them");
}

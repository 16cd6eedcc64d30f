//! What a bot was sent in a game: lines of JSON, the first about the snake, each other one a call.

use crate::output::CliError;
use bot_client::Webhook;
use bytes::Bytes;
use engine::ids::MatchId;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use wire::api::{CallOutcome, EvidenceSubject, RecordedCall};

/// Longest recording that is read, in bytes: the longest game on the largest board is a third of it.
pub(super) const RECORDING_BYTES_MAX: usize = 256 * 1024 * 1024;

/// All calls to one snake's bot.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) subject: EvidenceSubject,
    calls: Vec<Recorded>,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recorded {
    pub(super) webhook: Webhook,
    /// The turn in the request's body.
    pub(super) turn: u32,
    /// The request's body, byte for byte.
    pub(super) body: Bytes,
    pub(super) answer: CallOutcome,
}

/// Why a recording cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RecordingError {
    #[error("it is empty: expected lines of JSON, as GET /api/games/{{id}}/snakes/{{snake}}/calls gives them")]
    Empty,
    #[error("line {line} is not {expected}: {reason}")]
    Line { line: usize, expected: &'static str, reason: String },
    #[error("line {line} has the call {call:?}: expected start, move or end")]
    UnknownCall { line: usize, call: String },
}

/// The id, if this is the id of a game and no file's name.
pub(super) fn parse_game_id(text: &str) -> Option<MatchId> {
    text.parse().ok()
}

pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, CliError> {
    let failed = |reason: &dyn std::fmt::Display| {
        let text = format!("{}: {reason}; expected a game's id or a file with its calls", path.display());
        CliError::failed(text)
    };
    let file = File::open(path).map_err(|error| failed(&error))?;
    let mut bytes = Vec::new();
    file.take(RECORDING_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() > RECORDING_BYTES_MAX {
        return Err(failed(&format_args!("it is longer than {RECORDING_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

impl Recording {
    /// # Errors
    /// [`RecordingError`], with the line.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, RecordingError> {
        let mut lines = bytes.split(|byte| *byte == b'\n').zip(1..).filter(|(line, _)| !line.trim_ascii().is_empty());
        let (first, number) = lines.next().ok_or(RecordingError::Empty)?;
        let subject = serde_json::from_slice(first).map_err(|error| RecordingError::Line {
            line: number,
            expected: "about the snake of a recording",
            reason: error.to_string(),
        })?;
        Ok(Self { subject, calls: lines.map(|(line, number)| parse_call(line, number)).collect::<Result<_, _>>()? })
    }

    /// The calls to be sent: all, or the request for a move of one turn.
    pub(super) fn select(&self, turn: Option<u32>) -> Result<&[Recorded], CliError> {
        let moves = self.calls.iter().filter(|call| call.webhook == Webhook::Move);
        let Some(turn) = turn else {
            return match moves.count() {
                0 => Err(CliError::failed("no answer of this snake is saved yet: there is nothing to compare")),
                _ => Ok(&self.calls),
            };
        };
        let is_meant = |call: &Recorded| call.webhook == Webhook::Move && call.turn == turn;
        match self.calls.iter().position(is_meant) {
            Some(at) => Ok(&self.calls[at..=at]),
            None => {
                let last = moves.map(|call| call.turn).max();
                let which = last.map_or("none is saved".to_owned(), |last| format!("there are turns 0 to {last}"));
                Err(CliError::usage(format_args!("--turn {turn}: this snake has no saved request of it; {which}")))
            }
        }
    }
}

fn parse_call(line: &[u8], number: usize) -> Result<Recorded, RecordingError> {
    let call: RecordedCall = serde_json::from_slice(line).map_err(|error| RecordingError::Line {
        line: number,
        expected: "a call",
        reason: error.to_string(),
    })?;
    let webhook = [Webhook::Start, Webhook::Move, Webhook::End].into_iter().find(|known| known.segment() == call.call);
    let webhook = webhook.ok_or(RecordingError::UnknownCall { line: number, call: call.call })?;
    let body = Bytes::from(String::from(Box::<str>::from(call.request)));
    Ok(Recorded { webhook, turn: call.turn, body, answer: call.answer })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) const SUBJECT: &str =
        r#"{"game_id":"g","status":"finished","seat":1,"snake_id":"s","name":"n","you_id":"y","timeout_ms":500}"#;

    fn call(call: &str, turn: u32, body: &str) -> String {
        format!(
            r#"{{"call":"{call}","turn":{turn},"request":{body},"answer":{{"class":"valid","latency_ms":3,"move":"up","shout":""}}}}"#
        )
    }

    /// Numbers of other spellings, spaces and the order of members: JSON that another program would write otherwise.
    const BODY: &str = r#"{ "b":1.50, "a" : "\u00e9", "a":2 }"#;

    #[test]
    fn bodies_are_kept_byte_for_byte() {
        let text = [SUBJECT, &call("start", 0, "{}"), &call("move", 0, BODY), &call("end", 1, "{}"), ""].join("\n");
        let recording = Recording::parse(text.as_bytes()).unwrap();
        assert_eq!((recording.subject.seat, recording.calls.len()), (1, 3));
        assert_eq!(&recording.calls[1].body[..], BODY.as_bytes());
        assert_eq!(recording.select(None).unwrap().len(), 3);
        assert_eq!(recording.select(Some(0)).unwrap(), &recording.calls[1..2]);
        assert!(recording.select(Some(1)).is_err(), "the /end is no request for a move");
    }

    #[track_caller]
    fn check_refused(lines: &[&str], want: &str) {
        let error = Recording::parse(lines.join("\n").as_bytes()).unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }

    #[test]
    fn other_files_are_refused_by_line() {
        check_refused(&[], "it is empty");
        check_refused(&["", " "], "it is empty");
        check_refused(&["GIF89a"], "line 1 is not about the snake");
        check_refused(&[SUBJECT, "{}"], "line 2 is not a call: missing field `call`");
        check_refused(&[SUBJECT, "", &call("fly", 0, "{}")], "line 3 has the call \"fly\"");
        check_refused(&[SUBJECT, &call("move", 0, BODY)[..40]], "line 2 is not a call");
    }

    #[test]
    fn a_recording_without_moves_compares_nothing() {
        let text = [SUBJECT, &call("start", 0, "{}")].join("\n");
        assert!(Recording::parse(text.as_bytes()).unwrap().select(None).is_err());
    }
}

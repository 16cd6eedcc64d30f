//! What `gauntlet replay` prints: lines for people, or one JSON object.

use super::comparison::{Comparison, Summary};
use crate::output::{CliError, print_line, printable};
use engine::health::CallFault;
use rules::snake::Move;
use serde_json::{Value, json};
use wire::api::EvidenceSubject;

/// A line for one turn.
pub(super) fn print_turn(turn: &Comparison) -> Result<(), CliError> {
    print_line(line(turn))
}

fn line(turn: &Comparison) -> String {
    let played = turn.played.played.as_deref().unwrap_or("-");
    let played = match turn.played.class.as_str() {
        "valid" => played.to_owned(),
        class => format!("{played} ({class})"),
    };
    let (answered, verdict) = match (turn.answered, turn.fault) {
        (Some(answered), _) if turn.differs() => (answered.as_str(), "differs".to_owned()),
        (Some(answered), _) => (answered.as_str(), "same".to_owned()),
        (None, Some(fault)) => (turn.class.name(), format!("no valid answer: {}", fault.problem())),
        (None, None) => (turn.class.name(), "no valid answer".to_owned()),
    };
    format!("turn {:>4}  played {played:<20}  answered {answered:<12}  {:>5} ms  {verdict}", turn.turn, turn.latency_ms)
}

/// What to do about the first call without a valid answer; `None`: every call had one.
pub(super) fn remedy(turns: &[Comparison]) -> Option<String> {
    let (turn, fault) = turns.iter().find_map(|turn| Some((turn.turn, turn.fault?)))?;
    Some(format!("turn {turn} had no valid answer, because {}: {}", fault.problem(), fault.remedy()))
}

/// The last line.
pub(super) fn summary(subject: &EvidenceSubject, summary: &Summary) -> String {
    let Summary { moves, same, differ, without_answer, latency_ms } = summary;
    let latency = latency_ms
        .map_or(String::new(), |[p50, p99, max]| format!("; latency p50 {p50} ms, p99 {p99} ms, max {max} ms"));
    format!(
        "{moves} moves of \"{}\" (seat {}): {same} as played, {differ} differ, {without_answer} without a valid answer{latency}",
        printable(&subject.name),
        subject.seat
    )
}

pub(super) fn json(subject: &EvidenceSubject, bot: &str, turns: &[Comparison], summary: &Summary) -> Value {
    json!({
        "game": subject,
        "bot": bot,
        "turns": turns.iter().map(turn_json).collect::<Vec<_>>(),
        "summary": {
            "moves": summary.moves,
            "same": summary.same,
            "differ": summary.differ,
            "without_answer": summary.without_answer,
            "latency_ms": summary.latency_ms.map(|[p50, p99, max]| json!({ "p50": p50, "p99": p99, "max": max })),
        },
    })
}

fn turn_json(turn: &Comparison) -> Value {
    json!({
        "turn": turn.turn,
        "played": turn.played.played,
        "played_class": turn.played.class,
        "answered": turn.answered.map(Move::as_str),
        "class": turn.class.name(),
        "problem": turn.fault.map(CallFault::problem),
        "latency_ms": turn.latency_ms,
        "differs": turn.differs(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::comparison::summarize;
    use super::super::comparison::tests::turn;
    use super::super::recording::tests::SUBJECT;
    use super::*;

    #[test]
    fn lines_say_what_was_played_and_answered() {
        let mut late = turn(41, "up", Some(Move::Right), 18);
        late.played.class = "late".to_owned();
        let lines = [line(&turn(3, "left", None, 500)), line(&late), line(&turn(4, "down", Some(Move::Down), 2))];
        assert_eq!(
            lines,
            [
                "turn    3  played left                  answered malformed       500 ms  no valid answer: \
                 the body of the answer was not a JSON object",
                "turn   41  played up (late)             answered right            18 ms  differs",
                "turn    4  played down                  answered down              2 ms  same",
            ]
        );
    }

    #[test]
    fn a_name_cannot_control_the_terminal() {
        let mut subject: EvidenceSubject = serde_json::from_str(SUBJECT).unwrap();
        subject.name = "\u{1b}[2J\u{9b}x".to_owned();
        let text = summary(&subject, &Summary::default());
        assert!(!text.chars().any(char::is_control), "{text:?}");
        assert!(text.ends_with("(seat 1): 0 as played, 0 differ, 0 without a valid answer"), "{text}");
    }

    #[test]
    fn the_object_has_every_turn() {
        let subject: EvidenceSubject = serde_json::from_str(SUBJECT).unwrap();
        let turns = [turn(0, "up", Some(Move::Up), 4), turn(1, "up", None, 500)];
        let object = json(&subject, "http://b", &turns, &summarize(&turns));
        assert_eq!(object["summary"]["without_answer"], 1);
        assert_eq!(object["summary"]["latency_ms"], json!({ "p50": 4, "p99": 4, "max": 4 }));
        assert_eq!(object["turns"][1]["answered"], Value::Null);
        assert_eq!(object["turns"][1]["problem"], "the body of the answer was not a JSON object");
        let advice = remedy(&turns).unwrap();
        assert!(advice.starts_with("turn 1 had no valid answer, because the body of the answer"), "{advice}");
        assert_eq!(remedy(&turns[..1]), None);
        assert_eq!((&object["turns"][0]["differs"], &object["game"]["seat"]), (&json!(false), &json!(1)));
    }
}

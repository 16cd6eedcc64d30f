//! A game under the magnifying glass, for operators: who tried to run it, and what the end of its log says.

use super::view;
use crate::app::App;
use crate::problem::{ApiError, ApiResult, Resource};
use engine::ids::MatchId;
use engine::matches::entry::{Entry, Face, Notice, PlayedMove};
use engine::rows::{MatchLogRow, MatchRow};
use serde_json::{Value, json};
use store::{Damage, StoreError};
use wire::api::{Inspection, InspectionAttempts, InspectionLog, InspectionLogEntry, InspectionWorker};

/// Entries of the log's end that are shown: enough to see the last turns of sixteen bots and their deliveries.
const TAIL_ENTRIES: usize = 40;

/// Looks at a game closely.
pub(crate) async fn inspect(app: &App, id: MatchId) -> ApiResult<Inspection> {
    let now = app.node.clock.now();
    let found = app.node.store.read(move |reader| {
        let Some(row) = reader.match_by_id(id)? else {
            return Ok(None);
        };
        let worker = match row.status.worker {
            Some(worker) => Some((worker, reader.lease_address(worker, now)?)),
            None => None,
        };
        let from = row.status.version.saturating_sub(TAIL_ENTRIES as u32);
        let tail = match reader.match_log(id, from, TAIL_ENTRIES) {
            Ok(page) => page.iter().flat_map(|page| &page.rows).map(log_entry).collect(),
            // An operator who looks closely wants to see just that.
            Err(StoreError::Damaged(damage)) => vec![damaged_entry(from, &damage)],
            Err(error) => return Err(error),
        };
        Ok(Some((row, worker, tail)))
    });
    let (row, worker, tail) = found.await?.ok_or(ApiError::NotFound(Resource::Game))?;
    let worker = worker.map(|(id, address)| InspectionWorker { id: id.to_string(), address });
    Ok(inspection(&row, worker, tail))
}

/// In the place of a tail that is damaged.
fn damaged_entry(version: u32, damage: &Damage) -> InspectionLogEntry {
    InspectionLogEntry { version, turns: 0, late_moves: 0, entry: json!({ "unreadable": damage.to_string() }) }
}

fn inspection(row: &MatchRow, worker: Option<InspectionWorker>, tail: Vec<InspectionLogEntry>) -> Inspection {
    let status = &row.status;
    Inspection {
        status: view::status(status),
        account_id: row.account.to_string(),
        attempts: InspectionAttempts { epoch: status.epoch, charged: status.attempts_charged },
        worker,
        log: InspectionLog { version: status.version, tail },
    }
}

fn log_entry(row: &MatchLogRow) -> InspectionLogEntry {
    let entry = Entry::decode(&row.bytes)
        .map_or_else(|error| json!({ "unreadable": error.to_string() }), |entry| entry_view(&entry));
    InspectionLogEntry { version: row.version, turns: row.turns, late_moves: row.late_moves, entry }
}

fn entry_view(entry: &Entry) -> Value {
    match entry {
        Entry::Opened { rules_version, faces } => {
            let faces: Vec<Value> = faces
                .iter()
                .map(|Face { color, head, tail }| json!({ "color": color, "head": head, "tail": tail }))
                .collect();
            json!({ "kind": "opened", "rules_version": rules_version, "faces": faces })
        }
        Entry::Delivered { notice, seat, class, latency_ms } => {
            let notice = match notice {
                Notice::Start => "start",
                Notice::End => "end",
            };
            json!({ "kind": "delivered", "notice": notice, "seat": seat, "class": class.name(), "latency_ms": latency_ms })
        }
        Entry::Turn { turn, played, state_hash } => {
            let played: Vec<Option<Value>> = played.iter().map(|played| played.as_ref().map(played_view)).collect();
            json!({ "kind": "turn", "turn": turn, "played": played, "state_hash": format!("{state_hash:08x}") })
        }
    }
}

fn played_view(PlayedMove { mv, class, latency_ms, shout, response }: &PlayedMove) -> Value {
    let mut view = json!({ "move": mv.as_str(), "class": class.name(), "latency_ms": latency_ms, "shout": shout });
    if let Some(kept) = response {
        view["response"] = json!({ "status": kept.status(), "excerpt": kept.text() });
    }
    view
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::matches::entry::AnswerClass;
    use engine::matches::response_excerpt::ResponseExcerpt;
    use rules::snake::Move;

    #[track_caller]
    fn check(bytes: Vec<u8>, want: Value) {
        let row = MatchLogRow { version: 3, turns: 2, late_moves: 1, bytes };
        let shown = log_entry(&row);
        assert_eq!((shown.version, shown.turns, shown.late_moves, shown.entry), (3, 2, 1, want));
    }

    #[test]
    fn log_entries_are_shown_as_json() {
        let late = PlayedMove {
            mv: Move::Left,
            class: AnswerClass::Late,
            latency_ms: 500,
            shout: "oh".into(),
            response: None,
        };
        let response = Some(Box::new(ResponseExcerpt::new(404, b"?")));
        let wrong = PlayedMove { class: AnswerClass::BadStatus, latency_ms: 3, response, ..late.clone() };
        check(
            Entry::Turn { turn: 2, played: vec![None, Some(late), Some(wrong)], state_hash: 0xab }.encode(),
            json!({"kind": "turn", "turn": 2, "state_hash": "000000ab",
                   "played": [null, {"move": "left", "class": "late", "latency_ms": 500, "shout": "oh"},
                              {"move": "left", "class": "bad_status", "latency_ms": 3, "shout": "oh",
                               "response": {"status": 404, "excerpt": "?"}}]}),
        );
        check(
            Entry::Delivered { notice: Notice::End, seat: 1, class: AnswerClass::Valid, latency_ms: 3 }.encode(),
            json!({"kind": "delivered", "notice": "end", "seat": 1, "class": "valid", "latency_ms": 3}),
        );
        check(
            Entry::Opened { rules_version: 1, faces: vec![Face::default()] }.encode(),
            json!({"kind": "opened", "rules_version": 1, "faces": [{"color": "#888888", "head": "default", "tail": "default"}]}),
        );
    }

    #[test]
    fn an_entry_that_cannot_be_read_says_so() {
        let row = MatchLogRow { version: 0, turns: 0, late_moves: 0, bytes: vec![0xff] };
        assert!(log_entry(&row).entry["unreadable"].as_str().is_some_and(|why| why.contains("another format")));
    }
}

//! What the writer of a match may do: append to its log, finish it, release it. Every one checks the fences first.

use super::data::{MatchEntry, MatchLog, MemoryData};
use crate::contract::StoreError;
use crate::counters::CounterChanges;
use crate::{archives, semantics};
use engine::commands::{MatchAppend, Outcome};
use engine::ids::MatchId;
use engine::matches::lifecycle::MatchEvent;
use engine::matches::result::MatchResult;
use engine::time::UnixMs;

impl MemoryData {
    pub(super) fn append(&mut self, append: &MatchAppend) -> Outcome {
        let added = self.change(append.id, |entry| {
            semantics::check_writer(entry.row.status.state, entry.row.status.epoch, append.epoch)?;
            add(entry, append)
        });
        outcome_or_fenced(added)
    }

    pub(super) fn finish(
        &mut self,
        append: &MatchAppend,
        result: &MatchResult,
        archive: &[u8],
        now: UnixMs,
    ) -> Result<Outcome, StoreError> {
        let archive = archives::compressed(archive)?.into_owned();
        let bytes = archive.len() as u64;
        let finished = self.change(append.id, |entry| {
            let (state, epoch) = (entry.row.status.state, entry.row.status.epoch);
            let next = semantics::writer_transition(state, epoch, MatchEvent::Finish, append.epoch)?;
            add(entry, append)?;
            entry.move_to(next, now);
            entry.log = MatchLog::Archived(archive);
            entry.row.status.turns = result.turns;
            entry.row.status.late_moves = result.late_moves;
            entry.row.result = Some(result.clone());
            Ok(entry.row.status.started_at)
        });
        if let Some(Ok(started_at)) = finished {
            self.archive_bytes += bytes;
            self.record_finished(started_at, now);
        }
        Ok(outcome_or_fenced(finished.map(|finished| finished.map(drop))))
    }

    fn record_finished(&mut self, started_at: Option<UnixMs>, now: UnixMs) {
        let mut counters = CounterChanges::default();
        counters.record_finished(started_at, now);
        for (minute, minute_counters) in counters.minutes {
            let kept = self.minutes.entry(minute).or_default();
            kept.finished += minute_counters.finished;
            kept.with_duration += minute_counters.with_duration;
            kept.duration_ms += minute_counters.duration_ms;
        }
    }

    pub(super) fn fail(&mut self, id: MatchId, epoch: u32, reason: &str, now: UnixMs) -> Outcome {
        let failed = self.change(id, |entry| {
            let next =
                semantics::writer_transition(entry.row.status.state, entry.row.status.epoch, MatchEvent::Fail, epoch)?;
            entry.move_to(next, now);
            entry.row.status.failure = Some(semantics::stored_reason(reason));
            Ok(())
        });
        outcome_or_fenced(failed)
    }

    /// A match that was given up already stays as it is: a repeated release refunds nothing twice.
    pub(super) fn release(&mut self, id: MatchId, epoch: u32, is_refunded: bool) -> Outcome {
        let released = self.change(id, |entry| {
            let status = &mut entry.row.status;
            status.state = semantics::writer_transition(status.state, status.epoch, MatchEvent::Release, epoch)?;
            if status.worker.take().is_some() {
                status.attempts_charged = semantics::attempts_after_release(status.attempts_charged, is_refunded);
            }
            Ok(())
        });
        outcome_or_fenced(released)
    }
}

fn add(entry: &mut MatchEntry, append: &MatchAppend) -> Result<(), Outcome> {
    semantics::check_append(append, entry.row.status.version)?;
    if let MatchLog::Live(rows) = &mut entry.log {
        rows.extend(append.rows.iter().cloned());
    }
    entry.sync_status();
    entry.row.status.started_at = entry.row.status.started_at.or(append.started_at);
    Ok(())
}

/// A writer whose match is gone is fenced like one whose match is another's.
fn outcome_or_fenced(done: Option<Result<(), Outcome>>) -> Outcome {
    match done {
        Some(Ok(())) => Outcome::Done,
        Some(Err(refusal)) => refusal,
        None => Outcome::Fenced,
    }
}

//! What the writer of a match may do: add to its log, end it, give it up. Every one checks the fences first.

use super::tables::{Log, MatchEntry, Tables};
use crate::contract::StoreError;
use crate::tally::Tally;
use crate::{laws, packing};
use engine::commands::{Append, Outcome};
use engine::ids::MatchId;
use engine::matches::life::Event;
use engine::matches::outcome::MatchResult;
use engine::time::UnixMs;

impl Tables {
    pub(super) fn append(&mut self, append: &Append) -> Outcome {
        let added = self.change(append.id, |entry| {
            laws::may_append(entry.row.status.state, entry.row.status.epoch, append.epoch)?;
            add(entry, append)
        });
        told(added)
    }

    pub(super) fn finish(
        &mut self,
        append: &Append,
        result: &MatchResult,
        archive: &[u8],
        now: UnixMs,
    ) -> Result<Outcome, StoreError> {
        let archive = packing::stored(archive)?.into_owned();
        let bytes = archive.len() as u64;
        let finished = self.change(append.id, |entry| {
            let (state, epoch) = (entry.row.status.state, entry.row.status.epoch);
            let next = laws::step_by_writer(state, epoch, Event::Finish, append.epoch)?;
            add(entry, append)?;
            entry.move_to(next, now);
            entry.log = Log::Archived(archive);
            entry.row.status.turns = result.turns;
            entry.row.status.late_moves = result.late_moves;
            entry.row.result = Some(result.clone());
            Ok(entry.row.status.started_at)
        });
        if let Some(Ok(started_at)) = finished {
            self.archive_bytes += bytes;
            self.count_finished(started_at, now);
        }
        Ok(told(finished.map(|finished| finished.map(drop))))
    }

    fn count_finished(&mut self, started_at: Option<UnixMs>, now: UnixMs) {
        let mut tally = Tally::default();
        tally.finished(started_at, now);
        for (minute, figures) in tally.minutes {
            let kept = self.minutes.entry(minute).or_default();
            kept.finished += figures.finished;
            kept.timed += figures.timed;
            kept.duration_ms += figures.duration_ms;
        }
    }

    pub(super) fn fail(&mut self, id: MatchId, epoch: u32, reason: &str, now: UnixMs) -> Outcome {
        let failed = self.change(id, |entry| {
            let next = laws::step_by_writer(entry.row.status.state, entry.row.status.epoch, Event::Fail, epoch)?;
            entry.move_to(next, now);
            entry.row.status.failure = Some(laws::kept_reason(reason));
            Ok(())
        });
        told(failed)
    }

    /// A match that was given up already stays as it is: a repeated release refunds nothing twice.
    pub(super) fn release(&mut self, id: MatchId, epoch: u32, is_refunded: bool) -> Outcome {
        let released = self.change(id, |entry| {
            let status = &mut entry.row.status;
            status.state = laws::step_by_writer(status.state, status.epoch, Event::Release, epoch)?;
            if status.worker.take().is_some() {
                status.attempts_charged = laws::attempts_after_release(status.attempts_charged, is_refunded);
            }
            Ok(())
        });
        told(released)
    }
}

fn add(entry: &mut MatchEntry, append: &Append) -> Result<(), Outcome> {
    laws::continues(append, entry.row.status.version)?;
    if let Log::Live(rows) = &mut entry.log {
        rows.extend(append.rows.iter().cloned());
    }
    entry.follow_log();
    entry.row.status.started_at = entry.row.status.started_at.or(append.started_at);
    Ok(())
}

/// A writer whose match is gone is fenced like one whose match is another's.
fn told(done: Option<Result<(), Outcome>>) -> Outcome {
    match done {
        Some(Ok(())) => Outcome::Done,
        Some(Err(refusal)) => refusal,
        None => Outcome::Fenced,
    }
}

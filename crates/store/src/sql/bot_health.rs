//! The health of bots, how they answered, how they look, and with which secrets their calls are signed.

use super::{Batch, Dialect, IdBytes, RowStatement, Session, values};
use crate::columns::health::{self as columns, CALLS, HEALTH, SIGNING};
use crate::columns::{BOT, Columns, bot};
use crate::contract::{BotToProbe, StoreError};
use engine::commands::{BotCommand, Outcome};
use engine::ids::{AccountId, BotId};
use engine::limits::{HEALTH_PROBES_AT_ONCE, HEALTH_PROBES_PER_ACCOUNT};
use engine::matches::entry::Face;
use engine::rows::{BotCallsRow, BotHealthRow, SigningRow};
use engine::time::UnixMs;
use std::collections::BTreeSet;

/// Each process has rows of its own, so that none waits for another.
static SAVE_CALLS: RowStatement = RowStatement::new(
    "bot uuid, hour bigint, process bigint, data bytea, checksum bigint",
    "INSERT INTO bot_calls (bot, hour, process, data, checksum)
     SELECT new.bot, new.hour, new.process, new.data, new.checksum FROM {new}, bots b WHERE b.id = new.bot
     ON CONFLICT (bot, hour, process) DO UPDATE SET data = excluded.data, checksum = excluded.checksum",
);
/// What did not change is not written.
static SAVE_FACES: RowStatement = RowStatement::new(
    "bot uuid, color text, head text, tail text",
    "INSERT INTO bot_faces (bot, color, head, tail)
     SELECT new.bot, new.color, new.head, new.tail FROM {new}, bots b WHERE b.id = new.bot
     ON CONFLICT (bot) DO UPDATE SET color = excluded.color, head = excluded.head, tail = excluded.tail
     WHERE bot_faces.color <> excluded.color OR bot_faces.head <> excluded.head OR bot_faces.tail <> excluded.tail",
);
pub(crate) const VERSION: &str = "SELECT version FROM bot_health WHERE bot = ?1";
pub(crate) const PAUSED: &str = "SELECT bot FROM bot_health WHERE status = 'paused' ORDER BY bot LIMIT ?1";
pub(crate) const RETIRE_CALLS: &str = "
    DELETE FROM bot_calls WHERE (bot, hour, process) IN (
        SELECT bot, hour, process FROM bot_calls WHERE hour < ?1 ORDER BY hour LIMIT ?2)";

pub(crate) fn due() -> String {
    let health = HEALTH.split(", ").map(|column| format!("h.{column}")).collect::<Vec<_>>().join(", ");
    let bot = BOT.split(", ").map(|column| format!("b.{column}")).collect::<Vec<_>>().join(", ");
    format!(
        "SELECT {health}, {bot} FROM bot_health h JOIN bots b ON b.id = h.bot
         WHERE h.next_probe_at <= ?1 AND b.account NOT IN (?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ORDER BY h.next_probe_at LIMIT ?2"
    )
}

pub(crate) fn calls_since() -> String {
    format!("SELECT {CALLS} FROM bot_calls WHERE bot = ?1 AND hour >= ?2 ORDER BY hour, process")
}

impl<S: Dialect> Batch<'_, S> {
    pub(super) fn bot_command(&mut self, command: &BotCommand) -> Result<Outcome, StoreError> {
        match command {
            BotCommand::SaveHealth(row) => self.save_health(row),
            BotCommand::SaveCalls { process, rows } => self.save_calls(*process, rows),
            BotCommand::SaveFaces(faces) => self.save_faces(faces),
            BotCommand::RetireCalls { before_hour, max } => {
                Ok(Outcome::Retired(self.session.run(RETIRE_CALLS, values![*before_hour, *max])?))
            }
            BotCommand::RotateSigningSecret { bot, account, now, overlap_until } => {
                self.rotate_signing_secret(*bot, *account, *now, *overlap_until)
            }
            BotCommand::StopSigning { bot, account } => self.stop_signing(*bot, *account),
        }
    }

    fn save_health(&mut self, row: &BotHealthRow) -> Result<Outcome, StoreError> {
        let health = &row.health;
        let records = health.encode_records();
        let columns = values![
            row.bot,
            health.status.name(),
            health.since,
            health.failures,
            health.successes,
            health.reason.map(engine::health::CallFault::name),
            health.next_probe_at,
            health.watched_until,
            &records,
            columns::evidence(row.bot).checksum(&records),
            row.version,
        ];
        let changed = match row.version {
            0 => self.session.run(
                "INSERT INTO bot_health
                   (bot, version, status, since, failures, successes, reason, next_probe_at, watched_until, records, checksum)
                 SELECT id, 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM bots WHERE id = ?1 ON CONFLICT DO NOTHING",
                &columns[..10],
            )?,
            _ => self.session.run(
                "UPDATE bot_health SET version = version + 1, status = ?2, since = ?3, failures = ?4, successes = ?5,
                   reason = ?6, next_probe_at = ?7, watched_until = ?8, records = ?9, checksum = ?10
                 WHERE bot = ?1 AND version = ?11",
                columns,
            )?,
        };
        if changed > 0 {
            return Ok(Outcome::Done);
        }
        let found = self.session.first(VERSION, values![row.bot], |row| row.number())?;
        Ok(found.map_or(Outcome::NotFound, Outcome::VersionConflict))
    }

    fn save_calls(&mut self, process: u64, rows: &[BotCallsRow]) -> Result<Outcome, StoreError> {
        let data: Vec<Vec<u8>> = rows.iter().map(|row| row.calls.encode()).collect();
        let rows = rows.iter().zip(&data).map(|(row, data)| {
            *values![row.bot, row.hour, process as i64, data, columns::calls_of_hour(row.bot, row.hour).checksum(data)]
        });
        self.session.run_rows(&SAVE_CALLS, rows)?;
        Ok(Outcome::Done)
    }

    fn save_faces(&mut self, faces: &[(BotId, Face)]) -> Result<Outcome, StoreError> {
        let rows = faces.iter().map(|(bot, face)| *values![*bot, &face.color, &face.head, &face.tail]);
        self.session.run_rows(&SAVE_FACES, rows)?;
        Ok(Outcome::Done)
    }

    /// The number of a secret is never used again, even after a pause without signatures.
    fn rotate_signing_secret(
        &mut self,
        bot: BotId,
        account: AccountId,
        now: UnixMs,
        overlap_until: UnixMs,
    ) -> Result<Outcome, StoreError> {
        let rotate = format!(
            "INSERT INTO bot_signing (bot, generation, is_on, created_at, previous_until)
             SELECT id, 1, ?3, ?4, 0 FROM bots WHERE id = ?1 AND account = ?2
             ON CONFLICT (bot) DO UPDATE SET generation = bot_signing.generation + 1, is_on = excluded.is_on,
               created_at = excluded.created_at, previous_until = CASE WHEN bot_signing.is_on THEN CAST(?5 AS BIGINT) ELSE 0 END
             RETURNING {SIGNING}"
        );
        let row = self
            .session
            .first(&rotate, values![bot, account, true, now, overlap_until], |row| columns::signing(row))?;
        Ok(row.map_or(Outcome::NotFound, Outcome::Signing))
    }

    fn stop_signing(&mut self, bot: BotId, account: AccountId) -> Result<Outcome, StoreError> {
        let is_on = S::is_set("is_on");
        let stop = format!(
            "UPDATE bot_signing SET is_on = ?3 WHERE bot = ?1 AND {is_on}
             AND EXISTS (SELECT 1 FROM bots WHERE id = ?1 AND account = ?2)"
        );
        let stopped = self.session.run(&stop, values![bot, account, false])?;
        Ok(if stopped > 0 { Outcome::Done } else { Outcome::NotFound })
    }

    /// What is kept of a bot beside it, when it is deleted.
    pub(super) fn delete_kept_of_bot(&mut self, bot: BotId) -> Result<(), StoreError> {
        self.session.run("DELETE FROM bot_health WHERE bot = ?1", values![bot])?;
        self.session.run("DELETE FROM bot_calls WHERE bot = ?1", values![bot])?;
        self.session.run("DELETE FROM bot_signing WHERE bot = ?1", values![bot])?;
        self.session.run("DELETE FROM bot_faces WHERE bot = ?1", values![bot])?;
        Ok(())
    }

    /// A bot whose URL changes is probed at once, if it is probed at all, and a probe of the old URL that is under way finds its row changed.
    /// Before the bot's row is written.
    pub(super) fn probe_soon_if_moved(&mut self, bot: BotId, url: &str, now: UnixMs) -> Result<(), StoreError> {
        self.session.run(
            "UPDATE bot_health SET version = version + 1, next_probe_at = ?3 WHERE bot = ?1 AND next_probe_at IS NOT NULL
             AND EXISTS (SELECT 1 FROM bots WHERE id = ?1 AND url <> ?2)",
            values![bot, url, now],
        )?;
        Ok(())
    }
}

/// With which secrets the calls of these bots are signed; those whose calls are not are left out.
pub(super) fn signing<S: Dialect>(session: &mut S, bots: BTreeSet<IdBytes>) -> Result<Vec<SigningRow>, StoreError> {
    let ids = Vec::from_iter(bots);
    let sql = format!("SELECT {SIGNING} FROM bot_signing WHERE {} AND bot", S::is_set("is_on"));
    session.all_each(&sql, "", &ids, |row| columns::signing(row))
}

pub(super) fn faces(session: &mut impl Session, bots: &[BotId]) -> Result<Vec<(BotId, Face)>, StoreError> {
    let ids = Vec::from_iter(bots.iter().map(|bot| bot.to_bytes()).collect::<BTreeSet<IdBytes>>());
    session.list_each("SELECT bot, color, head, tail FROM bot_faces WHERE bot", "", &ids, |row, _| columns::face(row))
}

pub(super) fn health(session: &mut impl Session, bots: &[BotId]) -> Result<Vec<BotHealthRow>, StoreError> {
    let ids = Vec::from_iter(bots.iter().map(|bot| bot.to_bytes()).collect::<BTreeSet<IdBytes>>());
    let sql = format!("SELECT {HEALTH} FROM bot_health WHERE bot");
    session.list_each(&sql, "", &ids, |row, damages| columns::health(row, damages))
}

/// Accounts whose bots can be left out of a list of those to probe.
const BESIDES_MAX: usize = HEALTH_PROBES_AT_ONCE / HEALTH_PROBES_PER_ACCOUNT;

pub(super) fn to_probe(
    session: &mut impl Session,
    now: UnixMs,
    besides: &[AccountId],
    limit: usize,
) -> Result<Vec<BotToProbe>, StoreError> {
    // No bot belongs to the account of the number zero.
    let mut out = [AccountId(0); BESIDES_MAX];
    out.iter_mut().zip(besides).for_each(|(out, account)| *out = *account);
    let [a, b, c, d, e, f, g, h] = out;
    let page = |limit| *values![now, limit, a, b, c, d, e, f, g, h];
    session.page(&due(), limit, page, |row, damages| {
        Ok(BotToProbe { health: columns::health(row, damages)?, bot: bot(row)? })
    })
}

/// The queries about bots' health and calls, by name, to inspect their plans.
#[cfg(test)]
pub(crate) fn queries() -> Vec<(&'static str, String)> {
    vec![
        ("bots to probe", due()),
        ("paused bots", PAUSED.to_owned()),
        ("calls of a bot", calls_since()),
        ("old calls", RETIRE_CALLS.to_owned()),
    ]
}

//! Ladders: who enters and leaves, who is invited. Where nodes share the database, the row of the ladder is locked before, so that no
//! season ends meanwhile, and with it the account of the one who enters, so that its bot stays what it is.

mod ratings;
mod reads;

#[cfg(test)]
pub(crate) use reads::queries;

use super::{Batch, Dialect, competitions, values};
use crate::columns::Columns;
use crate::contract::StoreError;
use engine::commands::{LadderCommand, Outcome};
use engine::competitions::{CompetitionKind, CompetitionRow};
use engine::ids::{AccountId, BotId, CompetitionId, EntryId};
use engine::ladders::entry::{EntryRecord, LadderEntry};
use engine::ladders::season::current_season;
use engine::limits::{LADDER_ENTRIES_MAX, LADDER_ENTRIES_PER_ACCOUNT_MAX, LADDER_INVITATIONS_MAX};
use engine::time::UnixMs;

impl<S: Dialect> Batch<'_, S> {
    pub(crate) fn ladder(&mut self, command: &LadderCommand) -> Result<Outcome, StoreError> {
        match command {
            LadderCommand::Enter { ladder, entry, bot, account, now } => {
                self.enter_ladder(*ladder, *entry, (*bot, *account), *now)
            }
            LadderCommand::Leave { ladder, bot, account } => self.leave_ladder(*ladder, *bot, *account),
            LadderCommand::Rate(rate) => self.rate(rate),
            LadderCommand::EndSeason(advance) => self.end_season(advance),
            LadderCommand::Invite { ladder, account, now } => self.invite(*ladder, *account, *now),
            LadderCommand::Uninvite { ladder, account } => self.uninvite(*ladder, *account),
            LadderCommand::Repair(repair) => self.repair_ratings(repair),
        }
    }

    fn ladder_row(&mut self, id: CompetitionId) -> Result<Option<CompetitionRow>, StoreError> {
        let row = competitions::by_id_of(self.session, id)?;
        Ok(row.filter(|row| row.kind == CompetitionKind::Ladder))
    }

    fn enter_ladder(
        &mut self,
        id: CompetitionId,
        entry: EntryId,
        (bot, account): (BotId, AccountId),
        now: UnixMs,
    ) -> Result<Outcome, StoreError> {
        let Some(row) = self.ladder_row(id)? else { return Ok(Outcome::NotFound) };
        let own = format!("SELECT name FROM bots WHERE id = ?1 AND account = ?2 AND {}", S::is_set("is_public"));
        let Some(name) = self.session.first(&own, values![bot, account], |row| row.text())? else {
            return Ok(Outcome::NotFound);
        };
        let is_invited = row.is_public || row.account == account || reads::is_invited(self.session, id, account)?;
        if !is_invited {
            return Ok(Outcome::NotFound);
        }
        if row.status.is_ended() {
            return Ok(Outcome::NotOpen);
        }
        let season = current_season(&row);
        let known = reads::entry(self.session, id, season, bot)?;
        let is_active = known.as_ref().is_some_and(|entry| entry.is_active);
        if !is_active && let Some(refusal) = self.ladder_limit(id, season, account)? {
            return Ok(refusal);
        }
        if known.is_some() {
            let activate = "UPDATE ladder_entries SET is_active = ?4, account = ?5
                            WHERE ladder = ?1 AND season = ?2 AND bot = ?3";
            self.session.run(activate, values![id, season, bot, true, account])?;
        } else {
            let record = EntryRecord::default();
            let seats = record.encode_seats();
            self.session.run(
                "INSERT INTO ladder_entries (ladder, season, bot, entry, account, name, is_active, joined_at, mu, sigma, score,
                   is_ranked, games, first_places, food_eaten, seats, checksum)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 0, 0, 0, ?13, ?14)",
                values![
                    id,
                    season,
                    bot,
                    entry,
                    account,
                    &name,
                    true,
                    now,
                    record.rating.mu,
                    record.rating.sigma,
                    record.rating.display_score(),
                    record.is_ranked(),
                    &seats,
                    crate::columns::ladders::record(bot, season).checksum(&seats)
                ],
            )?;
        }
        let entry: Option<LadderEntry> = reads::entry(self.session, id, season, bot)?;
        Ok(entry.map_or(Outcome::NotFound, |entry| Outcome::LadderEntry(Box::new(entry))))
    }

    /// Whether another active entry would be too many.
    fn ladder_limit(
        &mut self,
        id: CompetitionId,
        season: u32,
        account: AccountId,
    ) -> Result<Option<Outcome>, StoreError> {
        let active = S::is_set("is_active");
        let own = format!(
            "SELECT count(*) FROM ladder_entries WHERE ladder = ?1 AND season = ?2 AND account = ?3 AND {active}"
        );
        let own = self.session.first(&own, values![id, season, account], |row| row.number::<usize>())?;
        if own.unwrap_or_default() >= LADDER_ENTRIES_PER_ACCOUNT_MAX {
            return Ok(Some(Outcome::LimitReached));
        }
        let all = reads::active_entries(self.session, id, season)?;
        Ok((all >= LADDER_ENTRIES_MAX).then_some(Outcome::Full))
    }

    fn leave_ladder(
        &mut self,
        id: CompetitionId,
        bot: BotId,
        account: Option<AccountId>,
    ) -> Result<Outcome, StoreError> {
        let Some(row) = self.ladder_row(id)? else { return Ok(Outcome::NotFound) };
        let leave = "UPDATE ladder_entries SET is_active = ?4
                     WHERE ladder = ?1 AND season = ?2 AND bot = ?3 AND account = coalesce(?5, account)";
        let left = self.session.run(leave, values![id, current_season(&row), bot, false, account])?;
        Ok(if left > 0 { Outcome::Done } else { Outcome::NotFound })
    }

    fn invite(&mut self, id: CompetitionId, account: AccountId, now: UnixMs) -> Result<Outcome, StoreError> {
        if self.ladder_row(id)?.is_none() || !self.has_account(account)? {
            return Ok(Outcome::NotFound);
        }
        let invited = "SELECT count(*) FROM ladder_invitations WHERE ladder = ?1 AND account <> ?2";
        let invited = self.session.first(invited, values![id, account], |row| row.number::<usize>())?;
        if invited.unwrap_or_default() >= LADDER_INVITATIONS_MAX {
            return Ok(Outcome::LimitReached);
        }
        self.session.run(
            "INSERT INTO ladder_invitations (ladder, account, invited_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (ladder, account) DO NOTHING",
            values![id, account, now],
        )?;
        Ok(Outcome::Done)
    }

    fn uninvite(&mut self, id: CompetitionId, account: AccountId) -> Result<Outcome, StoreError> {
        let Some(row) = self.ladder_row(id)? else { return Ok(Outcome::NotFound) };
        let delete = "DELETE FROM ladder_invitations WHERE ladder = ?1 AND account = ?2";
        if self.session.run(delete, values![id, account])? == 0 {
            return Ok(Outcome::NotFound);
        }
        let leave = format!(
            "UPDATE ladder_entries SET is_active = ?4 WHERE ladder = ?1 AND season = ?2 AND account = ?3 AND {}",
            S::is_set("is_active")
        );
        self.session.run(&leave, values![id, current_season(&row), account, false])?;
        Ok(Outcome::Done)
    }

    /// A bot that others may not play against any more is out of every ladder; in seasons that have ended it stays where it was.
    pub(in crate::sql) fn leave_all_ladders(&mut self, bot: BotId) -> Result<(), StoreError> {
        // A ladder that has ended has no such season.
        let leave = "UPDATE ladder_entries SET is_active = ?2
                     WHERE bot = ?1 AND season = (SELECT version + 1 FROM competitions WHERE id = ladder_entries.ladder)";
        self.session.run(leave, values![bot, false])?;
        Ok(())
    }

    /// What is shown of a bot of this account when it is gone.
    pub(in crate::sql) fn keep_bot_name(&mut self, bot: BotId, account: AccountId) -> Result<(), StoreError> {
        let keep = "UPDATE ladder_entries SET name = (SELECT name FROM bots WHERE id = ?1)
                    WHERE bot = ?1 AND EXISTS (SELECT 1 FROM bots WHERE id = ?1 AND account = ?2)";
        self.session.run(keep, values![bot, account])?;
        Ok(())
    }
}

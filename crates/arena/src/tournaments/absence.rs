//! Bots that health checks have paused are waited for: their pairings get no games until they are back, or until a game that was created
//! when the wait began would be given up. A match that is certain to be lost says nothing about who plays better.

use super::deadlines::deadline;
use super::step::Step;
use super::{TournamentError, Tournaments};
use crate::environment::ArenaEnvironment;
use engine::ids::BotId;
use engine::time::UnixMs;
use engine::tournaments::{Event, WithdrawalReason};
use std::collections::BTreeSet;
use store::StoreError;

impl<E: ArenaEnvironment> Tournaments<E> {
    /// Absent bots that are resumed come back; those that should play and whose time is up leave.
    pub(super) async fn review_absences(
        &self,
        step: &mut Step,
        leading_since: UnixMs,
        now: UnixMs,
    ) -> Result<(), TournamentError> {
        let absent: Vec<BotId> = step.state.absent().map(|(bot, _)| bot).collect();
        if absent.is_empty() {
            return Ok(());
        }
        self.withdraw_gone_of(step, absent.clone()).await?;
        let paused = self.paused_of(absent).await?;
        let absent: Vec<_> = step.state.absent().collect();
        for (bot, since) in absent {
            if !paused.contains(&bot) {
                step.happen(Event::Returned { bot })?;
            } else if deadline(&step.state, since, leading_since) <= now && step.state.is_due(bot) {
                step.happen(Event::Withdrawn { bot, reason: WithdrawalReason::Absent })?;
            }
        }
        Ok(())
    }

    /// Of bots that should play now, those that are paused become absent.
    pub(super) async fn note_absences(&self, step: &mut Step, due: Vec<BotId>) -> Result<(), TournamentError> {
        for bot in self.paused_of(due).await? {
            // One that was gone has left already.
            if !step.state.active().any(|(_, entrant)| entrant.info.bot == bot) {
                continue;
            }
            step.happen(match step.state.may_be_absent(bot) {
                true => Event::Absent { bot },
                false => Event::Withdrawn { bot, reason: WithdrawalReason::Absent },
            })?;
        }
        Ok(())
    }

    async fn paused_of(&self, bots: Vec<BotId>) -> Result<BTreeSet<BotId>, StoreError> {
        let rows = self.0.environment.read(move |reader| reader.bot_health(&bots)).await?;
        Ok(rows.into_iter().filter(|row| row.health.is_paused()).map(|row| row.bot).collect())
    }
}

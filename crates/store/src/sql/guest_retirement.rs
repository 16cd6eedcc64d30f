//! Deletes what is kept of guests who cannot come back, a page of players at a time. A player without an account is a guest, or had one that was
//! deleted, and the id says when they came. Rows that another node holds are left for the next time.

use super::{Batch, Dialect, IdBytes, skip_locked, values};
use crate::columns::Columns;
use crate::contract::StoreError;
use engine::commands::{GuestRecords, Outcome};
use engine::ids::PlayerId;
use engine::time::UnixMs;

fn table(records: GuestRecords) -> &'static str {
    match records {
        GuestRecords::Standings => "story_standings",
        GuestRecords::Hunters => "hunters",
    }
}

/// Players behind ?1 and before ?2, at most ?3, each with the account that has this id and is not deleted. A join could become one that reads all accounts.
pub(crate) fn page<S: Dialect>(records: GuestRecords) -> String {
    format!(
        "SELECT p.player, (SELECT a.id FROM accounts a WHERE a.id = p.player AND a.deleted_at IS NULL) FROM {} p
         WHERE p.player > ?1 AND p.player < ?2 ORDER BY p.player LIMIT ?3 {}",
        table(records),
        skip_locked::<S>("FOR UPDATE OF p")
    )
}

impl<S: Dialect> Batch<'_, S> {
    pub(super) fn retire_guests(
        &mut self,
        records: GuestRecords,
        after: PlayerId,
        made_before: UnixMs,
        max: usize,
    ) -> Result<Outcome, StoreError> {
        // The first id of a time has nothing but zeros behind it; those of the server's own players have no time.
        let first_of = |at: UnixMs| u128::try_from(at.0).unwrap_or(0) << 80;
        let after = after.0.max(first_of(UnixMs(1)) - 1).to_be_bytes();
        let before = first_of(made_before).to_be_bytes();
        let players = self.session.all(&page::<S>(records), values![after, before, max], |row| {
            Ok((row.id_bytes()?, row.maybe_id()?.is_some()))
        })?;
        let guests: Vec<IdBytes> =
            players.iter().filter(|(_, has_account)| !has_account).map(|(player, _)| *player).collect();
        self.session.run_each(&format!("DELETE FROM {} WHERE player", table(records)), &guests, &[])?;
        let next = players.last().filter(|_| players.len() == max).map(|(player, _)| PlayerId::from_bytes(*player));
        Ok(Outcome::GuestsRetired { count: guests.len(), next })
    }
}

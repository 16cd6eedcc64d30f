//! Leases of workers.

use super::{Batch, Dialect, Session, values};
use crate::columns::Columns;
use crate::contract::StoreError;
use engine::commands::Outcome;
use engine::ids::WorkerId;
use engine::time::UnixMs;

/// The address in a worker's lease, if the lease holds.
const ADDRESS: &str = "SELECT address FROM workers WHERE id = ?1 AND lease_until > ?2 AND NOT is_given_up";

pub(super) fn address(session: &mut impl Session, worker: WorkerId, now: UnixMs) -> Result<Option<String>, StoreError> {
    session.first(ADDRESS, values![worker, now], |row| row.text())
}

impl<S: Dialect> Batch<'_, S> {
    pub(crate) fn lease_address(&mut self, worker: WorkerId, now: UnixMs) -> Result<Option<String>, StoreError> {
        address(self.session, worker, now)
    }

    pub(crate) fn has_lease(&mut self, worker: WorkerId, now: UnixMs) -> Result<bool, StoreError> {
        Ok(self.lease_address(worker, now)?.is_some())
    }

    pub(crate) fn renew_lease(
        &mut self,
        worker: WorkerId,
        address: &str,
        now: UnixMs,
        until: UnixMs,
    ) -> Result<Outcome, StoreError> {
        let written = self.session.run(
            "INSERT INTO workers AS w (id, address, lease_until, is_given_up) VALUES (?1, ?2, ?3, false)
             ON CONFLICT (id) DO UPDATE SET address = excluded.address, lease_until = excluded.lease_until
               WHERE w.lease_until > ?4 AND NOT w.is_given_up",
            values![worker, address, until, now],
        )?;
        Ok(if written == 1 { Outcome::Done } else { Outcome::LeaseLost })
    }

    pub(crate) fn end_lease(&mut self, worker: WorkerId) -> Result<Outcome, StoreError> {
        self.session.run("UPDATE workers SET is_given_up = true WHERE id = ?1", values![worker])?;
        Ok(Outcome::Done)
    }
}

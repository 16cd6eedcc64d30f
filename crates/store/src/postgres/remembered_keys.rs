//! Idempotency keys of a batch: looked up together, and written together. Nodes take turns at a key by the lock of its owner or
//! of its hash.

use super::Batch;
use super::session::PgId;
use crate::columns::{self, Columns};
use crate::contract::StoreError;
use crate::semantics::RememberedKey;
use engine::commands::{Idempotency, Outcome};
use engine::time::UnixMs;
use std::collections::BTreeMap;

/// A table of keys, and the column of their owners.
pub(super) type KeyTable = (&'static str, &'static str);
/// Keys of accounts.
pub(super) const OF_ACCOUNTS: KeyTable = ("idempotency_keys", "account");
/// Keys of players.
pub(super) const OF_PLAYERS: KeyTable = ("story_answers", "player");

/// The keys that commands of a run name, as they are after the commands so far.
pub(super) struct RememberedKeys<'a> {
    table: KeyTable,
    known: BTreeMap<(PgId, String), RememberedKey>,
    new: BTreeMap<(PgId, &'a str), (&'a Idempotency, UnixMs)>,
}

impl<'a> RememberedKeys<'a> {
    /// What a request gets whose key was used before.
    pub(super) fn outcome(&self, owner: PgId, idempotency: &Idempotency, now: UnixMs) -> Option<Outcome> {
        self.known.get(&(owner, idempotency.key.clone()))?.outcome(idempotency, now)
    }

    pub(super) fn remember(&mut self, owner: PgId, idempotency: &'a Idempotency, now: UnixMs) {
        self.known.insert((owner, idempotency.key.clone()), RememberedKey::new(idempotency, now));
        self.new.insert((owner, &idempotency.key), (idempotency, now));
    }
}

impl Batch<'_> {
    pub(super) fn load_keys<'a>(
        &mut self,
        table: KeyTable,
        named: impl Iterator<Item = (PgId, &'a Idempotency)>,
    ) -> Result<RememberedKeys<'a>, StoreError> {
        let (owners, keys): (Vec<PgId>, Vec<&str>) = named.map(|(owner, named)| (owner, named.key.as_str())).unzip();
        let mut known = Vec::new();
        if !keys.is_empty() {
            let (name, owner) = table;
            let sql = format!(
                "SELECT {owner}, key, fingerprint, answer, created_at FROM {name}
                 WHERE ({owner}, key) IN (SELECT * FROM unnest($1::uuid[], $2::text[]))"
            );
            known = self.session.query(&sql, &[&owners, &keys], |row| {
                Ok(((PgId(row.id()?), row.text()?), columns::remembered_key(row)?))
            })?;
        }
        Ok(RememberedKeys { table, known: known.into_iter().collect(), new: BTreeMap::new() })
    }

    pub(super) fn write_keys(&mut self, keys: &RememberedKeys<'_>) -> Result<(), StoreError> {
        let RememberedKeys { table: (name, owner), new, .. } = keys;
        if new.is_empty() {
            return Ok(());
        }
        let owners: Vec<_> = new.keys().map(|(owner, _)| *owner).collect();
        let names: Vec<_> = new.keys().map(|(_, key)| *key).collect();
        let fingerprints: Vec<_> = new.values().map(|(request, _)| request.fingerprint.as_slice()).collect();
        let answers: Vec<_> = new.values().map(|(request, _)| request.response.as_slice()).collect();
        let times: Vec<_> = new.values().map(|(_, now)| now.0).collect();
        let sql = format!(
            "INSERT INTO {name} ({owner}, key, fingerprint, answer, created_at)
             SELECT * FROM unnest($1::uuid[], $2::text[], $3::bytea[], $4::bytea[], $5::bigint[])
             ON CONFLICT ({owner}, key) DO UPDATE SET fingerprint = excluded.fingerprint, answer = excluded.answer,
               created_at = excluded.created_at"
        );
        self.session.execute(&sql, &[&owners, &names, &fingerprints, &answers, &times])?;
        Ok(())
    }
}

//! Idempotency keys of a batch: looked up together, and written together. Where nodes share the database they take turns at a key by
//! the lock of its owner or of its hash.

use super::{Batch, Dialect, IdBytes, RowStatement, values};
use crate::columns;
use crate::contract::StoreError;
use crate::semantics::RememberedKey;
use engine::commands::{Idempotency, Outcome};
use engine::time::UnixMs;
use std::collections::BTreeMap;

/// Where keys of one kind of owner are kept.
pub(crate) struct KeyTable {
    load: RowStatement,
    save: RowStatement,
}

/// Keys of accounts.
pub(super) static OF_ACCOUNTS: KeyTable = KeyTable {
    load: RowStatement::new(
        "owner uuid, key text",
        "SELECT k.account, k.key, k.fingerprint, k.answer, k.checksum, k.created_at FROM {new}, idempotency_keys k
         WHERE k.account = new.owner AND k.key = new.key",
    ),
    save: RowStatement::new(
        "owner uuid, key text, fingerprint bytea, answer bytea, checksum bigint, created_at bigint",
        "INSERT INTO idempotency_keys (account, key, fingerprint, answer, checksum, created_at)
         SELECT new.* FROM {new} WHERE true ON CONFLICT (account, key) DO UPDATE
         SET fingerprint = excluded.fingerprint, answer = excluded.answer, checksum = excluded.checksum, created_at = excluded.created_at",
    ),
};
/// Keys of players.
pub(crate) static OF_PLAYERS: KeyTable = KeyTable {
    load: RowStatement::new(
        "owner uuid, key text",
        "SELECT k.player, k.key, k.fingerprint, k.answer, k.checksum, k.created_at FROM {new}, story_answers k
         WHERE k.player = new.owner AND k.key = new.key",
    ),
    save: RowStatement::new(
        "owner uuid, key text, fingerprint bytea, answer bytea, checksum bigint, created_at bigint",
        "INSERT INTO story_answers (player, key, fingerprint, answer, checksum, created_at)
         SELECT new.* FROM {new} WHERE true ON CONFLICT (player, key) DO UPDATE
         SET fingerprint = excluded.fingerprint, answer = excluded.answer, checksum = excluded.checksum, created_at = excluded.created_at",
    ),
};

/// The keys that commands name, as they are after the commands so far.
pub(crate) struct RememberedKeys<'a> {
    table: &'static KeyTable,
    known: BTreeMap<(IdBytes, String), RememberedKey>,
    new: BTreeMap<(IdBytes, &'a str), (&'a Idempotency, UnixMs)>,
}

impl<'a> RememberedKeys<'a> {
    /// What a request gets whose key was used before.
    pub(crate) fn outcome(&self, owner: IdBytes, idempotency: &Idempotency, now: UnixMs) -> Option<Outcome> {
        match self.new.get(&(owner, &*idempotency.key)) {
            Some((first, at)) => RememberedKey::new(first, *at).outcome(idempotency, now),
            None => self.known.get(&(owner, idempotency.key.clone()))?.outcome(idempotency, now),
        }
    }

    pub(crate) fn remember(&mut self, owner: IdBytes, idempotency: &'a Idempotency, now: UnixMs) {
        self.new.insert((owner, &idempotency.key), (idempotency, now));
    }
}

impl<S: Dialect> Batch<'_, S> {
    pub(crate) fn load_keys<'a>(
        &mut self,
        table: &'static KeyTable,
        named: impl Iterator<Item = (IdBytes, &'a Idempotency)>,
    ) -> Result<RememberedKeys<'a>, StoreError> {
        let named = named.map(|(owner, named)| *values![owner, &named.key]);
        let known = self.session.all_rows(&table.load, named, |row| columns::remembered_key(row))?;
        Ok(RememberedKeys { table, known: known.into_iter().collect(), new: BTreeMap::new() })
    }

    pub(crate) fn write_keys(&mut self, keys: &RememberedKeys<'_>) -> Result<(), StoreError> {
        let rows = keys.new.iter().map(|((owner, key), (request, now))| {
            let checksum = columns::response(*owner, key).checksum(&request.response);
            *values![*owner, *key, &request.fingerprint, &request.response, checksum, *now]
        });
        self.session.run_rows(&keys.table.save, rows)?;
        Ok(())
    }
}

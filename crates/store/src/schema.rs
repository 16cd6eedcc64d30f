//! Which version the schema of a store has, and what a program that knows another version may do with it. Knows no database: each finds out
//! the version in its own way.

use crate::contract::StoreError;

/// What opening a store may do to its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaPolicy {
    /// Brings an older one to the version of this program, and works beside programs of the next version: what serves.
    Migrate,
    /// Makes that of an empty store, and changes no other: commands that write.
    CreateOnly,
    /// Changes nothing: commands that look something up.
    Never,
}

/// The version of a store's schema beside the newest one that this program knows. 0 is an empty store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaVersion {
    /// That of the store.
    pub found: i64,
    /// That of this program.
    pub known: i64,
    /// Whether the store is newer, and its migrations have said that this program may serve from it.
    pub is_compatible: bool,
}

impl SchemaVersion {
    /// `compatible_from` is the oldest version of a program that may use the store, as its last migration wrote it down.
    pub(crate) fn new(found: i64, compatible_from: Option<i64>, known: i64) -> Self {
        Self { found, known, is_compatible: found > known && compatible_from.is_some_and(|oldest| oldest <= known) }
    }

    /// Whether `store`, as errors call it, must be migrated before it is used under this policy.
    pub(crate) fn must_migrate(self, policy: SchemaPolicy, store: &str) -> Result<bool, StoreError> {
        let Self { found, known, is_compatible } = self;
        match policy {
            _ if found == known => Ok(false),
            SchemaPolicy::Migrate if found < known || is_compatible => Ok(found < known),
            SchemaPolicy::CreateOnly if found == 0 => Ok(true),
            _ if found > known => Err(self.refuse_newer(store)),
            _ if found == 0 => Err(wrong_schema(format!(
                "{store} is empty: name the one that the server uses, or make a new one with gauntlet migrate"
            ))),
            _ => Err(wrong_schema(format!(
                "{store} has schema version {found}, and this program needs {known}; nothing was changed: back it up and run gauntlet migrate, or \
                 use the program of the version that serves from it"
            ))),
        }
    }

    /// A reader under the same policy: it never migrates, and waits for the writer that does.
    pub(crate) fn check_readable(self, policy: SchemaPolicy, store: &str) -> Result<(), StoreError> {
        // A command makes an empty store with its writer, as a server does.
        if !self.must_migrate(policy, store)? {
            return Ok(());
        }
        let Self { found, known, .. } = self;
        let why = format!("{store} is at schema version {found} of {known}: its writer has not been opened");
        Err(StoreError::Unavailable { why })
    }

    pub(crate) fn refuse_newer(self, store: &str) -> StoreError {
        let Self { found, known, .. } = self;
        wrong_schema(format!(
            "{store} has schema version {found}, and this program knows versions up to {known}: it was written by a newer program; run \
             that one, or restore a backup from before the upgrade (gauntlet migrate never goes back)"
        ))
    }
}

pub(crate) fn wrong_schema(why: String) -> StoreError {
    StoreError::WrongSchema { why }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program of version 5 does with a store of this version whose migrations let programs from `compatible_from` on work beside them.
    #[track_caller]
    fn check(policy: SchemaPolicy, found: i64, compatible_from: Option<i64>, want: Result<bool, &str>) {
        let version = SchemaVersion::new(found, compatible_from, 5);
        match (version.must_migrate(policy, "the store"), want) {
            (Ok(must), Ok(want)) => assert_eq!(must, want),
            (Err(StoreError::WrongSchema { why }), Err(want)) => assert!(why.contains(want), "{why}"),
            (got, want) => panic!("{got:?} instead of {want:?}"),
        }
    }

    #[test]
    fn what_serves_migrates_and_works_beside_the_next_version() {
        check(SchemaPolicy::Migrate, 0, None, Ok(true));
        check(SchemaPolicy::Migrate, 4, Some(1), Ok(true));
        check(SchemaPolicy::Migrate, 5, Some(5), Ok(false));
        check(SchemaPolicy::Migrate, 6, Some(5), Ok(false));
        check(SchemaPolicy::Migrate, 6, Some(6), Err("newer program"));
        check(SchemaPolicy::Migrate, 6, None, Err("newer program"));
    }

    #[test]
    fn commands_change_no_schema_of_another_version() {
        check(SchemaPolicy::CreateOnly, 0, None, Ok(true));
        check(SchemaPolicy::Never, 0, None, Err("gauntlet migrate"));
        for policy in [SchemaPolicy::CreateOnly, SchemaPolicy::Never] {
            check(policy, 4, Some(1), Err("run gauntlet migrate"));
            check(policy, 5, None, Ok(false));
            check(policy, 6, Some(1), Err("newer program"));
        }
    }
}

//! Keys with a quota of their own are bounded in number. Apart from the conformance suite: filling a database up
//! command by command takes too long, so its counter is set directly.

#![expect(clippy::unwrap_used, reason = "a test ends where its world does")]

use engine::commands::{Command, Outcome};
use engine::limits::LIMIT_OVERRIDES_MAX;
use engine::rows::LimitOverride;
use store::postgres::PostgresDatabase;
use store::sqlite::SqliteDatabase;
use store::testing::{PostgresCluster, TempDir};
use store::{Backend, Database};

fn put(key: &[u8]) -> Command {
    Command::PutLimitOverride(LimitOverride { policy: "p".to_owned(), key: key.to_owned(), limit: 1, window_ms: 1 })
}

/// There is room for one key more.
#[track_caller]
fn check(writer: &mut dyn Backend) {
    let forget = Command::DeleteLimitOverride { policy: "p".to_owned(), key: b"last".to_vec() };
    let commands = [put(b"last"), put(b"one more"), put(b"last"), forget, put(b"one more"), put(b"last")];
    let outcomes = writer.commit(&commands).unwrap();
    use Outcome::{Done, LimitReached};
    assert_eq!(outcomes, [Done, LimitReached, Done, Done, Done, LimitReached]);
}

fn filled() -> String {
    format!("UPDATE limit_figures SET overrides = {}", LIMIT_OVERRIDES_MAX - 1)
}

#[test]
fn sqlite_keeps_no_more_quotas_than_it_may() {
    let dir = TempDir::new();
    let file = dir.path().join("store.db");
    let mut writer = SqliteDatabase::new(&file).writer().unwrap();
    rusqlite::Connection::open(&file).unwrap().execute_batch(&filled()).unwrap();
    check(&mut *writer);
}

#[test]
fn postgres_keeps_no_more_quotas_than_it_may() {
    let url = PostgresCluster::shared().new_empty_database_url();
    let mut writer = PostgresDatabase::new(&url).unwrap().writer().unwrap();
    postgres::Client::connect(&url, postgres::NoTls).unwrap().batch_execute(&filled()).unwrap();
    check(&mut *writer);
}

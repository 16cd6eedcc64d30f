//! A database that gives fewer connections than a node needs: refused at the start with what is missing, reported while
//! it lasts, and recovered from without help.

#![expect(clippy::unwrap_used, reason = "a test ends where its world does")]

use postgres::{Client, NoTls};
use std::sync::Arc;
use std::time::Duration;
use store::postgres::PostgresDatabase;
use store::testing::PostgresCluster;
use store::{Observer, Store, StoreConfig, StoreError};

const READERS: usize = 8;

struct NullObserver;

impl Observer for NullObserver {
    fn committed(&self, _: usize, _: Duration, _: Duration, _: bool) {}
    fn read(&self, _: Duration, _: Duration, _: bool) {}
}

/// A database whose owner, who is no superuser, has a limit of connections.
struct Limited {
    url: String,
    admin: Client,
}

impl Limited {
    fn new() -> Self {
        let url = PostgresCluster::shared().new_empty_database_url();
        let mut admin = Client::connect(&url, NoTls).unwrap();
        let name = url.rsplit_once("dbname=").unwrap().1;
        admin.batch_execute(&format!("CREATE ROLE {name} LOGIN; GRANT ALL ON SCHEMA public TO {name}")).unwrap();
        Self { url: url.replace("user=gauntlet", &format!("user={name}")), admin }
    }

    fn role(&self) -> &str {
        self.url.rsplit_once("dbname=").unwrap().1
    }

    fn allow(&mut self, connections: usize) {
        let sql = format!("ALTER ROLE {} CONNECTION LIMIT {connections}", self.role());
        self.admin.batch_execute(&sql).unwrap();
    }

    fn cut_all(&mut self) {
        let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = $1::text::name";
        let role = self.role().to_owned();
        self.admin.query_one(sql, &[&role]).unwrap();
    }

    fn held(&mut self) -> i64 {
        let role = self.role().to_owned();
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE usename = $1::text::name";
        self.admin.query_one(sql, &[&role]).unwrap().get(0)
    }

    fn open(&self) -> Result<Store, StoreError> {
        let database = PostgresDatabase::new(&self.url).unwrap();
        Store::open(Arc::new(database), StoreConfig { readers: READERS }, Arc::new(NullObserver))
    }
}

/// What an attempt to open ends with. PostgreSQL counts a connection for a moment after it has left the list of activities: what finds fewer free
/// than there are is tried again.
fn open_until(
    limited: &mut Limited,
    is_expected: impl Fn(&Result<Store, StoreError>) -> bool,
) -> Result<Store, StoreError> {
    for _ in 0..100 {
        let opened = limited.open();
        if is_expected(&opened) {
            return opened;
        }
        drop(opened);
        while limited.held() > 0 {
            std::thread::yield_now();
        }
    }
    limited.open()
}

#[track_caller]
fn check_refused(limited: &mut Limited, allowed: usize, want: &str) {
    limited.allow(allowed);
    let is_wanted = |opened: &Result<Store, StoreError>| match opened {
        Err(StoreError::Unavailable { why }) => why.contains(want) && why.contains("53300"),
        _ => false,
    };
    let opened = open_until(limited, is_wanted);
    assert!(is_wanted(&opened), "{allowed} allowed: {:?}", opened.map(|_| "it opened"));
}

#[test]
fn a_node_that_does_not_get_its_connections_does_not_open() {
    let mut limited = Limited::new();
    check_refused(&mut limited, 0, "too many connections");
    check_refused(&mut limited, 1, "1 of the 9 connections that this server needs, one to write and 8 to read");
    check_refused(&mut limited, 5, "5 of the 9");
    check_refused(&mut limited, 8, "8 of the 9");
    limited.allow(1 + READERS);
    let first = open_until(&mut limited, Result::is_ok).unwrap();
    assert_eq!((limited.held(), first.missing_readers()), (9, None));
    assert!(limited.open().is_err(), "a second node has no room");
    assert_eq!(first.missing_readers(), None, "the first one has what it needs");
}

#[test]
fn connections_that_cannot_be_made_again_are_known_until_they_can() {
    let mut limited = Limited::new();
    limited.allow(1 + READERS);
    let store = limited.open().unwrap();
    limited.allow(5);
    limited.cut_all();
    // A request detects it; the other readers check by themselves.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let probe_once = || drop(runtime.block_on(store.read(|reader| reader.probe())));
    let missing = || {
        probe_once();
        store.missing_readers().map(|(count, _)| count)
    };
    // The writer comes back when it is next needed, and takes one of the five.
    while !matches!(missing(), Some(3 | 4)) {
        std::thread::yield_now();
    }
    let (_, why) = store.missing_readers().unwrap();
    assert!(matches!(&why, StoreError::Unavailable { why } if why.contains("53300")), "{why}");
    limited.allow(1 + READERS);
    while missing().is_some() {
        std::thread::yield_now();
    }
    assert_eq!(runtime.block_on(store.read(|reader| reader.probe())), Ok(()));
}

//! Plans of queries: what a database does for a statement, on tables that are full.

mod query_plans;

use super::connection::Connector;
use super::migrate::{migrate_in_turn, version};
use crate::SchemaPolicy;
use crate::columns::Columns as _;
use crate::sql::Session as _;
use crate::testing::PostgresCluster;

/// A step takes as long as it takes; the session's limits hold again afterwards.
#[test]
fn a_migration_has_no_statement_timeout() {
    let url = PostgresCluster::shared().new_empty_database_url();
    let mut session = Connector::new(&url).unwrap().open().unwrap();
    session.script("SET statement_timeout = '100ms'").unwrap();
    session.script("BEGIN").unwrap();
    let steps = ["SELECT pg_sleep(0.3)", "CREATE TABLE slowly_made (id BIGINT)"];
    assert_eq!(migrate_in_turn(&mut session, SchemaPolicy::Migrate, &steps), Ok(0));
    session.script("COMMIT").unwrap();
    assert_eq!(version(&mut session).unwrap().found, 2);
    let timeout = session.first("SELECT current_setting('statement_timeout')", &[], |row| row.text()).unwrap();
    assert_eq!(timeout.as_deref(), Some("100ms"));
}

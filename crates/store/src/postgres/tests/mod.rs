//! Plans of queries: what a database does for a statement, on tables that are full.

mod query_plans;

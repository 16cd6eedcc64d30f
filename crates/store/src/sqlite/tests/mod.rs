//! Plans of queries and the number of statements: what a database does for a statement, on tables that are full.

mod cost;
mod query_plans;

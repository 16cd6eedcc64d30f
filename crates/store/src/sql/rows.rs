//! Statements about many rows of values: SQLite runs one for each row, PostgreSQL runs one over arrays.

use std::sync::OnceLock;

/// A statement that reads the columns of its rows as `new.name`, or all of them as `new.*`, and names the rows as `FROM {new}` or
/// `USING {new}`. Where all that is selected is rows and `ON CONFLICT` follows, `WHERE true` stands between them: SQLite would read `ON`
/// as a join's.
pub(crate) struct RowStatement {
    columns: &'static str,
    sql: &'static str,
    of_one_row: OnceLock<String>,
    of_arrays: OnceLock<String>,
}

impl RowStatement {
    /// `columns` are the names of the rows' columns with their types in PostgreSQL: `match_id uuid, seat bigint`.
    pub(crate) const fn new(columns: &'static str, sql: &'static str) -> Self {
        Self { columns, sql, of_one_row: OnceLock::new(), of_arrays: OnceLock::new() }
    }

    /// The statement for one row, whose values are its parameters.
    pub(crate) fn of_one_row(&self) -> &str {
        self.of_one_row.get_or_init(|| {
            let mut columns: Vec<_> = self.columns().zip(1..).map(|((name, _), number)| (name, number)).collect();
            let all = columns.iter().map(|(_, number)| format!("?{number}")).collect::<Vec<_>>().join(", ");
            let sql =
                self.sql.replace(" FROM {new}, ", " FROM ").replace(" FROM {new}", "").replace(" USING {new}", "");
            // A name may be the beginning of a longer one.
            columns.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
            let named = |sql: String, (name, number)| sql.replace(&format!("new.{name}"), &format!("?{number}"));
            columns.into_iter().fold(sql.replace("new.*", &all), named)
        })
    }

    /// The statement for all rows; its parameters are their columns as arrays.
    pub(crate) fn of_arrays(&self) -> &str {
        self.of_arrays.get_or_init(|| {
            let numbered = self.columns().zip(1..).map(|((_, kind), number)| format!("?{number}::{kind}[]"));
            let arrays = numbered.collect::<Vec<_>>().join(", ");
            let names = self.columns().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
            self.sql.replace("{new}", &format!("unnest({arrays}) AS new ({names})"))
        })
    }

    /// Names and types.
    fn columns(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.columns.split(", ").filter_map(|column| column.split_once(' '))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sql: &'static str, of_one_row: &str, of_arrays: &str) {
        let statement = RowStatement::new("id uuid, score bigint, score_prev bigint", sql);
        assert_eq!(statement.of_one_row(), of_one_row);
        let rows = "unnest(?1::uuid[], ?2::bigint[], ?3::bigint[]) AS new (id, score, score_prev)";
        assert_eq!(statement.of_arrays(), of_arrays.replace("ROWS", rows));
    }

    #[test]
    fn a_statement_has_a_form_for_each_database() {
        check(
            "INSERT INTO t SELECT new.* FROM {new}",
            "INSERT INTO t SELECT ?1, ?2, ?3",
            "INSERT INTO t SELECT new.* FROM ROWS",
        );
        check(
            "UPDATE t SET a = new.score_prev, b = new.score FROM {new} WHERE t.id = new.id",
            "UPDATE t SET a = ?3, b = ?2 WHERE t.id = ?1",
            "UPDATE t SET a = new.score_prev, b = new.score FROM ROWS WHERE t.id = new.id",
        );
        check(
            "SELECT t.* FROM {new}, t WHERE t.id = new.id",
            "SELECT t.* FROM t WHERE t.id = ?1",
            "SELECT t.* FROM ROWS, t WHERE t.id = new.id",
        );
        check(
            "DELETE FROM t USING {new} WHERE t.id = new.id",
            "DELETE FROM t WHERE t.id = ?1",
            "DELETE FROM t USING ROWS WHERE t.id = new.id",
        );
    }
}

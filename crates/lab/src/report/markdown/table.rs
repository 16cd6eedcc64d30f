//! Tables that are Markdown and also line up in a terminal, within a given width: a cell that is too long moves below
//! the table, and a table that is still too wide is split into several, each with the columns that name its rows. Does
//! not know their content.

use super::{escape_line, escape_markdown};
use crate::format::markdown_table;
use crate::report::content::{Table, TableCell};

/// Characters from which a text cell moves below the table, if the table is too wide.
const CELL_MAX: usize = 18;

/// Characters of a cell that names its row.
const NAME_MAX: usize = 40;

/// The table in at most `width` columns, and its notes.
pub(super) fn fit_table(table: &Table, width: usize) -> String {
    let mut moved = Vec::new();
    let rows = shorten_cells(table, width, &mut moved);
    let columns = Columns { table, rows: &rows };
    let mut parts: Vec<String> = columns.split(width).iter().map(|chosen| columns.draw(chosen)).collect();
    let notes: Vec<String> = moved.iter().chain(&table.notes).map(|note| escape_line(note)).collect();
    if !notes.is_empty() {
        parts.push(notes.join("\n"));
    }
    parts.join("\n\n")
}

/// The texts of all cells, the long ones moved if the table is too wide.
fn shorten_cells(table: &Table, width: usize, moved: &mut Vec<String>) -> Vec<Vec<String>> {
    let text = |cell: &TableCell| escape_markdown(&cell.text).replace('|', "\\|");
    let mut rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(text).collect()).collect();
    let all: Vec<usize> = (0..table.heading.len()).collect();
    if (Columns { table, rows: &rows }).width(&all) <= width {
        return rows;
    }
    for (row, cells) in rows.iter_mut().zip(&table.rows) {
        for (column, text) in row.iter_mut().enumerate() {
            let most = if column == table.name_column { NAME_MAX } else { CELL_MAX };
            if text.chars().count() > most {
                let name: String = cells[table.name_column].text.chars().take(NAME_MAX).collect();
                moved.push(format!("{name}, {}: {}", table.heading[column], cells[column].text));
                *text = "see below".to_owned();
            }
        }
    }
    rows
}

/// Cells of which some columns are drawn.
struct Columns<'a> {
    table: &'a Table,
    /// The texts of its cells, as they are shown.
    rows: &'a [Vec<String>],
}

impl Columns<'_> {
    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[column].chars().count());
        cells.chain([self.table.heading[column].chars().count(), 2]).max().unwrap_or(2)
    }

    fn width(&self, chosen: &[usize]) -> usize {
        chosen.iter().map(|column| self.width_of(*column) + 3).sum::<usize>() + 1
    }

    /// The columns of each table, each after those that name the row: as few tables as the width allows, with about as
    /// many columns in each.
    fn split(&self, width: usize) -> Vec<Vec<usize>> {
        let tables = self.fill_tables(width, usize::MAX).len();
        let even = (self.table.heading.len() - self.head().len()).div_ceil(tables);
        let balanced = self.fill_tables(width, even);
        if balanced.len() > tables { self.fill_tables(width, usize::MAX) } else { balanced }
    }

    /// The columns up to the one that names the row: without them a row of a later table could not be identified.
    fn head(&self) -> Vec<usize> {
        (0..=self.table.name_column).collect()
    }

    /// Tables of at most this many columns besides their head, each as full as the width allows.
    fn fill_tables(&self, width: usize, columns_max: usize) -> Vec<Vec<usize>> {
        let head = self.head();
        let mut tables: Vec<Vec<usize>> = vec![head.clone()];
        for column in head.len()..self.table.heading.len() {
            let table = tables.last_mut().expect("it begins with one table and only grows");
            table.push(column);
            let own = table.len() - head.len();
            if own > 1 && (self.width(table) > width || own > columns_max) {
                table.pop();
                tables.push(head.iter().copied().chain([column]).collect());
            }
        }
        tables
    }

    fn draw(&self, chosen: &[usize]) -> String {
        let left = chosen.iter().filter(|column| **column < self.table.text_columns).count();
        let heading: Vec<&str> = chosen.iter().map(|column| self.table.heading[*column].as_str()).collect();
        let row = |row: &Vec<String>| chosen.iter().map(|column| row[*column].clone()).collect();
        let rows: Vec<Vec<String>> = self.rows.iter().map(row).collect();
        markdown_table(left, &heading, &rows).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_table(left: usize, heading: &[&str], rows: &[&[&str]]) -> Table {
        let heading = heading.iter().map(|text| (*text).to_owned()).collect();
        let rows = rows.iter().map(|row| row.iter().map(|text| TableCell::from(*text)).collect()).collect();
        Table { text_columns: left, heading, rows, ..Table::default() }
    }

    #[track_caller]
    fn check(table: &Table, width: usize, expected: &str) {
        assert_eq!(fit_table(table, width), expected);
    }

    #[test]
    fn a_table_that_fits_stays_one() {
        let table = test_table(1, &["name", "n"], &[&["a", "1"], &["longer", "2,000"]]);
        check(&table, 18, "| name   |     n |\n|--------|------:|\n| a      |     1 |\n| longer | 2,000 |");
    }

    #[test]
    fn a_table_that_is_too_wide_becomes_even_ones_with_the_same_first_column() {
        let table = test_table(1, &["name", "one", "two", "x", "y"], &[&["a", "100", "200", "3", "4"]]);
        let expected = "| name | one | two |\n|------|----:|----:|\n| a    | 100 | 200 |\n\n\
                        | name |  x |  y |\n|------|---:|---:|\n| a    |  3 |  4 |";
        check(&table, 26, expected);
    }

    #[test]
    fn every_row_of_every_table_is_named() {
        let table =
            test_table(4, &["", "gate", "limit", "value", "used"], &[&["ok", "turn.p99", "< 14.2", "2.84", "20 %"]]);
        let expected = "|    | gate     | limit  | value |\n|----|----------|--------|-------|\n| ok | turn.p99 | < 14.2 | 2.84  |\n\n\
                        |    | gate     | used |\n|----|----------|-----:|\n| ok | turn.p99 | 20 % |";
        check(&Table { name_column: 1, ..table }, 36, expected);
    }

    #[test]
    fn a_long_cell_moves_below() {
        let long = "it ended by itself, and said nothing";
        let table = test_table(3, &["", "gate", "value"], &[&["FAIL", "alive", long]]);
        let expected = format!(
            "|      | gate  | value     |\n|------|-------|-----------|\n| FAIL | alive | see below |\n\n\
             - alive, value: {long}"
        );
        check(&Table { name_column: 1, ..table }, 40, &expected);
    }

    #[test]
    fn no_cell_begins_another() {
        check(&test_table(1, &["a"], &[&["x|y"]]), 80, "| a    |\n|------|\n| x\\|y |");
    }
}

//! Feeds: rows of a file from which arrivals take their values. Parses the text of such a file; does not open it, and
//! does not know its location.

use serde_json::{Map, Value};

use super::reader::{NodeReader, check_name};
use super::validation::{Origin, ValidationError};
use crate::format::known_names;
use crate::limits::{FEED_BYTES_MAX, FEED_ROWS_MAX};

/// Rows from a file, whose columns templates use as `{{feed.NAME.COLUMN}}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    pub name: String,
    /// The file, relative to the scenario's.
    pub file: String,
    pub format: FeedFormat,
    /// Which row an arrival gets.
    pub order: FeedOrder,
    /// The columns that templates use, in the order in which templates number them.
    pub columns: Vec<String>,
    /// Where its file is named.
    pub origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FeedFormat {
    Csv,
    JsonLines,
}

/// Which row an arrival gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedOrder {
    /// In order, starting over at the end.
    Cycle,
    /// A row chosen by the arrival's seed.
    Random,
}

/// The rows of a feed: each has a value for each column.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FeedRows {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Box<str>>>,
}

impl Feed {
    /// Reads one. What cannot be read adds an error and yields an empty feed, so that templates that use it cause no
    /// further errors.
    pub(crate) fn read(name: &str, at: &NodeReader<'_>) -> Self {
        check_name(at, name);
        let (mut file, mut order, mut origin) = (None, None, at.node.origin.clone());
        at.table(|fields| {
            file = fields.get_required("file", "a .csv or .jsonl file, relative to the scenario's").and_then(|at| {
                origin = at.node.origin.clone();
                read_file_spec(&at)
            });
            let orders = [("cycle", FeedOrder::Cycle), ("random", FeedOrder::Random)];
            order = fields.optional("order", |at| at.choice(&orders));
        });
        let (file, format) = file.unwrap_or((String::new(), FeedFormat::Csv));
        let order = order.unwrap_or(FeedOrder::Cycle);
        Self { name: name.to_owned(), file, format, order, columns: Vec::new(), origin }
    }

    /// The error to report when its rows cannot be read.
    #[must_use]
    pub fn validation_error(&self, message: String) -> ValidationError {
        ValidationError { origin: self.origin.clone(), key: format!("feed.{}.file", self.name), message }
    }

    /// The rows of its file, reduced to the columns that templates use, as a [`super::Scope`] needs them.
    ///
    /// # Errors
    /// A sentence that names the file, the line and the column, or lists the columns that exist.
    pub fn parse_rows(&self, text: &str) -> Result<FeedRows, String> {
        let all = parse(text, self.format).map_err(|message| format!("{}, {message}", self.file))?;
        all.select_columns(&self.columns).map_err(|message| {
            format!("{} {message} of the feed \"{}\"; it has {}", self.file, self.name, known_names(&all.columns))
        })
    }
}

impl FeedRows {
    /// The same rows with these columns alone, in this order.
    fn select_columns(&self, columns: &[String]) -> Result<Self, String> {
        let index = |column: &String| {
            let found = self.columns.iter().position(|known| known == column);
            found.ok_or_else(|| format!("has no column `{column}`"))
        };
        let places: Vec<usize> = columns.iter().map(index).collect::<Result<_, _>>()?;
        let row = |row: &Vec<Box<str>>| places.iter().map(|index| row[*index].clone()).collect();
        Ok(Self { columns: columns.to_vec(), rows: self.rows.iter().map(row).collect() })
    }

    fn push(&mut self, line: u64, row: Vec<Box<str>>) -> Result<(), String> {
        if self.rows.len() == FEED_ROWS_MAX {
            return Err(format!("line {line}: a feed has at most {FEED_ROWS_MAX} rows"));
        }
        self.rows.push(row);
        Ok(())
    }
}

fn read_file_spec(at: &NodeReader<'_>) -> Option<(String, FeedFormat)> {
    let file = at.text()?;
    let format = match file.rsplit_once('.') {
        Some((_, "csv")) => FeedFormat::Csv,
        Some((_, "jsonl")) => FeedFormat::JsonLines,
        _ => return at.reject(format!("must end with .csv or .jsonl, not \"{file}\"")),
    };
    Some((file.to_owned(), format))
}

/// Parses the text of a feed: CSV with a heading (RFC 4180), or one JSON object per line with the same members in each.
///
/// # Errors
/// What is wrong, with line and column.
pub fn parse(text: &str, format: FeedFormat) -> Result<FeedRows, String> {
    if text.len() > FEED_BYTES_MAX {
        return Err(format!("line 1: a feed has at most {FEED_BYTES_MAX} bytes, this one has {}", text.len()));
    }
    let rows = match format {
        FeedFormat::Csv => parse_csv(text)?,
        FeedFormat::JsonLines => parse_json_lines(text)?,
    };
    if rows.rows.is_empty() {
        return Err("line 1: there is no row to take values from".to_owned());
    }
    Ok(rows)
}

fn parse_csv(text: &str) -> Result<FeedRows, String> {
    check_closed_quotes(text)?;
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let heading = reader.headers().map_err(|error| format!("line 1: {error}"))?;
    let columns: Vec<String> = heading.iter().map(|name| name.trim().to_owned()).collect();
    check_columns(&columns)?;
    let mut rows = FeedRows { columns, rows: Vec::new() };
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| error.to_string())? {
        let line = record.position().map_or(0, csv::Position::line);
        if let Some(missing) = rows.columns.get(record.len()) {
            return Err(format!("line {line}, column `{missing}`: is missing"));
        }
        if record.len() > rows.columns.len() {
            return Err(format!(
                "line {line}: has {} fields, but the heading names {}: put a field with a comma in quotes",
                record.len(),
                rows.columns.len()
            ));
        }
        rows.push(line, record.iter().map(Box::from).collect())?;
    }
    Ok(rows)
}

/// The CSV library reads a quote that is never closed as a field that extends to the end of the file.
fn check_closed_quotes(text: &str) -> Result<(), String> {
    let (mut line, mut opened) = (1, None);
    for byte in text.bytes() {
        match byte {
            b'\n' => line += 1,
            b'"' => opened = if opened.is_some() { None } else { Some(line) },
            _ => {}
        }
    }
    opened.map_or(Ok(()), |line| Err(format!("line {line}: opens a quote that is never closed")))
}

fn check_columns(columns: &[String]) -> Result<(), String> {
    if columns.is_empty() {
        return Err("line 1, column 1: has no name: the first line names the columns".to_owned());
    }
    for (index, name) in columns.iter().enumerate() {
        let wrong = |what: &str| Err(format!("line 1, column {}: {what}", index + 1));
        if name.is_empty() {
            return wrong("has no name: the first line names the columns");
        }
        if name.contains("}}") || name.contains("{{") {
            return wrong(&format!("`{name}` cannot stand in a template"));
        }
        if columns[..index].contains(name) {
            return wrong(&format!("`{name}` is named a second time"));
        }
    }
    Ok(())
}

fn parse_json_lines(text: &str) -> Result<FeedRows, String> {
    let mut rows = FeedRows::default();
    for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        let object: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| format!("line {line}: {}", json_line_error(&error)))?;
        if rows.rows.is_empty() {
            rows.columns = object.keys().cloned().collect();
            check_columns(&rows.columns)?;
        }
        if let Some(other) = object.keys().find(|name| !rows.columns.contains(name)) {
            return Err(format!("line {line}, column `{other}`: is not in the first line"));
        }
        let value =
            |name: &String| cell_text(object.get(name)).map_err(|what| format!("line {line}, column `{name}`: {what}"));
        let row = rows.columns.iter().map(value).collect::<Result<_, _>>()?;
        rows.push(line, row)?;
    }
    Ok(rows)
}

/// The JSON library counts lines within the line that it was given.
fn json_line_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    format!("is not a JSON object, at character {}: {what}", error.column())
}

fn cell_text(value: Option<&Value>) -> Result<Box<str>, &'static str> {
    match value {
        Some(Value::String(text)) => Ok(text.as_str().into()),
        Some(Value::Number(number)) => Ok(number.to_string().into()),
        Some(Value::Bool(flag)) => Ok(flag.to_string().into()),
        Some(Value::Null | Value::Array(_) | Value::Object(_)) => Err("must be a text, a number, true or false"),
        None => Err("is missing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: FeedFormat, text: &str, expected: Result<(&[&str], &[&[&str]]), &str>) {
        let rows = parse(text, format);
        let texts = |row: &Vec<Box<str>>| row.iter().map(ToString::to_string).collect::<Vec<_>>();
        let found = rows.map(|rows| (rows.columns.clone(), rows.rows.iter().map(texts).collect::<Vec<_>>()));
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let expected = expected.map(|(columns, rows)| (owned(columns), rows.iter().map(|row| owned(row)).collect()));
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn csv_is_read_by_its_standard() {
        let csv = |text, expected| check(FeedFormat::Csv, text, expected);
        csv("a,b\n1,2\n3,4\n", Ok((&["a", "b"], &[&["1", "2"], &["3", "4"]])));
        csv("a,b\r\n1,2\r\n3,4", Ok((&["a", "b"], &[&["1", "2"], &["3", "4"]])));
        csv("\u{feff}a, b \nx, y \n", Ok((&["a", "b"], &[&["x", " y "]])));
        csv(
            "a,\"b, c\"\n\"one, two\",\"say \"\"hi\"\"\"\n\"three\r\nlines\n\",\n",
            Ok((&["a", "b, c"], &[&["one, two", "say \"hi\""], &["three\r\nlines\n", ""]])),
        );
    }

    #[test]
    fn errors_of_csv_name_line_and_column() {
        let csv = |text, expected| check(FeedFormat::Csv, text, Err(expected));
        csv("", "line 1, column 1: has no name: the first line names the columns");
        csv("a,b\n", "line 1: there is no row to take values from");
        csv("a,,c\n1,2,3\n", "line 1, column 2: has no name: the first line names the columns");
        csv("a,b,a\n1,2,3\n", "line 1, column 3: `a` is named a second time");
        csv("a,b}}\n1,2\n", "line 1, column 2: `b}}` cannot stand in a template");
        csv("a,b\n\"x\ny\",1\n3\n", "line 4, column `b`: is missing");
        csv("a,b\n1,2,3\n", "line 2: has 3 fields, but the heading names 2: put a field with a comma in quotes");
        csv("a,b\n1,2\n3,\"4\n5,6\n", "line 3: opens a quote that is never closed");
    }

    #[test]
    fn json_lines_hold_one_object_each() {
        let json = |text, expected| check(FeedFormat::JsonLines, text, expected);
        json(
            "{\"b\":\"x\",\"a\":1.5}\n\n{\"a\":true,\"b\":\"\"}\r\n",
            Ok((&["a", "b"], &[&["1.5", "x"], &["true", ""]])),
        );
        json("", Err("line 1: there is no row to take values from"));
        json("{\"a\":1}\n{\"a\":1,\"b\":2}\n", Err("line 2, column `b`: is not in the first line"));
        json("{\"a\":1,\"b\":2}\n{\"a\":1}\n", Err("line 2, column `b`: is missing"));
        json("{\"a\":[1]}\n", Err("line 1, column `a`: must be a text, a number, true or false"));
        json(
            "{\"a\":1}\n[1]\n",
            Err("line 2: is not a JSON object, at character 0: invalid type: sequence, expected a map"),
        );
        json("{\"a\":1\n", Err("line 1: is not a JSON object, at character 6: EOF while parsing an object"));
    }

    #[test]
    fn a_feed_has_bounds() {
        let many = "a\n".to_owned() + &"1\n".repeat(FEED_ROWS_MAX + 1);
        let rows = parse(&many, FeedFormat::Csv).map(|rows| rows.rows.len());
        assert_eq!(rows, Err(format!("line {}: a feed has at most {FEED_ROWS_MAX} rows", FEED_ROWS_MAX + 2)));
        let long = "x".repeat(FEED_BYTES_MAX + 1);
        let complaint = parse(&long, FeedFormat::Csv).unwrap_err();
        assert!(complaint.starts_with("line 1: a feed has at most"), "{complaint}");
    }

    fn feed(columns: &[&str]) -> Feed {
        Feed {
            name: "users".to_owned(),
            file: "users.csv".to_owned(),
            format: FeedFormat::Csv,
            order: FeedOrder::Cycle,
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            origin: Origin::Line(1),
        }
    }

    #[test]
    fn only_the_columns_that_are_used_are_kept() {
        let text = "id,name,mail\n1,ann,a@x\n2,bob,b@x\n";
        let rows = feed(&["mail", "id"]).parse_rows(text).unwrap();
        assert_eq!(rows.columns, ["mail", "id"]);
        assert_eq!(rows.rows[1], ["b@x".into(), "2".into()]);
        let complaint = "users.csv has no column `nmae` of the feed \"users\"; it has id, name, mail";
        assert_eq!(feed(&["nmae"]).parse_rows(text).unwrap_err(), complaint);
        assert_eq!(
            feed(&["id"]).parse_rows("id\n").unwrap_err(),
            "users.csv, line 1: there is no row to take values from"
        );
    }
}

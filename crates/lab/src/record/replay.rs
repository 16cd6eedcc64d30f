//! Reads a timeline from its file row by row, so that reports and findings can be made from what was recorded. A trial
//! that was cut off left half a line at the end, and a later lab may have written kinds of rows that this one does not
//! know: neither keeps the rest from being read. Does not interpret rows: the aggregate does.

use std::io::{self, BufRead, Read as _};

use crate::limits::TIMELINE_LINE_BYTES_MAX;
use crate::measurement::timeline::TimelineRow;

/// Passes every row to `see`, in the order of the file; returns the number of lines that could not be read.
///
/// # Errors
/// The rows cannot be read.
pub fn for_each_row(mut rows: impl BufRead, mut see: impl FnMut(&TimelineRow)) -> io::Result<u64> {
    let mut line = Vec::new();
    let mut unread = 0;
    while read_line(&mut rows, &mut line)? {
        let is_whole = line.ends_with(b"\n");
        match serde_json::from_slice::<TimelineRow>(&line) {
            Ok(row) => see(&row),
            // The last line of a run that was cut off.
            Err(_) if !is_whole => {}
            Err(_) => unread += 1,
        }
    }
    Ok(unread)
}

/// The next line, with its end. One that is longer than any row can be is cut, and its rest skipped.
fn read_line(rows: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let read = rows.take(TIMELINE_LINE_BYTES_MAX as u64).read_until(b'\n', line)?;
    if read == TIMELINE_LINE_BYTES_MAX && !line.ends_with(b"\n") {
        rows.skip_until(b'\n')?;
        line.push(b'\n');
    }
    Ok(read > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = r#"{"kind":"note","t_s":1.0,"note":"seen"}"#;

    /// The notes of a text, and how many of its lines could not be read.
    fn notes(rows: impl BufRead) -> (Vec<String>, u64) {
        let mut notes = Vec::new();
        let unread = for_each_row(rows, |row| match row {
            TimelineRow::Note(row) => notes.push(row.note.clone()),
            other => assert_eq!(*other, TimelineRow::Unknown),
        });
        (notes, unread.unwrap())
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str], unread: u64) {
        assert_eq!(
            notes(text.as_bytes()),
            (expected.iter().map(|note| (*note).to_owned()).collect(), unread),
            "{text}"
        );
    }

    #[test]
    fn readable_rows_are_read() {
        check("", &[], 0);
        check(&format!("{NOTE}\n{NOTE}\n"), &["seen", "seen"], 0);
        // Cut off in the middle of a row, and between a row and its end.
        check(&format!("{NOTE}\n{}", &NOTE[..20]), &["seen"], 0);
        check(&format!("{NOTE}\n{NOTE}"), &["seen", "seen"], 0);
        // Kinds of a later lab.
        check(&format!("{{\"kind\":\"weather\",\"t_s\":0}}\n{NOTE}\n"), &["seen"], 0);
        // Broken lines in the middle are counted.
        check(&format!("not a row\n{{\"kind\":\"note\"}}\n{NOTE}\n"), &["seen"], 2);
        check(&format!("\u{0}\n{NOTE}\n"), &["seen"], 1);
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory() {
        let endless = io::repeat(b'x').take(2 * TIMELINE_LINE_BYTES_MAX as u64);
        let note = format!("\n{NOTE}\n");
        let rows = io::BufReader::new(endless.chain(note.as_bytes()));
        assert_eq!(notes(rows), (vec!["seen".to_owned()], 1));
    }
}

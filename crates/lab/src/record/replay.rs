//! Reads a timeline from its file row by row, so that reports and findings can be made from what was recorded. A trial
//! that was cut off left half a line at the end, and a later lab may have written kinds of rows that this one does not
//! know: neither keeps the rest from being read. Does not interpret rows: the aggregate does.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use crate::aggregate::Timeline;
use crate::limits::TIMELINE_LINE_BYTES_MAX;
use crate::measurement::timeline::{NoteRow, TimelineRow};

/// Aggregates the file at `path`.
///
/// # Errors
/// The file cannot be read.
pub fn read_timeline(path: &Path) -> io::Result<Timeline> {
    aggregate_rows(BufReader::new(File::open(path)?), Timeline::default())
}

/// Aggregates rows into `timeline`, one JSON object a line, and closes it.
///
/// # Errors
/// The rows cannot be read.
pub fn aggregate_rows(rows: impl BufRead, mut timeline: Timeline) -> io::Result<Timeline> {
    let unread = for_each_row(rows, |row| timeline.add(row))?;
    timeline.close();
    if unread > 0 {
        let note = format!("Lines of the timeline that could not be read, and that its figures are without: {unread}.");
        timeline.notes.push(NoteRow { t_s: 0.0, note });
    }
    Ok(timeline)
}

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

    /// Compares the notes that result from a text.
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let timeline = aggregate_rows(text.as_bytes(), Timeline::default()).unwrap();
        let notes: Vec<&str> = timeline.notes.iter().map(|row| row.note.as_str()).collect();
        assert_eq!(notes, expected, "{text}");
    }

    #[test]
    fn readable_rows_are_read() {
        check("", &[]);
        check(&format!("{NOTE}\n{NOTE}\n"), &["seen", "seen"]);
        // Cut off in the middle of a row, and between a row and its end.
        check(&format!("{NOTE}\n{}", &NOTE[..20]), &["seen"]);
        check(&format!("{NOTE}\n{NOTE}"), &["seen", "seen"]);
        // Kinds of a later lab.
        check(&format!("{{\"kind\":\"weather\",\"t_s\":0}}\n{NOTE}\n"), &["seen"]);
        // Broken lines in the middle are counted in a note.
        let unread = "Lines of the timeline that could not be read, and that its figures are without: 2.";
        check(&format!("not a row\n{{\"kind\":\"note\"}}\n{NOTE}\n"), &["seen", unread]);
        check(&format!("\u{0}\n{NOTE}\n"), &["seen", &unread.replace('2', "1")]);
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory() {
        let endless = io::repeat(b'x').take(2 * TIMELINE_LINE_BYTES_MAX as u64);
        let note = format!("\n{NOTE}\n");
        let rows = BufReader::new(endless.chain(note.as_bytes()));
        let timeline = aggregate_rows(rows, Timeline::default()).unwrap();
        assert_eq!(timeline.notes.len(), 2);
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let error = read_timeline(Path::new("/nowhere/timeline.jsonl")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}

//! intervals.hlog: every second's histograms in the log format of HdrHistogram (version 1.3, V2 encoding, deflated),
//! which its other tools read as well. Values are microseconds; a line's tag is `load_step:operation:figure`. Written and
//! read line by line, so that neither needs more memory for a longer run. Does not merge: the aggregate does.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};

use super::files::GrowingFile;

/// The log format gives a line's highest value in milliseconds.
const US_PER_MS: f64 = 1000.0;

/// What a histogram measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HistogramKind {
    /// From the intended time to the end of an ok response.
    Latency,
    /// From sending to the end of an ok response.
    Service,
    /// From the intended time to the end of what was denied or failed.
    Failed,
    /// From sending to the end of an ok response to a long poll.
    Waited,
    /// The wake delay of such a response: from the event in it until it was received.
    Wake,
    /// From the time at which a held connection was due until it was open.
    Opening,
    /// How late arrivals were sent because of the generator.
    Lag,
}

impl HistogramKind {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Latency, "latency"),
        (Self::Service, "service"),
        (Self::Failed, "failed"),
        (Self::Waited, "waited"),
        (Self::Wake, "wake"),
        (Self::Opening, "opening"),
        (Self::Lag, "lag"),
    ];

    /// The figure in a line's tag.
    #[must_use]
    pub fn tag(self) -> &'static str {
        Self::ALL.iter().find(|(figure, _)| *figure == self).map_or("", |(_, word)| word)
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(figure, _)| *figure)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The start of the second, from the start of the plan.
    pub second: u64,
    /// The load step.
    pub load_step: u32,
    /// The operation: `create_game`, or `create_game.steps.post`; for the lag: `generator`.
    pub op: String,
    pub figure: HistogramKind,
    /// Microseconds.
    pub histogram: Histogram<u64>,
}

pub struct Writer {
    file: GrowingFile,
    serializer: V2DeflateSerializer,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Writer {
    /// A new file whose times count from `start_unix_ms`.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path, start_unix_ms: i64) -> io::Result<Self> {
        let start_s = start_unix_ms as f64 / 1000.0;
        let head = format!(
            "#[Histogram log format version 1.3]\n\
             #[StartTime: {start_s:.3} (seconds since epoch)]\n\
             #[BaseTime: {start_s:.3} (seconds since epoch)]\n\
             \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
        );
        let file = GrowingFile::create(path, &head)?;
        Ok(Self { file, serializer: V2DeflateSerializer::new(), bytes: Vec::new() })
    }

    /// Appends a second's histogram; an empty one is omitted.
    pub fn write(&mut self, second: u64, load_step: u32, op: &str, figure: HistogramKind, histogram: &Histogram<u64>) {
        if histogram.is_empty() {
            return;
        }
        let Self { file, serializer, bytes } = self;
        file.write(|out| {
            bytes.clear();
            serializer.serialize(histogram, bytes).map_err(|error| io::Error::other(error.to_string()))?;
            let (figure, max_ms) = (figure.tag(), histogram.max() as f64 / US_PER_MS);
            let encoded = STANDARD.encode(bytes);
            writeln!(out, "Tag={load_step}:{op}:{figure},{second}.000,1.000,{max_ms:.3},{encoded}")
        });
    }

    /// Hands everything to the kernel, so that it outlives this process.
    pub fn flush(&mut self) {
        self.file.write(io::Write::flush);
    }

    /// The first error, if there was one.
    pub fn failure(&mut self) -> Option<io::Error> {
        self.file.failure()
    }
}

/// Reads a file line by line. A last line that was cut off by a crash is omitted, and so are lines that are no entries
/// (comments, the heading).
///
/// # Errors
/// The file cannot be opened; later errors are items.
pub fn read(path: &Path) -> io::Result<impl Iterator<Item = io::Result<Entry>>> {
    let mut lines = BufReader::new(File::open(path)?).lines();
    let mut decoder = Deserializer::new();
    Ok(std::iter::from_fn(move || {
        loop {
            match lines.next()? {
                Err(error) => return Some(Err(error)),
                Ok(line) => {
                    if let Some(entry) = parse(&line, &mut decoder) {
                        return Some(Ok(entry));
                    }
                }
            }
        }
    }))
}

fn parse(line: &str, decoder: &mut Deserializer) -> Option<Entry> {
    let mut columns = line.strip_prefix("Tag=")?.split(',');
    let mut tag = columns.next()?.split(':');
    let load_step = tag.next()?.parse().ok()?;
    let op = tag.next()?.to_owned();
    let figure = HistogramKind::parse(tag.next()?)?;
    let second = columns.next()?.split('.').next()?.parse().ok()?;
    let bytes = STANDARD.decode(columns.nth(2)?).ok()?;
    let histogram = decoder.deserialize(&mut bytes.as_slice()).ok()?;
    Some(Entry { second, load_step, op, figure, histogram })
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;
    use crate::measurement::histogram;

    fn entry(second: u64, op: &str, figure: HistogramKind, values: &[u64]) -> Entry {
        let mut histogram = histogram();
        values.iter().for_each(|value| histogram.record(*value).unwrap());
        Entry { second, load_step: 3, op: op.to_owned(), figure, histogram }
    }

    fn written(name: &str, entries: &[Entry]) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("lab-hlog-{}-{name}", std::process::id()));
        let mut writer = Writer::create(&path, 1_700_000_000_500).unwrap();
        for Entry { second, load_step, op, figure, histogram } in entries {
            writer.write(*second, *load_step, op, *figure, histogram);
        }
        writer.flush();
        assert!(writer.failure().is_none());
        path
    }

    #[test]
    fn entries_round_trip() {
        let entries = [
            entry(0, "create", HistogramKind::Latency, &[1, 1500, 90_000_000]),
            entry(7, "create.steps.post", HistogramKind::Lag, &[12]),
        ];
        let path = written("back", &entries);
        let found: Vec<Entry> = read(&path).unwrap().map(Result::unwrap).collect();
        assert_eq!(found, entries);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn other_tools_can_read_it() {
        let path = written("tools", &[entry(7, "create", HistogramKind::Service, &[1500])]);
        let bytes = std::fs::read(&path).unwrap();
        let entries: Vec<LogEntry<'_>> = IntervalLogIterator::new(&bytes).map(Result::unwrap).collect();
        let [LogEntry::StartTime(start), LogEntry::BaseTime(base), LogEntry::Interval(interval)] = entries.as_slice()
        else {
            panic!("{entries:?}")
        };
        assert_eq!((start.as_millis(), start), (1_700_000_000_500, base));
        assert_eq!(interval.tag().map(|tag| tag.as_str()), Some("3:create:service"));
        assert_eq!((interval.start_timestamp().as_secs(), interval.duration().as_secs()), (7, 1));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn omits_a_line_cut_off_by_a_crash() {
        let path =
            written("cut", &[entry(0, "a", HistogramKind::Latency, &[5]), entry(1, "a", HistogramKind::Latency, &[6])]);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
        let seconds: Vec<u64> = read(&path).unwrap().map(|entry| entry.unwrap().second).collect();
        assert_eq!(seconds, [0]);
        std::fs::remove_file(path).unwrap();
    }
}

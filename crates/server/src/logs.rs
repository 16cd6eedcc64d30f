//! Log lines: text for people or JSON for programs, on standard error, so that standard output stays free for results.
//!
//! An event is one line, whatever it contains: names, paths and messages come from outside, and a line break in them would forge another
//! line.

use settings::{Config, LogFormat};
use std::fmt::{Debug, Write};
use std::io;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Registry, fmt};
use wire::escape::EscapingWriter;

/// Installs the logging of `config` for the whole process. Further calls change nothing.
pub fn install(config: &Config) {
    let is_terminal = io::IsTerminal::is_terminal(&io::stderr());
    // Fails only when a subscriber is installed already, which then gets the lines.
    let _ = tracing::subscriber::set_global_default(subscriber(config, io::stderr, is_terminal));
}

fn subscriber<W>(config: &Config, writer: W, is_colored: bool) -> Box<dyn tracing::Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let level: LevelFilter = config.log_level.name().parse().expect("the names of levels are those of log filters");
    let lines = fmt::layer().with_writer(writer).with_target(false);
    match config.log_format {
        LogFormat::Text => {
            let lines = lines.with_ansi(is_colored).fmt_fields(debug_fn(write_field).delimited(" "));
            Box::new(Registry::default().with(level).with(lines))
        }
        LogFormat::Json => Box::new(Registry::default().with(level).with(lines.json().flatten_event(true))),
    }
}

/// One field of an event as text: the message as it is, other fields with their names. (JSON escapes by itself.)
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> std::fmt::Result {
    let mut writer = EscapingWriter(writer);
    match field.name() {
        "message" => write!(writer, "{value:?}"),
        name => write!(writer, "{name}={value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use settings::LogLevel;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Checks the lines of a warning and a detail.
    #[track_caller]
    fn check(format: LogFormat, level: LogLevel, want: &[&[&str]]) {
        let written = Written::default();
        let writer = written.clone();
        let mut config = Config::default();
        (config.log_format, config.log_level) = (format, level);
        tracing::subscriber::with_default(subscriber(&config, move || writer.clone(), false), || {
            tracing::warn!(match.id = "m1", "a warning");
            tracing::debug!("a detail");
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), want.len(), "{text}");
        for (line, parts) in lines.iter().zip(want) {
            assert!(parts.iter().all(|part| line.contains(part)), "{line}");
        }
    }

    /// Checks that an event with forged text is one line with these parts.
    #[track_caller]
    fn check_forgery(format: LogFormat, want: &[&str]) {
        let forged = "x\n2026-01-01T00:00:00Z ERROR forged\r\u{1b}[2J";
        let written = Written::default();
        let writer = written.clone();
        let mut config = Config::default();
        config.log_format = format;
        tracing::subscriber::with_default(subscriber(&config, move || writer.clone(), false), || {
            let span = tracing::info_span!("request", request.id = %forged);
            let _inside = span.enter();
            let error = io::Error::other(forged);
            tracing::warn!(what = forged, how = %forged, error = &error as &dyn std::error::Error, "refused: {forged}");
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        // JSON has the name of the span twice.
        assert!(text.matches("forged").count() >= 5, "{text}");
        assert_eq!(text.find(|char: char| char.is_control()), Some(text.len() - 1), "{text:?}");
        assert!(want.iter().all(|part| text.contains(part)), "{text}");
    }

    #[test]
    fn text_from_outside_forges_no_line() {
        let escaped = r"x\n2026-01-01T00:00:00Z ERROR forged\r\u{1b}[2J";
        check_forgery(LogFormat::Text, &[&format!("refused: {escaped} "), &format!("how={escaped}")]);
        check_forgery(LogFormat::Json, &[r"x\n2026-01-01T00:00:00Z ERROR forged\r\u001b[2J"]);
    }

    #[test]
    fn lines_are_readable_and_searchable() {
        check(LogFormat::Text, LogLevel::Info, &[&["WARN", "a warning", "match.id=\"m1\""]]);
        check(LogFormat::Text, LogLevel::Debug, &[&["a warning"], &["DEBUG a detail"]]);
        check(
            LogFormat::Json,
            LogLevel::Info,
            &[&[r#""level":"WARN""#, r#""message":"a warning""#, r#""match.id":"m1""#]],
        );
        check(LogFormat::Json, LogLevel::Error, &[]);
    }
}

//! The dashboard on terminals of several sizes, as snapshots, through ratatui's test terminal.

use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;

use super::*;

fn progress(second: u64) -> Progress {
    let t_s = second as f64;
    let point = WorkPoint { t_s, waiting: 1203, running: 383, finished: 40 * second, failed: 1, stuck: 2, unknown: 0 };
    Progress {
        elapsed: Duration::from_secs(second),
        planned_s: Some(180.0),
        load_step: Some("burst 2".to_owned()),
        planned_arrivals: 6501,
        done: 36 * second,
        throughput_per_s: Some(230.0 + 60.0 * (t_s / 9.0).sin()),
        latency_p99_ms: (!second.is_multiple_of(31)).then_some(40.0 + (t_s % 60.0) * 6.2),
        in_flight: 100,
        queued: 1203,
        connections: 100,
        errors: 3,
        denied: 0,
        work: vec![("game".to_owned(), point)],
        server_rss_bytes: Some(140 << 20),
        server_cpu_cores: Some(1.42),
        notes: if second == 90 { vec!["server: kill\x1b[2J".to_owned()] } else { Vec::new() },
        ..Progress::default()
    }
}

fn dashboard(seconds: u64) -> Dashboard {
    let mut dashboard = Dashboard::new(false);
    (0..=seconds).for_each(|second| dashboard.record(&progress(second)));
    dashboard
}

/// The screen of a terminal of this size.
fn shown(columns: u16, rows: u16, seconds: u64) -> String {
    let dashboard = dashboard(seconds);
    let progress = progress(seconds);
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    let height = dashboard.height(&progress).min(rows);
    terminal.draw(|frame| dashboard.draw(&progress, Rect::new(0, 0, columns, height), frame.buffer_mut())).unwrap();
    terminal.backend().to_string()
}

#[test]
fn on_a_terminal_of_80_columns() {
    insta::assert_snapshot!("dashboard_80x16", shown(80, 16, 104));
}

#[test]
fn on_a_narrow_and_on_a_wide_terminal() {
    insta::assert_snapshot!("dashboard_60x16", shown(60, 16, 30));
    insta::assert_snapshot!("dashboard_200x16", shown(200, 16, 170));
}

#[test]
fn no_size_of_a_terminal_makes_it_panic() {
    for columns in [1, 2, 21, 22, 23, 60, 300] {
        for rows in [1, 2, 9, 14, 40] {
            shown(columns, rows, 3);
        }
    }
}

#[test]
fn there_is_a_dashboard_only_where_it_fits() {
    let (dashboard, progress) = (dashboard(3), progress(3));
    let lines = |columns, rows| dashboard.lines(&progress, TerminalSize { columns, rows });
    let height = dashboard.height(&progress);
    assert!(lines(59, 40).is_none() && lines(60, 40).is_some());
    assert!(lines(80, height).is_none() && lines(80, height + 1).is_some());
    for columns in [60, 80, 200, 500] {
        let lines = lines(columns, 40).unwrap();
        assert_eq!(lines.len(), usize::from(height));
        let widest = lines.iter().map(|line| line.chars().count()).max().unwrap();
        assert!(widest < usize::from(columns) && (12..=20).contains(&height), "{widest}");
    }
}

#[track_caller]
fn check_bar(point: WorkPoint, expected: &str) {
    let text: String = bar_cells(&point, 24).iter().map(|(cells, symbol, _)| symbol.repeat(*cells)).collect();
    assert_eq!(text, expected);
}

#[test]
fn bars_are_as_long_as_they_should_be() {
    let point =
        |finished, failed, running, waiting| WorkPoint { finished, failed, running, waiting, ..WorkPoint::default() };
    check_bar(point(0, 0, 0, 0), "");
    check_bar(point(1, 0, 0, 0), &"█".repeat(24));
    check_bar(point(1, 0, 1, 2), &format!("{}{}{}", "█".repeat(6), "▒".repeat(6), "░".repeat(12)));
    // One failure in a million is visible.
    check_bar(point(999_999, 1, 0, 0), &format!("{}!", "█".repeat(23)));
    check_bar(point(0, 7, 0, 0), &"!".repeat(24));
    check_bar(point(u64::MAX / 4, 0, u64::MAX / 4, 0), &format!("{}{}", "█".repeat(12), "▒".repeat(12)));
}

#[test]
fn a_note_stays_with_its_moment_and_the_latest_win() {
    let mut dashboard = Dashboard::new(false);
    for second in 1..=5 {
        let notes = vec![format!("fault {second}")];
        dashboard.record(&Progress { elapsed: Duration::from_secs(second), notes, ..Progress::default() });
    }
    assert_eq!(dashboard.history.notes().collect::<Vec<_>>(), ["0:03  fault 3", "0:04  fault 4", "0:05  fault 5"]);
}

//! Health, checks and latencies as clients see them.

use super::timestamp;
use arena::health::{Checkup, CheckupStep};
use bot_client::probe::{ProbeReport, ProbeStep};
use engine::health::{BotCalls, BotHealth, CallFault as Fault, HealthStatus};
use engine::matches::entry::AnswerClass;
use engine::rows::{Bot, BotCallsRow};
use std::time::Duration;
use wire::api::{
    CallFault, CallTimes, CheckCall, CheckHeader, CheckRequest, CheckResponse, ClassCount, HourLatency, MoveTimes,
    SnakeCheck, SnakeHealth, SnakeHealthRecord, SnakeLatency,
};
use wire::time::Timestamp;

const HOURS_OF_DAY: u32 = 24;
const HOUR_MS: i64 = 3_600_000;

pub(super) fn check(bot: &Bot, checkup: &Checkup, after: &BotHealth) -> SnakeCheck {
    SnakeCheck {
        snake_id: bot.id.to_string(),
        url: bot.url.clone(),
        checked_at: timestamp(checkup.at),
        is_passed: checkup.fault.is_none(),
        fault: checkup.fault.map(|found| fault(found, None)),
        calls: checkup.steps.iter().map(|step| call(&bot.url, step)).collect(),
        move_times: checkup.steps.iter().find_map(move_times),
        health: health(after),
    }
}

fn call(url: &str, step: &CheckupStep) -> CheckCall {
    let base = url.trim_end_matches('/');
    let (method, url) = match step.step {
        ProbeStep::Index => ("GET", format!("{base}/")),
        ProbeStep::Start | ProbeStep::Move | ProbeStep::End => ("POST", format!("{base}/{}", step.step.name())),
    };
    let failure = step.report.failure.as_ref();
    let response = step.report.response.as_ref().map(|response| CheckResponse {
        status: response.status,
        headers: response.headers.iter().map(|(name, value)| header(name, value)).collect(),
        body_start: response.body_start.clone(),
        body_bytes: response.body_bytes,
    });
    CheckCall {
        call: step.step.name().to_owned(),
        request: CheckRequest {
            method: method.to_owned(),
            url,
            body: String::from_utf8_lossy(&step.body).into_owned(),
        },
        response,
        fault: failure.map(|failure| fault(failure.fault, failure.detail.as_deref())),
        class: failure.map_or(AnswerClass::Valid, |failure| failure.fault.class()).name().to_owned(),
        times_ms: times(&step.report),
    }
}

fn header(name: &str, value: &str) -> CheckHeader {
    CheckHeader { name: name.to_owned(), value: value.to_owned() }
}

fn move_times(step: &CheckupStep) -> Option<MoveTimes> {
    let repeated = step.report.repeated.as_ref()?;
    let open_connection_ms: Vec<f64> = repeated.times.iter().copied().map(ms).collect();
    let mut sorted = open_connection_ms.clone();
    sorted.sort_by(f64::total_cmp);
    Some(MoveTimes {
        first_call_ms: ms(step.report.total),
        open_connection_median_ms: sorted.get(sorted.len().saturating_sub(1) / 2).copied(),
        open_connection_ms,
        is_connection_closed: repeated.is_closed,
        fault: repeated.failure.as_ref().map(|failure| fault(failure.fault, failure.detail.as_deref())),
    })
}

/// Milliseconds with two places.
fn ms(span: Duration) -> f64 {
    (span.as_secs_f64() * 1e5).round() / 100.0
}

fn times(report: &ProbeReport) -> CallTimes {
    CallTimes {
        dns: report.connect_times.resolve.map(ms),
        connect: report.connect_times.connect.map(ms),
        tls: report.connect_times.tls.map(ms),
        first_byte: report.first_byte.map(ms),
        total: ms(report.total),
    }
}

fn fault(found: Fault, detail: Option<&str>) -> CallFault {
    CallFault {
        code: found.name().to_owned(),
        problem: found.problem().to_owned(),
        remedy: found.remedy().to_owned(),
        detail: detail.map(str::to_owned),
    }
}

pub(super) fn health(health: &BotHealth) -> SnakeHealth {
    let records = health.records.iter().rev().map(|record| SnakeHealthRecord {
        at: timestamp(record.at),
        source: record.source.name().to_owned(),
        is_passed: record.fault.is_none(),
        fault: record.fault.map(|fault| fault.name().to_owned()),
        took_ms: record.took_ms,
    });
    SnakeHealth {
        status: health.status.name().to_owned(),
        since: (health.status != HealthStatus::Untested).then(|| timestamp(health.since)),
        reason: health.reason.map(|reason| fault(reason, None)),
        failures_in_a_row: health.failures,
        successes_in_a_row: health.successes,
        next_probe_at: health.next_probe_at.map(timestamp),
        records: records.collect(),
    }
}

/// All days together, by hour of the day.
pub(super) fn latency(from_hour: u32, rows: &[BotCallsRow]) -> SnakeLatency {
    let hours = (0..HOURS_OF_DAY).map(|hour| {
        let mut all = BotCalls::default();
        rows.iter().filter(|row| row.hour % HOURS_OF_DAY == hour).for_each(|row| all.merge(&row.calls));
        let class = |class: AnswerClass| ClassCount { class: class.name().to_owned(), calls: all.count(class) };
        HourLatency {
            hour: hour as u8,
            calls: all.total(),
            p50_ms: all.latency.percentile_ms(50),
            p95_ms: all.latency.percentile_ms(95),
            p99_ms: all.latency.percentile_ms(99),
            classes: AnswerClass::ALL.into_iter().map(class).filter(|count| count.calls > 0).collect(),
        }
    });
    SnakeLatency { since: Timestamp(i64::from(from_hour) * HOUR_MS), hours: hours.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::ids::BotId;

    #[test]
    fn days_are_merged_by_hour_of_the_day() {
        let row = |hour, latency_ms| {
            let mut calls = BotCalls::default();
            calls.record(AnswerClass::Valid, latency_ms);
            BotCallsRow { bot: BotId(1), hour, calls }
        };
        let mut late = BotCalls::default();
        late.record(AnswerClass::Late, 500);
        let rows = [row(48, 10), row(72, 11), BotCallsRow { bot: BotId(1), hour: 49, calls: late }];
        let latency = latency(48, &rows);
        assert_eq!((latency.since, latency.hours.len()), (Timestamp(48 * HOUR_MS), 24));
        let [first, second, third, ..] = &latency.hours[..] else { panic!("24 hours") };
        assert_eq!((first.hour, first.calls, first.p50_ms, first.p99_ms), (0, 2, Some(10), Some(11)));
        assert_eq!(second.classes, [ClassCount { class: "late".to_owned(), calls: 1 }]);
        assert_eq!(*third, HourLatency { hour: 2, ..HourLatency::default() });
    }
}

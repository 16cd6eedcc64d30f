//! `GET /api/admin/history`: what this process measured in the last day, from memory.

use crate::app::App;
use crate::extract::{Operator, QueryParams};
use crate::history::{SERIES, Series};
use crate::problem::{ApiError, ApiResult};
use axum::Json;
use axum::extract::State;
use engine::limits::HISTORY_SERIES_MAX;
use metrics::{Points, RESOLUTIONS, SeriesKind};
use serde::Deserialize;
use std::time::{Duration, Instant};
use wire::api::{HistorySeries, HistorySeriesInfo, HistoryView};
use wire::time::Timestamp;

/// What is asked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct HistoryQuery {
    /// Names of at most 32 series, with commas between them.
    series: String,
    /// Points from this time on; without it as far back as the step reaches.
    from: Option<Timestamp>,
    /// Seconds from point to point: 1 reaches back ten minutes, 10 two hours, 60 a day. Without it the finest that reaches `from`.
    step: Option<u64>,
}

/// List the series of the history
///
/// For operators and admins.
#[utoipa::path(get, path = "/api/admin/history/series", tag = "admin", security(("bearer" = []), ("cookie" = [])), responses(
    (status = 200, description = "Every series, with its unit and what it says.", body = Vec<HistorySeriesInfo>),
))]
pub(super) async fn list_history_series(Operator(_): Operator) -> Json<Vec<HistorySeriesInfo>> {
    let info = |series: &Series| HistorySeriesInfo {
        name: series.name.to_owned(),
        unit: series.unit.to_owned(),
        kind: match series.kind {
            SeriesKind::Level => "level".to_owned(),
            SeriesKind::Rate => "rate".to_owned(),
        },
        what: series.what.to_owned(),
    };
    Json(SERIES.iter().map(info).collect())
}

/// Read what this process measured in the last day
///
/// For operators and admins. Each process remembers what it measured itself, from its start on: behind a proxy another node may answer.
#[utoipa::path(get, path = "/api/admin/history", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(HistoryQuery), responses(
    (status = 200, description = "The points up to the last step that is over.", body = HistoryView),
    (status = 400, description = "`bad_value`: there is no such series, or too many; or no such step."),
))]
pub(super) async fn get_history(
    State(app): State<App>,
    Operator(_): Operator,
    QueryParams(query): QueryParams<HistoryQuery>,
) -> ApiResult<Json<HistoryView>> {
    let named = named(&query.series)?;
    let indices: Vec<_> = named.iter().map(|(index, _)| *index).collect();
    // Points are counted on the clock of the process's life, and shown in the time of the day as it is known now.
    let (age, now) = (app.metrics.uptime(Instant::now()), app.node.clock.now());
    let begun_ms = now.0 - age.as_millis() as i64;
    let from = query.from.map(|from| Duration::from_millis((from.0 - begun_ms).try_into().unwrap_or_default()));
    let step_s = query.step.unwrap_or_else(|| finest(from.map(|from| age.saturating_sub(from))));
    let points = app.history.read(&indices, from.unwrap_or_default(), step_s);
    let Some(Points { begin, values }) = points else {
        let kept: Vec<_> = RESOLUTIONS.iter().map(|(step_s, _)| step_s.to_string()).collect();
        return Err(ApiError::bad_value("step", format!("expected one of {}", kept.join(", "))));
    };
    let series = named.iter().zip(values).map(|((_, series), values)| HistorySeries {
        name: series.name.to_owned(),
        unit: series.unit.to_owned(),
        values,
    });
    Ok(Json(HistoryView { from: Timestamp(begun_ms + begin.as_millis() as i64), step_s, series: series.collect() }))
}

/// The series with these names, with their places in the table.
fn named(names: &str) -> ApiResult<Vec<(usize, &'static Series)>> {
    let names: Vec<_> = names.split(',').map(str::trim).collect();
    if names.len() > HISTORY_SERIES_MAX {
        return Err(ApiError::bad_value("series", format!("at most {HISTORY_SERIES_MAX} at once: ask several times")));
    }
    let find = |name: &str| {
        let found = SERIES.iter().enumerate().find(|(_, series)| series.name == name);
        found.ok_or_else(|| {
            let reason = format!("there is no series {name:?}: GET /api/admin/history/series lists them");
            ApiError::bad_value("series", reason)
        })
    };
    names.into_iter().map(find).collect()
}

/// The finest step that reaches back this far; without a time the finest of all.
fn finest(back: Option<Duration>) -> u64 {
    let reaches = |(step_s, points): &&(u64, usize)| back.is_none_or(|back| back.as_secs() < step_s * *points as u64);
    let (coarsest, _) = RESOLUTIONS[RESOLUTIONS.len() - 1];
    RESOLUTIONS.iter().find(reaches).map_or(coarsest, |(step_s, _)| *step_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_finest_step_that_reaches_is_taken() {
        let rows = [
            (None, 1),
            (Some(0), 1),
            (Some(599), 1),
            (Some(600), 10),
            (Some(7_199), 10),
            (Some(7_200), 60),
            (Some(u64::MAX), 60),
        ];
        for (back_s, want) in rows {
            assert_eq!(finest(back_s.map(Duration::from_secs)), want, "{back_s:?}");
        }
    }
}

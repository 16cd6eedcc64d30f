//! The options of a new hunt.

use crate::problem::{ApiError, ApiResult, HuntRefusal};
use crate::world_options::{duration_or_default, number_or_default, number_within, parse_open_duration, validate};
use engine::ids::{PlayerId, WorldName};
use engine::limits::{HUNT_CELLS_MAX, HUNT_PLAYERS_MAX};
use engine::rows::Admission;
use engine::time::UnixMs;
use hunts::NewHunt;
use rules::world::{HuntSettings, Size, WorldSettings};
use std::time::Duration;
use wire::api::CreateHunt;

/// Names that `/api/hunts/{name}` has for something else.
const RESERVED_NAMES: [&str; 2] = ["tickets", "statistics"];
const SIDE_DEFAULT: u16 = 200;
/// Of the cells, where nothing is said: so that a hunt of any size can be created by its size alone.
const CELLS_PER_CHEST: u32 = 100;
const CELLS_PER_POWER_UP: u32 = 1_000;
const PLAYERS_MAX_DEFAULT: u32 = 1_000;
const OPEN_DEFAULT: Duration = Duration::from_secs(3_600);

/// The requested hunt.
///
/// # Errors
/// Invalid options; all errors of its rules at once.
pub(super) fn parse_new_hunt(requested: &CreateHunt, creator: PlayerId, now: UnixMs) -> ApiResult<NewHunt> {
    Ok(NewHunt {
        name: requested.name.as_deref().map(parse_name).transpose()?,
        settings: parse_settings(requested)?,
        creator: Some(creator),
        ends_at: now.plus(requested.open_ms.map_or(Ok(OPEN_DEFAULT), parse_open_duration)?),
        admission: parse_admission(requested.admission.as_deref())?,
        players_max: requested
            .players_max
            .map_or(Ok(PLAYERS_MAX_DEFAULT), |count| number_within("players_max", count, 1..=HUNT_PLAYERS_MAX))?,
    })
}

fn parse_name(text: &str) -> ApiResult<WorldName> {
    if RESERVED_NAMES.contains(&text) {
        return Err(ApiError::Hunt(HuntRefusal::Reserved));
    }
    text.parse().map_err(|error| ApiError::bad_value("/name", format!("the name is {error}")))
}

/// Only the matchmaker creates hunts for matched players.
fn parse_admission(requested: Option<&str>) -> ApiResult<Admission> {
    let Some(requested) = requested else { return Ok(Admission::Joined) };
    let found = Admission::from_name(requested).filter(|admission| *admission != Admission::Matched);
    found.ok_or_else(|| ApiError::bad_value("/admission", "admission must be joined or everybody"))
}

fn parse_settings(requested: &CreateHunt) -> ApiResult<WorldSettings> {
    let size = Size {
        width: number_or_default(requested.width, SIDE_DEFAULT),
        height: number_or_default(requested.height, SIDE_DEFAULT),
    };
    let cells = size.cells();
    let defaults = HuntSettings::default();
    let hunt = HuntSettings {
        chests: number_or_default(requested.chests, (cells / CELLS_PER_CHEST).max(1)),
        power_ups: number_or_default(requested.power_ups, cells / CELLS_PER_POWER_UP),
        points_max: number_or_default(requested.points_max, defaults.points_max),
        round: duration_or_default(requested.round_ms, defaults.round),
        rounds: number_or_default(requested.rounds, defaults.rounds),
        ..defaults
    };
    let defaults = WorldSettings::default();
    let tree_permille = number_or_default(requested.tree_permille, defaults.tree_permille);
    let settings = WorldSettings { size, tree_permille, hunt: Some(hunt), ..defaults };
    check_cells(validate(settings)?)
}

/// Any player may create hunts, and each that is played takes memory by its cells.
fn check_cells(settings: WorldSettings) -> ApiResult<WorldSettings> {
    let cells = settings.size.cells();
    if cells <= HUNT_CELLS_MAX {
        return Ok(settings);
    }
    let why =
        format!("width times height is {cells}; a hunt has at most {HUNT_CELLS_MAX} cells, such as 1000 times 1000");
    Err(ApiError::bad_value("/width", why))
}

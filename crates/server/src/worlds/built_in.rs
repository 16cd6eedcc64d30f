//! The worlds that a house has by itself: one to walk about in, and one with a hunt. They are rows until somebody visits them.

use super::actors::{ActorPlan, SpawnOutOfBounds};
use crate::app::App;
use crate::clock::random_bytes;
use engine::commands::{Command, Outcome, WorldCommand};
use engine::ids::{WorldId, WorldName};
use engine::rows::{Admission, WorldKind, WorldRow};
use engine::worlds::{settings_from_bytes, settings_to_bytes};
use rules::chance::Seed;
use rules::world::{HuntSettings, WorldSettings};
use store::StoreError;

/// The world in which actors of the house move.
pub const PLAZA: &str = "plaza";
/// The world with a hunt that never ends.
pub const HUNT: &str = "hunt";

/// Why a house cannot be furnished.
#[derive(Debug, thiserror::Error)]
pub enum BuiltInWorldsError {
    /// The store's.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The actors of the configuration cannot begin where they are to.
    #[error("{0}, with --actor-spawn; or off: each begins anywhere")]
    Spawn(#[from] SpawnOutOfBounds),
}

/// Makes the worlds of the house where there are none of their names. What was made earlier stays as it is.
///
/// # Errors
/// See [`BuiltInWorldsError`].
pub async fn ensure_built_in(app: &App) -> Result<(), BuiltInWorldsError> {
    let hunt = WorldSettings { hunt: Some(HuntSettings::default()), ..WorldSettings::default() };
    let hunt = world_row(app, world_name(HUNT), WorldKind::Hunt, &hunt);
    let rows = [world_row(app, plaza_name(), WorldKind::World, &WorldSettings::default()), hunt];
    let ensure = |row| Command::World(WorldCommand::Ensure { row, members: Vec::new() });
    for outcome in app.store.commit_all(rows.map(ensure).into()).await? {
        match outcome {
            Outcome::World(row) if row.name == plaza_name() => check_actor_spawn(app, &row)?,
            Outcome::World(_) => {}
            other => tracing::error!(outcome = ?other, "a world of the house could not be made"),
        }
    }
    Ok(())
}

/// Whether the actors of the configuration can begin where they are to: the plaza may be older than this program's idea of it.
fn check_actor_spawn(app: &App, plaza: &WorldRow) -> Result<(), SpawnOutOfBounds> {
    // A row that cannot be read is its visitors' to be told of.
    let Ok(settings) = settings_from_bytes(&plaza.settings) else { return Ok(()) };
    ActorPlan::of_config(&app.config).check_spawn(&plaza.name, settings.size)
}

/// The name of the world in which actors of the house move.
pub(super) fn plaza_name() -> WorldName {
    world_name(PLAZA)
}

fn world_name(text: &str) -> WorldName {
    text.parse().expect("the house names its worlds as worlds are named")
}

/// A world for everybody that stays, with a seed of its own.
pub fn world_row(app: &App, name: WorldName, kind: WorldKind, settings: &WorldSettings) -> WorldRow {
    let now = app.clock.now();
    WorldRow {
        id: WorldId::new(now, random_bytes()),
        name,
        kind,
        settings: settings_to_bytes(settings),
        seed: Seed(u64::from_be_bytes(random_bytes())),
        creator: None,
        created_at: now,
        ends_at: None,
        admission: Admission::Everybody,
        players_max: 0,
    }
}

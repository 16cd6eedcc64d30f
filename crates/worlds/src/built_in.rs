//! The worlds that every server has: one to walk about in, and one with a hunt. They are rows in the store until a client visits them.

use super::Worlds;
use super::actors::{ActorPlan, SpawnOutOfBounds};
use engine::commands::{Command, Outcome, WorldCommand};
use engine::ids::{WorldId, WorldName};
use engine::rows::{Admission, WorldKind, WorldRow};
use engine::time::UnixMs;
use engine::worlds::{settings_from_bytes, settings_to_bytes};
use node::clock::random_bytes;
use rules::chance::Seed;
use rules::world::{HuntSettings, WorldSettings};
use store::{Store, StoreError};

/// The world in which built-in actors move.
pub const PLAZA: &str = "plaza";
/// The world with a hunt that never ends.
pub const HUNT: &str = "hunt";

/// Why the built-in worlds cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum BuiltInWorldsError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The configured actors cannot begin on their start cell.
    #[error("{0}, with --actor-spawn; or off: each begins anywhere")]
    Spawn(#[from] SpawnOutOfBounds),
}

/// Creates the built-in worlds whose names are free. Existing ones stay as they are. `actors` is the plan for the plaza.
///
/// # Errors
/// See [`BuiltInWorldsError`].
pub async fn ensure_built_in(store: &Store, now: UnixMs, actors: &ActorPlan) -> Result<(), BuiltInWorldsError> {
    let hunt = WorldSettings { hunt: Some(HuntSettings::default()), ..WorldSettings::default() };
    let hunt = world_row(now, world_name(HUNT), WorldKind::Hunt, &hunt);
    let rows = [world_row(now, plaza_name(), WorldKind::World, &WorldSettings::default()), hunt];
    let ensure = |row| Command::World(WorldCommand::Ensure { row, members: Vec::new() });
    for row in rows {
        match store.commit(ensure(row)).await {
            Ok(Outcome::World(row)) if row.name == plaza_name() => check_actor_spawn(actors, &row)?,
            Ok(Outcome::World(_)) => {}
            Ok(other) => tracing::error!(outcome = ?other, "a built-in world could not be created"),
            // Its visitors get the error; the store has told of it.
            Err(StoreError::Damaged(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Whether the configured actors can begin on their start cell: the plaza may be older than this program's version of it.
fn check_actor_spawn(actors: &ActorPlan, plaza: &WorldRow) -> Result<(), SpawnOutOfBounds> {
    // Visitors of a world whose row cannot be read get the error.
    let Ok(settings) = settings_from_bytes(&plaza.settings) else { return Ok(()) };
    actors.check_spawn(&plaza.name, settings.size)
}

/// The planned actors move on the plaza from the start, or as soon as this node can load it.
pub fn start_built_in_actors(worlds: &Worlds, plan: ActorPlan) {
    if plan.count > 0 {
        worlds.start_actors(&plaza_name(), plan);
    }
}

fn plaza_name() -> WorldName {
    world_name(PLAZA)
}

fn world_name(text: &str) -> WorldName {
    text.parse().expect("the names of built-in worlds are valid")
}

/// A row of a public world without an end, with a random seed.
pub fn world_row(now: UnixMs, name: WorldName, kind: WorldKind, settings: &WorldSettings) -> WorldRow {
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

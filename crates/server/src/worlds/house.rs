//! The worlds that a house has by itself: one to walk about in, and one with a hunt. They are rows until somebody visits them.

use crate::app::App;
use crate::clock::random_bytes;
use engine::commands::{Command, Outcome, WorldCommand};
use engine::ids::{WorldId, WorldName};
use engine::rows::{Admission, WorldKind, WorldRow};
use engine::worlds::settings_to_bytes;
use rules::chance::Seed;
use rules::world::{HuntSettings, Settings};
use store::StoreError;

/// The world in which actors of the house move.
pub const PLAZA: &str = "plaza";
/// The world with a hunt that never ends.
pub const HUNT: &str = "hunt";

/// Makes the worlds of the house where there are none of their names. What was made earlier stays as it is.
///
/// # Errors
/// The store's.
pub async fn ensure(app: &App) -> Result<(), StoreError> {
    let hunt = Settings { hunt: Some(HuntSettings::default()), ..Settings::default() };
    let name = |text: &str| text.parse::<WorldName>().expect("the house names its worlds as worlds are named");
    let plaza = row(app, name(PLAZA), WorldKind::World, &Settings::default());
    let rows = [plaza, row(app, name(HUNT), WorldKind::Hunt, &hunt)];
    let ensure = |row| Command::World(WorldCommand::Ensure { row, members: Vec::new() });
    for outcome in app.store.commit_all(rows.map(ensure).into()).await? {
        if !matches!(outcome, Outcome::WorldIs(_)) {
            tracing::error!(?outcome, "a world of the house could not be made");
        }
    }
    Ok(())
}

/// A world for everybody that stays, with a seed of its own.
pub fn row(app: &App, name: WorldName, kind: WorldKind, settings: &Settings) -> WorldRow {
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

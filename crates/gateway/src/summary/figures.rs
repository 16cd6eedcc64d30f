//! What a summary says, read from the store in one turn of a reader, and from the worlds in this process's memory.

use super::featured;
use crate::app::App;
use crate::problem::ApiResult;
use engine::rows::{PublicActivity, WorldEntry};
use node::lease::LeaseContext;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use wire::api::{
    FeaturedGame, GameActivity, HuntActivity, LeaderboardActivity, ServerHealth, StoryActivity, Summary, WorldActivity,
};

/// Worlds that are shown.
const WORLDS_MAX: usize = 8;
/// Hunts that are read, of which those are counted that everyone may join.
const HUNTS_READ_MAX: usize = 50;
/// All worlds together have so much time to say who is in them.
const WORLDS_WAIT: Duration = Duration::from_millis(250);

struct Stored {
    activity: PublicActivity,
    featured: Option<FeaturedGame>,
    worlds: Vec<WorldEntry>,
    hunts: Vec<WorldEntry>,
}

/// # Errors
/// The store's.
pub(super) async fn read(app: &App) -> ApiResult<Summary> {
    let now = app.node.clock.now();
    let stored = app.node.store.read(move |reader| {
        Ok(Stored {
            activity: reader.public_activity(now)?,
            featured: featured::find(reader)?,
            worlds: reader.worlds(None, WORLDS_MAX, None, now)?,
            hunts: reader.hunt_lobby(None, HUNTS_READ_MAX, false, now)?,
        })
    });
    let Stored { activity, featured, worlds, hunts } = stored.await?;
    Ok(Summary {
        health: health(app),
        games: GameActivity {
            running: activity.matches_running,
            waiting: activity.matches_waiting,
            ended_last_minute: activity.matches_ended,
        },
        stories: StoryActivity {
            live: activity.stories,
            open: activity.open_stories,
            players_waiting: activity.open_stories_players,
            seats_open: activity.open_stories_seats,
        },
        leaderboards: LeaderboardActivity {
            active: activity.ladders,
            rated_last_minute: activity.ladder_matches_rated,
        },
        worlds: world_activity(app, worlds).await,
        hunts: hunt_activity(&hunts),
        featured,
    })
}

fn health(app: &App) -> ServerHealth {
    if app.drain.is_announced() {
        ServerHealth::Draining
    } else if app.node.store.refusal().is_some() {
        ServerHealth::Degraded
    } else if app.shedder.overload().is_some() {
        ServerHealth::Busy
    } else {
        ServerHealth::Ok
    }
}

async fn world_activity(app: &App, entries: Vec<WorldEntry>) -> Vec<WorldActivity> {
    let mut shown = Vec::new();
    let deadline = Instant::now() + WORLDS_WAIT;
    for WorldEntry { row, owner, .. } in entries {
        let address = owner.map(|owner| owner.address).filter(|address| *address != app.node.address());
        let movers = match app.worlds.loaded(&row.name) {
            Some(world) => {
                let picture = timeout_at(deadline, world.picture()).await;
                picture.ok().flatten().map(|picture| picture.stats().movers as u64)
            }
            // A world in no memory has no mover in it.
            None => address.is_none().then_some(0),
        };
        shown.push(WorldActivity { name: row.name.to_string(), kind: row.kind.name().to_owned(), movers, address });
    }
    shown
}

fn hunt_activity(entries: &[WorldEntry]) -> HuntActivity {
    HuntActivity { open: entries.len() as u64, players: entries.iter().map(|entry| u64::from(entry.players)).sum() }
}

//! New hunts: what a creator may choose, and the settings of those that the matchmaker makes.

use engine::ids::{PlayerId, WorldId, WorldName};
use engine::rows::{Admission, WorldKind, WorldRow};
use engine::time::UnixMs;
use engine::worlds::settings_to_bytes;
use node::clock::random_bytes;
use rules::chance::Seed;
use rules::world::{HuntSettings, Size, WorldSettings};
use std::time::Duration;

/// Time for players to enter, beyond the rounds of a matched hunt.
const JOIN_GRACE: Duration = Duration::from_secs(60);

/// The parameters of a new hunt.
#[derive(Clone, Debug)]
pub struct NewHunt {
    /// Its name; generated when absent.
    pub name: Option<WorldName>,
    pub settings: WorldSettings,
    pub creator: Option<PlayerId>,
    /// When it is over.
    pub ends_at: UnixMs,
    pub admission: Admission,
    /// How many may join.
    pub players_max: u32,
}

/// The row of the hunt.
#[must_use]
pub fn hunt_row(wanted: NewHunt, now: UnixMs) -> WorldRow {
    let id = WorldId::new(now, random_bytes());
    let own = || format!("hunt-{id}").parse().expect("a prefix and an id are a name");
    WorldRow {
        id,
        name: wanted.name.unwrap_or_else(own),
        kind: WorldKind::Hunt,
        settings: settings_to_bytes(&wanted.settings),
        seed: Seed(u64::from_be_bytes(random_bytes())),
        creator: wanted.creator,
        created_at: now,
        ends_at: Some(wanted.ends_at),
        admission: wanted.admission,
        players_max: wanted.players_max,
    }
}

/// A hunt of a match: small enough that its players meet, three short rounds.
pub(super) fn matched_hunt_row(players: u8, now: UnixMs) -> WorldRow {
    let settings = matched_hunt_settings(players);
    let ends_at = now.plus(rounds_duration(&settings) + JOIN_GRACE);
    let (name, creator, admission) = (None, None, Admission::Matched);
    hunt_row(NewHunt { name, settings, creator, ends_at, admission, players_max: u32::from(players) }, now)
}

/// How long a hunt of a match is open.
pub(super) fn matched_hunt_duration() -> Duration {
    rounds_duration(&matched_hunt_settings(0)) + JOIN_GRACE
}

/// The settings of a hunt for this many matched players: room and chests in proportion.
#[must_use]
pub fn matched_hunt_settings(players: u8) -> WorldSettings {
    let players = u32::from(players);
    let side = 48 + 4 * players as u16;
    let hunt = HuntSettings {
        chests: 20 * players,
        power_ups: 3 * players,
        round: Duration::from_secs(120),
        pause: Duration::from_secs(10),
        rounds: 3,
        ..HuntSettings::default()
    };
    WorldSettings { size: Size { width: side, height: side }, hunt: Some(hunt), ..WorldSettings::default() }
}

fn rounds_duration(settings: &WorldSettings) -> Duration {
    settings.hunt.map_or(Duration::ZERO, |hunt| (hunt.round + hunt.pause) * hunt.rounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::limits::{TICKET_PLAYERS_MAX, TICKET_PLAYERS_MIN};
    use engine::worlds::settings_from_bytes;

    #[test]
    fn matched_hunts_can_be_generated() {
        for players in TICKET_PLAYERS_MIN..=TICKET_PLAYERS_MAX {
            assert_eq!(matched_hunt_settings(players).validation_errors(), [], "{players} players");
        }
        let now = UnixMs(1_700_000_000_000);
        let row = matched_hunt_row(4, now);
        assert_eq!(settings_from_bytes(&row.settings), Ok(matched_hunt_settings(4)));
        assert_eq!(row.ends_at, Some(UnixMs(now.0 + 3 * 130_000 + 60_000)));
        assert_eq!(row.ends_at, Some(now.plus(matched_hunt_duration())));
        assert_eq!((row.admission, row.players_max), (Admission::Matched, 4));
        assert!(row.name.as_str().starts_with("hunt-"));
    }
}

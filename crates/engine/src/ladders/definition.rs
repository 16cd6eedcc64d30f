//! What a ladder is: the settings of its matches, how many bots play in one, how long a season lasts. Fixed when it is created.

use crate::ids::{AccountId, CompetitionId};
use crate::limits::{
    BOT_TIMEOUT_DEFAULT, LADDER_PLAYERS_MAX, LADDER_PLAYERS_MIN, LADDER_SEASON_MAX, LADDER_SEASON_MIN, TURNS_MAX,
};
use crate::matches::settings::MatchSettings;
use crate::pack::{DecodeError, decode_versioned, encode_versioned, packed};
use crate::time::UnixMs;
use rules::snake::{RuleError, Rules};
use std::time::Duration;

const FORMAT: u8 = 1;

/// The name of the account that owns what no person made. No login has such a name: they have no space and no bracket.
pub const SYSTEM_ACCOUNT_NAME: &str = "(this server)";
/// That account's id, the same on every server.
pub const SYSTEM_ACCOUNT: AccountId = AccountId(0x0190_b5a4_0000_7000_8000_0000_0000_0001);
/// The id of the ladder that every server has from its first start.
pub const STANDARD_LADDER: CompetitionId = CompetitionId(0x0190_b5a4_0000_7000_8000_0000_0000_0002);
/// Its name.
pub const STANDARD_LADDER_NAME: &str = "Standard 11x11";

/// What is played on a ladder, and for how long ratings last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LadderDefinition {
    pub settings: MatchSettings,
    /// Bots in each match.
    pub players: u8,
    /// How long a season lasts; `None`: ratings never begin anew.
    pub season: Option<Duration>,
}
packed!(LadderDefinition { settings, players, season });

/// Why there is no such ladder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LadderError {
    #[error("a match of a ladder has {LADDER_PLAYERS_MIN} to {LADDER_PLAYERS_MAX} snakes, not {0}")]
    Players(u8),
    #[error(transparent)]
    Rules(#[from] RuleError),
    #[error("a season lasts {} to {} days", LADDER_SEASON_MIN.as_secs() / 86_400, LADDER_SEASON_MAX.as_secs() / 86_400)]
    Season,
}

impl LadderDefinition {
    /// The ladder that every server has: four snakes on the usual board by the usual rules, without seasons.
    #[must_use]
    pub fn standard() -> Self {
        let timeout_ms = BOT_TIMEOUT_DEFAULT.as_millis() as u16;
        let rules = Rules::default();
        let settings = MatchSettings { rules, width: 11, height: 11, timeout_ms, turns_max: TURNS_MAX };
        Self { settings, players: 4, season: None }
    }

    /// # Errors
    /// The first thing that cannot be.
    pub fn validate(&self) -> Result<(), LadderError> {
        if !(LADDER_PLAYERS_MIN..=LADDER_PLAYERS_MAX).contains(&self.players) {
            return Err(LadderError::Players(self.players));
        }
        if self.season.is_some_and(|season| !(LADDER_SEASON_MIN..=LADDER_SEASON_MAX).contains(&season)) {
            return Err(LadderError::Season);
        }
        Ok(self.settings.validate(self.players)?)
    }

    /// When the season ends that is under way after `now`, for a ladder whose season would have ended at `due_at`: seasons that passed
    /// while no process was there to end them are not made up for.
    #[must_use]
    pub fn next_season_end(&self, due_at: UnixMs, now: UnixMs) -> Option<UnixMs> {
        let season_ms = i64::try_from(self.season?.as_millis()).ok().filter(|ms| *ms > 0)?;
        let passed = now.0.saturating_sub(due_at.0).max(0) / season_ms;
        Some(UnixMs(due_at.0.saturating_add(season_ms.saturating_mul(passed.saturating_add(1)))))
    }

    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode_versioned(FORMAT, self)
    }

    /// # Errors
    /// [`DecodeError`], saying what is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode_versioned(FORMAT, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    #[track_caller]
    fn check(change: impl FnOnce(&mut LadderDefinition), want: Result<(), &str>) {
        let mut definition = LadderDefinition::standard();
        change(&mut definition);
        let validated = definition.validate().map_err(|error| error.to_string());
        assert_eq!(validated, want.map_err(str::to_owned));
        assert_eq!(LadderDefinition::decode(&definition.encode()), Ok(definition));
    }

    #[test]
    fn definitions_are_checked_and_read_back() {
        check(|_| (), Ok(()));
        check(|ladder| ladder.players = 1, Err("a match of a ladder has 2 to 16 snakes, not 1"));
        check(|ladder| ladder.players = 17, Err("a match of a ladder has 2 to 16 snakes, not 17"));
        check(|ladder| ladder.season = Some(DAY), Ok(()));
        check(|ladder| ladder.season = Some(DAY / 2), Err("a season lasts 1 to 366 days"));
        check(|ladder| ladder.season = Some(DAY * 367), Err("a season lasts 1 to 366 days"));
        let mut ladder = LadderDefinition::standard();
        ladder.settings.width = 8;
        assert!(matches!(ladder.validate(), Err(LadderError::Rules(_))));
    }

    #[track_caller]
    fn check_end(season: Option<Duration>, due_at: i64, now: i64, want: Option<i64>) {
        let ladder = LadderDefinition { season, ..LadderDefinition::standard() };
        assert_eq!(ladder.next_season_end(UnixMs(due_at), UnixMs(now)), want.map(UnixMs));
    }

    #[test]
    fn missed_seasons_are_not_made_up_for() {
        let day = DAY.as_millis() as i64;
        check_end(None, 0, 0, None);
        check_end(Some(DAY), 0, 0, Some(day));
        check_end(Some(DAY), 0, 5, Some(day));
        check_end(Some(DAY), 0, -5, Some(day));
        check_end(Some(DAY), 7, 3 * day + 6, Some(3 * day + 7));
        check_end(Some(DAY), 7, 3 * day + 7, Some(4 * day + 7));
        check_end(Some(DAY), i64::MAX, i64::MAX, Some(i64::MAX));
    }
}

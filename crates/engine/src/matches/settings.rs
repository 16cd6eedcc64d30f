//! What a match is played by, without its bots: fixed once for all matches of a competition, and stored with it.

use crate::ids::MatchId;
use crate::matches::origin::MatchOrigin;
use crate::matches::spec::{MatchSpec, SeatSpec};
use crate::pack::{ByteReader, DecodeError, Pack, packed};
use rules::chance::Seed;
use rules::snake::{Map, RuleError, Rules, Ruleset, Settings};

/// The part of a [`MatchSpec`] that matches of a kind have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchSettings {
    pub rules: Rules,
    /// Cells from left to right.
    pub width: u8,
    /// Cells from bottom to top.
    pub height: u8,
    /// How long a bot may take for an answer, in milliseconds.
    pub timeout_ms: u16,
    /// A match ends at the latest after this many turns.
    pub turns_max: u32,
}
packed!(MatchSettings { rules, width, height, timeout_ms, turns_max });

impl MatchSettings {
    /// Whether so many bots can play by it.
    ///
    /// # Errors
    /// The rule book's refusal.
    pub fn validate(&self, players: u8) -> Result<(), RuleError> {
        self.rules.validate(self.width, self.height, players)
    }

    /// A match by these settings.
    #[must_use]
    pub fn spec(
        &self,
        id: MatchId,
        seed: Seed,
        origin: Option<MatchOrigin>,
        seats: Vec<SeatSpec>,
        is_public: bool,
    ) -> MatchSpec {
        let Self { rules, width, height, timeout_ms, turns_max } = *self;
        MatchSpec { id, rules, width, height, seed, timeout_ms, turns_max, origin, seats, is_public }
    }
}

/// Rule set and map go by their official names, which stay.
impl Pack for Rules {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { ruleset, map, settings, solo } = self;
        ruleset.name().to_owned().put(out);
        map.name().to_owned().put(out);
        settings.put(out);
        solo.put(out);
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        let ruleset = Ruleset::from_name(&String::get(from)?).ok_or(DecodeError("an unknown rule set"))?;
        let map = Map::from_name(&String::get(from)?).ok_or(DecodeError("an unknown map"))?;
        Ok(Self { ruleset, map, settings: Pack::get(from)?, solo: Pack::get(from)? })
    }
}

impl Pack for Settings {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { food_spawn_chance, minimum_food, hazard_damage_per_turn, shrink_every_n_turns } = *self;
        food_spawn_chance.put(out);
        minimum_food.put(out);
        out.extend(hazard_damage_per_turn.to_le_bytes());
        shrink_every_n_turns.put(out);
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            food_spawn_chance: Pack::get(from)?,
            minimum_food: Pack::get(from)?,
            hazard_damage_per_turn: i32::from_le_bytes(Pack::get(from)?),
            shrink_every_n_turns: Pack::get(from)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::{decode_versioned, encode_versioned};

    #[test]
    fn settings_are_read_back() {
        let combinations =
            Ruleset::ALL.into_iter().flat_map(|ruleset| Map::ALL.into_iter().map(move |map| (ruleset, map)));
        for (ruleset, map) in combinations {
            let settings = Settings { hazard_damage_per_turn: -3, food_spawn_chance: 70, ..Settings::default() };
            let rules = Rules { ruleset, map, settings, solo: false };
            let settings = MatchSettings { rules, width: 11, height: 19, timeout_ms: 500, turns_max: 5_000 };
            assert_eq!(decode_versioned(1, &encode_versioned(1, &settings)), Ok(settings));
        }
    }
}

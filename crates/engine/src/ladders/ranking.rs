//! Which part of a ranking is read, and positions in it.

use super::entry::LadderEntry;
use crate::ids::{BotId, CompetitionId};

/// By what a ranking is sorted, best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankingOrder {
    #[default]
    Rating,
    FoodEaten,
}

/// Which entries of a season a ranking shows: those that are active.
#[derive(Clone, Debug, PartialEq)]
pub struct RankingFilter {
    pub ladder: CompetitionId,
    pub season: u32,
    pub order: RankingOrder,
    /// Those with a rank, or those still in placement.
    pub is_ranked: bool,
    /// Only entries behind this one.
    pub after: Option<RankingCursor>,
    pub limit: usize,
}

/// An entry's position in a ranking: what it is sorted by, then its bot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankingCursor {
    /// The shown score, or the food eaten.
    pub value: f64,
    pub bot: BotId,
}

impl RankingCursor {
    #[must_use]
    pub fn of(entry: &LadderEntry, order: RankingOrder) -> Self {
        let value = match order {
            RankingOrder::Rating => entry.record.rating.display_score(),
            RankingOrder::FoodEaten => entry.record.food_eaten as f64,
        };
        Self { value, bot: entry.entrant.bot }
    }
}

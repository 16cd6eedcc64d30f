//! For which worlds there is room in memory. What players make leaves room for the rest: worlds that do not end (built-in ones, and
//! operators') always find it, other worlds of operators and the matchmaker's up to what may be in memory, those of players up to less
//! than that, and by their cells.

use super::{Settings, VisitError};
use engine::limits::WORLDS_LOADED_RESERVED_SHARE;
use engine::rows::WorldRow;
use engine::worlds::settings_from_bytes;

/// Whose a world is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owned {
    /// Built in, or an operator's that does not end.
    Lasting,
    /// Of those who were matched, or an operator's that ends.
    ByTheServer,
    /// A player's, of so many cells.
    ByAPlayer { cells: u64 },
}

impl Owned {
    pub(super) fn of(row: &WorldRow) -> Self {
        match (row.ends_at, row.creator) {
            (None, _) => Self::Lasting,
            (Some(_), None) => Self::ByTheServer,
            (Some(_), Some(_)) => {
                // What cannot be read has no cells, and does not come in.
                let cells = settings_from_bytes(&row.settings).map_or(0, |settings| settings.size.cells());
                Self::ByAPlayer { cells: cells.into() }
            }
        }
    }

    /// Whether whoever brings it in needs a share of what his address may bring in.
    pub(super) fn needs_share(self) -> bool {
        self != Self::Lasting
    }

    /// Whether it may come in beside these.
    pub(super) fn may_join(self, others: impl Iterator<Item = Self>, settings: &Settings) -> Result<(), VisitError> {
        let (mut limited, mut of_players, mut taken) = (0, 0, 0);
        for other in others.filter(|other| other.needs_share()) {
            limited += 1;
            if let Self::ByAPlayer { cells } = other {
                (of_players, taken) = (of_players + 1, taken + cells);
            }
        }
        let max = settings.loaded_max;
        let has_room = match self {
            Self::Lasting => true,
            Self::ByTheServer => limited < max,
            Self::ByAPlayer { cells } => {
                let is_in_cells = taken == 0 || taken + cells <= settings.players_cells_max;
                limited < max && of_players < max - max / WORLDS_LOADED_RESERVED_SHARE && is_in_cells
            }
        };
        if has_room { Ok(()) } else { Err(VisitError::Busy) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[track_caller]
    fn check(others: &[(usize, Owned)], new: Owned, has_room: bool) {
        let settings = Settings { loaded_max: 8, players_cells_max: 100, ..Settings::of(&Config::default()) };
        let others = others.iter().flat_map(|(count, owned)| std::iter::repeat_n(*owned, *count));
        let want = if has_room { Ok(()) } else { Err(VisitError::Busy) };
        assert_eq!(new.may_join(others, &settings), want, "{new:?}");
    }

    #[test]
    fn players_leave_room_for_the_others() {
        use Owned::{ByAPlayer, ByTheServer, Lasting};
        let player = |cells| ByAPlayer { cells };
        check(&[(5, player(1))], player(1), true);
        check(&[(6, player(1))], player(1), false);
        check(&[(6, player(1)), (1, ByTheServer)], ByTheServer, true);
        check(&[(6, player(1)), (2, ByTheServer)], ByTheServer, false);
        check(&[(8, ByTheServer)], player(1), false);
        check(&[(6, player(1)), (2, ByTheServer), (20, Lasting)], Lasting, true);
        check(&[(20, Lasting)], player(1), true);
        check(&[(1, player(60))], player(40), true);
        check(&[(1, player(60))], player(41), false);
        check(&[], player(1_000), true);
    }
}

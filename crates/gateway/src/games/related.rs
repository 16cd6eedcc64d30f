//! What a view of games shows besides the games: how their bots look, and what they are played for, as far as the viewer may see it.

use engine::competitions::{CompetitionKind, CompetitionRow};
use engine::ids::{AccountId, BotId, CompetitionId};
use engine::matches::entry::Face;
use engine::rows::{MatchRow, Role};
use std::collections::{BTreeMap, HashMap};
use store::{Reader, StoreError};
use wire::api::{BotFace, GameCompetition};

/// The bots and competitions of some games.
pub(crate) struct Related {
    faces: HashMap<BotId, Face>,
    competitions: BTreeMap<CompetitionId, CompetitionRow>,
    /// The account that sees the games, and what it may.
    viewer: Option<(AccountId, Role)>,
}

impl Related {
    /// Those of these games: one read of all bots, and one of all competitions. A game of one that cannot be read is shown without it.
    pub(crate) fn read(
        reader: &mut dyn Reader,
        games: &[MatchRow],
        viewer: Option<(AccountId, Role)>,
    ) -> Result<Self, StoreError> {
        let bots: Vec<BotId> = games.iter().flat_map(|game| &game.spec.seats).map(|seat| seat.bot).collect();
        let faces = reader.bot_faces(&bots)?.into_iter().collect();
        let origins = games.iter().filter_map(|game| game.spec.origin);
        let competitions: Vec<CompetitionId> = origins.map(|origin| origin.competition).collect();
        let competitions = reader.competitions_by_id(&competitions)?.into_iter().map(|row| (row.id, row)).collect();
        Ok(Self { faces, competitions, viewer })
    }

    /// How a bot looked in its last match.
    pub(super) fn face(&self, bot: BotId) -> Option<BotFace> {
        self.faces.get(&bot).map(face)
    }

    /// What a game is played for; `None` also where the viewer may not know.
    pub(super) fn competition(&self, game: &MatchRow) -> Option<GameCompetition> {
        let row = self.competitions.get(&game.spec.origin?.competition).filter(|row| self.is_visible(row, game))?;
        Some(GameCompetition { kind: row.kind.name().to_owned(), id: row.id.to_string(), name: row.name.clone() })
    }

    /// A private one is its owner's, and that of accounts whose bots are entered; a private duel its owner's alone.
    fn is_visible(&self, row: &CompetitionRow, game: &MatchRow) -> bool {
        let Some((account, role)) = self.viewer else { return row.is_public };
        let has_entered = row.kind != CompetitionKind::Duel && game.seat_accounts.contains(&Some(account));
        row.is_public || row.account == account || role >= Role::Operator || has_entered
    }
}

/// How a bot looked.
pub(crate) fn face(face: &Face) -> BotFace {
    BotFace { color: face.color.clone(), head: face.head.clone(), tail: face.tail.clone() }
}

//! The lists of games that a store keeps beside the logs of tables: their rows, and how they follow from the entries. Who may
//! see which of it is decided elsewhere.

use super::entry::Entry;
use super::game::Game;
use super::phase::Phase;
use super::record::GameRecord;
use super::state::TableState;
use crate::ids::{GameId, PlayerId};
use crate::time::UnixMs;
use rules::chance::Seed;

/// A game as it is listed and looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameRow {
    pub id: GameId,
    /// Whose story it is.
    pub storyteller: PlayerId,
    /// Under what name; kept as it was when the game was opened, and `None` of games that are older than this field. Stores keep
    /// the character U+0000 as a space.
    pub storyteller_name: Option<String>,
    /// How far it is.
    pub phase: Phase,
    /// The story, once there is one. Stores save the character U+0000 as a space: PostgreSQL's texts cannot hold it.
    pub sentence: Option<String>,
    /// Who plays, the storyteller included.
    pub players: u8,
    /// How many may play.
    pub players_max: u8,
    /// When it was opened.
    pub created_at: UnixMs,
    /// When it was complete or canceled; present exactly in those phases.
    pub ended_at: Option<UnixMs>,
}

/// A player's role in a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GameRole {
    /// Tells the story.
    Storyteller,
    /// Plays.
    Player,
    /// Was invited and has not joined yet.
    Invited,
}

impl GameRole {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Storyteller, Self::Player, Self::Invited];

    /// The name on the wire and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Storyteller => "storyteller",
            Self::Player => "player",
            Self::Invited => "invited",
        }
    }

    /// The role of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// A change of the lists, in the same commit as the entries that it follows from. Games are those of the table appended to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexChange {
    /// Insert or replace the row of a game.
    UpsertGame(GameRow),
    /// Insert a seat of a known game, or replace its role.
    UpsertSeat { game: GameId, player: PlayerId, role: GameRole },
    /// Take a seat away, if there is one.
    DeleteSeat { game: GameId, player: PlayerId },
    /// A known game has ended. Its record is kept, seats of the invited are taken away, the others know whether they won.
    ArchiveGame {
        game: GameId,
        /// Everything that can be queried about it later, as the table's machine packs it.
        record: Vec<u8>,
        /// Who won.
        winners: Vec<PlayerId>,
    },
    /// A player was scored. The saved standing is updated by [`Standing::award`] and not replaced: a player may sit at
    /// two tables at once, and which cards are earned depends on the sum.
    ///
    /// [`Standing::award`]: rules::stories::Standing::award
    Award {
        player: PlayerId,
        /// What the game brought.
        points: u32,
        /// What decides which cards are earned with it.
        seed: Seed,
    },
}

/// What follows from an entry for the lists; `after` is the state after it.
pub(super) fn index_changes_of(before: &TableState, entry: &Entry, after: &TableState) -> Vec<IndexChange> {
    let Some(game) = after.game.as_deref() else { return Vec::new() };
    let mut out = Vec::new();
    match entry {
        Entry::Started { storyteller, .. } => {
            out.push(upsert_game(after, game));
            out.extend(upsert_seat(after, storyteller.id, GameRole::Storyteller));
        }
        Entry::Joined { who, .. } => {
            out.push(upsert_game(after, game));
            out.extend(upsert_seat(after, who.id, GameRole::Player));
        }
        Entry::Left { player, .. } => {
            let was_seated = before.live().is_some_and(|game| game.player(*player).is_some());
            if was_seated && game.phase.is_open() {
                out.push(upsert_game(after, game));
                out.extend(delete_seat(after, *player));
            }
        }
        Entry::StoryTold { .. } => out.push(upsert_game(after, game)),
        Entry::Invited { players } => {
            out.extend(players.iter().filter_map(|player| upsert_seat(after, *player, GameRole::Invited)));
        }
        Entry::VotingOpened { opening } => {
            out.push(upsert_game(after, game));
            let invited = before.game.iter().flat_map(|game| &game.invited);
            out.extend(opening.removed.iter().chain(invited).filter_map(|player| delete_seat(after, *player)));
        }
        Entry::Completed { .. } | Entry::Canceled { .. } => {
            out.push(upsert_game(after, game));
            out.extend(archive_game(after, game));
            out.extend(awards(before.version, after, game));
        }
        Entry::CardChosen { .. }
        | Entry::Picked { .. }
        | Entry::CountdownSet { .. }
        | Entry::Voted { .. }
        | Entry::ChatSent { .. }
        | Entry::BotsSet { .. }
        | Entry::NextStorytellerNamed { .. } => {}
    }
    out
}

/// Whether an entry changes the lists at all; most entries do not.
pub(super) fn is_indexed(entry: &Entry) -> bool {
    matches!(
        entry,
        Entry::Started { .. }
            | Entry::Joined { .. }
            | Entry::Left { .. }
            | Entry::StoryTold { .. }
            | Entry::Invited { .. }
            | Entry::VotingOpened { .. }
            | Entry::Completed { .. }
            | Entry::Canceled { .. }
    )
}

fn upsert_game(state: &TableState, game: &Game) -> IndexChange {
    let storyteller = game.storyteller().unwrap_or(PlayerId(0));
    IndexChange::UpsertGame(GameRow {
        id: state.game_id(),
        storyteller,
        storyteller_name: state.people.get(storyteller).map(|person| person.name.to_string()),
        phase: game.phase,
        sentence: game.sentence.as_deref().map(str::to_owned),
        players: game.players.len() as u8,
        players_max: state.settings.rules.players_max,
        created_at: game.created_at,
        ended_at: game.ended_at,
    })
}

/// Bots have no lists of games.
fn upsert_seat(state: &TableState, player: PlayerId, role: GameRole) -> Option<IndexChange> {
    (!super::bots::is_bot(player)).then(|| IndexChange::UpsertSeat { game: state.game_id(), player, role })
}

fn delete_seat(state: &TableState, player: PlayerId) -> Option<IndexChange> {
    (!super::bots::is_bot(player)).then(|| IndexChange::DeleteSeat { game: state.game_id(), player })
}

fn archive_game(state: &TableState, game: &Game) -> Option<IndexChange> {
    let winners = game.players.iter().filter(|player| player.has_won).map(|player| player.id).collect();
    GameRecord::of(state).map(|record| IndexChange::ArchiveGame {
        game: state.game_id(),
        record: record.to_bytes(),
        winners,
    })
}

/// What the game brought: points, and the seed of the cards that they may bring. `version` is that of the entry that counted.
fn awards(version: u32, state: &TableState, game: &Game) -> Vec<IndexChange> {
    let scored = game.players.iter().enumerate().filter(|(_, player)| !super::bots::is_bot(player.id));
    let award = |(seat, player): (usize, &super::game::Player)| {
        let points = player.points?;
        Some(IndexChange::Award { player: player.id, points, seed: state.award_seed(version, seat) })
    };
    if game.phase == Phase::Complete { scored.filter_map(award).collect() } else { Vec::new() }
}

//! A change of a table that is decided and not yet saved: what a store has to commit in one transaction.

use super::entry::{Entry, LoggedEntry};
use super::game::Game;
use super::phase::Phase;
use super::record::GameRecord;
use super::state::TableState;
use crate::commands::{IndexChange, TableSnapshot};
use crate::ids::PlayerId;
use crate::rows::{GameRole, GameRow, TableLogRow};
use std::fmt;

/// What is to be committed. The caller commits it, then passes it to [`super::Table::apply`], and sends no response
/// before that.
///
/// Its `Debug` prints counts only: entries contain hands.
#[derive(Clone, PartialEq, Eq)]
pub struct Change {
    /// Entries that the log holds before it.
    pub expected_version: u32,
    /// Entries to be added.
    pub rows: Vec<TableLogRow>,
    /// What follows from them for the lists.
    pub index_changes: Vec<IndexChange>,
    /// What loads start from from now on, when that moves.
    pub snapshot: Option<TableSnapshot>,
    /// Whether the table acts by itself after it, and so must have an owner.
    pub is_live: bool,
    pub(super) entries: Vec<LoggedEntry>,
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Change");
        out.field("expected_version", &self.expected_version).field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

impl Change {
    /// Whether there is nothing to commit: the action was allowed and changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.snapshot.is_none()
    }

    pub(super) fn rows(entries: &[LoggedEntry], version: u32) -> Vec<TableLogRow> {
        entries.iter().zip(version..).map(|(logged, version)| TableLogRow { version, bytes: logged.encode() }).collect()
    }
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

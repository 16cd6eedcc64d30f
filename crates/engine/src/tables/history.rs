//! The steps of a game as its record keeps them: all of them, until they become too many; then those that still count.
//!
//! What still counts fits, however often players came and went or changed a choice: the end of a game is never left
//! out. Decides nothing, and cuts nothing for a viewer.

use super::entry::{Entry, LoggedEntry};
use super::game::Player;
use crate::ids::PlayerId;
use crate::limits::GAME_HISTORY_BYTES_MAX;
use crate::pack::{ByteReader, DecodeError, Pack};
use std::mem::{Discriminant, discriminant};

/// The steps that were written.
pub(super) fn read(history: &[u8]) -> Result<Vec<LoggedEntry>, DecodeError> {
    let mut from = ByteReader::new(history);
    let mut steps = Vec::new();
    while !from.is_empty() {
        steps.push(LoggedEntry::get(&mut from)?);
    }
    Ok(steps)
}

/// Writes one more step; `players` are those of the game after it.
pub(super) fn write(history: &mut Vec<u8>, step: &LoggedEntry, players: &[Player]) {
    let mut bytes = Vec::new();
    step.put(&mut bytes);
    if history.len() + bytes.len() > GAME_HISTORY_BYTES_MAX
        && let Ok(steps) = read(history)
    {
        history.clear();
        relevant_steps(&steps, players).into_iter().for_each(|step| step.put(history));
    }
    history.reserve_exact(bytes.len());
    history.extend(bytes);
}

/// Without what was done anew later, and without those who are not in the game any more.
fn relevant_steps<'a>(steps: &'a [LoggedEntry], players: &[Player]) -> Vec<&'a LoggedEntry> {
    // Lists: kinds and players of a game are few.
    let mut done_later = Vec::new();
    let mut came_later = Vec::new();
    let newest_first = steps.iter().rev();
    let mut kept: Vec<_> = newest_first
        .filter(|step| match scope_of(&step.entry) {
            StepScope::Game => true,
            StepScope::Latest(kind) => insert_new(&mut done_later, (kind, None)),
            StepScope::Player(kind, id) => {
                let is_of_now = players.iter().any(|player| player.id == id) && !came_later.contains(&id);
                if matches!(step.entry, Entry::Joined { .. }) {
                    came_later.push(id);
                }
                is_of_now && insert_new(&mut done_later, (kind, Some(id)))
            }
        })
        .collect();
    kept.reverse();
    kept
}

/// Whether `what` was not there yet; it is now.
fn insert_new<T: PartialEq>(list: &mut Vec<T>, what: T) -> bool {
    let is_new = !list.contains(&what);
    if is_new {
        list.push(what);
    }
    is_new
}

/// Which later step replaces a step.
enum StepScope {
    /// It happens once.
    Game,
    /// The later one replaces it.
    Latest(Discriminant<Entry>),
    /// The same, for each player.
    Player(Discriminant<Entry>, PlayerId),
}

fn scope_of(entry: &Entry) -> StepScope {
    let kind = discriminant(entry);
    match entry {
        Entry::Joined { who, .. } => StepScope::Player(kind, who.id),
        Entry::Left { player, .. } | Entry::Picked { player, .. } | Entry::Voted { player, .. } => {
            StepScope::Player(kind, *player)
        }
        Entry::CardChosen { .. } | Entry::Invited { .. } | Entry::CountdownSet { .. } | Entry::BotsSet { .. } => {
            StepScope::Latest(kind)
        }
        Entry::Started { .. }
        | Entry::StoryTold { .. }
        | Entry::VotingOpened { .. }
        | Entry::Completed { .. }
        | Entry::Canceled { .. }
        | Entry::ChatSent { .. }
        | Entry::NextStorytellerNamed { .. } => StepScope::Game,
    }
}

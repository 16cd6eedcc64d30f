//! The steps of a game as its record keeps them: all of them, until they become too many; then those that still count.
//!
//! What still counts fits, however often somebody came and went or changed his mind: the end of a game is never left out.
//! Decides nothing, and cuts nothing for a viewer.

use super::entry::{Entry, Logged};
use super::game::Player;
use super::pack::{self, Pack};
use crate::ids::PlayerId;
use crate::limits::GAME_HISTORY_BYTES_MAX;
use crate::matches::entry::{BadEntry, ByteReader};
use std::mem::{Discriminant, discriminant};

/// The steps that were written.
pub(super) fn read(history: &[u8]) -> Result<Vec<Logged>, BadEntry> {
    let mut from = ByteReader::new(history);
    let mut steps = Vec::new();
    while !from.is_empty() {
        steps.push(Logged::get(&mut from)?);
    }
    Ok(steps)
}

/// Writes one more step; `players` are those of the game after it.
pub(super) fn write(history: &mut Vec<u8>, step: &Logged, players: &[Player]) {
    let bytes = pack::to_bytes(step);
    if history.len() + bytes.len() > GAME_HISTORY_BYTES_MAX
        && let Ok(steps) = read(history)
    {
        history.clear();
        what_counts(&steps, players).into_iter().for_each(|step| step.put(history));
    }
    history.reserve_exact(bytes.len());
    history.extend(bytes);
}

/// Without what was done anew later, and without those who are not in the game any more.
fn what_counts<'a>(steps: &'a [Logged], players: &[Player]) -> Vec<&'a Logged> {
    // Lists: kinds and players of a game are few.
    let mut done_later = Vec::new();
    let mut came_later = Vec::new();
    let newest_first = steps.iter().rev();
    let mut kept: Vec<_> = newest_first
        .filter(|step| match about(&step.entry) {
            About::Game => true,
            About::Latest(kind) => is_first(&mut done_later, (kind, None)),
            About::Player(kind, id) => {
                let is_of_now = players.iter().any(|player| player.id == id) && !came_later.contains(&id);
                if matches!(step.entry, Entry::Joined { .. }) {
                    came_later.push(id);
                }
                is_of_now && is_first(&mut done_later, (kind, Some(id)))
            }
        })
        .collect();
    kept.reverse();
    kept
}

/// Whether `what` was not there yet; it is now.
fn is_first<T: PartialEq>(list: &mut Vec<T>, what: T) -> bool {
    let is_new = !list.contains(&what);
    if is_new {
        list.push(what);
    }
    is_new
}

/// Of what a step is the latest news.
enum About {
    /// It happens once.
    Game,
    /// The later one replaces it.
    Latest(Discriminant<Entry>),
    /// The same, for each player.
    Player(Discriminant<Entry>, PlayerId),
}

fn about(entry: &Entry) -> About {
    let kind = discriminant(entry);
    match entry {
        Entry::Joined { who, .. } => About::Player(kind, who.id),
        Entry::Left { player, .. } | Entry::Picked { player, .. } | Entry::Voted { player, .. } => {
            About::Player(kind, *player)
        }
        Entry::CardChosen { .. } | Entry::Invited { .. } | Entry::CountdownSet { .. } | Entry::BotsSet { .. } => {
            About::Latest(kind)
        }
        Entry::Started { .. }
        | Entry::Told { .. }
        | Entry::VotingOpened { .. }
        | Entry::Completed { .. }
        | Entry::Canceled { .. }
        | Entry::Said { .. }
        | Entry::Named { .. } => About::Game,
    }
}

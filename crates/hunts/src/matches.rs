//! The hunts of matched tickets, until they are saved.

use super::Hunts;
use super::new_hunt;
use engine::commands::{Command, Outcome, WorldCommand};
use engine::ids::{PlayerId, TicketId, WorkerId};
use engine::matchmaking::Ticket;
use engine::rows::WorldRow;
use engine::time::UnixMs;
use store::StoreError;

/// Tickets that play together, and their hunt.
pub(super) struct Match {
    pub(super) tickets: Vec<Ticket>,
    pub(super) hunt: WorldRow,
    /// The owner of the matchmaking queue when they were matched.
    pub(super) owner: WorkerId,
    /// Whether it was saved is unknown.
    pub(super) is_in_doubt: bool,
    /// A player cancelled meanwhile: if it was saved, all players are removed from it.
    pub(super) is_dissolved: bool,
}

/// The result of saving a match's hunt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SaveOutcome {
    Saved,
    Refused,
    /// The store was overloaded.
    NotTried,
    /// Unknown: it is tried again.
    Unknown,
    /// Another process owns the queue: the hunt will not be saved any more, if it is not.
    NotOwner,
}

/// Matches whose hunts are being saved. However that ends, none is forgotten: unknown outcomes are resolved.
pub(super) struct UnsettledMatches<'a> {
    pub(super) hunts: &'a Hunts,
    pub(super) matches: Vec<Match>,
}

impl Drop for UnsettledMatches<'_> {
    fn drop(&mut self) {
        for made in self.matches.drain(..) {
            self.hunts.matchmaker.settle(made, SaveOutcome::Unknown, self.hunts.node.clock.steady());
        }
    }
}

/// Saves a hunt for each match, all in one commit; returns whether all were saved.
pub(super) async fn save_hunts(hunts: &Hunts, mut unsettled: UnsettledMatches<'_>) -> bool {
    let matchmaker = &hunts.matchmaker;
    let commands = unsettled.matches.iter().map(Match::commands).collect::<Vec<_>>();
    let counts: Vec<_> = commands.iter().map(Vec::len).collect();
    let outcomes = hunts.node.store.commit_all(commands.into_iter().flatten().collect()).await;
    let matches = std::mem::take(&mut unsettled.matches);
    let mut is_saved = true;
    let mut at = 0;
    for (made, count) in matches.into_iter().zip(counts) {
        let saved = match &outcomes {
            Ok(outcomes) => made.save_outcome(outcomes.get(at)),
            Err(StoreError::Overloaded { .. }) => SaveOutcome::NotTried,
            Err(_) => SaveOutcome::Unknown,
        };
        at += count;
        is_saved &= saved == SaveOutcome::Saved;
        matchmaker.settle(made, saved, hunts.node.clock.steady());
    }
    is_saved
}

impl Match {
    /// A new match, made by the owner of the queue.
    pub(super) fn new(tickets: Vec<Ticket>, owner: WorkerId, date: UnixMs) -> Self {
        let players = tickets.first().map_or(0, |ticket| ticket.players);
        let hunt = new_hunt::matched_hunt_row(players, date);
        Self { tickets, hunt, owner, is_in_doubt: false, is_dissolved: false }
    }

    /// The commands that save it. A dissolved hunt is created as well, so that an attempt in flight cannot create it later.
    fn commands(&self) -> Vec<Command> {
        let (row, owner) = (self.hunt.clone(), self.owner);
        let on = |ticket: &Ticket| ticket.party.iter().map(|player| (*player, ticket.id)).collect::<Vec<_>>();
        let members: Vec<_> = self.tickets.iter().flat_map(on).collect();
        let leave = |(player, _): &(PlayerId, TicketId)| WorldCommand::Leave { id: row.id, player: *player };
        let leaves: Vec<_> = members.iter().filter(|_| self.is_dissolved).map(leave).collect();
        let make = WorldCommand::CreateMatchedHunt { row, members, keeper: owner };
        [make].into_iter().chain(leaves).map(Command::World).collect()
    }

    fn save_outcome(&self, outcome: Option<&Outcome>) -> SaveOutcome {
        match outcome {
            Some(Outcome::World(made)) if made.id == self.hunt.id => SaveOutcome::Saved,
            Some(Outcome::LeaseLost) => SaveOutcome::NotOwner,
            Some(_) => SaveOutcome::Refused,
            None => SaveOutcome::Unknown,
        }
    }
}

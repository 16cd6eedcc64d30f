//! Hunts, tickets and hunters as they are shown.

use crate::gateway::problem::{ApiError, ApiResult};
use crate::hunts::{TicketSeen, TicketState};
use engine::rows::{HunterRow, RoundRow, WorldEntry};
use engine::worlds::settings_from_bytes;
use wire::api::{HuntView, HunterView, RoundView, TicketView};
use wire::time::Timestamp;

/// # Errors
/// [`ApiError::Unforeseen`] when the hunt's rules cannot be read.
pub(super) fn hunt(entry: WorldEntry) -> ApiResult<HuntView> {
    let WorldEntry { row, owner, players } = entry;
    let unreadable = |what: &str| ApiError::Unforeseen(format!("the rules of the hunt {} {what}", row.id));
    let settings = settings_from_bytes(&row.settings).map_err(|why| unreadable(&format!("cannot be read: {why}")))?;
    let rules = settings.hunt.ok_or_else(|| unreadable("are not a hunt's"))?;
    Ok(HuntView {
        id: row.id.to_string(),
        name: row.name.to_string(),
        admission: row.admission.name().to_owned(),
        creator: row.creator.map(|creator| creator.to_string()),
        players,
        players_max: row.players_max,
        created_at: Timestamp(row.created_at.0),
        ends_at: row.ends_at.map(|at| Timestamp(at.0)),
        address: owner.map(|owner| owner.address),
        width: settings.size.width,
        height: settings.size.height,
        chests: rules.chests,
        power_ups: rules.power_ups,
        round_ms: u64::try_from(rules.round.as_millis()).unwrap_or(u64::MAX),
        rounds: rules.rounds,
    })
}

pub(super) fn ticket(seen: &TicketSeen) -> TicketView {
    let (ticket, state) = (&seen.ticket, seen.state.borrow());
    TicketView {
        id: ticket.id.to_string(),
        state: state.name().to_owned(),
        hunt: match &*state {
            TicketState::Matched(name) => Some(name.to_string()),
            TicketState::Waiting | TicketState::TimedOut | TicketState::Cancelled => None,
        },
        party: ticket.party.iter().map(ToString::to_string).collect(),
        players: ticket.players,
        region: ticket.region.as_ref().map(ToString::to_string),
        rating: ticket.rating,
        since: Timestamp(ticket.since.0),
        until: Timestamp(ticket.until.0),
    }
}

pub(super) fn hunter(row: HunterRow) -> HunterView {
    HunterView {
        player: row.player.to_string(),
        name: row.name,
        points: row.points,
        chests: row.chests,
        power_ups: row.power_ups,
        rounds: row.rounds,
        rounds_won: row.rounds_won,
        last_at: Timestamp(row.last_at.0),
    }
}

pub(super) fn round(row: RoundRow) -> RoundView {
    RoundView {
        number: row.number,
        ended_at: Timestamp(row.ended_at.0),
        winner: row.winner.map(|winner| winner.to_string()),
        winner_name: row.winner_name,
        points: row.points,
        hunters: row.hunters,
    }
}

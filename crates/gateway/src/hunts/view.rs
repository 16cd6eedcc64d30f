//! Hunts, tickets and hunters as they are shown.

use crate::problem::{ApiError, ApiResult};
use engine::ids::{PlayerId, TicketId};
use engine::rows::{HunterRow, RoundRow, WorldEntry, WorldRow};
use engine::worlds::settings_from_bytes;
use hunts::{TicketState, TicketStatus};
use wire::api::{HuntView, HunterView, RoundView, TicketView};
use wire::time::Timestamp;

/// # Errors
/// [`ApiError::Internal`] when the hunt's rules cannot be read.
pub(super) fn hunt(entry: WorldEntry) -> ApiResult<HuntView> {
    let WorldEntry { row, owner, players } = entry;
    let unreadable = |what: &str| ApiError::Internal(format!("the rules of the hunt {} {what}", row.id));
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

pub(super) fn ticket(standing: &TicketStatus) -> TicketView {
    let ticket = &standing.ticket;
    TicketView {
        id: ticket.id.to_string(),
        state: standing.name().to_owned(),
        hunt: match &standing.state {
            TicketState::Matched(name) => Some(name.to_string()),
            TicketState::Waiting | TicketState::TimedOut | TicketState::Cancelled => None,
        },
        party: ticket.party.iter().map(ToString::to_string).collect(),
        party_size: Some(ticket.party_size),
        players: ticket.players,
        region: ticket.region.as_ref().map(ToString::to_string),
        rating: Some(ticket.rating),
        since: Some(Timestamp(ticket.since.0)),
        until: Some(Timestamp(ticket.until.0)),
    }
}

/// A matched ticket of which only the hunt is known any more, for one of its party.
pub(super) fn matched_ticket(id: TicketId, player: PlayerId, hunt: &WorldRow) -> TicketView {
    TicketView {
        id: id.to_string(),
        state: TicketState::Matched(hunt.name.clone()).name().to_owned(),
        hunt: Some(hunt.name.to_string()),
        party: vec![player.to_string()],
        players: u8::try_from(hunt.players_max).unwrap_or(u8::MAX),
        ..TicketView::default()
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

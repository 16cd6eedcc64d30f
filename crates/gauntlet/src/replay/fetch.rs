//! The calls of a snake, from a server.

use super::recording::RECORDING_BYTES_MAX;
use crate::api_client::{ApiClient, JSON_BYTES_MAX};
use crate::output::CliError;
use engine::ids::MatchId;
use engine::limits::SEATS_MAX;
use hyper::StatusCode;

/// The calls of a snake: in this seat, or the only one of the game that the token may see.
pub(super) async fn fetch_calls(client: &ApiClient, id: MatchId, seat: Option<u8>) -> Result<Vec<u8>, CliError> {
    let seat = match seat {
        Some(seat) => seat,
        None => only_seat(client, id).await?,
    };
    let answer = client.get_bytes(&format!("/api/games/{id}/snakes/{seat}/calls"), RECORDING_BYTES_MAX).await?;
    match answer.status {
        StatusCode::OK => Ok(answer.body),
        _ => Err(client.refused(&answer)),
    }
}

async fn only_seat(client: &ApiClient, id: MatchId) -> Result<u8, CliError> {
    let (mut seats, mut refusal) = (Vec::new(), None);
    for seat in 0..SEATS_MAX as u8 {
        let answer = client.get_bytes(&format!("/api/games/{id}/snakes/{seat}/turns?limit=0"), JSON_BYTES_MAX).await?;
        match answer.status {
            StatusCode::OK => seats.push(seat),
            // Another account's snake.
            StatusCode::FORBIDDEN => refusal = Some(answer),
            // Behind the last seat, or there is no such game.
            StatusCode::NOT_FOUND if seat > 0 => break,
            _ => return Err(client.refused(&answer)),
        }
    }
    match (&seats[..], refusal) {
        ([seat], _) => Ok(*seat),
        ([], Some(refusal)) => Err(client.refused(&refusal)),
        ([], None) => Err(CliError::failed("the game has no snake")),
        (several, _) => {
            let names = several.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
            Err(CliError::usage(format_args!("seats {names} are yours: name one with --seat")))
        }
    }
}

//! Tickets of players who may play no more leave the matchmaking queue: no player is matched with one who does not come. Its owner looks
//! through those who wait, whichever node or command banned the player, or deleted the account.

use super::Hunts;
use engine::ids::{AccountId, PlayerId};
use std::time::Duration;
use store::StoreError;
use tokio::time::sleep;

const CHECK_EVERY: Duration = Duration::from_secs(2);
/// Players of one read.
const PLAYERS_AT_ONCE: usize = 4_096;

/// Until the drain.
pub(super) async fn run(hunts: &Hunts, is_banned: impl Fn(PlayerId) -> bool) {
    let check = async {
        loop {
            sleep(CHECK_EVERY).await;
            // A store that cannot be read makes no hunts either; the next check comes.
            let _ = cancel_tickets(hunts, &is_banned).await;
        }
    };
    tokio::select! {
        () = hunts.drain.begun() => {}
        () = check => {}
    }
}

pub(super) async fn cancel_tickets(hunts: &Hunts, is_banned: impl Fn(PlayerId) -> bool) -> Result<(), StoreError> {
    let (banned, others): (Vec<_>, Vec<_>) =
        hunts.matchmaker.waiting_players().into_iter().partition(|player| is_banned(*player));
    let cancel = |player| hunts.matchmaker.cancel_of(player, hunts.node.clock.steady());
    banned.into_iter().for_each(cancel);
    // A player with an account has its id.
    for players in others.chunks(PLAYERS_AT_ONCE) {
        let accounts: Vec<AccountId> = players.iter().map(|player| AccountId(player.0)).collect();
        let deleted = hunts.node.store.read(move |reader| reader.deletions().deleted_among(&accounts)).await?;
        deleted.into_iter().map(PlayerId::from).for_each(cancel);
    }
    Ok(())
}

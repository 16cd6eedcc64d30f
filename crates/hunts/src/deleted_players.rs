//! Tickets of accounts that are deleted leave the matchmaking queue. Its owner asks the store for those who wait, whichever node or command deleted
//! the account.

use super::Hunts;
use engine::ids::{AccountId, PlayerId};
use std::time::Duration;
use store::StoreError;
use tokio::time::sleep;

const CHECK_EVERY: Duration = Duration::from_secs(2);
/// Players of one read.
const PLAYERS_AT_ONCE: usize = 4_096;

/// Until the drain.
pub(super) async fn run(hunts: &Hunts) {
    let check = async {
        loop {
            sleep(CHECK_EVERY).await;
            // A store that cannot be read makes no hunts either; the next check comes.
            let _ = cancel_tickets(hunts).await;
        }
    };
    tokio::select! {
        () = hunts.drain.begun() => {}
        () = check => {}
    }
}

pub(super) async fn cancel_tickets(hunts: &Hunts) -> Result<(), StoreError> {
    // A player with an account has its id.
    let players = hunts.matchmaker.waiting_players();
    for players in players.chunks(PLAYERS_AT_ONCE) {
        let accounts: Vec<AccountId> = players.iter().map(|player| AccountId(player.0)).collect();
        let deleted = hunts.node.store.read(move |reader| reader.deletions().deleted_among(&accounts)).await?;
        for account in deleted {
            hunts.matchmaker.cancel_of(PlayerId::from(account), hunts.node.clock.steady());
        }
    }
    Ok(())
}

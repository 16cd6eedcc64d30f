//! Calls off matches that no longer count for what they were played for.

use crate::environment::ArenaEnvironment;
use engine::commands::{Command, Outcome};
use engine::ids::MatchId;

/// Calls off those of these matches that have not ended, and notifies their spectators. What could not be called off is logged, and played
/// to its end: what the matches were for is decided already, and saved.
pub(crate) async fn cancel_matches<E: ArenaEnvironment>(environment: &E, matches: &[MatchId]) {
    for &id in matches {
        let cancel = Command::CancelMatch { id, account: None, now: environment.now() };
        match environment.commit(cancel).await {
            Ok(Outcome::Done) => environment.notify_match(id),
            // It has ended, or is deleted.
            Ok(_) => {}
            Err(error) => tracing::warn!(game = %id, %error, "a game that no longer counts was not called off"),
        }
    }
}

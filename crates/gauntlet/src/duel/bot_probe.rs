//! Asks each bot for a move before a duel begins: a duel against a bot that gives none would be decided quickly, and say nothing. What a bot
//! answers to other calls does not matter: it can play.

use crate::output::{CliError, printable};
use arena::health::{BotProber, check_up};
use bot_client::BotClient;
use bot_client::probe::{ProbeCall, ProbeReport};
use bot_client::signing::CallSigner;
use engine::health::CallFault;
use engine::ids::{AccountId, BotId};
use engine::limits::HEALTH_CALL_TIMEOUT;
use engine::rows::Bot;
use engine::time::UnixMs;
use node::clock::{Clock, random_bytes};
use quotas::socket_budget::SocketBudget;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;

/// # Errors
/// The first bot that gives no valid move, with what was wrong and what to do.
pub(super) async fn probe_all(urls: &[String], timeout: Option<Duration>) -> Result<(), CliError> {
    // A duel may give its bots more time than a checkup does.
    let may_be_late = timeout.is_some_and(|timeout| timeout > HEALTH_CALL_TIMEOUT);
    let prober = Unsigned(BotClient::new(1, true, Arc::default(), Arc::new(SocketBudget::new(2, 2))));
    for url in urls {
        let checkup = check_up(&prober, &bot(url), Clock::default().now(), random_bytes()).await?;
        let fault = checkup.fault.filter(|fault| !(may_be_late && *fault == CallFault::TooLate));
        let Some(fault) = fault else { continue };
        let text = format!("the bot at {url} gives no move: {}; {}", fault.problem(), fault.remedy());
        return Err(CliError::failed(printable(&text)));
    }
    Ok(())
}

/// Calls without a signature: bots of a duel on this machine are not registered.
#[derive(Clone)]
struct Unsigned(BotClient);

impl BotProber for Unsigned {
    async fn probe(&self, call: ProbeCall) -> ProbeReport {
        self.0.probe(call).await
    }

    async fn signer(&self, _: BotId, _: UnixMs) -> Result<Option<CallSigner>, StoreError> {
        Ok(None)
    }
}

/// As a registered bot would be.
fn bot(url: &str) -> Bot {
    Bot {
        id: BotId(1),
        account: AccountId(1),
        name: "bot".to_owned(),
        url: url.to_owned(),
        is_public: false,
        created_at: UnixMs(0),
        updated_at: UnixMs(0),
    }
}

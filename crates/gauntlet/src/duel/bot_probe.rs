//! Asks each bot for a move before a duel begins: a duel against a bot that gives none would be decided quickly, and say nothing. What a bot
//! answers to other calls does not matter: it can play.

use crate::output::{CliError, printable};
use arena::health::{BotProber, Checkup, check_up};
use bot_client::probe::{ProbeCall, ProbeReport, ProbeStep};
use bot_client::signing::CallSigner;
use bot_client::{BotClient, LimitedAddresses};
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
    let sockets = Arc::new(SocketBudget::new(2, 2));
    let prober = Unsigned(BotClient::new(1, true, LimitedAddresses::None, Arc::default(), sockets));
    for url in urls {
        let checkup = check_up(&prober, &bot(url), Clock::default().now(), random_bytes(), 0).await?;
        let fault = checkup.fault.filter(|fault| !(may_be_late && *fault == CallFault::TooLate));
        let Some(fault) = fault else { continue };
        let (problem, remedy, answer) = (fault.problem(), fault.remedy(), answer(&checkup, fault));
        let text = format!("the bot at {url} gives no move: {problem} ({answer}); {remedy}");
        return Err(CliError::failed(printable(&text)));
    }
    Ok(())
}

/// What came instead of a move: its class, and of an answer the status and the beginning.
fn answer(checkup: &Checkup, fault: CallFault) -> String {
    let class = fault.class().name();
    match checkup
        .steps
        .iter()
        .rev()
        .find(|step| step.step == ProbeStep::Move)
        .and_then(|step| step.report.response.as_ref())
    {
        Some(response) if response.body_start.is_empty() => format!("{class}, status {}, no body", response.status),
        Some(response) => {
            format!("{class}, status {}, beginning with {:.80?}", response.status, response.body_start)
        }
        None => class.to_owned(),
    }
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

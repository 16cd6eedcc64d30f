//! One checkup of a bot: the four calls of the webhook API, one after the other. What decides is the call for a move: whatever a bot answers
//! to the others, it can play.

use super::BotProber;
use super::canned::CannedMatch;
use bot_client::probe::{ProbeCall, ProbeReport, ProbeStep};
use bytes::Bytes;
use engine::health::{CallFault, EvidenceSource, HealthRecord};
use engine::ids::MatchId;
use engine::limits::HEALTH_CALL_TIMEOUT;
use engine::rows::Bot;
use engine::time::UnixMs;
use store::StoreError;
use tokio::time::{Instant, sleep_until};

/// How a checkup went.
#[derive(Clone, Debug)]
pub struct Checkup {
    pub at: UnixMs,
    /// The calls that were made: the first one decides whether there are more.
    pub steps: Vec<CheckupStep>,
    /// Why the bot did not pass; `None`: it passed.
    pub fault: Option<CallFault>,
}

/// One call of a checkup.
#[derive(Clone, Debug)]
pub struct CheckupStep {
    pub step: ProbeStep,
    /// The body that was sent.
    pub body: Bytes,
    pub report: ProbeReport,
}

impl CheckupStep {
    fn fault(&self) -> Option<CallFault> {
        self.report.failure.as_ref().map(|failure| failure.fault)
    }
}

impl Checkup {
    /// It as evidence about the bot's health.
    #[must_use]
    pub fn record(&self, source: EvidenceSource) -> HealthRecord {
        let of_move = self.steps.iter().find(|step| step.step == ProbeStep::Move);
        let took_ms = of_move.map_or(0, |step| step.report.total.as_millis() as u16);
        HealthRecord { at: self.at, source, fault: self.fault, took_ms }
    }
}

const _: () = assert!(HEALTH_CALL_TIMEOUT.as_millis() <= u16::MAX as u128, "the time of a call fits its record");

/// Checks a bot up. A URL that may not be called takes as long as a call may, whatever the reason: how soon a name was refused would say
/// something about the server's network. The call for a move is repeated so often on its connection.
///
/// # Errors
/// Whether its calls are signed cannot be read.
pub async fn run(
    prober: &impl BotProber,
    bot: &Bot,
    now: UnixMs,
    random: [u8; 10],
    moves_repeated: usize,
) -> Result<Checkup, StoreError> {
    let refused_at = Instant::now() + HEALTH_CALL_TIMEOUT;
    let signer = prober.signer(bot.id, now).await?;
    let canned = CannedMatch::new(bot, MatchId::new(now, random));
    let mut steps = Vec::with_capacity(ProbeStep::ALL.len());
    for step in ProbeStep::ALL {
        let body = canned.body(step);
        let repeats = if step == ProbeStep::Move { moves_repeated } else { 0 };
        let (url, signer, account) = (bot.url.clone(), signer.clone(), bot.account);
        let call = ProbeCall { url, step, body: body.clone(), signer, account, repeats };
        let done = CheckupStep { step, body, report: prober.probe(call).await };
        let fault = done.fault();
        steps.push(done);
        if fault.is_some_and(is_about_the_host) {
            if fault == Some(CallFault::NoPublicAddress) {
                sleep_until(refused_at).await;
            }
            return Ok(Checkup { at: now, steps, fault });
        }
    }
    let fault = steps.iter().find(|step| step.step == ProbeStep::Move).and_then(CheckupStep::fault);
    Ok(Checkup { at: now, steps, fault })
}

/// Whether the other calls would end the same way.
fn is_about_the_host(fault: CallFault) -> bool {
    use CallFault::{ConnectionRefused, NoPublicAddress, NotConnected, ServerFault, Throttled, TlsFailed};
    matches!(fault, NoPublicAddress | ConnectionRefused | NotConnected | TlsFailed | ServerFault | Throttled)
}

//! Between a validated scenario and its first arrival: the values of the run, the setup's requests, the target's
//! initial totals and configuration. Drives no load.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Secrets;
use crate::aggregate::TotalsFigures;
use crate::format::first_few;
use crate::generator::{ControlClient, ControlOutcome, perform_step, target_headers};
use crate::limits::REQUEST_TIMEOUT;
use crate::measurement::ErrorKind;
use crate::scenario::{FeedRows, Scenario, Scope, Template};
use crate::work::{ControlTarget, read_totals};

/// Everything that arrivals need to know.
#[derive(Debug)]
pub(super) struct PreparedTrial {
    pub(super) target: ControlTarget,
    pub(super) picks: Vec<Vec<String>>,
    pub(super) feeds: Vec<FeedRows>,
    pub(super) config: Option<Value>,
    /// One for each kind of work.
    pub(super) totals: Vec<Option<TotalsFigures>>,
}

/// Sends the requests of the setup, one after the other.
pub(super) async fn prepare(
    scenario: &Scenario,
    feeds: Vec<FeedRows>,
    client: ControlClient,
    globals: BTreeMap<String, String>,
    secrets: &Secrets,
) -> Result<PreparedTrial, String> {
    let mut target = ControlTarget { headers: target_headers(&scenario.target, &globals)?, client, globals };
    for step in &scenario.setup {
        let scope = Scope::for_run(&target.globals);
        match perform_step(&target.client, step, &target.headers, &scope).await {
            Ok(ControlOutcome::Ok(kept)) => target.globals.extend(kept),
            Ok(ControlOutcome::Denied) => return Err(format!("the setup's `{}` was denied", step.name)),
            Err(failure) => {
                let asked = step.request().map(|asked| (&asked.method, asked.path.render(&scope).unwrap_or_default()));
                let asked = asked.map_or_else(String::new, |(method, path)| format!("{method} {path}"));
                let hint = auth_hint(failure.kind, secrets);
                let message = format!("the setup's {asked} failed: {}{hint}", failure.message);
                return Err(message);
            }
        }
    }
    let scope = Scope::for_run(&target.globals);
    let pick = |(_, items): &(String, Vec<Template>)| items.iter().map(|item| item.render(&scope)).collect();
    let picks: Vec<Vec<String>> = scenario.picks.iter().map(pick).collect::<Result<_, String>>()?;
    let config = match &scenario.target.config_path {
        Some(path) => Some(target.read_json(path, REQUEST_TIMEOUT).await?),
        None => None,
    };
    let totals = read_all_totals(scenario, &target).await?;
    Ok(PreparedTrial { target, picks, feeds, config, totals })
}

/// The server's totals of every kind of work that has some.
pub(super) async fn read_all_totals(
    scenario: &Scenario,
    target: &ControlTarget,
) -> Result<Vec<Option<TotalsFigures>>, String> {
    let mut all = Vec::with_capacity(scenario.work_specs.len());
    for work in &scenario.work_specs {
        all.push(match &work.totals {
            Some(totals) => Some(read_totals(totals, &target.read_json(&totals.path, REQUEST_TIMEOUT).await?)),
            None => None,
        });
    }
    Ok(all)
}

/// A token that was generated cannot be right for a server that is already running.
fn auth_hint(error: ErrorKind, secrets: &Secrets) -> String {
    let refused = matches!(error, ErrorKind::Status(401 | 403));
    match secrets.generated_variables() {
        generated @ [_, ..] if refused => {
            format!(
                "\nThe secret was made up for this run; for a service that runs already, set {}",
                first_few(generated, ", ")
            )
        }
        _ => String::new(),
    }
}

//! The owner of the rules: the one task that changes them. Changes that arrive together are committed together, put into force in
//! the order of the commit, and answered afterwards. Nothing is in force here that is not durable.
//!
//! Where several nodes share a database, the owner polls for changes of the others. Knows no HTTP.

use super::change::{Change, ChangeError, command};
use super::file::{self, FileRules};
use super::rule_set::{LimitRuleSet, StoredRules};
use crate::RateLimiter;
use engine::commands::{AuditCommand, Command, Outcome};
use engine::limits::{LIMIT_OVERRIDES_MAX, LIMIT_POLICIES_MAX};
use engine::rows::AuditEntry;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::{Store, StoreError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, timeout};

/// How often a shared database is polled: a change is in force on all nodes within a second.
const POLL_INTERVAL: Duration = Duration::from_millis(400);
/// Changes of one commit.
const BATCH_MAX: usize = 256;
/// Changes that wait for the owner; further senders wait for capacity.
pub(crate) const INBOX_CAPACITY: usize = 1_024;
/// Time limit for reading a file. Changes wait meanwhile.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest file of policies: a thousand policies and a hundred thousand quotas fit twice.
const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// The reply channel. A caller that no longer waits has dropped it: the change is made all the same.
type ChangeReply = oneshot::Sender<Result<(), ChangeError>>;

/// A change that is to be made.
#[derive(Debug)]
pub struct PendingChange {
    change: Change,
    /// The entry of the audit log that is saved in its commit.
    entry: Option<AuditEntry>,
    reply: ChangeReply,
}

impl PendingChange {
    pub(crate) fn new(change: Change, entry: Option<AuditEntry>, reply: ChangeReply) -> Self {
        Self { change, entry, reply }
    }

    fn commands(&self) -> impl Iterator<Item = Command> {
        let record = |entry: &AuditEntry| Command::Audit(AuditCommand::RecordIfDone(entry.clone()));
        [command(&self.change)].into_iter().chain(self.entry.as_ref().map(record))
    }
}

/// A message to the owner.
#[derive(Debug)]
pub enum RuleOwnerMessage {
    /// Change a rule.
    Change(Box<PendingChange>),
    /// Read the file again; the reply is the number of its policies, or what is wrong with it.
    Reload(oneshot::Sender<Result<usize, String>>),
}

/// Where rules come from, but for those that are set over the API.
#[derive(Clone, Debug, Default)]
pub struct RuleSources {
    /// The file of policies (`limiter.policies`).
    pub path: Option<PathBuf>,
    /// Whether the built-in policies are in force (`limiter.defaults`).
    pub has_built_in: bool,
}

impl RuleSources {
    /// Reads them. Blocks.
    ///
    /// # Errors
    /// What is wrong with the file, as text.
    pub fn read(&self, timestamps_max: usize) -> Result<FileRules, String> {
        let file = match &self.path {
            Some(path) => {
                let text = read_text(path)?;
                file::parse_policies(&text, timestamps_max)
                    .map_err(|error| format!("{} has {error}", path.display()))?
            }
            None => FileRules::default(),
        };
        Ok(if self.has_built_in { file.beside_built_in() } else { file })
    }

    /// The same on a thread for blocking work.
    async fn read_elsewhere(&self, timestamps_max: usize) -> Result<FileRules, String> {
        let sources = self.clone();
        let read = tokio::task::spawn_blocking(move || sources.read(timestamps_max));
        match timeout(READ_TIMEOUT, read).await {
            Ok(read) => read.unwrap_or_else(|_| Err("reading the file of policies panicked".to_owned())),
            Err(_) => {
                Err(format!("the file of policies could not be read within {READ_TIMEOUT:?}: is its disk there?"))
            }
        }
    }
}

/// The one task that changes the rules.
pub struct RuleOwner {
    rate_limiter: Arc<RateLimiter>,
    store: Store,
    sources: RuleSources,
    inbox: mpsc::Receiver<RuleOwnerMessage>,
    /// The version of the stored rules that was read last.
    version: u64,
    /// This process's own changes since then: each is one version.
    own_changes: u64,
    /// Whether a commit failed so that it is unknown what was saved.
    is_commit_unknown: bool,
    is_failing: bool,
}

impl RuleOwner {
    /// Puts the initial rules into force.
    ///
    /// # Errors
    /// What is wrong with the file, as text; or the store's error.
    pub async fn start(
        limits: Arc<RateLimiter>,
        store: Store,
        sources: RuleSources,
        inbox: mpsc::Receiver<RuleOwnerMessage>,
    ) -> Result<Self, StartError> {
        let file = sources.read_elsewhere(limits.timestamps_max()).await.map_err(StartError::File)?;
        if !file.built_in.is_empty() {
            tracing::info!(
                policies = file.built_in.len(),
                "built-in policies of the rate limiter are in force: gauntlet config shows them, limiter.policies changes them by name, \
                 --without-limits turns them off"
            );
        }
        let rules = store.read(|reader| reader.limit_rules()).await?;
        let version = rules.version;
        limits.replace_rules(LimitRuleSet { file, stored: StoredRules::from_rows(rules) }).map_err(StartError::File)?;
        Ok(Self {
            rate_limiter: limits,
            store,
            sources,
            inbox,
            version,
            own_changes: 0,
            is_commit_unknown: false,
            is_failing: false,
        })
    }

    /// Runs until all senders of messages are gone.
    pub async fn run(mut self) {
        let mut ticks = interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut messages = Vec::new();
        loop {
            tokio::select! {
                count = self.inbox.recv_many(&mut messages, BATCH_MAX) => {
                    if count == 0 {
                        return;
                    }
                    self.handle(std::mem::take(&mut messages)).await;
                }
                _ = ticks.tick(), if self.store.is_shared() || self.is_commit_unknown => self.poll_store().await,
            }
        }
    }

    async fn handle(&mut self, messages: Vec<RuleOwnerMessage>) {
        let mut changes = Vec::new();
        let mut reloads = Vec::new();
        for message in messages {
            match message {
                RuleOwnerMessage::Change(change) => changes.push(*change),
                RuleOwnerMessage::Reload(reply) => reloads.push(reply),
            }
        }
        if !reloads.is_empty() {
            let reloaded = self.reload().await;
            for reply in reloads {
                let _ = reply.send(reloaded.clone());
            }
        }
        if !changes.is_empty() {
            self.change(changes).await;
        }
    }

    /// Commits valid changes, puts them into force in the same order, then replies.
    async fn change(&mut self, changes: Vec<PendingChange>) {
        let accepted = self.refuse_invalid(changes);
        let commands = accepted.iter().flat_map(PendingChange::commands).collect();
        match self.store.commit_all(commands).await {
            Ok(outcomes) => {
                let mut outcomes = outcomes.into_iter();
                for PendingChange { change, entry, reply } in accepted {
                    let Some(outcome) = outcomes.next() else { break };
                    // That of its entry.
                    entry.and_then(|_| outcomes.next());
                    self.own_changes += u64::from(outcome == Outcome::Done);
                    let _ = reply.send(self.apply_outcome(&change, &outcome));
                }
            }
            Err(error) => {
                self.is_commit_unknown = true;
                for PendingChange { reply, .. } in accepted {
                    let _ = reply.send(Err(error.clone().into()));
                }
            }
        }
    }

    /// Refuses invalid changes, and returns the others: the store does not know the file.
    fn refuse_invalid(&self, changes: Vec<PendingChange>) -> Vec<PendingChange> {
        self.rate_limiter.with_rules(|rule_set| {
            let (mut policies, mut overrides) = rule_set.policy_and_override_counts();
            let mut refusal = |change: &Change| {
                let has_capacity = match change {
                    Change::PutPolicy(policy) if rule_set.source(&policy.name).is_none() => {
                        policies += 1;
                        policies <= LIMIT_POLICIES_MAX
                    }
                    Change::PutOverride(override_key, _) if rule_set.override_with_source(override_key).is_none() => {
                        overrides += 1;
                        overrides <= LIMIT_OVERRIDES_MAX
                    }
                    _ => true,
                };
                match change {
                    _ if !has_capacity => Some(ChangeError::TooMany),
                    Change::PutOverride((policy, _), _) if !rule_set.has_policy(policy) => {
                        Some(ChangeError::NoSuchPolicy)
                    }
                    _ => None,
                }
            };
            let accept = |pending: PendingChange| match refusal(&pending.change) {
                None => Some(pending),
                Some(error) => {
                    let _ = pending.reply.send(Err(error));
                    None
                }
            };
            changes.into_iter().filter_map(accept).collect()
        })
    }

    /// Puts a saved change into force.
    fn apply_outcome(&self, change: &Change, outcome: &Outcome) -> Result<(), ChangeError> {
        match outcome {
            Outcome::Done => {
                self.rate_limiter.apply_change(change);
                Ok(())
            }
            Outcome::LimitReached => Err(ChangeError::TooMany),
            Outcome::NotFound => Err(self.rate_limiter.with_rules(|rule_set| rule_set.missing_error(change))),
            other => {
                Err(ChangeError::Internal(format!("a change of the rate limiter's rules had the outcome {other:?}")))
            }
        }
    }

    /// Polls for changes of other nodes, or for the outcome of a failed commit.
    async fn poll_store(&mut self) {
        match self.read_updates().await {
            Ok(()) => self.is_failing = false,
            Err(error) => {
                if !self.is_failing {
                    tracing::warn!(%error, "the rate limiter's rules cannot be read; those in force stay");
                }
                self.is_failing = true;
            }
        }
    }

    async fn read_updates(&mut self) -> Result<(), StoreError> {
        let version = self.store.read(|reader| reader.limit_rules_version()).await?;
        if version == self.version + self.own_changes && !self.is_commit_unknown {
            return Ok(());
        }
        let rules = self.store.read(|reader| reader.limit_rules()).await?;
        (self.version, self.own_changes, self.is_commit_unknown) = (rules.version, 0, false);
        let file = self.rate_limiter.with_rules(|rule_set| rule_set.file.clone());
        if let Err(reason) =
            self.rate_limiter.replace_rules(LimitRuleSet { file, stored: StoredRules::from_rows(rules) })
        {
            tracing::error!(reason, "the rate limiter's stored rules cannot be put into force; the old ones stay");
        }
        Ok(())
    }

    /// Reads the file again: as a whole, or not at all.
    async fn reload(&self) -> Result<usize, String> {
        let Some(path) = &self.sources.path else {
            tracing::info!("a reload of the file of policies was requested, and there is none (limiter.policies)");
            return Err("there is no file of policies".to_owned());
        };
        let stored = self.rate_limiter.with_rules(|rule_set| rule_set.stored.clone());
        let read = self.sources.read_elsewhere(self.rate_limiter.timestamps_max()).await;
        let adopted = read.and_then(|file| {
            let count = file.policies.len() - file.built_in.len();
            self.rate_limiter.replace_rules(LimitRuleSet { file, stored }).map(|()| count)
        });
        match &adopted {
            Ok(0) => {
                tracing::warn!(file = %path.display(), "the file of policies was reloaded and is empty: it limits nothing");
            }
            Ok(policies) => tracing::info!(file = %path.display(), policies, "the file of policies was reloaded"),
            Err(reason) => {
                tracing::error!("the file of policies was refused, the old policies stay");
                // A log line for each error: they are escaped, so that line breaks only separate them.
                reason.lines().for_each(|error| tracing::error!("{}", error.trim()));
            }
        }
        adopted
    }
}

/// Why there are no initial rules.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The file of policies is invalid.
    #[error("the rate limiter's policies: {0}")]
    File(String),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn read_text(path: &Path) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let found = std::fs::metadata(path).map_err(cannot)?;
    if !found.is_file() {
        return Err(format!("{} is not a file: expected a file of policies in TOML", path.display()));
    }
    // Read with its own bound: a file may grow while it is read.
    let mut text = String::new();
    File::open(path).map_err(cannot)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(cannot)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("{} has more than {FILE_BYTES_MAX} bytes: expected at most so many", path.display()));
    }
    Ok(text)
}

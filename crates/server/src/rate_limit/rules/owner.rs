//! The keeper of the rules: the one task that changes them. Whatever arrives together is committed together, put into force in
//! the order of the commit, and answered afterwards. Nothing is in force here that is not durable.
//!
//! Where several nodes share a database, the keeper looks for what the others set. Knows no HTTP.

use super::change::{Change, ChangeError, command};
use super::file::{self, FileRules};
use super::rule_set::{LimitRuleSet, StoredRules};
use crate::rate_limit::RateLimiter;
use engine::commands::Outcome;
use engine::limits::{LIMIT_OVERRIDES_MAX, LIMIT_POLICIES_MAX};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::{Store, StoreError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, timeout};

/// How often a shared database is asked whether there is something new: a change is in force everywhere within a second.
const POLL_INTERVAL: Duration = Duration::from_millis(400);
/// Changes of one commit.
const BATCH_MAX: usize = 256;
/// Changes that wait for the keeper; whoever comes then waits at the door.
pub(crate) const INBOX_CAPACITY: usize = 1_024;
/// Time in which a file has been read, wherever it lies. Changes wait meanwhile.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest file of policies: a thousand policies and a hundred thousand quotas fit twice.
const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Where an answer goes. Whoever does not wait for it any more has left: the change is made all the same.
type ChangeReply = oneshot::Sender<Result<(), ChangeError>>;

/// What the keeper is asked.
#[derive(Debug)]
pub enum RuleOwnerMessage {
    /// Change a rule.
    Change(Change, ChangeReply),
    /// Read the file again; the answer is how many policies it has, or what is wrong with it.
    Reload(oneshot::Sender<Result<usize, String>>),
}

/// The one task that changes the rules.
pub struct RuleOwner {
    rate_limiter: Arc<RateLimiter>,
    store: Store,
    path: Option<PathBuf>,
    inbox: mpsc::Receiver<RuleOwnerMessage>,
    /// The version of the stored rules that was read last.
    version: u64,
    /// Changes of our own since then: each is one version.
    own_changes: u64,
    /// Whether a commit failed in a way in which nobody knows what was saved.
    is_commit_unknown: bool,
    is_failing: bool,
}

impl RuleOwner {
    /// Puts the rules into force that there are at the start.
    ///
    /// # Errors
    /// What is wrong with the file, as text; or the store's.
    pub async fn start(
        limits: Arc<RateLimiter>,
        store: Store,
        path: Option<PathBuf>,
        inbox: mpsc::Receiver<RuleOwnerMessage>,
    ) -> Result<Self, StartError> {
        let file = match &path {
            Some(path) => read_file(path.clone(), limits.timestamps_max()).await.map_err(StartError::File)?,
            None => FileRules::default(),
        };
        let rules = store.read(|reader| reader.limit_rules()).await?;
        let version = rules.version;
        limits.replace_rules(LimitRuleSet { file, stored: StoredRules::from_rows(rules) }).map_err(StartError::File)?;
        Ok(Self {
            rate_limiter: limits,
            store,
            path,
            inbox,
            version,
            own_changes: 0,
            is_commit_unknown: false,
            is_failing: false,
        })
    }

    /// Keeps the rules until everybody who could change them has gone.
    pub async fn run(mut self) {
        let mut looks = interval(POLL_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut messages = Vec::new();
        loop {
            tokio::select! {
                count = self.inbox.recv_many(&mut messages, BATCH_MAX) => {
                    if count == 0 {
                        return;
                    }
                    self.handle(std::mem::take(&mut messages)).await;
                }
                _ = looks.tick(), if self.store.is_shared() || self.is_commit_unknown => self.poll_store().await,
            }
        }
    }

    async fn handle(&mut self, messages: Vec<RuleOwnerMessage>) {
        let mut changes = Vec::new();
        let mut reloads = Vec::new();
        for message in messages {
            match message {
                RuleOwnerMessage::Change(change, reply) => changes.push((change, reply)),
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

    /// Commits what can be done, puts it into force in the same order, then answers.
    async fn change(&mut self, changes: Vec<(Change, ChangeReply)>) {
        let (accepted, refused) = self.validate_changes(changes);
        for (error, reply) in refused {
            let _ = reply.send(Err(error));
        }
        let commands = accepted.iter().map(|(change, _)| command(change)).collect();
        match self.store.commit_all(commands).await {
            Ok(outcomes) => {
                for ((change, reply), outcome) in accepted.into_iter().zip(outcomes) {
                    self.own_changes += u64::from(outcome == Outcome::Done);
                    let _ = reply.send(self.apply_outcome(&change, &outcome));
                }
            }
            Err(error) => {
                self.is_commit_unknown = true;
                for (_, reply) in accepted {
                    let _ = reply.send(Err(error.clone().into()));
                }
            }
        }
    }

    /// Parts what can be tried from what cannot: the store knows nothing of the file.
    #[expect(clippy::type_complexity, reason = "two lists, used once")]
    fn validate_changes(
        &self,
        changes: Vec<(Change, ChangeReply)>,
    ) -> (Vec<(Change, ChangeReply)>, Vec<(ChangeError, ChangeReply)>) {
        let (mut accepted, mut refused) = (Vec::new(), Vec::new());
        self.rate_limiter.with_rules(|book| {
            let (mut policies, mut overrides) = book.policy_and_override_counts();
            for (change, reply) in changes {
                let room = match &change {
                    Change::PutPolicy(policy) if book.source(&policy.name).is_none() => {
                        policies += 1;
                        policies <= LIMIT_POLICIES_MAX
                    }
                    Change::PutOverride(place, _) if book.override_with_source(place).is_none() => {
                        overrides += 1;
                        overrides <= LIMIT_OVERRIDES_MAX
                    }
                    _ => true,
                };
                match &change {
                    _ if !room => refused.push((ChangeError::TooMany, reply)),
                    Change::PutOverride((policy, _), _) if !book.has_policy(policy) => {
                        refused.push((ChangeError::NoSuchPolicy, reply));
                    }
                    _ => accepted.push((change, reply)),
                }
            }
        });
        (accepted, refused)
    }

    /// Puts a change into force that was saved.
    fn apply_outcome(&self, change: &Change, outcome: &Outcome) -> Result<(), ChangeError> {
        match outcome {
            Outcome::Done => {
                self.rate_limiter.apply_change(change);
                Ok(())
            }
            Outcome::LimitReached => Err(ChangeError::TooMany),
            Outcome::NotFound => Err(self.rate_limiter.with_rules(|book| book.missing_error(change))),
            other => Err(ChangeError::Internal(format!("a change of the rate limiter's rules came to {other:?}"))),
        }
    }

    /// Looks for what other nodes set, or for what became of a commit that failed.
    async fn poll_store(&mut self) {
        match self.read_updates().await {
            Ok(()) => self.is_failing = false,
            Err(error) => {
                if !self.is_failing {
                    tracing::warn!(%error, "the rate limiter's rules cannot be looked up; those in force stay");
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
        let file = self.rate_limiter.with_rules(|book| book.file.clone());
        if let Err(why) = self.rate_limiter.replace_rules(LimitRuleSet { file, stored: StoredRules::from_rows(rules) })
        {
            tracing::error!(why, "the rate limiter's stored rules cannot be put into force; the old ones stay");
        }
        Ok(())
    }

    /// Reads the file again: as a whole, or not at all.
    async fn reload(&self) -> Result<usize, String> {
        let Some(path) = &self.path else {
            tracing::info!("asked to read the file of policies again, and there is none (limiter.policies)");
            return Err("there is no file of policies".to_owned());
        };
        let stored = self.rate_limiter.with_rules(|book| book.stored.clone());
        let read = read_file(path.clone(), self.rate_limiter.timestamps_max()).await;
        let adopted = read.and_then(|file| {
            let count = file.policies.len();
            self.rate_limiter.replace_rules(LimitRuleSet { file, stored }).map(|()| count)
        });
        match &adopted {
            Ok(0) => {
                tracing::warn!(file = %path.display(), "the file of policies was read again and has none: it limits nothing");
            }
            Ok(policies) => tracing::info!(file = %path.display(), policies, "the file of policies was read again"),
            Err(why) => {
                tracing::error!("the file of policies was not taken over, the old policies stay");
                // A line for each mistake: they are escaped, so that the breaks between them are all there are.
                why.lines().for_each(|mistake| tracing::error!("{}", mistake.trim()));
            }
        }
        adopted
    }
}

/// Why there are no rules to begin with.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The file of policies is not good.
    #[error("the rate limiter's policies: {0}")]
    File(String),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads and checks a file on a thread for what blocks.
async fn read_file(path: PathBuf, timestamps_max: usize) -> Result<FileRules, String> {
    let read = tokio::task::spawn_blocking(move || {
        let text = read_text(&path)?;
        file::parse_policies(&text, timestamps_max).map_err(|error| format!("{} has {error}", path.display()))
    });
    match timeout(READ_TIMEOUT, read).await {
        Ok(read) => read.unwrap_or_else(|_| Err("reading the file of policies panicked".to_owned())),
        Err(_) => Err(format!("the file of policies could not be read within {READ_TIMEOUT:?}: is its disk there?")),
    }
}

fn read_text(path: &Path) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let found = std::fs::metadata(path).map_err(cannot)?;
    if !found.is_file() {
        return Err(format!("{} is not a file: expected a file of policies in TOML", path.display()));
    }
    // Read with a bound of its own: a file may grow while it is read.
    let mut text = String::new();
    File::open(path).map_err(cannot)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(cannot)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("{} has more than {FILE_BYTES_MAX} bytes: expected at most so many", path.display()));
    }
    Ok(text)
}

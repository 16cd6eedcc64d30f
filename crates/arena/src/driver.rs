//! Drives all competitions of a kind: finds those that have results to apply or are due, and has each advanced.

use crate::environment::ArenaEnvironment;
use engine::competitions::{CompetitionKind, CompetitionRow};
use node::lease::Lease;
use std::time::Duration;
use store::StoreError;
use tokio::time::sleep;

/// How often competitions are looked for: a result is applied within a fraction of a second, on whichever node its match ended.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Competitions that one look finds at most, for each reason.
const LOOK_MAX: usize = 256;

/// What became of one competition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driven {
    /// It was advanced, and may have more to do at once.
    Advanced,
    /// There was nothing to do, or another writer came first.
    Unchanged,
}

/// Advances the competitions of a kind, one after the other, for as long as the lease is valid.
pub async fn drive<E, F>(
    environment: E,
    lease: Lease,
    kind: CompetitionKind,
    advance: impl Fn(CompetitionRow) -> F + Send + Sync,
) where
    E: ArenaEnvironment,
    F: Future<Output = Result<Driven, StoreError>> + Send,
{
    let mut is_failing = false;
    while lease.is_valid() {
        let passed = pass(&environment, kind, &advance).await;
        if let (Err(error), false) = (&passed, is_failing) {
            tracing::warn!(kind = kind.name(), %error, "competitions cannot be advanced; tried again");
        }
        is_failing = passed.is_err();
        if !matches!(passed, Ok(Driven::Advanced)) {
            sleep(LOOK_EVERY).await;
        }
    }
}

/// Advances each competition that has something to do, once. One that fails does not keep the others from theirs.
pub(crate) async fn pass<E, F>(
    environment: &E,
    kind: CompetitionKind,
    advance: &(impl Fn(CompetitionRow) -> F + Sync),
) -> Result<Driven, StoreError>
where
    E: ArenaEnvironment,
    F: Future<Output = Result<Driven, StoreError>> + Send,
{
    let now = environment.now();
    let rows = environment.read(move |reader| reader.competitions_to_advance(kind, now, LOOK_MAX)).await?;
    let mut driven = Ok(Driven::Unchanged);
    for row in rows {
        let done = advance(row).await;
        if done.is_err() || driven == Ok(Driven::Unchanged) {
            driven = done;
        }
    }
    driven
}

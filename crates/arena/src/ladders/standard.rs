//! The ladder that every server has from its first start on. Its id is fixed: made once, by whichever process comes first.

use crate::environment::ArenaEnvironment;
use engine::commands::{Command, CompetitionCommand, Outcome};
use engine::competitions::{CompetitionKind, CompetitionRow, CompetitionStatus};
use engine::ladders::definition::{
    LadderDefinition, STANDARD_LADDER, STANDARD_LADDER_NAME, SYSTEM_ACCOUNT, SYSTEM_ACCOUNT_NAME,
};
use engine::limits::LADDERS_OF_OPERATOR_MAX;
use engine::rows::Account;
use std::time::Duration;
use store::StoreError;
use tokio::time::sleep;

/// Pause before it is tried again after an error of the store.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Makes the ladder and its owner, unless they are there.
pub(super) async fn ensure<E: ArenaEnvironment>(environment: &E) {
    let mut is_failing = false;
    while let Err(error) = try_once(environment).await {
        if !is_failing {
            tracing::warn!(%error, "the standard ladder cannot be made; tried again");
        }
        is_failing = true;
        sleep(RETRY_DELAY).await;
    }
}

async fn try_once<E: ArenaEnvironment>(environment: &E) -> Result<(), StoreError> {
    if environment.read(|reader| reader.competition(STANDARD_LADDER)).await?.is_some() {
        return Ok(());
    }
    let now = environment.now();
    let account = Account { id: SYSTEM_ACCOUNT, name: SYSTEM_ACCOUNT_NAME.to_owned(), created_at: now };
    let owner = environment.commit(Command::EnsureAccount(account)).await?;
    if owner != Outcome::Account(SYSTEM_ACCOUNT) {
        tracing::error!(outcome = ?owner, name = SYSTEM_ACCOUNT_NAME, "the account of ladders cannot be made: its name is taken");
        return Ok(());
    }
    let definition = LadderDefinition::standard().encode();
    let name = STANDARD_LADDER_NAME.to_owned();
    let row = CompetitionRow::new(STANDARD_LADDER, CompetitionKind::Ladder, SYSTEM_ACCOUNT, name, definition, now);
    let row = CompetitionRow { status: CompetitionStatus::Running, ..row };
    let create = CompetitionCommand::Create { row, live_max: LADDERS_OF_OPERATOR_MAX, idempotency: None };
    match environment.commit(Command::Competition(create)).await? {
        Outcome::Done | Outcome::Duplicate => Ok(()),
        other => {
            tracing::error!(outcome = ?other, "the standard ladder was not made");
            Ok(())
        }
    }
}

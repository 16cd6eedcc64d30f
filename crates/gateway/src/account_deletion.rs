//! What every deletion of an account does at once, and what it says. The rest follows in [`super::account_clearing`].

use super::audit_entry;
use super::problem::{ApiError, ApiResult, Resource, SignInRefusal};
use crate::app::App;
use crate::grants::{CredentialId, RevocationReason};
use engine::commands::{AccountCommand, Command, Outcome};
use engine::ids::AccountId;
use engine::ladders::definition::SYSTEM_ACCOUNT;
use engine::rows::{Account, AccountHoldings, BOOTSTRAP_ACCOUNT_NAME};
use wire::api::AccountDeletion;

/// An account that may be deleted, and what it has.
pub(super) struct Deletable {
    pub(super) account: Account,
    holdings: AccountHoldings,
}

impl Deletable {
    /// # Errors
    /// [`ApiError::BadValue`] if `name` is another one.
    pub(super) fn confirm(&self, name: &str) -> ApiResult<()> {
        let want = &self.account.name;
        if name.trim() == want {
            return Ok(());
        }
        Err(ApiError::bad_value("/name", format!("to confirm, name the account that is to be deleted: {want}")))
    }
}

/// # Errors
/// [`Resource::Account`] is not found, also if it was deleted; [`SignInRefusal::BuiltInAccount`].
pub(super) async fn check_deletable(app: &App, id: AccountId) -> ApiResult<Deletable> {
    let now = app.node.clock.now();
    let found = app.node.store.read(move |reader| {
        let account = reader.account(id)?;
        let holdings = reader.deletions().account_holdings(id, now)?;
        Ok(account.zip(holdings))
    });
    let (account, holdings) = found.await?.ok_or(ApiError::NotFound(Resource::Account))?;
    if id == SYSTEM_ACCOUNT || app.auth.bootstrap_role(id).is_some() || account.name == BOOTSTRAP_ACCOUNT_NAME {
        return Err(SignInRefusal::BuiltInAccount.into());
    }
    Ok(Deletable { account, holdings })
}

pub(super) fn view(found: &Deletable) -> AccountDeletion {
    let Deletable { account, holdings } = found;
    AccountDeletion {
        id: account.id.to_string(),
        name: account.name.clone(),
        tokens: holdings.counts.tokens,
        snakes: holdings.counts.bots,
        games_waiting: holdings.waiting_matches,
        duels: holdings.duels,
        tournaments: holdings.tournaments,
        leaderboards: holdings.ladders,
        hunts: holdings.hunts,
    }
}

/// Takes an account from its holder: what it has open on this node ends at once.
pub(super) async fn delete(app: &App, id: AccountId) -> ApiResult<()> {
    let command = Command::Account(AccountCommand::Delete { id, now: app.node.clock.now() });
    match audit_entry::commit(&app.node.store, command).await? {
        Outcome::AccountDeleted(tokens) => {
            for token in tokens {
                app.auth.forget(token);
                app.grants.revoke(CredentialId::Token(token), &RevocationReason::Deleted);
            }
            Ok(())
        }
        refusal => Err(ApiError::from_outcome(&refusal, Resource::Account)),
    }
}

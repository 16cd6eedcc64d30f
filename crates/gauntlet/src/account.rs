//! `gauntlet account`: an account is deleted in the store itself, whether or not a server runs on it. What was the account's own, a server deletes.

use crate::ban::validate_reason;
use crate::cli_settings::{load, with_settings};
use crate::output::{CliError, print_line, print_note, printable};
use crate::token::{last_admin, open_existing};
use crate::{args, audit_entries};
use clap::{ArgMatches, Args, Command};
use engine::commands::{AccountCommand, Command as Save, Outcome};
use engine::ladders::definition::SYSTEM_ACCOUNT;
use engine::rows::{AccountHoldings, BOOTSTRAP_ACCOUNT_NAME};
use node::clock::Clock;
use settings::Config;
use std::process::ExitCode;

#[derive(Args)]
struct DeleteArgs {
    /// The name of the account
    #[arg(long, value_name = "NAME")]
    account: String,
    /// Why, for the audit log
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Deletes it; without this, only says what would be deleted
    #[arg(long)]
    yes: bool,
}

pub(crate) fn command() -> Command {
    let delete = Command::new("delete").about(
        "Deletes an account for ever; a running server refuses its tokens within two seconds, and deletes what it had",
    );
    let delete =
        with_settings(DeleteArgs::augment_args(delete), |setting| matches!(setting.key, "store.data" | "store.url"));
    Command::new("account")
        .about("Deletes accounts, also while a server runs on the same store")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(delete)
}

pub(crate) fn run(typed: &ArgMatches) -> Result<ExitCode, CliError> {
    let (_, typed) = typed.subcommand().ok_or_else(|| CliError::usage("delete?"))?;
    let config = load(typed)?;
    crate::runtime::runtime(1)?.block_on(delete(config, args(typed)?))?;
    Ok(ExitCode::SUCCESS)
}

async fn delete(config: Config, args: DeleteArgs) -> Result<(), CliError> {
    // Whatever it is called: it may have its name from before there were rules for names.
    let (name, reason) = (args.account.trim().to_owned(), validate_reason(&args.reason)?);
    let store = open_existing(config, &format!("account {name}")).await?;
    let (sought, now) = (name.clone(), Clock::default().now());
    let found = store.read(move |reader| {
        let Some(account) = reader.account_named(&sought)? else { return Ok(None) };
        let holdings = reader.deletions().account_holdings(account.id, now)?;
        Ok(holdings.map(|holdings| (account, holdings)))
    });
    let (account, holdings) =
        found.await?.ok_or_else(|| CliError::failed(format_args!("there is no account {name}")))?;
    if account.id == SYSTEM_ACCOUNT || account.name == BOOTSTRAP_ACCOUNT_NAME {
        return Err(CliError::failed(format_args!(
            "the account {name} is the server's own, or that of its bootstrap token: it cannot be deleted"
        )));
    }
    let (id, contents) = (account.id, contents(&holdings));
    if !args.yes {
        print_line(format_args!("{id}  {}: {contents}", printable(&name)))?;
        print_note("nothing was deleted: repeat this with --yes to delete the account with all of it, for ever");
        return Ok(());
    }
    let detail = Some(format!("name:{name}"));
    let entry = audit_entries::entry(now, "delete_account", format!("account:{id}"), detail, Some(reason));
    let command = Save::Account(AccountCommand::Delete { id, now });
    match store.commit_all(vec![command, entry]).await?.first() {
        Some(Outcome::AccountDeleted(_)) => {}
        Some(Outcome::LastAdmin) => {
            return Err(CliError::failed(last_admin(&name)));
        }
        other => return Err(CliError::failed(format_args!("the store refused the deletion: {other:?}"))),
    }
    store.close().await;
    print_note("its tokens are gone; a server deletes the rest, the one that runs or the next");
    print_line(format_args!("{id}  {}: {contents}", printable(&name)))
}

fn contents(holdings: &AccountHoldings) -> String {
    let AccountHoldings { counts, waiting_matches, duels, tournaments, ladders, hunts } = holdings;
    format!(
        "{} tokens, {} snakes, {waiting_matches} games that wait, {duels} duels, {tournaments} tournaments, {ladders} leaderboards, {hunts} hunts",
        counts.tokens, counts.bots
    )
}

//! `gauntlet token`: make, list and revoke tokens in the store itself, whether or not a server runs on it.

use crate::cli_settings::{load, with_settings};
use crate::output::{CliError, print_line, print_note};
use crate::serve::store_description;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgMatches, Command};
use engine::commands::{Command as Save, Outcome};
use engine::digest::digest;
use engine::ids::{AccountId, TokenId};
use engine::limits::NAME_CHARS_MAX;
use engine::rows::{Account, Role, Token, TokenPurpose};
use gateway::auth::new_secret;
use metrics::Metrics;
use node::clock::{Clock, random_bytes};
use server::process::open_store;
use settings::{Config, StoreLocation};
use std::process::ExitCode;
use std::sync::Arc;
use store::Store;

const ACCOUNT: &str = "account";
const ROLE: &str = "role";
const PURPOSE: &str = "for";
const NAME: &str = "name";
const ID: &str = "id";

pub(crate) fn command() -> Command {
    let account = || {
        let help = "The account that the token speaks for; it is made if there is none of this name";
        Arg::new(ACCOUNT).long(ACCOUNT).value_name("NAME").default_value("default").help(help)
    };
    let role = Arg::new(ROLE)
        .long(ROLE)
        .value_parser(PossibleValuesParser::new(Role::ALL.map(Role::name)))
        .default_value(Role::Player.name())
        .help("What its holder may do");
    let purpose = Arg::new(PURPOSE)
        .long(PURPOSE)
        .value_parser(PossibleValuesParser::new([
            PossibleValue::new("use").help("Everyday use"),
            PossibleValue::new("load-test")
                .alias("load_test")
                .help("Load tests: the limiter has classes of their own for them"),
        ]))
        .default_value("use")
        .help("What it is for");
    let name =
        Arg::new(NAME).long(NAME).value_name("NAME").default_value("command line").help("What its holder calls it");
    let id = Arg::new(ID).required(true).value_name("ID").help("The token's id, as list shows it");
    let create = Command::new("create").about("Makes a token and prints its secret, once");
    let list = Command::new("list").about("Lists the tokens of an account; secrets are not kept anywhere");
    let revoke = Command::new("revoke").about("Ends a token; a server that saw it just now notices within two seconds");
    Command::new("token")
        .about("Makes, lists and revokes tokens, also while a server runs on the same store")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(with_store(create).arg(role).arg(purpose).arg(account()).arg(name))
        .subcommand(with_store(list).arg(account()))
        .subcommand(with_store(revoke).arg(id))
}

fn with_store(command: Command) -> Command {
    with_settings(command, |setting| matches!(setting.key, "store.data" | "store.url"))
}

pub(crate) fn run(typed: &ArgMatches) -> Result<ExitCode, CliError> {
    let (what, typed) = typed.subcommand().ok_or_else(|| CliError::usage("create, list or revoke?"))?;
    let config = load(typed)?;
    let text = |name: &str| typed.try_get_one::<String>(name).ok().flatten().cloned().unwrap_or_default();
    crate::runtime::runtime(1)?.block_on(async {
        match what {
            "create" => {
                let kind = (read_role(&text(ROLE))?, read_purpose(&text(PURPOSE))?);
                create(config, &text(ACCOUNT), kind, &text(NAME)).await
            }
            "list" => list(config, text(ACCOUNT)).await,
            _ => revoke(config, &text(ID)).await,
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn open(mut config: Config) -> Result<Store, CliError> {
    config.store_connections = 1;
    Ok(open_store(&config, Arc::new(Metrics::default())).await?)
}

/// The existing store. Only a creation may make one: if a lookup finds no file, its name is mistyped.
async fn open_existing(config: Config, sought: &str) -> Result<Store, CliError> {
    match config.store() {
        StoreLocation::Sqlite(data) if !data.exists() => Err(CliError::failed(format_args!(
            "there is no {sought}: there is no data file {}; name the server's with --data, or its database with --store-url",
            data.display()
        ))),
        StoreLocation::Sqlite(_) | StoreLocation::Postgres(_) => open(config).await,
    }
}

fn read_role(name: &str) -> Result<Role, CliError> {
    Role::from_name(name).ok_or_else(|| CliError::usage(format_args!("there is no role {name}")))
}

/// Words on a command line are joined by hyphens, names in the store and on the wire by underscores.
fn read_purpose(name: &str) -> Result<TokenPurpose, CliError> {
    let known = TokenPurpose::from_name(&name.replace('-', "_"));
    known.ok_or_else(|| CliError::usage(format_args!("a token cannot be for {name}")))
}

async fn create(config: Config, account: &str, kind: (Role, TokenPurpose), name: &str) -> Result<(), CliError> {
    let (role, purpose) = kind;
    let (account, name) = (validate_name(ACCOUNT, account)?, validate_name(NAME, name)?);
    let store_text = store_description(&config);
    let store = open(config).await?;
    let now = Clock::default().now();
    let new = Account { id: AccountId::new(now, random_bytes()), name: account.clone(), created_at: now };
    let Outcome::Account(id) = store.commit(Save::EnsureAccount(new)).await? else {
        return Err(CliError::failed(format_args!("the account {account} could not be made")));
    };
    let secret = new_secret();
    let token = Token {
        id: TokenId::new(now, random_bytes()),
        account: id,
        name,
        role,
        purpose,
        digest: digest(&secret),
        created_at: now,
    };
    let token_id = token.id;
    match store.commit(Save::CreateToken(token)).await? {
        Outcome::Done => {}
        Outcome::LimitReached => {
            let text = format!(
                "the account {account} has as many tokens as it may have; revoke one with gauntlet token revoke"
            );
            return Err(CliError::failed(text));
        }
        other => return Err(CliError::failed(format_args!("the store refused the token: {other:?}"))),
    }
    store.close().await;
    let what = match purpose {
        TokenPurpose::Use => role.name().to_owned(),
        TokenPurpose::LoadTest => format!("{} for load tests", role.name()),
    };
    print_note(format_args!(
        "token {token_id}: {what}, of account {account} (store: {store_text}); its secret is shown this once"
    ));
    print_line(secret)
}

fn validate_name(what: &str, name: &str) -> Result<String, CliError> {
    let name = name.trim();
    let chars = name.chars().count();
    if (1..=NAME_CHARS_MAX).contains(&chars) && !name.chars().any(char::is_control) {
        return Ok(name.to_owned());
    }
    Err(CliError::usage(format_args!(
        "--{what} has {chars} characters; expected: 1 to {NAME_CHARS_MAX}, none of them a control character"
    )))
}

async fn list(config: Config, account: String) -> Result<(), CliError> {
    let store = open_existing(config, &format!("account {account}")).await?;
    let name = account.clone();
    let tokens = store.read(move |reader| match reader.account_named(&name)? {
        Some(account) => reader.tokens(account.id).map(Some),
        None => Ok(None),
    });
    let tokens = tokens.await?.ok_or_else(|| CliError::failed(format_args!("there is no account {account}")))?;
    let line =
        |token: &Token| format!("{}  {:<8}  {:<9}  {}", token.id, token.role.name(), token.purpose.name(), token.name);
    let lines: Vec<String> = tokens.iter().map(line).collect();
    if lines.is_empty() {
        print_note(format_args!("the account {account} has no tokens"));
        return Ok(());
    }
    print_line(lines.join("\n"))
}

async fn revoke(config: Config, id: &str) -> Result<(), CliError> {
    let id: TokenId = id.parse().map_err(|error| CliError::usage(format_args!("{id} is {error}")))?;
    let store = open_existing(config, &format!("token {id}")).await?;
    match store.commit(Save::DeleteToken { id, account: None }).await? {
        Outcome::Done => {
            store.close().await;
            print_note(format_args!("token {id} is revoked"));
            Ok(())
        }
        _ => Err(CliError::failed(format_args!("there is no token {id}"))),
    }
}

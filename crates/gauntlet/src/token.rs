//! `gauntlet token`: make, list and revoke tokens, and make links that sign a browser in, in the store itself, whether or not a server runs
//! on it.

use crate::cli_settings::{load, with_settings};
use crate::output::{CliError, print_line, print_note};
use crate::serve::store_description;
use crate::{args, audit_entries};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, Args, Command};
use engine::commands::{CodeCommand, Command as Save, Outcome};
use engine::digest::digest;
use engine::ids::{AccountId, CodeId, TokenId};
use engine::limits::{
    NAME_CHARS_MAX, SIGN_IN_LINK_LIFETIME_DEFAULT, SIGN_IN_LINKS_PER_ACCOUNT_MAX, TOKEN_LIFETIME_MAX,
};
use engine::printable::check_printable;
use engine::rows::{Account, CodeUse, OneTimeCode, Role, Token, TokenPurpose, is_reserved_account_name};
use engine::time::UnixMs;
use gateway::accounts::{new_code, sign_in_path};
use gateway::auth::new_secret;
use metrics::Metrics;
use node::clock::{Clock, random_bytes};
use server::process::open_store;
use settings::{Config, StoreLocation};
use std::fmt::Display;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use store::{SchemaPolicy, Store};
use wire::time::Timestamp;

const HOUR_S: u64 = 3_600;
const HOURS_MAX: u64 = TOKEN_LIFETIME_MAX.as_secs() / HOUR_S;

#[derive(Args)]
struct CreateArgs {
    /// What its holder may do
    #[arg(long, value_name = "role", value_parser = role_parser(), default_value = Role::Player.name())]
    role: Role,
    /// What it is for
    #[arg(long = "for", value_name = "for", value_parser = purpose_parser(), default_value = "use")]
    purpose: TokenPurpose,
    #[command(flatten)]
    account: AccountArg,
    /// What its holder calls it
    #[arg(long, value_name = "NAME", default_value = "command line")]
    name: String,
    /// In how many hours it ends by itself; without it, when it is revoked
    #[arg(long, value_name = "HOURS", value_parser = clap::value_parser!(u64).range(1..=HOURS_MAX))]
    hours: Option<u64>,
}

#[derive(Args)]
struct SignInArgs {
    /// What the session may do
    #[arg(long, value_name = "role", value_parser = role_parser(), default_value = Role::Player.name())]
    role: Role,
    #[command(flatten)]
    account: AccountArg,
}

#[derive(Args)]
struct AccountArg {
    /// The account; it is made if there is none of this name
    #[arg(long, value_name = "NAME", default_value = "default")]
    account: String,
}

#[derive(Args)]
struct RevokeArgs {
    /// The token's id, as list shows it
    #[arg(value_name = "ID")]
    id: String,
}

fn role_parser() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::name)).try_map(|name| Role::from_name(&name).ok_or("no such role"))
}

/// Words on a command line are joined by hyphens, names in the store and on the wire by underscores.
fn purpose_parser() -> impl TypedValueParser<Value = TokenPurpose> {
    let load_test = PossibleValue::new("load-test").alias("load_test");
    let names = PossibleValuesParser::new([
        PossibleValue::new("use").help("Everyday use"),
        load_test.help("Load tests: the limiter has classes of their own for them"),
    ]);
    names.try_map(|name| TokenPurpose::from_name(&name.replace('-', "_")).ok_or("no such purpose"))
}

pub(crate) fn command() -> Command {
    let create = Command::new("create").about("Makes a token and prints its secret, once");
    let list = Command::new("list").about("Lists the tokens of an account; secrets are not kept anywhere");
    let revoke = Command::new("revoke").about("Ends a token; a server that saw it just now notices within two seconds");
    let sign_in = Command::new("sign-in").about("Makes a link that signs a browser in, once, within ten minutes");
    Command::new("token")
        .about("Makes, lists and revokes tokens, and makes sign-in links, also while a server runs on the same store")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(CreateArgs::augment_args(with_store(create)))
        .subcommand(AccountArg::augment_args(with_store(list)))
        .subcommand(SignInArgs::augment_args(with_store_and_address(sign_in)))
        .subcommand(RevokeArgs::augment_args(with_store(revoke)))
}

fn with_store(command: Command) -> Command {
    with_settings(command, |setting| matches!(setting.key, "store.data" | "store.url"))
}

fn with_store_and_address(command: Command) -> Command {
    let keys = ["store.data", "store.url", "server.interface", "server.port", "server.advertise"];
    with_settings(command, |setting| keys.contains(&setting.key))
}

pub(crate) fn run(typed: &ArgMatches) -> Result<ExitCode, CliError> {
    let (what, typed) = typed.subcommand().ok_or_else(|| CliError::usage("create, list, sign-in or revoke?"))?;
    let config = load(typed)?;
    crate::runtime::runtime(1)?.block_on(async {
        match what {
            "create" => create(config, args(typed)?).await,
            "list" => list(config, args::<AccountArg>(typed)?.account).await,
            "sign-in" => sign_in(config, args(typed)?).await,
            _ => revoke(config, &args::<RevokeArgs>(typed)?.id).await,
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn open(mut config: Config, policy: SchemaPolicy) -> Result<Store, CliError> {
    config.store_connections = 1;
    Ok(open_store(&config, policy, Arc::new(Metrics::default())).await?)
}

/// The existing store, with the schema that it has. Only a creation may make one: if a lookup finds no file, its name is mistyped.
pub(crate) async fn open_existing(config: Config, sought: &str) -> Result<Store, CliError> {
    match config.store() {
        StoreLocation::Sqlite(data) if !data.exists() => Err(CliError::failed(format_args!(
            "there is no {sought}: there is no data file {}; name the server's with --data, or its database with --store-url",
            data.display()
        ))),
        StoreLocation::Sqlite(_) | StoreLocation::Postgres(_) => open(config, SchemaPolicy::Never).await,
    }
}

/// The store, which may be a new one. If it is, that is said: a server with another data file does not know what is made here.
async fn open_or_make(config: Config) -> Result<Store, CliError> {
    let new = match config.store() {
        StoreLocation::Sqlite(data) if !data.exists() => Some(data.display().to_string()),
        StoreLocation::Sqlite(_) | StoreLocation::Postgres(_) => None,
    };
    let store = open(config, SchemaPolicy::CreateOnly).await?;
    if let Some(data) = new {
        print_note(format_args!(
            "there was no data file {data}, so it was made: if your server has another one, name that with --data and try again"
        ));
    }
    Ok(store)
}

async fn create(config: Config, args: CreateArgs) -> Result<(), CliError> {
    let CreateArgs { role, purpose, account: AccountArg { account }, name, hours } = args;
    let (account, name) = (validate_name("account", &account)?, validate_name("name", &name)?);
    let store_text = store_description(&config);
    let store = open_or_make(config).await?;
    let now = Clock::default().now();
    let id = ensure_account(&store, &account, now).await?;
    let secret = new_secret();
    let token = Token {
        id: TokenId::new(now, random_bytes()),
        account: id,
        name,
        role,
        purpose,
        digest: digest(&secret),
        created_at: now,
        last_used_at: None,
        expires_at: hours.map(|hours| now.plus(Duration::from_secs(hours * HOUR_S))),
        is_session: false,
    };
    let token_id = token.id;
    let detail = format!("token:{token_id} role:{} name:{}", role.name(), token.name);
    let entry = audit_entries::entry(now, "create_token", format!("account:{id}"), Some(detail), None);
    let outcomes = store.commit_all(vec![Save::CreateToken(token), entry]).await?;
    match outcomes.first() {
        Some(Outcome::Done) => {}
        Some(Outcome::LimitReached) => {
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
    let what = hours.map_or_else(|| what.clone(), |hours| format!("{what}, for {hours} hours"));
    print_note(format_args!(
        "token {token_id}: {what}, of account {account} (store: {store_text}); its secret is shown this once"
    ));
    print_line(secret)
}

/// The account of this name.
async fn ensure_account(store: &Store, name: &str, now: UnixMs) -> Result<AccountId, CliError> {
    let sought = name.to_owned();
    if let Some(account) = store.read(move |reader| reader.account_named(&sought)).await? {
        return Ok(account.id);
    }
    if is_reserved_account_name(name) {
        return Err(CliError::usage(format_args!("{name} is a name of the server itself: choose another one")));
    }
    let new = Account { id: AccountId::new(now, random_bytes()), name: name.to_owned(), created_at: now };
    let entry =
        audit_entries::entry(now, "create_account", format!("account:{}", new.id), Some(format!("name:{name}")), None);
    match store.commit_all(vec![Save::EnsureAccount(new), entry]).await?.first() {
        Some(Outcome::Account(id)) => Ok(*id),
        Some(Outcome::Duplicate) => Err(CliError::failed(format_args!(
            "an account of the name {name} was deleted while it was banned: lift that ban first, or choose another name"
        ))),
        _ => Err(CliError::failed(format_args!("the account {name} could not be made"))),
    }
}

async fn sign_in(config: Config, args: SignInArgs) -> Result<(), CliError> {
    let SignInArgs { role, account: AccountArg { account } } = args;
    let account = validate_name("account", &account)?;
    let (store_text, site) = (store_description(&config), site(&config));
    let store = open_or_make(config).await?;
    let now = Clock::default().now();
    let account_id = ensure_account(&store, &account, now).await?;
    let used_for = CodeUse::SignIn { account: account_id };
    let (code, digest) = new_code(&used_for);
    let link = OneTimeCode {
        id: CodeId::new(now, random_bytes()),
        used_for,
        role,
        digest,
        made_by: None,
        created_at: now,
        expires_at: now.plus(SIGN_IN_LINK_LIFETIME_DEFAULT),
    };
    let id = link.id;
    let detail = format!("sign_in_link:{id} role:{}", role.name());
    let entry = audit_entries::entry(now, "create_sign_in_link", format!("account:{account_id}"), Some(detail), None);
    let outcomes = store.commit_all(vec![Save::Code(CodeCommand::Create(link)), entry]).await?;
    match outcomes.first() {
        Some(Outcome::Done) => {}
        Some(Outcome::LimitReached) => {
            return Err(CliError::failed(format_args!(
                "{SIGN_IN_LINKS_PER_ACCOUNT_MAX} sign-in links of the account {account} are open, which is the limit; wait until one is used or expires"
            )));
        }
        other => return Err(CliError::failed(format_args!("the store refused the link: {other:?}"))),
    }
    store.close().await;
    let (what, minutes) = (role.name(), SIGN_IN_LINK_LIFETIME_DEFAULT.as_secs() / 60);
    print_note(format_args!(
        "link {id}: signs in {account} as {what}, once, within {minutes} minutes (store: {store_text})"
    ));
    if site.is_none() {
        print_note(format_args!("put your server's address before it: the settings do not tell it"));
    }
    print_line(format!("{}{}", site.unwrap_or_default(), sign_in_path(&code)))
}

/// Where the server of these settings is reached, as far as they tell.
fn site(config: &Config) -> Option<String> {
    let (scheme, address) = (config.scheme(), config.address());
    match &config.advertise.0 {
        _ if address.port() == 0 => None,
        _ if !address.ip().is_unspecified() => Some(format!("{scheme}://{address}")),
        advertised => advertised.as_ref().map(|advertised| format!("{scheme}://{advertised}")),
    }
}

/// A name by the rules of the API, without the space around it.
pub(crate) fn validate_name(what: &str, name: &str) -> Result<String, CliError> {
    validate_line(what, name, NAME_CHARS_MAX)
}

/// The value of the argument `what`, without the space around it.
pub(crate) fn validate_line(what: &str, text: &str, chars_max: usize) -> Result<String, CliError> {
    let text = text.trim();
    match check_printable(what, text, chars_max) {
        Ok(()) => Ok(text.to_owned()),
        Err(reason) => Err(CliError::usage(format_args!("--{what}: {reason}"))),
    }
}

async fn list(config: Config, account: String) -> Result<(), CliError> {
    let store = open_existing(config, &format!("account {account}")).await?;
    let name = account.clone();
    let tokens = store.read(move |reader| match reader.account_named(&name)? {
        Some(account) => reader.tokens(account.id).map(Some),
        None => Ok(None),
    });
    let tokens = tokens.await?.ok_or_else(|| CliError::failed(format_args!("there is no account {account}")))?;
    let line = |token: &Token| {
        let end = token.expires_at.map(|end| format!("  until {}", Timestamp(end.0))).unwrap_or_default();
        format!("{}  {:<8}  {:<9}  {}{end}", token.id, token.role.name(), token.purpose.name(), token.name)
    };
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
    let now = Clock::default().now();
    let entry = audit_entries::entry(now, "delete_token", format!("token:{id}"), None, None);
    let outcomes = store.commit_all(vec![Save::DeleteToken { id, account: None, now }, entry]).await?;
    match outcomes.first() {
        Some(Outcome::Done) => {
            store.close().await;
            print_note(format_args!("token {id} is revoked"));
            Ok(())
        }
        Some(Outcome::LastAdmin) => Err(CliError::failed(last_admin(&id))),
        _ => Err(CliError::failed(format_args!("there is no token {id}"))),
    }
}

/// Why what would take the last admin's power is refused, and what to do.
pub(crate) fn last_admin(what: &impl Display) -> String {
    format!(
        "without {what} no account would be left with an admin's token that never ends: make one first, with gauntlet token create --role admin --account NAME"
    )
}

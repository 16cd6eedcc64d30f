//! `gauntlet ban`: make, list and lift bans in the store itself, whether or not a server runs on it. For a person without a token, and for
//! bans that shut out those who could lift them.

use crate::cli_settings::{load, with_settings};
use crate::output::{CliError, print_line, print_note, printable};
use crate::token::{last_admin, open_existing, validate_line};
use crate::{args, audit_entries};
use clap::{ArgGroup, ArgMatches, Args, Command};
use engine::commands::{BanCommand, Command as Save, Outcome};
use engine::ids::{AccountId, BanId};
use engine::ladders::definition::SYSTEM_ACCOUNT;
use engine::limits::{
    BAN_LIFETIME_MAX, BAN_PREFIX_BITS_MIN_IPV4, BAN_PREFIX_BITS_MIN_IPV6, BAN_REASON_CHARS_MAX, BANS_MAX,
};
use engine::rows::{AddressPrefix, Ban, BanTarget};
use node::clock::{Clock, random_bytes};
use settings::Config;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;
use wire::time::Timestamp;

#[derive(Args)]
#[command(group = ArgGroup::new("target").required(true).args(["account", "guest", "address"]))]
struct AddArgs {
    /// The name of an account
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// The id of a guest
    #[arg(long, value_name = "ID")]
    guest: Option<String>,
    /// An address, or a network such as 192.0.2.0/24
    #[arg(long, value_name = "ADDRESS")]
    address: Option<String>,
    /// What the banned read
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// In how many hours it ends; without it, when it is lifted
    #[arg(long, value_name = "HOURS")]
    hours: Option<u64>,
}

#[derive(Args)]
struct RemoveArgs {
    /// The ban's id, as list shows it
    #[arg(value_name = "ID")]
    id: String,
}

pub(crate) fn command() -> Command {
    let add =
        Command::new("add").about("Bans an account, a guest or addresses; a running server notices within two seconds");
    let list = Command::new("list").about("Lists the bans in force, newest first");
    let remove = Command::new("remove").about("Lifts a ban; a running server notices within two seconds");
    Command::new("ban")
        .about("Makes, lists and lifts bans, also while a server runs on the same store")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(AddArgs::augment_args(with_store(add)))
        .subcommand(with_store(list))
        .subcommand(RemoveArgs::augment_args(with_store(remove)))
}

fn with_store(command: Command) -> Command {
    with_settings(command, |setting| matches!(setting.key, "store.data" | "store.url"))
}

pub(crate) fn run(typed: &ArgMatches) -> Result<ExitCode, CliError> {
    let (what, typed) = typed.subcommand().ok_or_else(|| CliError::usage("add, list or remove?"))?;
    let config = load(typed)?;
    crate::runtime::runtime(1)?.block_on(async {
        match what {
            "add" => add(config, args(typed)?).await,
            "list" => list(config).await,
            _ => remove(config, &args::<RemoveArgs>(typed)?.id).await,
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn add(config: Config, args: AddArgs) -> Result<(), CliError> {
    let reason = validate_reason(&args.reason)?;
    let now = Clock::default().now();
    let expires_at = match args.hours {
        None => None,
        Some(hours) => Some(now.plus(validate_hours(hours)?)),
    };
    let parsed = match (&args.guest, &args.address) {
        (Some(id), _) => Some(BanTarget::Guest(parse("guest", id)?)),
        (_, Some(address)) => Some(BanTarget::Address(validate_width(parse("address", address)?)?)),
        (None, None) => None,
    };
    let store = open_existing(config, "store").await?;
    if let Some(BanTarget::Guest(id)) = parsed
        && store.read(move |reader| reader.account(AccountId(id.0))).await?.is_some()
    {
        return Err(CliError::usage(format_args!("--guest {id} is an account, and no guest: name it with --account")));
    }
    let target = match (parsed, args.account) {
        (Some(target), _) => target,
        (None, name) => {
            let name = name.unwrap_or_default();
            let sought = name.clone();
            let account = store.read(move |reader| reader.account_named(&sought)).await?;
            BanTarget::Account(account.ok_or_else(|| CliError::failed(format_args!("there is no account {name}")))?.id)
        }
    };
    if target == BanTarget::Account(SYSTEM_ACCOUNT) {
        return Err(CliError::usage("this account is the server's own: it cannot be banned"));
    }
    let (id, made_by, made_by_role) = (BanId::new(now, random_bytes()), None, None);
    let ban = Ban { id, target, reason, made_by, made_by_role, created_at: now, expires_at };
    let line = line(&ban, &BTreeMap::new());
    let (detail, reason) = (Some(format!("ban:{}", ban.id)), Some(ban.reason.clone()));
    let entry = audit_entries::entry(now, "create_ban", target.to_string(), detail, reason);
    let outcomes = store.commit_all(vec![Save::Ban(BanCommand::Create(ban)), entry]).await?;
    match outcomes.first() {
        Some(Outcome::Done) => {}
        Some(Outcome::Duplicate) => {
            return Err(CliError::failed(format_args!(
                "{target} is banned already: lift that ban first, with gauntlet ban remove"
            )));
        }
        Some(Outcome::LimitReached) => {
            return Err(CliError::failed(format_args!(
                "{BANS_MAX} bans are in force, which is the limit: lift one with gauntlet ban remove"
            )));
        }
        Some(Outcome::LastAdmin) => return Err(CliError::failed(last_admin(&target))),
        Some(Outcome::NotFound) => return Err(CliError::failed(format_args!("{target} was deleted"))),
        other => return Err(CliError::failed(format_args!("the store refused the ban: {other:?}"))),
    }
    store.close().await;
    print_line(line)
}

async fn list(config: Config) -> Result<(), CliError> {
    let store = open_existing(config, "ban").await?;
    let now = Clock::default().now();
    let read = store.read(move |reader| {
        let bans = reader.bans().ban_page(None, BANS_MAX, now)?;
        let named = bans.iter().flat_map(|ban| ban.made_by.into_iter().chain(ban.target.account()));
        let names = audit_entries::names(reader, named)?;
        Ok((bans, names))
    });
    let (bans, names) = read.await?;
    if bans.is_empty() {
        print_note(format_args!("there are no bans"));
        return Ok(());
    }
    print_line(bans.iter().map(|ban| line(ban, &names)).collect::<Vec<_>>().join("\n"))
}

async fn remove(config: Config, id: &str) -> Result<(), CliError> {
    let id: BanId = id.parse().map_err(|error| CliError::usage(format_args!("{id} is {error}")))?;
    let store = open_existing(config, &format!("ban {id}")).await?;
    let now = Clock::default().now();
    let behind = BanId(id.0.saturating_add(1));
    let found = store.read(move |reader| reader.bans().ban_page(Some(behind), 1, now)).await?;
    let target = found.first().filter(|ban| ban.id == id).map(|ban| ban.target.to_string()).unwrap_or_default();
    let entry = audit_entries::entry(now, "lift_ban", target, Some(format!("ban:{id}")), None);
    let outcomes = store.commit_all(vec![Save::Ban(BanCommand::Lift { id, now }), entry]).await?;
    match outcomes.first() {
        Some(Outcome::Done) => {
            store.close().await;
            print_note(format_args!("ban {id} is lifted"));
            Ok(())
        }
        _ => Err(CliError::failed(format_args!("there is no ban {id}"))),
    }
}

/// One ban, with the names of accounts where they are known.
fn line(ban: &Ban, names: &BTreeMap<AccountId, String>) -> String {
    let end = ban.expires_at.map_or_else(|| "until lifted".to_owned(), |end| format!("until {}", Timestamp(end.0)));
    let name = ban.target.account().and_then(|id| names.get(&id));
    let target = name.map_or_else(|| ban.target.to_string(), |name| format!("{} ({})", ban.target, printable(name)));
    let (made_at, made_by) = (Timestamp(ban.created_at.0), audit_entries::name(names, ban.made_by));
    format!("{}  {target}  {end}  {}  (made {made_at} by {made_by})", ban.id, printable(&ban.reason))
}

fn parse<T: FromStr<Err: Display>>(flag: &str, text: &str) -> Result<T, CliError> {
    text.trim().parse().map_err(|error| CliError::usage(format_args!("--{flag} {text} is {error}")))
}

fn validate_width(prefix: AddressPrefix) -> Result<AddressPrefix, CliError> {
    if prefix.is_too_wide_to_ban() {
        return Err(CliError::usage(format_args!(
            "--address {prefix} is too wide; expected: at least {BAN_PREFIX_BITS_MIN_IPV4} bits of an IPv4 network, {BAN_PREFIX_BITS_MIN_IPV6} of an IPv6 network: ban smaller ones"
        )));
    }
    Ok(prefix)
}

pub(crate) fn validate_reason(reason: &str) -> Result<String, CliError> {
    validate_line("reason", reason, BAN_REASON_CHARS_MAX)
}

fn validate_hours(hours: u64) -> Result<Duration, CliError> {
    const HOUR_S: u64 = 3_600;
    let max = BAN_LIFETIME_MAX.as_secs() / HOUR_S;
    if (1..=max).contains(&hours) {
        return Ok(Duration::from_secs(hours * HOUR_S));
    }
    Err(CliError::usage(format_args!("--hours is {hours}; expected: 1 to {max}, or none for a ban without an end")))
}

//! `gauntlet audit`: prints what operators and admins changed, from the store itself.

use crate::args;
use crate::audit_entries::{name, names};
use crate::cli_settings::{load, with_settings};
use crate::output::{CliError, print_line, print_note, printable};
use crate::token::open_existing;
use clap::{ArgMatches, Args, Command};
use engine::ids::AccountId;
use engine::rows::{AuditEntry, AuditFilter};
use engine::time::UnixMs;
use settings::Config;
use std::collections::BTreeMap;
use std::process::ExitCode;
use wire::time::Timestamp;

/// Most entries that are printed at once.
const ENTRIES_MAX: u64 = 100_000;

#[derive(Args)]
struct AuditArgs {
    /// Only what this account did, by its name
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Only this action, such as create_ban
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// Only what was done to this, such as account:ID or address:192.0.2.0/24
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// Not before this time, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    from: Option<UnixMs>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<UnixMs>,
    /// How many entries at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=ENTRIES_MAX))]
    limit: u64,
}

fn parse_time(text: &str) -> Result<UnixMs, &'static str> {
    let time = serde_json::from_value::<Timestamp>(text.into());
    time.map(|time| UnixMs(time.0)).map_err(|_| "expected a time such as 2026-01-31T12:00:00Z")
}

pub(crate) fn command() -> Command {
    let command = Command::new("audit").about("Prints what operators and admins changed, newest first");
    AuditArgs::augment_args(with_settings(command, |setting| matches!(setting.key, "store.data" | "store.url")))
}

pub(crate) fn run(typed: &ArgMatches) -> Result<ExitCode, CliError> {
    let config = load(typed)?;
    crate::runtime::runtime(1)?.block_on(print(config, args(typed)?))?;
    Ok(ExitCode::SUCCESS)
}

async fn print(config: Config, args: AuditArgs) -> Result<(), CliError> {
    let AuditArgs { account: name, action, target, from, until, limit } = args;
    let store = open_existing(config, "audit log").await?;
    let account = match name {
        Some(name) => {
            let sought = name.clone();
            let account = store.read(move |reader| reader.account_named(&sought)).await?;
            Some(account.ok_or_else(|| CliError::failed(format_args!("there is no account {name}")))?.id)
        }
        None => None,
    };
    let filter = AuditFilter { account, action, target, from, until, before: None, limit: limit as usize };
    let read = store.read(move |reader| {
        let entries = reader.audit().audit_page(&filter)?;
        let names = names(reader, entries.iter().filter_map(|entry| entry.account))?;
        Ok((entries, names))
    });
    let (entries, names) = read.await?;
    if entries.is_empty() {
        print_note(format_args!("the audit log has no such entries"));
        return Ok(());
    }
    print_line(entries.iter().map(|entry| line(entry, &names)).collect::<Vec<_>>().join("\n"))
}

fn line(entry: &AuditEntry, names: &BTreeMap<AccountId, String>) -> String {
    let at = Timestamp(entry.id.created_at().0);
    let mut line = format!("{at}  {}  {}  {}", name(names, entry.account), entry.action, entry.outcome);
    let address = entry.address.map(|address| format!("from:{address}"));
    let token = entry.token.map(|token| format!("by_token:{token}"));
    for part in [&entry.target, &entry.detail, &address, &token, &entry.reason].into_iter().flatten() {
        line.push_str("  ");
        line.push_str(&printable(part));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit_entries::entry;
    use engine::commands::{AuditCommand, Command as Save};

    #[test]
    fn times_are_read_and_nothing_else_is() {
        assert_eq!(parse_time("1970-01-01T00:00:01Z"), Ok(UnixMs(1_000)));
        assert_eq!(parse_time("1970-01-01T01:00:00.5+01:00"), Ok(UnixMs(500)));
        for text in ["", "yesterday", "1970-01-01", "17"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_line_says_who_did_what_and_controls_no_terminal() {
        let Save::Audit(AuditCommand::RecordIfDone(entry)) =
            entry(UnixMs(0), "create_ban", "account:1".to_owned(), None, Some("a\u{202e}b".to_owned()))
        else {
            panic!("an entry is one");
        };
        let want = "1970-01-01T00:00:00.000Z  command line  create_ban  done  account:1  a b";
        assert_eq!(line(&entry, &BTreeMap::new()), want);
        let (account, token, address) = (AccountId(7), "0190b5a4-7c1e-7000-8000-000000000001", "192.0.2.7");
        let entry = AuditEntry {
            account: Some(account),
            token: Some(token.parse().unwrap()),
            address: Some(address.parse().unwrap()),
            ..entry
        };
        let line = line(&entry, &BTreeMap::from([(account, "ann".to_owned())]));
        assert!(line.contains("  ann  ") && line.contains(&format!("from:{address}  by_token:{token}")), "{line}");
    }
}

//! `gauntlet ratings recompute`: rates a season of a ladder again from its results and compares with what is stored, to the last bit.
//! Works on the store itself: on a database also beside its servers, on a data file alone, under the lock that its server would hold.

use crate::cli_settings::{load, with_settings};
use crate::output::{CliError, print_line, print_note};
use crate::{args, audit_entries};
use arena::ladders::recompute::{RecomputeError, SeasonReport, recompute};
use clap::{ArgMatches, Args, Command};
use engine::commands::{AuditCommand, Command as Save};
use engine::competitions::{CompetitionKind, CompetitionRow};
use engine::ids::CompetitionId;
use engine::ladders::definition::STANDARD_LADDER;
use metrics::Metrics;
use node::clock::Clock;
use server::process::{DataLock, StoreLocationError, open_store};
use settings::{Config, StoreLocation};
use std::process::ExitCode;
use std::sync::Arc;
use store::{CompetitionFilter, SchemaPolicy, Store};

/// Ladders that are listed at a time.
const PAGE: usize = 100;
/// The exit code when something differed, and was left as it is.
const DIFFERS: u8 = 3;

#[derive(Args)]
struct RecomputeArgs {
    /// The ladder's id; all public ladders when absent
    #[arg(long, value_name = "ID")]
    ladder: Option<String>,
    /// The season of that ladder, from 1; the one under way when absent
    #[arg(long, value_name = "NUMBER", requires = "ladder")]
    season: Option<u32>,
    /// Put right what differs
    #[arg(long)]
    write: bool,
}

pub(crate) fn command() -> Command {
    let recompute = Command::new("recompute")
        .about("Rates a season again from its results and says whether it equals what is stored, to the last bit")
        .after_help("Ends with 0 when everything is equal or was put right, with 3 when something differs.");
    let recompute = with_settings(recompute, |setting| matches!(setting.key, "store.data" | "store.url"));
    Command::new("ratings")
        .about("Checks the ratings of ladders against their results")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(RecomputeArgs::augment_args(recompute))
}

pub(crate) fn run(typed: &ArgMatches) -> Result<ExitCode, CliError> {
    let (_, typed) =
        typed.subcommand().ok_or_else(|| CliError::usage("expected a command after ratings: recompute"))?;
    let (config, args) = (load(typed)?, args::<RecomputeArgs>(typed)?);
    crate::runtime::runtime(1)?.block_on(compare(config, args))
}

async fn compare(mut config: Config, args: RecomputeArgs) -> Result<ExitCode, CliError> {
    let ladder = args.ladder.as_deref().map(str::parse::<CompetitionId>).transpose();
    let ladder = ladder.map_err(|error| CliError::usage(format_args!("--ladder is {error}")))?;
    if let StoreLocation::Sqlite(data) = config.store()
        && !data.exists()
    {
        return Err(CliError::failed(format_args!(
            "there is no data file {}; name the server's with --data, or its database with --store-url",
            data.display()
        )));
    }
    let _alone = acquire_lock(&config)?;
    config.store_connections = 1;
    let store = open_store(&config, SchemaPolicy::Never, Arc::new(Metrics::default())).await?;
    let compared = compare_all(&store, ladder, &args).await;
    store.close().await;
    if compared? > 0 && !args.write {
        print_note("run it again with --write to put this right");
        return Ok(ExitCode::from(DIFFERS));
    }
    Ok(ExitCode::SUCCESS)
}

/// A server keeps in memory what it has read of its data file, and rates meanwhile: it must not run beside this.
fn acquire_lock(config: &Config) -> Result<DataLock, CliError> {
    DataLock::acquire(config).map_err(|error| match error {
        StoreLocationError::InUse { path, pid } => CliError::failed(format_args!(
            "{} is in use by a server{}: stop it first, or ask it to do this itself: POST /api/admin/leaderboards/{{id}}/recompute with an \
             operator's token",
            path.display(),
            pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
        )),
        other => CliError::failed(other),
    })
}

/// Compares this ladder, or all public ones; how many rows differed.
async fn compare_all(store: &Store, ladder: Option<CompetitionId>, args: &RecomputeArgs) -> Result<u64, CliError> {
    let ladders = match ladder {
        Some(ladder) => vec![ladder],
        None => public_ladders(store).await?,
    };
    let mut wrong = 0;
    for ladder in ladders {
        let now = Clock::default().now();
        let report = recompute(store, ladder, args.season, args.write, now).await;
        let report = report.map_err(|error| match error {
            RecomputeError::Store(error) => CliError::from(error),
            other => CliError::failed(other),
        })?;
        wrong += report.wrong;
        if args.write && report.wrong > 0 {
            let SeasonReport { season, wrong, .. } = report;
            let detail = Some(format!("season:{season} rows:{wrong}"));
            let entry = audit_entries::done(now, "recompute_ratings", format!("leaderboard:{ladder}"), detail, None);
            store.commit(Save::Audit(AuditCommand::Record(entry))).await?;
        }
        print_line(line(ladder, &report, args.write))?;
    }
    Ok(wrong)
}

fn line(ladder: CompetitionId, report: &SeasonReport, is_written: bool) -> String {
    let SeasonReport { season, results, rated, compared, wrong } = report;
    let verdict = match (wrong, is_written) {
        (0, _) => "equal to the last bit".to_owned(),
        (wrong, true) => format!("{wrong} rows differed and were put right"),
        (wrong, false) => format!("{wrong} rows differ"),
    };
    format!("{ladder}  season {season}  {results} results, {rated} rated  {compared} rows compared: {verdict}")
}

async fn public_ladders(store: &Store) -> Result<Vec<CompetitionId>, CliError> {
    let mut ladders: Vec<CompetitionId> = Vec::new();
    loop {
        let before = ladders.last().copied();
        let filter = CompetitionFilter { kind: CompetitionKind::Ladder, account: None, before, limit: PAGE };
        let page: Vec<CompetitionRow> = store.read(move |reader| reader.competitions(&filter)).await?;
        let is_last = page.len() < PAGE;
        ladders.extend(page.iter().map(|row| row.id));
        if is_last {
            ladders.sort_unstable_by_key(|id| (*id != STANDARD_LADDER, *id));
            return Ok(ladders);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, is_accepted: bool) {
        let words = typed.split_whitespace();
        assert_eq!(command().try_get_matches_from(words).is_ok(), is_accepted, "{typed}");
    }

    #[test]
    fn a_season_is_one_of_a_ladder() {
        check("ratings recompute", true);
        check("ratings recompute --ladder 1 --season 2", true);
        check("ratings recompute --season 2", false);
    }
}

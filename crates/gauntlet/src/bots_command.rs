//! `gauntlet bots`: sample bots, served until a stop signal; or hunters, who connect to a world by themselves.

use crate::output::{CliError, print_line, print_note};
use crate::runtime::shutdown_signal;
use bots::{BotsArgs, HuntConfig};
use server::process::{machine, raise_file_limit};
use std::process::ExitCode;

/// Serves bots as the arguments say.
pub(crate) fn run(args: BotsArgs) -> Result<ExitCode, CliError> {
    if let Some(config) = args.hunt.clone().config(args.seed) {
        return run_hunters(config);
    }
    let (address, config) = args.config().map_err(CliError::usage)?;
    // A bot is called by thousands of matches at once.
    let machine = machine();
    raise_file_limit(machine.open_files_max);
    let runtime = crate::runtime::runtime(machine.cores)?;
    runtime.block_on(async {
        let shutdown = shutdown_signal()?;
        let busy = |error| {
            CliError::failed(format_args!(
                "cannot listen on {address}: {error}; choose another port with --port (0 takes a free one)"
            ))
        };
        let listener = bots::bind(address).map_err(busy)?;
        let address = listener.local_addr()?;
        print_line(format_args!("gauntlet bots play at http://{address}/ (process: {})", std::process::id()))?;
        bots::serve(listener, config, shutdown).await.map_err(CliError::from)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Hunts until a stop signal, or until the time is over. The first line names the target, the last the result.
fn run_hunters(config: HuntConfig) -> Result<ExitCode, CliError> {
    let machine = machine();
    raise_file_limit(machine.open_files_max);
    let runtime = crate::runtime::runtime(machine.cores)?;
    let target = format!("{} in {}", config.server, config.world);
    let counters = runtime.block_on(async {
        let left = shutdown_signal()?;
        let lasts = config.duration;
        let over = async {
            match lasts {
                Some(lasts) => tokio::time::sleep(lasts).await,
                None => std::future::pending().await,
            }
        };
        let shutdown = async {
            tokio::select! {
                () = left => {}
                () = over => {}
            }
        };
        let process = std::process::id();
        print_line(format_args!("gauntlet bots hunt at {target} (process: {process})"))?;
        Ok::<_, CliError>(bots::hunt(config, |counters| print_note(counters), shutdown).await)
    })?;
    print_line(&counters)?;
    if counters.has_played() {
        Ok(ExitCode::SUCCESS)
    } else {
        let why = counters.last_error().map_or_else(String::new, |error| format!(" ({error})"));
        Err(CliError::failed(format_args!(
            "no hunter came into the world at {target}{why}; see that `gauntlet serve` runs there and has this world"
        )))
    }
}

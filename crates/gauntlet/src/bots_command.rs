//! `gauntlet bots`: sample bots, served until a signal to leave.

use crate::leaving::leaving;
use crate::output::{Failure, say};
use bots::BotsArgs;
use server::process::{machine, raise_file_limit};
use std::process::ExitCode;

/// Serves bots as they are asked for.
pub(crate) fn serve(args: BotsArgs) -> Result<ExitCode, Failure> {
    let (address, config) = args.config().map_err(Failure::usage)?;
    // A bot is called by thousands of matches at once.
    let machine = machine();
    raise_file_limit(machine.open_files_max);
    let runtime = crate::serve::runtime(machine.cores)?;
    runtime.block_on(async {
        let shutdown = leaving()?;
        let busy = |error| {
            Failure::cannot(format_args!(
                "cannot listen on {address}: {error}; choose another port with --port (0 takes a free one)"
            ))
        };
        let listener = bots::bind(address).map_err(busy)?;
        let address = listener.local_addr()?;
        say(format_args!("gauntlet bots play at http://{address}/ (process: {})", std::process::id()))?;
        bots::serve(listener, config, shutdown).await.map(|_totals| ()).map_err(Failure::from)
    })?;
    Ok(ExitCode::SUCCESS)
}

//! `gauntlet bots`: sample bots, served until a signal to leave; or hunters, who go into a world by themselves.

use crate::leaving::leaving;
use crate::output::{Failure, note, say};
use bots::{BotsArgs, HuntConfig};
use server::process::{machine, raise_file_limit};
use std::process::ExitCode;

/// Serves bots as they are asked for.
pub(crate) fn serve(args: BotsArgs) -> Result<ExitCode, Failure> {
    if let Some(config) = args.hunt.clone().config(args.seed).map_err(Failure::usage)? {
        return hunt(config);
    }
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

/// Hunts until a signal to leave, or until the time is over. The first line says where, the last how it went.
fn hunt(config: HuntConfig) -> Result<ExitCode, Failure> {
    let machine = machine();
    raise_file_limit(machine.open_files_max);
    let runtime = crate::serve::runtime(machine.cores)?;
    let place = format!("{} in {}", config.server, config.world);
    let totals = runtime.block_on(async {
        let left = leaving()?;
        let lasts = config.lasts;
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
        say(format_args!("gauntlet bots hunt at {place} (process: {process})"))?;
        Ok::<_, Failure>(bots::hunt(config, |totals| note(totals), shutdown).await)
    })?;
    say(&totals)?;
    let has_come = totals.moved + totals.refused + totals.views > 0;
    if has_come {
        Ok(ExitCode::SUCCESS)
    } else {
        let why = totals.trouble.map_or_else(String::new, |trouble| format!(" ({trouble})"));
        Err(Failure::cannot(format_args!(
            "no hunter came into the world at {place}{why}; see that `gauntlet serve` runs there and has this world"
        )))
    }
}

//! `gauntlet health`: asks a server whether it is ready, for containers and units that have no other program to ask with. The exit code is
//! the answer, so a wrong configuration is 1 as well: Docker reserves 2.

use crate::api_client::{Answer, ApiClient};
use crate::args;
use crate::cli_settings::{load, with_settings};
use crate::output::{CliError, print_line, printable};
use clap::{ArgMatches, Args, Command};
use serde_json::Value;
use settings::Config;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::timeout;
use wire::api::Readiness;

/// Time for the whole answer: the server takes up to two seconds for its own checks.
const WAIT: Duration = Duration::from_secs(5);
const PATH: &str = "/readyz";
/// Longest answer that is read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Characters of an answer in other words than ours that are shown.
const EXCERPT_CHARS: usize = 200;
const SETTINGS: [&str; 4] = ["server.interface", "server.port", "server.ops_interface", "server.ops_port"];

#[derive(Args)]
struct HealthArgs {
    /// The server [default: as it is configured here, at server.ops_port if that is set, else at server.port]
    #[arg(value_name = "URL")]
    url: Option<String>,
}

pub(crate) fn command() -> Command {
    let command = Command::new("health")
        .about("Asks a server whether it is ready (/readyz): ends with 0 if it is, with 1 if not");
    HealthArgs::augment_args(with_settings(command, |setting| SETTINGS.contains(&setting.key)))
}

pub(crate) fn run(typed: &ArgMatches) -> Result<ExitCode, CliError> {
    let HealthArgs { url } = args(typed)?;
    let url = match url {
        Some(url) => url,
        None => configured_url(&load(typed).map_err(|error| CliError::failed(error.text()))?)?,
    };
    let base = url.trim_end_matches('/').trim_end_matches(PATH);
    let client = ApiClient::new(base, None).map_err(|_| {
        CliError::failed(format_args!("{}: expected a URL such as http://127.0.0.1:4000", printable(&url)))
    })?;
    let answer = crate::runtime::runtime(1)?.block_on(async {
        let late = || CliError::failed(format_args!("{base}{PATH}: no answer within {} s", WAIT.as_secs()));
        timeout(WAIT, client.get_bytes(PATH, ANSWER_BYTES_MAX)).await.map_err(|_| late())?
    })?;
    match refusal(&answer) {
        None => print_line(format_args!("{base} is ready"))?,
        Some(why) => return Err(CliError::failed(format_args!("{base} is not ready: {why}"))),
    }
    Ok(ExitCode::SUCCESS)
}

/// Where a server with this configuration listens, seen from its own machine.
fn configured_url(config: &Config) -> Result<String, CliError> {
    let (interface, port) = match config.ops_port {
        Some(port) => (config.ops_interface.0, port),
        None => (config.interface.0, config.port),
    };
    if config.ops_port.is_none() && config.tls_certificate.is_some() {
        return Err(CliError::failed(
            "the server speaks TLS, and its certificate is not for this address: name its URL (https://…), or set server.ops_port",
        ));
    }
    if port == 0 {
        return Err(CliError::failed("the configured port is 0, any free one: name the server's URL"));
    }
    let address = match interface {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    };
    if config.ops_port.is_none() && config.proxy_protocol_peers().contains(address) {
        return Err(CliError::failed(
            "this machine is in http.trusted_proxies, and must send a header of the PROXY protocol to the server: set server.ops_port, which takes none",
        ));
    }
    Ok(format!("http://{}", SocketAddr::new(address, port)))
}

/// Why the server is not ready, if it is not.
fn refusal(answer: &Answer) -> Option<String> {
    if answer.status.is_success() {
        // A supervisor of shards says it without checks.
        let said = serde_json::from_slice::<Value>(&answer.body).ok().and_then(|said| said.get("ready")?.as_bool());
        let page = || format!("{PATH} there is no answer of a Gauntlet server that is ready");
        return (said != Some(true)).then(page);
    }
    let failed = serde_json::from_slice::<Readiness>(&answer.body).ok().and_then(|readiness| {
        let checks = readiness.checks.into_iter().filter(|check| !check.ok);
        let reasons = checks.map(|check| format!("{}: {}", check.name, check.detail.unwrap_or_default()));
        reasons.reduce(|all, reason| format!("{all}; {reason}"))
    });
    let excerpt = || String::from_utf8_lossy(&answer.body).chars().take(EXCERPT_CHARS).collect();
    let why: String = failed.unwrap_or_else(excerpt);
    Some(format!("it answered {}, {}", answer.status.as_u16(), printable(why.trim())))
}

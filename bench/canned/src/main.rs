//! `canned`: a server that answers every request with one prepared reply, so that load generators can be measured
//! against something that costs less than they do; optionally with a known capacity, so that a search for an edge has
//! an edge to find. Does not understand requests: they must have no body.

mod capacity;
mod connection;
mod deadlines;
mod group;
mod replies;
mod report;
mod request_counter;
mod server;
mod stop_signals;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use rustix::thread::{CpuSet, sched_setaffinity};

use capacity::Capacity;
use deadlines::Deadlines;
use replies::Replies;
use report::Report;
use server::{Server, bind_port, port_of};

/// Answer every request at 127.0.0.1 with one prepared reply; at SIGTERM, say what it took in a line of JSON
#[derive(Debug, Parser)]
struct Args {
    /// The port; 0 for any free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Stay on this processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..CpuSet::MAX_CPU as i64))]
    cpu: Option<u16>,
    /// Length of the reply's body
    #[arg(long, value_name = "BYTES", default_value_t = 2, value_parser = clap::value_parser!(u32).range(..=16_777_216))]
    body_bytes: u32,
    /// Processes that share the port; each may hold as many connections as it may open files
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    processes: u16,
    /// Have a known capacity: so many servers behind one queue
    #[arg(long, value_name = "N", requires = "service_ms", conflicts_with = "processes",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    servers: Option<u32>,
    /// Have a known capacity: milliseconds that a server takes for a request
    #[arg(long, value_name = "MS", requires = "servers", value_parser = service_of)]
    service_ms: Option<Duration>,
    /// End when standard input is closed as well
    #[arg(long, hide = true)]
    member: bool,
}

fn service_of(text: &str) -> Result<Duration, String> {
    let ms = text.parse().ok().filter(|ms| (0.001..=60_000.0).contains(ms));
    ms.map(|ms: f64| Duration::from_secs_f64(ms / 1000.0)).ok_or_else(|| "expected 0.001 to 60000".to_owned())
}

fn main() -> ExitCode {
    match answer(&Args::parse()) {
        Ok(report) => {
            println!("{}", report.line());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("canned: {error}");
            ExitCode::FAILURE
        }
    }
}

fn answer(args: &Args) -> io::Result<Report> {
    if let Some(cpu) = args.cpu {
        let mut cpus = CpuSet::new();
        cpus.set(usize::from(cpu));
        sched_setaffinity(None, &cpus)?;
    }
    // In a group this socket only keeps the port; who never listens gets no connections.
    let socket = bind_port(args.port)?;
    let port = port_of(&socket)?;
    let listening = || println!("canned listens on http://127.0.0.1:{port}");
    if args.processes > 1 {
        let words = ["--member", &format!("--port={port}"), &format!("--body-bytes={}", args.body_bytes)];
        return group::run(usize::from(args.processes), &words.map(str::to_owned), listening);
    }
    let capacity = args.servers.zip(args.service_ms);
    let capacity = capacity.map(|(servers, service)| Deadlines::new(Capacity::new(servers as usize, service)));
    let replies = Replies::new(args.body_bytes as usize);
    let mut server = Server::new(socket, replies, capacity.transpose()?)?;
    let ends = if args.member {
        vec![stop_signals::signals()?, stop_signals::stdin_closed()?]
    } else {
        vec![stop_signals::signals()?]
    };
    listening();
    server.run(&ends)
}

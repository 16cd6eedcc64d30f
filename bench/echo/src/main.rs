//! `echo`: what HTTP and JSON cost without any decision. A bare hyper server on one thread that reads the body, parses
//! the request of a rate limiter and answers what one would. Refuses to limit, to route, to time out and to log:
//! whatever a limiter is slower than this, it spends on itself.

mod answer;

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use clap::Parser;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustix::thread::{CpuSet, sched_setaffinity};
use tikv_jemallocator::Jemalloc;
use tokio::net::{TcpListener, TcpStream};

/// The allocator of the server that is measured against this one: the ratio must not be that of two allocators.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Parse every request at 127.0.0.1 as a rate limiter would, and let it pass, until the process is ended
#[derive(Debug, Parser)]
struct Args {
    /// The port; 0 for any free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Stay on this processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..CpuSet::MAX_CPU as i64))]
    cpu: Option<u16>,
}

fn main() -> ExitCode {
    let Err(error) = run(&Args::parse());
    eprintln!("echo: {error}");
    ExitCode::FAILURE
}

fn run(args: &Args) -> io::Result<Infallible> {
    if let Some(cpu) = args.cpu {
        let mut cpus = CpuSet::new();
        cpus.set(usize::from(cpu));
        sched_setaffinity(None, &cpus)?;
    }
    tokio::runtime::Builder::new_current_thread().enable_io().build()?.block_on(serve(args.port))
}

async fn serve(port: u16) -> io::Result<Infallible> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    println!("echo listens on http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(serve_connection(stream));
    }
}

/// A client that disconnects in the middle of a request is no error here.
async fn serve_connection(stream: TcpStream) {
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer::answer)).await;
}

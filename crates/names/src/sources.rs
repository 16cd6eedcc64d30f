//! Where names are asked for: the system's DNS servers and its hosts file, read again when either has changed.

use hickory_resolver::config::{ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::{Hosts, TokioResolver, system_conf};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Bytes of a file that are read at most.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Whether the servers could not be read at last: it is logged when it begins, not for each lookup.
static UNREADABLE: AtomicBool = AtomicBool::new(false);

/// The files, and the port of the servers where tests have their own.
#[derive(Clone, Debug)]
pub struct Sources {
    resolv_conf: PathBuf,
    hosts: PathBuf,
    port: Option<u16>,
}

/// What a resolver may do at most; the system's options hold below it.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The wait for one answer of one server.
    pub query_timeout: Duration,
    pub queries_at_once: usize,
}

/// What tells whether a file has changed: its inode, size and time of change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps([Option<(u64, u64, i64, i64)>; 2]);

impl Sources {
    /// Those of the system.
    #[must_use]
    pub fn system() -> Self {
        Self { resolv_conf: "/etc/resolv.conf".into(), hosts: "/etc/hosts".into(), port: None }
    }

    /// Other files, and servers on another port.
    #[must_use]
    pub fn files(resolv_conf: &Path, hosts: &Path, port: u16) -> Self {
        Self { resolv_conf: resolv_conf.into(), hosts: hosts.into(), port: Some(port) }
    }

    #[must_use]
    pub fn stamps(&self) -> Stamps {
        Stamps([&self.resolv_conf, &self.hosts].map(|path| {
            let data = fs::metadata(path).ok()?;
            Some((data.ino(), data.len(), data.mtime(), data.mtime_nsec()))
        }))
    }

    /// A resolver without a cache over what the files say now. Without a server it still answers names of the hosts file.
    #[must_use]
    pub fn resolver(&self, bounds: Bounds) -> Option<TokioResolver> {
        let read = read(&self.resolv_conf).map_err(|error| error.to_string());
        let parsed = read.and_then(|text| system_conf::parse_resolv_conf(text).map_err(|error| error.to_string()));
        let was_unreadable = UNREADABLE.swap(parsed.is_err(), Relaxed);
        let (config, options) = parsed.unwrap_or_else(|error| {
            if !was_unreadable {
                tracing::warn!(
                    file = %self.resolv_conf.display(),
                    error,
                    "the system names no DNS server: only literal addresses and names of the hosts file are known"
                );
            }
            (ResolverConfig::from_parts(None, vec![], vec![]), ResolverOpts::default())
        });
        let config = self.with_port(config);
        let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        *builder.options_mut() = bounded(options, bounds);
        let mut resolver = builder.build().ok()?;
        resolver.set_hosts(Arc::new(self.hosts()));
        Some(resolver)
    }

    fn hosts(&self) -> Hosts {
        let mut hosts = Hosts::default();
        if let Ok(text) = read(&self.hosts) {
            // Lines that cannot be read are left out.
            let _ = hosts.read_hosts_conf(&text[..]);
        }
        hosts
    }

    fn with_port(&self, config: ResolverConfig) -> ResolverConfig {
        let Some(port) = self.port else { return config };
        let mut servers = config.name_servers().to_vec();
        for connection in servers.iter_mut().flat_map(|server| &mut server.connections) {
            connection.port = port;
        }
        ResolverConfig::from_parts(None, config.search().to_vec(), servers)
    }
}

/// The system's options, with our bounds.
fn bounded(options: ResolverOpts, bounds: Bounds) -> ResolverOpts {
    let mut bounded = options;
    bounded.timeout = bounded.timeout.min(bounds.query_timeout);
    bounded.attempts = bounded.attempts.clamp(1, 2);
    bounded.cache_size = 0;
    bounded.num_concurrent_reqs = 1;
    bounded.max_active_requests = bounds.queries_at_once;
    bounded
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    fs::File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut text)?;
    Ok(text)
}

//! Where names are asked for: the system's DNS servers and its hosts file, read again when either has changed.

use engine::limits::{NAME_LOOKUPS_AT_ONCE, NAME_QUERY_TIMEOUT};
use hickory_resolver::config::{ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::{Hosts, TokioResolver, system_conf};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a file that are read at most.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// The files, and the servers where tests have their own.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    resolv_conf: PathBuf,
    hosts: PathBuf,
    #[cfg(test)]
    pub(crate) port: Option<u16>,
}

/// What tells whether a file has changed: its inode, size and time of change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamps([Option<(u64, u64, i64, i64)>; 2]);

impl Sources {
    /// Those of the system.
    pub(crate) fn system() -> Self {
        Self {
            resolv_conf: "/etc/resolv.conf".into(),
            hosts: "/etc/hosts".into(),
            #[cfg(test)]
            port: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn files(resolv_conf: &Path, hosts: &Path, port: u16) -> Self {
        Self { resolv_conf: resolv_conf.into(), hosts: hosts.into(), port: Some(port) }
    }

    pub(super) fn stamps(&self) -> Stamps {
        Stamps([&self.resolv_conf, &self.hosts].map(|path| {
            let data = fs::metadata(path).ok()?;
            Some((data.ino(), data.len(), data.mtime(), data.mtime_nsec()))
        }))
    }

    /// A resolver over what the files say now. Without a server it still answers names of the hosts file.
    pub(super) fn resolver(&self) -> Option<TokioResolver> {
        let read = read(&self.resolv_conf).map_err(|error| error.to_string());
        let parsed = read.and_then(|text| system_conf::parse_resolv_conf(text).map_err(|error| error.to_string()));
        let (config, options) = parsed.unwrap_or_else(|error| {
            tracing::warn!(
                file = %self.resolv_conf.display(),
                error,
                "the system names no DNS server: bots are called only by literal addresses and by names of the hosts file"
            );
            (ResolverConfig::from_parts(None, vec![], vec![]), ResolverOpts::default())
        });
        #[cfg(test)]
        let config = self.with_port(&config);
        let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        *builder.options_mut() = bounded(options);
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

    #[cfg(test)]
    fn with_port(&self, config: &ResolverConfig) -> ResolverConfig {
        let mut servers = config.name_servers().to_vec();
        for connection in servers.iter_mut().flat_map(|server| &mut server.connections) {
            connection.port = self.port.unwrap_or(connection.port);
        }
        ResolverConfig::from_parts(None, config.search().to_vec(), servers)
    }
}

/// The system's options, with our bounds; the cache is ours.
fn bounded(options: ResolverOpts) -> ResolverOpts {
    let mut bounded = options;
    bounded.timeout = bounded.timeout.min(NAME_QUERY_TIMEOUT);
    bounded.attempts = bounded.attempts.clamp(1, 2);
    bounded.cache_size = 0;
    bounded.num_concurrent_reqs = 1;
    bounded.max_active_requests = 2 * NAME_LOOKUPS_AT_ONCE;
    bounded
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    fs::File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut text)?;
    Ok(text)
}

//! The target: the service under test, and the processes that the trial needs besides it. Does not know how processes
//! are started and watched.

use std::collections::BTreeMap;
use std::time::Duration;

use http::HeaderName;

use super::fault::unmanaged_reason;
use super::message::SocketTarget;
use super::reader::{NodeReader, TableReader, read_name};
use super::step::{read_headers, read_request_line};
use super::template::{Template, TemplateNames};
use crate::limits::{
    READY_WITHIN, TARGET_CPU_MAX, TARGET_CPU_MIN, TARGET_MEMORY_BYTES_MAX, TARGET_MEMORY_BYTES_MIN,
    TARGET_OPEN_FILES_MAX, TARGET_OPEN_FILES_MIN, WAIT_MAX,
};

/// The service under test.
#[derive(Clone, Debug, Default)]
pub struct Target {
    pub url: BaseUrl,
    /// How to start it; without a command it is already running.
    pub spawn: Option<Command>,
    /// The path that answers 2xx when the service can take requests.
    pub ready_path: Option<String>,
    /// How long that may take after the start.
    pub ready_timeout: Duration,
    /// The path of its metrics in Prometheus text.
    pub metrics_path: Option<String>,
    /// The path of its configuration in JSON, copied into the run's record.
    pub config_path: Option<Template>,
    /// Headers of every request to it.
    pub headers: Vec<(HeaderName, Template)>,
    /// A file of certificates (PEM) to trust in addition to the public roots.
    pub ca_file: Option<String>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// What it may use, if the lab starts it.
    pub limits: TargetLimits,
    /// Where messages are sent, if it communicates in frames.
    pub socket: Option<SocketTarget>,
}

/// What the target may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TargetLimits {
    /// Memory of all its processes; beyond it the kernel kills.
    pub memory_bytes: Option<u64>,
    /// CPU time, in cores.
    pub cpu_cores: Option<f64>,
    /// Open files of a process.
    pub open_files: Option<u64>,
}

/// A process that the trial needs besides the target.
#[derive(Clone, Debug)]
pub struct HelperProcess {
    /// Its name; its log is named after it.
    pub name: String,
    /// How to start it; without a command it is already running.
    pub spawn: Option<Command>,
    /// The address that must be free before the start and must answer after it.
    pub base: BaseUrl,
    /// The path that answers 2xx when it is ready.
    pub ready_path: String,
    /// How long that may take after the start.
    pub ready_timeout: Duration,
}

/// A program, its arguments and its additions to the environment.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// The words; a first word `gauntlet` means the running executable.
    pub argv: Vec<Template>,
    /// Additions to the environment.
    pub env: Vec<(String, Template)>,
}

/// Host and port of an `http://` or `https://` URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseUrl {
    pub uses_tls: bool,
    /// The host, without brackets.
    pub host: String,
    pub port: u16,
    /// The value of the Host header.
    pub authority: String,
}

impl BaseUrl {
    /// Parses `http://host[:port][/path]`; also returns the path.
    ///
    /// # Errors
    /// A sentence that says what was expected.
    pub fn parse(url: &str) -> Result<(Self, String), String> {
        let uri: http::Uri =
            url.parse().map_err(|_| format!("must be a URL such as \"http://127.0.0.1:4000\", not \"{url}\""))?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(format!("must start with http:// or https://, not \"{url}\"")),
        };
        let authority = uri.authority().ok_or_else(|| format!("must name a host, not \"{url}\""))?;
        if authority.as_str().contains('@') {
            return Err("must not carry a user name: use `headers` and a secret".to_owned());
        }
        // What is no port counts as absent.
        if authority.port_u16().is_none() && !authority.as_str().ends_with(authority.host()) {
            return Err(format!("must have a port up to 65535, not \"{url}\""));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().unwrap_or(if tls { 443 } else { 80 });
        let base = Self { uses_tls: tls, host, port, authority: authority.as_str().to_owned() };
        Ok((base, uri.path_and_query().map_or_else(|| "/".to_owned(), |path| path.as_str().to_owned())))
    }

    /// The URL without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", if self.uses_tls { "https" } else { "http" }, self.authority)
    }
}

impl Target {
    pub(crate) fn read(
        at: &NodeReader<'_>,
        names: &TemplateNames,
        public: &TemplateNames,
        files: &BTreeMap<&str, &str>,
    ) -> Option<Self> {
        at.table(|fields| {
            let what = "where the service answers";
            let (url, _) = fields.required("url", what, |at| read_base_url(at, true));
            let spawn = read_command(fields, "spawn", public, names);
            let ready_path = fields.optional("ready", read_path);
            let ready_timeout = read_ready_timeout(fields);
            let metrics_path = fields.optional("metrics", read_path);
            let config_path = fields.optional("config", |at| read_get_path(at, names));
            let headers = fields.or_default("headers", |at| read_headers(at, names));
            let (ca, insecure) = (fields.get("ca"), fields.get("insecure"));
            let ca_file = ca.as_ref().and_then(NodeReader::string);
            let is_insecure = insecure.as_ref().and_then(NodeReader::bool).unwrap_or(false);
            let limits = fields.optional("limits", |at| TargetLimits::read(at, unmanaged_reason(fields.reader.node)));
            let socket = fields.get("socket").map(|at| SocketTarget::read(&at, names, files).map(Some));
            let socket = socket.and_then(|socket| fields.need(socket));
            if spawn.is_some() && ready_path.is_none() {
                at.add_error("needs `ready` beside `spawn`: the path that answers 2xx when the service is ready");
            }
            if fields.is_complete() && !url.uses_tls && !socket.as_ref().is_some_and(SocketTarget::uses_tls) {
                for tls in ca.iter().chain(&insecure) {
                    tls.add_error("is about TLS, but the url does not start with https://");
                }
            }
            if ca_file.is_some() && is_insecure {
                at.add_error("has `ca` and `insecure`: whom to trust says nothing where everybody is trusted");
            }
            Self {
                url,
                spawn,
                ready_path,
                ready_timeout,
                metrics_path,
                config_path,
                headers,
                ca_file,
                insecure: is_insecure,
                limits: limits.unwrap_or_default(),
                socket,
            }
        })
    }
}

impl TargetLimits {
    fn read(at: &NodeReader<'_>, not_started: Option<String>) -> Option<Self> {
        let limits = at.table(|fields| Self {
            memory_bytes: fields.optional("memory", |at| at.bytes(TARGET_MEMORY_BYTES_MIN..=TARGET_MEMORY_BYTES_MAX)),
            cpu_cores: fields.optional("cpu", |at| at.float(TARGET_CPU_MIN..=TARGET_CPU_MAX)),
            open_files: fields.optional("open_files", |at| at.int(TARGET_OPEN_FILES_MIN..=TARGET_OPEN_FILES_MAX)),
        })?;
        if let Some(reason) = not_started.filter(|_| limits != Self::default()) {
            at.add_error(format!("can only be set for a process that the lab starts, but {reason}"));
        }
        Some(limits)
    }
}

impl HelperProcess {
    pub(crate) fn read(at: &NodeReader<'_>, names: &TemplateNames, public: &TemplateNames) -> Option<Self> {
        at.table(|fields| {
            let name = fields.required("name", "its log is called after it", read_name);
            fields.get_required("command", "the program and its arguments");
            let command = fields.need(read_command(fields, "command", public, names));
            let ready = "the URL that answers 2xx when it is ready";
            let (base, ready_path) = fields.required("ready", ready, |at| read_base_url(at, false));
            let ready_timeout = read_ready_timeout(fields);
            let start = fields.optional("start", NodeReader::bool).unwrap_or(true);
            Self { name, spawn: start.then_some(command), base, ready_path, ready_timeout }
        })
    }
}

/// A program with its arguments, under `key`, and its additions to the environment. Command lines may use `public` names
/// only: every user of the machine can read them.
fn read_command(
    fields: &TableReader<'_>,
    key: &'static str,
    public: &TemplateNames,
    names: &TemplateNames,
) -> Option<Command> {
    let argv = fields.optional(key, |at| {
        let words = at.list()?;
        if words.is_empty() {
            at.add_error("must name a program");
        }
        words.iter().map(|at| Template::read(at, public)).collect()
    });
    let env = fields.or_default("env", |at| at.entries(|name, at| Some((name.to_owned(), Template::read(at, names)?))));
    argv.map(|argv| Command { argv, env })
}

fn read_ready_timeout(fields: &TableReader<'_>) -> Duration {
    let timeout = fields.optional("ready_within", |at| at.duration(Duration::from_millis(1)..=WAIT_MAX));
    timeout.unwrap_or(READY_WITHIN)
}

/// The base URL of the target; for a helper, also the path of its readiness probe.
fn read_base_url(at: &NodeReader<'_>, is_target: bool) -> Option<(BaseUrl, String)> {
    let (base, path) = at.accept(BaseUrl::parse(at.text()?))?;
    if is_target && path != "/" {
        return at.reject(format!("must end with the port: requests carry their own paths, not \"{path}\""));
    }
    if !is_target && base.uses_tls {
        return at.reject("must start with http://: helpers are asked in the clear");
    }
    Some((base, path))
}

fn read_path(at: &NodeReader<'_>) -> Option<String> {
    let path = at.text()?;
    if path.starts_with('/') && path.is_ascii() && path.parse::<http::uri::PathAndQuery>().is_ok() {
        return Some(path.to_owned());
    }
    at.reject(format!("must be a path such as \"/readyz\", not \"{path}\""))
}

/// The path of a request that only reads.
pub(crate) fn read_get_path(at: &NodeReader<'_>, names: &TemplateNames) -> Option<Template> {
    let (method, path) = read_request_line(at, names)?;
    if method == http::Method::GET { Some(path) } else { at.reject("must only read: \"GET /path\"") }
}

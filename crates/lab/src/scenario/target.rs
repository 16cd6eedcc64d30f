//! Whom the trial is about: the service under test, and the processes that the trial needs beside it.
//! Refuses to know how processes are started and watched.

use std::collections::BTreeMap;
use std::time::Duration;

use http::HeaderName;

use super::fault::not_started;
use super::journey::{command_of, env_of, headers_of, request_of};
use super::message::Socket;
use super::reader::{At, Fields, name_of};
use super::template::{Names, Template};
use crate::limits::{
    READY_WITHIN, TARGET_CPU_MAX, TARGET_CPU_MIN, TARGET_MEMORY_BYTES_MAX, TARGET_MEMORY_BYTES_MIN,
    TARGET_OPEN_FILES_MAX, TARGET_OPEN_FILES_MIN, WAIT_MAX,
};

/// The service under test.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where it answers.
    pub url: Base,
    /// How to start it; without a command it runs already.
    pub spawn: Option<Command>,
    /// The path that answers 2xx when the service can take requests.
    pub ready: Option<String>,
    /// How long it may take until then.
    pub ready_within: Duration,
    /// The path of its metrics in Prometheus text.
    pub metrics: Option<String>,
    /// The path of its configuration in JSON, copied into the run's record.
    pub config: Option<Template>,
    /// Headers of every request to it.
    pub headers: Vec<(HeaderName, Template)>,
    /// A file of certificates (PEM) to trust besides the world's own.
    pub ca: Option<String>,
    /// Whether any certificate will do.
    pub insecure: bool,
    /// What it may use, where the lab starts it.
    pub limits: TargetLimits,
    /// Where messages go, where it speaks in frames.
    pub socket: Option<Socket>,
}

/// What the target may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TargetLimits {
    /// Memory of all its processes; beyond it the kernel kills.
    pub memory_bytes: Option<u64>,
    /// Processor time, in cores.
    pub cpu_share: Option<f64>,
    /// Open files of a process.
    pub open_files: Option<u64>,
}

/// A process that the trial needs beside the target.
#[derive(Clone, Debug)]
pub struct Helper {
    /// Its name: its log is called after it.
    pub name: String,
    /// How to start it; without a command it runs already.
    pub spawn: Option<Command>,
    /// The host that must be free before and answer after the start.
    pub base: Base,
    /// The path that answers 2xx when it is ready.
    pub ready: String,
    /// How long it may take until then.
    pub ready_within: Duration,
}

/// A program, its arguments and its additions to the environment.
#[derive(Clone, Debug)]
pub struct Command {
    /// The words; a first word `gauntlet` means the running executable.
    pub argv: Vec<Template>,
    /// Additions to the environment.
    pub env: Vec<(String, Template)>,
}

/// Host and port of an `http://` or `https://` URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// Whether it speaks TLS.
    pub tls: bool,
    /// The host, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What stands in the Host header.
    pub authority: String,
}

impl Base {
    /// Reads `http://host[:port][/path]`; the path comes back beside it.
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
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().unwrap_or(if tls { 443 } else { 80 });
        let base = Self { tls, host, port, authority: authority.as_str().to_owned() };
        Ok((base, uri.path_and_query().map_or_else(|| "/".to_owned(), |path| path.as_str().to_owned())))
    }

    /// The URL of the host alone.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", if self.tls { "https" } else { "http" }, self.authority)
    }
}

impl Target {
    /// Command lines may use `public` names only: everybody on the machine can read them.
    pub(crate) fn read(at: &At<'_>, names: &Names, public: &Names, files: &BTreeMap<String, String>) -> Option<Self> {
        let fields = at.fields()?;
        let url = fields.need("url", "where the service answers").and_then(|at| base_of(&at, true));
        let argv = fields.take("spawn").and_then(|at| command_of(&at, public));
        let env = env_of(&fields, names);
        let ready = fields.take("ready").and_then(|at| path_of(&at));
        let ready_within = ready_within_of(&fields);
        let metrics = fields.take("metrics").and_then(|at| path_of(&at));
        let config = fields.take("config").and_then(|at| get_of(&at, names));
        let headers = fields.take("headers").map_or_else(Vec::new, |at| headers_of(&at, names));
        let ca_at = fields.take("ca");
        let ca = ca_at.as_ref().and_then(At::text).map(str::to_owned);
        let insecure_at = fields.take("insecure");
        let insecure = insecure_at.as_ref().and_then(At::flag).unwrap_or(false);
        let limits = fields.take("limits").and_then(|at| TargetLimits::read(&at, not_started(fields.at.node)));
        let socket = fields.take("socket").map(|at| Socket::read(&at, names, files));
        fields.close();
        if argv.is_some() && ready.is_none() {
            at.wrong("needs `ready` beside `spawn`: the path that answers 2xx when the service is ready");
        }
        let url = url?.0;
        let speaks_tls = url.tls || socket.iter().flatten().any(Socket::speaks_tls);
        for tls in [ca_at, insecure_at].into_iter().flatten().filter(|_| !speaks_tls) {
            tls.wrong("is about TLS, but the url does not start with https://");
        }
        if ca.is_some() && insecure {
            at.wrong("has `ca` and `insecure`: whom to trust says nothing where everybody is trusted");
        }
        let spawn = argv.map(|argv| Command { argv, env });
        let limits = limits.unwrap_or_default();
        let socket = socket.map_or(Some(None), |socket| socket.map(Some))?;
        Some(Self { url, spawn, ready, ready_within, metrics, config, headers, ca, insecure, limits, socket })
    }
}

impl TargetLimits {
    fn read(at: &At<'_>, not_started: Option<String>) -> Option<Self> {
        let fields = at.fields()?;
        let memory = fields.take("memory");
        let memory_bytes = memory.and_then(|at| at.bytes(TARGET_MEMORY_BYTES_MIN..=TARGET_MEMORY_BYTES_MAX));
        let cpu_share = fields.take("cpu").and_then(|at| at.number(TARGET_CPU_MIN..=TARGET_CPU_MAX));
        let open_files = fields.take("open_files");
        let open_files = open_files.and_then(|at| at.int(TARGET_OPEN_FILES_MIN..=TARGET_OPEN_FILES_MAX));
        fields.close();
        let limits = Self { memory_bytes, cpu_share, open_files };
        if let Some(reason) = not_started.filter(|_| limits != Self::default()) {
            at.wrong(format!("can only be set for a process that the lab starts, but {reason}"));
        }
        Some(limits)
    }
}

impl Helper {
    pub(crate) fn read(at: &At<'_>, names: &Names, public: &Names) -> Option<Self> {
        let fields = at.fields()?;
        let name = fields.need("name", "its log is called after it").and_then(|at| name_of(&at));
        let argv = fields.need("command", "the program and its arguments").and_then(|at| command_of(&at, public));
        let env = env_of(&fields, names);
        let ready = fields.need("ready", "the URL that answers 2xx when it is ready");
        let ready = ready.and_then(|at| base_of(&at, false));
        let ready_within = ready_within_of(&fields);
        let start = fields.take("start").and_then(|at| at.flag()).unwrap_or(true);
        fields.close();
        let (base, ready) = ready?;
        let command = Command { argv: argv?, env };
        Some(Self { name: name?, spawn: start.then_some(command), base, ready, ready_within })
    }
}

fn ready_within_of(fields: &Fields<'_>) -> Duration {
    let within = fields.take("ready_within").and_then(|at| at.duration(Duration::from_millis(1)..=WAIT_MAX));
    within.unwrap_or(READY_WITHIN)
}

/// Where the target answers; where a helper is asked whether it is ready, with the path of the question.
fn base_of(at: &At<'_>, is_target: bool) -> Option<(Base, String)> {
    let message = match Base::parse(at.text()?) {
        Ok((_, path)) if is_target && path != "/" => {
            format!("must end with the port: requests carry their own paths, not \"{path}\"")
        }
        Ok((base, _)) if !is_target && base.tls => "must start with http://: helpers are asked in the clear".to_owned(),
        Ok(parts) => return Some(parts),
        Err(message) => message,
    };
    at.wrong(message);
    None
}

fn path_of(at: &At<'_>) -> Option<String> {
    let path = at.text()?;
    if path.starts_with('/') && path.is_ascii() && path.parse::<http::uri::PathAndQuery>().is_ok() {
        return Some(path.to_owned());
    }
    at.wrong(format!("must be a path such as \"/readyz\", not \"{path}\""));
    None
}

/// The path of a request that only reads.
pub(crate) fn get_of(at: &At<'_>, names: &Names) -> Option<Template> {
    let (method, path) = request_of(at, names)?;
    if method == http::Method::GET {
        return Some(path);
    }
    at.wrong("must only read: \"GET /path\"");
    None
}

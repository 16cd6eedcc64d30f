//! A server for one duel, in this process: on loopback, with its data in a directory that goes with it.

use crate::output::CliError;
use gateway::auth::new_secret;
use gateway::trials::TrialsHandle;
use server::process::{self, machine, raise_file_limit};
use settings::{Config, Sources};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

pub(super) struct LocalServer {
    address: SocketAddr,
    token: String,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), process::ServeError>>,
    _data: DataDirectory,
}

impl LocalServer {
    pub(super) async fn start() -> Result<Self, CliError> {
        let data = DataDirectory::create()?;
        let token = new_secret();
        let config = config(&data.0, &token)?;
        raise_file_limit(config.open_files_max);
        let listener = process::bind(config.address())?;
        let address = listener.local_addr()?;
        let ((stop, stopped), (ready, is_ready)) = (oneshot::channel(), oneshot::channel());
        let (reload, reloads) = mpsc::channel(1);
        let serving = tokio::spawn(async move {
            // It never reloads, as long as this end lives.
            let _reload = reload;
            let on_ready = || {
                let _ = ready.send(());
            };
            let stopped = async {
                let _ = stopped.await;
            };
            process::serve(config, TrialsHandle::new(None), listener, reloads, on_ready, stopped).await
        });
        let server = Self { address, token, stop, serving, _data: data };
        match is_ready.await {
            Ok(()) => Ok(server),
            // It ended before it was ready, and says why.
            Err(_) => match server.stop().await {
                Err(error) => Err(error),
                Ok(()) => Err(CliError::failed("the server for the duel ended by itself")),
            },
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) async fn stop(self) -> Result<(), CliError> {
        let _ = self.stop.send(());
        match self.serving.await {
            Ok(served) => served.map_err(CliError::from),
            Err(error) => Err(CliError::failed(format_args!("the server for the duel panicked: {error}"))),
        }
    }
}

/// Everything by default, but for what makes it a server for this duel alone.
fn config(data: &Path, token: &str) -> Result<Config, CliError> {
    let flags = vec![
        ("data", data.join("gauntlet.db").display().to_string()),
        ("port", "0".to_owned()),
        ("allow-private-bots", "true".to_owned()),
    ];
    let env = vec![("GAUNTLET_BOOTSTRAP_TOKEN".to_owned(), token.to_owned())];
    Config::load(&Sources { file: None, env, flags, machine: machine() }).map_err(CliError::failed)
}

/// Deleted when dropped.
struct DataDirectory(PathBuf);

impl DataDirectory {
    fn create() -> Result<Self, CliError> {
        let random = u64::from_be_bytes(node::clock::random_bytes());
        let path = std::env::temp_dir().join(format!("gauntlet-duel-{random:016x}"));
        std::fs::create_dir(&path).map_err(|error| {
            CliError::failed(format_args!("the directory {} cannot be made: {error}", path.display()))
        })?;
        Ok(Self(path))
    }
}

impl Drop for DataDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

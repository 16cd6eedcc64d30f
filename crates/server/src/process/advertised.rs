//! Checks that the address that this node advertises to other nodes leads here. Two nodes that advertise the same address would each take
//! the other's tables and worlds for their own, and refuse them for ever.
//!
//! An address at which another process answers is refused. One at which no server answers may still be reachable for the others, behind a
//! proxy. Then the leases in the database decide: a living process renews them, those of a dead one expire.

use engine::commands::{Command, Outcome};
use engine::ids::WorkerId;
use engine::limits::{FORWARD_CONNECT_TIMEOUT, LEASE_DURATION, LEASE_RENEW_INTERVAL};
use engine::time::UnixMs;
use gateway::app::App;
use gateway::ops::PROCESS_ID;
use node::lease::LeaseContext;
use settings::ServeMode;
use std::collections::BTreeMap;
use std::time::Duration;
use store::StoreError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep, timeout};

/// How often the leases are read while other processes have leases at this address.
const LOOK_EVERY: Duration = Duration::from_millis(LEASE_RENEW_INTERVAL.as_millis() as u64 / 4);
/// A lease that holds for longer than this after it was first seen has been renewed, or replaced by another.
const WATCH_MAX: Duration = LEASE_DURATION.saturating_add(LEASE_RENEW_INTERVAL);
/// Time in which the process at the address must identify itself.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// Most bytes that are read of its response: the process id is in the head.
const ANSWER_BYTES_MAX: u64 = 4_096;

/// Why a node may not serve under its address.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// Another process answers there.
    #[error(
        "another Gauntlet server answers at {address}, the address at which the other nodes of the database would reach this one: give \
         each node an address of its own with server.advertise (--advertise HOST:PORT)"
    )]
    Answered { address: String },
    /// Another living process on the same database advertises it.
    #[error(
        "another living node of the same database advertises {address}, as this one would: give each node an address of its own, at \
         which the others reach it, with server.advertise (--advertise HOST:PORT); 127.0.0.1 is another machine on each"
    )]
    Held { address: String },
    /// The store failed.
    #[error("{0}")]
    Store(#[from] StoreError),
}

/// What answers at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// A server of Gauntlet, with its process id.
    Server(u128),
    /// A program that does not identify itself as one.
    Unknown,
    Nothing,
}

/// A process's claim to its address: a lease that is written while the process starts, so that of two that start together at least one sees
/// the other. Later the leases of its workers have the same address and the same meaning.
pub(super) struct AddressClaim<'a> {
    app: &'a App,
    worker: WorkerId,
    is_needed: bool,
}

impl<'a> AddressClaim<'a> {
    /// A claim that is not written yet. None is needed where no other node forwards requests to this one: where the lock of the data file
    /// proves that there is no other, and where only the rate limiter is served.
    pub(super) fn of(app: &'a App) -> Self {
        let is_needed = !app.node.has_exclusive_store() && app.config.serve_mode == ServeMode::All;
        Self { app, worker: WorkerId::new(app.node.now(), app.node.random_bytes()), is_needed }
    }

    /// Checks whether this process may advertise its address. Waits until the leases of dead processes at the address are over. The gateway
    /// of this process must answer already, and none of its workers may have a lease yet.
    ///
    /// # Errors
    /// Another process has the address, or the store's.
    pub(super) async fn check(&self) -> Result<(), AddressError> {
        if !self.is_needed {
            return Ok(());
        }
        let address = self.app.node.address();
        match answer_at(&address).await {
            Answer::Server(id) if id == self.app.process_id => {}
            Answer::Server(_) => return Err(AddressError::Answered { address }),
            Answer::Unknown => tracing::warn!(
                address,
                "what answers at the address that is advertised to the other nodes does not say that it is this server: they must reach \
                 this one there; if they do not, set server.advertise (--advertise HOST:PORT)"
            ),
            Answer::Nothing => tracing::warn!(
                address,
                "no server answers at the address that is advertised to the other nodes: they must reach this one there; if they do not, \
                 set server.advertise (--advertise HOST:PORT)"
            ),
        }
        self.wait_for_others(address).await
    }

    /// Ends the lease, so that the next process at the same address need not wait for its expiry.
    pub(super) async fn release(&self) {
        if self.is_needed {
            let _ = self.app.node.commit(Command::EndLease { worker: self.worker }).await;
        }
    }

    /// Writes the lease and reads those of other processes at the address, until only this one's is left. Dead processes do not renew
    /// theirs. Of two that start together the later one (by the ids of their claims) gives way at the first sign of life, so the earlier
    /// one watches for longer: the later one may have found nothing before the earlier one's lease was written.
    async fn wait_for_others(&self, address: String) -> Result<(), AddressError> {
        let began = Instant::now();
        let mut first: Option<BTreeMap<WorkerId, UnixMs>> = None;
        loop {
            self.write_lease(&address).await?;
            let now = self.app.node.now();
            let leases_at = address.clone();
            let mut leases = self.app.node.store.read(move |reader| reader.leases_at(&leases_at, now)).await?;
            let before = leases.len();
            leases.retain(|(worker, _)| *worker != self.worker);
            let is_held = leases.len() < before;
            if leases.is_empty() && is_held {
                return Ok(());
            }
            let known = first.get_or_insert_with(|| {
                log_wait(&address, &leases, now);
                leases.iter().copied().collect()
            });
            let is_alive = |(worker, until): &(WorkerId, UnixMs)| {
                *worker < self.worker && known.get(worker) != Some(until) || began.elapsed() > WATCH_MAX
            };
            if leases.iter().any(is_alive) {
                return Err(AddressError::Held { address });
            }
            sleep(LOOK_EVERY).await;
        }
    }

    async fn write_lease(&self, address: &str) -> Result<(), StoreError> {
        let now = self.app.node.now();
        let (worker, address, until) = (self.worker, address.to_owned(), now.plus(LEASE_DURATION));
        match self.app.node.commit(Command::RenewLease { worker, address, now, until }).await? {
            Outcome::Done => Ok(()),
            Outcome::LeaseLost => {
                let why = "the database took too long to renew the lease for the address of this server".to_owned();
                Err(StoreError::Unavailable { why })
            }
            other => {
                let why = format!("the lease for the address of this server was answered {other:?}");
                Err(StoreError::Corrupt { why })
            }
        }
    }
}

fn log_wait(address: &str, leases: &[(WorkerId, UnixMs)], now: UnixMs) {
    let Some(until) = leases.iter().map(|(_, until)| *until).max() else { return };
    let wait_ms = until.since(now).as_millis() as u64;
    tracing::info!(
        address,
        wait_ms,
        until_unix_ms = until.0,
        "waiting: the leases of another process that advertised this address are not over; it is dead if they are not renewed until then"
    );
}

/// Asks the process at `address` for its id.
async fn answer_at(address: &str) -> Answer {
    let Ok(Ok(mut stream)) = timeout(FORWARD_CONNECT_TIMEOUT, names::connect(address)).await else {
        return Answer::Nothing;
    };
    let mut response = Vec::new();
    let exchange = async {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut response).await
    };
    // The head may have arrived although the rest failed or took too long.
    let _ = timeout(ANSWER_MAX, exchange).await;
    process_id(&response).map_or(Answer::Unknown, Answer::Server)
}

/// The process id in the head of a response.
fn process_id(response: &[u8]) -> Option<u128> {
    let end = response.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&response[..end]).ok()?;
    let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(name, _)| name.eq_ignore_ascii_case(PROCESS_ID.as_str()))?;
    u128::from_str_radix(value.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[track_caller]
    fn check(response: &[u8], want: Option<u128>) {
        assert_eq!(process_id(response), want, "{}", response.escape_ascii());
    }

    #[test]
    fn a_response_has_its_process_id_in_the_head() {
        check(b"HTTP/1.1 200 OK\r\nX-Gauntlet-Process-Id: 00ff\r\nDate: x\r\n\r\nalive\n", Some(255));
        check(b"HTTP/1.1 200 OK\r\nx-gauntlet-process-id: ff\r\n\r\n\xff", Some(255));
        check(b"HTTP/1.1 200 OK\r\n\r\nx-gauntlet-process-id: 00ff", None);
        check(b"HTTP/1.1 200 OK\r\nx-gauntlet-process-id: here\r\n\r\n", None);
        check(b"HTTP/1.1 200 OK\r\nx-gauntlet-process-id: 00ff\r\n", None);
        check(b"x-gauntlet-process-id: 1\r\n\r\n", None);
        check(b"", None);
        check(b"SSH-2.0-x", None);
    }

    /// The answer of a program that sends `response` to the first client and closes.
    async fn answer_of(response: &'static [u8]) -> Answer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let program = async {
            let (mut client, _) = listener.accept().await.unwrap();
            assert!(client.read(&mut [0; 1_024]).await.unwrap() > 0);
            client.write_all(response).await.unwrap();
        };
        tokio::join!(answer_at(&address), program).0
    }

    #[tokio::test]
    async fn the_answer_is_a_server_or_unknown_or_none() {
        let own = b"HTTP/1.1 200 OK\r\nx-gauntlet-process-id: 7\r\n\r\nalive\n";
        assert_eq!(answer_of(own).await, Answer::Server(7));
        assert_eq!(answer_of(b"HTTP/1.1 403 Forbidden\r\n\r\n").await, Answer::Unknown);
        assert_eq!(answer_of(&[b'x'; 2 * ANSWER_BYTES_MAX as usize]).await, Answer::Unknown);
        assert_eq!(answer_at("127.0.0.1:1").await, Answer::Nothing);
    }
}

//! One request and its response on one connection: an idle one, or a new one to an address that the gate admits.

use super::BotClient;
use super::clock::CallClock;
use super::connection::{self, BotConnection, ConnectTimes};
use super::failure::{self, CallFailure};
use super::gate::{self, Admission, CallSubject, Ending};
use super::pool::BotConnectionPermit;
use super::response::{Progress, Response, ResponseParser};
use super::signing::{CallSigner, SIGNATURE_HEADER};
use super::target::Target;
use engine::health::CallFault;
use engine::limits::CONNECT_ADDRESSES_MAX;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use telemetry::{TRACEPARENT, TraceContext};
use tokio::time::{Instant, timeout};

/// A request, ready to be written.
pub(super) struct Request(Vec<u8>);

impl Request {
    /// `trace` is the span that the bot may go on from.
    pub(super) fn post(
        target: &Target,
        segment: &str,
        body: &[u8],
        signer: Option<&CallSigner>,
        trace: Option<TraceContext>,
    ) -> Self {
        let mut bytes = Vec::with_capacity(160 + target.base_path.len() + target.authority.len() + body.len());
        let (path, host, length) = (&target.base_path, &target.authority, body.len());
        let _ = write!(
            bytes,
            "POST {path}/{segment} HTTP/1.1\r\nhost: {host}\r\nuser-agent: gauntlet\r\ncontent-type: application/json\r\n\
             accept: application/json\r\ncontent-length: {length}\r\n"
        );
        if let Some(trace) = trace {
            let _ = write!(bytes, "{TRACEPARENT}: {trace}\r\n");
        }
        if let Some(signer) = signer {
            put_signature(&mut bytes, signer, &format!("{path}/{segment}"), body);
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body);
        Self(bytes)
    }

    pub(super) fn get(target: &Target, signer: Option<&CallSigner>) -> Self {
        let (path, host) = (&target.base_path, &target.authority);
        let mut bytes =
            format!("GET {path}/ HTTP/1.1\r\nhost: {host}\r\nuser-agent: gauntlet\r\naccept: application/json\r\n")
                .into_bytes();
        if let Some(signer) = signer {
            put_signature(&mut bytes, signer, &format!("{path}/"), b"");
        }
        bytes.extend_from_slice(b"\r\n");
        Self(bytes)
    }
}

fn put_signature(head: &mut Vec<u8>, signer: &CallSigner, path: &str, body: &[u8]) {
    let _ = write!(head, "{SIGNATURE_HEADER}: {}\r\n", signer.keys.header_value(signer.at, path, body));
}

/// How one attempt on one connection failed. Its admission is settled.
struct AttemptError {
    failure: CallFailure,
    /// Whether a reused connection broke before any byte of the response: the peer may just have closed it.
    is_stale: bool,
}

/// Whom a call goes to, on whose behalf, and how long it has waited.
pub(super) struct CallRoute<'a> {
    pub(super) subject: CallSubject<'a>,
    /// When it is not made any more.
    pub(super) give_up_at: Instant,
    /// How long it may wait for a socket and for a permit of its host.
    pub(super) permit_wait_max: Option<Duration>,
}

/// A connection under its permits.
pub(super) struct OpenedConnection {
    pub(super) connection: BotConnection,
    /// Whether it was idle before.
    is_reused: bool,
    pub(super) permit: BotConnectionPermit,
    pub(super) admission: Admission,
}

impl BotClient {
    /// Sends the request and reads its response. A stale idle connection is replaced by a new one, but only when the request may be repeated:
    /// the bot may have received it. The admission is to be settled by what the response is worth.
    pub(super) async fn exchange(
        &self,
        route: &CallRoute<'_>,
        request: Request,
        is_repeatable: bool,
        clock: &mut CallClock<'_>,
    ) -> Result<(Response, Admission), CallFailure> {
        let target = route.subject.target;
        if let Some(address) = self.pool.idle_address(target) {
            let permits = async {
                Ok::<_, CallFailure>((self.admit(address, route).await?, self.pool.acquire(target, address).await))
            };
            let (admission, mut permit) = clock.aside(permits).await?;
            match permit.take_idle().filter(BotConnection::is_reusable) {
                Some(connection) => {
                    let opened = OpenedConnection { connection, is_reused: true, permit, admission };
                    match attempt(opened, &request, clock).await {
                        Err(AttemptError { is_stale: true, .. }) if is_repeatable => {}
                        ended => return ended.map_err(|error| error.failure),
                    }
                }
                None => admission.settle(Ending::NotMade),
            }
        }
        // Most calls find an idle connection: the room that a new one takes is allocated for those that do not.
        Box::pin(self.exchange_anew(route, &request, is_repeatable, clock)).await
    }

    async fn exchange_anew(
        &self,
        route: &CallRoute<'_>,
        request: &Request,
        is_repeatable: bool,
        clock: &mut CallClock<'_>,
    ) -> Result<(Response, Admission), CallFailure> {
        // A connection that became idle while this call waited for its permit is used as well, unless it is stale.
        for may_reuse in [true, false] {
            let opened = self.open(route, clock, &mut ConnectTimes::default(), may_reuse).await?;
            match attempt(opened, request, clock).await {
                Err(AttemptError { is_stale: true, .. }) if is_repeatable => {}
                ended => return ended.map_err(|error| error.failure),
            }
        }
        Err(CallFault::Closed.into())
    }

    /// Connects to the first address of the target that takes the connection. A failure of ours outweighs what other addresses said.
    pub(super) async fn open(
        &self,
        route: &CallRoute<'_>,
        clock: &mut CallClock<'_>,
        times: &mut ConnectTimes,
        may_reuse: bool,
    ) -> Result<OpenedConnection, CallFailure> {
        let before = clock.elapsed();
        let addresses =
            connection::addresses(&self.names, route.subject.target, self.is_private_allowed, clock).await?;
        times.resolve = Some(clock.elapsed().saturating_sub(before));
        let mut failure = CallFailure::from(CallFault::NotConnected);
        for address in addresses.into_iter().take(CONNECT_ADDRESSES_MAX) {
            match self.open_at(address, route, clock, times, may_reuse).await {
                Ok(opened) => return Ok(opened),
                Err(_) if failure.fault == CallFault::ServerFault => {}
                Err(of_address) => failure = of_address,
            }
        }
        Err(failure)
    }

    async fn open_at(
        &self,
        address: SocketAddr,
        route: &CallRoute<'_>,
        clock: &mut CallClock<'_>,
        times: &mut ConnectTimes,
        may_reuse: bool,
    ) -> Result<OpenedConnection, CallFailure> {
        let admission = clock.aside(self.admit(address.ip(), route)).await?;
        let acquire = self.pool.acquire(route.subject.target, address.ip());
        let permit = match route.permit_wait_max {
            Some(wait_max) => clock.aside(timeout(wait_max, acquire)).await.ok(),
            None => Some(clock.aside(acquire).await),
        };
        let Some(mut permit) = permit else {
            admission.settle(Ending::NotMade);
            return Err(CallFault::ServerFault.into());
        };
        // A connection that came with the permit and is not used is closed: there would be one more than a host may have.
        let idle = permit.take_idle().filter(|idle| may_reuse && idle.is_reusable());
        if let Some(connection) = idle {
            return Ok(OpenedConnection { connection, is_reused: true, permit, admission });
        }
        let open = self.gate.open_connection(address.ip()).map(|(open, is_full)| {
            if is_full {
                self.pool.close_idle_at(address.ip());
            }
            open
        });
        let opened = clock.run(BotConnection::open(route.subject.target, address, open, &self.metrics, times)).await;
        match opened.map_err(CallFailure::from).flatten() {
            // What a firewall in front of this machine hides from others is not to be reached through this server either.
            Ok(connection) if !self.is_private_allowed && connection.leads_to_this_machine() => {
                let failure = CallFailure::from(CallFault::NoPublicAddress);
                settle_failure(admission, &failure);
                Err(failure)
            }
            Ok(connection) => Ok(OpenedConnection { connection, is_reused: false, permit, admission }),
            Err(failure) => {
                settle_failure(admission, &failure);
                Err(failure)
            }
        }
    }

    async fn admit(&self, address: IpAddr, route: &CallRoute<'_>) -> Result<Admission, CallFailure> {
        let admitted = self.gate.admit(address, route.subject, route.give_up_at).await;
        admitted.map_err(|gate::Throttled| CallFault::Throttled.into())
    }
}

/// Settles the admission of a call that has failed: what was the server's fault counts neither against the bot nor against the account.
pub(super) fn settle_failure(admission: Admission, failure: &CallFailure) {
    let is_ours = failure.fault == CallFault::ServerFault;
    admission.settle(if is_ours { Ending::NotMade } else { Ending::Failed });
}

async fn attempt(
    opened: OpenedConnection,
    request: &Request,
    clock: &CallClock<'_>,
) -> Result<(Response, Admission), AttemptError> {
    let OpenedConnection { mut connection, is_reused, permit, admission } = opened;
    let mut incoming = ResponseParser::default();
    let ended = clock.run(send_and_receive(&mut connection, request, &mut incoming, || {})).await;
    match ended.map_err(CallFailure::from).flatten() {
        Ok(response) => {
            if response.is_reusable {
                permit.release(connection);
            }
            Ok((response, admission))
        }
        Err(failure) => {
            settle_failure(admission, &failure);
            let is_stale = is_reused && incoming.is_empty() && failure.fault == CallFault::Closed;
            Err(AttemptError { failure, is_stale })
        }
    }
}

/// Sends a request on an open connection and reads the response into `incoming`; `on_arrival` runs each time that something has arrived.
pub(super) async fn send_and_receive(
    connection: &mut BotConnection,
    request: &Request,
    incoming: &mut ResponseParser,
    mut on_arrival: impl FnMut(),
) -> Result<Response, CallFailure> {
    connection.write_all(&request.0).await.map_err(|error| failure::broken_fault(&error))?;
    loop {
        let count = connection.read_more(incoming.buffer()).await.map_err(|error| failure::broken_fault(&error))?;
        if count == 0 && incoming.is_empty() {
            return Err(CallFault::Closed.into());
        }
        on_arrival();
        if let Progress::Complete(response) = incoming.advance(count == 0)? {
            return Ok(response);
        }
        connection.acknowledge_now();
    }
}

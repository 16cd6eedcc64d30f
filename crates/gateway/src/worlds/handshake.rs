//! The first exchanges of a connection: hello and registration, within a time limit. Only here does a connection have a timer and
//! a larger task; once its mover is in a world, [`MoverConnection`] takes over.

use super::connection::{WakeReason, WorldConnection, linger};
use super::disconnect::{CloseMessage, Disconnect};
use super::mover_connection::{ConnectionGrants, MoverConnection};
use super::read;
use super::reader::{FrameReader, ReadFlow};
use super::registration::{self, RegistrationError, to_wire_view};
use crate::app::App;
use crate::auth::Principal;
use crate::grants::{Revocable, RevocationReason};
use crate::problem::ApiError;
use crate::revocation;
use engine::ids::{PlayerId, WorldName};
use engine::limits::{WORLD_HANDSHAKE_TIMEOUT, WORLD_REGISTRATIONS_MAX};
use engine::rows::{Admission, WorldRow};
use quotas::address_key::AddressKey;
use rules::world::INDICATORS;
use std::future::poll_fn;
use std::sync::{Arc, Weak};
use tokio::time::{Instant, timeout, timeout_at};
use wire::world::{ClientMessage, Hello, REASONS, Refusal, Register, Registered, VERSION, Welcome};
use worlds::{CloseReason, MoverHandle, RegisterError, VisitError, WorldHandle};

/// A connection without a registered mover.
pub(super) struct Handshake {
    pub(super) app: App,
    pub(super) connection: Arc<WorldConnection>,
    pub(super) reader: FrameReader,
    /// The principal of the request that was upgraded to this connection.
    pub(super) principal: Option<Principal>,
    /// The key of the client's address, if it is counted.
    pub(super) address: Option<AddressKey>,
    /// The world in the request's path.
    pub(super) world: Option<WorldName>,
    pub(super) grants: ConnectionGrants,
}

/// The connection ends with the credential that it depends on.
impl Revocable for WorldConnection {
    fn revoke(&self, reason: RevocationReason) {
        self.close_with(&CloseMessage::refused(&reason.into()).into());
    }
}

/// Registers a mover, and continues as its connection.
pub(super) async fn run_handshake(handshake: Handshake) {
    let (app, connection) = (handshake.app.clone(), handshake.connection.clone());
    connection.enable_keepalive(app.config.worlds_keepalive);
    let disconnect = tokio::select! {
        result = timeout(WORLD_HANDSHAKE_TIMEOUT, handshake.perform()) => match result {
            Ok(Ok(mover_connection)) => {
                tokio::spawn(mover_connection);
                return;
            }
            Ok(Err(disconnect)) => disconnect,
            Err(_) => CloseMessage::registration_timeout(WORLD_HANDSHAKE_TIMEOUT).into(),
        },
        () = app.drain.begun() => CloseMessage::from(CloseReason::Draining).into(),
    };
    connection.close_with(&disconnect);
    linger(connection).await;
}

/// A refused client may try again on the same connection.
type RegistrationOutcome = Result<(WorldHandle, MoverHandle), RegistrationError>;

/// Only the players of a hunt of matched players may know that it exists.
fn not_admitted(world: &WorldRow) -> Result<RegistrationOutcome, Disconnect> {
    match world.admission {
        Admission::Matched => Err(CloseMessage::from(VisitError::NoSuchWorld).into()),
        Admission::Everybody | Admission::Joined => Ok(Err(RegistrationError::NotJoined)),
    }
}

impl Handshake {
    async fn perform(mut self) -> Result<MoverConnection, Disconnect> {
        let due = Instant::now() + self.app.config.http_header_timeout;
        match self.next_request(due).await? {
            ClientMessage::Hello(hello) => self.send_welcome(&hello)?,
            _ => return Err(CloseMessage::unexpected_frame("the first frame must be a hello").into()),
        }
        // Each costs the store some reads, and a connection is charged once.
        for _ in 0..WORLD_REGISTRATIONS_MAX {
            let register = match self.next_request(due).await? {
                ClientMessage::Register(register) => register,
                ClientMessage::Leave(_) => return Err(Disconnect::ClosedByPeer(None)),
                _ => return Err(CloseMessage::unexpected_frame("no mover is registered here yet: register").into()),
            };
            match self.register(&register).await? {
                Ok((world, mover)) => {
                    let Self { app, connection, reader, grants, .. } = self;
                    let mover = Some(mover);
                    let mut mover_connection =
                        MoverConnection { connection, reader, world, mover, app, _grants: grants };
                    mover_connection.process_buffered()?;
                    return Ok(mover_connection);
                }
                Err(error) => self.send_refusal(error),
            }
        }
        Err(CloseMessage::too_many_registrations().into())
    }

    /// The next frame, if it comes in time.
    async fn next_request(&mut self, due: Instant) -> Result<ClientMessage, Disconnect> {
        let Self { connection, reader, app, .. } = self;
        let mut next = None;
        let mut store_message = |message| {
            next = Some(message);
            Ok(ReadFlow::Stop)
        };
        if reader.has_buffered() {
            reader.read_buffered(connection, app.node.clock.steady_us(), &mut store_message)?;
        }
        loop {
            if Instant::now() >= due {
                return Err(CloseMessage::registration_timeout(app.config.http_header_timeout).into());
            }
            if let Some(message) = next.take() {
                return Ok(message);
            }
            let wake_reason = timeout_at(due, poll_fn(|context| connection.poll_ready(context))).await;
            match wake_reason.map_err(|_| CloseMessage::registration_timeout(app.config.http_header_timeout))? {
                WakeReason::Readable => reader.read_socket(connection, app.node.clock.steady_us(), &mut |message| {
                    next = Some(message);
                    Ok(ReadFlow::Stop)
                })?,
                WakeReason::Writable => connection.flush(),
                WakeReason::Closed => return Err(Disconnect::Lost),
            }
        }
    }

    fn send_welcome(&self, hello: &Hello) -> Result<(), Disconnect> {
        if hello.version != VERSION {
            return Err(CloseMessage::unsupported_version(hello.version).into());
        }
        let mut capabilities = hello.capabilities.clone();
        capabilities.retain(|capability| capability == REASONS);
        capabilities.truncate(1);
        if !capabilities.is_empty() {
            self.connection.enable_reasons();
        }
        let indicators = INDICATORS.iter().map(|emoji| (*emoji).to_owned()).collect();
        self.connection.send_message(&Welcome { version: VERSION, capabilities, indicators });
        Ok(())
    }

    async fn register(&mut self, register: &Register) -> Result<RegistrationOutcome, Disconnect> {
        let name = registration::resolve_world(&register.world, self.world.as_ref())?;
        let principal = registration::resolve_principal(&self.app, &register.token, self.principal.as_ref()).await?;
        // Without a token of its own it moves as the connection's principal, whose grant is registered already.
        let own_principal = principal.as_ref().filter(|_| !register.token.is_empty());
        let connection: Weak<WorldConnection> = Arc::downgrade(&self.connection);
        self.grants.registered =
            own_principal.map(|principal| revocation::register_grant(&self.app, Some(principal), None, connection));
        let rank = principal.as_ref().map(Principal::rank);
        let identity = registration::resolve_identity(&self.app, principal).await?;
        let player = identity.player;
        // A client that may not enter must not load a world into memory, where it could evict another one.
        if self.app.worlds.loaded(&name).is_none()
            && let Ok(entry) = read::find_world(&self.app, name.clone()).await
            && !self.can_enter(&entry.row, player).await?
        {
            return not_admitted(&entry.row);
        }
        let world = self.app.worlds.visit_from(&name, self.address).await.map_err(CloseMessage::from)?;
        if !self.can_enter(&world.info().row, player).await? {
            return not_admitted(&world.info().row);
        }
        let registration = match registration::parse_registration(register, identity) {
            Ok(registration) => registration,
            Err(error) => return Ok(Err(error)),
        };
        let view = registration.view.map(to_wire_view);
        // Messages of the world must not precede the response.
        self.connection.hold_output();
        let outcome = world.register(registration, self.connection.clone()).await;
        let (registered, mover) = match outcome {
            Ok(entered) => entered,
            Err(error) => {
                self.connection.release_output(None::<&Registered>);
                return match error {
                    RegisterError::Refused(refusal) => Ok(Err(RegistrationError::Refused(refusal))),
                    RegisterError::Busy => Err(CloseMessage::busy().into()),
                    RegisterError::Gone(reason) => Err(CloseMessage::from(reason).into()),
                };
            }
        };
        // The player may have left the hunt, or been taken out of it, since that was looked up: too early for this mover.
        if !self.can_enter(&world.info().row, player).await? {
            mover.leave();
            self.connection.release_output(None::<&Registered>);
            return not_admitted(&world.info().row);
        }
        // A mover without a token is anonymous: its connection may be evicted.
        rank.into_iter().for_each(|rank| self.connection.raise_rank(rank));
        let settings = &world.info().settings;
        self.connection.release_output(Some(&Registered {
            id: registered.mover.id.0,
            key: registered.key,
            x: registered.cell.x.into(),
            y: registered.cell.y.into(),
            next_seq: registered.next_seq,
            width: settings.size.width.into(),
            height: settings.size.height.into(),
            view,
            move_min_ms: u32::try_from(settings.move_min.as_millis()).unwrap_or(u32::MAX),
            score: registered.score,
            is_resumed: registered.is_resumed,
        }));
        Ok(Ok((world, mover)))
    }

    /// Whether a mover of this player may enter the world at all.
    async fn can_enter(&self, world: &WorldRow, player: Option<PlayerId>) -> Result<bool, ApiError> {
        Ok(self.app.hunts.can_enter(world, player).await?)
    }

    fn send_refusal(&self, error: RegistrationError) {
        let reason = if self.connection.format().has_reasons { error.to_string() } else { String::new() };
        self.connection.send_message(&Refusal { seq: 0, code: error.code(), reason: &reason, expected_seq: 0 });
    }
}

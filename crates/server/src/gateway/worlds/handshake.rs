//! The first exchanges of a connection: hello and registration, within a stated time. Only here does a connection hold a timer and
//! a task of some size; once its mover is in a world, [`MoverConnection`] goes on.

use super::connection::{WakeReason, WorldConnection};
use super::disconnect::{CloseMessage, Disconnect};
use super::linger::linger;
use super::mover_connection::MoverConnection;
use super::read;
use super::reader::{FrameReader, ReadFlow};
use super::registration::{self, RegistrationError, to_wire_view};
use crate::address_key::AddressKey;
use crate::app::App;
use crate::gateway::auth::Principal;
use crate::gateway::revocation;
use crate::grants::{Grant, Revocable, RevocationReason};
use crate::worlds::{CloseReason, MoverHandle, RegisterError, WorldHandle};
use engine::ids::WorldName;
use engine::limits::WORLD_HANDSHAKE_TIMEOUT;
use rules::world::INDICATORS;
use std::borrow::Cow;
use std::future::poll_fn;
use std::sync::{Arc, Weak};
use tokio::time::{Instant, timeout, timeout_at};
use wire::world::{ClientMessage, Hello, REASONS, Refusal, Register, Registered, VERSION, Welcome};

/// A connection on which nobody has registered yet.
pub(super) struct Handshake {
    pub(super) app: App,
    pub(super) connection: Arc<WorldConnection>,
    pub(super) reader: FrameReader,
    /// Whoever the request was from that became this connection.
    pub(super) principal: Option<Principal>,
    /// What the client's address is counted as, if it is counted.
    pub(super) address: Option<AddressKey>,
    /// The world that the address names.
    pub(super) world: Option<WorldName>,
    pub(super) grants: ConnectionGrants,
}

/// By what a connection is open: the credential of the request that it was, and the token of the registration.
#[derive(Default)]
pub(super) struct ConnectionGrants {
    _connected: Option<Grant>,
    registered: Option<Grant>,
}

impl ConnectionGrants {
    /// A connection that came out of a request of somebody's.
    pub(super) fn connected(app: &App, line: &Arc<WorldConnection>, who: Option<&Principal>) -> Self {
        let line: Weak<WorldConnection> = Arc::downgrade(line);
        Self { _connected: who.and_then(|who| revocation::register_grant(app, who, line)), registered: None }
    }
}

/// The connection ends with the credential that it is open by.
impl Revocable for WorldConnection {
    fn revoke(&self, why: RevocationReason) {
        self.close_with(&CloseMessage::refused(&why.into()).into());
    }
}

/// Brings somebody into a world, and goes on as their connection.
pub(super) async fn run_handshake(opening: Handshake) {
    let (app, line) = (opening.app.clone(), opening.connection.clone());
    line.enable_keepalive(app.config.worlds_keepalive);
    let parting = tokio::select! {
        opened = timeout(WORLD_HANDSHAKE_TIMEOUT, opening.perform()) => match opened {
            Ok(Ok(live)) => {
                tokio::spawn(live);
                return;
            }
            Ok(Err(parting)) => parting,
            Err(_) => CloseMessage::too_slow(WORLD_HANDSHAKE_TIMEOUT).into(),
        },
        () = app.drain.begun() => CloseMessage::from(CloseReason::Draining).into(),
    };
    line.close_with(&parting);
    linger(line).await;
}

impl Handshake {
    async fn perform(mut self) -> Result<MoverConnection, Disconnect> {
        let due = Instant::now() + self.app.config.http_header_timeout;
        match self.next_request(due).await? {
            ClientMessage::Hello(hello) => self.send_welcome(&hello)?,
            _ => return Err(CloseMessage::out_of_turn("the first frame is a hello").into()),
        }
        loop {
            let register = match self.next_request(due).await? {
                ClientMessage::Register(register) => register,
                ClientMessage::Leave(_) => return Err(Disconnect::ClosedByPeer(None)),
                _ => return Err(CloseMessage::out_of_turn("nobody is registered here yet: register").into()),
            };
            match self.register(&register).await? {
                Ok((door, place)) => {
                    let mut live = MoverConnection::new(self, door, place);
                    live.process_buffered()?;
                    return Ok(live);
                }
                Err(not_so) => self.send_refusal(not_so),
            }
        }
    }

    /// The next frame, if it comes in time.
    async fn next_request(&mut self, due: Instant) -> Result<ClientMessage, Disconnect> {
        let Self { connection: line, reader: ears, app, .. } = self;
        let mut next = None;
        let mut one = |asked| {
            next = Some(asked);
            Ok(ReadFlow::Stop)
        };
        if ears.has_buffered() {
            ears.read_buffered(line, app.clock.steady_us(), &mut one)?;
        }
        loop {
            if let Some(asked) = next.take() {
                return Ok(asked);
            }
            let stirring = timeout_at(due, poll_fn(|context| line.poll_ready(context))).await;
            match stirring.map_err(|_| CloseMessage::too_slow(app.config.http_header_timeout))? {
                WakeReason::Readable => ears.read_socket(line, app.clock.steady_us(), &mut |asked| {
                    next = Some(asked);
                    Ok(ReadFlow::Stop)
                })?,
                WakeReason::Writable => line.flush(),
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

    async fn register(
        &mut self,
        register: &Register,
    ) -> Result<Result<(WorldHandle, MoverHandle), RegistrationError>, Disconnect> {
        let name = registration::resolve_world(&register.world, self.world.as_ref())?;
        let who = registration::resolve_principal(&self.app, &register.token, self.principal.as_ref()).await?;
        // Without a token of its own it moves as whoever connected, whose grant there is already.
        let named = who.as_ref().filter(|_| !register.token.is_empty());
        let line: Weak<WorldConnection> = Arc::downgrade(&self.connection);
        self.grants.registered = named.and_then(|who| revocation::register_grant(&self.app, who, line));
        let rank = who.as_ref().map(Principal::rank);
        let who = registration::resolve_identity(&self.app, who).await?;
        // Who may not come in brings no world into memory, where it might take the place of another one.
        if self.app.worlds.loaded(&name).is_none()
            && let Ok(asleep) = read::find_world(&self.app, name.clone()).await
            && !registration::can_enter(&self.app, &asleep.row, &who).await?
        {
            return Ok(Err(RegistrationError::NotJoined));
        }
        let door = self.app.worlds.visit_from(&name, self.address).await.map_err(CloseMessage::from)?;
        if !registration::can_enter(&self.app, &door.info().row, &who).await? {
            return Ok(Err(RegistrationError::NotJoined));
        }
        let registration = match registration::parse_registration(register, who) {
            Ok(registration) => registration,
            Err(not_so) => return Ok(Err(not_so)),
        };
        let view = registration.view.map(to_wire_view);
        // What the world tells from here on must not overtake the answer.
        self.connection.hold_output();
        let outcome = door.register(registration, self.connection.clone()).await;
        let (registered, place) = match outcome {
            Ok(entered) => entered,
            Err(error) => {
                self.connection.release_output(None::<&Registered>);
                return match error {
                    RegisterError::Refused(refusal) => Ok(Err(RegistrationError::Refused(refusal))),
                    RegisterError::Busy => Err(CloseMessage::busy().into()),
                    RegisterError::Gone(why) => Err(CloseMessage::from(why).into()),
                };
            }
        };
        // A mover without a token is nobody in particular: when there is no room, its connection gives way.
        rank.into_iter().for_each(|rank| self.connection.raise_rank(rank));
        let settings = &door.info().settings;
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
        Ok(Ok((door, place)))
    }

    fn send_refusal(&self, not_so: RegistrationError) {
        let reason = if self.connection.format().has_reasons { not_so.reason() } else { Cow::Borrowed("") };
        self.connection.send_message(&Refusal { seq: 0, code: not_so.code(), reason: &reason, expected_seq: 0 });
    }
}

//! The first exchanges of a connection: hello and registration, within a stated time. Only here does a connection hold a timer and
//! a task of some size; once its mover is in a world, [`Live`] goes on.

use super::ears::{Ears, Flow};
use super::line::{Line, Stirring};
use super::linger::linger;
use super::live::Live;
use super::parting::{Farewell, Parting};
use super::read;
use super::register::{self, NotSo, in_force};
use crate::address_key::AddressKey;
use crate::app::App;
use crate::gateway::auth::Anybody;
use crate::gateway::granted;
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
pub(super) struct Opening {
    pub(super) app: App,
    pub(super) line: Arc<Line>,
    pub(super) ears: Ears,
    /// Whoever the request was from that became this connection.
    pub(super) connected: Option<Anybody>,
    /// What the client's address is counted as, if it is counted.
    pub(super) address: Option<AddressKey>,
    /// The world that the address names.
    pub(super) world: Option<WorldName>,
    pub(super) grants: Grants,
}

/// By what a connection is open: the credential of the request that it was, and the token of the registration.
#[derive(Default)]
pub(super) struct Grants {
    _connected: Option<Grant>,
    registered: Option<Grant>,
}

impl Grants {
    /// A connection that came out of a request of somebody's.
    pub(super) fn connected(app: &App, line: &Arc<Line>, who: Option<&Anybody>) -> Self {
        let line: Weak<Line> = Arc::downgrade(line);
        Self { _connected: who.and_then(|who| granted::open(app, who, line)), registered: None }
    }
}

/// The connection ends with the credential that it is open by.
impl Revocable for Line {
    fn revoke(&self, why: RevocationReason) {
        self.part(&Farewell::refused(&why.into()).into());
    }
}

/// Brings somebody into a world, and goes on as their connection.
pub(super) async fn open(opening: Opening) {
    let (app, line) = (opening.app.clone(), opening.line.clone());
    line.keep_alive(app.config.worlds_keepalive);
    let parting = tokio::select! {
        opened = timeout(WORLD_HANDSHAKE_TIMEOUT, opening.enter()) => match opened {
            Ok(Ok(live)) => {
                tokio::spawn(live);
                return;
            }
            Ok(Err(parting)) => parting,
            Err(_) => Farewell::too_slow(WORLD_HANDSHAKE_TIMEOUT).into(),
        },
        () = app.drain.begun() => Farewell::from(CloseReason::Draining).into(),
    };
    line.part(&parting);
    linger(line).await;
}

impl Opening {
    async fn enter(mut self) -> Result<Live, Parting> {
        let due = Instant::now() + self.app.config.http_header_timeout;
        match self.next(due).await? {
            ClientMessage::Hello(hello) => self.welcome(&hello)?,
            _ => return Err(Farewell::out_of_turn("the first frame is a hello").into()),
        }
        loop {
            let register = match self.next(due).await? {
                ClientMessage::Register(register) => register,
                ClientMessage::Leave(_) => return Err(Parting::Bye(None)),
                _ => return Err(Farewell::out_of_turn("nobody is registered here yet: register").into()),
            };
            match self.register(&register).await? {
                Ok((door, place)) => {
                    let mut live = Live::new(self, door, place);
                    live.catch_up()?;
                    return Ok(live);
                }
                Err(not_so) => self.refuse(not_so),
            }
        }
    }

    /// The next frame, if it comes in time.
    async fn next(&mut self, due: Instant) -> Result<ClientMessage, Parting> {
        let Self { line, ears, app, .. } = self;
        let mut next = None;
        let mut one = |asked| {
            next = Some(asked);
            Ok(Flow::Stop)
        };
        if ears.has_kept() {
            ears.hear_kept(line, app.clock.steady_us(), &mut one)?;
        }
        loop {
            if let Some(asked) = next.take() {
                return Ok(asked);
            }
            let stirring = timeout_at(due, poll_fn(|context| line.poll(context))).await;
            match stirring.map_err(|_| Farewell::too_slow(app.config.http_header_timeout))? {
                Stirring::Said => ears.hear_more(line, app.clock.steady_us(), &mut |asked| {
                    next = Some(asked);
                    Ok(Flow::Stop)
                })?,
                Stirring::Takes => line.flush(),
                Stirring::Ended => return Err(Parting::Gone),
            }
        }
    }

    fn welcome(&self, hello: &Hello) -> Result<(), Parting> {
        if hello.version != VERSION {
            return Err(Farewell::version(hello.version).into());
        }
        let mut capabilities = hello.capabilities.clone();
        capabilities.retain(|capability| capability == REASONS);
        capabilities.truncate(1);
        if !capabilities.is_empty() {
            self.line.give_reasons();
        }
        let indicators = INDICATORS.iter().map(|emoji| (*emoji).to_owned()).collect();
        self.line.say(&Welcome { version: VERSION, capabilities, indicators });
        Ok(())
    }

    async fn register(&mut self, register: &Register) -> Result<Result<(WorldHandle, MoverHandle), NotSo>, Parting> {
        let name = register::world(&register.world, self.world.as_ref())?;
        let who = register::who(&self.app, &register.token, self.connected.as_ref()).await?;
        // Without a token of its own it moves as whoever connected, whose grant there is already.
        let named = who.as_ref().filter(|_| !register.token.is_empty());
        let line: Weak<Line> = Arc::downgrade(&self.line);
        self.grants.registered = named.and_then(|who| granted::open(&self.app, who, line));
        let rank = who.as_ref().map(Anybody::rank);
        let who = register::identified(&self.app, who).await?;
        // Who may not come in brings no world into memory, where it might take the place of another one.
        if self.app.worlds.loaded(&name).is_none()
            && let Ok(asleep) = read::named(&self.app, name.clone()).await
            && !register::may_enter(&self.app, &asleep.row, &who).await?
        {
            return Ok(Err(NotSo::NotJoined));
        }
        let door = self.app.worlds.visit_from(&name, self.address).await.map_err(Farewell::from)?;
        if !register::may_enter(&self.app, &door.info().row, &who).await? {
            return Ok(Err(NotSo::NotJoined));
        }
        let registration = match register::registration(register, who) {
            Ok(registration) => registration,
            Err(not_so) => return Ok(Err(not_so)),
        };
        let view = registration.view.map(in_force);
        // What the world tells from here on must not overtake the answer.
        self.line.hold();
        let outcome = door.register(registration, self.line.clone()).await;
        let (registered, place) = match outcome {
            Ok(entered) => entered,
            Err(error) => {
                self.line.release(None::<&Registered>);
                return match error {
                    RegisterError::Refused(refusal) => Ok(Err(NotSo::Refused(refusal))),
                    RegisterError::Busy => Err(Farewell::busy().into()),
                    RegisterError::Gone(why) => Err(Farewell::from(why).into()),
                };
            }
        };
        // A mover without a token is nobody in particular: when there is no room, its connection gives way.
        rank.into_iter().for_each(|rank| self.line.raise(rank));
        let settings = &door.info().settings;
        self.line.release(Some(&Registered {
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

    fn refuse(&self, not_so: NotSo) {
        let reason = if self.line.format().has_reasons { not_so.reason() } else { Cow::Borrowed("") };
        self.line.say(&Refusal { seq: 0, code: not_so.code(), reason: &reason, expected_seq: 0 });
    }
}

//! Parses a registration: the identity, the indicator, the position, the view.

use super::disconnect::{CloseMessage, Disconnect};
use crate::app::App;
use crate::auth::Principal;
use crate::problem::ApiError;
use crate::stories::extract::ActingPlayer;
use engine::ids::{PlayerId, WorldName};
use engine::limits::{MOVER_NAME_CHARS_MAX, VIEW_PER_S_DEFAULT};
use engine::worlds::{MoverId, Refusal, Registration, ViewOptions};
use rules::world::{Cell, Indicator};
use std::sync::Arc;
use wire::world::{Register, ViewOptions as WireViewOptions};

/// Why a registration is refused; the client may send another one on the same connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RegistrationError {
    /// The world refuses.
    #[error("{0}")]
    Refused(Refusal),
    #[error("this indicator is not for movers: 0, 1 and those from 8 on of the list in welcome are")]
    NoSuchIndicator,
    /// Only players who have joined, or were matched, may enter.
    #[error("join this hunt first: POST /api/hunts/{{name}}/join, with the same token")]
    NotJoined,
}

impl RegistrationError {
    /// The stable code.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::NoSuchIndicator => "no_such_indicator",
            Self::NotJoined => "not_joined",
        }
    }
}

/// The identity of a mover; empty without a token.
#[derive(Clone, Debug, Default)]
pub(super) struct MoverIdentity {
    pub(super) player: Option<PlayerId>,
    pub(super) name: Option<Arc<str>>,
}

/// The principal of a registration: of its token, or else of the connection.
pub(super) async fn resolve_principal(
    app: &App,
    token: &str,
    connected: Option<&Principal>,
) -> Result<Option<Principal>, ApiError> {
    if token.is_empty() {
        return Ok(connected.cloned());
    }
    let principal = app.auth.identify_secret(token).await.into_principal()?;
    app.bans.check(principal.as_ref(), None)?;
    Ok(principal)
}

/// The identity under which the principal moves.
pub(super) async fn resolve_identity(app: &App, principal: Option<Principal>) -> Result<MoverIdentity, ApiError> {
    let Some(player) = principal.map(ActingPlayer::from_principal).transpose()? else {
        return Ok(MoverIdentity::default());
    };
    let name = match &player {
        ActingPlayer::Guest(guest) => Some(guest.name.clone()),
        ActingPlayer::Account(id) => {
            let id = *id;
            app.node.store.read(move |reader| reader.account(id)).await?.map(|account| account.name)
        }
    };
    let short = |name: String| name.chars().take(MOVER_NAME_CHARS_MAX).collect::<String>().into();
    Ok(MoverIdentity { player: Some(player.player()), name: name.map(short) })
}

/// The world of a registration: in the path of a WebSocket, or else in the registration.
pub(super) fn resolve_world(named: &str, address: Option<&WorldName>) -> Result<WorldName, Disconnect> {
    match address {
        Some(name) if named.is_empty() || named == name.as_str() => Ok(name.clone()),
        Some(_) => Err(CloseMessage::bad_world_name("the address names another world: leave the name out").into()),
        None => named.parse().map_err(|error| CloseMessage::bad_world_name(format!("{error}")).into()),
    }
}

/// The registration for the world.
pub(super) fn parse_registration(
    register: &Register,
    identity: MoverIdentity,
) -> Result<Registration, RegistrationError> {
    let indicator = u8::try_from(register.indicator)
        .ok()
        .and_then(Indicator::of_mover)
        .ok_or(RegistrationError::NoSuchIndicator)?;
    // A position beyond the edge becomes one at the edge.
    let side = |number| u16::try_from(number).unwrap_or(u16::MAX);
    let at = register.at.map(|cell| Cell { x: side(cell.x), y: side(cell.y) });
    let view = register.view.map(parse_view_options).transpose().map_err(RegistrationError::Refused)?;
    let resume = register.resume.map(|resume| (MoverId(resume.id), resume.key));
    let MoverIdentity { player, name } = identity;
    Ok(Registration { indicator, at, view, player, name, is_resumable: true, resume })
}

/// The requested view, if it is allowed.
pub(super) fn parse_view_options(requested: WireViewOptions) -> Result<ViewOptions, Refusal> {
    let small = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
    let per_s = if requested.per_s == 0 { VIEW_PER_S_DEFAULT } else { small(requested.per_s) };
    ViewOptions { radius_x: small(requested.radius_x), radius_y: small(requested.radius_y), per_s }.validated()
}

/// The same for frames.
pub(super) fn to_wire_view(options: ViewOptions) -> WireViewOptions {
    let ViewOptions { radius_x, radius_y, per_s } = options;
    WireViewOptions { radius_x: radius_x.into(), radius_y: radius_y.into(), per_s: per_s.into() }
}

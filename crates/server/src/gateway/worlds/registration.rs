//! A registration as it comes, turned into what a world takes: who, looking how, where, seeing what.

use super::disconnect::{CloseMessage, Disconnect};
use crate::app::App;
use crate::gateway::auth::{Principal, identify_secret};
use crate::gateway::problem::ApiError;
use crate::gateway::stories::extract::ActingPlayer;
use engine::ids::{PlayerId, WorldName};
use engine::limits::{MOVER_NAME_CHARS_MAX, VIEW_PER_S_DEFAULT};
use engine::rows::WorldRow;
use engine::worlds::{MoverId, Refusal, Registration, ViewOptions};
use rules::world::{Cell, Indicator};
use std::borrow::Cow;
use std::sync::Arc;
use wire::world::{Register, ViewOptions as Wanted};

/// Why somebody does not come in, and may ask for something else on the same connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegistrationError {
    /// The world says so.
    Refused(Refusal),
    /// Nobody may look like this.
    NoSuchIndicator,
    /// Only those come in who have joined, or were matched.
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

    /// The same for people.
    pub(super) fn reason(self) -> Cow<'static, str> {
        match self {
            Self::Refused(refusal) => refusal.to_string().into(),
            Self::NoSuchIndicator => {
                "nobody may look like this: 0, 1 and those from 8 on are for movers, of the list in welcome".into()
            }
            Self::NotJoined => "join this hunt first: POST /api/hunts/{name}/join, with the same token".into(),
        }
    }
}

/// Who moves here: nobody in particular without a token.
#[derive(Clone, Debug, Default)]
pub(super) struct MoverIdentity {
    pub(super) player: Option<PlayerId>,
    pub(super) name: Option<Arc<str>>,
}

/// Who registers: whoever the token names, or else whoever made the connection.
pub(super) async fn resolve_principal(
    app: &App,
    token: &str,
    connected: Option<&Principal>,
) -> Result<Option<Principal>, Disconnect> {
    let anybody =
        if token.is_empty() { Ok(connected.cloned()) } else { identify_secret(token, app).await.into_principal() };
    anybody.map_err(|error| CloseMessage::refused(&error).into())
}

/// As whom they move.
pub(super) async fn resolve_identity(app: &App, who: Option<Principal>) -> Result<MoverIdentity, Disconnect> {
    load_identity(app, who).await.map_err(|error| CloseMessage::refused(&error).into())
}

async fn load_identity(app: &App, who: Option<Principal>) -> Result<MoverIdentity, ApiError> {
    let Some(sitter) = who.map(ActingPlayer::from_principal).transpose()? else { return Ok(MoverIdentity::default()) };
    let name = match &sitter {
        ActingPlayer::Guest(guest) => Some(guest.name.clone()),
        ActingPlayer::Account(id) => {
            let id = *id;
            app.store.read(move |reader| reader.account(id)).await?.map(|account| account.name)
        }
    };
    let short = |name: String| name.chars().take(MOVER_NAME_CHARS_MAX).collect::<String>().into();
    Ok(MoverIdentity { player: Some(sitter.player()), name: name.map(short) })
}

/// The world that is meant: the address of a WebSocket names it, or else the registration.
pub(super) fn resolve_world(named: &str, address: Option<&WorldName>) -> Result<WorldName, Disconnect> {
    match address {
        Some(name) if named.is_empty() || named == name.as_str() => Ok(name.clone()),
        Some(_) => Err(CloseMessage::bad_world_name("the address names another world: leave the name out").into()),
        None => named.parse().map_err(|error| CloseMessage::bad_world_name(format!("{error}")).into()),
    }
}

/// Whether somebody may come into this world at all.
pub(super) async fn can_enter(app: &App, world: &WorldRow, who: &MoverIdentity) -> Result<bool, Disconnect> {
    let may_enter = app.hunts.can_enter(&app.store, world, who.player).await;
    may_enter.map_err(|error| CloseMessage::refused(&error.into()).into())
}

/// What the world is asked for.
pub(super) fn parse_registration(register: &Register, who: MoverIdentity) -> Result<Registration, RegistrationError> {
    let indicator = u8::try_from(register.indicator)
        .ok()
        .and_then(Indicator::of_mover)
        .ok_or(RegistrationError::NoSuchIndicator)?;
    // Whoever begins beyond the edge begins at the edge, however far beyond.
    let side = |number| u16::try_from(number).unwrap_or(u16::MAX);
    let at = register.at.map(|cell| Cell { x: side(cell.x), y: side(cell.y) });
    let view = register.view.map(parse_view_options).transpose().map_err(RegistrationError::Refused)?;
    let resume = register.resume.map(|resume| (MoverId(resume.id), resume.key));
    let MoverIdentity { player, name } = who;
    Ok(Registration { indicator, at, view, player, name, is_resumable: true, resume })
}

/// What somebody wants to see, if views may be like that.
pub(super) fn parse_view_options(wanted: Wanted) -> Result<ViewOptions, Refusal> {
    let small = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
    let per_s = if wanted.per_s == 0 { VIEW_PER_S_DEFAULT } else { small(wanted.per_s) };
    ViewOptions { radius_x: small(wanted.radius_x), radius_y: small(wanted.radius_y), per_s }.validated()
}

/// The same as it stands in frames.
pub(super) fn to_wire_view(options: ViewOptions) -> Wanted {
    let ViewOptions { radius_x, radius_y, per_s } = options;
    Wanted { radius_x: radius_x.into(), radius_y: radius_y.into(), per_s: per_s.into() }
}

//! Who looks at a world without moving in it, and what of it they may know: of a hunt of those who were matched nothing, unless they play
//! in it; of every hunt its terrain, since chests, power-ups and movers are for those to find who are near. Operators see everything.

use crate::app::App;
use crate::gateway::auth::{Identity, Principal};
use crate::gateway::problem::{ApiError, ApiResult};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use engine::ids::PlayerId;
use engine::rows::{Admission, Role, WorldRow};
use engine::worlds::Detail;
use rules::world::WorldSettings;

/// Whoever looks. A bad token is refused.
#[derive(Clone, Copy, Debug)]
pub(in crate::gateway) struct Viewer {
    pub(in crate::gateway) player: Option<PlayerId>,
    is_operator: bool,
}

impl Viewer {
    /// Whether they may know that this world is there.
    pub(in crate::gateway) async fn may_know(&self, app: &App, world: &WorldRow) -> ApiResult<bool> {
        Ok(self.is_shown(world) || app.hunts.can_enter(&app.store, world, self.player).await?)
    }

    /// Whether it is shown to them whether they play in it or not.
    pub(in crate::gateway) fn is_shown(&self, world: &WorldRow) -> bool {
        self.is_operator || world.admission != Admission::Matched
    }

    /// What they see of a world with these rules.
    pub(super) fn sees(&self, settings: &WorldSettings) -> Detail {
        if self.is_operator || settings.hunt.is_none() { Detail::Everything } else { Detail::Terrain }
    }
}

impl FromRequestParts<App> for Viewer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let who = Identity::resolve(parts, app).await.into_principal()?;
        let is_operator = matches!(&who, Some(Principal::Account(caller)) if caller.role >= Role::Operator);
        let player = who.map(|who| match who {
            Principal::Account(caller) => PlayerId::from(caller.account),
            Principal::Guest(guest) => guest.player,
        });
        Ok(Self { player, is_operator })
    }
}

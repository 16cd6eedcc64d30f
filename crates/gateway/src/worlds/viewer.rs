//! The viewer of a world without a mover in it, and what they may see: of a hunt for matched players nothing, unless they play in it; of
//! every hunt its terrain only, since chests, power-ups and movers must be found by players nearby. Operators see everything.

use crate::app::App;
use crate::auth::Principal;
use crate::problem::{ApiError, ApiResult, Resource};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use engine::ids::PlayerId;
use engine::rows::{Admission, WorldRow};
use engine::worlds::Detail;
use rules::world::WorldSettings;

/// The viewer. A bad token is refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Viewer {
    pub(crate) player: Option<PlayerId>,
    pub(crate) is_operator: bool,
}

impl Viewer {
    /// Refuses a viewer who may not know that this world, as `resource`, exists.
    pub(crate) async fn require_visible(&self, app: &App, world: &WorldRow, resource: Resource) -> ApiResult<()> {
        let is_visible = self.is_shown(world) || app.hunts.can_enter(world, self.player).await?;
        if is_visible { Ok(()) } else { Err(ApiError::NotFound(resource)) }
    }

    /// Whether the world is visible to the viewer even without playing in it.
    fn is_shown(&self, world: &WorldRow) -> bool {
        self.is_operator || world.admission != Admission::Matched
    }

    /// What the viewer sees of a world with these rules.
    pub(super) fn detail(&self, settings: &WorldSettings) -> Detail {
        if self.is_operator || settings.hunt.is_none() { Detail::Everything } else { Detail::Terrain }
    }
}

impl FromRequestParts<App> for Viewer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let principal = app.auth.resolve(parts).await.into_principal()?;
        let is_operator = principal.as_ref().is_some_and(Principal::is_operator);
        let player = principal.as_ref().map(Principal::player);
        Ok(Self { player, is_operator })
    }
}

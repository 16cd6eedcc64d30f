//! Players at tables: a player with an account under the account's id, or a guest under their own.

use crate::app::App;
use crate::auth::Principal;
use crate::guests;
use crate::problem::{ApiError, ApiResult};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use engine::ids::{AccountId, PlayerId};
use engine::rows::Role;
use engine::tables::Newcomer;
use std::sync::Arc;

/// A sender of a request who may act at tables.
#[derive(Clone, Debug)]
pub(crate) enum ActingPlayer {
    /// An account with the role of a player, or more.
    Account(AccountId),
    Guest(Arc<guests::Guest>),
}

impl ActingPlayer {
    pub(crate) fn from_principal(principal: Principal) -> ApiResult<Self> {
        match principal {
            Principal::Guest(guest) => Ok(Self::Guest(guest)),
            Principal::Account(caller) if caller.role >= Role::Player => Ok(Self::Account(caller.account)),
            // A read-only token must not act for its account.
            Principal::Account(caller) => Err(ApiError::RoleTooWeak { need: Role::Player, have: caller.role }),
        }
    }

    /// Their id at tables.
    pub(crate) fn player(&self) -> PlayerId {
        match self {
            Self::Account(account) => PlayerId::from(*account),
            Self::Guest(guest) => guest.player,
        }
    }

    /// The data of a player who joins: their name and their standing, as of now.
    pub(super) async fn newcomer(&self, app: &App) -> ApiResult<Newcomer> {
        let player = self.player();
        match self {
            Self::Guest(guest) => {
                let standings = app.node.store.read(move |reader| reader.standings(&[player])).await?;
                Ok(newcomer(player, guest.name.clone(), &standings))
            }
            Self::Account(account) => {
                let id = *account;
                let both = app.node.store.read(move |reader| Ok((reader.account(id)?, reader.standings(&[player])?)));
                let (account, standings) = both.await?;
                // The bootstrap token's account may not exist in the store.
                let name = account.map_or_else(|| "somebody".to_owned(), |account| account.name);
                Ok(newcomer(player, name, &standings))
            }
        }
    }
}

fn newcomer(id: PlayerId, name: String, standings: &[(PlayerId, engine::tables::Standing)]) -> Newcomer {
    let standing = standings.iter().find(|(player, _)| *player == id).map(|(_, standing)| *standing);
    Newcomer { id, name: name.into(), standing: standing.unwrap_or_default() }
}

impl FromRequestParts<App> for ActingPlayer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        Self::from_principal(app.auth.resolve(parts).await.into_principal()?.ok_or(ApiError::TokenMissing)?)
    }
}

/// The viewer: a player, or (without a token) a visitor. A bad token is refused, so that its owner does not take a visitor's view for
/// their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ViewingPlayer(pub(crate) Option<PlayerId>);

impl FromRequestParts<App> for ViewingPlayer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        Ok(Self(app.auth.resolve(parts).await.into_principal()?.as_ref().map(Principal::player)))
    }
}

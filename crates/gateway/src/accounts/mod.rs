//! Accounts of people: invitations to make one, links that sign in, everything that an account owns as one document, and the end of an account.

mod codes;
mod deletion;
mod export;
mod invites;
mod sign_in_links;

pub use codes::{new_code, sign_in_path};

use crate::app::App;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(invites::list_invites, invites::create_invite))
        .routes(routes!(invites::delete_invite))
        .routes(routes!(invites::inspect_invite))
        .routes(routes!(invites::redeem_invite))
        .routes(routes!(sign_in_links::create_sign_in_link))
        .routes(routes!(sign_in_links::inspect_sign_in_link))
        .routes(routes!(sign_in_links::redeem_sign_in_link))
        .routes(routes!(export::export_account))
        .routes(routes!(deletion::delete_own_account))
        .routes(routes!(deletion::show_own_deletion))
}

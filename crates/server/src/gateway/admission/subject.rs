//! Who pays for a request, and as what: the hits of the rate limiter that a request stands for.

use super::route::RouteClass;
use crate::gateway::auth::{Caller, Identity};
use crate::gateway::problem::{ApiError, ApiResult};
use crate::rate_limit::RateLimiter;
use crate::rate_limit::headers::{RATE_LIMIT_POLICY, RateLimitHeaders};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::Response;
use engine::rows::{Role, TokenPurpose};
use limiter::{CheckResult, Decision, Hit, Moment, Outcome, PolicyDecision};
use std::net::IpAddr;

/// The key of the token that stands in no store.
const BOOTSTRAP_KEY: &str = "token:bootstrap";

/// The keys that a request is charged to, and the class under which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::gateway) struct RateLimitSubject {
    class: &'static str,
    /// The client's address, then the token if it is a good one.
    keys: Vec<String>,
}

impl RateLimitSubject {
    /// The payer of a request of this class by this caller from this address.
    pub(super) fn new(class: RouteClass, identity: &Identity, address: Option<IpAddr>) -> Self {
        let keys = address.map(super::client::limiter_key).into_iter().chain(identity_key(identity)).collect();
        Self { class: class_name(purpose_and_role(identity), class), keys }
    }

    /// Takes one unit from every key under every policy that is for it, or none from any.
    ///
    /// # Errors
    /// Which refusal it is; nothing was taken.
    pub(super) fn charge(&self, limits: &RateLimiter) -> ApiResult<RateLimitCharge> {
        charge_result(&self.check(limits, 1), limits.now())
    }

    /// Takes what a request of so many things costs beyond the first, which was paid at the door; all or nothing.
    ///
    /// # Errors
    /// As for a single request; of the rest, nothing was taken.
    pub(in crate::gateway) fn charge_remaining(
        &self,
        limits: &RateLimiter,
        things: usize,
    ) -> ApiResult<RateLimitCharge> {
        let things = things as u64;
        if things <= 1 {
            return Ok(RateLimitCharge::default());
        }
        let mut ruling = self.check(limits, things - 1);
        if can_never_fit(&ruling, things) {
            ruling.outcome = Outcome::Never;
        }
        charge_result(&ruling, limits.now())
    }

    fn check(&self, limits: &RateLimiter, units: u64) -> CheckResult {
        let keys = self.keys.iter().map(String::as_bytes);
        let hits: Vec<Hit<'_>> = keys.map(|key| Hit { class: self.class, key, cost: units }).collect();
        limits.check(&hits)
    }
}

/// Whether who denies will always deny: what is asked for would fit, but not together with the unit that was paid before.
fn can_never_fit(ruling: &CheckResult, units: u64) -> bool {
    let is_denial =
        |part: &PolicyDecision| !part.policy.is_shadow && matches!(part.decision, Decision::NotUntil { .. });
    ruling.outcome != Outcome::Allowed
        && ruling.decisions.iter().any(|part| is_denial(part) && part.quota.limit() < units)
}

fn charge_result(ruling: &CheckResult, now: Moment) -> ApiResult<RateLimitCharge> {
    let headers = RateLimitHeaders::of(ruling, now);
    match ruling.outcome {
        Outcome::Allowed => Ok(RateLimitCharge(headers)),
        Outcome::NotUntil(_) => Err(ApiError::RateLimited(Box::new(headers))),
        Outcome::Never => Err(ApiError::NeverAllowed(Box::new(headers))),
        Outcome::Full => Err(ApiError::LimiterFull(Box::new(headers))),
    }
}

/// What was taken, and what is left of it.
#[derive(Debug, Default)]
pub(in crate::gateway) struct RateLimitCharge(RateLimitHeaders);

impl RateLimitCharge {
    /// Says so in the answer, unless somebody did who paid later and knows better.
    pub(in crate::gateway) fn add_headers(&self, mut answer: Response) -> Response {
        if !answer.headers().contains_key(RATE_LIMIT_POLICY) {
            self.0.write_to(answer.headers_mut());
        }
        answer
    }
}

impl<S: Sync> FromRequestParts<S> for RateLimitSubject {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let payer = parts.extensions.get().cloned();
        payer.ok_or_else(|| ApiError::Internal("a request came past the rate limiter".to_owned()))
    }
}

/// The key of the token or of the guest. A guest may ask for as many tokens as their address may: they are limited by both.
fn identity_key(identity: &Identity) -> Option<String> {
    match identity {
        Identity::Account(Caller { token: Some(id), .. }) => Some(format!("token:{id}")),
        Identity::Account(Caller { token: None, .. }) => Some(BOOTSTRAP_KEY.to_owned()),
        Identity::Guest(guest) => Some(format!("guest:{}", guest.player)),
        Identity::Anonymous
        | Identity::UnknownToken
        | Identity::ExpiredToken
        | Identity::LookupFailed(_)
        | Identity::CrossSite => None,
    }
}

fn purpose_and_role(identity: &Identity) -> Option<(TokenPurpose, Role)> {
    match identity {
        Identity::Guest(guest) => Some((guest.purpose, Role::Guest)),
        other => other.as_caller().map(|caller| (caller.purpose, caller.role)),
    }
}

/// `gateway.<who>.<what>`. Whoever tests the load is told apart from whoever uses the house, whatever the role.
fn class_name(rank: Option<(TokenPurpose, Role)>, class: RouteClass) -> &'static str {
    macro_rules! of {
        ($who:literal) => {
            match class {
                RouteClass::Create => concat!("gateway.", $who, ".create"),
                RouteClass::Write => concat!("gateway.", $who, ".write"),
                RouteClass::Read => concat!("gateway.", $who, ".read"),
                RouteClass::Watch => concat!("gateway.", $who, ".watch"),
            }
        };
    }
    match rank {
        None => of!("anonymous"),
        Some((TokenPurpose::LoadTest, _)) => of!("load_test"),
        Some((TokenPurpose::Use, Role::Guest)) => of!("guest"),
        Some((TokenPurpose::Use, Role::Player)) => of!("player"),
        Some((TokenPurpose::Use, Role::Operator)) => of!("operator"),
        Some((TokenPurpose::Use, Role::Admin)) => of!("admin"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::guests::Guest;
    use engine::ids::{AccountId, PlayerId, TokenId};
    use engine::time::UnixMs;
    use std::sync::Arc;
    use store::StoreError;

    #[track_caller]
    fn check(identity: &Identity, class: RouteClass, address: Option<&str>, want: &str) {
        let payer = RateLimitSubject::new(class, identity, address.map(|address| address.parse().unwrap()));
        assert_eq!(format!("{} {}", payer.class, payer.keys.join(" ")).trim_end(), want);
    }

    fn known(role: Role, purpose: TokenPurpose, token: Option<TokenId>) -> Identity {
        Identity::Account(Caller { account: AccountId(1), role, token, purpose })
    }

    #[test]
    fn a_request_is_charged_to_its_address_and_its_token() {
        let token = Some(TokenId(0xa));
        let id = "token:00000000-0000-0000-0000-00000000000a";
        let player = known(Role::Player, TokenPurpose::Use, token);
        check(&player, RouteClass::Create, Some("192.0.2.1"), &format!("gateway.player.create address:192.0.2.1 {id}"));
        check(&player, RouteClass::Read, None, &format!("gateway.player.read {id}"));
        let tester = known(Role::Player, TokenPurpose::LoadTest, token);
        check(&tester, RouteClass::Create, None, &format!("gateway.load_test.create {id}"));
        let chief = known(Role::Admin, TokenPurpose::LoadTest, token);
        check(&chief, RouteClass::Watch, None, &format!("gateway.load_test.watch {id}"));
        check(
            &known(Role::Guest, TokenPurpose::Use, token),
            RouteClass::Watch,
            None,
            &format!("gateway.guest.watch {id}"),
        );
        let operator = known(Role::Operator, TokenPurpose::Use, token);
        check(&operator, RouteClass::Write, None, &format!("gateway.operator.write {id}"));
        let bootstrap = known(Role::Admin, TokenPurpose::Use, None);
        check(&bootstrap, RouteClass::Write, None, "gateway.admin.write token:bootstrap");
    }

    #[test]
    fn a_guest_pays_as_guest_and_by_address() {
        for (purpose, who) in [(TokenPurpose::Use, "guest"), (TokenPurpose::LoadTest, "load_test")] {
            let guest = Guest { player: PlayerId(0xa), name: "g".to_owned(), purpose, expires_at: UnixMs(1) };
            let id = "guest:00000000-0000-0000-0000-00000000000a";
            let want = format!("gateway.{who}.write address:192.0.2.1 {id}");
            check(&Identity::Guest(Arc::new(guest)), RouteClass::Write, Some("192.0.2.1"), &want);
        }
    }

    #[test]
    fn whoever_is_not_known_pays_by_address_alone() {
        let untold = Identity::LookupFailed(StoreError::Unavailable { why: "gone".to_owned() });
        for identity in
            [Identity::Anonymous, Identity::UnknownToken, Identity::ExpiredToken, Identity::CrossSite, untold]
        {
            check(&identity, RouteClass::Read, Some("::1"), "gateway.anonymous.read address:::/64");
        }
    }
}

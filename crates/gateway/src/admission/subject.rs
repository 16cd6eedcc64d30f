//! The rate-limit subject of a request: the keys and the class of the hits that it stands for.

use super::route::RouteClass;
use crate::auth::{Caller, Principal};
use crate::client_address::limiter_key;
use crate::problem::{ApiError, ApiResult};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::Response;
use engine::rows::{Role, TokenPurpose};
use limiter::{CheckResult, Decision, Hit, Moment, Outcome, PolicyDecision};
use rate_limit::RateLimiter;
use rate_limit::headers::{RATE_LIMIT_POLICY, RateLimitHeaders};
use std::net::IpAddr;

/// The key of the bootstrap token, which is in no store.
const BOOTSTRAP_KEY: &str = "token:bootstrap";

/// The keys that a request is charged to, and the class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RateLimitSubject {
    class: &'static str,
    /// The client's address; then the account and the token if it is valid, or the guest.
    keys: Vec<String>,
}

impl RateLimitSubject {
    /// The subject of a request of this class by this caller from this address.
    pub(super) fn new(class: RouteClass, principal: Option<&Principal>, address: Option<IpAddr>) -> Self {
        let keys = address.map(limiter_key).into_iter().chain(principal.into_iter().flat_map(principal_keys)).collect();
        Self { class: class_name(principal.map(purpose_and_role), class), keys }
    }

    /// Charges one unit to every key under every policy that applies, or none to any.
    ///
    /// # Errors
    /// The refusal; nothing was charged.
    pub(super) fn charge(&self, limits: &RateLimiter) -> ApiResult<RateLimitCharge> {
        charge_result(&self.check(limits, 1), limits.now())
    }

    /// Charges the cost of a request about so many items beyond the first, which admission charged; all or nothing.
    ///
    /// # Errors
    /// As for a single request; of the rest, nothing was charged.
    pub(crate) fn charge_remaining(&self, limits: &RateLimiter, items: usize) -> ApiResult<RateLimitCharge> {
        let items = items as u64;
        if items <= 1 {
            return Ok(RateLimitCharge::default());
        }
        let mut result = self.check(limits, items - 1);
        if can_never_fit(&result, items) {
            result.outcome = Outcome::Never;
        }
        charge_result(&result, limits.now())
    }

    fn check(&self, limits: &RateLimiter, units: u64) -> CheckResult {
        let keys = self.keys.iter().map(String::as_bytes);
        let hits: Vec<Hit<'_>> = keys.map(|key| Hit { class: self.class, key, cost: units }).collect();
        limits.check(&hits)
    }
}

/// Whether the denial is permanent: the request would fit, but not together with the unit that was charged before.
fn can_never_fit(result: &CheckResult, units: u64) -> bool {
    let is_denial = |decision: &PolicyDecision| {
        !decision.policy.is_shadow && matches!(decision.decision, Decision::NotUntil { .. })
    };
    result.outcome != Outcome::Allowed
        && result.decisions.iter().any(|decision| is_denial(decision) && decision.quota.limit() < units)
}

fn charge_result(result: &CheckResult, now: Moment) -> ApiResult<RateLimitCharge> {
    let headers = RateLimitHeaders::of(result, now);
    match result.outcome {
        Outcome::Allowed => Ok(RateLimitCharge(headers)),
        Outcome::NotUntil(_) => Err(ApiError::RateLimited(Box::new(headers))),
        Outcome::Never => Err(ApiError::NeverAllowed(Box::new(headers))),
        Outcome::Full => Err(ApiError::LimiterFull(Box::new(headers))),
    }
}

/// What was charged, and what is left.
#[derive(Debug, Default)]
pub(crate) struct RateLimitCharge(RateLimitHeaders);

impl RateLimitCharge {
    /// Adds the headers to the response, unless a later charge did.
    pub(crate) fn add_headers(&self, mut response: Response) -> Response {
        if !response.headers().contains_key(RATE_LIMIT_POLICY) {
            self.0.write_to(response.headers_mut());
        }
        response
    }
}

impl<S: Sync> FromRequestParts<S> for RateLimitSubject {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let subject = parts.extensions.get().cloned();
        subject.ok_or_else(|| ApiError::Internal("a request bypassed the rate limiter".to_owned()))
    }
}

/// The keys of the account and its token, or of the guest. An account has up to a hundred tokens, from as many addresses as it likes: only
/// a policy for accounts limits it. A guest can get as many tokens as the address may: both limit it.
fn principal_keys(principal: &Principal) -> Vec<String> {
    match principal {
        Principal::Account(Caller { account, token, .. }) => {
            let token = token.map_or_else(|| BOOTSTRAP_KEY.to_owned(), |id| format!("token:{id}"));
            vec![format!("account:{account}"), token]
        }
        Principal::Guest(guest) => vec![format!("guest:{}", guest.player)],
    }
}

fn purpose_and_role(principal: &Principal) -> (TokenPurpose, Role) {
    match principal {
        Principal::Account(caller) => (caller.purpose, caller.role),
        Principal::Guest(guest) => (guest.purpose, Role::Guest),
    }
}

/// `gateway.<who>.<what>`. Load tests are distinguished from normal use, whatever the role.
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
    use crate::auth::{AuthError, Identity};
    use crate::guests::Guest;
    use engine::ids::{AccountId, PlayerId, TokenId};
    use engine::time::UnixMs;
    use rate_limit::rules::{GATEWAY_ACTIONS, GATEWAY_CALLERS};
    use std::sync::Arc;
    use store::StoreError;

    #[track_caller]
    fn check(identity: &Identity, class: RouteClass, address: Option<&str>, want: &str) {
        let address = address.map(|address| address.parse().unwrap());
        let subject = RateLimitSubject::new(class, identity.principal(), address);
        assert_eq!(format!("{} {}", subject.class, subject.keys.join(" ")).trim_end(), want);
    }

    fn account(role: Role, purpose: TokenPurpose, token: Option<TokenId>) -> Identity {
        Identity(Ok(Some(Principal::Account(Caller {
            account: AccountId(1),
            role,
            token,
            purpose,
            expires_at: None,
            is_session: false,
        }))))
    }

    #[test]
    fn a_request_is_charged_to_its_address_its_account_and_its_token() {
        let token = Some(TokenId(0xa));
        let id = "account:00000000-0000-0000-0000-000000000001 token:00000000-0000-0000-0000-00000000000a";
        let player = account(Role::Player, TokenPurpose::Use, token);
        check(&player, RouteClass::Create, Some("192.0.2.1"), &format!("gateway.player.create address:192.0.2.1 {id}"));
        check(&player, RouteClass::Read, None, &format!("gateway.player.read {id}"));
        let load_tester = account(Role::Player, TokenPurpose::LoadTest, token);
        check(&load_tester, RouteClass::Create, None, &format!("gateway.load_test.create {id}"));
        let admin = account(Role::Admin, TokenPurpose::LoadTest, token);
        check(&admin, RouteClass::Watch, None, &format!("gateway.load_test.watch {id}"));
        check(
            &account(Role::Guest, TokenPurpose::Use, token),
            RouteClass::Watch,
            None,
            &format!("gateway.guest.watch {id}"),
        );
        let operator = account(Role::Operator, TokenPurpose::Use, token);
        check(&operator, RouteClass::Write, None, &format!("gateway.operator.write {id}"));
        let bootstrap = account(Role::Admin, TokenPurpose::Use, None);
        check(
            &bootstrap,
            RouteClass::Write,
            None,
            "gateway.admin.write account:00000000-0000-0000-0000-000000000001 token:bootstrap",
        );
    }

    /// A policy is refused whose class matches none of those that [`rate_limit::rules`] lists.
    #[test]
    fn every_class_is_one_that_policies_may_name() {
        let callers = [Role::Guest, Role::Player, Role::Operator, Role::Admin].map(|role| (TokenPurpose::Use, role));
        let ranks = callers.into_iter().chain([(TokenPurpose::LoadTest, Role::Player)]).map(Some).chain([None]);
        let actions = [RouteClass::Create, RouteClass::Write, RouteClass::Read, RouteClass::Watch];
        let mut used: Vec<_> = ranks.flat_map(|rank| actions.map(|action| class_name(rank, action))).collect();
        let mut known: Vec<_> = GATEWAY_CALLERS
            .iter()
            .flat_map(|caller| GATEWAY_ACTIONS.map(|action| format!("gateway.{caller}.{action}")))
            .collect();
        used.sort_unstable();
        known.sort_unstable();
        assert_eq!(used, known);
    }

    #[test]
    fn a_guest_is_charged_as_guest_and_by_address() {
        for (purpose, who) in [(TokenPurpose::Use, "guest"), (TokenPurpose::LoadTest, "load_test")] {
            let guest = Guest { player: PlayerId(0xa), name: "g".to_owned(), purpose, expires_at: UnixMs(1) };
            let id = "guest:00000000-0000-0000-0000-00000000000a";
            let want = format!("gateway.{who}.write address:192.0.2.1 {id}");
            let guest = Identity(Ok(Some(Principal::Guest(Arc::new(guest)))));
            check(&guest, RouteClass::Write, Some("192.0.2.1"), &want);
        }
    }

    #[test]
    fn an_unidentified_caller_is_charged_by_address_alone() {
        let failed = AuthError::LookupFailed(StoreError::Unavailable { why: "gone".to_owned() });
        let errors = [AuthError::UnknownToken, AuthError::ExpiredToken, AuthError::CrossSite, failed];
        for identity in errors.map(|error| Identity(Err(error))).into_iter().chain([Identity(Ok(None))]) {
            check(&identity, RouteClass::Read, Some("::1"), "gateway.anonymous.read address:::/64");
        }
    }
}

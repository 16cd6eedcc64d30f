//! When tokens were used last, for the owners who list them. Collected here, and written by a background job, many in one command: no
//! request waits for it. A use that is lost with the process is recorded by the next one.
//!
//! A token is looked up in the store every two seconds at most, and only that look-up is noted: a request that is served from the cache of
//! tokens costs nothing here.

use engine::ids::TokenId;
use engine::limits::{TOKEN_USE_RECORD_INTERVAL, TOKEN_USES_MAX};
use engine::rows::Token;
use engine::time::UnixMs;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Uses that wait to be written, and those that were written so recently that another one would say nothing new.
#[derive(Debug, Default)]
pub struct TokenUses(Mutex<BTreeMap<TokenId, TokenUse>>);

#[derive(Clone, Copy, Debug)]
struct TokenUse {
    at: UnixMs,
    is_taken: bool,
}

impl TokenUses {
    /// Notes that a token was used, unless that is known well enough. `token` is what the store says of it.
    pub(super) fn note(&self, token: &Token, now: UnixMs) {
        if token.last_used_at.is_some_and(|at| is_recent(at, now)) {
            return;
        }
        let mut uses = self.lock();
        if uses.get(&token.id).is_some_and(|last| is_recent(last.at, now)) {
            return;
        }
        if uses.len() < TOKEN_USES_MAX {
            uses.insert(token.id, TokenUse { at: now, is_taken: false });
        }
    }

    /// Takes the uses that are to be written, in the order of the tokens. Each is returned once.
    pub fn take(&self, now: UnixMs) -> Vec<(TokenId, UnixMs)> {
        let mut uses = self.lock();
        uses.retain(|_, last| !last.is_taken || is_recent(last.at, now));
        let waiting = uses.iter_mut().filter(|(_, last)| !last.is_taken);
        let taken = waiting.map(|(id, last)| {
            last.is_taken = true;
            (*id, last.at)
        });
        taken.collect()
    }

    /// Consistent even if a holder of the lock panicked: no update spans two entries.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<TokenId, TokenUse>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_recent(at: UnixMs, now: UnixMs) -> bool {
    now.since(at) < TOKEN_USE_RECORD_INTERVAL
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::ids::AccountId;
    use engine::rows::{Role, TokenPurpose};

    const MINUTE_MS: i64 = TOKEN_USE_RECORD_INTERVAL.as_millis() as i64;

    fn token(id: u128, last_used_at: Option<i64>) -> Token {
        Token {
            id: TokenId(id),
            account: AccountId(1),
            name: String::new(),
            role: Role::Player,
            purpose: TokenPurpose::Use,
            digest: [0; 32],
            created_at: UnixMs(0),
            last_used_at: last_used_at.map(UnixMs),
            expires_at: None,
            is_session: false,
        }
    }

    /// Each step notes a token with what the store knows of it, at a time; then everything is taken at that time.
    #[track_caller]
    fn check(steps: &[(u128, Option<i64>, i64, &[u128])]) {
        let uses = TokenUses::default();
        for (step, (id, known, now, want)) in steps.iter().enumerate() {
            uses.note(&token(*id, *known), UnixMs(*now));
            let taken: Vec<u128> = uses.take(UnixMs(*now)).into_iter().map(|(id, _)| id.0).collect();
            assert_eq!(taken, *want, "step {step}");
        }
    }

    #[test]
    fn a_token_is_written_once_a_minute() {
        check(&[
            (1, None, 0, &[1]),
            (1, None, 1, &[]),
            (2, None, 1, &[2]),
            (1, Some(0), MINUTE_MS - 1, &[]),
            (1, Some(0), MINUTE_MS, &[1]),
            (1, Some(0), MINUTE_MS + 1, &[]),
        ]);
        check(&[(1, Some(100), 100 + MINUTE_MS - 1, &[]), (1, Some(100), 100 + MINUTE_MS, &[1])]);
        check(&[(1, Some(MINUTE_MS * 9), 0, &[])]);
    }

    #[test]
    fn uses_of_many_tokens_are_taken_together_and_once() {
        let uses = TokenUses::default();
        for (id, now) in [(3, 5), (1, 6), (3, 7)] {
            uses.note(&token(id, None), UnixMs(now));
        }
        assert_eq!(uses.take(UnixMs(8)), [(TokenId(1), UnixMs(6)), (TokenId(3), UnixMs(5))]);
        assert_eq!(uses.take(UnixMs(8)), []);
    }

    #[test]
    fn memory_is_bounded_and_free_again_after_a_minute() {
        let uses = TokenUses::default();
        for id in 0..TOKEN_USES_MAX as u128 + 5 {
            uses.note(&token(id, None), UnixMs(0));
        }
        assert_eq!(uses.take(UnixMs(0)).len(), TOKEN_USES_MAX);
        uses.note(&token(u128::MAX, None), UnixMs(1));
        assert_eq!(uses.take(UnixMs(MINUTE_MS)), []);
        uses.note(&token(u128::MAX, None), UnixMs(MINUTE_MS));
        assert_eq!(uses.take(UnixMs(MINUTE_MS)).len(), 1);
    }
}

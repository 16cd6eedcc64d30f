//! Rules of the rate limiter that were set while the server ran.

use crate::fixtures::*;
use engine::commands::{Command, Outcome};
use engine::limits::LIMIT_POLICY_ROWS_MAX;
use engine::rows::{LimitOverride, LimitPolicy, LimitRules};
use store::Database;

fn put(name: &str, definition: &str) -> Command {
    Command::PutLimitPolicy(limit_policy(name, definition))
}

fn forget(name: &str) -> Command {
    Command::DeleteLimitPolicy { name: name.to_owned() }
}

fn put_override(policy: &str, key: &[u8], limit: u64) -> Command {
    Command::PutLimitOverride(limit_override(policy, key, limit))
}

fn forget_override(policy: &str, key: &[u8]) -> Command {
    Command::DeleteLimitOverride { policy: policy.to_owned(), key: key.to_owned() }
}

/// These rules are in force, and they are this version.
#[track_caller]
fn check(held: &mut StoreFixture, version: u64, policies: &[LimitPolicy], overrides: &[LimitOverride]) {
    let want = LimitRules { version, policies: policies.to_vec(), overrides: overrides.to_vec() };
    assert_eq!(held.reader.limit_rules(), Ok(want));
    assert_eq!(held.reader.limit_rules_version(), Ok(version));
}

pub(crate) fn a_policy_is_set_and_changed_and_forgotten(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    check(&mut held, 0, &[], &[]);
    held.assert_outcome(put("burst", "limit = 1"), Outcome::Done);
    // In the order of bytes, in which `_` stands behind every capital letter and `-` before all of them.
    held.assert_outcome(put("a_b", "größer"), Outcome::Done);
    held.assert_outcome(put("a-c", ""), Outcome::Done);
    let (ab, ac) = (limit_policy("a_b", "größer"), limit_policy("a-c", ""));
    check(&mut held, 3, &[ac.clone(), ab.clone(), limit_policy("burst", "limit = 1")], &[]);
    held.assert_outcome(put("burst", "limit = 2"), Outcome::Done);
    check(&mut held, 4, &[ac.clone(), ab.clone(), limit_policy("burst", "limit = 2")], &[]);
    held.assert_outcome(forget("burst"), Outcome::Done);
    held.assert_outcome(forget("burst"), Outcome::NotFound);
    check(&mut held, 5, &[ac, ab], &[]);
}

pub(crate) fn a_quota_of_a_key_is_kept_to_the_bit(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let keys: [&[u8]; 5] = [b"", b"\0", "löwe".as_bytes(), b"user:42", &[0xff, 0xfe]];
    let limits = [0, 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX];
    let commands: Vec<_> = keys.iter().zip(limits).rev().map(|(key, limit)| put_override("p", key, limit)).collect();
    assert!(held.commit(&commands).iter().all(|outcome| *outcome == Outcome::Done));
    let kept: Vec<_> = keys.iter().zip(limits).map(|(key, limit)| limit_override("p", key, limit)).collect();
    check(&mut held, 5, &[], &kept);
    held.assert_outcome(put_override("p", b"user:42", 7), Outcome::Done);
    held.assert_outcome(forget_override("p", b"user:4"), Outcome::NotFound);
    held.assert_outcome(forget_override("q", b"user:42"), Outcome::NotFound);
    held.assert_outcome(forget_override("p", b""), Outcome::Done);
    let mut kept = kept;
    kept[3] = limit_override("p", b"user:42", 7);
    check(&mut held, 7, &[], &kept[1..]);
}

pub(crate) fn forgetting_a_policy_forgets_its_quotas(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(put("p", "x"), Outcome::Done);
    for (policy, key) in [("p", b"a"), ("p", b"b"), ("pp", b"a"), ("q", b"a")] {
        held.assert_outcome(put_override(policy, key, 1), Outcome::Done);
    }
    held.assert_outcome(forget("p"), Outcome::Done);
    held.assert_outcome(forget_override("p", b"a"), Outcome::NotFound);
    let (pp, q) = (limit_override("pp", b"a", 1), limit_override("q", b"a", 1));
    check(&mut held, 6, &[], &[pp.clone(), q]);
    // Quotas alone, under a policy of the server's file.
    held.assert_outcome(forget("q"), Outcome::Done);
    check(&mut held, 7, &[], &[pp]);
}

pub(crate) fn every_change_is_a_new_version(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let changes =
        [put("p", "1"), forget("none"), put("p", "1"), put_override("p", b"k", 1), forget_override("p", b"j")];
    let outcomes = held.commit(&changes);
    assert_eq!(outcomes, [Outcome::Done, Outcome::NotFound, Outcome::Done, Outcome::Done, Outcome::NotFound]);
    assert_eq!(held.reader.limit_rules_version(), Ok(3), "refusals are no changes");
}

pub(crate) fn policies_are_bounded(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let commands: Vec<_> = (0..=LIMIT_POLICY_ROWS_MAX).map(|n| put(&format!("p{n}"), "")).collect();
    let outcomes = held.commit(&commands);
    assert!(outcomes[..LIMIT_POLICY_ROWS_MAX].iter().all(|outcome| *outcome == Outcome::Done));
    assert_eq!(outcomes[LIMIT_POLICY_ROWS_MAX], Outcome::LimitReached);
    held.assert_outcome(put("p7", "changed"), Outcome::Done);
    held.assert_outcome(put_override("p7", b"k", 1), Outcome::Done);
    held.assert_outcome(forget("p7"), Outcome::Done);
    held.assert_outcome(put("another", ""), Outcome::Done);
    held.assert_outcome(put("one too many", ""), Outcome::LimitReached);
}

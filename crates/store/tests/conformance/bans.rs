//! Bans of accounts, guests and addresses.

use crate::fixtures::*;
use engine::commands::{BanCommand, Command, Outcome};
use engine::ids::{BanId, PlayerId};
use engine::limits::BANS_MAX;
use engine::rows::{Ban, BanList, BanTarget, Role};
use store::Database;

pub(crate) fn ban(n: u128, target: &str, made_ms: i64, end_ms: Option<i64>) -> Ban {
    Ban {
        id: BanId(n),
        target: target.parse().unwrap(),
        reason: format!("reason «{n}»"),
        made_by: n.is_multiple_of(2).then(|| account_id(n)),
        made_by_role: n.is_multiple_of(2).then_some(Role::Operator),
        created_at: at(made_ms),
        expires_at: end_ms.map(at),
    }
}

pub(crate) fn create_ban(ban: &Ban) -> Command {
    Command::Ban(BanCommand::Create(ban.clone()))
}

fn lift(n: u128, ms: i64) -> Command {
    Command::Ban(BanCommand::Lift { id: BanId(n), now: at(ms) })
}

/// At this time these bans are in force, newest first, and they are this version.
#[track_caller]
fn check(held: &mut StoreFixture, ms: i64, version: u64, bans: &[&Ban]) {
    let bans: Vec<Ban> = bans.iter().map(|ban| (*ban).clone()).collect();
    assert_eq!(held.reader.bans().ban_page(None, BANS_MAX, at(ms)), Ok(bans.clone()));
    assert_eq!(held.reader.bans().ban_list(at(ms)), Ok(BanList { version, bans }));
    assert_eq!(held.reader.bans().ban_list_version(), Ok(version));
}

pub(crate) fn every_form_of_a_target_is_read_back(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let account = BanTarget::Account(account_id(1)).to_string();
    let guest = BanTarget::Guest(PlayerId(u128::MAX)).to_string();
    let disabled = BanTarget::Disabled(account_id(1)).to_string();
    let targets = [
        account.as_str(),
        guest.as_str(),
        disabled.as_str(),
        "address:192.0.2.7",
        "address:198.51.100.0/24",
        "address:0.0.0.0/0",
        "address:2001:db8::7",
        "address:2001:db8::/32",
        "address:::1",
        "address:::/0",
        "address:::ffff:203.0.113.9",
        "address:::ffff:203.0.113.9/120",
    ];
    let bans: Vec<Ban> = targets.iter().zip(1..).map(|(target, n)| ban(n, target, 0, None)).collect();
    for ban in &bans {
        held.assert_outcome(create_ban(ban), Outcome::Done);
    }
    let newest_first: Vec<&Ban> = bans.iter().rev().collect();
    check(&mut held, 0, targets.len() as u64, &newest_first);
    // As after a restart.
    let mut reader = database.reader().unwrap();
    assert_eq!(reader.bans().ban_list(at(0)).unwrap().bans, bans.iter().rev().cloned().collect::<Vec<_>>());
}

pub(crate) fn a_target_is_banned_once_at_a_time(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let (first, forever) = (ban(1, "address:192.0.2.7", 0, Some(100)), ban(3, "address:192.0.2.0/24", 0, None));
    held.assert_outcome(create_ban(&first), Outcome::Done);
    held.assert_outcome(create_ban(&first), Outcome::Duplicate);
    held.assert_outcome(create_ban(&ban(2, "address:::ffff:192.0.2.7", 99, None)), Outcome::Duplicate);
    held.assert_outcome(create_ban(&forever), Outcome::Done);
    check(&mut held, 99, 2, &[&forever, &first]);
    check(&mut held, 100, 2, &[&forever]);
    // One that has expired is neither lifted nor in the way.
    held.assert_outcome(lift(1, 100), Outcome::NotFound);
    let second = ban(4, "address:192.0.2.7", 100, None);
    held.assert_outcome(create_ban(&second), Outcome::Done);
    check(&mut held, 100, 3, &[&second, &forever]);
    held.assert_outcome(lift(4, 101), Outcome::Done);
    held.assert_outcome(lift(4, 101), Outcome::NotFound);
    check(&mut held, 101, 4, &[&forever]);
}

pub(crate) fn bans_are_read_in_pages(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let bans: Vec<Ban> = (1..=5).map(|n| ban(n, &format!("address:192.0.2.{n}"), 0, None)).collect();
    bans.iter().for_each(|ban| held.assert_outcome(create_ban(ban), Outcome::Done));
    for (before, limit, want) in
        [(None, 2, vec![5, 4]), (Some(4), 2, vec![3, 2]), (Some(1), 2, vec![]), (None, 0, vec![])]
    {
        let page = held.reader.bans().ban_page(before.map(BanId), limit, at(0)).unwrap();
        assert_eq!(page.iter().map(|ban| ban.id.0).collect::<Vec<_>>(), want, "before {before:?}");
    }
}

pub(crate) fn waiting_matches_of_an_account_are_listed(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::EnsureAccount(account(2)), Outcome::Account(account_id(2)));
    held.assert_outcome(create(1, [1, 2, 3], at(0)), Outcome::Done);
    held.assert_outcome(create(2, [4], at(0)), Outcome::Done);
    let cancel = Command::CancelMatch { id: match_id(2), account: None, now: at(1) };
    held.assert_outcome(cancel, Outcome::Done);
    for (account, limit, want) in [(1, 10, vec![1, 3]), (1, 1, vec![1]), (2, 10, vec![4]), (3, 10, vec![])] {
        let waiting = held.reader.bans().waiting_matches(account_id(account), limit);
        assert_eq!(waiting, Ok(want.into_iter().map(match_id).collect::<Vec<_>>()), "account {account}");
    }
}

pub(crate) fn bans_expire_and_are_bounded(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let end = |n: u128| (n <= 3).then_some(100 + n as i64);
    let target = |n: u128| BanTarget::Guest(PlayerId(n)).to_string();
    let all: Vec<Command> = (1..=BANS_MAX as u128).map(|n| create_ban(&ban(n, &target(n), 0, end(n)))).collect();
    assert!(held.commit(&all).iter().all(|outcome| *outcome == Outcome::Done));
    let one_more = BANS_MAX as u128 + 1;
    held.assert_outcome(create_ban(&ban(one_more, &target(one_more), 100, None)), Outcome::LimitReached);
    held.assert_outcome(create_ban(&ban(one_more, &target(one_more), 101, None)), Outcome::Done);
    let retire = |ms, max| Command::Ban(BanCommand::RetireExpired { now: at(ms), max });
    held.assert_outcome(retire(102, 1), Outcome::Retired(1));
    held.assert_outcome(retire(102, 10), Outcome::Retired(1));
    held.assert_outcome(retire(102, 10), Outcome::Retired(0));
    assert_eq!(held.reader.bans().ban_list(at(102)).unwrap().bans.len(), BANS_MAX - 1);
    assert_eq!(held.reader.bans().ban_list_version(), Ok(one_more as u64));
}

//! Laws of the audit log.

use crate::fixtures::*;
use engine::commands::{AuditCommand, BanCommand, Command, Outcome};
use engine::ids::{AuditId, BanId, TokenId};
use engine::rows::{AuditEntry, AuditFilter, Ban, BanTarget};
use engine::time::UnixMs;
use std::net::IpAddr;
use store::Database;

/// The entry of this time.
fn entry(ms: i64, action: &str) -> AuditEntry {
    AuditEntry {
        id: AuditId::new(at(ms), [7; 10]),
        account: None,
        token: None,
        address: None,
        action: action.to_owned(),
        target: None,
        detail: None,
        reason: None,
        outcome: "done".to_owned(),
    }
}

/// An entry in which everything is said.
pub(crate) fn full(ms: i64, action: &str, address: &str) -> AuditEntry {
    AuditEntry {
        account: Some(account_id(1)),
        token: Some(TokenId(u128::MAX)),
        address: Some(address.parse::<IpAddr>().unwrap()),
        target: Some("account:«1»".to_owned()),
        detail: Some("ban:1".to_owned()),
        reason: Some("floods, 'again'".to_owned()),
        outcome: "no_such_account".to_owned(),
        ..entry(ms, action)
    }
}

fn record(entry: &AuditEntry) -> Command {
    Command::Audit(AuditCommand::Record(entry.clone()))
}

pub(crate) fn all() -> AuditFilter {
    AuditFilter { account: None, action: None, target: None, from: None, until: None, before: None, limit: 100 }
}

#[track_caller]
fn check(held: &mut StoreFixture, filter: &AuditFilter, want: &[&AuditEntry]) {
    let want: Vec<AuditEntry> = want.iter().map(|entry| (*entry).clone()).collect();
    assert_eq!(held.reader.audit().audit_page(filter), Ok(want), "{filter:?}");
}

pub(crate) fn entries_are_read_back_as_they_were_written(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let (first, second, third) = (entry(1, "drain"), full(2, "create_ban", "2001:db8::7"), full(3, "x", "192.0.2.7"));
    for entry in [&first, &second, &third] {
        held.assert_outcome(record(entry), Outcome::Done);
    }
    held.assert_outcome(record(&entry(1, "another")), Outcome::Duplicate);
    check(&mut held, &all(), &[&third, &second, &first]);
}

pub(crate) fn entries_are_filtered_and_read_in_pages(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let entries = [entry(1, "drain"), full(2, "lift_ban", "::1"), entry(3, "lift_ban"), full(4, "drain", "::1")];
    entries.iter().for_each(|entry| held.assert_outcome(record(entry), Outcome::Done));
    let [one, two, three, four] = &entries;
    let (account, action) = (Some(account_id(1)), |name: &str| Some(name.to_owned()));
    let (target, time) = (two.target.clone(), |ms| Some(at(ms)));
    check(&mut held, &AuditFilter { account, ..all() }, &[four, two]);
    check(&mut held, &AuditFilter { account: Some(account_id(2)), ..all() }, &[]);
    check(&mut held, &AuditFilter { action: action("drain"), ..all() }, &[four, one]);
    check(&mut held, &AuditFilter { target: target.clone(), ..all() }, &[four, two]);
    check(&mut held, &AuditFilter { account, action: action("lift_ban"), target, ..all() }, &[two]);
    check(&mut held, &AuditFilter { from: time(2), until: time(4), ..all() }, &[three, two]);
    check(&mut held, &AuditFilter { from: time(4), until: time(2), ..all() }, &[]);
    check(
        &mut held,
        &AuditFilter { from: Some(UnixMs(i64::MIN)), until: Some(UnixMs(i64::MAX)), ..all() },
        &[four, three, two, one],
    );
    check(&mut held, &AuditFilter { limit: 3, ..all() }, &[four, three, two]);
    check(&mut held, &AuditFilter { before: Some(two.id), ..all() }, &[one]);
    check(&mut held, &AuditFilter { before: Some(four.id), until: time(3), ..all() }, &[two, one]);
    check(&mut held, &AuditFilter { limit: 0, ..all() }, &[]);
}

pub(crate) fn a_change_and_its_entry_are_one_commit(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let ban = Ban {
        id: BanId(1),
        target: BanTarget::Account(account_id(1)),
        reason: "x".to_owned(),
        made_by: None,
        made_by_role: None,
        created_at: at(0),
        expires_at: None,
    };
    let create = Command::Ban(BanCommand::Create(ban));
    let lift = |n| Command::Ban(BanCommand::Lift { id: BanId(n), now: at(1) });
    let if_done = |ms, action: &str| Command::Audit(AuditCommand::RecordIfDone(entry(ms, action)));
    let ensure = Command::EnsureAccount(account(7));
    let outcomes = held.commit(&[create.clone(), if_done(1, "made"), create, if_done(2, "made")]);
    assert_eq!(outcomes, [Outcome::Done, Outcome::Done, Outcome::Duplicate, Outcome::NotFound]);
    let outcomes = held.commit(&[lift(2), if_done(3, "lifted"), lift(1), if_done(4, "lifted")]);
    assert_eq!(outcomes, [Outcome::NotFound, Outcome::NotFound, Outcome::Done, Outcome::Done]);
    let outcomes = held.commit(&[ensure, if_done(5, "account")]);
    assert_eq!(outcomes, [Outcome::Account(account_id(7)), Outcome::Done]);
    // Nothing was done in this batch that it could be about.
    held.assert_outcome(if_done(6, "nothing"), Outcome::NotFound);
    check(&mut held, &all(), &[&entry(5, "account"), &entry(4, "lifted"), &entry(1, "made")]);
}

pub(crate) fn entries_are_retired_oldest_first(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let entries: Vec<AuditEntry> = (1..=5).map(|ms| entry(ms, "drain")).collect();
    entries.iter().for_each(|entry| held.assert_outcome(record(entry), Outcome::Done));
    let retire = |ms, max| Command::Audit(AuditCommand::Retire { before: AuditId::first_of(UnixMs(T0.0 + ms)), max });
    held.assert_outcome(retire(4, 2), Outcome::Retired(2));
    check(&mut held, &all(), &[&entries[4], &entries[3], &entries[2]]);
    held.assert_outcome(retire(4, 2), Outcome::Retired(1));
    held.assert_outcome(retire(4, 2), Outcome::Retired(0));
    check(&mut held, &all(), &[&entries[4], &entries[3]]);
}

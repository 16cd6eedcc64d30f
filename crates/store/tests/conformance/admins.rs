//! The last admin stays: of whatever takes an admin's power, what would leave none that lasts is refused, also where several come at once.

use crate::codes::{code, redeem};
use crate::deletions::{ANN, ban_of, delete, token_of, with_ann};
use crate::fixtures::*;
use engine::commands::{BanCommand, CodeCommand, Command, Outcome};
use engine::ids::{AccountId, BanId};
use engine::rows::{Account, BanTarget, CodeUse, OneTimeCode, Role, Token};
use std::sync::Barrier;
use store::{Backend, Database};

fn delete_token(n: u128, ms: i64) -> Command {
    Command::DeleteToken { id: token_id(n), account: None, now: at(ms) }
}

/// All ways by which this account, whose token this is, loses an admin's power.
fn ways(n: u128, id: AccountId) -> [Command; 4] {
    let ban = |target| ban_of(n, target, None);
    [delete(id, 5), delete_token(n, 5), ban(BanTarget::Account(id)), ban(BanTarget::Disabled(id))]
}

pub(crate) fn the_last_admin_stays(database: &dyn Database) {
    let mut held = with_ann(database);
    let refuse = |held: &mut StoreFixture, why: &str| {
        for way in ways(1, ANN) {
            assert_eq!(held.commit_one(way.clone()), Outcome::LastAdmin, "{why}: {way:?}");
        }
    };
    held.assert_outcome(token_of(1, ANN, Role::Admin, None), Outcome::Done);
    held.assert_outcome(token_of(2, account_id(1), Role::Operator, None), Outcome::Done);
    refuse(&mut held, "an operator is none");
    held.assert_outcome(token_of(3, account_id(1), Role::Admin, Some(at(99_999))), Outcome::Done);
    let session = Token { is_session: true, ..token(4, 1) };
    let session = Token { role: Role::Admin, expires_at: Some(at(99_999)), ..session };
    held.assert_outcome(Command::CreateToken(session), Outcome::Done);
    refuse(&mut held, "tokens that end do not last");
    // They end whatever is done, so they may be deleted, and so may a token of another role.
    for n in [2, 3] {
        held.assert_outcome(delete_token(n, 5), Outcome::Done);
    }
    held.assert_outcome(token_of(5, account_id(1), Role::Admin, None), Outcome::Done);
    for target in [BanTarget::Account(account_id(1)), BanTarget::Disabled(account_id(1))] {
        held.assert_outcome(ban_of(9, target, Some(6)), Outcome::Done);
        refuse(&mut held, "one that is shut out is none");
        held.assert_outcome(Command::Ban(BanCommand::Lift { id: BanId(9), now: at(5) }), Outcome::Done);
    }
    held.assert_outcome(delete_token(1, 5), Outcome::Done);
    // An admin by a session alone is the last one, too, but its session may end.
    held.assert_outcome(token_of(1, account_id(1), Role::Admin, Some(at(9))), Outcome::Done);
    held.assert_outcome(token_of(6, ANN, Role::Admin, None), Outcome::Done);
    held.assert_outcome(delete_token(5, 5), Outcome::Done);
    let Outcome::AccountDeleted(_) = held.commit_one(delete(account_id(1), 5)) else { panic!("it is not deleted") };
    held.assert_outcome(delete(ANN, 5), Outcome::LastAdmin);
}

/// Where no token lasts, an account with an admin's session is kept all the same.
pub(crate) fn an_admin_by_a_session_is_kept(database: &dyn Database) {
    let mut held = with_ann(database);
    held.assert_outcome(token_of(1, ANN, Role::Admin, Some(at(6))), Outcome::Done);
    let [delete, delete_token, ban, disable] = ways(1, ANN);
    for way in [delete, ban, disable] {
        held.assert_outcome(way, Outcome::LastAdmin);
    }
    held.assert_outcome(delete_token, Outcome::Done);
    // Where no account is an admin any more, none is the last.
    held.assert_outcome(ban_of(1, BanTarget::Account(ANN), None), Outcome::Done);
}

/// What two writers are answered who come at once.
fn at_once(writers: &mut [Box<dyn Backend>; 2], commands: [Command; 2]) -> [Outcome; 2] {
    let (together, [first, second]) = (Barrier::new(2), writers);
    let [one, other] = commands;
    let commit = |writer: &mut Box<dyn Backend>, command| {
        together.wait();
        writer.commit(&[command]).unwrap().remove(0)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| commit(second, other));
        [commit(first, one), other.join().unwrap()]
    })
}

/// Two admins who remove each other: one of them stays, in whichever ways they do it.
pub(crate) fn of_two_admins_who_remove_each_other_one_stays(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let mut writers = [database.writer().unwrap(), database.writer().unwrap()];
    let (mut number, mut before) = (0x9_0000, None);
    for (one, other) in (0..4).flat_map(|one| (0..4).map(move |other| (one, other))) {
        let admins = [number, number + 1];
        number += 2;
        for n in admins {
            let account = Account { id: AccountId(n), name: format!("admin {n}"), created_at: at(1) };
            held.assert_outcome(Command::EnsureAccount(account), Outcome::Account(AccountId(n)));
            held.assert_outcome(token_of(n, AccountId(n), Role::Admin, None), Outcome::Done);
        }
        // That of the round before is shut out.
        if let Some(n) = before {
            let target = BanTarget::Disabled(AccountId(n));
            held.assert_outcome(ban_of(0x1000 + n, target, None), Outcome::Done);
        }
        let commands =
            [ways(admins[0], AccountId(admins[0]))[one].clone(), ways(admins[1], AccountId(admins[1]))[other].clone()];
        let outcomes = at_once(&mut writers, commands);
        let refused: Vec<_> = (0..2).filter(|at| outcomes[*at] == Outcome::LastAdmin).collect();
        let [kept] = refused[..] else { panic!("ways {one} and {other}: {outcomes:?}") };
        before = Some(admins[kept]);
    }
}

/// An account that takes the name of a banned one in the moment of its deletion does not get it.
pub(crate) fn a_held_name_is_taken_in_no_moment(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let mut writers = [database.writer().unwrap(), database.writer().unwrap()];
    for round in 1..=20_u128 {
        let old = Account { id: AccountId(0x8_0000 + round), name: format!("name {round}"), created_at: at(1) };
        let new = Account { id: AccountId(0x8_8000 + round), ..old.clone() };
        held.assert_outcome(Command::EnsureAccount(old.clone()), Outcome::Account(old.id));
        held.assert_outcome(ban_of(round, BanTarget::Account(old.id), None), Outcome::Done);
        let invite = OneTimeCode { used_for: CodeUse::Invite { name: None }, made_by: None, ..code(round, None, 0) };
        held.assert_outcome(Command::Code(CodeCommand::Create(invite)), Outcome::Done);
        let Command::Code(CodeCommand::Redeem(mut wanted)) = redeem(round, Some(1), round, at(1)) else {
            panic!("it redeems no code")
        };
        wanted.new_account = Some(new.clone());
        let takes =
            if round % 2 == 0 { Command::EnsureAccount(new) } else { Command::Code(CodeCommand::Redeem(wanted)) };
        let [deleted, taken] = at_once(&mut writers, [delete(old.id, 5), takes]);
        assert_eq!(deleted, Outcome::AccountDeleted(Vec::new()));
        assert!(taken == Outcome::Duplicate || taken == Outcome::Account(old.id), "round {round}: {taken:?}");
    }
}

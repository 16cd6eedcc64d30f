//! One-time codes: invitations and sign-in links, and the sessions that they open.

use crate::fixtures::*;
use engine::commands::{CodeCommand, Command, NewSession, Outcome, RedeemCode, SignedIn};
use engine::ids::{CodeId, TokenId};
use engine::limits::{INVITES_MAX, SIGN_IN_LINKS_PER_ACCOUNT_MAX, TOKENS_PER_ACCOUNT_MAX};
use engine::rows::{Account, CodeUse, OneTimeCode, Role, SignedCode, Token, TokenPurpose};
use engine::time::UnixMs;
use store::Database;

/// How long the codes of these tests are valid.
const LIFETIME_MS: i64 = 1_000;

pub(crate) fn code_id(n: u128) -> CodeId {
    CodeId(0xf000 + n)
}

fn digest_of(n: u128) -> [u8; 32] {
    let mut digest = [0xc0; 32];
    digest[..16].copy_from_slice(&n.to_be_bytes());
    digest
}

/// Made at `at(ms)`: an invitation, or a sign-in link of this account.
pub(crate) fn code(n: u128, account: Option<u128>, ms: i64) -> OneTimeCode {
    let name = n.is_multiple_of(2).then(|| format!("suggested-{n}"));
    OneTimeCode {
        id: code_id(n),
        used_for: account.map_or(CodeUse::Invite { name }, |n| CodeUse::SignIn { account: account_id(n) }),
        role: Role::ALL[n as usize % Role::ALL.len()],
        digest: digest_of(n),
        made_by: (n % 3 != 2).then(|| account_id(n % 3)),
        created_at: at(ms),
        expires_at: at(ms + LIFETIME_MS),
    }
}

pub(crate) fn create_code(n: u128, account: Option<u128>, ms: i64) -> Command {
    Command::Code(CodeCommand::Create(code(n, account, ms)))
}

fn session_token(n: u128) -> TokenId {
    TokenId(0xe_f000 + n)
}

/// Opens session `session` with code `n`, for new account `new_account` or that of the code.
pub(crate) fn redeem(n: u128, new_account: Option<u128>, session: u128, now: UnixMs) -> Command {
    let session = NewSession {
        token: session_token(session),
        name: "browser".to_owned(),
        digest: digest_of(0xe_f000 + session),
        expires_at: UnixMs(now.0 + 50),
    };
    Command::Code(CodeCommand::Redeem(RedeemCode {
        digest: digest_of(n),
        new_account: new_account.map(account),
        session,
        now,
    }))
}

/// What a session's token is.
fn session(n: u128, of: u128, role: Role, now: UnixMs) -> Token {
    Token {
        id: session_token(n),
        account: account_id(of),
        name: "browser".to_owned(),
        role,
        purpose: TokenPurpose::Use,
        digest: digest_of(0xe_f000 + n),
        created_at: now,
        last_used_at: None,
        expires_at: Some(UnixMs(now.0 + 50)),
        is_session: true,
    }
}

fn signed_in(account: u128, code: u128) -> Outcome {
    Outcome::SignedIn(SignedIn { account: account_id(account), code: code_id(code) })
}

fn withdraw(n: u128, ms: i64) -> Command {
    Command::Code(CodeCommand::WithdrawInvite { id: code_id(n), now: at(ms) })
}

fn retire(ms: i64, max: usize) -> Command {
    Command::Code(CodeCommand::RetireExpired { now: at(ms), max })
}

pub(crate) fn an_invitation_makes_one_account(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create_code(1, None, 0), Outcome::Done);
    held.assert_outcome(create_code(1, None, 0), Outcome::Duplicate);
    assert_eq!(held.reader.one_time_code(&digest_of(1), at(999)), Ok(Some(code(1, None, 0))));
    held.assert_outcome(redeem(2, Some(2), 1, at(1)), Outcome::NotFound);
    held.assert_outcome(redeem(1, None, 1, at(1)), Outcome::NotFound);
    held.assert_outcome(redeem(1, Some(1), 1, at(1)), Outcome::Duplicate);
    let taken = Account { name: "account-1".to_owned(), ..account(2) };
    let Command::Code(CodeCommand::Redeem(wanted)) = redeem(1, Some(2), 1, at(1)) else { unreachable!() };
    let wanted = Command::Code(CodeCommand::Redeem(RedeemCode { new_account: Some(taken), ..wanted }));
    held.assert_outcome(wanted, Outcome::Duplicate);
    assert_eq!(held.reader.account(account_id(2)), Ok(None), "nothing was made");
    held.assert_outcome(redeem(1, Some(2), 1, at(2)), signed_in(2, 1));
    assert_eq!(held.reader.account(account_id(2)), Ok(Some(account(2))));
    let opened = session(1, 2, code(1, None, 0).role, at(2));
    assert_eq!(held.reader.token(&opened.digest), Ok(Some(opened.clone())));
    assert_eq!(held.reader.tokens(account_id(2)), Ok(vec![opened]));
    held.assert_outcome(redeem(1, Some(3), 2, at(3)), Outcome::NotFound);
    assert_eq!(held.reader.account(account_id(3)), Ok(None));
    assert_eq!(held.reader.one_time_code(&digest_of(1), at(3)), Ok(None));
}

pub(crate) fn a_sign_in_link_opens_one_session(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create_code(1, Some(7), 0), Outcome::NotFound);
    held.assert_outcome(create_code(1, Some(1), 0), Outcome::Done);
    assert_eq!(held.reader.one_time_code(&digest_of(1), at(0)), Ok(Some(code(1, Some(1), 0))));
    held.assert_outcome(redeem(1, Some(2), 1, at(1)), Outcome::NotFound);
    held.assert_outcome(redeem(1, None, 1, at(2)), signed_in(1, 1));
    held.assert_outcome(redeem(1, None, 2, at(3)), Outcome::NotFound);
    assert_eq!(held.reader.tokens(account_id(1)), Ok(vec![session(1, 1, code(1, None, 0).role, at(2))]));
}

pub(crate) fn codes_expire(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    for (n, of) in [(1, None), (2, Some(1))] {
        held.assert_outcome(create_code(n, of, 0), Outcome::Done);
        assert_eq!(held.reader.one_time_code(&digest_of(n), at(LIFETIME_MS - 1)), Ok(Some(code(n, of, 0))));
        assert_eq!(held.reader.one_time_code(&digest_of(n), at(LIFETIME_MS)), Ok(None));
    }
    held.assert_outcome(redeem(1, Some(2), 1, at(LIFETIME_MS)), Outcome::NotFound);
    held.assert_outcome(redeem(2, None, 1, at(LIFETIME_MS)), Outcome::NotFound);
    held.assert_outcome(withdraw(1, LIFETIME_MS), Outcome::NotFound);
    assert_eq!(held.reader.invites(None, 9, at(LIFETIME_MS)), Ok(vec![]));
    held.assert_outcome(redeem(1, Some(2), 1, at(LIFETIME_MS - 1)), signed_in(2, 1));
}

pub(crate) fn invitations_are_listed_and_withdrawn(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    for (n, of) in [(1, None), (2, Some(1)), (3, None), (4, None)] {
        held.assert_outcome(create_code(n, of, n as i64), Outcome::Done);
    }
    let listed = |n: u128| {
        let code = code(n, None, n as i64);
        // Of account 0 there is none.
        SignedCode { made_by_name: (n % 3 == 1).then(|| "account-1".to_owned()), code }
    };
    assert_eq!(held.reader.invites(None, 9, at(9)), Ok(vec![listed(4), listed(3), listed(1)]), "newest first");
    assert_eq!(held.reader.invites(Some(code_id(4)), 1, at(9)), Ok(vec![listed(3)]));
    held.assert_outcome(withdraw(2, 9), Outcome::NotFound);
    held.assert_outcome(withdraw(3, 9), Outcome::Done);
    held.assert_outcome(withdraw(3, 9), Outcome::NotFound);
    held.assert_outcome(redeem(3, Some(2), 1, at(9)), Outcome::NotFound);
    assert_eq!(held.reader.invites(None, 9, at(9)), Ok(vec![listed(4), listed(1)]));
}

pub(crate) fn codes_are_bounded(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::EnsureAccount(account(2)), Outcome::Account(account_id(2)));
    let (links, invites) = (SIGN_IN_LINKS_PER_ACCOUNT_MAX as u128, INVITES_MAX as u128);
    for (first, of, max) in [(0, Some(1), links), (100, Some(2), links), (1_000, None, invites)] {
        let commands: Vec<_> = (first..=first + max).map(|n| create_code(n, of, 0)).collect();
        let outcomes = held.commit(&commands);
        assert!(outcomes[..max as usize].iter().all(|outcome| *outcome == Outcome::Done), "{of:?}");
        assert_eq!(outcomes[max as usize], Outcome::LimitReached, "{of:?}");
    }
    // What has expired does not count.
    held.assert_outcome(create_code(90, Some(1), LIFETIME_MS), Outcome::Done);
    held.assert_outcome(create_code(9_000, None, LIFETIME_MS - 1), Outcome::LimitReached);
    held.assert_outcome(create_code(9_000, None, LIFETIME_MS), Outcome::Done);
}

pub(crate) fn a_session_makes_room_for_the_next(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let max = TOKENS_PER_ACCOUNT_MAX as u128;
    held.assert_outcome(create_code(1, Some(1), 0), Outcome::Done);
    let tokens: Vec<_> = (0..max).map(|n| Command::CreateToken(token(n, 1))).collect();
    held.commit(&tokens);
    held.assert_outcome(redeem(1, None, 1, at(1)), Outcome::LimitReached);
    assert!(held.reader.one_time_code(&digest_of(1), at(1)).unwrap().is_some(), "it is not used up");
    let delete = |n| Command::DeleteToken { id: token_id(n), account: None, now: at(1) };
    held.assert_outcome(delete(0), Outcome::Done);
    // One that ends by itself makes no room.
    let ending = Token { expires_at: Some(at(99)), ..token(0, 1) };
    held.assert_outcome(Command::CreateToken(ending.clone()), Outcome::Done);
    held.assert_outcome(create_code(2, Some(1), 0), Outcome::Done);
    held.assert_outcome(redeem(2, None, 2, at(1)), Outcome::LimitReached);
    held.assert_outcome(delete(0), Outcome::Done);
    // A guest's, a player's, an operator's.
    for n in 4..7 {
        held.assert_outcome(create_code(n, Some(1), 0), Outcome::Done);
        held.assert_outcome(redeem(n, None, n, at(n as i64)), signed_in(1, n));
    }
    // A player's ends none that may do more.
    held.assert_outcome(create_code(9, Some(1), 0), Outcome::Done);
    held.assert_outcome(redeem(9, None, 9, at(7)), Outcome::LimitReached);
    let tokens = held.reader.tokens(account_id(1)).unwrap();
    assert_eq!(tokens.len(), max as usize);
    let sessions: Vec<_> = tokens.iter().filter(|token| token.expires_at.is_some()).map(|token| token.id).collect();
    assert_eq!(sessions, [session_token(6)], "the oldest session went");
}

pub(crate) fn signing_out_ends_sessions_only(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::CreateToken(token(1, 1)), Outcome::Done);
    held.assert_outcome(create_code(1, Some(1), 0), Outcome::Done);
    held.assert_outcome(redeem(1, None, 1, at(1)), signed_in(1, 1));
    let end = |token| Command::Code(CodeCommand::EndSession { token });
    held.assert_outcome(end(token_id(1)), Outcome::NotFound);
    // An end of its own makes no session of a token.
    let ending = Token { expires_at: Some(at(99)), ..token(2, 1) };
    held.assert_outcome(Command::CreateToken(ending.clone()), Outcome::Done);
    assert_eq!(held.reader.token(&ending.digest), Ok(Some(ending.clone())));
    held.assert_outcome(end(ending.id), Outcome::NotFound);
    held.assert_outcome(Command::DeleteToken { id: ending.id, account: None, now: at(1) }, Outcome::Done);
    held.assert_outcome(create_code(2, Some(1), 0), Outcome::Done);
    held.assert_outcome(end(session_token(1)), Outcome::Done);
    held.assert_outcome(end(session_token(1)), Outcome::NotFound);
    assert_eq!(held.reader.tokens(account_id(1)), Ok(vec![token(1, 1)]));
    assert!(held.reader.one_time_code(&digest_of(2), at(1)).unwrap().is_some(), "a link for another device stays");
}

/// A client that had the token may have made links with it.
pub(crate) fn deleting_a_token_ends_the_links_of_its_account(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::EnsureAccount(account(2)), Outcome::Account(account_id(2)));
    held.assert_outcome(Command::CreateToken(token(1, 1)), Outcome::Done);
    for (n, of) in [(1, Some(1)), (2, Some(2)), (3, None)] {
        held.assert_outcome(create_code(n, of, 0), Outcome::Done);
    }
    held.assert_outcome(
        Command::DeleteToken { id: token_id(1), account: Some(account_id(2)), now: at(1) },
        Outcome::NotFound,
    );
    assert!(held.reader.one_time_code(&digest_of(1), at(1)).unwrap().is_some());
    held.assert_outcome(
        Command::DeleteToken { id: token_id(1), account: Some(account_id(1)), now: at(1) },
        Outcome::Done,
    );
    let live: Vec<_> =
        [1, 2, 3].into_iter().filter(|n| held.reader.one_time_code(&digest_of(*n), at(1)).unwrap().is_some()).collect();
    assert_eq!(live, [2, 3]);
}

pub(crate) fn what_has_expired_is_deleted_in_portions(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::CreateToken(token(1, 1)), Outcome::Done);
    for n in 1..=3 {
        held.assert_outcome(create_code(n, None, n as i64), Outcome::Done);
    }
    for n in 4..=5 {
        held.assert_outcome(create_code(n, Some(1), 900), Outcome::Done);
    }
    // A session of these tests lasts 50 ms.
    held.assert_outcome(redeem(4, None, 1, at(901)), signed_in(1, 4));
    held.assert_outcome(retire(950, 9), Outcome::Retired(0));
    held.assert_outcome(retire(951, 9), Outcome::Retired(1));
    assert_eq!(held.reader.existing_tokens(&[session_token(1), token_id(1)]), Ok(vec![token_id(1)]));
    held.assert_outcome(retire(2 + LIFETIME_MS, 1), Outcome::Retired(1));
    held.assert_outcome(retire(2 + LIFETIME_MS, 1), Outcome::Retired(1));
    held.assert_outcome(retire(2 + LIFETIME_MS, 1), Outcome::Retired(0));
    let live: Vec<_> =
        (1..=5).filter(|n| held.reader.one_time_code(&digest_of(*n), at(0)).unwrap().is_some()).collect();
    assert_eq!(live, [3, 5]);
}

/// Two processes on one database, each with its own connection.
pub(crate) fn of_two_redeemers_one_wins(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let (mut first, mut second) = (database.writer().unwrap(), database.writer().unwrap());
    for round in 1..=10_u128 {
        for (n, of) in [(10 * round, None), (10 * round + 1, Some(1))] {
            held.assert_outcome(create_code(n, of, 0), Outcome::Done);
            let commands = [0, 1].map(|who| redeem(n, of.is_none().then_some(100 + 2 * n + who), 2 * n + who, at(1)));
            let outcomes = std::thread::scope(|scope| {
                let other = scope.spawn(|| second.commit(&commands[1..]).unwrap().remove(0));
                [first.commit(&commands[..1]).unwrap().remove(0), other.join().unwrap()]
            });
            let won = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::SignedIn(_))).count();
            assert_eq!(won, 1, "{outcomes:?}");
            assert!(outcomes.contains(&Outcome::NotFound), "{outcomes:?}");
            let made = [0, 1].map(|who| held.reader.account(account_id(100 + 2 * n + who)).unwrap().is_some());
            assert_eq!(made.iter().filter(|made| **made).count(), usize::from(of.is_none()));
        }
    }
}

/// Of two invitations that are redeemed at once with one name, one is not used up.
pub(crate) fn a_name_is_taken_once(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let (mut first, mut second) = (database.writer().unwrap(), database.writer().unwrap());
    for round in 1..=10_u128 {
        let codes = [2 * round, 2 * round + 1];
        let commands = codes.map(|n| {
            held.assert_outcome(create_code(n, None, 0), Outcome::Done);
            let Command::Code(CodeCommand::Redeem(wanted)) = redeem(n, Some(100 + n), n, at(1)) else { unreachable!() };
            let new_account = Some(Account { name: format!("wanted-{round}"), ..account(100 + n) });
            Command::Code(CodeCommand::Redeem(RedeemCode { new_account, ..wanted }))
        });
        let outcomes = std::thread::scope(|scope| {
            let other = scope.spawn(|| second.commit(&commands[1..]).unwrap().remove(0));
            [first.commit(&commands[..1]).unwrap().remove(0), other.join().unwrap()]
        });
        let lost = outcomes.iter().position(|outcome| *outcome == Outcome::Duplicate).expect("one is told");
        assert!(matches!(outcomes[1 - lost], Outcome::SignedIn(_)), "{outcomes:?}");
        held.assert_outcome(
            redeem(codes[lost], Some(200 + codes[lost]), 500 + codes[lost], at(1)),
            signed_in(200 + codes[lost], codes[lost]),
        );
    }
}

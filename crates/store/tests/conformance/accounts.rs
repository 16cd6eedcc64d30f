//! Accounts, tokens, bots.

use crate::fixtures::*;
use engine::commands::{Command, Outcome};
use engine::limits::{BOTS_PER_ACCOUNT_MAX, TOKENS_PER_ACCOUNT_MAX};
use engine::rows::{Account, AccountCounts, Bot, OwnedBot, Token};
use store::{AccountFilter, BotFilter, Database};

pub(crate) fn an_account_is_made_once(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let again = Account { id: account_id(9), ..account(1) };
    held.assert_outcome(Command::EnsureAccount(again), Outcome::Account(account_id(1)));
    let other_name = Account { name: "other".to_owned(), ..account(1) };
    held.assert_outcome(Command::EnsureAccount(other_name), Outcome::Duplicate);
    assert_eq!(held.reader.account_named("account-1"), Ok(Some(account(1))));
    assert_eq!(held.reader.account_named("other"), Ok(None));
    assert_eq!(held.reader.account(account_id(1)), Ok(Some(account(1))));
    assert_eq!(held.reader.account(account_id(9)), Ok(None));
}

pub(crate) fn tokens_are_found_by_digest_only(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::CreateToken(token(1, 7)), Outcome::NotFound);
    held.assert_outcome(Command::CreateToken(token(1, 1)), Outcome::Done);
    held.assert_outcome(Command::CreateToken(token(1, 1)), Outcome::Duplicate);
    held.assert_outcome(Command::CreateToken(token(2, 1)), Outcome::Done);
    assert_eq!(held.reader.token(&token(1, 1).digest), Ok(Some(token(1, 1))));
    assert_eq!(held.reader.token(&[0; 32]), Ok(None));
    assert_eq!(held.reader.tokens(account_id(1)), Ok(vec![token(2, 1), token(1, 1)]), "newest first");
    let mut existing = held.reader.existing_tokens(&[1, 2, 3].map(token_id)).unwrap();
    existing.sort_unstable();
    assert_eq!(existing, [1, 2].map(token_id));
    let delete = |account| Command::DeleteToken { id: token_id(1), account, now: at(1) };
    held.assert_outcome(delete(Some(account_id(2))), Outcome::NotFound);
    held.assert_outcome(delete(Some(account_id(1))), Outcome::Done);
    held.assert_outcome(delete(None), Outcome::NotFound);
    assert_eq!(held.reader.existing_tokens(&[1, 2].map(token_id)), Ok(vec![token_id(2)]));
    assert_eq!(held.reader.existing_tokens(&[]), Ok(vec![]));
    held.assert_outcome(Command::DeleteToken { id: token_id(2), account: None, now: at(1) }, Outcome::Done);
    assert_eq!(held.reader.tokens(account_id(1)), Ok(vec![]));
}

pub(crate) fn tokens_are_bounded(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let max = TOKENS_PER_ACCOUNT_MAX as u128;
    let commands: Vec<_> = (0..=max).map(|n| Command::CreateToken(token(n, 1))).collect();
    let outcomes = held.commit(&commands);
    assert!(outcomes[..max as usize].iter().all(|outcome| *outcome == Outcome::Done));
    assert_eq!(outcomes[max as usize], Outcome::LimitReached);
    held.assert_outcome(Command::DeleteToken { id: token_id(0), account: None, now: at(1) }, Outcome::Done);
    held.assert_outcome(Command::CreateToken(token(max, 1)), Outcome::Done);
}

pub(crate) fn bots_have_one_name_each(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::EnsureAccount(account(2)), Outcome::Account(account_id(2)));
    held.assert_outcome(Command::CreateBot(bot(1, 7)), Outcome::NotFound);
    held.assert_outcome(Command::CreateBot(bot(1, 1)), Outcome::Done);
    held.assert_outcome(Command::CreateBot(bot(1, 1)), Outcome::Duplicate);
    held.assert_outcome(Command::CreateBot(Bot { name: "bot-1".to_owned(), ..bot(2, 1) }), Outcome::Duplicate);
    held.assert_outcome(Command::CreateBot(Bot { name: "bot-1".to_owned(), ..bot(3, 2) }), Outcome::Done);
    held.assert_outcome(Command::CreateBot(bot(4, 1)), Outcome::Done);
    held.assert_outcome(Command::UpdateBot(Bot { name: "bot-1".to_owned(), ..bot(4, 1) }), Outcome::Duplicate);
    let changed = Bot {
        name: "renamed".to_owned(),
        url: "http://elsewhere".to_owned(),
        is_public: true,
        updated_at: at(99),
        ..bot(4, 1)
    };
    held.assert_outcome(Command::UpdateBot(Bot { created_at: at(98), ..changed.clone() }), Outcome::Done);
    assert_eq!(held.reader.bots_by_id(&[bot_id(4)]), Ok(vec![changed.clone()]), "all but its age can change");
    held.assert_outcome(Command::UpdateBot(changed), Outcome::Done);
}

pub(crate) fn bots_belong_to_their_account(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::CreateBot(bot(1, 1)), Outcome::Done);
    held.assert_outcome(Command::UpdateBot(bot(1, 2)), Outcome::NotFound);
    held.assert_outcome(Command::DeleteBot { id: bot_id(1), account: account_id(2) }, Outcome::NotFound);
    held.assert_outcome(Command::CreateToken(token(1, 1)), Outcome::Done);
    assert_eq!(held.reader.account_counts(account_id(1)), Ok(AccountCounts { bots: 1, tokens: 1 }));
    assert_eq!(held.reader.account_counts(account_id(2)), Ok(AccountCounts::default()));
    held.assert_outcome(Command::DeleteBot { id: bot_id(1), account: account_id(1) }, Outcome::Done);
    assert_eq!(held.reader.account_counts(account_id(1)), Ok(AccountCounts { bots: 0, tokens: 1 }));
    held.assert_outcome(Command::DeleteBot { id: bot_id(1), account: account_id(1) }, Outcome::NotFound);
    held.assert_outcome(Command::UpdateBot(bot(1, 1)), Outcome::NotFound);
    assert_eq!(held.reader.bots_by_id(&[bot_id(1)]), Ok(vec![]));
}

pub(crate) fn accounts_are_listed_by_their_names(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    for (n, name) in [(2, "bob"), (3, "bobby"), (4, "Bob"), (5, "bo_"), (6, "bo%"), (7, "böb"), (8, "bob!"), (9, "🐍")]
    {
        let named = Account { name: name.to_owned(), ..account(n) };
        held.assert_outcome(Command::EnsureAccount(named), Outcome::Account(account_id(n)));
    }
    held.assert_outcome(Command::CreateToken(token(1, 2)), Outcome::Done);
    held.assert_outcome(Command::CreateToken(token(2, 2)), Outcome::Done);
    held.assert_outcome(Command::CreateBot(bot(1, 2)), Outcome::Done);
    let mut check = |name_prefix: &str, after: Option<u128>, limit: usize, want: &[u128]| {
        let name_prefix = name_prefix.to_owned();
        let filter = AccountFilter { name_prefix, after: after.map(account_id), limit };
        let found = held.reader.accounts(&filter).unwrap();
        let ids: Vec<u128> = found.iter().map(|found| found.account.id.0 - account_id(0).0).collect();
        assert_eq!(ids, want, "{filter:?}");
        found
    };
    check("", None, 99, &[4, 1, 6, 5, 2, 8, 3, 7, 9]);
    check("", None, 3, &[4, 1, 6]);
    check("", Some(6), 3, &[5, 2, 8]);
    check("", Some(9), 3, &[]);
    check("bob", None, 9, &[2, 8, 3]);
    check("bob", Some(2), 9, &[8, 3]);
    check("bob", Some(4), 9, &[2, 8, 3]);
    check("bob", Some(9), 9, &[]);
    check("bo%", None, 9, &[6]);
    check("b", None, 0, &[]);
    check("bobbyx", None, 9, &[]);
    check("🐍", None, 9, &[9]);
    check("", Some(77), 9, &[]);
    let counts: Vec<AccountCounts> = check("bob", None, 2, &[2, 8]).iter().map(|found| found.counts).collect();
    assert_eq!(counts, [AccountCounts { bots: 1, tokens: 2 }, AccountCounts::default()]);
}

pub(crate) fn bots_are_bounded(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let max = BOTS_PER_ACCOUNT_MAX as u128;
    // A store that keeps maps looks through all of them: the limit is reached in one batch, and only once.
    let commands: Vec<_> = (0..=max).map(|n| Command::CreateBot(bot(n, 1))).collect();
    let outcomes = held.commit(&commands);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Outcome::Done).count(), max as usize);
    assert_eq!(outcomes[max as usize], Outcome::LimitReached);
    let page = BotFilter { account: account_id(1), before: Some(bot_id(3)), limit: 2 };
    assert_eq!(held.reader.bots(&page), Ok(vec![bot(2, 1), bot(1, 1)]));
    let newest = BotFilter { account: account_id(1), before: None, limit: 1 };
    assert_eq!(held.reader.bots(&newest), Ok(vec![bot(max - 1, 1)]));
}

pub(crate) fn bots_come_with_their_owners(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::EnsureAccount(account(2)), Outcome::Account(account_id(2)));
    for (n, owner) in [(1, 1), (2, 2), (3, 1)] {
        held.assert_outcome(Command::CreateBot(bot(n, owner)), Outcome::Done);
    }
    let mut found = held.reader.bots_with_owners(&[3, 2, 9, 2].map(bot_id)).unwrap();
    found.sort_by_key(|owned| owned.bot.id);
    let want = [(2, 2), (3, 1)].map(|(n, of)| OwnedBot { bot: bot(n, of), owner: format!("account-{of}") });
    assert_eq!(found, want);
    assert_eq!(held.reader.bots_with_owners(&[]), Ok(vec![]));
}

pub(crate) fn public_bots_of_all_accounts_are_listed(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::EnsureAccount(account(2)), Outcome::Account(account_id(2)));
    for (n, owner, is_public) in [(1, 1, true), (2, 2, true), (3, 1, false), (4, 1, true)] {
        held.assert_outcome(Command::CreateBot(Bot { is_public, ..bot(n, owner) }), Outcome::Done);
    }
    let mut listed = |before: Option<u128>, limit: usize| {
        let bots = held.reader.public_bots(before.map(bot_id), limit).unwrap();
        bots.into_iter().map(|owned| (owned.bot.id, owned.owner)).collect::<Vec<_>>()
    };
    let row = |n: u128, of: u128| (bot_id(n), format!("account-{of}"));
    assert_eq!(listed(None, 9), [row(4, 1), row(2, 2), row(1, 1)]);
    assert_eq!(listed(None, 1), [row(4, 1)]);
    assert_eq!(listed(Some(4), 1), [row(2, 2)]);
    assert_eq!(listed(Some(1), 9), []);
    held.assert_outcome(Command::UpdateBot(Bot { is_public: false, ..bot(4, 1) }), Outcome::Done);
    let now = held.reader.public_bots(None, 9).unwrap();
    assert_eq!(now.len(), 2, "{now:?}");
}

pub(crate) fn uses_of_tokens_only_go_forward(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    for n in [1, 2, 3] {
        held.assert_outcome(Command::CreateToken(token(n, 1)), Outcome::Done);
    }
    let uses = |uses: &[(u128, i64)]| {
        Command::RecordTokenUses(uses.iter().map(|(n, used_at)| (token_id(*n), at(*used_at))).collect())
    };
    held.assert_outcome(uses(&[(2, 50), (9, 50), (1, 40)]), Outcome::Done);
    held.assert_outcome(uses(&[(1, 30), (2, 60)]), Outcome::Done);
    held.assert_outcome(uses(&[]), Outcome::Done);
    let used = |n: u128, used_at: Option<i64>| Token { last_used_at: used_at.map(at), ..token(n, 1) };
    assert_eq!(held.reader.tokens(account_id(1)), Ok(vec![used(3, None), used(2, Some(60)), used(1, Some(40))]));
    assert_eq!(held.reader.token(&token(2, 1).digest), Ok(Some(used(2, Some(60)))));
}

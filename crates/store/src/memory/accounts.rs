//! Accounts, tokens, bots and secrets.

use super::data::{AccountEntry, MemoryData};
use engine::commands::Outcome;
use engine::ids::{AccountId, BotId, TokenId};
use engine::limits::{BOTS_PER_ACCOUNT_MAX, TOKENS_PER_ACCOUNT_MAX};
use engine::rows::{Account, Bot, Token};

impl MemoryData {
    pub(super) fn ensure_account(&mut self, account: &Account) -> Outcome {
        if let Some(known) = self.account_named(&account.name) {
            return Outcome::Account(known.id);
        }
        if self.accounts.contains_key(&account.id) {
            return Outcome::Duplicate;
        }
        self.accounts.insert(account.id, AccountEntry { account: account.clone(), fair_tag: 0 });
        Outcome::Account(account.id)
    }

    pub(super) fn create_token(&mut self, token: &Token) -> Outcome {
        if !self.accounts.contains_key(&token.account) {
            return Outcome::NotFound;
        }
        if self.tokens.contains_key(&token.id) || self.token(&token.digest).is_some() {
            return Outcome::Duplicate;
        }
        if self.tokens_of(token.account).len() >= TOKENS_PER_ACCOUNT_MAX {
            return Outcome::LimitReached;
        }
        self.tokens.insert(token.id, token.clone());
        Outcome::Done
    }

    pub(super) fn delete_token(&mut self, id: TokenId, account: Option<AccountId>) -> Outcome {
        let is_theirs = |token: &Token| account.is_none_or(|account| account == token.account);
        if !self.tokens.get(&id).is_some_and(is_theirs) {
            return Outcome::NotFound;
        }
        self.tokens.remove(&id);
        Outcome::Done
    }

    pub(super) fn create_bot(&mut self, bot: &Bot) -> Outcome {
        if !self.accounts.contains_key(&bot.account) {
            return Outcome::NotFound;
        }
        if self.bots.contains_key(&bot.id) || self.is_bot_name_taken(bot) {
            return Outcome::Duplicate;
        }
        if self.bots.values().filter(|known| known.account == bot.account).count() >= BOTS_PER_ACCOUNT_MAX {
            return Outcome::LimitReached;
        }
        self.bots.insert(bot.id, bot.clone());
        Outcome::Done
    }

    pub(super) fn update_bot(&mut self, bot: &Bot) -> Outcome {
        let Some(known) = self.bots.get(&bot.id).filter(|known| known.account == bot.account) else {
            return Outcome::NotFound;
        };
        let created_at = known.created_at;
        if self.is_bot_name_taken(bot) {
            return Outcome::Duplicate;
        }
        self.bots.insert(bot.id, Bot { created_at, ..bot.clone() });
        Outcome::Done
    }

    pub(super) fn delete_bot(&mut self, id: BotId, account: AccountId) -> Outcome {
        if self.bots.get(&id).is_none_or(|bot| bot.account != account) {
            return Outcome::NotFound;
        }
        self.bots.remove(&id);
        Outcome::Done
    }

    pub(super) fn ensure_secret(&mut self, name: &str, bytes: &[u8]) -> Outcome {
        Outcome::Secret(self.secrets.entry(name.to_owned()).or_insert_with(|| bytes.to_vec()).clone())
    }

    fn is_bot_name_taken(&self, bot: &Bot) -> bool {
        let is_rival = |known: &Bot| known.id != bot.id && known.account == bot.account && known.name == bot.name;
        self.bots.values().any(is_rival)
    }
}

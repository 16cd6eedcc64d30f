//! Deletes accounts: who may sign in and the name at once, what was the account's own and copies of its name a little at a time. The row stays, since
//! results and competitions point to it. Where nodes share the database, deletions of accounts take turns, and the account's row and bans are
//! locked before.

use super::last_admin::targets;
use super::reader::SqlReader;
use super::{Batch, Dialect, ID_MAX, IdBytes, Session, values};
use crate::columns::Columns;
use crate::contract::{DeletionReader, StoreError};
use engine::commands::{AccountCommand, NamesPage, Outcome};
use engine::competitions::CompetitionKind;
use engine::ids::{AccountId, BotId, CompetitionId, MatchId, TableId, TokenId, WorldId, WorldName};
use engine::rows::{AccountCounts, AccountHoldings, DELETED_ACCOUNT_NAME};
use engine::time::UnixMs;

/// Ends in the column of an id.
pub(super) const DELETED_AMONG: &str = "SELECT id FROM accounts WHERE deleted_at IS NOT NULL AND id";
pub(crate) const BOTS_LEFT: &str = "SELECT id FROM bots WHERE account = ?1 ORDER BY id LIMIT ?2";
pub(crate) const UNCLEARED: &str = "SELECT id FROM accounts WHERE deleted_at IS NOT NULL AND cleared_at IS NULL
     AND deleted_at <= ?1 ORDER BY deleted_at, id LIMIT ?2";
pub(crate) const LIVE_COMPETITIONS: &str = "SELECT kind, id FROM competitions WHERE account = ?1 AND ended_at IS NULL";
pub(crate) const LIVE_HUNTS: &str = "SELECT name FROM worlds WHERE creator = ?1 AND ends_at > ?2 AND kind = 'hunt'";
const WAITING_COUNT: &str =
    "SELECT count(*) FROM matches WHERE state = 'waiting' AND account = ?1 AND competition IS NULL";
/// Rows of these tables are an account's own.
const KEYED: [(&str, &str, &str); 3] = [
    ("idempotency_keys", "account", "key"),
    ("story_answers", "player", "key"),
    ("ladder_invitations", "account", "ladder"),
];

/// A match that waits, or one that runs, of account ?1 or with a seat of it. `EXISTS` could become a join that reads all seats.
pub(crate) fn live_seat(state: &str) -> String {
    format!(
        "SELECT m.id FROM matches m WHERE m.state = '{state}'
         AND (m.account = ?1 OR (SELECT true FROM seats s WHERE s.match_id = m.id AND s.account = ?1 LIMIT 1)) LIMIT 1"
    )
}

/// The last id of a page of ?2 + 1 rows behind ?1.
pub(crate) fn page_end(page: NamesPage) -> String {
    let (table, id, ..) = copies(page);
    format!("SELECT {id} FROM {table} WHERE {id} > ?1 ORDER BY {id} LIMIT 1 OFFSET ?2")
}

/// Takes the name ?4 in the place of that of account ?3, in the rows behind ?1 and up to ?2; in seats, its name was ?5.
pub(crate) fn forget(page: NamesPage) -> String {
    let (table, id, owner, name) = copies(page);
    let (also, of_match) = match page {
        // A bot that is not registered is of the account that created the match, under its name: so no other one's that is gone.
        NamesPage::Seats(_) => (
            ", url = ''",
            " OR account IS NULL AND owner = ?5 AND (SELECT m.account FROM matches m WHERE m.id = seats.match_id) = ?3",
        ),
        NamesPage::StoryGames(_) | NamesPage::HuntRounds(_) => ("", ""),
    };
    format!(
        "UPDATE {table} SET {name} = ?4{also} WHERE {id} > ?1 AND {id} <= ?2 AND ({owner} = ?3{of_match})
         AND ({name} IS NULL OR {name} <> ?4)"
    )
}

/// The table, its id, whose name it copies, and the copy.
fn copies(page: NamesPage) -> (&'static str, &'static str, &'static str, &'static str) {
    match page {
        NamesPage::Seats(_) => ("seats", "match_id", "account", "owner"),
        NamesPage::StoryGames(_) => ("story_games", "table_id", "storyteller", "storyteller_name"),
        NamesPage::HuntRounds(_) => ("hunt_rounds", "world_id", "winner", "winner_name"),
    }
}

fn after(page: NamesPage) -> IdBytes {
    match page {
        NamesPage::Seats(id) => id.to_bytes(),
        NamesPage::StoryGames(id) => id.to_bytes(),
        NamesPage::HuntRounds(id) => id.to_bytes(),
    }
}

fn page_behind(page: NamesPage, id: u128) -> NamesPage {
    match page {
        NamesPage::Seats(_) => NamesPage::Seats(MatchId(id)),
        NamesPage::StoryGames(_) => NamesPage::StoryGames(TableId(id)),
        NamesPage::HuntRounds(_) => NamesPage::HuntRounds(WorldId(id)),
    }
}

impl<R: SqlReader> DeletionReader for R {
    fn account_holdings(&mut self, id: AccountId, now: UnixMs) -> Result<Option<AccountHoldings>, StoreError> {
        self.session().snapshot(|session| {
            let counts = "SELECT bots, (SELECT count(*) FROM tokens WHERE account = ?1) FROM accounts
                          WHERE id = ?1 AND deleted_at IS NULL";
            let counts = session
                .first(counts, values![id], |row| Ok(AccountCounts { bots: row.number()?, tokens: row.number()? }))?;
            let Some(counts) = counts else { return Ok(None) };
            let waiting = session.first(WAITING_COUNT, values![id], |row| row.number())?;
            let competitions = live_competitions(session, id)?;
            let of = |kind| competitions.iter().filter(|(live, _)| *live == kind).count();
            Ok(Some(AccountHoldings {
                counts,
                waiting_matches: waiting.unwrap_or_default(),
                duels: of(CompetitionKind::Duel),
                tournaments: of(CompetitionKind::Tournament),
                ladders: of(CompetitionKind::Ladder),
                hunts: live_hunts(session, id, now)?.len(),
            }))
        })
    }

    fn deleted_among(&mut self, ids: &[AccountId]) -> Result<Vec<AccountId>, StoreError> {
        let ids: Vec<IdBytes> = ids.iter().map(|id| id.to_bytes()).collect();
        self.session().all_each(DELETED_AMONG, "", &ids, |row| row.id().map(AccountId))
    }

    fn uncleared_accounts(&mut self, until: UnixMs, limit: usize) -> Result<Vec<AccountId>, StoreError> {
        self.session().all(UNCLEARED, values![until, limit], |row| row.id().map(AccountId))
    }

    fn live_competitions(&mut self, id: AccountId) -> Result<Vec<(CompetitionKind, CompetitionId)>, StoreError> {
        live_competitions(self.session(), id)
    }

    fn live_hunts(&mut self, id: AccountId, now: UnixMs) -> Result<Vec<WorldName>, StoreError> {
        live_hunts(self.session(), id, now)
    }

    fn bots_left(&mut self, id: AccountId, limit: usize) -> Result<Vec<BotId>, StoreError> {
        self.session().all(BOTS_LEFT, values![id, limit], |row| row.id().map(BotId))
    }

    fn has_live_seats(&mut self, id: AccountId) -> Result<bool, StoreError> {
        self.session().snapshot(|session| {
            Ok(session.exists(&live_seat("waiting"), values![id])?
                || session.exists(&live_seat("running"), values![id])?)
        })
    }
}

fn live_competitions(
    session: &mut impl Session,
    id: AccountId,
) -> Result<Vec<(CompetitionKind, CompetitionId)>, StoreError> {
    session.all(LIVE_COMPETITIONS, values![id], |row| {
        let kind = row.named("kind of a competition", CompetitionKind::from_name)?;
        Ok((kind, CompetitionId(row.id()?)))
    })
}

fn live_hunts(session: &mut impl Session, id: AccountId, now: UnixMs) -> Result<Vec<WorldName>, StoreError> {
    session.all(LIVE_HUNTS, values![id, now], |row| row.named("name of a world", |name| name.parse().ok()))
}

impl<S: Dialect> Batch<'_, S> {
    pub(super) fn account_command(&mut self, command: &AccountCommand) -> Result<Outcome, StoreError> {
        match command {
            AccountCommand::Delete { id, now } => self.delete_account(*id, *now),
            AccountCommand::Clear { id, max } => self.clear_account(*id, *max),
            AccountCommand::ForgetNames { id, max, now } => self.forget_names(*id, *max, *now),
        }
    }

    fn delete_account(&mut self, id: AccountId, now: UnixMs) -> Result<Outcome, StoreError> {
        let name = "SELECT name FROM accounts WHERE id = ?1 AND deleted_at IS NULL";
        let Some(name) = self.session.first(name, values![id], |row| row.text())? else {
            return Ok(Outcome::NotFound);
        };
        if self.is_last_admin(id, now)? {
            return Ok(Outcome::LastAdmin);
        }
        let [banned, disabled] = targets(id);
        let hold =
            "UPDATE bans SET held_name = ?4 WHERE target IN (?1, ?2) AND (expires_at IS NULL OR expires_at > ?3)";
        self.session.run(hold, values![banned.as_str(), disabled.as_str(), now, &name])?;
        self.session.run("DELETE FROM one_time_codes WHERE account = ?1", values![id])?;
        self.session.run("DELETE FROM one_time_codes WHERE account IS NULL AND made_by = ?1", values![id])?;
        let tokens = "DELETE FROM tokens WHERE account = ?1 RETURNING id";
        let tokens = self.session.all(tokens, values![id], |row| row.id().map(TokenId))?;
        // No person chooses a name that ends with space.
        let nameless = format!("{DELETED_ACCOUNT_NAME} {id} ");
        let delete = "UPDATE accounts SET former_name = name, name = ?2, deleted_at = ?3 WHERE id = ?1";
        self.session.run(delete, values![id, &nameless, now])?;
        Ok(Outcome::AccountDeleted(tokens))
    }

    /// Whether an account of this name was deleted while it was banned, and the ban still holds.
    pub(super) fn is_name_held(&mut self, name: &str, now: UnixMs) -> Result<bool, StoreError> {
        let held = "SELECT 1 FROM bans WHERE held_name = ?1 AND (expires_at IS NULL OR expires_at > ?2)";
        self.session.exists(held, values![name, now])
    }

    pub(super) fn is_deleted(&mut self, id: AccountId) -> Result<bool, StoreError> {
        self.session.exists("SELECT 1 FROM accounts WHERE id = ?1 AND deleted_at IS NOT NULL", values![id])
    }

    fn clear_account(&mut self, id: AccountId, max: usize) -> Result<Outcome, StoreError> {
        if !self.is_deleted(id)? {
            return Ok(Outcome::NotFound);
        }
        let mut most = 0;
        for (table, owner, key) in KEYED {
            let first = format!("SELECT {key} FROM {table} WHERE {owner} = ?1 ORDER BY {key} LIMIT ?2");
            let delete = format!("DELETE FROM {table} WHERE {owner} = ?1 AND {key} IN ({first})");
            most = most.max(self.session.run(&delete, values![id, max])?);
        }
        for table in ["story_standings", "hunters"] {
            self.session.run(&format!("DELETE FROM {table} WHERE player = ?1"), values![id])?;
        }
        Ok(Outcome::Retired(most))
    }

    fn forget_names(&mut self, id: AccountId, max: usize, now: UnixMs) -> Result<Outcome, StoreError> {
        let kept = "SELECT names_page, former_name FROM accounts
                    WHERE id = ?1 AND deleted_at IS NOT NULL AND cleared_at IS NULL";
        let kept = self.session.first(kept, values![id], |row| Ok((row.maybe_text()?, row.maybe_text()?)))?;
        let Some((kept, name)) = kept else { return Ok(Outcome::NotFound) };
        // What cannot be read any more costs a second walk.
        let page = kept.and_then(|kept| kept.parse().ok()).unwrap_or(NamesPage::FIRST);
        let from = after(page);
        let offset = max.saturating_sub(1);
        let end = self.session.first(&page_end(page), values![from, offset], |row| row.id())?;
        let to = end.map_or(ID_MAX, u128::to_be_bytes);
        let name = name.as_deref();
        match page {
            NamesPage::Seats(_) => {
                self.session.run(&forget(page), values![from, to, id, DELETED_ACCOUNT_NAME, name])?
            }
            NamesPage::StoryGames(_) | NamesPage::HuntRounds(_) => {
                self.session.run(&forget(page), values![from, to, id, DELETED_ACCOUNT_NAME])?
            }
        };
        let next = end.map_or_else(|| page.next_kind(), |end| Some(page_behind(page, end)));
        let (kept, cleared_at) = (next.map(|next| next.to_string()), next.is_none().then_some(now));
        let keep = "UPDATE accounts SET names_page = ?2, cleared_at = ?3, former_name = ?4 WHERE id = ?1";
        let name = name.filter(|_| next.is_some());
        self.session.run(keep, values![id, kept.as_deref(), cleared_at, name])?;
        Ok(Outcome::NamesForgotten(next))
    }
}

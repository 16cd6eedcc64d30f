//! Why nothing is played on a leaderboard, or not by one of its entries.

use bot_client::canonical_url;
use engine::competitions::CompetitionRow;
use engine::ids::BotId;
use engine::ladders::season::current_season;
use engine::limits::{LADDER_PAUSED_BOTS_MAX, RANKING_PAGE_MAX};
use engine::rows::Bot;
use std::collections::BTreeSet;
use store::{Reader, StoreError};

/// What is said of a paused snake.
const PAUSED_WHY: &str = "failed three times in a row: GET /api/snakes/{id}/health says to its owner why, and two checks that pass \
                          bring it back";

/// Snakes, of how many accounts, and how many programs they are: snakes with one URL are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SnakeCount {
    snakes: usize,
    accounts: usize,
    programs: usize,
}

/// Why no game is played on this leaderboard, with so many active entries and `players` in a game; none: games are played.
///
/// # Errors
/// What the store says.
pub(super) fn note(
    reader: &mut dyn Reader,
    row: &CompetitionRow,
    players: usize,
    entries_active: usize,
) -> Result<Option<String>, StoreError> {
    if row.status.is_ended() {
        return Ok(Some("this leaderboard has ended".to_owned()));
    }
    if entries_active < players {
        return Ok(Some(too_few(entries_active, players)));
    }
    let strangers = if row.is_public { players } else { 1 };
    let accounts = reader.ladders().ladder_active_accounts(row.id, current_season(row))?;
    if accounts < strangers {
        return Ok(Some(one_account(players, accounts)));
    }
    if row.matches_under_way() > 0 {
        return Ok(None);
    }
    let is_enough =
        |count: SnakeCount| count.snakes >= players && count.accounts >= strangers && count.programs >= strangers;
    let paused = paused(reader)?;
    let unpaused = count_snakes(reader, row, |bot| !paused.contains(&bot.id), is_enough)?;
    Ok((!is_enough(unpaused)).then(|| cannot_play(entries_active, players, row.is_public, unpaused)))
}

/// Why this active entry is not paired, with so many players in a game; none: it is, if others play.
///
/// # Errors
/// What the store says.
pub(super) fn entry_note(
    reader: &mut dyn Reader,
    row: &CompetitionRow,
    players: usize,
    bot: BotId,
) -> Result<Option<String>, StoreError> {
    let entries_active = reader.ladders().ladder_active_entries(row.id, current_season(row))?;
    if let Some(of_all) = note(reader, row, players, entries_active)? {
        return Ok(Some(of_all));
    }
    let paused = paused(reader)?;
    if paused.contains(&bot) {
        return Ok(Some(format!("this snake is paused, because it {PAUSED_WHY}")));
    }
    let Some(own) = reader.bots_by_id(&[bot])?.pop() else { return Ok(None) };
    if !row.is_public {
        return Ok(None);
    }
    let (others, url) = (players - 1, canonical_url(&own.url));
    let may_meet =
        |bot: &Bot| !paused.contains(&bot.id) && bot.account != own.account && canonical_url(&bot.url) != url;
    let is_enough = |count: SnakeCount| count.accounts >= others && count.programs >= others;
    let opponents = count_snakes(reader, row, may_meet, is_enough)?;
    Ok((!is_enough(opponents)).then(|| no_opponents(others, opponents)))
}

fn paused(reader: &mut dyn Reader) -> Result<BTreeSet<BotId>, StoreError> {
    Ok(reader.paused_bots(LADDER_PAUSED_BOTS_MAX)?.into_iter().collect())
}

/// The active snakes of a leaderboard that count; it stops counting once they are enough.
fn count_snakes(
    reader: &mut dyn Reader,
    row: &CompetitionRow,
    counts: impl Fn(&Bot) -> bool,
    is_enough: impl Fn(SnakeCount) -> bool,
) -> Result<SnakeCount, StoreError> {
    let (mut count, mut accounts, mut programs) = (SnakeCount::default(), BTreeSet::new(), BTreeSet::new());
    let mut after = None;
    while !is_enough(count) {
        let page = reader.ladders().ladder_entries(row.id, current_season(row), after, RANKING_PAGE_MAX)?;
        let Some(last) = page.last() else { break };
        after = Some(last.entrant.bot);
        let active = page.iter().filter(|entry| entry.is_active);
        let bots: Vec<BotId> = active.map(|entry| entry.entrant.bot).collect();
        for bot in reader.bots_by_id(&bots)?.into_iter().filter(&counts) {
            accounts.insert(bot.account);
            programs.insert(canonical_url(&bot.url));
            count = SnakeCount { snakes: count.snakes + 1, accounts: accounts.len(), programs: programs.len() };
        }
    }
    Ok(count)
}

fn too_few(entries_active: usize, players: usize) -> String {
    let missing = players - entries_active;
    match entries_active {
        0 => format!("no snake has entered; a game needs {players}"),
        1 => format!("one snake has entered, and a game needs {players}: {missing} more must enter"),
        _ => format!("{entries_active} snakes have entered, and a game needs {players}: {missing} more must enter"),
    }
}

fn one_account(players: usize, accounts: usize) -> String {
    format!(
        "a game needs snakes of {players} accounts, so that no snake can lose to one of its own account on purpose; those that have \
         entered are of {accounts}. On a leaderboard that is not public, snakes of one account meet"
    )
}

fn cannot_play(entries_active: usize, players: usize, is_public: bool, unpaused: SnakeCount) -> String {
    let SnakeCount { snakes, accounts, programs } = unpaused;
    let paused = entries_active.saturating_sub(snakes);
    let of_strangers = if is_public {
        format!(" of {players} accounts with {players} URLs, and these are of {accounts} with {programs}")
    } else {
        String::new()
    };
    let mut text = format!("{snakes} of {entries_active} snakes can play; a game needs {players}{of_strangers}");
    if paused > 0 {
        text += &format!(". Paused are {paused}; each {PAUSED_WHY}");
    }
    text
}

fn no_opponents(others: usize, opponents: SnakeCount) -> String {
    let SnakeCount { accounts, programs, .. } = opponents;
    format!(
        "this snake has too few opponents: it never meets a snake of its own account or with its own URL. A game needs {others} more of \
         as many accounts with as many URLs; those that it may meet are of {accounts} with {programs}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_many_are_missing() {
        let check = |entries, players, want: &str| assert_eq!(too_few(entries, players), want);
        check(0, 4, "no snake has entered; a game needs 4");
        check(1, 2, "one snake has entered, and a game needs 2: 1 more must enter");
        check(3, 4, "3 snakes have entered, and a game needs 4: 1 more must enter");
    }

    #[test]
    fn it_says_who_cannot_play() {
        let count = |snakes, accounts, programs| SnakeCount { snakes, accounts, programs };
        let check = |is_public, unpaused, want: &str| assert_eq!(cannot_play(5, 2, is_public, unpaused), want);
        check(
            false,
            count(1, 1, 1),
            &format!("1 of 5 snakes can play; a game needs 2. Paused are 4; each {PAUSED_WHY}"),
        );
        check(
            true,
            count(3, 1, 3),
            &format!(
                "3 of 5 snakes can play; a game needs 2 of 2 accounts with 2 URLs, and these are of 1 with 3. Paused are 2; each {PAUSED_WHY}"
            ),
        );
        check(
            true,
            count(5, 3, 1),
            "5 of 5 snakes can play; a game needs 2 of 2 accounts with 2 URLs, and these are of 3 with 1",
        );
    }
}

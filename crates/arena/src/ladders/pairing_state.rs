//! What the matchmaker knows of one ladder: its entries and its recent past. Read from the store when this process becomes the leader, and
//! followed from then on; what counts is unapplied matches, not those under way, so that nothing is paired by ratings that are behind.

use bot_client::canonical_url;
use engine::competitions::{CompetitionResult, CompetitionRow};
use engine::digest::digest;
use engine::ids::{AccountId, BotId, CompetitionId};
use engine::ladders::definition::LadderDefinition;
use engine::ladders::entry::LadderEntry;
use engine::ladders::pairing::{PairingEntry, PairingHistory, history_results};
use engine::ladders::season::current_season;
use engine::matches::spec::SeatSpec;
use engine::time::UnixMs;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use store::{Reader, StoreError};

/// Rows of one read.
const PAGE: usize = 500;
/// All entries of a ladder are read again once a second for each so many: what that costs is bounded.
const ENTRIES_REFRESHED_PER_S: u64 = 1_000;
/// Time between two of these reads, however few they are.
const REFRESH_MIN: Duration = Duration::from_secs(1);

/// A ladder as the matchmaker sees it.
pub(super) struct PairingState {
    pub(super) row: CompetitionRow,
    pub(super) definition: LadderDefinition,
    pub(super) history: PairingHistory,
    entries: BTreeMap<BotId, Candidate>,
    /// When all entries were read last.
    refreshed_at: UnixMs,
}

/// An entry, and what its next match is created with.
struct Candidate {
    entry: LadderEntry,
    account: AccountId,
    url: String,
    url_digest: u64,
}

/// What a look at the store brought.
#[derive(Debug, Default)]
pub(super) struct Followed {
    /// How long new entries have waited for their first rated game, in milliseconds.
    pub(super) first_game_ms: Vec<u64>,
}

impl PairingState {
    /// The state of a ladder, out of its last results and its unapplied matches.
    pub(super) fn load(reader: &mut dyn Reader, id: CompetitionId, now: UnixMs) -> Result<Option<Self>, StoreError> {
        let Some(row) = reader.competition(id)? else { return Ok(None) };
        let definition = LadderDefinition::decode(&row.definition)
            .map_err(|error| StoreError::Corrupt { why: format!("the definition of ladder {id}: {error}") })?;
        let mut state =
            Self { row, definition, history: PairingHistory::default(), entries: BTreeMap::new(), refreshed_at: now };
        state.refresh(reader, now)?;
        let remembered = history_results(state.entries.len(), state.seats()) as u64;
        let (last, first) = (state.row.results_applied, state.row.results_applied.saturating_sub(remembered));
        let applied = results(reader, id, first, last)?;
        // Bots have met in the order in which their matches were created, which is not the order of the results.
        let mut matches: Vec<_> = applied.iter().map(|result| (result.key, bots_of(result))).collect();
        matches.extend(state.matches_unapplied(reader)?);
        matches.sort_unstable_by_key(|(key, _)| *key);
        for (key, seats) in matches {
            state.history.start(key, &seats);
        }
        state.apply(&applied);
        Ok(Some(state))
    }

    /// Follows what was committed since the last look. `None` when the ladder does not run any more, or when its matches are not those
    /// that are known: it must be loaded again.
    pub(super) fn follow(&mut self, reader: &mut dyn Reader, now: UnixMs) -> Result<Option<Followed>, StoreError> {
        let Some(row) = reader.competition(self.row.id)? else { return Ok(None) };
        if row.status != self.row.status || row.matches_created != self.row.matches_created {
            return Ok(None);
        }
        let is_new_season = row.version != self.row.version;
        let applied_before = std::mem::replace(&mut self.row, row).results_applied;
        let bots = self.apply_results(reader, applied_before, self.row.results_applied)?;
        let mut followed = Followed::default();
        if is_new_season || now.0 >= self.refreshed_at.0 + self.refresh_interval().as_millis() as i64 {
            let before = std::mem::take(&mut self.entries);
            self.refresh(reader, now)?;
            followed.note_first_games(
                &before,
                self.entries.values().map(|candidate| &candidate.entry),
                self.season_began(),
                now,
            );
        } else if !bots.is_empty() {
            let bots: Vec<BotId> = bots.into_iter().collect();
            for page in bots.chunks(PAGE) {
                let read = reader.ladders().ladder_entries_of(self.row.id, current_season(&self.row), page)?;
                followed.note_first_games(&self.entries, read.iter(), self.season_began(), now);
                self.update(read);
            }
        }
        Ok((self.history.matches_unapplied() as u64 == self.row.matches_unapplied()).then_some(followed))
    }

    /// Bots in a match.
    pub(super) fn seats(&self) -> usize {
        usize::from(self.definition.players)
    }

    /// Whether it has as many entries as a match has seats.
    pub(super) fn can_play(&self) -> bool {
        self.entries.len() >= self.seats()
    }

    /// Those that can be paired, but for these.
    pub(super) fn pairing_entries(&self, paused: &BTreeSet<BotId>) -> Vec<PairingEntry> {
        let free = self.entries.values().filter(|candidate| !paused.contains(&candidate.entry.entrant.bot));
        let entry = |candidate: &Candidate| PairingEntry {
            bot: candidate.entry.entrant.bot,
            account: candidate.account,
            url_digest: candidate.url_digest,
            rating: candidate.entry.record.rating,
            seats: candidate.entry.record.seats.clone(),
        };
        free.map(entry).collect()
    }

    /// What a match of these bots is created with; `None` when one of them may not play.
    fn seat_specs(&self, line_up: &[BotId]) -> Option<Vec<SeatSpec>> {
        let spec = |bot: &BotId| {
            let Candidate { entry, url, .. } = self.entries.get(bot)?;
            let (name, owner) = (entry.entrant.name.clone(), entry.owner.clone().unwrap_or_default());
            Some(SeatSpec { bot: *bot, name, owner, url: url.clone() })
        };
        line_up.iter().map(spec).collect()
    }

    /// The seats of those line-ups whose bots may all play still, as the store has it: since the last look some may have left, or have
    /// another URL.
    pub(super) fn confirm(
        mut self,
        reader: &mut dyn Reader,
        line_ups: &[Vec<BotId>],
    ) -> Result<(Self, Vec<Vec<SeatSpec>>), StoreError> {
        let bots: Vec<BotId> = line_ups.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let season = current_season(&self.row);
        for page in bots.chunks(PAGE) {
            page.iter().for_each(|bot| drop(self.entries.remove(bot)));
            let entries = reader.ladders().ladder_entries_of(self.row.id, season, page)?;
            self.insert(reader, entries)?;
        }
        let confirmed = line_ups.iter().filter_map(|line_up| self.seat_specs(line_up)).collect();
        Ok((self, confirmed))
    }

    /// Matches were created.
    pub(super) fn start(&mut self, matches: &[Vec<SeatSpec>]) {
        for seats in matches {
            self.row.matches_created += 1;
            let line_up: Vec<BotId> = seats.iter().map(|seat| seat.bot).collect();
            self.history.start(self.row.matches_created, &line_up);
        }
    }

    /// When entries of the season under way could begin to wait for a game.
    fn season_began(&self) -> UnixMs {
        let began = self.row.due_at.zip(self.definition.season);
        began.map_or(self.row.created_at, |(ends_at, season)| UnixMs(ends_at.0 - season.as_millis() as i64))
    }

    fn refresh_interval(&self) -> Duration {
        let entries = self.entries.len() as u64;
        Duration::from_millis(entries * 1_000 / ENTRIES_REFRESHED_PER_S).max(REFRESH_MIN)
    }

    /// Reads all entries.
    fn refresh(&mut self, reader: &mut dyn Reader, now: UnixMs) -> Result<(), StoreError> {
        self.entries.clear();
        self.refreshed_at = now;
        let season = current_season(&self.row);
        let mut after = None;
        loop {
            let page = reader.ladders().ladder_entries(self.row.id, season, after, PAGE)?;
            let Some(last) = page.last() else {
                let entries = &self.entries;
                self.history.retain(|bot| entries.contains_key(&bot));
                return Ok(());
            };
            after = Some(last.entrant.bot);
            self.insert(reader, page)?;
        }
    }

    /// Inserts the active ones of these entries, with their bots: those that are gone or not public any more are left out.
    fn insert(&mut self, reader: &mut dyn Reader, entries: Vec<LadderEntry>) -> Result<(), StoreError> {
        let active: Vec<LadderEntry> = entries.into_iter().filter(|entry| entry.is_active).collect();
        let bots: Vec<BotId> = active.iter().map(|entry| entry.entrant.bot).collect();
        let bots: BTreeMap<BotId, _> = reader.bots_by_id(&bots)?.into_iter().map(|bot| (bot.id, bot)).collect();
        for entry in active {
            if let Some(bot) = bots.get(&entry.entrant.bot).filter(|bot| bot.is_public) {
                self.entries.insert(
                    bot.id,
                    Candidate { account: bot.account, url: bot.url.clone(), url_digest: url_digest(&bot.url), entry },
                );
            }
        }
        Ok(())
    }

    /// Puts these in the place of what is known of them.
    fn update(&mut self, entries: Vec<LadderEntry>) {
        for entry in entries {
            if !entry.is_active {
                self.entries.remove(&entry.entrant.bot);
            } else if let Some(known) = self.entries.get_mut(&entry.entrant.bot) {
                known.entry = entry;
            }
        }
    }

    /// The results behind number `after` up to number `last` were applied. The bots that played in them.
    fn apply_results(&mut self, reader: &mut dyn Reader, after: u64, last: u64) -> Result<BTreeSet<BotId>, StoreError> {
        let results = results(reader, self.row.id, after, last)?;
        self.apply(&results);
        Ok(results.iter().flat_map(bots_of).collect())
    }

    fn apply(&mut self, results: &[CompetitionResult]) {
        for result in results {
            self.history.end(result.key, &bots_of(result));
            for seat in result.summary.seats.iter().filter(|_| result.is_played()) {
                self.history.note_silence(seat.bot, seat.is_silent);
            }
        }
        self.history.trim(self.entries.len(), self.seats());
    }

    /// Key and bots of the matches whose results were not applied: those that have not ended, and those that have.
    fn matches_unapplied(&self, reader: &mut dyn Reader) -> Result<Vec<(u64, Vec<BotId>)>, StoreError> {
        let mut all = Vec::new();
        for result in results(reader, self.row.id, self.row.results_applied, self.row.results)? {
            all.push((result.key, bots_of(&result)));
        }
        let mut before = None;
        loop {
            let page = reader.competition_matches(self.row.id, true, before, PAGE)?;
            let Some(last) = page.last() else { break };
            before = Some(last.spec.id);
            for row in &page {
                let key = row.spec.origin.map(|origin| origin.key);
                all.extend(key.map(|key| (key, row.spec.seats.iter().map(|seat| seat.bot).collect())));
            }
        }
        Ok(all)
    }
}

impl Followed {
    fn note_first_games<'e>(
        &mut self,
        before: &BTreeMap<BotId, Candidate>,
        entries: impl Iterator<Item = &'e LadderEntry>,
        season_began: UnixMs,
        now: UnixMs,
    ) {
        for entry in entries.filter(|entry| entry.record.games > 0) {
            let was_new = before.get(&entry.entrant.bot).is_some_and(|known| known.entry.record.games == 0);
            if was_new {
                self.first_game_ms.push(u64::try_from(now.0 - entry.joined_at.max(season_began).0).unwrap_or_default());
            }
        }
    }
}

/// The bots of a match, by seat.
fn bots_of(result: &CompetitionResult) -> Vec<BotId> {
    result.summary.seats.iter().map(|seat| seat.bot).collect()
}

fn results(
    reader: &mut dyn Reader,
    id: CompetitionId,
    mut after: u64,
    last: u64,
) -> Result<Vec<CompetitionResult>, StoreError> {
    let mut all = Vec::new();
    while after < last {
        let limit = usize::try_from(last - after).unwrap_or(PAGE).min(PAGE);
        let page = reader.competition_results(id, after, limit)?;
        let Some(newest) = page.last() else { break };
        after = newest.number;
        all.extend(page);
    }
    Ok(all)
}

/// The same for URLs of one program: two others that share it by chance only do not meet.
fn url_digest(url: &str) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = digest(&canonical_url(url));
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

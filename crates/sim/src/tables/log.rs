//! Every commit about tables, as it happened: the log of each table from its first entry, though the store forgets what lies under
//! a base; and at once whatever a commit breaks.

use crate::world::Oracle;
use engine::commands::{ClaimedTable, Command, Outcome, TableAppend};
use engine::ids::TableId;
use engine::rows::TableLogRow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// All that was committed.
#[derive(Default)]
pub(super) struct Log {
    pub(super) tables: BTreeMap<TableId, Story>,
    /// Appends of which nobody knows whether they were saved, by table and epoch.
    pub(super) unheard: BTreeSet<(TableId, u32)>,
    broken: Vec<String>,
    /// Claims that were answered with a table.
    pub(super) claims: u32,
}

/// One table's.
#[derive(Default)]
pub(super) struct Story {
    /// The base that it was opened with.
    pub(super) base: Vec<u8>,
    /// Its entries, and when each was committed.
    pub(super) rows: Vec<(TableLogRow, Duration)>,
    /// Whether a game is played.
    pub(super) is_live: bool,
    epoch: u32,
}

impl Log {
    fn require(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.broken.push(what());
        }
    }

    /// Fails the simulation if anything was ever broken.
    pub(super) fn check_nothing_broken(&self) {
        assert!(self.broken.is_empty(), "what must be true was not: {:#?}", self.broken);
    }

    /// A process is about to add entries to a table. Nothing may follow on entries of which it does not know whether they were
    /// saved, but what it has read from the store.
    pub(super) fn appends(&mut self, id: TableId, epoch: u32) {
        let is_known = !self.unheard.contains(&(id, epoch));
        self.require(is_known, || {
            format!("table {id}: epoch {epoch} goes on, though an append of its was not answered")
        });
    }

    fn appended(&mut self, at: Duration, append: &TableAppend) {
        let id = append.id;
        let story = self.tables.entry(id).or_default();
        let (epoch, have) = (story.epoch, story.rows.len() as u32);
        story.is_live = append.is_live;
        story.rows.extend(append.rows.iter().map(|row| (row.clone(), at)));
        self.require(append.epoch == epoch, || {
            format!("table {id}: epoch {} wrote, though epoch {epoch} holds it", append.epoch)
        });
        self.require(append.expected_version == have, || {
            format!("table {id}: entries were added at {}, though there are {have}", append.expected_version)
        });
    }

    fn claimed(&mut self, claimed: &ClaimedTable) {
        self.claims += 1;
        let id = claimed.id;
        let story = self.tables.entry(id).or_default();
        let before = std::mem::replace(&mut story.epoch, claimed.epoch);
        let known = story.rows.get(claimed.base_version as usize..).unwrap_or_default();
        let is_whole = known.iter().map(|(row, _)| row).eq(&claimed.rows);
        self.require(claimed.epoch > before, || format!("table {id}: epoch {} after {before}", claimed.epoch));
        self.require(is_whole, || format!("table {id}: a claim gave other entries than were saved"));
    }
}

impl Oracle for Log {
    fn committed(&mut self, at: Duration, command: &Command, outcome: &Outcome) {
        match (command, outcome) {
            (Command::OpenTable(open), Outcome::Done) => {
                let story = self.tables.entry(open.append.id).or_default();
                story.epoch = 1;
                story.base = open.append.base.as_ref().map(|base| base.bytes.clone()).unwrap_or_default();
                self.appended(at, &open.append);
            }
            (Command::AppendTable(append), Outcome::Done) => self.appended(at, append),
            (_, Outcome::TableClaimed(claimed)) => self.claimed(claimed),
            // A repeated claim gives again what it gave: its epochs are not new.
            (_, Outcome::TablesClaimed(all)) => {
                for claimed in all {
                    let known = self.tables.get(&claimed.id).map_or(0, |story| story.epoch);
                    if claimed.epoch != known {
                        self.claimed(claimed);
                    }
                }
            }
            _ => {}
        }
    }

    fn acknowledged(&mut self, _command: &Command, _outcome: &Outcome) {}
}

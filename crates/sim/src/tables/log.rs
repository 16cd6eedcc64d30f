//! Every commit about tables, as it happened: the log of each table from its first entry, though the store deletes what
//! lies under a snapshot; and at once every violation by a commit.

use crate::world::{Oracle, Violations};
use engine::commands::{ClaimedTable, Command, IndexChange, Outcome, TableAppend};
use engine::ids::TableId;
use engine::rows::TableLogRow;
use engine::tables::{Phase, is_bot};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// All that was committed.
#[derive(Default)]
pub(super) struct CommitLog {
    pub(super) tables: BTreeMap<TableId, TableHistory>,
    /// Appends of which it is unknown whether they were saved, by table and epoch.
    pub(super) unknown_appends: BTreeSet<(TableId, u32)>,
    pub(super) violations: Violations,
    /// Claims that were answered with a table.
    pub(super) claims: u32,
    /// Games that came to their end and were told by bots.
    pub(super) told_by_bots: u32,
}

/// One table's.
#[derive(Default)]
pub(super) struct TableHistory {
    /// The snapshot that it was opened with.
    pub(super) snapshot: Vec<u8>,
    /// Its entries, and when each was committed.
    pub(super) rows: Vec<(TableLogRow, Duration)>,
    /// Whether a game is played.
    pub(super) is_live: bool,
    epoch: u32,
}

impl CommitLog {
    /// A process is about to add entries to a table. Nothing may follow on entries of which it does not know whether they were
    /// saved, but what it has read from the store.
    pub(super) fn before_append(&mut self, id: TableId, epoch: u32) {
        let is_known = !self.unknown_appends.contains(&(id, epoch));
        self.violations
            .check(is_known, || format!("table {id}: epoch {epoch} goes on, though an append of its was not answered"));
    }

    fn on_append(&mut self, at: Duration, append: &TableAppend) {
        let id = append.id;
        let history = self.tables.entry(id).or_default();
        let (epoch, have) = (history.epoch, history.rows.len() as u32);
        history.is_live = append.is_live;
        let is_told_by_bot = |change: &&IndexChange| match change {
            IndexChange::UpsertGame(row) => row.phase == Phase::Complete && is_bot(row.storyteller),
            _ => false,
        };
        self.told_by_bots += append.index_changes.iter().filter(is_told_by_bot).count() as u32;
        history.rows.extend(append.rows.iter().map(|row| (row.clone(), at)));
        self.violations.check(append.epoch == epoch, || {
            format!("table {id}: epoch {} wrote, though epoch {epoch} holds it", append.epoch)
        });
        self.violations.check(append.expected_version == have, || {
            format!("table {id}: entries were added at {}, though there are {have}", append.expected_version)
        });
    }

    fn on_claim(&mut self, claimed: &ClaimedTable) {
        self.claims += 1;
        let id = claimed.id;
        let history = self.tables.entry(id).or_default();
        let before = std::mem::replace(&mut history.epoch, claimed.epoch);
        let known = history.rows.get(claimed.snapshot_version as usize..).unwrap_or_default();
        let is_whole = known.iter().map(|(row, _)| row).eq(&claimed.rows);
        self.violations.check(claimed.epoch > before, || format!("table {id}: epoch {} after {before}", claimed.epoch));
        self.violations.check(is_whole, || format!("table {id}: a claim gave other entries than were saved"));
    }
}

impl Oracle for CommitLog {
    fn committed(&mut self, at: Duration, command: &Command, outcome: &Outcome) {
        match (command, outcome) {
            (Command::OpenTable(open), Outcome::Done) => {
                let history = self.tables.entry(open.append.id).or_default();
                history.epoch = 1;
                history.snapshot =
                    open.append.snapshot.as_ref().map(|snapshot| snapshot.bytes.clone()).unwrap_or_default();
                self.on_append(at, &open.append);
            }
            (Command::AppendTable(append), Outcome::Done) => self.on_append(at, append),
            (_, Outcome::TableClaimed(claimed)) => self.on_claim(claimed),
            // A repeated claim gives again what it gave: its epochs are not new.
            (_, Outcome::TablesClaimed(all)) => {
                for claimed in all {
                    let known = self.tables.get(&claimed.id).map_or(0, |history| history.epoch);
                    if claimed.epoch != known {
                        self.on_claim(claimed);
                    }
                }
            }
            _ => {}
        }
    }

    fn acknowledged(&mut self, _command: &Command, _outcome: &Outcome) {}
}

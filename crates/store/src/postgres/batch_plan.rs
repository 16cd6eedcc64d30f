//! The order in which a batch is executed, so that it costs few round trips: neighbours of one kind become one run, and
//! appends are brought forward to each other where the outcomes stay the same.
//!
//! An append depends on its match alone. It may pass any command that does not touch that match; claims and retirements
//! may touch any, so nothing passes them. Likewise writes to tables: each depends on its table, an opening also on its
//! worker's lease.

use super::tables::written_table;
use engine::commands::{Command, CompetitionCommand};
use engine::ids::{MatchId, TableId};
use std::collections::BTreeSet;

/// Commands that are done together, by their place in the batch.
pub(super) struct CommandRun {
    pub(super) kind: RunKind,
    pub(super) places: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RunKind {
    Appends,
    Creations,
    /// Openings, appends and releases of tables.
    Tables,
    /// A command by itself.
    One,
}

impl RunKind {
    fn of(command: &Command) -> Self {
        match command {
            Command::AppendMatch(_) => Self::Appends,
            Command::CreateMatches(_) => Self::Creations,
            table if written_table(table).is_some() => Self::Tables,
            _ => Self::One,
        }
    }
}

pub(super) fn plan(commands: &[Command]) -> Vec<CommandRun> {
    let mut runs = Vec::new();
    let mut stretch = ReorderWindow::default();
    for (at, command) in commands.iter().enumerate() {
        match command {
            Command::AppendMatch(append) if !stretch.touched.contains(&append.id) => stretch.appends.push(at),
            Command::ClaimMatches { .. }
            | Command::RetireMatches { .. }
            | Command::ClaimTable { .. }
            | Command::ClaimTables { .. }
            | Command::RetireGames { .. } => {
                runs.append(&mut stretch.end());
                runs.push(CommandRun { kind: RunKind::One, places: vec![at] });
            }
            other if stretch.can_go_first(other) => stretch.tables.push(at),
            other => {
                stretch.touched.extend(touched(other));
                stretch.touched_tables.extend(written_table(other));
                stretch.is_lease_touched |= matches!(other, Command::RenewLease { .. } | Command::EndLease { .. });
                stretch.push(at, other);
            }
        }
    }
    runs.append(&mut stretch.end());
    runs
}

/// What lies between two commands that nothing passes.
#[derive(Default)]
struct ReorderWindow {
    /// Appends that come first.
    appends: Vec<usize>,
    /// Writes to tables that come first.
    tables: Vec<usize>,
    others: Vec<CommandRun>,
    touched: BTreeSet<MatchId>,
    touched_tables: BTreeSet<TableId>,
    is_lease_touched: bool,
}

impl ReorderWindow {
    /// Whether this is a write to a table that may pass everything so far.
    fn can_go_first(&self, command: &Command) -> bool {
        let is_held_up = matches!(command, Command::OpenTable(_)) && self.is_lease_touched;
        written_table(command).is_some_and(|id| !is_held_up && !self.touched_tables.contains(&id))
    }

    fn push(&mut self, at: usize, command: &Command) {
        let kind = RunKind::of(command);
        match self.others.last_mut() {
            Some(last) if last.kind == kind && kind != RunKind::One => last.places.push(at),
            _ => self.others.push(CommandRun { kind, places: vec![at] }),
        }
    }

    fn end(&mut self) -> Vec<CommandRun> {
        let Self { appends, tables, others, .. } = std::mem::take(self);
        let first = [(RunKind::Appends, appends), (RunKind::Tables, tables)].into_iter();
        let first = first.filter(|(_, places)| !places.is_empty()).map(|(kind, places)| CommandRun { kind, places });
        first.chain(others).collect()
    }
}

/// The matches that a command names.
pub(super) fn touched(command: &Command) -> Vec<MatchId> {
    match command {
        Command::CreateMatches(create) => create.matches.iter().map(|spec| spec.id).collect(),
        Command::AppendMatch(append) | Command::FinishMatch { append, .. } => vec![append.id],
        Command::CancelMatch { id, .. }
        | Command::RequeueMatch { id, .. }
        | Command::FailMatch { id, .. }
        | Command::ReleaseMatch { id, .. } => vec![*id],
        Command::EnsureAccount(_)
        | Command::CreateToken(_)
        | Command::DeleteToken { .. }
        | Command::RecordTokenUses(_)
        | Command::CreateBot(_)
        | Command::UpdateBot(_)
        | Command::DeleteBot { .. }
        | Command::RenewLease { .. }
        | Command::EndLease { .. }
        | Command::EndAllLeases
        | Command::ClaimMatches { .. }
        | Command::RetireMatches { .. }
        | Command::PutLimitPolicy(_)
        | Command::DeleteLimitPolicy { .. }
        | Command::PutLimitOverride(_)
        | Command::DeleteLimitOverride { .. }
        | Command::OpenTable(_)
        | Command::AppendTable(_)
        | Command::ClaimTable { .. }
        | Command::ClaimTables { .. }
        | Command::ReleaseTable { .. }
        | Command::RetireGames { .. }
        | Command::RetireGuests { .. }
        | Command::EnsureSecret { .. }
        | Command::AcquireLeadership { .. }
        | Command::Competition(CompetitionCommand::Create { .. } | CompetitionCommand::Retire { .. })
        | Command::Ladder(_)
        | Command::World(_)
        | Command::Bot(_)
        | Command::Code(_)
        | Command::Account(_)
        | Command::Ban(_)
        | Command::Audit(_) => Vec::new(),
        Command::Competition(CompetitionCommand::Advance(advance)) => {
            advance.matches.iter().map(|spec| spec.id).collect()
        }
        Command::Competition(CompetitionCommand::AddMatches(add)) => add.matches.iter().map(|spec| spec.id).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::commands::{CreateMatches, MatchAppend, OpenTable, TableAppend};
    use engine::ids::{AccountId, WorkerId};
    use engine::matches::slots::SlotUsage;
    use engine::time::UnixMs;

    fn command(word: &str) -> Command {
        let id = MatchId(word[1..].parse().unwrap_or_default());
        match &word[..1] {
            "a" => Command::AppendMatch(MatchAppend {
                id,
                epoch: 1,
                rows: Vec::new(),
                expected_version: 0,
                started_at: None,
            }),
            "r" => Command::ReleaseMatch { id, epoch: 1, is_refunded: true },
            "c" => Command::CreateMatches(CreateMatches {
                account: AccountId(1),
                idempotency: None,
                matches: Vec::new(),
                now: UnixMs(0),
            }),
            "C" => Command::ClaimMatches {
                worker: WorkerId(1),
                number: 1,
                now: UnixMs(0),
                max: 1,
                slots: SlotUsage::new(1),
                attempts_max: 1,
            },
            "o" => Command::OpenTable(OpenTable {
                worker: WorkerId(1),
                now: UnixMs(0),
                idempotency: None,
                append: table_append(TableId(id.0)),
            }),
            "t" => Command::AppendTable(table_append(TableId(id.0))),
            "x" => Command::ReleaseTable { id: TableId(id.0), epoch: 1 },
            "T" => Command::ClaimTable { id: TableId(id.0), worker: WorkerId(1), now: UnixMs(0) },
            _ => Command::EndLease { worker: WorkerId(1) },
        }
    }

    fn table_append(id: TableId) -> TableAppend {
        let (rows, index) = (Vec::new(), Vec::new());
        TableAppend { id, epoch: 1, expected_version: 0, rows, index_changes: index, snapshot: None, is_live: true }
    }

    #[track_caller]
    fn check(batch: &str, want: &str) {
        let commands: Vec<_> = batch.split_whitespace().map(command).collect();
        let words: Vec<_> = batch.split_whitespace().collect();
        let runs = plan(&commands).into_iter();
        let runs = runs.map(|run| run.places.iter().map(|at| words[*at]).collect::<Vec<_>>().join("+"));
        assert_eq!(runs.collect::<Vec<_>>().join(" "), want, "{batch}");
    }

    #[test]
    fn appends_come_together_unless_their_match_is_touched() {
        check("", "");
        check("a1 a2 a1", "a1+a2+a1");
        check("a1 e a2 r3 a4 e", "a1+a2+a4 e r3 e");
        check("a1 r1 a1 a2 a1", "a1+a2 r1 a1+a1");
        check("a1 r1 a1 e a1", "a1 r1 a1 e a1");
        check("c c a1 c e c", "a1 c+c+c e c");
    }

    #[test]
    fn writes_to_tables_come_together_unless_a_lease_is_touched() {
        check("o1 t1 x1 o2", "o1+t1+x1+o2");
        check("c t1 a1 t2 r1 x1", "a1 t1+t2+x1 c r1");
        check("o1 e t2 o3 t2 t3 x4", "o1+t2+t2+x4 e o3+t3");
        check("e o1 c t1", "e o1 c t1");
    }

    #[test]
    fn nothing_passes_a_claim() {
        check("t1 T1 t1 x1 T2 o3", "t1 T1 t1+x1 T2 o3");
        check("a1 C a1 a2 C a3", "a1 C a1+a2 C a3");
        check("r1 C a1", "r1 C a1");
    }
}

//! The final check: what all viewers received, compared with the log. The log is replayed, entry by entry; each version
//! of a table is a state that readers could have seen, from the moment at which it was committed.

use super::log::TableHistory;
use super::observations::{Observation, ObservedKind};
use super::workload::TableWorkload;
use crate::world::SimWorld;
use engine::ids::{PlayerId, TableId};
use engine::limits::LEASE_DURATION;
use engine::tables::{EventKind, Table, TableEvent, TableView};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How late a waiting poll may receive a change without faults: the time of a commit's outcome back to its owner task.
const WAKE_TIMEOUT: Duration = Duration::from_millis(50);
/// What went wrong is over for good so long after the last fault: leases have ended, tables were read again.
const HEAL_TIMEOUT: Duration = LEASE_DURATION.saturating_mul(2);

/// Totals of what was received.
#[derive(Default)]
pub(super) struct ObservationTotals {
    pub(super) events: u32,
    pub(super) unknown: u32,
    pub(super) too_old: u32,
}

/// Fails the simulation if anything that must be true is not.
pub(super) fn check(world: &SimWorld<TableWorkload>) -> ObservationTotals {
    let mut totals = ObservationTotals::default();
    let observations = world.workload.take_observations();
    world.with_oracle(|log| {
        log.violations.assert_none();
        for id in &world.workload.ids {
            let recorded = log.tables.get(id).expect("every table is opened in the end");
            let faulty_for = world.cluster().faults.faulty_for;
            let healed_at = if faulty_for.is_zero() { faulty_for } else { faulty_for + HEAL_TIMEOUT };
            let history = History::of(*id, recorded, healed_at);
            assert!(history.last().live_game().is_none(), "table {id}: a game still goes on, though its time is over");
            let of_this: Vec<&Observation> =
                observations.iter().filter(|observation| observation.table == *id).collect();
            history.check(&of_this, &mut totals);
        }
    });
    totals
}

/// Every state that a table was ever in.
struct History {
    id: TableId,
    /// The table after so many entries, and when the last of them was committed.
    states: Vec<(Table, Duration)>,
    /// From then on nothing goes wrong.
    healed_at: Duration,
}

/// An event that a viewer was to receive.
struct ExpectedEvent {
    event: TableEvent,
    /// Entries in the log with it.
    version: usize,
}

impl History {
    fn of(id: TableId, recorded: &TableHistory, healed_at: Duration) -> Self {
        let rows: Vec<_> = recorded.rows.iter().map(|(row, _)| row.clone()).collect();
        let state = |version: usize| {
            let table = Table::restore(&recorded.snapshot, &rows[..version]).expect("what was saved can be read");
            let at = version.checked_sub(1).map_or(Duration::ZERO, |last| recorded.rows[last].1);
            (table, at)
        };
        Self { id, states: (0..=rows.len()).map(state).collect(), healed_at }
    }

    fn last(&self) -> &Table {
        &self.states.last().expect("there is a state before the first entry").0
    }

    fn check(&self, observations: &[&Observation], totals: &mut ObservationTotals) {
        let mut counts = self.chat_counts();
        let viewers: BTreeSet<Option<PlayerId>> = observations.iter().map(|observation| observation.viewer).collect();
        for viewer in viewers {
            let expected = self.expected_events(viewer);
            let own = observations.iter().filter(|observation| observation.viewer == viewer);
            self.check_viewer(viewer, &expected, own.copied(), totals);
        }
        for observation in observations {
            match &observation.kind {
                ObservedKind::ActionDone { chat_line: Some(text), .. } => {
                    let count = counts.remove(text.as_str()).unwrap_or(0);
                    assert_eq!(count, 1, "table {}: {text:?} was acknowledged, and is there {count} times", self.id);
                }
                ObservedKind::ActionRejected { chat_line: Some(text) } => {
                    assert_eq!(
                        counts.get(text.as_str()),
                        None,
                        "table {}: {text:?} was refused, and is there",
                        self.id
                    );
                }
                ObservedKind::ActionUnknown { chat_line: text } => {
                    totals.unknown += 1;
                    let count = text.as_ref().and_then(|text| counts.remove(text.as_str())).unwrap_or(0);
                    assert!(count <= 1, "table {}: {text:?} is there {count} times", self.id);
                }
                _ => {}
            }
        }
    }

    /// Lines of chat in the log, and how often each is there.
    fn chat_counts(&self) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        let mut members: Vec<PlayerId> = self.states.iter().flat_map(|(table, _)| table.members()).collect();
        members.sort_unstable();
        members.dedup();
        let of_members = members.into_iter().flat_map(|member| {
            // All viewers receive it, the author included.
            self.expected_events(Some(member)).into_iter().filter_map(move |expected| match expected.event.kind {
                EventKind::ChatSent { player, text } if player == member => Some(text.to_string()),
                _ => None,
            })
        });
        of_members.for_each(|text| *counts.entry(text).or_default() += 1);
        counts
    }

    /// Every event that this viewer was to receive, in order.
    fn expected_events(&self, viewer: Option<PlayerId>) -> Vec<ExpectedEvent> {
        let mut expected: Vec<ExpectedEvent> = Vec::new();
        for (version, (table, _)) in self.states.iter().enumerate() {
            match table.feed(viewer, expected.len() as u64) {
                Some(update) => {
                    expected.extend(update.events.into_iter().map(|event| ExpectedEvent { event, version }));
                }
                None => panic!("table {}: {viewer:?} cannot follow the log itself at {version}", self.id),
            }
        }
        let numbers = expected.iter().map(|expected| expected.event.seq);
        assert!(
            numbers.eq(1..=expected.len() as u64),
            "table {}: the events of {viewer:?} are not contiguous",
            self.id
        );
        expected
    }

    /// One viewer's answers. Requests are sent one after the other, so the state seen never goes back.
    fn check_viewer<'a>(
        &self,
        viewer: Option<PlayerId>,
        expected: &[ExpectedEvent],
        observations: impl Iterator<Item = &'a Observation>,
        totals: &mut ObservationTotals,
    ) {
        let mut cursor = 0;
        let mut reached = 0;
        for observation in observations {
            match &observation.kind {
                ObservedKind::Update { after, events } => {
                    assert_eq!(*after, cursor, "table {}: {viewer:?} continued from another cursor", self.id);
                    totals.events += events.len() as u32;
                    for event in events {
                        cursor += 1;
                        let want = &expected[cursor as usize - 1];
                        assert_eq!(*event, want.event, "table {}: {viewer:?} received something else", self.id);
                        self.check_committed(want.version, observation);
                    }
                    if let Some(next) = expected.get(cursor as usize) {
                        self.check_prompt(next.version, observation);
                    }
                }
                ObservedKind::TooOld { view } => {
                    totals.too_old += 1;
                    cursor = view.seq;
                    reached = self.check_view(view, observation, reached);
                }
                ObservedKind::View(view) | ObservedKind::ActionDone { view, .. } => {
                    reached = self.check_view(view, observation, reached);
                }
                ObservedKind::ActionRejected { .. } | ObservedKind::ActionUnknown { .. } => {}
            }
        }
    }

    fn check_committed(&self, version: usize, observation: &Observation) {
        let committed = self.states[version].1;
        assert!(
            committed <= observation.received_at,
            "table {}: {:?} received at {:?} what was committed at {committed:?}",
            self.id,
            observation.viewer,
            observation.received_at
        );
    }

    /// No poll waited on after there was something to receive.
    fn check_prompt(&self, version: usize, observation: &Observation) {
        let committed = self.states[version].1;
        assert!(
            committed.max(self.healed_at) + WAKE_TIMEOUT > observation.received_at,
            "table {}: {:?} waited until {:?} though there was an event at {committed:?}",
            self.id,
            observation.viewer,
            observation.received_at
        );
    }

    /// A view is that of a state which was committed by then, and not older than what this viewer has seen. Which version it was,
    /// at least.
    fn check_view(&self, view: &TableView, observation: &Observation, reached: usize) -> usize {
        let states = self.states.iter().enumerate().skip(reached);
        let mut known = states.take_while(|(_, (_, at))| *at <= observation.received_at);
        let found = known.find(|(_, (table, _))| {
            table.seq(observation.viewer) == view.seq
                && without_chat(table.view(observation.viewer)) == without_chat(view.clone())
        });
        let Some((version, _)) = found else {
            let wanted = self.states.iter().position(|(table, _)| table.seq(observation.viewer) == view.seq);
            panic!(
                "table {}: {:?} saw at {:?} (sent at {:?}) what was never so, or not any more: seq {}, first at version \
                 {wanted:?}, the viewer had seen {reached}: {view:#?}",
                self.id, observation.viewer, observation.received_at, observation.sent_at, view.seq
            );
        };
        version
    }
}

/// Chat is dropped by time, and the log has none.
fn without_chat(mut view: TableView) -> TableView {
    view.chat.clear();
    view
}

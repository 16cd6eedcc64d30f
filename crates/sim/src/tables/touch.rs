//! What the keepers touch beyond their lease, in the made-up world; and which processes can be reached, under which address.

use super::log::Log;
use super::plan::Plan;
use super::seen::Sight;
use crate::chance::Dice;
use crate::world::{Node, Story};
use engine::commands::Command;
use engine::ids::TableId;
use engine::rows::TableWhere;
use engine::time::UnixMs;
use rules::chance::Seed;
use server::tables::{Committed, Outside, Tables};
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::StoreError;

/// What happens at the tables, and who saw what of it.
pub(super) struct AtTables {
    pub(super) plan: Plan,
    pub(super) ids: Vec<TableId>,
    /// Processes that are alive.
    doors: Mutex<Vec<Door>>,
    sights: Mutex<Vec<Sight>>,
}

/// Where a process can be reached while it is alive.
#[derive(Clone)]
pub(super) struct Door {
    pub(super) address: String,
    pub(super) tables: Tables,
}

impl Story for AtTables {
    type Oracle = Log;
}

impl AtTables {
    pub(super) fn new(plan: Plan, ids: Vec<TableId>) -> Self {
        Self { plan, ids, doors: Mutex::default(), sights: Mutex::default() }
    }

    pub(super) fn open_door(&self, door: Door) {
        lock(&self.doors).push(door);
    }

    pub(super) fn close_door(&self, address: &str) {
        lock(&self.doors).retain(|door| door.address != address);
    }

    /// The process of this address, or else some process, if any is alive.
    pub(super) fn door(&self, address: Option<&str>, any: u64) -> Option<Door> {
        let doors = lock(&self.doors);
        let named = address.and_then(|address| doors.iter().find(|door| door.address == address));
        named.or_else(|| doors.get(any as usize % doors.len().max(1))).cloned()
    }

    pub(super) fn saw(&self, sight: Sight) {
        lock(&self.sights).push(sight);
    }

    pub(super) fn take_sights(&self) -> Vec<Sight> {
        std::mem::take(&mut lock(&self.sights))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Outside for Node<AtTables> {
    async fn commit_all(&self, commands: Vec<Command>) -> Result<Committed, StoreError> {
        let appends = commands.iter().filter_map(|command| match command {
            Command::AppendTable(append) => Some((append.id, append.epoch)),
            _ => None,
        });
        let appends: Vec<_> = appends.collect();
        self.world.oracle(|log| appends.iter().for_each(|(id, epoch)| log.appends(*id, *epoch)));
        let sent = self.send(commands).await;
        if sent.is_err() {
            self.world.oracle(|log| log.unheard.extend(appends));
        }
        Ok(Committed { outcomes: sent?, at_us: self.now_us() })
    }

    async fn owner(&self, id: TableId) -> Result<Option<TableWhere>, StoreError> {
        self.reach_store().await?;
        let now = self.world.now();
        Ok(self.world.read(|reader| reader.table_owner(id, now)))
    }

    fn seed(&self) -> Seed {
        Seed(self.world.roll(Dice::next))
    }

    fn steady(&self) -> UnixMs {
        self.world.now()
    }

    fn now_us(&self) -> i64 {
        self.world.now().0.saturating_mul(1_000)
    }
}

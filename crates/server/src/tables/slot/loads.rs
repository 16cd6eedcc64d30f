//! How a table comes into memory, and is read again when nobody knows how it stands.

use super::{Deed, Doing, REST_MAX, REST_MIN, Slot, guarded};
use crate::tables::TableError;
use crate::tables::keeper::Ways;
use crate::tables::load::{Claim, Unheard};
use crate::tables::outside::Outside;
use engine::commands::ClaimedTable;
use engine::limits::LEASE_DURATION;
use engine::tables::Table;

impl Slot {
    /// Claims the table and reads it as it is in the store; until then nothing is said about it.
    pub(in crate::tables) fn load<O: Outside>(&mut self, ways: &mut Ways<O>, asks_first: bool) {
        self.table = None;
        self.disarm(ways);
        if ways.is_leaving {
            return self.refuse_all(&TableError::Draining);
        }
        ways.shared.metrics.table_loading();
        ways.claim(self.id, asks_first);
        self.doing = Some(Box::new(Doing::Loading));
    }

    /// A claim of ours is over.
    pub(in crate::tables) fn claimed<O: Outside>(
        &mut self,
        ways: &mut Ways<O>,
        claimed: Result<Claim, Unheard>,
    ) -> Deed {
        self.doing = None;
        match claimed {
            Ok(Claim::Ours(claimed)) => self.adopt(ways, &claimed),
            // Our own address: an earlier life of this process, whose lease has not ended yet.
            Ok(Claim::Elsewhere(address)) if address == ways.outside.address() => {
                Err(TableError::Inherited { lease: LEASE_DURATION })
            }
            Ok(Claim::Elsewhere(address)) => Err(TableError::Elsewhere { address }),
            Ok(Claim::Missing) => Err(TableError::NoSuchTable),
            Ok(Claim::LeaseLost) => {
                ways.is_lost = true;
                Err(TableError::NotServing)
            }
            Err(Unheard { why, may_be_ours: false }) if self.room.is_none() => Err(TableError::Store(why)),
            Err(Unheard { why, .. }) => {
                self.refuse_all(&TableError::Store(why));
                ways.rest(self.id, self.rest);
                self.rest = (self.rest * 2).min(REST_MAX);
                self.doing = Some(Box::new(Doing::Resting));
                Ok(())
            }
        }
    }

    /// The pause after a claim that was not answered is over.
    pub(in crate::tables) fn rested<O: Outside>(&mut self, ways: &mut Ways<O>) -> Deed {
        self.doing = None;
        self.load(ways, false);
        Ok(())
    }

    /// Takes the table as the store gave it.
    pub(in crate::tables) fn adopt<O: Outside>(&mut self, ways: &mut Ways<O>, claimed: &ClaimedTable) -> Deed {
        let restored = guarded(self.id, || Table::restore(&claimed.snapshot, &claimed.rows))?;
        let table = restored.map_err(|corrupt| {
            tracing::error!(table.id = %self.id, %corrupt, "a table cannot be read");
            TableError::Broken
        })?;
        self.epoch = claimed.epoch;
        self.opener = Some(ways.shared.openers.load(table.opener()));
        self.unsure = None;
        self.table = Some(Box::new(table));
        self.rest = REST_MIN;
        self.asked_at = ways.outside.steady();
        self.assumed_until = Some(self.asked_at.plus(ways.shared.settings.presence_grace));
        self.tell(ways, None)?;
        self.go_on(ways)
    }

    /// The life has claimed the table, too. What is under way settles who has the higher epoch.
    pub(in crate::tables) fn claimed_meanwhile<O: Outside>(&mut self, ways: &mut Ways<O>, epoch: u32) {
        if self.doing.is_none() && epoch > self.epoch {
            self.load(ways, false);
        }
    }
}

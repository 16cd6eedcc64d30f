//! Who may wait behind what is under way at a table: so that nobody who loops keeps the others out.

use super::{OwnedTable, TableResult, catch_panic};
use crate::tables::TableError;
use crate::tables::environment::TableEnvironment;
use crate::tables::message::{ActionRequest, Request};
use crate::tables::owner_task::OwnerContext;
use engine::ids::PlayerId;
use engine::limits::{TABLE_QUEUE_MAX, TABLE_QUEUE_NON_MEMBERS_MAX, TABLE_QUEUE_PER_PLAYER_MAX};
use engine::tables::Refusal;

impl OwnedTable {
    /// Gives a request a place, unless it is refused as things stand, or its asker and those like him have as many as they may.
    pub(super) fn enqueue<O: TableEnvironment>(&mut self, ways: &OwnerContext<O>, request: Request) -> TableResult {
        let request = match request {
            Request::Act(act) => match self.refusal(ways, &act)? {
                Some(refusal) => {
                    drop(act.reply.send(Err(TableError::Refused(refusal))));
                    return Ok(());
                }
                None => Request::Act(act),
            },
            other => other,
        };
        if self.has_queue_room(request.requester()) {
            self.queue.push_back(request);
        } else {
            request.refuse(&TableError::Busy);
        }
        Ok(())
    }

    /// Why an action is refused on what is committed. It came while the next commit was under way, so nobody has been told yet that it
    /// could succeed: it counts as done before that commit.
    fn refusal<O: TableEnvironment>(
        &self,
        ways: &OwnerContext<O>,
        act: &ActionRequest,
    ) -> Result<Option<Refusal>, TableError> {
        let Some(table) = self.table.as_ref().filter(|_| ways.lease.is_valid()) else { return Ok(None) };
        let now = ways.environment.steady_now();
        let is_present = |player| self.is_present(player);
        catch_panic(self.id, || table.decide(act.actor, act.game, &act.action, now, &is_present).err())
    }

    fn has_queue_room(&self, asker: Option<PlayerId>) -> bool {
        let is_member = |asker: Option<PlayerId>| {
            let mut members = self.table.iter().flat_map(|table| table.members());
            asker.is_some_and(|asker| members.any(|member| member == asker))
        };
        let askers = || self.queue.iter().map(Request::requester);
        let of_his = askers().filter(|other| *other == asker).count();
        let has_share = of_his < TABLE_QUEUE_PER_PLAYER_MAX;
        let of_strangers = || askers().filter(|other| !is_member(*other)).count();
        // Who sits at a table is known once it is loaded.
        let has_kind = self.table.is_none() || is_member(asker) || of_strangers() < TABLE_QUEUE_NON_MEMBERS_MAX;
        self.queue.len() < TABLE_QUEUE_MAX && has_share && has_kind
    }
}

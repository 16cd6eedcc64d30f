//! Limits on requests that wait for the operation in flight at a table: so that one client in a loop does not keep others out.

use super::{OwnedTable, TableResult, catch_panic};
use crate::TableError;
use crate::environment::TableEnvironment;
use crate::message::{ActionRequest, Request};
use crate::owner_context::OwnerContext;
use engine::ids::PlayerId;
use engine::limits::{TABLE_QUEUE_MAX, TABLE_QUEUE_NON_MEMBERS_MAX, TABLE_QUEUE_PER_PLAYER_MAX};
use engine::tables::Refusal;

impl OwnedTable {
    /// Queues a request, unless it is refused already, or its requester or kind of requester has reached its limit.
    pub(super) fn enqueue<O: TableEnvironment>(&mut self, context: &OwnerContext<O>, request: Request) -> TableResult {
        let request = match request {
            Request::Act(act) => match self.refusal(context, &act)? {
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

    /// Why an action is refused in the committed state. It came while the next commit was in flight, and no client has seen that commit: it
    /// counts as done before.
    fn refusal<O: TableEnvironment>(
        &self,
        context: &OwnerContext<O>,
        act: &ActionRequest,
    ) -> Result<Option<Refusal>, TableError> {
        let Some(table) = self.table.as_ref().filter(|_| context.lease.is_valid()) else { return Ok(None) };
        let now = context.environment.steady_now();
        let is_present = |player| self.is_present(player);
        catch_panic(self.id, || table.decide(act.actor, act.game, &act.action, now, &is_present).err())
    }

    fn has_queue_room(&self, requester: Option<PlayerId>) -> bool {
        let is_member = |requester: Option<PlayerId>| {
            let mut members = self.table.iter().flat_map(|table| table.members());
            requester.is_some_and(|requester| members.any(|member| member == requester))
        };
        let askers = || self.queue.iter().map(Request::requester);
        let of_his = askers().filter(|other| *other == requester).count();
        let has_share = of_his < TABLE_QUEUE_PER_PLAYER_MAX;
        let of_strangers = || askers().filter(|other| !is_member(*other)).count();
        // The members of a table are known once it is loaded.
        let has_kind = self.table.is_none() || is_member(requester) || of_strangers() < TABLE_QUEUE_NON_MEMBERS_MAX;
        self.queue.len() < TABLE_QUEUE_MAX && has_share && has_kind
    }
}

//! How the slots of a worker are shared between accounts: a dynamic threshold, as switches share the memory of their ports (Choudhury and Hahne,
//! "Dynamic queue length thresholds for shared-memory packet switches", 1998). The more slots are taken, the fewer may one account have;
//! so the next account finds a free one, and an account that is alone leaves little unused.

use crate::ids::AccountId;
use crate::limits::SLOT_THRESHOLD_FACTOR;
use std::collections::BTreeMap;

/// The slots of one worker: how many are free, and how many each account's matches take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotUsage {
    free: usize,
    taken: BTreeMap<AccountId, usize>,
}

impl SlotUsage {
    /// Of a worker that plays nothing.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        Self { free: slots, taken: BTreeMap::new() }
    }

    #[must_use]
    pub fn free(&self) -> usize {
        self.free
    }

    /// Whether an account may take one more: it has fewer than [`SLOT_THRESHOLD_FACTOR`] times those that are free.
    #[must_use]
    pub fn admits(&self, account: AccountId) -> bool {
        self.taken.get(&account).copied().unwrap_or_default() < self.threshold()
    }

    /// Accounts that hold slots and may not take one more.
    pub fn accounts_at_threshold(&self) -> impl Iterator<Item = AccountId> {
        let threshold = self.threshold();
        self.taken.iter().filter(move |(_, taken)| **taken >= threshold).map(|(account, _)| *account)
    }

    /// A match of this account begins. That it is admitted is not required: what another worker has lost is always taken over.
    pub fn take(&mut self, account: AccountId) {
        self.free = self.free.saturating_sub(1);
        *self.taken.entry(account).or_default() += 1;
    }

    /// A match of this account has ended.
    pub fn release(&mut self, account: AccountId) {
        let Some(taken) = self.taken.get_mut(&account) else { return };
        self.free += 1;
        *taken -= 1;
        if *taken == 0 {
            self.taken.remove(&account);
        }
    }

    fn threshold(&self) -> usize {
        self.free.saturating_mul(SLOT_THRESHOLD_FACTOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// So many accounts, one after the other, take all that they are admitted to; how many each has.
    #[track_caller]
    fn check(slots: usize, accounts: u128, want: &[usize]) {
        let mut usage = SlotUsage::new(slots);
        while let Some(account) = (0..accounts).map(AccountId).find(|account| usage.admits(*account)) {
            for account in (account.0..accounts).map(AccountId) {
                if usage.admits(account) {
                    usage.take(account);
                }
            }
        }
        let taken: Vec<usize> = (0..accounts).map(|n| usage.taken.get(&AccountId(n)).copied().unwrap_or(0)).collect();
        assert_eq!(taken, want, "of {slots} slots");
    }

    #[test]
    fn accounts_that_want_all_have_equal_shares_and_leave_one() {
        check(0, 1, &[0]);
        check(1, 1, &[1]);
        check(3, 1, &[3]);
        check(100, 1, &[75]);
        check(10_000, 1, &[7_500]);
        check(70, 2, &[30, 30]);
        check(10_000, 3, &[3_000; 3]);
        check(100, 11, &[9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 8]);
    }

    #[test]
    fn an_account_that_had_all_gives_way_as_its_matches_end() {
        let (hog, late) = (AccountId(1), AccountId(2));
        let mut usage = SlotUsage::new(70);
        while usage.admits(hog) {
            usage.take(hog);
        }
        assert!(usage.admits(late));
        while usage.admits(late) {
            usage.take(late);
        }
        let first = usage.taken[&late];
        assert!(first >= 13, "{first}");
        for _ in 0..70 {
            if usage.taken[&hog] > 30 {
                usage.release(hog);
            }
            while usage.admits(late) {
                usage.take(late);
            }
        }
        assert_eq!((usage.taken[&hog], usage.taken[&late]), (30, 30));
        assert_eq!(usage.accounts_at_threshold().collect::<Vec<_>>(), [hog, late]);
    }

    proptest! {
        /// Whatever accounts came before: one that has nothing is admitted as long as anything is free, and what is released is free again.
        #[test]
        fn a_newcomer_is_admitted_while_a_slot_is_free(slots in 0..200_usize, steps in prop::collection::vec((0..8_u128, any::<bool>()), 0..400)) {
            let mut usage = SlotUsage::new(slots);
            for (account, is_taken) in steps {
                let account = AccountId(account);
                if !is_taken {
                    usage.release(account);
                } else if usage.admits(account) {
                    usage.take(account);
                }
                prop_assert_eq!(usage.free + usage.taken.values().sum::<usize>(), slots);
                prop_assert_eq!(usage.admits(AccountId(99)), usage.free > 0);
            }
        }
    }
}

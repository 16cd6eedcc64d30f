//! In which order and in which groups items are polled, so that an item for which there is no response delays no other and hides none.
//! Pure.

use std::collections::BTreeSet;

/// Where a round starts, and which items are polled in smaller groups.
#[derive(Debug, Default)]
pub(super) struct PollOrder {
    resume_after: Option<Box<str>>,
    /// Items of groups that got no response. One of them may be the reason: they are polled in groups of half the size, down to each by
    /// itself, until they get one.
    suspects: BTreeSet<Box<str>>,
    suspects_at_once: usize,
}

impl PollOrder {
    /// The groups of a round, each of at most `at_once` items, of items in the order of their ids. It starts after the group that got no
    /// response in the round before.
    pub(super) fn groups(&mut self, mut ids: Vec<Box<str>>, at_once: usize) -> Vec<Vec<Box<str>>> {
        self.suspects.retain(|id| ids.binary_search(id).is_ok());
        if let Some(last_polled) = self.resume_after.take() {
            let at = ids.partition_point(|id| *id <= last_polled);
            ids.rotate_left(at);
        }
        let mut groups: Vec<Vec<Box<str>>> = Vec::new();
        let mut are_suspects = false;
        for id in ids {
            let is_suspect = self.suspects.contains(&id);
            let max = if is_suspect { self.suspects_at_once } else { at_once };
            match groups.last_mut() {
                Some(group) if are_suspects == is_suspect && group.len() < max => group.push(id),
                Some(_) | None => groups.push(vec![id]),
            }
            are_suspects = is_suspect;
        }
        groups
    }

    /// A request for this group got a response.
    pub(super) fn got_response(&mut self, group: &[Box<str>]) {
        if !self.suspects.is_empty() {
            group.iter().for_each(|id| _ = self.suspects.remove(id));
        }
    }

    /// It got none, and the round ends with it. `may_be_an_item` says whether one of the items may be the reason: not where the target was
    /// not reached at all, or where each item had a request of its own.
    pub(super) fn got_no_response(&mut self, group: &[Box<str>], may_be_an_item: bool) {
        self.resume_after = group.last().cloned();
        if may_be_an_item {
            let half = (group.len() / 2).max(1);
            self.suspects_at_once = if self.suspects.is_empty() { half } else { half.min(self.suspects_at_once) };
            self.suspects.extend(group.iter().cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids(count: usize) -> Vec<Box<str>> {
        (0..count).map(|n| format!("w{n:02}").into()).collect()
    }

    /// Polls until every item outside of `silent` got a response, beginning after the item `after`; returns the rounds that took, or none
    /// if it takes too many.
    fn rounds_until_all_responded(silent: &[bool], at_once: usize, after: usize) -> Option<usize> {
        let all = ids(silent.len());
        let is_silent = |id: &str| all.iter().position(|other| **other == *id).is_some_and(|at| silent[at]);
        let mut order = PollOrder { resume_after: all.get(after).cloned(), ..PollOrder::default() };
        let mut unfinished = all.clone();
        for round in 0..10 * all.len() + 20 {
            if unfinished.iter().all(|id| is_silent(id)) {
                return Some(round);
            }
            for group in order.groups(unfinished.clone(), at_once) {
                assert!(group.len() <= at_once);
                if group.iter().any(|id| is_silent(id)) {
                    order.got_no_response(&group, true);
                    break;
                }
                order.got_response(&group);
                unfinished.retain(|id| !group.contains(id));
            }
        }
        None
    }

    /// Wherever the rounds began, each group of three had a silent item in it: three others were never polled without one.
    #[test]
    fn items_that_share_each_group_with_a_silent_one_are_polled() {
        for after in 0..6 {
            let rounds = rounds_until_all_responded(&[true, true, true, false, false, false], 3, after);
            assert!(rounds.is_some_and(|rounds| rounds <= 8), "{after}: {rounds:?}");
        }
    }

    #[test]
    fn a_target_that_was_not_reached_splits_no_group() {
        let mut order = PollOrder::default();
        let groups = order.groups(ids(6), 4);
        order.got_no_response(&groups[0], false);
        let sizes = |groups: Vec<Vec<Box<str>>>| groups.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(order.groups(ids(6), 4)), [4, 2]);
        // It was reached, and did not respond: then one that does.
        let groups = order.groups(ids(6), 4);
        order.got_no_response(&groups[0], true);
        assert_eq!(sizes(order.groups(ids(6), 4)), [2, 2, 2]);
        order.got_response(&ids(4));
        assert_eq!(sizes(order.groups(ids(6), 4)), [4, 2]);
    }

    proptest! {
        #[test]
        fn every_item_is_polled_without_the_silent_ones(
            silent in prop::collection::vec(any::<bool>(), 1..40), at_once in 1_usize..20, after in 0_usize..40,
        ) {
            prop_assert!(rounds_until_all_responded(&silent, at_once, after).is_some());
        }
    }
}

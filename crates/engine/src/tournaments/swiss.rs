//! The pairs of one round of a Swiss tournament.
//!
//! From the top of the table down, each entrant gets the best opponent with whom the rest can still be paired with as few rematches
//! as possible: whether that is so is decided exactly, by a matching. With as many points as the entrant, the ideal opponent stands
//! half of the score group below; without one there, the nearest points come next. In an odd field the lowest
//! who can pauses, none twice while that can be avoided.

use crate::tournaments::matching::{Graph, Matching};

/// An entrant in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Competitor {
    pub(super) entrant: u16,
    pub(super) points: u32,
    pub(super) byes: u32,
}

/// The pairs of a round, and who has none.
pub(super) struct Round {
    pub(super) pairs: Vec<(u16, u16)>,
    pub(super) bye: Option<u16>,
}

/// Pairs these, best first. `meetings` says how often two of them have met.
pub(super) fn pair(table: &[Competitor], meetings: impl Fn(u16, u16) -> u32) -> Round {
    let meetings_at = |a: usize, b: usize| meetings(table[a].entrant, table[b].entrant);
    let is_new = |a: usize, b: usize| meetings_at(a, b) == 0;
    let bye = (table.len() % 2 == 1).then(|| choose_bye(table, is_new));
    let playing: Vec<usize> = (0..table.len()).filter(|at| Some(*at) != bye).collect();
    let graph = Graph::new(playing.len(), |a, b| is_new(playing[a], playing[b]));
    let mut matching = Matching::of(&graph);
    let mut is_paired = vec![false; playing.len()];
    let mut pairs = Vec::with_capacity(playing.len() / 2);
    for top in 0..playing.len() {
        if is_paired[top] {
            continue;
        }
        let unmatched = matching.unmatched();
        let left: Vec<usize> = (top + 1..playing.len()).filter(|at| !is_paired[*at]).collect();
        let mut opponents = by_preference(table, playing[top], &left, |at| playing[at]);
        // A stable sort: preference decides among those who have met as often.
        opponents.sort_by_key(|at| meetings_at(playing[top], playing[*at]));
        let found = opponents.into_iter().find(|at| {
            // Two who have met are no pair of the matching: the rest must then come out with two fewer without a partner.
            let rest_max = if graph.has_edge(top, *at) { unmatched } else { unmatched.saturating_sub(2) };
            matching.take_pair(top, *at, rest_max)
        });
        if let Some(opponent) = found {
            is_paired[top] = true;
            is_paired[opponent] = true;
            pairs.push((table[playing[top]].entrant, table[playing[opponent]].entrant));
        }
    }
    Round { pairs, bye: bye.map(|at| table[at].entrant) }
}

/// The lowest of those with the fewest byes without whom the others need the fewest rematches.
fn choose_bye(table: &[Competitor], is_new: impl Fn(usize, usize) -> bool) -> usize {
    let fewest = table.iter().map(|competitor| competitor.byes).min().unwrap_or(0);
    let candidates: Vec<usize> = (0..table.len()).rev().filter(|at| table[*at].byes == fewest).collect();
    // One vertex more stands for the bye; its partner pauses.
    let pause = table.len();
    let graph = Graph::new(table.len() + 1, |a, b| if b == pause { table[a].byes == fewest } else { is_new(a, b) });
    let mut matching = Matching::of(&graph);
    let unmatched = matching.unmatched();
    let exact = candidates.iter().copied().find(|at| matching.take_pair(*at, pause, unmatched));
    exact.unwrap_or_else(|| {
        // A bye for any of them costs a rematch: the one for whom it costs least.
        let rematches = |out: usize| {
            let graph = Graph::new(table.len(), |a, b| a != out && b != out && is_new(a, b));
            Matching::of(&graph).unmatched()
        };
        candidates.iter().copied().min_by_key(|at| rematches(*at)).unwrap_or(table.len() - 1)
    })
}

/// The opponents who are left, the most suitable first. `place` is an opponent's place in the table.
fn by_preference(table: &[Competitor], top: usize, left: &[usize], place: impl Fn(usize) -> usize) -> Vec<usize> {
    let own_points = table[top].points;
    let points = |at: usize| table[place(at)].points;
    let group = left.iter().filter(|at| points(**at) == own_points).count();
    // The score group has one more, the entrant itself: its ideal opponent is the first of the lower half.
    let ideal = group.div_ceil(2);
    let mut opponents: Vec<(usize, usize)> = left.iter().copied().zip(1..).collect();
    opponents.sort_by_key(|(at, rank)| {
        let distance = if points(*at) == own_points { rank.abs_diff(ideal) } else { *rank };
        (own_points.abs_diff(points(*at)), distance, *rank)
    });
    opponents.into_iter().map(|(at, _)| at).collect()
}

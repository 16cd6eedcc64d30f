//! Matchings in a graph: as many pairs as possible, and which pairs can be part of as many.
//!
//! Edmonds' algorithm (J. Edmonds, "Paths, trees, and flowers", 1965): a matching grows along an augmenting path, and odd cycles
//! on the way are treated as one vertex. One search takes time in the number of edges.

use std::collections::VecDeque;

/// Which vertices may be paired.
pub(super) struct Graph {
    edges: Vec<Vec<bool>>,
}

impl Graph {
    /// All edges for which `is_edge` holds; it is given the lower vertex first.
    pub(super) fn new(vertices: usize, is_edge: impl Fn(usize, usize) -> bool) -> Self {
        let ordered = |a: usize, b: usize| a != b && is_edge(a.min(b), a.max(b));
        Self { edges: (0..vertices).map(|a| (0..vertices).map(|b| ordered(a, b)).collect()).collect() }
    }

    pub(super) fn has_edge(&self, a: usize, b: usize) -> bool {
        self.edges[a][b]
    }
}

/// A matching with as many pairs as possible, among the vertices that have not been taken out.
pub(super) struct Matching<'a> {
    graph: &'a Graph,
    mates: Vec<Option<usize>>,
    is_taken: Vec<bool>,
}

impl<'a> Matching<'a> {
    pub(super) fn of(graph: &'a Graph) -> Self {
        let vertices = graph.edges.len();
        let mut matching = Self { graph, mates: vec![None; vertices], is_taken: vec![false; vertices] };
        for vertex in 0..vertices {
            if matching.mates[vertex].is_none() {
                matching.augment(vertex);
            }
        }
        matching
    }

    /// Vertices without a partner.
    pub(super) fn unmatched(&self) -> usize {
        (0..self.mates.len()).filter(|vertex| !self.is_taken[*vertex] && self.mates[*vertex].is_none()).count()
    }

    /// Takes both out as a pair, if not more than `unmatched_max` of the others are without a partner then; otherwise nothing
    /// changes.
    pub(super) fn take_pair(&mut self, a: usize, b: usize, unmatched_max: usize) -> bool {
        let before = self.mates.clone();
        self.take(a);
        self.take(b);
        let freed = [before[a], before[b]].into_iter().flatten().filter(|mate| *mate != a && *mate != b);
        for mate in freed {
            if self.mates[mate].is_none() {
                self.augment(mate);
            }
        }
        if self.unmatched() <= unmatched_max {
            return true;
        }
        self.mates = before;
        self.is_taken[a] = false;
        self.is_taken[b] = false;
        false
    }

    fn take(&mut self, vertex: usize) {
        self.is_taken[vertex] = true;
        if let Some(mate) = self.mates[vertex].take() {
            self.mates[mate] = None;
        }
    }

    /// Looks for a path from this vertex without a partner to another one, and flips it: one pair more.
    fn augment(&mut self, root: usize) -> bool {
        let Some((mut end, parents)) = Search::new(self, root).run() else { return false };
        loop {
            let Some(parent) = parents[end] else { return true };
            let next = self.mates[parent];
            self.mates[end] = Some(parent);
            self.mates[parent] = Some(end);
            match next {
                Some(next) => end = next,
                None => return true,
            }
        }
    }
}

/// One search for an augmenting path.
struct Search<'a> {
    matching: &'a Matching<'a>,
    root: usize,
    /// The vertex before this one on the path from the root, of those at odd distance.
    parents: Vec<Option<usize>>,
    /// The vertex that stands for the odd cycle in which this one lies.
    bases: Vec<usize>,
    /// At an even distance from the root.
    is_even: Vec<bool>,
    queue: VecDeque<usize>,
}

impl<'a> Search<'a> {
    fn new(matching: &'a Matching<'a>, root: usize) -> Self {
        let vertices = matching.mates.len();
        let mut is_even = vec![false; vertices];
        is_even[root] = true;
        Self {
            matching,
            root,
            parents: vec![None; vertices],
            bases: (0..vertices).collect(),
            is_even,
            queue: VecDeque::from([root]),
        }
    }

    /// The end of a path, with the parents along which it leads back.
    fn run(mut self) -> Option<(usize, Vec<Option<usize>>)> {
        while let Some(from) = self.queue.pop_front() {
            for to in 0..self.bases.len() {
                let is_open = !self.matching.is_taken[to] && self.matching.graph.has_edge(from, to);
                if !is_open || self.bases[from] == self.bases[to] || self.matching.mates[from] == Some(to) {
                    continue;
                }
                let mate = self.matching.mates[to];
                let closes_odd_cycle = to == self.root || mate.is_some_and(|mate| self.parents[mate].is_some());
                if closes_odd_cycle {
                    self.contract(from, to);
                } else if self.parents[to].is_none() {
                    self.parents[to] = Some(from);
                    let Some(mate) = mate else { return Some((to, self.parents)) };
                    self.is_even[mate] = true;
                    self.queue.push_back(mate);
                }
            }
        }
        None
    }

    /// Makes one vertex of the odd cycle that the edge between these two closes.
    fn contract(&mut self, a: usize, b: usize) {
        let base = self.common_base(a, b);
        let mut is_in_cycle = vec![false; self.bases.len()];
        self.mark_path(a, base, b, &mut is_in_cycle);
        self.mark_path(b, base, a, &mut is_in_cycle);
        for vertex in 0..self.bases.len() {
            if is_in_cycle[self.bases[vertex]] {
                self.bases[vertex] = base;
                if !self.is_even[vertex] {
                    self.is_even[vertex] = true;
                    self.queue.push_back(vertex);
                }
            }
        }
    }

    fn mark_path(&mut self, mut vertex: usize, base: usize, mut child: usize, is_in_cycle: &mut [bool]) {
        while self.bases[vertex] != base {
            let Some(mate) = self.matching.mates[vertex] else { return };
            is_in_cycle[self.bases[vertex]] = true;
            is_in_cycle[self.bases[mate]] = true;
            self.parents[vertex] = Some(child);
            child = mate;
            let Some(parent) = self.parents[mate] else { return };
            vertex = parent;
        }
    }

    /// The nearest vertex that lies on both paths to the root.
    fn common_base(&self, a: usize, b: usize) -> usize {
        let mut is_above_a = vec![false; self.bases.len()];
        let mut vertex = Some(a);
        while let Some(at) = vertex {
            let base = self.bases[at];
            is_above_a[base] = true;
            vertex = self.matching.mates[base].and_then(|mate| self.parents[mate]);
        }
        let mut at = self.bases[b];
        while !is_above_a[at] {
            match self.matching.mates[at].and_then(|mate| self.parents[mate]) {
                Some(parent) => at = self.bases[parent],
                None => return self.root,
            }
        }
        at
    }
}

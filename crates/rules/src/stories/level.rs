//! Levels: what a score is worth.
//!
//! The first point reaches level 2. From level L >= 2 to the next it takes ceil((L³ + 3L² + 7L) / 2) points.

/// Where a score stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// From 1.
    pub level: u32,
    /// Points of the whole step to the next level.
    pub next: u64,
    /// Points that are still missing to it.
    pub left: u64,
}

impl Level {
    /// The level of a score. The work grows with the level, which is about the fourth root of the score.
    #[must_use]
    pub fn of(score: u64) -> Self {
        let mut level = 1;
        let mut reached_at: u64 = 0;
        loop {
            let next = step(level);
            let left = reached_at.saturating_add(next).saturating_sub(score);
            if left > 0 || reached_at.checked_add(next).is_none() {
                return Self { level, next, left };
            }
            reached_at += next;
            level += 1;
        }
    }
}

fn step(level: u32) -> u64 {
    let level = u64::from(level);
    if level == 1 { 1 } else { (level.pow(3) + 3 * level.pow(2) + 7 * level).div_ceil(2) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The score at which a level is reached.
    fn points_to_reach(level: u32) -> u64 {
        (1..level).fold(0, |sum, level| sum.saturating_add(step(level)))
    }

    #[track_caller]
    fn check(score: u64, level: u32, next: u64, left: u64) {
        assert_eq!(Level::of(score), Level { level, next, left }, "score {score}");
    }

    #[test]
    fn the_level_table() {
        check(0, 1, 1, 1);
        let reached_at = [1, 18, 56, 126, 244, 427, 697, 1_077, 1_595, 2_280, 3_166];
        let steps = [17, 38, 70, 118, 183, 270, 380, 518, 685, 886];
        for (level, reached_at) in (2..).zip(reached_at) {
            assert_eq!(points_to_reach(level), reached_at, "level {level}");
        }
        for (level, (reached_at, step)) in (2..).zip(reached_at.into_iter().zip(steps)) {
            check(reached_at, level, step, step);
            check(reached_at + step - 1, level, step, 1);
        }
        assert_eq!(points_to_reach(1), 0);
    }

    #[test]
    fn a_great_score_is_not_the_end() {
        assert_eq!(Level::of(u64::MAX).left, points_to_reach(Level::of(u64::MAX).level + 1).saturating_sub(u64::MAX));
    }

    proptest! {
        #[test]
        fn what_is_left_leads_exactly_one_level_up(score in 0u64..1_000_000_000) {
            let now = Level::of(score);
            let then = Level::of(score + now.left);
            prop_assert_eq!((then.level, then.left), (now.level + 1, then.next));
            prop_assert_eq!(Level::of(score + now.left - 1).level, now.level);
            prop_assert!(points_to_reach(now.level) <= score && score < points_to_reach(now.level + 1));
        }
    }

    #[test]
    fn from_4112_points() {
        let now = Level::of(4_112);
        let then = Level::of(4_112 + now.left);
        assert_eq!((then.level, then.left), (now.level + 1, then.next));
    }
}

//! A curve over time that never takes more than a given number of points: when it is full, every second point is
//! dropped and the distance doubles. Its last point is always the latest. Does not know what drains.

use crate::limits::CURVE_POINTS_MAX;
use crate::measurement::WorkPoint;

/// Points in the order of time.
#[derive(Clone, Debug)]
pub struct DrainCurve {
    points: Vec<WorkPoint>,
    last: Option<WorkPoint>,
    stride: u64,
    seen: u64,
}

impl Default for DrainCurve {
    fn default() -> Self {
        Self { points: Vec::new(), last: None, stride: 1, seen: 0 }
    }
}

impl DrainCurve {
    pub fn push(&mut self, point: WorkPoint) {
        if self.seen.is_multiple_of(self.stride) {
            if self.points.len() == CURVE_POINTS_MAX {
                let mut keep = [false, true].into_iter().cycle();
                self.points.retain(|_| !keep.next().unwrap_or(false));
                self.stride *= 2;
            }
            if self.seen.is_multiple_of(self.stride) {
                self.points.push(point);
            }
        }
        self.seen += 1;
        self.last = Some(point);
    }

    /// The kept points, and the latest.
    #[must_use]
    pub fn points(&self) -> Vec<WorkPoint> {
        let mut points = self.points.clone();
        points.extend(self.last.filter(|last| points.last() != Some(last)));
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pushed: u64, first: &[f64], last: f64) {
        let mut curve = DrainCurve::default();
        (0..pushed).for_each(|t| curve.push(WorkPoint { t_s: t as f64, ..WorkPoint::default() }));
        let moments: Vec<f64> = curve.points().iter().map(|point| point.t_s).collect();
        assert_eq!(&moments[..first.len()], first);
        assert_eq!(moments.last(), Some(&last));
        assert!(moments.len() <= CURVE_POINTS_MAX + 1 && moments.is_sorted());
    }

    #[test]
    fn curves_keep_their_length() {
        check(1, &[0.0], 0.0);
        check(64, &[0.0, 1.0, 2.0], 63.0);
        check(65, &[0.0, 2.0, 4.0], 64.0);
        check(66, &[0.0, 2.0, 4.0], 65.0);
        check(200, &[0.0, 4.0, 8.0], 199.0);
        check(7200, &[0.0, 128.0, 256.0], 7199.0);
    }
}

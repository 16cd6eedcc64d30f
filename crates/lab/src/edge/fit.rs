//! Least squares for a curve that is not linear in its parameters, each of which stays within its bounds. Does not
//! know the curve.
//!
//! The damped Gauss-Newton steps of Levenberg (1944) with Marquardt's scaling by the diagonal (1963), so that
//! parameters of very different size need no units. A parameter at a bound that its gradient pushes against is left
//! out of the step, and every step is projected back into the box (Bertsekas 1982, "Projected Newton methods").

/// Steps tried before the best point so far is taken.
const STEPS_MAX: usize = 200;

/// A step that lowers the sum by a smaller share than this is the last.
const SHARE_MIN: f64 = 1e-12;

/// Damping beyond which no step is left to try.
const DAMPING_MAX: f64 = 1e12;

/// One residual and its derivative by each parameter.
pub(super) type ResidualTerm<const P: usize> = (f64, [f64; P]);

/// The lowest point that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Minimum<const P: usize> {
    pub(super) parameters: [f64; P],
    /// The sum of the squared residuals.
    pub(super) sum: f64,
}

/// The sum of squares around one point, to second order.
struct LocalModel<const P: usize> {
    sum: f64,
    gradient: [f64; P],
    curvature: [[f64; P]; P],
}

/// Walks from `start` to the nearest minimum of the sum of the squares of `term(parameters, 0..count)` within
/// `bounds`. Nothing when the sum at the start is not a number.
pub(super) fn minimise<const P: usize>(
    start: [f64; P],
    bounds: &[(f64, f64); P],
    count: usize,
    term: impl Fn(&[f64; P], usize) -> ResidualTerm<P>,
) -> Option<Minimum<P>> {
    let mut parameters = project(start, bounds);
    let mut local = local_model(&parameters, count, &term);
    if !local.sum.is_finite() {
        return None;
    }
    let mut damping = 1e-3;
    for _ in 0..STEPS_MAX {
        let next = project(step_from(&parameters, &local, bounds, damping), bounds);
        let there = local_model(&next, count, &term);
        if there.sum.is_finite() && there.sum <= local.sum {
            let gained = local.sum - there.sum;
            let arrived = gained <= SHARE_MIN * local.sum;
            (parameters, local) = (next, there);
            damping = (damping / 10.0).max(1e-12);
            if arrived {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > DAMPING_MAX {
                break;
            }
        }
    }
    Some(Minimum { parameters, sum: local.sum })
}

fn project<const P: usize>(mut parameters: [f64; P], bounds: &[(f64, f64); P]) -> [f64; P] {
    for (parameter, (low, high)) in parameters.iter_mut().zip(bounds) {
        *parameter = parameter.clamp(*low, *high);
    }
    parameters
}

fn local_model<const P: usize>(
    parameters: &[f64; P],
    count: usize,
    term: &impl Fn(&[f64; P], usize) -> ResidualTerm<P>,
) -> LocalModel<P> {
    let mut local = LocalModel { sum: 0.0, gradient: [0.0; P], curvature: [[0.0; P]; P] };
    for i in 0..count {
        let (residual, by) = term(parameters, i);
        local.sum += residual * residual;
        for row in 0..P {
            local.gradient[row] += by[row] * residual;
            for column in 0..P {
                local.curvature[row][column] += by[row] * by[column];
            }
        }
    }
    local
}

fn step_from<const P: usize>(
    parameters: &[f64; P],
    local: &LocalModel<P>,
    bounds: &[(f64, f64); P],
    damping: f64,
) -> [f64; P] {
    let mut system = local.curvature;
    let mut right = local.gradient.map(|value| -value);
    for i in 0..P {
        let (low, high) = bounds[i];
        let pushed_out = (parameters[i] <= low && right[i] < 0.0) || (parameters[i] >= high && right[i] > 0.0);
        if pushed_out || system[i][i] <= 0.0 {
            freeze(&mut system, &mut right, i);
        } else {
            system[i][i] *= 1.0 + damping;
        }
    }
    match solve(system, right) {
        Some(step) => std::array::from_fn(|i| parameters[i] + step[i]),
        None => *parameters,
    }
}

/// Takes parameter `i` out of the system: its step is 0.
fn freeze<const P: usize>(system: &mut [[f64; P]; P], right: &mut [f64; P], i: usize) {
    system.iter_mut().for_each(|row| row[i] = 0.0);
    system[i] = [0.0; P];
    (system[i][i], right[i]) = (1.0, 0.0);
}

/// Solves a small linear system: rows scaled to one, then elimination with the largest pivot. Nothing when it is
/// singular.
fn solve<const P: usize>(mut system: [[f64; P]; P], mut right: [f64; P]) -> Option<[f64; P]> {
    let scale: [f64; P] = std::array::from_fn(|i| system[i][i].abs().sqrt());
    if scale.iter().any(|scale| *scale == 0.0 || !scale.is_finite()) {
        return None;
    }
    for row in 0..P {
        right[row] /= scale[row];
        for column in 0..P {
            system[row][column] /= scale[row] * scale[column];
        }
    }
    for column in 0..P {
        let pivot = (column..P).max_by(|a, b| system[*a][column].abs().total_cmp(&system[*b][column].abs()))?;
        system.swap(column, pivot);
        right.swap(column, pivot);
        if system[column][column].abs() < 1e-14 {
            return None;
        }
        let (above, below) = system.split_at_mut(column + 1);
        let pivot = &above[column];
        for (i, row) in below.iter_mut().enumerate() {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(pivot).for_each(|(value, pivot)| *value -= factor * pivot);
            right[column + 1 + i] -= factor * right[column];
        }
    }
    let mut solution = [0.0; P];
    for row in (0..P).rev() {
        let known: f64 = (row + 1..P).map(|k| system[row][k] * solution[k]).sum();
        solution[row] = (right[row] - known) / system[row][row];
    }
    Some(std::array::from_fn(|i| solution[i] / scale[i])).filter(|values| values.iter().all(|value| value.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

    /// `y = a exp(-b x)`, parameters of which may be forced to a bound.
    #[track_caller]
    fn check(truth: [f64; 2], start: [f64; 2], bounds: [(f64, f64); 2], expected: [f64; 2]) {
        let x: Vec<f64> = (0..20).map(f64::from).collect();
        let y = |[a, b]: [f64; 2], x: f64| a * (-b * x).exp();
        let term = |p: &[f64; 2], i: usize| {
            let decay = (-p[1] * x[i]).exp();
            (y(*p, x[i]) - y(truth, x[i]), [decay, -p[0] * x[i] * decay])
        };
        let found = minimise(start, &bounds, x.len(), term).unwrap();
        for (found, expected) in found.parameters.iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{found} instead of {expected}");
        }
    }

    #[test]
    fn minima() {
        check([5.0, 0.3], [1.0, 0.1], [FREE, FREE], [5.0, 0.3]);
        check([5.0e6, 0.01], [1.0, 1.0], [FREE, (0.0, 2.0)], [5.0e6, 0.01]);
        check([5.0, 0.3], [9.0, 0.3], [FREE, (0.3, 1.0)], [5.0, 0.3]);
        // Growth is out of bounds: what is left is the mean of the curve.
        let mean = (0..20).map(|x| 2.0 * (0.1 * f64::from(x)).exp()).sum::<f64>() / 20.0;
        check([2.0, -0.1], [1.0, 0.5], [FREE, (0.0, 1.0)], [mean, 0.0]);
    }

    #[test]
    fn what_is_no_number_is_no_minimum() {
        assert_eq!(minimise([1.0], &[FREE], 3, |_, _| (f64::NAN, [1.0])), None);
        assert_eq!(solve([[1.0, 1.0], [1.0, 1.0]], [1.0, 2.0]), None);
        assert_eq!(solve([[0.0]], [1.0]), None);
    }
}

//! Faults of a move, decided by a draw from the request: the same request always gets the same fault. Knows nothing of
//! sockets; the connection carries a fault out.

use crate::characters::Chance;
use crate::config::Faults;

/// One way to go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A good answer, after the timeout of the match.
    Late,
    /// Garbage: the body ends in the middle.
    BrokenJson,
    /// Garbage: good JSON, but no such direction.
    NoSuchMove,
    /// Garbage: a body of [`HUGE_BODY_BYTES`](crate::limits::HUGE_BODY_BYTES).
    Huge,
    /// Refusal: the connection is closed without a word.
    HangUp,
    /// Refusal: status 500.
    ServerError,
}

/// Answers in time which cannot be used.
const GARBAGE: [Fault; 3] = [Fault::BrokenJson, Fault::NoSuchMove, Fault::Huge];
/// No answer that a match could use at all.
const REFUSALS: [Fault; 2] = [Fault::HangUp, Fault::ServerError];

/// The fault of a request, if it has one; `chance` must be drawn from that request.
pub(crate) fn draw(faults: &Faults, chance: &mut Chance) -> Option<Fault> {
    let point = chance.unit_f64();
    let late_end = faults.late;
    let garbage_end = late_end + faults.garbage;
    let refuse_end = garbage_end + faults.refuse;
    if point < late_end {
        Some(Fault::Late)
    } else if point < garbage_end {
        Some(GARBAGE[chance.below(GARBAGE.len())])
    } else if point < refuse_end {
        Some(REFUSALS[chance.below(REFUSALS.len())])
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u64 = 10_000;

    /// Of many requests, the shares of late, garbage and refused ones are as configured, to within 2 per cent.
    #[track_caller]
    fn check(late: f64, garbage: f64, refuse: f64) {
        let faults = Faults::new(late, garbage, refuse).expect("in range");
        let mut counts = [0_u32; 3];
        for seed in 0..DRAWS {
            match draw(&faults, &mut Chance::from_seed(seed)) {
                Some(Fault::Late) => counts[0] += 1,
                Some(Fault::BrokenJson | Fault::NoSuchMove | Fault::Huge) => counts[1] += 1,
                Some(Fault::HangUp | Fault::ServerError) => counts[2] += 1,
                None => {}
            }
        }
        for (count, share) in counts.into_iter().zip([late, garbage, refuse]) {
            let measured = f64::from(count) / DRAWS as f64;
            assert!((measured - share).abs() < 0.02, "{measured} instead of {share}");
        }
    }

    #[test]
    fn faults_come_as_often_as_configured() {
        check(0.0, 0.0, 0.0);
        check(1.0, 0.0, 0.0);
        check(0.0, 0.0, 1.0);
        check(0.1, 0.2, 0.3);
        check(0.5, 0.25, 0.25);
    }

    #[test]
    fn every_kind_of_garbage_and_refusal_occurs() {
        let all = [Fault::Late, Fault::BrokenJson, Fault::NoSuchMove, Fault::Huge, Fault::HangUp, Fault::ServerError];
        let faults = Faults::new(0.3, 0.3, 0.4).expect("in range");
        let seen: Vec<_> = (0..1_000).filter_map(|seed| draw(&faults, &mut Chance::from_seed(seed))).collect();
        assert!(all.iter().all(|fault| seen.contains(fault)));
    }
}

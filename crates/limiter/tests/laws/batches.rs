//! A batch of keys gets the same decisions as the keys one by one.

use limiter::{Moment, State};
use proptest::prelude::*;

use crate::for_each_algorithm;
use crate::support::{keyed, quota};

fn many_are_one_by_one<S: State>(batches: &[(u64, Vec<(u8, u64)>)]) -> Result<(), TestCaseError> {
    let (together, alone) = (keyed::<S>(quota(5, 100)), keyed::<S>(quota(5, 100)));
    together.set_override(&[7; 30], quota(1, 100), Moment(0)).unwrap();
    alone.set_override(&[7; 30], quota(1, 100), Moment(0)).unwrap();
    let mut now = Moment(1_000);
    for (gap, checks) in batches {
        now = Moment(now.0 + gap);
        // Short and long keys.
        let keys: Vec<Vec<u8>> =
            checks.iter().map(|(key, _)| vec![*key; if *key % 2 == 0 { 16 } else { 30 }]).collect();
        let checks: Vec<(&[u8], u64)> =
            keys.iter().zip(checks).map(|(key, (_, cost))| (key.as_slice(), *cost)).collect();
        let mut decisions = Vec::new();
        together.check_many(&checks, now, &mut decisions);
        let expected: Vec<_> = checks.iter().map(|(key, cost)| alone.check(key, *cost, now)).collect();
        prop_assert_eq!(&decisions, &expected);
        prop_assert_eq!(together.keys(), alone.keys());
    }
    Ok(())
}

proptest! {
    #[test]
    fn many_at_once(batches in prop::collection::vec((0_u64..60, prop::collection::vec((0_u8..60, 0_u64..7), 0..100)), 1..6)) {
        for_each_algorithm!(many_are_one_by_one(&batches));
    }
}

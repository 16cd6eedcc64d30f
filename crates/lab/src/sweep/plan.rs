//! What is run, and in which order: a pure function of the variations, the repeats and a seed. Runs nothing.
//!
//! Machines drift: they warm up, their disks fill, their neighbours become active. So every round runs each combination
//! once, in its own order, and every second round reverses the previous one: a linear drift over the two affects all
//! combinations alike.

use crate::limits::{SWEEP_COMBINATIONS_MAX, SWEEP_REPEATS_MAX, SWEEP_RUNS_MAX};
use crate::scenario::mix;

/// A setting and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variation {
    /// A variable of the scenario, or a dotted path, as in `--set`.
    pub(crate) key: String,
    pub(crate) values: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SweepPlan {
    /// Every combination, as one value for each variation.
    pub(crate) combinations: Vec<Vec<String>>,
    /// The runs in order.
    pub(crate) runs: Vec<PlannedRun>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlannedRun {
    /// The round, counted from 0.
    pub(crate) round: usize,
    pub(crate) combination_index: usize,
    /// The seed of the trial's plan: the same for all runs of a round, so that they get the same arrivals.
    pub(crate) seed: u64,
}

impl Variation {
    /// Parses `KEY=v1,v2`. Commas in quotes or brackets belong to a value.
    ///
    /// # Errors
    /// A sentence that says what was expected.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (key, values) = text.split_once('=').ok_or("expected KEY=VALUE,VALUE")?;
        let (key, values) = (key.trim().to_owned(), split_values(values));
        if key.is_empty() || values.iter().any(String::is_empty) {
            return Err("expected KEY=VALUE,VALUE without empty values".to_owned());
        }
        match values.iter().enumerate().find(|(index, value)| values[..*index].contains(value)) {
            Some((_, twice)) => Err(format!("{key} is to be {twice} twice")),
            None => Ok(Self { key, values }),
        }
    }
}

/// Splits at the commas outside of quotes and brackets.
fn split_values(text: &str) -> Vec<String> {
    let (mut values, mut value, mut depth, mut quoted) = (Vec::new(), String::new(), 0_usize, None);
    for c in text.chars() {
        match (c, quoted) {
            (',', None) if depth == 0 => {
                values.push(std::mem::take(&mut value).trim().to_owned());
                continue;
            }
            ('"' | '\'', None) => quoted = Some(c),
            (c, Some(quote)) if c == quote => quoted = None,
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth = depth.saturating_sub(1),
            _ => {}
        }
        value.push(c);
    }
    values.push(value.trim().to_owned());
    values
}

/// Every combination of the variations, the last of them changing fastest, in `repeats` rounds.
///
/// # Errors
/// There is nothing to vary, a setting is varied twice, or there would be more runs than a sweep may have.
pub(crate) fn plan(variations: &[Variation], repeats: usize, seed: u64) -> Result<SweepPlan, String> {
    if variations.is_empty() {
        return Err("a sweep varies something: add --vary KEY=VALUE,VALUE".to_owned());
    }
    if let Some((_, twice)) =
        variations.iter().enumerate().find(|(index, it)| variations[..*index].iter().any(|other| other.key == it.key))
    {
        return Err(format!("{} is varied twice: give all of its values at once", twice.key));
    }
    let count = variations.iter().try_fold(1_usize, |count, it| count.checked_mul(it.values.len()));
    let count = count.filter(|count| *count <= SWEEP_COMBINATIONS_MAX).ok_or_else(|| {
        format!(
            "there are more than {SWEEP_COMBINATIONS_MAX} combinations: vary less at once, and refine where it pays"
        )
    })?;
    if !(1..=SWEEP_REPEATS_MAX).contains(&repeats) {
        return Err(format!("--repeat must be from 1 to {SWEEP_REPEATS_MAX}"));
    }
    if count * repeats > SWEEP_RUNS_MAX {
        let runs = count * repeats;
        return Err(format!("{count} combinations {repeats} times are {runs} runs; at most {SWEEP_RUNS_MAX} are made"));
    }
    let combinations = variations.iter().fold(vec![Vec::new()], |combinations: Vec<Vec<String>>, variation| {
        let with = |combination: &[String], value: &String| [combination, std::slice::from_ref(value)].concat();
        combinations.iter().flat_map(|it| variation.values.iter().map(move |value| with(it, value))).collect()
    });
    let turns = (0..repeats).flat_map(|round| {
        let order = round_order(count, round, seed);
        order.into_iter().map(move |combination| PlannedRun {
            round,
            combination_index: combination,
            seed: mix(seed, round as u64),
        })
    });
    Ok(SweepPlan { runs: turns.collect(), combinations })
}

/// The order of a round.
fn round_order(count: usize, round: usize, seed: u64) -> Vec<usize> {
    let seed = mix(seed ^ 0x5EED, round as u64 / 2);
    let mut order: Vec<usize> = (0..count).collect();
    // Fisher & Yates.
    for last in (1..count).rev() {
        let index = ((u128::from(mix(seed, last as u64)) * (last as u128 + 1)) >> 64) as usize;
        order.swap(last, index);
    }
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn variation(key: &str, values: &[&str]) -> Variation {
        Variation { key: key.to_owned(), values: values.iter().map(|value| (*value).to_owned()).collect() }
    }

    #[track_caller]
    fn check_parse(text: &str, expected: Option<(&str, &[&str])>) {
        assert_eq!(Variation::parse(text).ok(), expected.map(|(key, values)| variation(key, values)), "{text}");
    }

    #[test]
    fn variations() {
        check_parse("workers=25,50,200", Some(("workers", &["25", "50", "200"])));
        check_parse("db.connections = 30 , 55 ", Some(("db.connections", &["30", "55"])));
        check_parse("one=1", Some(("one", &["1"])));
        check_parse("ladder=[10,20],[30]", Some(("ladder", &["[10,20]", "[30]"])));
        check_parse("name=\"a,b\",'c,d'", Some(("name", &["\"a,b\"", "'c,d'"])));
        check_parse("gate=x=1,x=2", Some(("gate", &["x=1", "x=2"])));
        for wrong in ["workers", "=1,2", "workers=", "workers=1,,2", "workers=1,2,1"] {
            check_parse(wrong, None);
        }
    }

    #[track_caller]
    fn check_refused(variations: &[Variation], repeats: usize, words: &str) {
        let message = plan(variations, repeats, 1).unwrap_err();
        assert!(message.contains(words), "{message}");
    }

    #[test]
    fn sweeps_have_limits() {
        let many: Vec<String> = (0..11).map(|value| value.to_string()).collect();
        let wide = |key: &str| Variation { key: key.to_owned(), values: many.clone() };
        check_refused(&[], 1, "--vary");
        check_refused(&[wide("a"), wide("b")], 1, "more than 100");
        check_refused(&[wide("a"), wide("a")], 1, "varied twice");
        check_refused(&[wide("a")], 0, "--repeat");
        check_refused(&[wide("a")], 101, "--repeat");
        check_refused(&[wide("a")], 100, "1100 runs");
    }

    #[test]
    fn every_combination_is_made_once() {
        let found = plan(&[variation("a", &["1", "2"]), variation("b", &["x", "y", "z"])], 1, 7).unwrap();
        let texts: Vec<String> = found.combinations.iter().map(|values| values.concat()).collect();
        assert_eq!(texts, ["1x", "1y", "1z", "2x", "2y", "2z"]);
        assert_ne!(round_order(6, 0, 7), round_order(6, 0, 8));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn rounds_are_whole_and_even_drift_meets_all_alike(values in 1usize..12, pairs in 1usize..4, seed: u64) {
            let many: Vec<String> = (0..values).map(|value| value.to_string()).collect();
            let found = plan(&[Variation { key: "k".to_owned(), values: many }], 2 * pairs, seed).unwrap();
            prop_assert_eq!(found.runs.len(), values * 2 * pairs);
            for round in found.runs.chunks(values) {
                let mut seen: Vec<usize> = round.iter().map(|planned| planned.combination_index).collect();
                seen.sort_unstable();
                prop_assert_eq!(seen, (0..values).collect::<Vec<_>>());
                prop_assert!(round.iter().all(|planned| planned.seed == round[0].seed));
            }
            let places = |combination: usize| -> usize {
                found.runs.iter().enumerate().filter(|(_, planned)| planned.combination_index == combination).map(|(at, _)| at).sum()
            };
            prop_assert!((0..values).all(|combination| places(combination) == places(0)));
        }
    }
}

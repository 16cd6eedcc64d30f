//! Decisions of the rate limiter's policies, counted by policy, class and outcome. The number of series is bounded whatever names callers
//! send: policies are the operator's, classes may be a client's.

use super::instruments::Counter;
use super::text::{Exposed, FamilyKind, Page};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

/// A policy's decision about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionOutcome {
    /// It may pass. Another policy may still deny it.
    Allowed,
    Denied,
    /// Never: it costs more than any window allows.
    Exceeds,
    /// There was no room to count another key.
    Full,
    /// A policy in shadow mode would have refused it, for any reason.
    Shadow,
}

impl DecisionOutcome {
    const ALL: [Self; 5] = [Self::Allowed, Self::Denied, Self::Exceeds, Self::Full, Self::Shadow];
    /// Those that keep a request from passing.
    pub const REFUSED: &[Self] = &[Self::Denied, Self::Exceeds, Self::Full];

    fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Exceeds => "cost_exceeds_limit",
            Self::Full => "full",
            Self::Shadow => "shadow",
        }
    }
}

/// The decisions of one policy about the requests of one class.
#[derive(Debug, Default)]
pub struct DecisionCounters([Counter; DecisionOutcome::ALL.len()]);

impl DecisionCounters {
    pub fn inc(&self, decided: DecisionOutcome) {
        self.0[decided as usize].inc();
    }
}

/// Policies that are counted separately: more than there may be at once, since policies come and go.
const POLICIES_MAX: usize = 2_000;
/// Clients' classes that are counted separately for one policy. The gateway's own are few and always counted separately.
const CLASSES_MAX: usize = 32;
/// The prefix of the gateway's own classes.
pub const OWN_CLASS_PREFIX: &str = "gateway.";
const OTHER: &str = "other";

type CountersByClass = BTreeMap<Box<str>, Arc<DecisionCounters>>;

/// Decisions by policy, class and outcome.
#[derive(Debug, Default)]
pub struct Decisions(RwLock<HashMap<Box<str>, CountersByClass>>);

impl Decisions {
    /// Counts the decisions of these policies about requests of these classes.
    pub fn count<'a>(&self, decided: impl Iterator<Item = (&'a str, &'a str, DecisionOutcome)>) {
        for (policy, class, decided) in decided {
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(verdicts) = known.get(policy).and_then(|classes| classes.get(label(classes, class))) {
                verdicts.inc(decided);
                continue;
            }
            drop(known);
            self.counters(policy, class).inc(decided);
        }
    }

    /// How many decisions had one of these outcomes, of all policies together.
    #[must_use]
    pub fn total(&self, outcomes: &[DecisionOutcome]) -> u64 {
        let policies = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let counters = policies.values().flat_map(BTreeMap::values);
        counters.flat_map(|counters| outcomes.iter().map(|outcome| counters.0[*outcome as usize].get())).sum()
    }

    #[must_use]
    pub fn counters(&self, policy: &str, class: &str) -> Arc<DecisionCounters> {
        let mut policies = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let policy = if policies.len() < POLICIES_MAX || policies.contains_key(policy) { policy } else { OTHER };
        let classes = policies.entry(policy.into()).or_default();
        classes.entry(label(classes, class).into()).or_default().clone()
    }
}

/// The label of a class: its name while there is room for it, and if it can be shown on the page.
fn label<'a>(classes: &CountersByClass, class: &'a str) -> &'a str {
    let is_known = classes.contains_key(class) || class.starts_with(OWN_CLASS_PREFIX);
    let has_place = || classes.keys().filter(|class| !class.starts_with(OWN_CLASS_PREFIX)).count() < CLASSES_MAX;
    let is_plain = || !class.contains(char::is_control);
    if is_known || is_plain() && has_place() { class } else { OTHER }
}

impl Exposed for Decisions {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, FamilyKind::Counter);
        let policies = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let sorted: BTreeMap<_, _> = policies.iter().collect();
        for (policy, classes) in sorted {
            for (class, verdicts) in classes {
                let seen = DecisionOutcome::ALL.iter().zip(&verdicts.0).filter(|(_, counter)| counter.get() > 0);
                seen.for_each(|(decided, counter)| {
                    let labels = [("policy", &**policy), ("class", class), ("outcome", decided.name())];
                    page.sample(&labels, counter.get());
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the samples after these decisions.
    #[track_caller]
    fn check(decided: &[(&str, &str, DecisionOutcome)], want: &[&str]) {
        let decisions = Decisions::default();
        decisions.count(decided.iter().copied());
        let mut page = Page::default();
        decisions.expose(&mut page, "d", "Decisions.");
        assert_eq!(page.into_text().lines().skip(2).collect::<Vec<_>>(), want);
    }

    #[test]
    fn decisions_are_counted_by_policy_class_and_outcome() {
        check(&[], &[]);
        check(
            &[
                ("daily", "api", DecisionOutcome::Denied),
                ("burst", "api", DecisionOutcome::Allowed),
                ("burst", "api", DecisionOutcome::Allowed),
                ("burst", "web", DecisionOutcome::Shadow),
            ],
            &[
                r#"d{policy="burst",class="api",outcome="allowed"} 2"#,
                r#"d{policy="burst",class="web",outcome="shadow"} 1"#,
                r#"d{policy="daily",class="api",outcome="denied"} 1"#,
            ],
        );
    }

    #[test]
    fn classes_that_cannot_be_shown_are_counted_together() {
        let odd = ["a\rb", "a\nb", "\0", "\u{1b}[2J", "a\u{85}", "\t", "\u{7f}"];
        let decided = odd.map(|class| ("burst", class, DecisionOutcome::Allowed));
        let shown = ("burst", "a\"b\\ü", DecisionOutcome::Denied);
        check(
            &[&decided[..], &[shown]].concat(),
            &[
                r#"d{policy="burst",class="a\"b\\ü",outcome="denied"} 1"#,
                r#"d{policy="burst",class="other",outcome="allowed"} 7"#,
            ],
        );
    }

    #[test]
    fn classes_of_clients_are_bounded_and_hide_none_of_the_gateways() {
        let decisions = Decisions::default();
        for number in 0..10_000 {
            decisions.count([("burst", &*format!("junk-{number}"), DecisionOutcome::Allowed)].into_iter());
        }
        decisions.count([("burst", "gateway.player.read", DecisionOutcome::Denied)].into_iter());
        let policies = decisions.0.read().unwrap();
        let classes = &policies["burst"];
        assert_eq!(classes.len(), CLASSES_MAX + 2);
        assert_eq!(classes[OTHER].0[0].get(), 10_000 - CLASSES_MAX as u64);
        assert_eq!(classes["gateway.player.read"].0[1].get(), 1);
    }

    #[test]
    fn policies_that_come_and_go_are_bounded() {
        let decisions = Decisions::default();
        for number in 0..POLICIES_MAX * 2 {
            decisions.counters(&format!("policy-{number}"), "api").inc(DecisionOutcome::Allowed);
        }
        assert_eq!(decisions.0.read().unwrap().len(), POLICIES_MAX + 1);
    }
}

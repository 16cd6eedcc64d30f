//! One lookup of a name: both families of addresses, within one timeout, and whose fault it is when there is no answer.
//!
//! A name whose servers are silent and a resolver that is out of reach look the same: nothing comes. So when nothing came from the resolver
//! at all while a lookup waited, it is asked for the root, which it knows: if it answers that, the name is to blame.

use crate::failure;
use ::names::{Bounds, Sources, Stamps};
use engine::limits::{
    NAME_FAILED_FOR, NAME_LOOKUP_TIMEOUT, NAME_LOOKUPS_AT_ONCE, NAME_QUERY_TIMEOUT, NAME_SECOND_FAMILY_WAIT,
};
use hickory_resolver::TokioResolver;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::RecordType;
use std::future::Future;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Two queries for each lookup: one for each family.
const BOUNDS: Bounds = Bounds { query_timeout: NAME_QUERY_TIMEOUT, queries_at_once: 2 * NAME_LOOKUPS_AT_ONCE };

#[derive(Debug)]
pub(super) enum Answer {
    Found {
        addresses: Vec<IpAddr>,
        ttl: Duration,
    },
    /// The name has no address.
    Missing {
        ttl: Duration,
    },
    /// Those who should know did not say.
    Failed,
    /// This server could not ask.
    NotMade,
}

pub(super) struct Resolver {
    sources: Sources,
    loaded: Mutex<Loaded>,
    seen: Mutex<Seen>,
    /// Held while the root is asked for: one question is enough for all lookups that wait.
    root: tokio::sync::Mutex<()>,
}

struct Loaded {
    resolver: Option<TokioResolver>,
    stamps: Stamps,
}

#[derive(Clone, Copy, Default)]
struct Seen {
    /// When the resolver last answered anything.
    answered: Option<Instant>,
    /// When it last was silent about the root.
    silent: Option<Instant>,
}

impl Resolver {
    pub(super) fn new(sources: Sources) -> Self {
        let loaded = Loaded { stamps: sources.stamps(), resolver: sources.resolver(BOUNDS) };
        Self { sources, loaded: Mutex::new(loaded), seen: Mutex::default(), root: tokio::sync::Mutex::default() }
    }

    /// Reads the sources again if they have changed; returns whether they have.
    pub(super) fn reload(&self) -> bool {
        let stamps = self.sources.stamps();
        let has_changed = self.loaded().stamps != stamps;
        if has_changed {
            let resolver = self.sources.resolver(BOUNDS);
            *self.loaded() = Loaded { resolver, stamps };
        }
        has_changed
    }

    pub(super) async fn look_up(&self, name: &str) -> Answer {
        let Some(resolver) = self.loaded().resolver.clone() else { return Answer::NotMade };
        let begun = Instant::now();
        let families = both_families(
            look_up_family(&resolver, name, RecordType::A),
            look_up_family(&resolver, name, RecordType::AAAA),
        );
        let answer = timeout(NAME_LOOKUP_TIMEOUT, families).await.unwrap_or(FamilyAnswer::Silence);
        match answer {
            FamilyAnswer::Silence if self.is_reachable(&resolver, begun).await => Answer::Failed,
            FamilyAnswer::Silence => Answer::NotMade,
            FamilyAnswer::Answer(answer) => {
                if !matches!(answer, Answer::NotMade) {
                    self.seen().answered = Some(Instant::now());
                }
                answer
            }
        }
    }

    /// Whether the resolver has answered anything since `begun`, or answers now.
    async fn is_reachable(&self, resolver: &TokioResolver, begun: Instant) -> bool {
        let _root = self.root.lock().await;
        let seen = *self.seen();
        if seen.answered.is_some_and(|at| at > begun) {
            return true;
        }
        if seen.silent.is_some_and(|at| at > begun) {
            return false;
        }
        let asked = timeout(NAME_QUERY_TIMEOUT, resolver.lookup(".", RecordType::NS)).await;
        let is_answered = matches!(asked, Ok(Ok(_) | Err(NetError::Dns(_))));
        let mut seen = self.seen();
        *(if is_answered { &mut seen.answered } else { &mut seen.silent }) = Some(Instant::now());
        is_answered
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum FamilyAnswer {
    Answer(Answer),
    Silence,
}

/// The first family that has addresses is enough soon after; one that has none leaves the other all its time.
async fn both_families(v4: impl Future<Output = FamilyAnswer>, v6: impl Future<Output = FamilyAnswer>) -> FamilyAnswer {
    let (mut v4, mut v6) = (pin!(v4), pin!(v6));
    tokio::select! {
        biased;
        first = &mut v4 => match is_found(&first) {
            true => match timeout(NAME_SECOND_FAMILY_WAIT, v6).await {
                Ok(second) => combine(first, second),
                Err(_) => first,
            },
            false => combine(first, v6.await),
        },
        first = &mut v6 => match is_found(&first) {
            true => match timeout(NAME_SECOND_FAMILY_WAIT, v4).await {
                Ok(second) => combine(second, first),
                Err(_) => first,
            },
            false => combine(v4.await, first),
        },
    }
}

fn is_found(answer: &FamilyAnswer) -> bool {
    matches!(answer, FamilyAnswer::Answer(Answer::Found { .. }))
}

/// Addresses of both; without any, what says least about the name.
fn combine(v4: FamilyAnswer, v6: FamilyAnswer) -> FamilyAnswer {
    use FamilyAnswer::Answer as Answered;
    match (v4, v6) {
        (
            Answered(Answer::Found { mut addresses, ttl }),
            Answered(Answer::Found { addresses: others, ttl: other_ttl }),
        ) => {
            addresses.extend(others);
            Answered(Answer::Found { addresses, ttl: ttl.min(other_ttl) })
        }
        (found @ Answered(Answer::Found { .. }), _) | (_, found @ Answered(Answer::Found { .. })) => found,
        (Answered(Answer::Missing { ttl }), Answered(Answer::Missing { ttl: other })) => {
            Answered(Answer::Missing { ttl: ttl.min(other) })
        }
        (Answered(Answer::Missing { .. }), unsure) | (unsure, _) => unsure,
    }
}

async fn look_up_family(resolver: &TokioResolver, name: &str, family: RecordType) -> FamilyAnswer {
    match resolver.lookup(name, family).await {
        Ok(lookup) => {
            let addresses: Vec<IpAddr> = lookup.answers().iter().filter_map(|record| record.data.ip_addr()).collect();
            let ttl = lookup.valid_until().saturating_duration_since(std::time::Instant::now());
            let is_empty = addresses.is_empty();
            FamilyAnswer::Answer(if is_empty { Answer::Missing { ttl } } else { Answer::Found { addresses, ttl } })
        }
        Err(error) => without_answer(&error),
    }
}

fn without_answer(error: &NetError) -> FamilyAnswer {
    FamilyAnswer::Answer(match error {
        NetError::Timeout => return FamilyAnswer::Silence,
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NoError | ResponseCode::NXDomain => Answer::Missing {
                ttl: none.negative_ttl.map_or(NAME_FAILED_FOR, |ttl_s| Duration::from_secs(ttl_s.into())),
            },
            code => response_code(code),
        },
        NetError::Dns(DnsError::ResponseCode(code)) => response_code(*code),
        NetError::Io(_) | NetError::NoConnections | NetError::Busy => Answer::NotMade,
        _ if failure::is_out_of_files() => Answer::NotMade,
        _ => Answer::Failed,
    })
}

/// A resolver that refuses us says nothing about the name.
fn response_code(code: ResponseCode) -> Answer {
    if code == ResponseCode::Refused { Answer::NotMade } else { Answer::Failed }
}

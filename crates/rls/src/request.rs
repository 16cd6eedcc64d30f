//! Parses a request of the protocol into hits, or refuses it with an error that names what is wrong.
//!
//! Knows the bounds of a request, not the policies, and no time.

use engine::limits::{LIMIT_CLASS_BYTES_MAX, LIMIT_KEY_BYTES_MAX, RLS_DESCRIPTORS_MAX, RLS_ENTRIES_MAX};
use limiter::{Hit, Quota};
use metrics::OWN_CLASS_PREFIX;
use std::time::Duration;
use tonic::Status;
use wire::grpc::{Entry, RateLimitDescriptor, RateLimitOverride, RateLimitRequest, Unit};

/// A valid request.
#[derive(Debug, PartialEq)]
pub(super) struct ParsedRequest {
    class: String,
    descriptors: Vec<ParsedDescriptor>,
}

/// One descriptor of a request.
#[derive(Debug, PartialEq)]
struct ParsedDescriptor {
    key: Vec<u8>,
    cost: u64,
    quota: Option<Quota>,
}

impl ParsedRequest {
    /// Its hits, in the order of the descriptors.
    pub(super) fn hits(&self) -> Vec<Hit<'_>> {
        self.descriptors
            .iter()
            .map(|descriptor| Hit { class: &self.class, key: &descriptor.key, cost: descriptor.cost })
            .collect()
    }

    /// The quotas sent with the hits, in the same order.
    pub(super) fn quotas(&self) -> Vec<Option<Quota>> {
        self.descriptors.iter().map(|descriptor| descriptor.quota).collect()
    }

    pub(super) fn descriptor_count(&self) -> usize {
        self.descriptors.len()
    }
}

/// Parses a request.
///
/// # Errors
/// What is wrong with the request, and what is expected.
pub(super) fn parse_request(request: RateLimitRequest) -> Result<ParsedRequest, Status> {
    let RateLimitRequest { domain, descriptors, hits_addend } = request;
    check_domain(&domain)?;
    if descriptors.is_empty() || descriptors.len() > RLS_DESCRIPTORS_MAX {
        let have = descriptors.len();
        return Err(invalid_argument(format_args!("{have} descriptors: expected 1 to {RLS_DESCRIPTORS_MAX}")));
    }
    // A missing addend is 0, and a request without cost would have no effect.
    let cost = u64::from(hits_addend.max(1));
    let parsed = descriptors.iter().enumerate().map(|(index, descriptor)| parse_descriptor(index, descriptor, cost));
    Ok(ParsedRequest { class: domain, descriptors: parsed.collect::<Result<_, _>>()? })
}

fn check_domain(domain: &str) -> Result<(), Status> {
    if domain.is_empty() || domain.len() > LIMIT_CLASS_BYTES_MAX {
        let have = domain.len();
        return Err(invalid_argument(format_args!("domain of {have} bytes: expected 1 to {LIMIT_CLASS_BYTES_MAX}")));
    }
    if domain.starts_with(OWN_CLASS_PREFIX) {
        return Err(invalid_argument(format_args!(
            "domain {domain:?}: names that begin with {OWN_CLASS_PREFIX:?} are this server's own"
        )));
    }
    Ok(())
}

fn parse_descriptor(index: usize, descriptor: &RateLimitDescriptor, cost: u64) -> Result<ParsedDescriptor, Status> {
    let RateLimitDescriptor { entries, limit, hits_addend, is_negative_hits } = descriptor;
    if *is_negative_hits {
        let what = format!("descriptors[{index}].is_negative_hits: units cannot be returned");
        return Err(Status::unimplemented(what));
    }
    Ok(ParsedDescriptor {
        key: parse_key(index, entries)?,
        cost: hits_addend.unwrap_or(cost),
        quota: limit.map(|limit| parse_quota(index, limit)).transpose()?,
    })
}

fn parse_key(index: usize, entries: &[Entry]) -> Result<Vec<u8>, Status> {
    if entries.is_empty() || entries.len() > RLS_ENTRIES_MAX {
        let have = entries.len();
        return Err(invalid_argument(format_args!(
            "descriptors[{index}] has {have} entries: expected 1 to {RLS_ENTRIES_MAX}"
        )));
    }
    if let Some(nameless) = entries.iter().position(|entry| entry.key.is_empty()) {
        return Err(invalid_argument(format_args!(
            "descriptors[{index}].entries[{nameless}].key is empty: expected a name"
        )));
    }
    let key = encode_key(entries);
    if key.len() > LIMIT_KEY_BYTES_MAX {
        let have = key.len();
        return Err(invalid_argument(format_args!(
            "descriptors[{index}] makes a key of {have} bytes: expected at most {LIMIT_KEY_BYTES_MAX}"
        )));
    }
    Ok(key)
}

/// `name=value,name=value`, with `%`, `,` and, in names, `=` as %25, %2C and %3D: two descriptors that differ never share
/// a key, and ordinary ones read as they were sent.
fn encode_key(entries: &[Entry]) -> Vec<u8> {
    let mut key = Vec::new();
    for entry in entries {
        if !key.is_empty() {
            key.push(b',');
        }
        write_escaped(&mut key, &entry.key, b"%,=");
        key.push(b'=');
        write_escaped(&mut key, &entry.value, b"%,");
    }
    key
}

fn write_escaped(key: &mut Vec<u8>, text: &str, reserved: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if reserved.contains(&byte) {
            key.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        } else {
            key.push(byte);
        }
    }
}

fn parse_quota(index: usize, limit: RateLimitOverride) -> Result<Quota, Status> {
    let RateLimitOverride { requests_per_unit, unit } = limit;
    let Some(window) = Unit::try_from(unit).ok().and_then(window) else {
        return Err(invalid_argument(format_args!(
            "descriptors[{index}].limit.unit is {unit}: expected 1 (second) to 7 (week)"
        )));
    };
    let quota = Quota::new(u64::from(requests_per_unit), window);
    quota.map_err(|error| invalid_argument(format_args!("descriptors[{index}].limit.requests_per_unit: {error}")))
}

/// The units of time and how long each is; months and years as Envoy's own service counts them.
pub(super) const UNITS: [(Unit, u64); 7] = [
    (Unit::Second, 1),
    (Unit::Minute, 60),
    (Unit::Hour, 3_600),
    (Unit::Day, 86_400),
    (Unit::Week, 7 * 86_400),
    (Unit::Month, 30 * 86_400),
    (Unit::Year, 365 * 86_400),
];

fn window(unit: Unit) -> Option<Duration> {
    UNITS.iter().find(|(known, _)| *known == unit).map(|(_, seconds)| Duration::from_secs(*seconds))
}

fn invalid_argument(what: std::fmt::Arguments<'_>) -> Status {
    Status::invalid_argument(what.to_string())
}

#[cfg(test)]
mod tests;

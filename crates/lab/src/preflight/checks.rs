//! Compares requirements with facts. PURE. Does not inspect the machine.

use std::ops::RangeInclusive;

use super::{Facts, PreflightIssue, Requirements};
use crate::limits::{DISK_LOW_BYTES, FILES_RESERVE, TIME_WAIT, TIME_WAIT_REUSED};

/// Clock sources that every process reads without a system call. A reading of the others takes about a microsecond,
/// which matters to a lab that reads the clock several times for each request.
const FAST_CLOCKS: [&str; 6] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "riscv_clocksource"];

/// Everything that will not work, or not well, the worst first.
#[must_use]
pub fn check(requirements: &Requirements, facts: &Facts) -> Vec<PreflightIssue> {
    let rules = [
        check_open_files(requirements, facts),
        check_machine_files(requirements, facts),
        check_ports(requirements, facts),
        check_memory(requirements, facts),
        check_disk(requirements, facts),
        check_target_files(requirements, facts),
        check_target_memory(requirements, facts),
        check_target_cpu(requirements, facts),
        check_burst(requirements, facts),
        check_clock(facts),
    ];
    let mut found: Vec<PreflightIssue> = rules.into_iter().flatten().collect();
    found.sort_by_key(|issue| !issue.is_refusal());
    found
}

fn check_open_files(requirements: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let limit = facts.open_files_max?;
    let processes = requirements.processes_max.max(1);
    let each = requirements.connections.div_ceil(processes).saturating_add(FILES_RESERVE);
    (each > limit).then(|| {
        let most = processes.saturating_mul(limit.saturating_sub(FILES_RESERVE));
        let divided = if processes == 1 { String::new() } else { format!(" in each of {processes} processes") };
        PreflightIssue::Refusal(format!(
            "{} connections need {each} open files{divided}, and a process may open {limit}: ask for at most {most} \
             connections, or raise the hard limit first (as root: ulimit -Hn {each}; in a unit: LimitNOFILE={each})",
            requirements.connections,
        ))
    })
}

/// On loopback both ends of a connection are files of this machine.
fn check_machine_files(requirements: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let free = facts.open_files_free?;
    let files = requirements.connections.saturating_mul(if requirements.is_loopback { 2 } else { 1 });
    (files > free).then(|| {
        PreflightIssue::Refusal(format!(
            "{} connections need {files} open files on this machine, which has {free} left: ask for fewer, or raise \
             fs.file-max with sysctl",
            requirements.connections,
        ))
    })
}

/// Ports that connections to one of the target's endpoints take at once: those of closed connections stay taken for a
/// while if the lab closes first.
fn ports_needed(requirements: &Requirements, facts: &Facts) -> u64 {
    let is_reused = facts.reuses_ports || (requirements.is_loopback && facts.reuses_ports_on_loopback);
    let wait = if is_reused { TIME_WAIT_REUSED } else { TIME_WAIT };
    let endpoints = requirements.endpoints.max(1);
    let connects_per_s = requirements.connects_per_s.max(0.0) / endpoints as f64;
    requirements.connections.div_ceil(endpoints).saturating_add((connects_per_s * wait.as_secs_f64()).ceil() as u64)
}

/// Over how many source addresses so many ports are spread: a port can be taken once for each source address.
#[must_use]
pub fn sources_needed(ports: u64, range: &RangeInclusive<u16>) -> u64 {
    ports.div_ceil(port_count(range)).max(1)
}

fn port_count(range: &RangeInclusive<u16>) -> u64 {
    u64::from(range.end().saturating_sub(*range.start())) + 1
}

fn check_ports(requirements: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let range = facts.ports.as_ref()?;
    let (low, high) = (range.start(), range.end());
    let sources = requirements.source_addresses.max(1);
    let has = port_count(range).saturating_mul(sources);
    let held_only = Requirements { connects_per_s: 0.0, ..requirements.clone() };
    let from = if sources == 1 { "one source address".to_owned() } else { format!("{sources} source addresses") };
    let advice = "widen the range (sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\") or give the lab more source \
                  addresses (generator.sources)";
    let (endpoints, most) = (requirements.endpoints.max(1), has.saturating_mul(requirements.endpoints.max(1)));
    if ports_needed(&held_only, facts) > has {
        let to = if endpoints == 1 { String::new() } else { format!(" to {endpoints} endpoints") };
        return Some(PreflightIssue::Refusal(format!(
            "{} connections from {from}{to} need more ports than the {has} that the kernel gives out ({low}-{high}): \
             ask for at most {most} connections, {advice}",
            requirements.connections,
        )));
    }
    let churned = ports_needed(requirements, facts);
    (churned > has).then(|| {
        PreflightIssue::Warning(format!(
            "{:.0} new connections a second from {from} keep {churned} ports busy, because a closed connection \
             keeps its port for a while, and the kernel gives out {has} ({low}-{high}): connections may fail for \
             want of a port; {advice}",
            requirements.connects_per_s,
        ))
    })
}

fn check_memory(requirements: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let available = facts.memory_available_bytes?;
    (requirements.memory_bytes > available).then(|| {
        PreflightIssue::Refusal(format!(
            "the lab needs {} of memory for this run, and {} are available: ask for fewer connections",
            mib(requirements.memory_bytes),
            mib(available),
        ))
    })
}

fn check_disk(requirements: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let free = facts.disk_free_bytes?;
    if requirements.record_bytes > free {
        let without = if requirements.samples_bytes > 0 { ", or leave out --samples" } else { "" };
        return Some(PreflightIssue::Refusal(format!(
            "the record of this run takes up to {}, and its directory has room for {}: free some, or choose another \
             disk with --out{without}",
            mib(requirements.record_bytes),
            mib(free),
        )));
    }
    (free - requirements.record_bytes < DISK_LOW_BYTES).then(|| {
        PreflightIssue::Warning(format!(
            "The disk of the run's directory has room for {} only: a target that writes to it may fail for that.",
            mib(free)
        ))
    })
}

fn check_target_files(requirements: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let limit = requirements.spawns_target.then_some(requirements.limits.open_files.or(facts.open_files_max)?)?;
    if requirements.limits.open_files.is_some_and(|wanted| facts.open_files_max.is_some_and(|max| wanted > max)) {
        return Some(PreflightIssue::Refusal(format!(
            "[target.limits] open_files = {limit} is more than the {} that a process of this machine may open: lower \
             it, or raise the hard limit first (as root: ulimit -Hn {limit})",
            facts.open_files_max.unwrap_or_default(),
        )));
    }
    (requirements.connections > limit).then(|| {
        PreflightIssue::Warning(format!(
            "The target may open {limit} files in each of its processes, fewer than the {} connections of this run.",
            requirements.connections
        ))
    })
}

fn check_target_memory(requirements: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let (limit, available) = (requirements.limits.memory_bytes?, facts.memory_available_bytes?);
    (limit > available).then(|| {
        PreflightIssue::Warning(format!(
            "The target's memory limit of {} is more than the {} that are available: the machine may run out first.",
            mib(limit),
            mib(available)
        ))
    })
}

fn check_target_cpu(requirements: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let (share, cores) = (requirements.limits.cpu_cores?, facts.cores?);
    (share > cores as f64).then(|| {
        PreflightIssue::Warning(format!(
            "The target's share of {share} cores limits nothing: this machine has {cores}."
        ))
    })
}

/// Beyond the queue the kernel retries a connection after a second.
fn check_burst(requirements: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let queue = facts.accept_queue_max.filter(|_| requirements.is_loopback)?;
    (requirements.burst > queue).then(|| {
        PreflightIssue::Warning(format!(
            "{} connections are opened in one moment, and a listener of this machine lets {queue} wait at most \
             (net.core.somaxconn): the others may take a second longer, which is not the target's doing.",
            requirements.burst
        ))
    })
}

fn check_clock(facts: &Facts) -> Option<PreflightIssue> {
    let source = facts.clock_source.as_deref().filter(|source| !FAST_CLOCKS.contains(source))?;
    Some(PreflightIssue::Warning(format!(
        "The kernel reads the time from `{source}`, which is slow: figures below a tenth of a millisecond are not to \
         be trusted, and the lab itself takes more of the processor."
    )))
}

fn mib(bytes: u64) -> String {
    format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20))
}

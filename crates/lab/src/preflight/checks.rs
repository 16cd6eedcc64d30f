//! Needs against facts. PURE. Refuses to look at the machine.

use std::ops::RangeInclusive;

use super::{Facts, PreflightIssue, Requirements};
use crate::limits::{DISK_LOW_BYTES, FILES_RESERVE, TIME_WAIT, TIME_WAIT_REUSED};

/// Clock sources that every process reads without asking the kernel. Of the others one reading takes about a
/// microsecond, which a lab that reads the clock several times for each request feels.
const FAST_CLOCKS: [&str; 6] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "riscv_clocksource"];

/// Everything that will not work, or not as well as it seems, the worst first.
#[must_use]
pub fn check(needs: &Requirements, facts: &Facts) -> Vec<PreflightIssue> {
    let rules = [
        check_open_files(needs, facts),
        check_machine_files(needs, facts),
        check_ports(needs, facts),
        check_memory(needs, facts),
        check_disk(needs, facts),
        check_target_files(needs, facts),
        check_target_memory(needs, facts),
        check_target_cpu(needs, facts),
        check_burst(needs, facts),
        check_clock(facts),
    ];
    let mut found: Vec<PreflightIssue> = rules.into_iter().flatten().collect();
    found.sort_by_key(|complaint| !complaint.is_refusal());
    found
}

fn check_open_files(needs: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let limit = facts.open_files_max?;
    let processes = needs.processes_max.max(1);
    let each = needs.connections.div_ceil(processes).saturating_add(FILES_RESERVE);
    (each > limit).then(|| {
        let most = processes.saturating_mul(limit.saturating_sub(FILES_RESERVE));
        let divided = if processes == 1 { String::new() } else { format!(" in each of {processes} processes") };
        PreflightIssue::Refusal(format!(
            "{} connections need {each} open files{divided}, and a process may open {limit}: ask for at most {most} \
             connections, or raise the hard limit first (as root: ulimit -Hn {each}; in a unit: LimitNOFILE={each})",
            needs.connections,
        ))
    })
}

/// On loopback both ends of a connection are files of this machine.
fn check_machine_files(needs: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let free = facts.open_files_free?;
    let files = needs.connections.saturating_mul(if needs.is_loopback { 2 } else { 1 });
    (files > free).then(|| {
        PreflightIssue::Refusal(format!(
            "{} connections need {files} open files on this machine, which has {free} left: ask for fewer, or raise \
             fs.file-max with sysctl",
            needs.connections,
        ))
    })
}

/// Ports that connections to one of the target's doors take at once: those of closed ones are taken for a while longer,
/// where the lab closes first.
fn ports_needed(needs: &Requirements, facts: &Facts) -> u64 {
    let is_reused = facts.reuses_ports || (needs.is_loopback && facts.reuses_ports_on_loopback);
    let wait = if is_reused { TIME_WAIT_REUSED } else { TIME_WAIT };
    let doors = needs.endpoints.max(1);
    let connects_per_s = needs.connects_per_s.max(0.0) / doors as f64;
    needs.connections.div_ceil(doors).saturating_add((connects_per_s * wait.as_secs_f64()).ceil() as u64)
}

/// How many source addresses so many ports are spread over: a port can be taken once for each source address.
#[must_use]
pub fn sources_needed(ports: u64, range: &RangeInclusive<u16>) -> u64 {
    ports.div_ceil(port_count(range)).max(1)
}

fn port_count(range: &RangeInclusive<u16>) -> u64 {
    u64::from(range.end().saturating_sub(*range.start())) + 1
}

fn check_ports(needs: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let range = facts.ports.as_ref()?;
    let (low, high) = (range.start(), range.end());
    let sources = needs.source_addresses.max(1);
    let has = port_count(range).saturating_mul(sources);
    let held_only = Requirements { connects_per_s: 0.0, ..needs.clone() };
    let from = if sources == 1 { "one source address".to_owned() } else { format!("{sources} source addresses") };
    let advice = "widen the range (sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\") or give the lab more source \
                  addresses (generator.sources)";
    let (doors, most) = (needs.endpoints.max(1), has.saturating_mul(needs.endpoints.max(1)));
    if ports_needed(&held_only, facts) > has {
        let to = if doors == 1 { String::new() } else { format!(" to {doors} doors") };
        return Some(PreflightIssue::Refusal(format!(
            "{} connections from {from}{to} need more ports than the {has} that the kernel gives out ({low}-{high}): \
             ask for at most {most} connections, {advice}",
            needs.connections,
        )));
    }
    let churned = ports_needed(needs, facts);
    (churned > has).then(|| {
        PreflightIssue::Warning(format!(
            "{:.0} new connections a second from {from} keep {churned} ports busy, because a closed connection \
             keeps its port for a while, and the kernel gives out {has} ({low}-{high}): connections may fail for \
             want of a port; {advice}",
            needs.connects_per_s,
        ))
    })
}

fn check_memory(needs: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let available = facts.memory_available_bytes?;
    (needs.memory_bytes > available).then(|| {
        PreflightIssue::Refusal(format!(
            "the lab needs {} of memory for this run, and {} are available: ask for fewer connections",
            mib(needs.memory_bytes),
            mib(available),
        ))
    })
}

fn check_disk(needs: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let free = facts.disk_free_bytes?;
    if needs.record_bytes > free {
        let without = if needs.samples_bytes > 0 { ", or leave out --samples" } else { "" };
        return Some(PreflightIssue::Refusal(format!(
            "the record of this run takes up to {}, and its directory has room for {}: free some, or choose another \
             disk with --out{without}",
            mib(needs.record_bytes),
            mib(free),
        )));
    }
    (free - needs.record_bytes < DISK_LOW_BYTES).then(|| {
        PreflightIssue::Warning(format!(
            "The disk of the run's directory has room for {} only: a target that writes to it may fail for that.",
            mib(free)
        ))
    })
}

fn check_target_files(needs: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let limit = needs.spawns_target.then_some(needs.limits.open_files.or(facts.open_files_max)?)?;
    if needs.limits.open_files.is_some_and(|wanted| facts.open_files_max.is_some_and(|max| wanted > max)) {
        return Some(PreflightIssue::Refusal(format!(
            "[target.limits] open_files = {limit} is more than the {} that a process of this machine may open: lower \
             it, or raise the hard limit first (as root: ulimit -Hn {limit})",
            facts.open_files_max.unwrap_or_default(),
        )));
    }
    (needs.connections > limit).then(|| {
        PreflightIssue::Warning(format!(
            "The target may open {limit} files in each of its processes, fewer than the {} connections of this run.",
            needs.connections
        ))
    })
}

fn check_target_memory(needs: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let (limit, available) = (needs.limits.memory_bytes?, facts.memory_available_bytes?);
    (limit > available).then(|| {
        PreflightIssue::Warning(format!(
            "The target's memory limit of {} is more than the {} that are available: the machine may run out first.",
            mib(limit),
            mib(available)
        ))
    })
}

fn check_target_cpu(needs: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let (share, cores) = (needs.limits.cpu_cores?, facts.cores?);
    (share > cores as f64).then(|| {
        PreflightIssue::Warning(format!(
            "The target's share of {share} cores limits nothing: this machine has {cores}."
        ))
    })
}

/// Beyond the queue a connection is tried again by the kernel after a second.
fn check_burst(needs: &Requirements, facts: &Facts) -> Option<PreflightIssue> {
    let queue = facts.accept_queue_max.filter(|_| needs.is_loopback)?;
    (needs.burst > queue).then(|| {
        PreflightIssue::Warning(format!(
            "{} connections are opened in one moment, and a listener of this machine lets {queue} wait at most \
             (net.core.somaxconn): the others may take a second longer, which is not the target's doing.",
            needs.burst
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

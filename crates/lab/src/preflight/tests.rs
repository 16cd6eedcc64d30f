use super::*;
use crate::scenario::{BaseUrl, TargetLimits};

const MIB: u64 = 1024 * 1024;

/// A modest run.
fn requirements() -> Requirements {
    Requirements {
        connections: 1_000,
        processes_max: 1,
        connects_per_s: 10.0,
        burst: 100,
        source_addresses: 1,
        endpoints: 1,
        is_loopback: true,
        spawns_target: true,
        limits: TargetLimits::default(),
        memory_bytes: 10 * MIB,
        record_bytes: 10 * MIB,
        samples_bytes: 0,
    }
}

/// An ordinary machine.
fn facts() -> Facts {
    Facts {
        open_files_max: Some(20_000),
        open_files_free: Some(1_000_000),
        ports: Some(32_768..=60_999),
        reuses_ports_on_loopback: true,
        reuses_ports: false,
        accept_queue_max: Some(4_096),
        clock_source: Some("tsc".to_owned()),
        cores: Some(2),
        memory_available_bytes: Some(20_000 * MIB),
        disk_free_bytes: Some(100_000 * MIB),
    }
}

/// Refusals start with `!`. Each must contain the words of its row, and there must be no other.
#[track_caller]
fn check_with(requirements: &Requirements, facts: &Facts, expected: &[&str]) {
    let found = check(requirements, facts);
    let lines: Vec<String> =
        found.iter().map(|one| format!("{}{}", if one.is_refusal() { "!" } else { "" }, one.message())).collect();
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, words) in lines.iter().zip(expected) {
        assert_eq!(line.starts_with('!'), words.starts_with('!'), "{line}");
        assert!(line.contains(words.trim_start_matches('!')), "{words} in: {line}");
    }
}

#[track_caller]
fn check_needs(change: impl Fn(&mut Requirements), expected: &[&str]) {
    let mut requirements = requirements();
    change(&mut requirements);
    check_with(&requirements, &facts(), expected);
}

#[track_caller]
fn check_facts(change: impl Fn(&mut Facts), expected: &[&str]) {
    let mut facts = facts();
    change(&mut facts);
    check_with(&requirements(), &facts, expected);
}

#[test]
fn a_modest_run_on_an_ordinary_machine_is_fine() {
    check_needs(|_| {}, &[]);
    check_with(&requirements(), &Facts::default(), &[]);
}

#[test]
fn files() {
    check_needs(|n| n.connections = 19_936, &[]);
    check_needs(
        |n| n.connections = 19_937,
        &["!need 20001 open files, and a process may open 20000: ask for at most 19936"],
    );
    let many = |n: &mut Requirements| (n.connections, n.processes_max, n.source_addresses) = (100_000, 6, 4);
    check_needs(many, &["may open 20000 files in each"]);
    let more = |n: &mut Requirements| (n.connections, n.processes_max, n.source_addresses) = (100_000, 5, 4);
    check_needs(more, &["!open files in each of 5 processes", "may open 20000 files in each"]);
    check_facts(|f| f.open_files_max = Some(50), &["!ask for at most 0 connections", "may open 50 files"]);
    check_facts(|f| f.open_files_free = Some(1_999), &["!need 2000 open files on this machine, which has 1999 left"]);
    check_with(
        &Requirements { is_loopback: false, ..requirements() },
        &Facts { open_files_free: Some(1_999), ..facts() },
        &[],
    );
}

#[test]
fn ports() {
    let held = |connections, sources| Requirements {
        connections,
        source_addresses: sources,
        processes_max: 10,
        ..requirements()
    };
    let wide = Facts { open_files_max: Some(1_000_000), accept_queue_max: None, ..facts() };
    check_with(&held(28_222, 1), &wide, &[]);
    check_with(&held(28_223, 1), &wide, &["keep 28233 ports busy"]);
    check_with(&held(28_233, 1), &wide, &["!from one source address need more ports than the 28232"]);
    check_with(&held(56_464, 2), &wide, &["keep 56474 ports busy"]);
    check_with(&held(56_465, 2), &wide, &["!from 2 source addresses need more ports than the 56464"]);
    // A port may be taken once for each endpoint.
    let divided = |connections| Requirements { endpoints: 4, processes_max: 100, ..held(connections, 2) };
    let roomy = Facts { open_files_free: None, memory_available_bytes: None, ..wide.clone() };
    check_with(&divided(4 * 56_464 - 40), &roomy, &[]);
    let many = "!225857 connections from 2 source addresses to 4 endpoints need more ports than the 56464 that the kernel \
                gives out (32768-60999): ask for at most 225856 connections";
    check_with(&divided(4 * 56_464 + 1), &roomy, &[many]);
    // 500 a second for a minute.
    let churn = Requirements { connects_per_s: 500.0, ..requirements() };
    check_with(&churn, &wide, &[]);
    check_with(&churn, &Facts { reuses_ports_on_loopback: false, ..wide.clone() }, &["keep 31000 ports busy"]);
    let away = Requirements { is_loopback: false, ..churn };
    check_with(&away, &wide, &["500 new connections a second"]);
    check_with(&away, &Facts { reuses_ports: true, ..wide }, &[]);
}

#[track_caller]
fn check_sources(ports: u64, expected: u64) {
    assert_eq!(sources_needed(ports, &(32_768..=60_999)), expected, "{ports}");
}

#[test]
fn sources() {
    check_sources(0, 1);
    check_sources(28_232, 1);
    check_sources(28_233, 2);
    check_sources(100_000, 4);
}

#[test]
fn room() {
    check_facts(|f| f.memory_available_bytes = Some(9 * MIB), &["!needs 10 MiB of memory for this run, and 9 MiB"]);
    check_facts(|f| f.disk_free_bytes = Some(9 * MIB), &["!takes up to 10 MiB, and its directory has room for 9 MiB"]);
    check_facts(|f| f.disk_free_bytes = Some(1_033 * MIB), &["room for 1033 MiB only"]);
    check_facts(|f| f.disk_free_bytes = Some(1_034 * MIB), &[]);
}

#[test]
fn limits_of_the_target() {
    let limited = |limits: TargetLimits| move |n: &mut Requirements| n.limits = limits;
    let none = TargetLimits::default();
    check_needs(limited(TargetLimits { open_files: Some(999), ..none }), &["fewer than the 1000 connections"]);
    check_needs(limited(TargetLimits { open_files: Some(1_000), ..none }), &[]);
    check_needs(
        limited(TargetLimits { open_files: Some(20_001), ..none }),
        &["!open_files = 20001 is more than the 20000"],
    );
    check_needs(
        limited(TargetLimits { cpu_cores: Some(2.5), ..none }),
        &["2.5 cores limits nothing: this machine has 2"],
    );
    check_needs(limited(TargetLimits { cpu_cores: Some(2.0), ..none }), &[]);
    check_needs(limited(TargetLimits { memory_bytes: Some(20_001 * MIB), ..none }), &["more than the 20000 MiB"]);
    check_needs(|n| (n.spawns_target, n.limits.open_files) = (false, Some(9)), &[]);
}

#[test]
fn bursts_and_clocks() {
    check_needs(|n| n.burst = 4_097, &["a listener of this machine lets 4096 wait"]);
    check_needs(|n| (n.burst, n.is_loopback) = (4_097, false), &[]);
    check_facts(|f| f.clock_source = Some("hpet".to_owned()), &["from `hpet`, which is slow"]);
    check_facts(|f| f.clock_source = Some("kvm-clock".to_owned()), &[]);
    check_facts(|f| f.clock_source = None, &[]);
}

#[test]
fn refusals_come_first() {
    let requirements = Requirements { burst: 5_000, record_bytes: 200_000 * MIB, ..requirements() };
    check_with(&requirements, &facts(), &["!another disk with --out", "opened in one moment"]);
    let requirements = Requirements { samples_bytes: MIB, ..requirements };
    check_with(&requirements, &facts(), &["!--out, or leave out --samples", "opened in one moment"]);
}

fn base(url: &str) -> BaseUrl {
    BaseUrl::parse(url).unwrap().0
}

#[tokio::test]
async fn a_target_that_is_there_is_reached_and_a_dead_port_is_refused_at_once() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let addresses = [listener.local_addr().unwrap()];
    assert_eq!(check_reachable(&base(&url), &addresses).await, Ok(()));
    assert_eq!(resolve(&base(&url)).await.unwrap(), [std::net::Ipv4Addr::LOCALHOST]);
    drop(listener);
    let refusal = check_reachable(&base(&url), &addresses).await.unwrap_err();
    let tried = format!("(tried {}: Connection refused", url.trim_start_matches("http://"));
    assert!(refusal.contains(&tried) && refusal.contains("start the service"), "{refusal}");
}

#[tokio::test]
async fn a_name_without_an_address_is_said_to_have_none() {
    // RFC 6761 guarantees that this name never resolves.
    let refusal = resolve(&base("http://nobody.invalid:80")).await.unwrap_err();
    assert!(
        refusal.starts_with("http://nobody.invalid:80 cannot be tried: nobody.invalid has no address"),
        "{refusal}"
    );
}

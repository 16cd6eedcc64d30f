//! The whole machine at a moment: how busy its processors are, its memory, its sockets, and the connections and packets
//! that it refused before any program saw them. The parsers are pure; the functions that read are below them. Does not
//! know what is a bottleneck.

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;

use super::proc_text::{kib_to_bytes, value_of};
use crate::format::round;

/// Counters as the kernel keeps them, since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    ticks: Option<CpuTicks>,
    /// Memory that is available without swapping.
    pub(crate) memory_available_bytes: Option<u64>,
    sockets: Option<SocketCounts>,
    /// In the order of [`REFUSALS`].
    refused: Option<[u64; 4]>,
    packets_dropped: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTicks {
    idle: u64,
    steal: u64,
    interrupts: u64,
    total: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct CpuShares {
    busy: f64,
    steal: f64,
    interrupts: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SocketCounts {
    in_use: u64,
    time_wait: u64,
}

/// Figures of connections that the machine refused or gave up, and the kernel's names of their counters.
const REFUSALS: [(&str, &str); 4] = [
    // Refused because a listener's accept queue was full; refused at a listener for any reason; refused because a
    // listener's queue of half-open ones was full.
    ("listen_overflows", "ListenOverflows"),
    ("listen_drops", "ListenDrops"),
    ("request_queue_drops", "TCPReqQFullDrop"),
    // Aborted because nothing was received for too long: sent data was not acknowledged, or keepalive was not.
    ("timed_out", "TCPAbortOnTimeout"),
];

impl HostCounters {
    #[must_use]
    pub fn read() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        let sockets = read("/proc/net/sockstat").and_then(|text| SocketCounts::parse(&text));
        let in_use_6 = read("/proc/net/sockstat6").and_then(|text| field(line(&text, "TCP6:")?, "inuse"));
        Self {
            ticks: read("/proc/stat").and_then(|text| CpuTicks::parse(&text)),
            memory_available_bytes: read("/proc/meminfo")
                .and_then(|text| kib_to_bytes(value_of(&text, "MemAvailable")?)),
            sockets: sockets.map(|found| SocketCounts { in_use: found.in_use + in_use_6.unwrap_or(0), ..found }),
            refused: read("/proc/net/netstat").and_then(|text| parse_refusals(&text)),
            packets_dropped: read("/proc/net/softnet_stat").and_then(|text| packets_dropped(&text)),
        }
    }

    /// What happened since an earlier sample, and the state now, by name; without what is unknown.
    #[must_use]
    pub fn since(&self, before: &Self) -> BTreeMap<String, f64> {
        let shares = self.ticks.zip(before.ticks).and_then(|(now, before)| now.shares_since(before));
        let rise = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?) as f64);
        let refused = |(i, (name, _)): (usize, &(&'static str, _))| {
            (*name, rise(self.refused.map(|counts| counts[i]), before.refused.map(|counts| counts[i])))
        };
        let all = [
            // Shares of all processors: 1 is all of them, all the time. Busy is what was not idle; stolen time counts,
            // because nothing here could use it.
            ("busy_share", shares.map(|shares| round(shares.busy))),
            // What the hypervisor took away.
            ("steal_share", shares.map(|shares| round(shares.steal))),
            // What the kernel spent in interrupts: packets that arrive, those of the loopback included, are handled
            // there, and in no process's time.
            ("interrupt_share", shares.map(|shares| round(shares.interrupts))),
            ("memory_available_bytes", self.memory_available_bytes.map(|bytes| bytes as f64)),
            // IPv4 and, if the kernel reports it, IPv6.
            ("tcp_in_use", self.sockets.map(|sockets| sockets.in_use as f64)),
            ("tcp_time_wait", self.sockets.map(|sockets| sockets.time_wait as f64)),
            // Packets that arrived while the backlog of a processor was full: everything on loopback passes through it.
            ("packets_dropped", rise(self.packets_dropped, before.packets_dropped)),
        ];
        let all = all.into_iter().chain(REFUSALS.iter().enumerate().map(refused));
        all.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

impl CpuTicks {
    /// The first line of proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal; guest time is included in
    /// user.
    fn parse(stat: &str) -> Option<Self> {
        let fields = line(stat, "cpu ")?.split_whitespace().map(|field| field.parse::<u64>().ok());
        let all: Vec<u64> = fields.take(8).collect::<Option<_>>()?;
        let &[_, _, _, idle, waiting, hard, soft, steal] = all.as_slice() else { return None };
        Some(Self { idle: idle + waiting, steal, interrupts: hard + soft, total: all.iter().sum() })
    }

    fn shares_since(self, before: Self) -> Option<CpuShares> {
        let total = self.total.checked_sub(before.total).filter(|total| *total > 0)? as f64;
        // The kernel's idle time can step back a little.
        let idle = self.idle.saturating_sub(before.idle) as f64;
        let share = |now: u64, before: u64| now.saturating_sub(before) as f64 / total;
        Some(CpuShares {
            busy: (1.0 - idle / total).max(0.0),
            steal: share(self.steal, before.steal),
            interrupts: share(self.interrupts, before.interrupts),
        })
    }
}

impl SocketCounts {
    fn parse(sockstat: &str) -> Option<Self> {
        let tcp = line(sockstat, "TCP:")?;
        Some(Self { in_use: field(tcp, "inuse")?, time_wait: field(tcp, "tw")? })
    }
}

/// Pairs of lines: names, then values.
fn parse_refusals(netstat: &str) -> Option<[u64; 4]> {
    let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, values) = (lines.next()?.split_whitespace(), lines.next()?.split_whitespace());
    let table: BTreeMap<&str, &str> = names.zip(values).collect();
    let counts = REFUSALS.iter().map(|(_, name)| table.get(name)?.parse().ok());
    counts.collect::<Option<Vec<u64>>>()?.try_into().ok()
}

/// A line for each processor, in hexadecimal numbers: packets received, packets that found its backlog full, and more.
fn packets_dropped(softnet_stat: &str) -> Option<u64> {
    let dropped = softnet_stat.lines().map(|line| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok());
    dropped.sum::<Option<u64>>().filter(|_| !softnet_stat.is_empty())
}

/// The rest of the line that starts with `start`.
fn line<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(start))
}

/// The number after a name, in a line of names and numbers.
fn field(line: &str, name: &str) -> Option<u64> {
    let mut words = line.split_whitespace();
    words.find(|word| *word == name)?;
    words.next()?.parse().ok()
}

/// The kernel's range of ports for outgoing connections.
#[must_use]
pub fn local_ports() -> Option<RangeInclusive<u16>> {
    parse_port_range(&fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?)
}

fn parse_port_range(text: &str) -> Option<RangeInclusive<u16>> {
    let (low, high) = text.trim().split_once(char::is_whitespace)?;
    let (low, high) = (low.parse().ok()?, high.trim().parse().ok()?);
    (low <= high).then_some(low..=high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors() {
        let parse =
            |text: &str| CpuTicks::parse(text).map(|ticks| (ticks.idle, ticks.steal, ticks.interrupts, ticks.total));
        let before = "cpu  100 0 50 800 40 0 5 5 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(parse(before), Some((840, 5, 5, 1000)));
        assert_eq!(parse("cpu 1 2 3\n"), None);
        assert_eq!(parse("cpu a b c d e f g h\n"), None);
        assert_eq!(parse(""), None);
    }

    #[track_caller]
    fn check_share(now: (u64, u64, u64, u64), expected: Option<(f64, f64, f64)>) {
        let before = CpuTicks { idle: 840, steal: 5, interrupts: 5, total: 1000 };
        let (idle, steal, interrupts, total) = now;
        let found = CpuTicks { idle, steal, interrupts, total }.shares_since(before);
        assert_eq!(found.map(|shares| (shares.busy, shares.steal, shares.interrupts)), expected, "{now:?}");
    }

    #[test]
    fn shares() {
        check_share((890, 15, 25, 1200), Some((0.75, 0.05, 0.1)));
        check_share((840, 205, 5, 1200), Some((1.0, 1.0, 0.0)));
        check_share((839, 5, 5, 1200), Some((1.0, 0.0, 0.0)));
        check_share((840, 5, 5, 1000), None);
        check_share((0, 0, 0, 0), None);
    }

    #[track_caller]
    fn check_sockets(text: &str, expected: Option<(u64, u64)>) {
        assert_eq!(SocketCounts::parse(text).map(|found| (found.in_use, found.time_wait)), expected, "{text}");
    }

    #[test]
    fn sockets() {
        check_sockets(
            "sockets: used 17\nTCP: inuse 12 orphan 0 tw 34 alloc 1 mem 4\nUDP: inuse 9 mem 0\n",
            Some((12, 34)),
        );
        check_sockets("TCP: inuse 12 orphan 0\n", None);
        check_sockets("", None);
    }

    #[track_caller]
    fn check_refused(text: &str, expected: Option<[u64; 4]>) {
        assert_eq!(parse_refusals(text), expected, "{text}");
    }

    #[test]
    fn refused_connections() {
        let names = "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPAbortOnTimeout TCPReqQFullDrop";
        check_refused(&format!("{names}\nTcpExt: 1 2 3 4 5\nIpExt: A\nIpExt: 9\n"), Some([2, 3, 5, 4]));
        check_refused(&format!("IpExt: A\nIpExt: 9\n{names}\nTcpExt: 1 2 3 4 5\n"), Some([2, 3, 5, 4]));
        check_refused(names, None);
        check_refused("TcpExt: ListenOverflows\nTcpExt: 2\n", None);
    }

    #[test]
    fn dropped_packets() {
        assert_eq!(packets_dropped("109c9a6e 00000010 00000081 0\n0f2a5f01 0000000a 0000007b 0\n"), Some(26));
        assert_eq!(packets_dropped("109c9a6e\n"), None);
        assert_eq!(packets_dropped("109c9a6e x\n"), None);
        assert_eq!(packets_dropped(""), None);
    }

    #[test]
    fn port_ranges() {
        assert_eq!(parse_port_range("32768\t60999\n"), Some(32768..=60999));
        assert_eq!(parse_port_range("5 4"), None);
        assert_eq!(parse_port_range("1 70000"), None);
        assert!(local_ports().is_some());
    }

    #[test]
    fn figures_of_this_machine_have_names() {
        let before = HostCounters::read();
        let names: Vec<String> = HostCounters::read().since(&before).into_keys().collect();
        assert!(names.iter().any(|name| name == "listen_overflows"), "{names:?}");
        assert!(names.iter().any(|name| name == "tcp_time_wait"), "{names:?}");
        assert!(names.iter().any(|name| name == "packets_dropped"), "{names:?}");
        let idle = HostCounters {
            ticks: Some(CpuTicks { idle: 1, steal: 0, interrupts: 3, total: 4 }),
            ..HostCounters::default()
        };
        let then = HostCounters {
            ticks: Some(CpuTicks { idle: 2, steal: 1, interrupts: 4, total: 8 }),
            ..HostCounters::default()
        };
        let expected = [("busy_share", 0.75), ("steal_share", 0.25), ("interrupt_share", 0.25)];
        let expected = expected.map(|(name, share)| (name.to_owned(), share));
        assert_eq!(then.since(&idle), BTreeMap::from(expected));
    }
}

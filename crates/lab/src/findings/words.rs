//! Numbers as they stand in sentences: three digits that matter, and a unit that fits. Refuses to know what they
//! measure.

/// A time: `0.18 ms`, `112 ms`, `2.31 s`.
pub(super) fn time(seconds: f64) -> String {
    if seconds.abs() < 1.0 { format!("{} ms", digits(seconds * 1000.0)) } else { format!("{} s", digits(seconds)) }
}

/// A moment of the trial: `24.0 s`.
pub(super) fn moment(t_s: f64) -> String {
    format!("{t_s:.1} s")
}

/// A share: `87 %`, `0.4 %`.
pub(super) fn share(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

/// Memory: `38.2 MiB`, `712 KiB`.
pub(super) fn bytes(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    match bytes.abs() {
        size if size >= KIB * KIB * KIB => format!("{} GiB", digits(bytes / (KIB * KIB * KIB))),
        size if size >= KIB * KIB => format!("{} MiB", digits(bytes / (KIB * KIB))),
        _ => format!("{} KiB", digits(bytes / KIB)),
    }
}

/// A count: `2,167`.
pub(super) fn count(count: u64) -> String {
    let digits = count.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// A number with three digits that matter; a great one without a fraction.
pub(super) fn digits(value: f64) -> String {
    match value.abs() {
        size if size >= 1e15 => format!("{value:e}"),
        size if size >= 99.95 => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", count(size.round() as u64))
        }
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// `1 game`, `2 games`.
pub(super) fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!([time(0.000_18), time(0.1124), time(2.306), time(0.0)], ["0.18 ms", "112 ms", "2.31 s", "0.00 ms"]);
        assert_eq!([share(0.874), share(0.004), share(1.0)], ["87.4 %", "0.40 %", "100 %"]);
        assert_eq!([bytes(40_055_603.2), bytes(729_088.0), bytes(4.1e9)], ["38.2 MiB", "712 KiB", "3.82 GiB"]);
        assert_eq!([count(7), count(2_167), count(1_000_000)], ["7", "2,167", "1,000,000"]);
        assert_eq!([digits(9.999), digits(99.96), digits(-1234.4), digits(1e300)], ["10.0", "100", "-1,234", "1e300"]);
        assert_eq!([counted(1, "game"), counted(1200, "game")], ["1 game", "1,200 games"]);
    }
}

//! Numbers as written in sentences: three significant digits, and a suitable unit. Does not know what they measure.

pub(crate) use crate::format::{count, pluralize};

/// A time: `0.18 ms`, `112 ms`, `2.31 s`.
pub(super) fn time(seconds: f64) -> String {
    if seconds.abs() < 0.999_5 { format!("{} ms", number(seconds * 1000.0)) } else { format!("{} s", number(seconds)) }
}

/// A moment of the trial: `24.0 s`.
pub(super) fn moment(t_s: f64) -> String {
    // Rounding errors before the start are shown as the start.
    format!("{:.1} s", if t_s.abs() < 0.05 { 0.0 } else { t_s })
}

/// A share: `87 %`, `0.4 %`; above 200 % as a factor: `3.62 times`.
pub(crate) fn share(share: f64) -> String {
    if share >= 2.0 { format!("{} times", number(share)) } else { format!("{} %", number(share * 100.0)) }
}

/// Memory: `38.2 MiB`, `712 KiB`.
pub(super) fn bytes(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    match bytes.abs() {
        size if size >= KIB * KIB * KIB => format!("{} GiB", number(bytes / (KIB * KIB * KIB))),
        size if size >= KIB * KIB => format!("{} MiB", number(bytes / (KIB * KIB))),
        _ => format!("{} KiB", number(bytes / KIB)),
    }
}

/// A number with three significant digits; a large one without a fraction, a nonzero one never as zero, and a dash for
/// NaN and infinity.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => "-".to_owned(),
        0.0 => "0".to_owned(),
        size if size < 0.005 => (if value < 0.0 { "0" } else { "<0.01" }).to_owned(),
        size if size >= 1e15 => format!("{value:e}"),
        size if size >= 99.95 => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", count(size.round() as u64))
        }
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!([time(0.000_18), time(0.1124), time(2.306), time(0.0)], ["0.18 ms", "112 ms", "2.31 s", "0 ms"]);
        assert_eq!([time(1e-9), time(0.9996), time(-0.0)], ["<0.01 ms", "1.00 s", "0 ms"]);
        assert_eq!([moment(-0.04), moment(24.0)], ["0.0 s", "24.0 s"]);
        assert_eq!([share(1.99), share(36.23), share(0.0), share(f64::NAN)], ["199 %", "36.2 times", "0 %", "- %"]);
        assert_eq!([number(-0.0), number(0.004), number(-0.004), number(f64::INFINITY)], ["0", "<0.01", "0", "-"]);
        assert_eq!([share(0.874), share(0.004), share(1.0)], ["87.4 %", "0.40 %", "100 %"]);
        assert_eq!([bytes(40_055_603.2), bytes(729_088.0), bytes(4.1e9)], ["38.2 MiB", "712 KiB", "3.82 GiB"]);
        assert_eq!([count(7), count(2_167), count(1_000_000)], ["7", "2,167", "1,000,000"]);
        assert_eq!([number(9.999), number(99.96), number(-1234.4), number(1e300)], ["10.0", "100", "-1,234", "1e300"]);
        assert_eq!([pluralize(1, "game"), pluralize(1200, "game")], ["1 game", "1,200 games"]);
    }
}

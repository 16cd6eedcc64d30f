//! Numbers inside the sentences of this module. Does not know what they count.

use crate::format::count;

/// Enough digits to act on, thousands separated: `16,356`, `79.3`, `0.12`.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        magnitude if !magnitude.is_finite() => "-".to_owned(),
        magnitude if magnitude >= 100.0 || magnitude.fract() == 0.0 => {
            let sign = if value < 0.0 { "-" } else { "" };
            sign.to_owned() + &count(magnitude.round_ties_even() as u64)
        }
        magnitude if magnitude >= 10.0 => format!("{value:.1}"),
        magnitude if magnitude >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.2e}"),
    }
}

/// A share as a percentage: `19.7 %`, `5 %`, `0.02 %`.
pub(super) fn percent(share: f64) -> String {
    let value = share * 100.0;
    let text = match value.abs() {
        magnitude if !magnitude.is_finite() => "-".to_owned(),
        0.0 => "0".to_owned(),
        magnitude if magnitude < 0.005 => "<0.01".to_owned(),
        magnitude if magnitude >= 0.1 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        _ => format!("{value:.2}"),
    };
    text + " %"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let rows = [
            (0.0, "0"),
            (16_355.9, "16,356"),
            (999.6, "1,000"),
            (79.25, "79.2"),
            (5.0, "5"),
            (0.125, "0.12"),
            (0.000_012_3, "1.23e-5"),
            (-2_000.0, "-2,000"),
            (-0.0, "0"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ];
        rows.iter().for_each(|(value, text)| assert_eq!(number(*value), *text));
        let shares = [
            (0.0, "0 %"),
            (0.196_8, "19.7 %"),
            (0.05, "5 %"),
            (0.0123, "1.2 %"),
            (0.000_2, "0.02 %"),
            (0.000_01, "<0.01 %"),
            (f64::NAN, "- %"),
        ];
        shares.iter().for_each(|(value, text)| assert_eq!(percent(*value), *text));
    }
}

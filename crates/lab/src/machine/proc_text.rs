//! Parses the kernel's text formats: `key: value` lines and sizes in kB. PURE. Does not know which file a text comes
//! from.

/// The text after the colon of the first line with this key.
pub(super) fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim_end() == key).then(|| value.trim())
    })
}

/// The integer after the colon of the first line with this key.
pub(super) fn count_of(text: &str, key: &str) -> Option<u64> {
    value_of(text, key)?.parse().ok()
}

/// A size such as `1234 kB`, in bytes: the kernel's kB are 1024 bytes.
pub(super) fn kib_to_bytes(text: &str) -> Option<u64> {
    text.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, key: &str, expected: Option<&str>) {
        assert_eq!(value_of(text, key), expected, "{key} in {text:?}");
    }

    #[test]
    fn lines() {
        check("VmRSS:\t  12 kB\nThreads:\t3\n", "Threads", Some("3"));
        check("model name\t: A: fast one\n", "model name", Some("A: fast one"));
        check("MemTotalX: 1\nMemTotal: 2", "MemTotal", Some("2"));
        check("no colon", "no colon", None);
        check("", "VmRSS", None);
    }

    #[test]
    fn sizes() {
        assert_eq!(kib_to_bytes("   1234 kB"), Some(1_263_616));
        assert_eq!(kib_to_bytes("many"), None);
        assert_eq!(kib_to_bytes("18446744073709551615 kB"), None);
    }
}

//! Descriptors and the keys that they make.

use super::*;
use proptest::prelude::*;

fn entries(words: &[(&str, &str)]) -> Vec<Entry> {
    words.iter().map(|(key, value)| Entry { key: (*key).to_owned(), value: (*value).to_owned() }).collect()
}

#[test]
fn keys_read_as_they_were_sent() {
    #[track_caller]
    fn check(words: &[(&str, &str)], expected: &str) {
        assert_eq!(String::from_utf8(encode_key(&entries(words))).unwrap(), expected);
    }
    check(&[("user", "42")], "user=42");
    check(&[("authenticated", "true"), ("path", "/a?b=c&d=%41")], "authenticated=true,path=/a?b=c&d=%2541");
    check(&[("a", "1,b=2")], "a=1%2Cb=2");
    check(&[("a=1,b", "2")], "a%3D1%2Cb=2");
    check(&[("a", ""), ("ä", "ö")], "a=,ä=ö");
}

#[test]
fn units_are_windows() {
    #[track_caller]
    fn check(unit: i32, seconds: Option<u64>) {
        let quota = parse_quota(0, RateLimitOverride { requests_per_unit: 5, unit });
        assert_eq!(
            quota.ok().map(|quota| (quota.limit(), quota.window().as_secs())),
            seconds.map(|seconds| (5, seconds))
        );
    }
    check(0, None);
    check(1, Some(1));
    check(2, Some(60));
    check(3, Some(3_600));
    check(4, Some(86_400));
    check(5, Some(2_592_000));
    check(6, Some(31_536_000));
    check(7, Some(604_800));
    check(8, None);
    check(-1, None);
}

fn any_entries() -> impl Strategy<Value = Vec<Entry>> {
    let text = || "[a%,=2C5D]{0,4}";
    let entry = (text(), text()).prop_map(|(key, value)| Entry { key, value });
    prop::collection::vec(entry, 1..4)
}

proptest! {
    #[test]
    fn descriptors_that_differ_never_share_a_key(one in any_entries(), other in any_entries()) {
        prop_assert_eq!(one == other, encode_key(&one) == encode_key(&other));
    }
}

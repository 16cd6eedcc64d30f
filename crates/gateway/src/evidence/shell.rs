//! A request as a command that can be copied into a shell. Names and shouts of other players stand in it, so it must be nothing but words:
//! no quote ends early, and no character controls the terminal that it is pasted into.

use bot_client::Webhook;
use engine::printable::is_unprintable;
use std::borrow::Cow;
use std::fmt::Write;

/// The command that sends this body to a bot again.
pub(super) fn curl(url: &str, body: &str, timeout_ms: u16) -> String {
    let (url, body) = (quote(url), quote(&printable_json(body)));
    let (seconds, ms) = (timeout_ms / 1_000, timeout_ms % 1_000);
    format!(
        "curl --globoff --silent --show-error --include --max-time {seconds}.{ms:03} --header 'Content-Type: application/json' --data-raw {body} {url}"
    )
}

/// Where a call to the bot at this base URL goes.
pub(super) fn call_url(base: &str, webhook: Webhook) -> String {
    format!("{}/{}", base.trim_end_matches('/'), webhook.segment())
}

/// One word of a POSIX shell: between single quotes only the quote itself means something.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The same JSON without characters that a terminal may obey or that reorder what is shown. JSON has escapes for the lowest ones already,
/// and outside of its strings none of these can stand.
fn printable_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(is_unprintable) {
        return Cow::Borrowed(json);
    }
    let mut printable = String::with_capacity(json.len() + 64);
    for char in json.chars() {
        if is_unprintable(char) {
            for unit in char.encode_utf16(&mut [0; 2]) {
                let _ = write!(printable, "\\u{unit:04x}");
            }
        } else {
            printable.push(char);
        }
    }
    Cow::Owned(printable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    /// What a shell takes these words for, each ended by a zero.
    fn words(line: &str) -> Vec<String> {
        let script = format!("show() {{ printf '%s\\0' \"$@\"; }}; show {line}");
        let ran = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(ran.status.success() && ran.stderr.is_empty(), "{line}: {ran:?}");
        let shown = String::from_utf8(ran.stdout).unwrap();
        shown.trim_end_matches('\0').split('\0').map(str::to_owned).collect()
    }

    #[track_caller]
    fn check(shout: &str) {
        let sent = serde_json::json!({ "turn": 3, "you": { "shout": shout } }).to_string();
        let line = curl("http://bot.example/a?b=c&d=$(e)", &sent, 1_500);
        assert!(!line.chars().any(is_unprintable), "{line:?}");
        let words = words(&line);
        let [.., flag, body, url] = &words[..] else { panic!("{words:?}") };
        assert_eq!((flag.as_str(), url.as_str()), ("--data-raw", "http://bot.example/a?b=c&d=$(e)"));
        let (got, want): (serde_json::Value, serde_json::Value) =
            (serde_json::from_str(body).unwrap(), serde_json::from_str(&sent).unwrap());
        assert_eq!(got, want);
        assert_eq!(words[0], "curl");
        assert!(words.windows(2).any(|pair| pair == ["--max-time", "1.500"]), "{words:?}");
        if !sent.chars().any(is_unprintable) {
            assert_eq!(*body, sent, "byte for byte");
        }
    }

    #[test]
    fn nothing_in_a_request_is_a_command() {
        check("");
        check("it's mine");
        check("'; touch /tmp/gotcha; '");
        check("$(reboot) `reboot` \\ \" !! %s $HOME * ? [a] {b,c} ~ # & | < > ( )");
        check("\u{1b}[2J\u{7}\r\n\t\u{0}");
        check("\u{9b}31m \u{202e}gnp.exe \u{2028} \u{feff} \u{7f}");
        check("snake 🐍 名前 é");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn no_shout_is_a_command(shout in ".{0,80}") {
            check(&shout);
        }
    }

    #[test]
    fn calls_are_appended_to_the_base() {
        for base in ["http://bot.example", "http://bot.example/"] {
            assert_eq!(call_url(base, Webhook::Move), "http://bot.example/move");
        }
        assert_eq!(call_url("https://bot.example/a//", Webhook::End), "https://bot.example/a/end");
    }
}

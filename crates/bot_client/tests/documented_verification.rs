//! The code that `docs/bots.md` gives owners to verify signatures, run by its interpreters on calls that this crate signed.

use bot_client::signing::SecretDeriver;
use engine::ids::BotId;
use engine::rows::SigningState;
use engine::time::UnixMs;
use std::path::Path;
use std::process::Command;
use store::testing::TempDir;

const NOW_S: i64 = 1_700_000_000;

/// The block of code in this language.
fn documented(language: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bots.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let (_, block) = page.split_once(&format!("```{language}\n")).expect("the page has code in this language");
    block.split_once("```").expect("a block ends").0.to_owned()
}

/// What the code says about each case, as `true` or `false`, one a line. `None`: its interpreter is not installed.
fn run(program: &str, file: &Path, code: &str) -> Option<String> {
    std::fs::write(file, code).expect("a folder of our own can be written");
    let output = match Command::new(program).arg(file).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("{program} is not installed: the documented code was not run");
            return None;
        }
        Err(error) => panic!("{program} cannot be run: {error}"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("it prints text"))
}

/// Cases as (secret, header, path, body, now), and whether they are genuine.
fn cases() -> Vec<([String; 4], i64, bool)> {
    let deriver = SecretDeriver::new(&[7; 32]);
    let header = |generation, previous_until| {
        let state = SigningState { generation, previous_until };
        deriver.keys(BotId(5), state, UnixMs(NOW_S * 1_000)).header_value(
            UnixMs(NOW_S * 1_000),
            "/s/move",
            b"{\"a\":\"\xc3\xa9\"}",
        )
    };
    let (alone, both) = (header(1, UnixMs(0)), header(2, UnixMs::MAX));
    let (secret, newer) = (deriver.secret(BotId(5), 1), deriver.secret(BotId(5), 2));
    let case = |secret: &str, header: &str, path: &str, body: &str, now_s, want| {
        ([secret.to_owned(), header.to_owned(), path.to_owned(), body.to_owned()], now_s, want)
    };
    let (secret, newer, body) = (secret.expose(), newer.expose(), "{\"a\":\"é\"}");
    vec![
        case(secret, &alone, "/s/move", body, NOW_S, true),
        case(secret, &alone, "/s/move", body, NOW_S + 300, true),
        case(secret, &alone, "/s/move", body, NOW_S + 301, false),
        case(secret, &alone, "/s/move", body, NOW_S - 301, false),
        case(secret, &alone, "/s/start", body, NOW_S, false),
        case(secret, &alone, "/s/move", "{\"a\":\"e\"}", NOW_S, false),
        case(newer, &alone, "/s/move", body, NOW_S, false),
        case(secret, &both, "/s/move", body, NOW_S, true),
        case(newer, &both, "/s/move", body, NOW_S, true),
        case(secret, "", "/s/move", body, NOW_S, false),
        case(secret, "v1=00", "/s/move", body, NOW_S, false),
        case(secret, "t=x,v1=00", "/s/move", body, NOW_S, false),
        case(secret, &alone.replace("v1=", "v0="), "/s/move", body, NOW_S, false),
        case(secret, &alone.replace("t=17", "t=1,t=17"), "/s/move", body, NOW_S, false),
    ]
}

#[test]
fn the_documented_code_tells_genuine_calls_from_others() {
    let folder = TempDir::new();
    let cases = cases();
    let want: Vec<_> = cases.iter().map(|(.., want)| want.to_string()).collect();
    // Texts of Rust's debug form are literals of both languages, for the characters that are used here.
    let calls = |call: &dyn Fn(&[String; 4], i64) -> String| {
        cases.iter().map(|(texts, now_s, _)| call(texts, *now_s)).collect::<Vec<_>>().join("\n")
    };
    let python = calls(&|[secret, header, path, body], now_s| {
        format!("print(str(is_from_server({secret:?}, {header:?}, {path:?}, {body:?}.encode(), {now_s})).lower())")
    });
    let javascript = calls(&|[secret, header, path, body], now_s| {
        format!("console.log(isFromServer({secret:?}, {header:?}, {path:?}, Buffer.from({body:?}), {now_s}));")
    });
    let runs = [
        ("python3", "verify.py", format!("{}\n{python}\n", documented("python"))),
        ("node", "verify.mjs", format!("{}\n{javascript}\n", documented("javascript"))),
    ];
    for (program, file, code) in runs {
        if let Some(said) = run(program, &folder.path().join(file), &code) {
            assert_eq!(said.lines().collect::<Vec<_>>(), want, "{program}");
        }
    }
}

//! Steps and their templates: what a text becomes for an arrival, and what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::super::{
    ArrivalContext, Body, Feed, FeedRows, KeepRule, Scenario, Scope, Step, Template, ValuePath, ValueSource,
};
use super::{GOOD, complaints, read};

fn body(step: &Step) -> &Template {
    match step.request().unwrap().body.as_ref().unwrap() {
        Body::Json(json) => json,
        Body::Text(text) => text,
    }
}

/// The path and body of the first step, for the arrival at `index`.
fn rendered(index: u64, seed: u64) -> (String, String) {
    let text = GOOD.replace("GET /x", "POST /{{run.id}}/{{index}}/{{uuid}}")
        + "json = { a = [\"{{pick.p}}\", \"{{pick.p}}\"], n = 3, t = \"say \\\"{{said}}\\\"\" }\n"
        + "[[setup]]\nrequest = \"GET /s\"\nkeep = { said = \"/said\" }\n[pick]\np = [\"x\", \"y\", \"z\"]\n";
    let scenario = read(&text, &[]).unwrap();
    let globals = BTreeMap::from([("run.id", "r1"), ("said", "a \"b\"\n")].map(|(k, v)| (k.to_owned(), v.to_owned())));
    let picks = [["x", "y", "z"].map(str::to_owned).to_vec()];
    let draw = Some(ArrivalContext { run_id: "r1", load_step: 0, index, seed, round: 0, message_number: 0 });
    let scope = Scope { globals: &globals, kept: &[], picks: &picks, feeds: &[], arrival: draw };
    let step = &scenario.journeys[0].steps[0];
    (step.request().unwrap().path.render(&scope).unwrap(), body(step).render(&scope).unwrap())
}

#[test]
fn templates_are_filled_in() {
    let (path, body) = rendered(7, 1);
    let parts: Vec<&str> = path.split('/').collect();
    assert_eq!(&parts[..3], ["", "r1", "7"]);
    let uuid = parts[3];
    assert!(uuid.len() == 36 && uuid.as_bytes()[14] == b'8' && b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&body["n"], &body["t"]), (&3.into(), &"say \"a \"b\"\n\"".into()));
    assert_eq!(body["a"].as_array().map(Vec::len), Some(2));
}

#[test]
fn an_arrival_renders_the_same_text_again_and_others_do_not() {
    assert_eq!(rendered(7, 1), rendered(7, 1));
    assert_ne!(rendered(7, 1).0, rendered(8, 1).0);
    let picked: BTreeSet<String> = (0..200).map(|seed| rendered(0, seed).1).collect();
    assert_eq!(picked.len(), 9, "every pair of picks turns up");
}

/// The good scenario with these lines in its step: the first of them is line 15.
fn with(lines: &str) -> String {
    format!("{GOOD}{lines}")
}

#[track_caller]
fn check(lines: &str, expected: &[&str]) {
    assert_eq!(complaints(&with(lines)), expected);
}

const DRAWS: &str = "
[[journey.step]]
name = \"b\"
request = \"GET /{{key.k}}/{{key.k.1}}/{{key.k.2}}/{{key.z}}/{{feed.u.name}}/{{feed.r.name}}\"
[feed.u]
file = \"u.csv\"
[feed.r]
file = \"r.jsonl\"
order = \"random\"
[key.k]
count = 1000000
[key.z]
count = 1000000
zipf = 2
";

fn rows(feed: &Feed) -> FeedRows {
    feed.parse_rows(match feed.name.as_str() {
        "u" => "id,name\n0,ann\n1,bob\n2,\"c \"\"q\"\"\"\n",
        _ => "{\"name\":\"x\"}\n{\"name\":\"y\"}\n",
    })
    .unwrap()
}

/// The body of the first step and the path of the second one.
fn drawn(index: u64, seed: u64) -> (String, Vec<String>) {
    let json = "json = { n = \"{{key.k}}\", i = \"{{ index }}\", t = \"k{{key.k}}\", u = \"{{feed.u.id}}\", q = \"{{feed.u.name}}\" }";
    let scenario = read(&with(&format!("{json}{DRAWS}")), &[]).unwrap();
    let feeds: Vec<FeedRows> = scenario.feeds.iter().map(rows).collect();
    let draw = Some(ArrivalContext { run_id: "r", load_step: 0, index, seed, round: 0, message_number: 0 });
    let scope = Scope { globals: &BTreeMap::new(), kept: &[], picks: &[], feeds: &feeds, arrival: draw };
    let steps = &scenario.journeys[0].steps;
    let path = steps[1].request().unwrap().path.render(&scope).unwrap();
    (body(&steps[0]).render(&scope).unwrap(), path.split('/').skip(1).map(str::to_owned).collect())
}

#[test]
fn an_arrival_uses_one_row_and_one_key_in_all_its_steps() {
    let (json, path) = drawn(4, 9);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let key: u64 = path[0].parse().unwrap();
    assert_eq!((json["n"].as_u64(), json["i"].as_u64()), (Some(key), Some(4)), "numbers stay numbers");
    assert_eq!(json["t"], format!("k{key}"));
    assert_eq!((&json["u"], &json["q"], path[4].as_str()), (&"1".into(), &"bob".into(), "bob"));
    assert_eq!(path[0], path[1]);
    assert_ne!(path[0], path[2], "another draw of the same keys");
    assert_eq!(drawn(4, 9).1, drawn(4, 9).1);
    assert_eq!(drawn(2, 9).0.split("\"q\":").nth(1), Some("\"c \\\"q\\\"\"}"), "escaped");
}

#[test]
fn rows_go_round_and_random_ones_do_not() {
    let names = |column: usize| (0..40).map(|index| drawn(index, index).1.remove(column)).collect::<Vec<_>>();
    assert_eq!(names(4)[..4], ["ann", "bob", "c \"q\"", "ann"]);
    let random = names(5);
    assert_eq!(random.iter().collect::<BTreeSet<_>>().len(), 2);
    assert!(random.chunks(2).any(|pair| pair != ["x", "y"]));
}

#[test]
fn uneven_keys_are_uneven() {
    let zeros = |column: usize| (0..400).filter(|seed| drawn(0, *seed).1[column] == "0").count();
    assert_eq!(zeros(0), 0);
    // 6 / pi^2 of all: 243 of 400, within five standard deviations.
    assert!((194..292).contains(&zeros(3)), "{}", zeros(3));
}

#[test]
fn names_that_nothing_has_set() {
    let path = |name: &str| {
        format!(
            "[[journey.step]]\nname = \"b\"\nrequest = \"GET /{{{{{name}}}}}\"\n[feed.u]\nfile = \"u.csv\"\n[key.k]\ncount = 9\n"
        )
    };
    let complaint = |rest: &str| format!("line 17: `journey.j.step.b.request` uses {rest}");
    check(&path("feed.v.name"), &[&complaint("`{{feed.v.name}}`, but there is no [feed.v]")]);
    check(&path("feed.u"), &[&complaint("`{{feed.u}}`, which names no column: write {{feed.NAME.COLUMN}}")]);
    check(&path("key.l"), &[&complaint("`{{key.l}}`, but there is no [key.l]")]);
    for ordinal in ["0", "65", "x", "2.2"] {
        let rest = format!("`{{{{key.k.{ordinal}}}}}`, but its draws are numbered: {{{{key.k.2}}}} up to 64");
        check(&path(&format!("key.k.{ordinal}")), &[&complaint(&rest)]);
    }
    check(&path("pick.p"), &[&complaint("`{{pick.p}}`, but [pick] has no such list")]);
    check(
        "[[setup]]\nrequest = \"GET /{{key.k}}/{{index}}\"\n[key.k]\ncount = 9\n",
        &["line 16: `setup.0.request` uses `{{key.k}}`, which only the steps of a journey have"],
    );
}

fn step(lines: &str) -> Step {
    read(&with(lines), &[]).unwrap().journeys.remove(0).steps.remove(0)
}

#[test]
fn bodies_are_json_or_text() {
    assert!(step("").request().unwrap().body.is_none());
    let draw = Some(ArrivalContext { run_id: "r", load_step: 0, index: 5, seed: 1, round: 0, message_number: 0 });
    let globals = BTreeMap::new();
    let scope = Scope { arrival: draw, ..Scope::for_run(&globals) };
    let text = step("body = \"n=\\\"{{index}}\\\"\"");
    assert!(matches!(text.request().unwrap().body, Some(Body::Text(_))));
    assert_eq!(body(&text).render(&scope).unwrap(), "n=\"5\"");
    check("body = \"x\"\njson = {}", &["line 13: `journey.j.step.0` has `json` and `body`: a request has one body"]);
    check("body = \"{{x\"", &["line 15: `journey.j.step.0.body` has `{{` without `}}`"]);
}

#[test]
fn pauses() {
    let ms = Duration::from_millis;
    assert_eq!(step("").pause, None);
    assert_eq!(step("").pause_duration(1, 0, 0), Duration::ZERO);
    assert_eq!(step("pause = \"1s\"").pause_duration(7, 3, 0), ms(1000));
    let drawn = step("pause = { from = \"100ms\", to = \"200ms\" }");
    assert_eq!(drawn.pause, Some((ms(100), ms(200))));
    let pauses: Vec<Duration> = (0..500).map(|seed| drawn.pause_duration(seed, 1, 0)).collect();
    assert!(pauses.iter().all(|pause| (ms(100)..ms(200)).contains(pause)));
    let mean = pauses.iter().sum::<Duration>() / 500;
    assert!((ms(143)..ms(157)).contains(&mean), "{mean:?}: five standard deviations around the middle");
    assert_ne!(drawn.pause_duration(1, 1, 0), drawn.pause_duration(1, 2, 0), "each step has its own");
    assert_ne!(drawn.pause_duration(1, 1, 0), drawn.pause_duration(1, 1, 1), "and each round");
    check(
        "pause = { from = \"2s\", to = \"1s\" }",
        &["line 15: `journey.j.step.0.pause` must have a `from` that is not above its `to`"],
    );
    check(
        "pause = {}",
        &[
            "line 15: `journey.j.step.0.pause` needs `from`: the shortest pause",
            "line 15: `journey.j.step.0.pause` needs `to`: the longest pause",
        ],
    );
    check(
        "[[setup]]\nrequest = \"GET /s\"\npause = \"1s\"",
        &["line 17: `setup.0.pause` has no meaning here: only the steps of a journey pause"],
    );
}

#[test]
fn values_are_kept_from_the_body_and_from_headers() {
    let kept = step("keep = { id = \"/id\", all = \"\", token = { header = \"X-Token\" } }").keep;
    let at_pointer = |pointer: &str| ValueSource::Content(ValuePath { pointer: pointer.to_owned(), protobuf: None });
    let keep = |name: &str, from| KeepRule { name: name.to_owned(), source: from };
    assert_eq!(
        kept,
        [
            keep("id", at_pointer("/id")),
            keep("all", at_pointer("")),
            keep("token", ValueSource::Header("x-token".parse().unwrap())),
        ]
    );
    check(
        "keep = { t = { header = \"a b\" } }",
        &["line 15: `journey.j.step.0.keep.t.header` is not the name of a header"],
    );
    check(
        "keep = { t = { head = \"a\" } }",
        &[
            "line 15: `journey.j.step.0.keep.t` needs `header`: the header that holds it, such as { header = \"location\" }",
            "line 15: `journey.j.step.0.keep.t.head` is not a key that stands here; known: header",
        ],
    );
}

#[test]
fn steps_of_one_journey_have_names_of_their_own() {
    let more = "[[journey.step]]\nrequest = \"GET /y\"\n";
    let twice = "line 11: `journey.j` has two steps called \"get\": give each a `name`, figures are found under it";
    check(more, &[twice]);
    check(&more.repeat(2), &[twice]);
    check(&format!("{more}name = \"second\"\n"), &[]);
}

#[test]
fn what_the_run_knows_can_be_filled_in_beforehand() {
    let text = with("headers = { a = \"{{t}}\" }\njson = { x = \"{{t}}{{id}}{{index}}\" }\nkeep = { id = \"/id\" }\n")
        .replace("GET /x", "POST /{{run.id}}/{{t}}")
        + "[[setup]]\nrequest = \"GET /s\"\nkeep = { t = \"/t\", id = \"/id\" }\n";
    let scenario: Scenario = read(&text, &[]).unwrap();
    let globals = [("run.id", "r"), ("t", "\"T\""), ("id", "old")];
    let globals: BTreeMap<String, String> = globals.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let bound = scenario.journeys[0].bind(&globals);
    let request = bound.steps[0].request().unwrap();
    assert_eq!(request.path.as_constant(), Some("/r/\"T\""));
    assert_eq!(request.headers[0].1.as_constant(), Some("\"T\""));
    // The value that the journey keeps itself counts, although the setup kept the same name.
    let kept = [("id".to_owned(), "new".to_owned())];
    let draw = Some(ArrivalContext { run_id: "r", load_step: 0, index: 5, seed: 1, round: 0, message_number: 0 });
    for steps in [&bound.steps, &scenario.journeys[0].steps] {
        let scope = Scope { globals: &globals, kept: &kept, picks: &[], feeds: &[], arrival: draw };
        assert_eq!(body(&steps[0]).render(&scope).unwrap(), "{\"x\":\"\\\"T\\\"new5\"}");
    }
}

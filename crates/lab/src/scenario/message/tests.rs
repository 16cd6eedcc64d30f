//! Messages as rows: what a scenario says of them, how they are encoded, and what is wrong with them.

use std::collections::BTreeMap;

use prost_reflect::{DynamicMessage, Value};

use crate::scenario::{ArrivalContext, Document, MessagePayload, Reconnect, Scenario, Scope};

const PROTO: &str = r#"syntax = "proto3";
package p;
message Say { oneof what { All all = 1; Say inner = 2; } map<string, string> tags = 3; }
message All {
  double d = 1; float f = 2; int32 i32 = 3; int64 i64 = 4; uint32 u32 = 5; uint64 u64 = 6; sint32 s32 = 7; sint64 s64 = 8;
  fixed32 x32 = 9; fixed64 x64 = 10; sfixed32 y32 = 11; sfixed64 y64 = 12; bool b = 13; string t = 14; bytes raw = 15;
  Word word = 16; repeated uint32 list = 17; repeated All alls = 18;
}
enum Word { NONE = 0; ONE = 1; LESS = -1; }
"#;

const HEAD: &str = r#"format = 1
name = "n"
summary = "s"
[target]
url = "http://127.0.0.1:1"
[target.socket]
url = "tcp://127.0.0.1:2"
proto = ["protos/say.proto"]
send = "p.Say"
receive = "p.Say"
[[phase]]
name = "p"
arrivals = { hold = { connections = 1 }, for = "1s" }
journey = "j"
[[journey]]
name = "j"
[[journey.step]]
"#;

fn read(text: &str) -> Result<Scenario, String> {
    let mut document = Document::parse(text).map_err(|errors| errors.to_string())?;
    for name in document.required_files() {
        if name == "protos/say.proto" {
            document.add_file(&name, PROTO);
        }
    }
    // As a worker process reads it.
    let again = document.source().rebuild().map_err(|errors| errors.to_string())?;
    Scenario::read(&again).map_err(|errors| errors.to_string())
}

fn pool() -> prost_reflect::DescriptorPool {
    super::protobuf::compile(&BTreeMap::from([("say.proto", PROTO)]), &["say.proto".to_owned()]).unwrap()
}

/// The step's message as another library decodes it.
fn decoded(step: &str) -> DynamicMessage {
    let scenario = read(&format!("{HEAD}{step}")).unwrap_or_else(|errors| panic!("{errors}"));
    let message = scenario.journeys[0].steps[0].message().unwrap();
    let MessagePayload::Protobuf(encoder) = &message.payload else { panic!("protobuf") };
    let globals = BTreeMap::from([("run.id".to_owned(), "r".to_owned())]);
    let draw = Some(ArrivalContext { run_id: "r", load_step: 0, index: 300, seed: 1, round: 0, message_number: 7 });
    let (mut out, mut text) = (Vec::new(), String::new());
    encoder.encode(&Scope { arrival: draw, ..Scope::for_run(&globals) }, &mut out, &mut text).unwrap();
    DynamicMessage::decode(pool().get_message_by_name("p.Say").unwrap(), out.as_slice()).unwrap()
}

fn field(message: &DynamicMessage, way: &[&str]) -> Value {
    let (first, rest) = way.split_first().unwrap();
    let value = message.get_field_by_name(first).unwrap().into_owned();
    if rest.is_empty() { value } else { field(value.as_message().unwrap(), rest) }
}

#[track_caller]
fn check_value(written: &str, name: &str, expected: &Value) {
    let message = decoded(&format!("send = {{ all = {{ {name} = {written} }} }}\n"));
    assert_eq!(&field(&message, &["all", name]), expected, "{name} = {written}");
}

#[test]
fn every_kind_of_value_is_what_another_library_reads() {
    check_value("1.5", "d", &Value::F64(1.5));
    check_value("2", "f", &Value::F32(2.0));
    check_value("-3", "i32", &Value::I32(-3));
    check_value("-4", "i64", &Value::I64(-4));
    check_value("4294967295", "u32", &Value::U32(u32::MAX));
    check_value("\"{{index}}\"", "u64", &Value::U64(300));
    check_value("-7", "s32", &Value::I32(-7));
    check_value("-9223372036854775808", "s64", &Value::I64(i64::MIN));
    check_value("9", "x32", &Value::U32(9));
    check_value("\"{{nth}}\"", "x64", &Value::U64(7));
    check_value("-11", "y32", &Value::I32(-11));
    check_value("-12", "y64", &Value::I64(-12));
    check_value("true", "b", &Value::Bool(true));
    check_value("\"say {{index}}\"", "t", &Value::String("say 300".to_owned()));
    check_value("\"\"", "raw", &Value::Bytes(Vec::new().into()));
    check_value("\"LESS\"", "word", &Value::EnumNumber(-1));
    check_value("1", "word", &Value::EnumNumber(1));
    check_value("[1, \"{{nth}}\", 300]", "list", &Value::List([1, 7, 300].map(Value::U32).to_vec()));
}

#[test]
fn messages_inside_of_messages_have_their_lengths() {
    let long = "x".repeat(200);
    let message = decoded(&format!(
        "send = {{ inner = {{ inner = {{ all = {{ t = \"{{{{run.id}}}} {long}\", alls = [{{}}, {{ u32 = \"{{{{nth}}}}\" }}] }} }} }} }}\n"
    ));
    let all = field(&message, &["inner", "inner", "all"]);
    let all = all.as_message().unwrap();
    assert_eq!(field(all, &["t"]), Value::String(format!("r {long}")));
    let alls = field(all, &["alls"]);
    assert_eq!(alls.as_list().map(<[Value]>::len), Some(2));
    assert_eq!(field(alls.as_list().unwrap()[1].as_message().unwrap(), &["u32"]), Value::U32(7));
}

/// Compares the errors of these lines of a step (from line 18 on), or of the head with a replacement.
#[track_caller]
fn check(replaced: (&str, &str), step: &str, expected: &[&str]) {
    let text = format!("{HEAD}{step}");
    assert!(text.contains(replaced.0), "{} stands there", replaced.0);
    let text = text.replacen(replaced.0, replaced.1, 1);
    let found = read(&text).err().unwrap_or_default();
    assert_eq!(found.lines().collect::<Vec<_>>(), expected, "{text}");
}

const UNCHANGED: (&str, &str) = ("n", "n");
const STEP: &str = "send = { all = {} }\nanswer = \"/all\"\n";

#[test]
fn errors_in_messages() {
    check(UNCHANGED, STEP, &[]);
    check(
        UNCHANGED,
        "send = { al = {} }\n",
        &["line 18: `journey.j.step.0.send.al` names `al`, which is no field of p.Say; known: all, inner, tags"],
    );
    check(
        UNCHANGED,
        "send = { all = { u32 = -1, b = 1, word = \"TWO\" } }\n",
        &[
            "line 18: `journey.j.step.0.send.all.b` must be true or false, not \"1\"",
            "line 18: `journey.j.step.0.send.all.u32` must be a whole number of 32 bits, not below 0, not \"-1\"",
            "line 18: `journey.j.step.0.send.all.word` must be one of LESS, NONE, ONE, not \"TWO\"",
        ],
    );
    check(
        UNCHANGED,
        "send = { tags = {} }\n",
        &["line 18: `journey.j.step.0.send.tags` is a map, which the lab does not send"],
    );
    check(
        UNCHANGED,
        "send = { all = {} }\nanswer = \"/all/alls\"\nkeep = { a = \"/all/list/0\" }\n",
        &[
            "line 19: `journey.j.step.0.answer` leads to the list `alls`: say which of its items, such as /alls/0",
            "line 20: `journey.j.step.0.keep.a` leads into `list`, a list of numbers: its items have no places of their own",
        ],
    );
    check(
        UNCHANGED,
        "send = { all = {} }\nkeep = { a = \"/all/t\" }\nretry = { times = 1, backoff = \"1s\" }\n",
        &[
            "line 19: `journey.j.step.0.keep` needs `answer`: without one there is nothing to keep",
            "line 20: `journey.j.step.0.retry` is not a key that stands here; known: name, keep, starts, send, answer, \
             denied, pause, timeout, repeat",
        ],
    );
    check(
        UNCHANGED,
        &format!("{STEP}[[journey.step]]\nname = \"b\"\nrequest = \"GET /{{{{nth}}}}\"\n"),
        &[
            "line 22: `journey.j.step.b.request` uses `{{nth}}`, which only messages have: those of a connection are counted",
        ],
    );
    check(
        UNCHANGED,
        &format!("{STEP}[[journey.step]]\nname = \"b\"\nrequest = \"GET /\"\n"),
        &[
            "line 15: `journey.j` has steps that `send` and steps that `request`: one connection speaks one language, so make \
             two journeys",
        ],
    );
}

#[test]
fn errors_in_the_socket() {
    let file = "line 8: `target.socket.proto.0` names \"gone.proto\", and there is no such file beside the scenario";
    check(("protos/say.proto", "gone.proto"), STEP, &[file]);
    let gone = format!("{HEAD}{STEP}[[push]]\nname = \"a\"\nat = \"/a\"\n");
    let gone = gone.replace("[target.socket]\nurl = \"tcp://127.0.0.1:2\"\n", "[vars]\n");
    let errors = read(&gone).unwrap_err();
    let needs = "needs [target.socket]: where connections speak in frames, and in which language";
    for place in ["line 17: `journey.j.step.0.send` ", "line 19: `push.a` "] {
        assert!(errors.contains(&format!("{place}{needs}")), "{errors}");
    }
    check(
        ("p.Say\"\nrec", "p.Gone\"\nrec"),
        "request = \"GET /\"\n",
        &["line 9: `target.socket.send` names \"p.Gone\", which is no message of protos/say.proto"],
    );
    check(
        ("tcp://127.0.0.1:2", "udp://127.0.0.1:2"),
        "request = \"GET /\"\n",
        &["line 7: `target.socket.url` must start with tcp://, ws:// or wss://, not \"udp://127.0.0.1:2\""],
    );
    check(
        ("tcp://127.0.0.1:2", "tcp://127.0.0.1:2/x"),
        STEP,
        &["line 7: `target.socket.url` must be tcp:// with a host and a port, and nothing behind them"],
    );
    for (written, count) in
        [("tcp://127.0.0.1:4001-4053", 53), ("tcp://127.0.0.1:4001-4001", 1), ("ws://[::1]:7-8/a-b", 2)]
    {
        let text = format!("{HEAD}{STEP}").replace("tcp://127.0.0.1:2", written);
        let doors = read(&text).unwrap().target.socket.unwrap().endpoints;
        let last = written.split(['-', '/']).filter_map(|part| part.parse().ok()).next_back();
        assert_eq!((doors.len(), Some(doors[count - 1].base.port)), (count, last), "{written}");
    }
    check(
        ("tcp://127.0.0.1:2", "tcp://127.0.0.1:9-8"),
        STEP,
        &["line 7: `target.socket.url` must lead to one place, or up to 1024, not to 0"],
    );
    let json = ("proto = [\"protos/say.proto\"]\nsend = \"p.Say\"\nreceive = \"p.Say\"\n", "");
    check(
        json,
        STEP,
        &["line 6: `target.socket` needs `proto` for tcp://: there, frames are protobuf with their length in front"],
    );
    let mut wrong = Document::parse(&format!("{HEAD}{STEP}")).unwrap();
    wrong.add_file("protos/say.proto", "syntax = \"proto3\";\nmessage A { Gone b = 1; }\n");
    let errors = Scenario::read(&wrong).unwrap_err().to_string();
    assert!(errors.starts_with("line 8: `target.socket.proto.0` is not right: say.proto:2:13: "), "{errors}");
}

#[test]
fn errors_in_phases_and_pushes() {
    let step = format!("{STEP}[[journey]]\nname = \"k\"\n[[journey.step]]\nrequest = \"GET /\"\n");
    let opening = |name: &str| ("journey = \"j\"\n", format!("journey = \"j\"\nopening = \"{name}\"\n"));
    let (from, to) = opening("k");
    check(
        (from, &to),
        &step,
        &[
            "line 15: `phase.p.opening` must be a journey of the same kind as `journey`: both of messages, or both of requests",
        ],
    );
    let (from, to) = opening("j");
    check(
        (from, &to),
        STEP,
        &["line 15: `phase.p.opening` must not be `journey` itself: what a connection says first, it says once"],
    );
    let open = "arrivals = { batch = 1 }\nin_flight_max = 1\nreconnect = \"never\"";
    check(
        ("arrivals = { hold = { connections = 1 }, for = \"1s\" }", open),
        STEP,
        &[
            "line 15: `phase.p.reconnect` must be \"journey\": messages go over a connection of the arrival's own; to keep one, hold it",
        ],
    );
    let push = format!("{STEP}[[push]]\nname = \"other\"\nat = \"/gone\"\n[gates]\n\"push.view.frames\" = \"> 0\"\n");
    check(
        UNCHANGED,
        &push,
        &[
            "line 21: `push.other.name` must be called otherwise: `other` are the frames that have no name",
            "line 22: `push.other.at` names `gone`, which is no field of p.Say; known: all, inner, tags",
        ],
    );
}

#[test]
fn an_arrival_of_messages_gives_its_connection_up() {
    let open = "arrivals = { batch = 1 }\nin_flight_max = 1";
    let text = format!("{HEAD}{STEP}").replace("arrivals = { hold = { connections = 1 }, for = \"1s\" }", open);
    assert_eq!(read(&text).unwrap().phases[0].reconnect, Reconnect::Journey);
    assert_eq!(read(&format!("{HEAD}{STEP}")).unwrap().phases[0].reconnect, Reconnect::Never);
}

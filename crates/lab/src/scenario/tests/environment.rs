//! What surrounds the load, as rows: targets, faults, observers, feeds, keys, bounds, variables. Each row is a text
//! added to the valid scenario, and its errors.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use super::super::keys::KeySampler;
use super::super::zipf::Zipf;
use super::super::{BaseUrl, Document, FaultAction, FeedFormat, FeedOrder, GeneratorSpec, Scenario, TargetLimits};
use super::{GOOD, complaints, read};
use crate::limits::{CONNECTIONS_MAX, LAG_P99_MAX, REQUESTS_MAX, WAIT_MAX};

const SPAWN: &str = "url = \"http://127.0.0.1:4000\"\nspawn = [\"x\"]\nready = \"/r\"";

/// The valid scenario, whose target is started by the lab, with `text` at its end: the first line of it is line 17.
fn with_rest(text: &str) -> String {
    GOOD.replace("url = \"http://127.0.0.1:4000\"", SPAWN) + text
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(complaints(&with_rest(text)), expected);
}

/// The keys of the target, which begin at line 5.
#[track_caller]
fn target(keys: &str, expected: &[&str]) {
    assert_eq!(complaints(&GOOD.replace("url = \"http://127.0.0.1:4000\"", keys)), expected);
}

#[test]
fn urls() {
    #[track_caller]
    fn url(url: &str, expected: Result<(bool, &str, u16, &str), &str>) {
        let found = BaseUrl::parse(url).map(|(base, path)| (base.uses_tls, base.host, base.port, path));
        let expected = expected.map(|(tls, host, port, path)| (tls, host.to_owned(), port, path.to_owned()));
        assert_eq!(found, expected.map_err(str::to_owned));
    }
    url("http://a", Ok((false, "a", 80, "/")));
    url("https://a", Ok((true, "a", 443, "/")));
    url("https://[::1]:8443/x?y", Ok((true, "::1", 8443, "/x?y")));
    url("ftp://a", Err("must start with http:// or https://, not \"ftp://a\""));
    url("http://a:65535", Ok((false, "a", 65_535, "/")));
    url("http://a:65536", Err("must have a port up to 65535, not \"http://a:65536\""));
    url("http://[::1]:99999", Err("must have a port up to 65535, not \"http://[::1]:99999\""));
    url("https://me@a", Err("must not carry a user name: use `headers` and a secret"));
    assert_eq!(BaseUrl::parse("https://a:1").unwrap().0.url(), "https://a:1");
}

#[test]
fn headlines() {
    let good = "[headline]\ntook = { figure = \"j.ok\", of = \"games\" }\nlasted = { figure = \"j.latency_ms.p99\", of = \"ms\" }\n";
    let [took, lasted] = read(&with_rest(good), &[]).unwrap().headline.unwrap();
    assert_eq!([took.figure, took.of, lasted.figure, lasted.of], ["j.ok", "games", "j.latency_ms.p99", "ms"]);
    assert_eq!(read(&with_rest(""), &[]).unwrap().headline, None);
    let unknown =
        "is a figure that this trial does not have: `create.ok` must start with generator, j, p, server, total";
    check(&good.replace("j.ok", "create.ok"), &[&format!("line 18: `headline.took.figure` {unknown}")]);
}

#[test]
fn tls() {
    let read = |keys: &str| {
        let target = read(&GOOD.replace("url = \"http://127.0.0.1:4000\"", keys), &[]).unwrap().target;
        (target.url.uses_tls, target.ca_file, target.insecure)
    };
    assert_eq!(read("url = \"https://a\"\nca = \"ca.pem\""), (true, Some("ca.pem".to_owned()), false));
    assert_eq!(read("url = \"https://a\"\ninsecure = true"), (true, None, true));
    target(
        "url = \"http://a\"\nca = \"ca.pem\"\ninsecure = true",
        &[
            "line 4: `target` has `ca` and `insecure`: whom to trust says nothing where everybody is trusted",
            "line 6: `target.ca` is about TLS, but the url does not start with https://",
            "line 7: `target.insecure` is about TLS, but the url does not start with https://",
        ],
    );
    check(
        "[[process]]\nname = \"b\"\ncommand = [\"b\"]\nready = \"https://a/r\"\n",
        &["line 20: `process.b.ready` must start with http://: helpers are asked in the clear"],
    );
}

#[test]
fn limits_of_the_target() {
    let text = with_rest("[target.limits]\nmemory = \"512MiB\"\ncpu = 0.5\nopen_files = 1000\n");
    let expected = TargetLimits { memory_bytes: Some(512 << 20), cpu_cores: Some(0.5), open_files: Some(1000) };
    assert_eq!(read(&text, &[]).unwrap().target.limits, expected);
    check(
        "[target.limits]\nmemory = \"512MB\"\ncpu = 0.1\nopen_files = 1\n",
        &[
            "line 18: `target.limits.memory` must be a size such as \"64KiB\", \"512MiB\" or \"2GiB\", not \"512MB\"",
            "line 19: `target.limits.cpu` must be from 0.2 to 1024, not 0.1",
            "line 20: `target.limits.open_files` must be from 16 to 1048576, not 1",
        ],
    );
    check(
        "[target.limits]\nmemory = \"1KiB\"\n",
        &["line 18: `target.limits.memory` must be from 1MiB to 1024GiB, not 1KiB"],
    );
    check(
        "[target.limits]\nmemory = 5\n",
        &[
            "line 18: `target.limits.memory` must be a size such as \"64KiB\", \"512MiB\" or \"2GiB\", not a whole number",
        ],
    );
    target(
        "url = \"http://a\"\n[target.limits]\ncpu = 1",
        &["line 6: `target.limits` can only be set for a process that the lab starts, but [target] has no `spawn`"],
    );
}

const BOTS: &str = "[[process]]\nname = \"bots\"\ncommand = [\"b\"]\nready = \"http://127.0.0.1:1/r\"\n";

#[test]
fn faults() {
    let read = |fault: &str| {
        let text = with_rest(&format!("[[fault]]\nat = \"90s\"\n{fault}\n{BOTS}"));
        let fault = read(&text, &[]).unwrap().faults.remove(0);
        assert_eq!(fault.at, Duration::from_secs(90));
        (fault.action, fault.process, fault.duration.map(|duration| duration.as_secs()))
    };
    let server = |act| (act, "server".to_owned(), None);
    assert_eq!(read("do = \"kill\""), server(FaultAction::Kill));
    assert_eq!(read("do = \"kill -9\""), server(FaultAction::Kill));
    assert_eq!(read("do = \"continue\""), server(FaultAction::Continue));
    assert_eq!(read("do = \"restart\""), server(FaultAction::Restart));
    assert_eq!(read("do = \"term\"\nprocess = \"server\""), server(FaultAction::Term));
    assert_eq!(
        read("do = \"stop\"\nprocess = \"bots\"\nfor = \"5s\""),
        (FaultAction::Stop, "bots".to_owned(), Some(5))
    );
    assert_eq!(FaultAction::Kill.name(), "kill");
}

#[test]
fn a_fault_is_repeated() {
    let text = with_rest("[[fault]]\nat = \"90s\"\ndo = \"kill\"\nfor = \"1s\"\nevery = \"2500ms\"\ntimes = 3\n");
    let faults = read(&text, &[]).unwrap().faults;
    assert_eq!(faults.iter().map(|fault| fault.at.as_millis()).collect::<Vec<_>>(), [90_000, 92_500, 95_000]);
    assert!(faults.iter().all(|fault| fault.duration == Some(Duration::from_secs(1))), "{faults:?}");
}

#[test]
fn errors_in_faults() {
    check(
        "[[fault]]\n",
        &[
            "line 17: `fault.0` needs `at`: when, from the start of the load, such as \"90s\"",
            "line 17: `fault.0` needs `do`: kill, stop, continue, term or restart",
        ],
    );
    check(
        "[[fault]]\nat = \"1s\"\ndo = \"explode\"\nprocess = \"bot\"\n",
        &[
            "line 17: `fault.0` is done to \"bot\", but there is no such process; known: server",
            "line 19: `fault.0.do` must be one of \"kill\", \"stop\", \"continue\", \"term\", \"restart\", \"kill -9\", not \
             \"explode\"",
        ],
    );
    check(
        "[[fault]]\nat = \"1s\"\ndo = \"restart\"\nfor = \"1s\"\n",
        &["line 20: `fault.0.for` has no meaning here: only kill, term and stop last"],
    );
    check(
        &format!("[[fault]]\nat = \"1s\"\ndo = \"kill\"\nprocess = \"bots\"\n{BOTS}start = false\n"),
        &[
            "line 17: `fault.0` can only be done to a process that the lab starts, but [[process]] bots has start = false",
        ],
    );
    let together =
        "line 17: `fault.0` needs `every` and `times` together: the time from one to the next, and how many there are";
    check("[[fault]]\nat = \"1s\"\ndo = \"kill\"\ntimes = 3\n", &[together]);
    check("[[fault]]\nat = \"1s\"\ndo = \"kill\"\nevery = \"3s\"\n", &[together]);
    check(
        "[[fault]]\nat = \"1s\"\ndo = \"kill\"\nfor = \"2s\"\nevery = \"2s\"\ntimes = 3\n",
        &[
            "line 20: `fault.0.for` is 2s, and must be shorter than `every`, 2s: the next one comes before this one ends",
        ],
    );
    let unspawned = format!("{GOOD}[[fault]]\nat = \"1s\"\ndo = \"kill\"\n");
    assert_eq!(
        complaints(&unspawned),
        ["line 15: `fault.0` can only be done to a process that the lab starts, but [target] has no `spawn`"]
    );
    let reserved = "line 18: `process.server.name` is \"server\", which the lab calls figures of its own: ";
    let found = complaints(&with_rest(&BOTS.replace("bots", "server")));
    assert!(found.len() == 1 && found[0].starts_with(reserved), "{found:?}");
}

/// A load whose end the text determines or not, and a fault.
#[track_caller]
fn with_fault(load: &str, fault_at: &str, expected: &[&str]) {
    let (first, rest) = fault_at.split_once(' ').unwrap_or((fault_at, ""));
    let text = with_rest(&format!("[[fault]]\nat = \"{first}\"\ndo = \"kill\"\n{rest}\n"));
    let changed = text.replace("arrivals = { batch = 3 }", load);
    assert_ne!(changed, text);
    assert_eq!(complaints(&changed), expected, "{load} {fault_at}");
}

#[test]
fn a_fault_after_the_load_is_an_error() {
    let late = |at: &str, end: &str| {
        format!(
            "line 18: `fault.0.at` is {at}, but the last arrival is due before {end}: the run would be over without the \
             fault. Choose an earlier moment, or a longer load"
        )
    };
    let rate = "arrivals = { rate = 50, for = \"3s\" }";
    with_fault(rate, "30s", &[&late("30s", "3s")]);
    with_fault(rate, "3s", &[&late("3s", "3s")]);
    with_fault(rate, "2999ms", &[]);
    with_fault(rate, "1s every = \"1s\"\ntimes = 2", &[]);
    with_fault(rate, "1s every = \"1s\"\ntimes = 3", &[&late("1s, and the last repetition at 3s", "3s")]);
    with_fault("after = \"1s\"\narrivals = { rate = 50, for = \"3s\" }", "3999ms", &[]);
    with_fault("arrivals = { ramp = { from = 1, to = 9 }, for = \"3s\" }", "4s", &[&late("4s", "3s")]);
    // The target decides how long these take.
    with_fault("arrivals = { batch = 2 }", "30s", &[]);
    with_fault("arrivals = { edge = { from = 1, to = 2, overload = { backlog = true } } }", "30s", &[]);
}

#[test]
fn another_target_takes_no_faults_and_no_limits() {
    let text = with_rest("[[fault]]\nat = \"1s\"\ndo = \"kill\"\n[target.limits]\ncpu = 1\n");
    let aimed = |settings: &[&str]| {
        let mut document = Document::parse(&text).unwrap();
        settings.iter().for_each(|setting| document.set(setting).unwrap());
        document.set_target("http://10.0.0.1:80");
        Scenario::read(&document).map_err(|errors| errors.to_string())
    };
    let complaint = aimed(&[]).unwrap_err();
    let reason = "but --target http://10.0.0.1:80 names one that runs already: take either out";
    assert_eq!(
        complaint.lines().collect::<Vec<_>>(),
        [
            format!("line 17: `fault.0` can only be done to a process that the lab starts, {reason}"),
            format!("line 20: `target.limits` can only be set for a process that the lab starts, {reason}"),
        ]
    );
    let scenario = aimed(&["fault=[]", "target.limits={}"]).unwrap();
    assert!(scenario.faults.is_empty() && scenario.target.limits == TargetLimits::default());
}

#[test]
fn another_target_without_tls_needs_no_certificates() {
    let text = GOOD.replace("url = \"http://127.0.0.1:4000\"", "url = \"https://a\"\nca = \"ca.pem\"");
    let ca = |url: &str| {
        let mut document = Document::parse(&text).unwrap();
        document.set_target(url);
        Scenario::read(&document).unwrap().target.ca_file
    };
    assert_eq!(ca("http://b"), None);
    assert_eq!(ca("https://b"), Some("ca.pem".to_owned()));
}

#[test]
fn observers() {
    let text = with_rest("[[observe]]\nname = \"q\"\nread = \"GET /s\"\nfigures = { waiting = \"/a/b\" }\n");
    let observer = read(&text, &[]).unwrap().observers.remove(0);
    assert_eq!((observer.name.as_str(), observer.interval), ("q", Duration::from_secs(1)));
    assert_eq!(observer.path.as_constant(), Some("/s"));
    assert_eq!(observer.figures, [("waiting".to_owned(), "/a/b".to_owned())]);
    check(
        "[[observe]]\nname = \"q\"\nread = \"POST /s\"\nevery = \"1ms\"\nfigures = { A = \"a\" }\n",
        &[
            "line 19: `observe.q.read` must only read: \"GET /path\"",
            "line 20: `observe.q.every` must be from 100ms to 86400s, not 1ms",
            "line 21: `observe.q.figures.A` must be a JSON pointer such as \"/id\", not a text",
            "line 21: `observe.q.figures.A` must be named with small letters, digits and _",
        ],
    );
    check(
        "[[observe]]\nname = \"q\"\nread = \"GET /s\"\nfigures = {}\n",
        &["line 20: `observe.q.figures` must name at least one figure"],
    );
    let twice = "[[observe]]\nname = \"q\"\nread = \"GET /s\"\nfigures = { a = \"/a\" }\n".repeat(2);
    let expected = "line 22: `observe.q.name` is \"q\" as well, like a [[observe]] before it (line 18): each needs a name of its own";
    check(&twice, &[expected]);
}

#[test]
fn observers_of_known_orders() {
    let text = |order: &str| {
        let feed = "[feed.bots]\nfile = \"bots.csv\"\n";
        with_rest(&format!("{feed}[[observe]]\nname = \"q\"\nread = \"GET /s\"\norder = {order}\n"))
    };
    let good = r#"{ lists = ["/a", "/b"], id = "/name", feed = "bots", by = "name", value = "strength" }"#;
    let scenario = read(&text(good), &[]).unwrap();
    let order = scenario.observers[0].order.as_ref().unwrap();
    assert_eq!(
        (&order.lists[..], order.id_column, order.value_column),
        (&["/a".to_owned(), "/b".to_owned()][..], 0, 1)
    );
    let rows = |csv: &str| {
        scenario.feeds[0]
            .parse_rows(csv)
            .and_then(|rows| scenario.known_values(&[rows]).map_err(|errors| errors.to_string()))
    };
    assert_eq!(
        rows("strength,name,more\n1.5,a,x\n-2,b,y\n").unwrap()[0],
        [("a".to_owned(), 1.5), ("b".to_owned(), -2.0)].into()
    );
    let refused = |csv: &str| rows(csv).unwrap_err();
    assert!(refused("name,strength\na,strong\n").contains("`strong` is the value of `a`, and no number"));
    assert!(refused("name,strength\na,NaN\n").contains("`NaN` is the value of `a`, and no number"));
    assert!(refused("name,strength\na,1\na,2\n").contains("`observe.q.order` cannot use bots.csv: `a` is there twice"));
    assert_eq!(
        complaints(&text("{ lists = [], id = 7, feed = \"cats\" }")),
        [
            "line 22: `observe.q.order` needs `by`: the column of the feed with the ids",
            "line 22: `observe.q.order` needs `value`: the column of the feed with the values",
            "line 22: `observe.q.order.feed` must be one of \"bots\", not \"cats\"",
            "line 22: `observe.q.order.id` must be a JSON pointer such as \"/id\", not a whole number",
        ]
    );
    check(
        "[[observe]]\nname = \"q\"\nread = \"GET /s\"\nfigures = { listed = \"/a\" }\n",
        &["line 20: `observe.q.figures.listed` must be called otherwise: spearman, listed are figures of `order`"],
    );
}

#[test]
fn feeds_and_keys() {
    let text = with_rest(
        "path = 1\n[feed.u]\nfile = \"u.csv\"\n[feed.v]\nfile = \"d/v.jsonl\"\norder = \"random\"\n\
         [key.a]\ncount = 10\n[key.b]\ncount = 20\nzipf = 1.1\n",
    )
    .replace("path = 1\n", "body = \"{{feed.u.b}} {{feed.v.x y}} {{feed.u.a}} {{feed.u.b}}\"\n");
    let scenario = read(&text, &[]).unwrap();
    let feed = |index: usize| {
        let feed = &scenario.feeds[index];
        (feed.name.as_str(), feed.file.as_str(), feed.format, feed.order, feed.columns.join("|"))
    };
    assert_eq!(feed(0), ("u", "u.csv", FeedFormat::Csv, FeedOrder::Cycle, "b|a".to_owned()));
    assert_eq!(feed(1), ("v", "d/v.jsonl", FeedFormat::JsonLines, FeedOrder::Random, "x y".to_owned()));
    let keys: Vec<_> = scenario.keys.iter().map(|keys| keys.sampler).collect();
    assert_eq!(keys, [KeySampler::Uniform(10), KeySampler::Zipf(Zipf::new(20, 1.1))]);
}

#[test]
fn errors_in_feeds_and_keys() {
    // A template that uses what could not be read causes no further error.
    check(
        "body = \"{{feed.u.a}} {{key.k}}\"\n[feed.u]\nfile = \"u.txt\"\norder = \"up\"\n[key.k]\ncount = 0\nzipf = 0\n",
        &[
            "line 19: `feed.u.file` must end with .csv or .jsonl, not \"u.txt\"",
            "line 20: `feed.u.order` must be one of \"cycle\", \"random\", not \"up\"",
            "line 22: `key.k.count` must be from 1 to 1000000000000, not 0",
            "line 23: `key.k.zipf` must be from 0.01 to 10, not 0",
        ],
    );
    check(
        "[feed.U]\n[key.K]\n",
        &[
            "line 17: `feed.U` must be named with small letters, digits and _",
            "line 17: `feed.U` needs `file`: a .csv or .jsonl file, relative to the scenario's",
            "line 18: `key.K` must be named with small letters, digits and _",
            "line 18: `key.K` needs `count`: how many different keys there are",
        ],
    );
}

#[test]
fn bounds() {
    let bounds = |text: &str| read(&with_rest(text), &[]).unwrap().bounds;
    let none = bounds("");
    let set = read(&with_rest(""), &["bounds.requests=5", "generator.workers=3"]).unwrap();
    assert_eq!((set.bounds.requests, set.generator.workers), (5, Some(3)));
    assert_eq!((none.duration_max, none.requests, none.connections), (WAIT_MAX, REQUESTS_MAX, CONNECTIONS_MAX));
    let some = bounds("[bounds]\ntime = \"10m\"\nrequests = 1000000\nconnections = 5000\n");
    assert_eq!((some.duration_max, some.requests, some.connections), (Duration::from_secs(600), 1_000_000, 5000));
    check("[bounds]\nconnections = 0\n", &["line 18: `bounds.connections` must be from 1 to 2000000, not 0"]);
    // Three arrivals of two steps each.
    check(
        "[[journey.step]]\nname = \"b\"\nrequest = \"GET /y\"\n[bounds]\nrequests = 5\n",
        &["line 20: `bounds` allow 5 requests, but the phases may come to 6"],
    );
    let more = "[[phase]]\nname = \"q\"\narrivals = { clients = 9, for = \"30s\" }\njourney = \"j\"\nafter = \"31s\"\n";
    check(
        &format!("{more}[bounds]\ntime = \"1m\"\nconnections = 8\n"),
        &[
            "line 22: `bounds` allow 60s, but the phases take at least 61s",
            "line 22: `bounds` allow 8 connections, but the phase q needs 9",
        ],
    );
    let days = "[[phase]]\nname = \"q\"\narrivals = { rate = 1, for = \"24h\" }\nin_flight_max = 1\njourney = \"j\"\nafter = \"1s\"\n";
    check(days, &["line 1: the bounds of any run allow 86400s, but the phases take at least 86401s"]);
}

#[test]
fn the_generator() {
    let generator = |text: &str| read(&with_rest(text), &[]).unwrap().generator;
    assert_eq!(generator(""), GeneratorSpec::default());
    assert_eq!(generator("[generator]\n").lag_p99_max, LAG_P99_MAX);
    let text = "[generator]\nlag_p99_max = \"5ms\"\nworkers = 3\nsources = [\"127.0.0.2\", \"127.0.0.3\"]\n";
    let sources = [2, 3].map(|last| IpAddr::V4(Ipv4Addr::new(127, 0, 0, last))).to_vec();
    assert_eq!(
        generator(text),
        GeneratorSpec { lag_p99_max: Duration::from_millis(5), workers: Some(3), source_addresses: sources }
    );
    check(
        "[generator]\nworkers = 0\nsources = [\"127.0.0.2\", \"localhost\", \"127.0.0.2\"]\n",
        &[
            "line 18: `generator.workers` must be from 1 to 256, not 0",
            "line 19: `generator.sources.1` must be an address such as \"127.0.0.2\", not \"localhost\"",
            "line 19: `generator.sources.2` lists 127.0.0.2 a second time",
        ],
    );
    let many: Vec<String> = (0..255).map(|last| format!("\"127.0.1.{last}\"")).collect();
    check(
        &format!("[generator]\nsources = [{}]\n", many.join(", ")),
        &["line 18: `generator.sources` must list at most 254 addresses"],
    );
}

#[test]
fn signals() {
    let metrics = |text: &str| with_rest(text).replace("ready = \"/r\"", "ready = \"/r\"\nmetrics = \"/m\"");
    let read = read(&metrics("[signals]\npool_wait = \"my_pool\"\n"), &[]).unwrap().metric_roles;
    assert_eq!(read, BTreeMap::from([("pool_wait".to_owned(), "my_pool".to_owned())]));
    assert_eq!(
        complaints(&metrics("[signals]\npool = \"my_pool\"\n")),
        [
            "line 19: `signals.pool` is not a role that a metric can have; known: pool_wait, query_time, queue_wait, run_time, \
             queue_depth, scheduler_delay, commit_time, commit_wait, work_in_memory, own_work, dependency_time, dependency_wait, \
             dependency_late, denied, accept_errors, open_files"
        ]
    );
    check(
        "[signals]\npool_wait = \"my_pool\"\n",
        &["line 17: `signals` needs `metrics` in [target]: the path at which these metrics are read"],
    );
}

#[test]
fn variables_may_be_in_tables() {
    let text = format!("{GOOD}[vars]\nsize = 3\n[vars.jobs]\nmatches = 25\n[vars.jobs.deep]\nname = \"x\"\n")
        .replace("batch = 3", "batch = \"{{jobs.matches}}\"")
        .replace("GET /x", "GET /{{jobs.deep.name}}/{{size}}");
    let found = |settings: &[&str]| {
        let scenario = read(&text, settings)?;
        let path = scenario.journeys[0].steps[0].request().unwrap().path.as_constant().map(str::to_owned);
        Ok::<_, String>((scenario.phases[0].load_profile.max_count().unwrap(), path.unwrap()))
    };
    assert_eq!(found(&[]), Ok((25, "/x/3".to_owned())));
    assert_eq!(found(&["jobs.matches=50", "jobs.deep.name=y"]), Ok((50, "/y/3".to_owned())));
    assert_eq!(found(&["vars.jobs.matches=60"]), Ok((60, "/x/3".to_owned())));
    let wrong = |setting: &str| found(&[setting]).unwrap_err();
    assert_eq!(wrong("jobs.matches=x").split(':').next(), Some("--set jobs.matches=x"));
    assert_eq!(
        wrong("jobs.mathces=1"),
        "--set jobs.mathces=1: `jobs.mathces` leads nowhere: this scenario has no `jobs`"
    );
    assert_eq!(
        wrong("vars.jobs.mathces=1"),
        "--set vars.jobs.mathces=1: `vars.jobs.mathces` is not a variable of this scenario"
    );
    assert_eq!(wrong("jobs=1"), "--set jobs=1: `jobs` is neither a variable nor a key of this scenario");
}

#[test]
fn a_variable_wins_over_a_key_of_the_same_path() {
    let text = format!("{GOOD}[vars.target]\nurl = \"v\"\n").replace("GET /x", "GET /{{target.url}}");
    let scenario = read(&text, &["target.url=w"]).unwrap();
    assert_eq!(scenario.journeys[0].steps[0].request().unwrap().path.as_constant(), Some("/w"));
    assert_eq!(scenario.target.url.host, "127.0.0.1");
}

#[test]
fn errors_in_variables() {
    check(
        "[vars]\nA = 1\nb = [1]\nc = \"{{run.id}}\"\nuuid = 1\n[vars.key]\nx = 1\n[vars.d]\nE = 1\n",
        &[
            "line 18: `vars.A` must be named with small letters, digits and _",
            "line 19: `vars.b` must be a text or a number, not a list",
            "line 20: `vars.c` must not use other names: variables are plain",
            "line 21: `vars.uuid` must be called otherwise: run, pick, feed, key, uuid, index, round, nth are the lab's own names",
            "line 22: `vars.key` must be called otherwise: run, pick, feed, key, uuid, index, round, nth are the lab's own names",
            "line 25: `vars.d.E` must be named with small letters, digits and _",
        ],
    );
}

#[test]
fn the_labs_own_names_are_taken() {
    check(
        "keep = { uuid = \"/id\" }\n[secrets]\nindex = { generate = true }\n",
        &[
            "line 17: `journey.j.step.0.keep.uuid` must be called otherwise: run, pick, feed, key, uuid, index, round, nth are the lab's \
             own names",
            "line 19: `secrets.index` must be called otherwise: run, pick, feed, key, uuid, index, round, nth are the lab's own names",
        ],
    );
}

#[test]
fn free_ports_may_be_in_tables() {
    let text =
        format!("{GOOD}[vars]\na = \"free\"\n[vars.ports]\nb = \"free\"\nc = 1\n").replace("4000", "{{ports.b}}");
    let mut document = Document::parse(&text).unwrap();
    assert_eq!(document.free_port_variables(), ["a", "ports.b"]);
    document.set_port("a", 1);
    document.set_port("ports.b", 4321);
    assert!(document.free_port_variables().is_empty());
    assert_eq!(Scenario::read(&document).unwrap().target.url.port, 4321);
}

#[test]
fn gates_know_the_figures_of_every_part() {
    #[track_caller]
    fn gate(gate: &str, expected: &[&str]) {
        let parts = "[[phase]]\nname = \"up\"\narrivals = { ladder = [1, 2], requests = 1 }\njourney = \"j\"\n\
                     [[phase]]\nname = \"edge\"\narrivals = { edge = { from = 1, to = 9, overload = { backlog = true } } }\n\
                     in_flight_max = 9\njourney = \"j\"\n\
                     [[observe]]\nname = \"q\"\nread = \"GET /s\"\nfigures = { waiting = \"/a\" }\n";
        let text = with_rest(&format!("{parts}[gates]\n\"{gate}\" = \"= 0\"\n"));
        assert_eq!(complaints(&text), expected);
    }
    gate("up.peak_per_s", &[]);
    gate("edge.peak_per_s", &[]);
    gate("edge.edge_per_s", &[]);
    gate("up.journey.failed_ms.p99", &[]);
    gate("p.journey.not_sent", &[]);
    gate("j.failed_ms.p99", &[]);
    gate("j.throughput_per_s", &[]);
    gate("observe.q.waiting.last", &[]);
    gate("generator.cpu_s", &[]);
    let known = |figure: &str| {
        let order = r#"{ lists = "/a", id = "/n", feed = "f", by = "n", value = "v" }"#;
        let parts = format!(
            "[feed.f]\nfile = \"f.csv\"\n[[observe]]\nname = \"q\"\nread = \"GET /s\"\norder = {order}\n[gates]\n\"{figure}\" = \"= 0\"\n"
        );
        complaints(&with_rest(&parts))
    };
    assert!(known("observe.q.spearman.last").is_empty() && known("observe.q.listed.min").is_empty());
    let lacks = |path: &str| format!("line 31: `gates.{path}` is a figure that this trial does not have: `{path}`");
    gate("up.edge_per_s", &[&format!("{}; `up` has journey, peak_per_s", lacks("up.edge_per_s"))]);
    gate("p.peak_per_s", &[&format!("{}; `p` has journey", lacks("p.peak_per_s"))]);
    gate("p.opening.ok", &[&format!("{}; `p` has journey", lacks("p.opening.ok"))]);
    let roots = "must start with edge, generator, j, observe, p, server, total, up";
    gate("q.peak_per_s", &[&format!("{} {roots}", lacks("q.peak_per_s"))]);
    gate(
        "observe.q.waiting.p99",
        &[&format!("{}; `observe.q.waiting` has avg, last, max, min", lacks("observe.q.waiting.p99"))],
    );
}

#[test]
fn gates_of_what_could_not_be_read_are_not_blamed_as_well() {
    check(
        "[[phase]]\nname = \"j\"\narrivals = { ladder = [] , requests = 1 }\njourney = \"j\"\n\
         [[observe]]\nname = \"q\"\nread = \"GET /s\"\n[gates]\n\"j.peak_per_s\" = \"= 0\"\n\"observe.q.a.max\" = \"= 0\"\n",
        &[
            "line 19: `phase.j.arrivals.ladder` must list from 1 to 1000 levels",
            "line 21: `observe.q` needs `figures`: names and JSON pointers, such as { waiting = \"/queue/waiting\" }",
        ],
    );
}

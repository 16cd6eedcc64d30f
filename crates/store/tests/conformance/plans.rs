//! PostgreSQL's query plans: every statement that the conformance tests make the store send, in a session as the store
//! opens it, and the checks of references that PostgreSQL makes by itself. A line in the source that sends a statement
//! and was not reached fails the test.
//!
//! A session lives for long: each statement is prepared and used while the database is empty, and inspected once it is
//! full, while statistics still describe an empty database, and once they are up to date.

use postgres::{Client, NoTls};
use std::collections::BTreeSet;
use std::path::Path;
use store::testing::{PostgresCluster, statements};

/// Tables that always have few rows: one for each name, minute, policy or process of a bounded time, for each ban (every node holds them all),
/// or one row.
const SMALL: [&str; 12] = [
    "ban_figures",
    "bans",
    "counters",
    "gauntlet_schema",
    "hunt_totals",
    "leaders",
    "limit_figures",
    "limit_overrides",
    "limit_policies",
    "minutes",
    "secrets",
    "workers",
];
/// Indexes of what waits or is under way, or of admins: a full scan of one of them reads no more than that.
const QUEUES: [&str; 6] = [
    "matches_running",
    "matches_waiting",
    "story_games_open",
    "story_tables_bare",
    "story_tables_live",
    "tokens_of_admins",
];
/// How often a statement is used before PostgreSQL may keep a plan of it.
const USED_BEFORE: usize = 6;
/// Steps of a plan that hand on rows as they come, so that a limit above them ends what is under them.
const STREAMING: [&str; 8] =
    ["Limit", "LockRows", "Nested Loop", "Subquery Scan", "Result", "Append", "Delete", "Incremental Sort"];
/// How many rows a full table has.
const FULL: u32 = 20_000;
/// What the values of columns are where it matters to the indexes.
const VALUES: [(&str, &str, &str); 9] = [
    ("matches", "state", "(ARRAY['waiting', 'running', 'failed', 'cancelled', 'finished'])[least(1 + g % 400, 5)]"),
    ("matches", "worker", "CASE WHEN g % 400 = 1 THEN md5((g % 7)::text)::uuid END"),
    ("matches", "ended_at", "CASE WHEN g % 400 > 1 THEN g END"),
    ("story_games", "phase", "(ARRAY['create', 'invitation', 'vote', 'canceled', 'complete'])[least(1 + g % 400, 5)]"),
    ("story_games", "ended_at", "CASE WHEN g % 400 > 2 THEN g END"),
    ("story_tables", "is_live", "g % 400 = 0"),
    ("story_tables", "is_bare", "g % 400 = 1"),
    ("worlds", "kind", "CASE WHEN g % 9 = 0 THEN 'hunt' ELSE 'world' END"),
    ("worlds", "ends_at", "g * 10"),
];

/// One step of a plan.
#[derive(Debug, Default)]
struct Step {
    indent: usize,
    name: String,
    has_cond: bool,
}

fn steps(plan: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in plan.lines() {
        let indent = line.len() - line.trim_start().len();
        let text = line.trim_start();
        let step = text.strip_prefix("->  ").or((indent == 0 && steps.is_empty()).then_some(text));
        match (step, steps.last_mut()) {
            (Some(name), _) => steps.push(Step { indent, name: name.to_owned(), has_cond: false }),
            (None, Some(last)) => last.has_cond |= text.starts_with("Index Cond:"),
            (None, None) => {}
        }
    }
    steps
}

/// What is wrong with a plan: the steps that read a growing table from end to end.
fn faults(plan: &str, small: &BTreeSet<String>) -> Vec<String> {
    let steps = steps(plan);
    let reads = |name: &str| {
        let place = name.split_once(" on ").map(|(_, rest)| rest)?;
        Some(place.split([' ', '(']).next()?.to_owned())
    };
    let is_ended = |at: usize| {
        let mut indent = steps[at].indent;
        for above in steps[..at].iter().rev().filter(|above| !above.name.is_empty()) {
            if above.indent < indent {
                indent = above.indent;
                if above.name.starts_with("Limit") {
                    return true;
                }
                if !STREAMING.iter().any(|streaming| above.name.starts_with(streaming)) {
                    return false;
                }
            }
        }
        false
    };
    let mut faults = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let Some(read) = reads(&step.name).filter(|read| !small.contains(read)) else { continue };
        let is_seq = step.name.starts_with("Seq Scan") || step.name.starts_with("Parallel Seq Scan");
        let is_queue = QUEUES.iter().any(|queue| step.name.contains(&format!(" {queue}")));
        let is_index = !is_queue && (step.name.starts_with("Index") || step.name.starts_with("Bitmap Index"));
        if is_seq || (is_index && !step.has_cond && !is_ended(at)) {
            faults.push(format!("{} reads all of {read}", step.name));
        }
    }
    faults
}

struct Database {
    url: String,
    client: Client,
    /// Small tables and their indexes.
    small: BTreeSet<String>,
}

impl Database {
    /// An empty one, analysed, that will not be analysed again by itself.
    fn new(cluster: &PostgresCluster) -> Self {
        let url = cluster.new_empty_database_url();
        let database = store::postgres::PostgresDatabase::new(&url).unwrap();
        drop(store::Database::writer(&database).unwrap());
        let mut client = Client::connect(&url, NoTls).unwrap();
        client.batch_execute("ALTER SYSTEM SET autovacuum = off").unwrap();
        client.batch_execute("SELECT pg_reload_conf()").unwrap();
        let indexes = client
            .query("SELECT indexname::text FROM pg_indexes WHERE tablename = ANY ($1::text[])", &[&SMALL.to_vec()])
            .unwrap();
        let small = SMALL.iter().map(|name| (*name).to_owned()).chain(indexes.iter().map(|row| row.get(0))).collect();
        Self { url, client, small }
    }

    /// What holds between columns does not matter to a plan, and would have to be filled in.
    fn drop_constraints(&mut self) {
        let drop = "DO $$ DECLARE c record; BEGIN
            FOR c IN SELECT conrelid::regclass AS of, conname FROM pg_constraint
                     WHERE contype IN ('c', 'f') AND connamespace = 'public'::regnamespace
            LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.of, c.conname); END LOOP;
          END $$";
        self.client.batch_execute(drop).unwrap();
    }

    /// Every table that grows is as full as this.
    fn fill(&mut self) {
        let columns = "
            SELECT table_name::text, column_name::text, data_type::text FROM information_schema.columns
            JOIN information_schema.tables USING (table_schema, table_name)
            WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name <> ALL ($1::text[])
            ORDER BY table_name, ordinal_position";
        let columns = self.client.query(columns, &[&SMALL.to_vec()]).unwrap();
        let mut tables: Vec<(String, Vec<String>)> = Vec::new();
        for row in &columns {
            let (table, column, kind): (String, String, String) = (row.get(0), row.get(1), row.get(2));
            let known = VALUES.iter().find(|(of, name, _)| *of == table && *name == column).map(|(.., value)| *value);
            let value = known.unwrap_or(match kind.as_str() {
                "uuid" => "md5(g::text)::uuid",
                "bigint" => "g",
                "text" => "'x' || g",
                "boolean" => "g % 2 = 0",
                "double precision" => "g",
                "bytea" => "decode(md5(g::text), 'hex')",
                other => panic!("{table}.{column} is of type {other}: say what such columns hold"),
            });
            match tables.last_mut() {
                Some((last, values)) if *last == table => values.push(value.to_owned()),
                _ => tables.push((table, vec![value.to_owned()])),
            }
        }
        for (table, values) in tables {
            let values = values.join(", ");
            self.client
                .batch_execute(&format!("INSERT INTO {table} SELECT {values} FROM generate_series(1, {FULL}) AS g"))
                .unwrap();
        }
    }
}

/// A session that has used every statement while the database was empty.
struct Used {
    client: Client,
    /// How a transaction begins.
    begin: &'static str,
    /// Each statement, and how it is executed.
    statements: Vec<(String, String)>,
}

impl Used {
    fn new(url: &str, settings: &str, begin: &'static str, statements: &BTreeSet<String>) -> Self {
        let mut client = Client::connect(url, NoTls).unwrap();
        client.batch_execute(settings).unwrap();
        let prepared = statements.iter().zip(0..).map(|(sql, number)| {
            let name = format!("asked_{number}");
            client.batch_execute(&format!("PREPARE {name} AS {sql}")).unwrap_or_else(|error| panic!("{error}: {sql}"));
            let types = "SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = $1";
            let types: Vec<String> = client.query_one(types, &[&name]).unwrap().get(0);
            let values: Vec<String> = types.iter().map(|kind| value(kind)).collect();
            let values = if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
            (sql.clone(), format!("EXPLAIN (COSTS OFF) EXECUTE {name}{values}"))
        });
        let statements = prepared.collect();
        let mut used = Self { client, begin, statements };
        (0..USED_BEFORE).for_each(|_| drop(used.plans()));
        used
    }

    /// Each statement and its plan now.
    fn plans(&mut self) -> Vec<(String, String)> {
        let mut plans = Vec::new();
        self.client.batch_execute(self.begin).unwrap();
        for (sql, explain) in &self.statements {
            let rows = self.client.query(explain, &[]).unwrap_or_else(|error| panic!("{error}: {explain}: {sql}"));
            plans.push((sql.clone(), rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")));
        }
        self.client.batch_execute("ROLLBACK").unwrap();
        plans
    }

    /// What is wrong with the plans now.
    fn wrong(&mut self, state: &str, small: &BTreeSet<String>) -> String {
        let mut wrong = String::new();
        for (sql, plan) in self.plans() {
            let faults = faults(&plan, small);
            if !faults.is_empty() {
                wrong.push_str(&format!("\n== {state}: {}\n{sql}\n{plan}\n", faults.join("; ")));
            }
        }
        wrong
    }
}

/// A value of this type that is there in a full table.
fn value(kind: &str) -> String {
    let one = |kind: &str, number: u32| match kind {
        "uuid" => format!("md5('{number}')::uuid"),
        "bigint" | "integer" | "smallint" => number.to_string(),
        "text" => format!("'x{number}'"),
        "boolean" => "true".to_owned(),
        "double precision" => number.to_string(),
        "bytea" => format!("decode(md5('{number}'), 'hex')"),
        other => panic!("a parameter is of type {other}: say what such a value is"),
    };
    match kind.strip_suffix("[]") {
        Some(kind) => {
            let values: Vec<String> = [7, 70, 700].into_iter().map(|number| one(kind, number)).collect();
            format!("ARRAY[{}]::{kind}[]", values.join(", "))
        }
        None => one(kind, 7),
    }
}

/// What PostgreSQL runs when a row is inserted that refers to another, and when one is deleted that others may refer
/// to.
fn references(client: &mut Client) -> Vec<String> {
    let keys = "
        SELECT c.conrelid::regclass::text, a.attname::text, c.confrelid::regclass::text, b.attname::text
        FROM pg_constraint c
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
        JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = c.confkey[1]
        WHERE c.contype = 'f'";
    let keys = client.query(keys, &[]).unwrap();
    let query =
        |table: &str, column: &str| format!("SELECT 1 FROM ONLY {table} x WHERE {column} = $1 FOR KEY SHARE OF x");
    keys.iter().flat_map(|row| [query(row.get(0), row.get(1)), query(row.get(2), row.get(3))]).collect()
}

/// Where the source sends something: file and line of each call on a session.
fn places() -> BTreeSet<(String, u32)> {
    fn walk(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() { walk(&path, found) } else { found.push(path) }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    walk(&root.join("src/postgres"), &mut files);
    walk(&root.join("src/sql"), &mut files);
    // Those hand on what others send; what changes the schema reads and writes all that it has to.
    let is_sender = |path: &Path| {
        !["session.rs", "query_plans.rs", "sql/mod.rs", "migrate.rs", "tests/mod.rs"]
            .iter()
            .any(|other| path.ends_with(other))
    };
    let mut places = BTreeSet::new();
    for path in files.iter().filter(|path| is_sender(path)) {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        let text = std::fs::read_to_string(path).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        for (line, number) in text.lines().zip(1..) {
            let calls = [
                ".run(",
                ".run_each(",
                ".all(",
                ".all_each(",
                ".first(",
                ".exists(",
                ".held_by(",
                ".all_of_workers(",
                ".run_rows(",
                ".all_rows(",
                ".script(",
                ".execute(",
                ".query(",
            ];
            // The same names on iterators: a closure, or nothing, stands in the brackets.
            // What is rolled back because something went wrong needs no plan.
            let is_call = |call: &str| {
                let mut arguments = line.match_indices(call).map(|(at, _)| &line[at + call.len()..]);
                arguments.any(|rest| !rest.starts_with(['|', ')']) && !rest.starts_with("\"ROLLBACK\""))
            };
            if calls.into_iter().any(is_call) {
                places.insert((name.clone(), number));
            }
        }
    }
    places
}

/// Statements that need no plan: transactions, and what migrations and sessions set.
fn is_planned(sql: &str) -> bool {
    let first = sql.split_whitespace().next().unwrap_or_default();
    ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains(&first) && !sql.trim_end().ends_with(';')
}

#[test]
fn no_statement_reads_a_growing_table_from_end_to_end() {
    crate::all_laws_of_postgres();
    let sent = statements::statements();

    let reached: BTreeSet<(String, u32)> = sent
        .values()
        .flatten()
        .map(|place| {
            let file = place.file().split_once("src/").map_or(place.file(), |(_, file)| file);
            (format!("src/{file}"), place.line())
        })
        .collect();
    let missed: Vec<_> = places().difference(&reached).cloned().collect();
    assert!(missed.is_empty(), "no law makes the store send what stands at {missed:#?}: write one that does");

    // Sessions, what is meant to read everything, and what tests do behind the store's back.
    const APART: [&str; 4] = ["connection.rs", "migrate.rs", "checked_rows.rs", "postgres/mod.rs"];
    let of_session = |places: &[&std::panic::Location<'_>]| {
        places.iter().all(|place| APART.iter().any(|file| place.file().ends_with(file)))
    };
    let sent = sent.into_iter().filter(|(_, places)| !of_session(places)).map(|(sql, _)| sql);
    let (mut planned, others): (BTreeSet<String>, BTreeSet<String>) = sent.partition(|sql| is_planned(sql));
    let is_transaction = |sql: &String| ["BEGIN", "COMMIT", "ROLLBACK"].iter().any(|word| sql.starts_with(word));
    assert!(others.iter().all(is_transaction), "what is this? {others:#?}");

    let cluster = PostgresCluster::start();
    let mut database = Database::new(&cluster);
    let references = references(&mut database.client);
    planned.extend(references.clone());
    assert!(planned.len() > 50, "{} statements are all", planned.len());
    database.drop_constraints();
    database.client.batch_execute("VACUUM ANALYZE").unwrap();
    let mut ours = Used::new(&database.url, statements::SETTINGS, statements::BEGIN, &planned);
    let mut kept: BTreeSet<String> = statements::KEPT.iter().map(|sql| (*sql).to_owned()).collect();
    // None of them refers to anything today.
    kept.extend(references);
    assert!(kept.is_subset(&planned), "these are not sent any more: {:#?}", kept.difference(&planned));
    let mut with_plans = Used::new(&database.url, statements::SETTINGS, statements::BEGIN_WITH_PLANS, &kept);
    let is_bad = |sql: &String| sql.contains("FROM matches_now") && sql.contains("= ANY (");
    let bad: BTreeSet<String> = planned.iter().filter(|sql| is_bad(sql)).cloned().collect();
    assert!(!bad.is_empty());
    let mut others = Used::new(&database.url, "", statements::BEGIN, &bad);
    database.fill();
    let mut wrong = ours.wrong("full, and statistics say empty", &database.small);
    wrong.push_str(&with_plans.wrong("full, planned while it was empty", &database.small));
    // A session as PostgreSQL opens it still has the plans of before.
    let bad = others.plans();
    database.client.batch_execute("VACUUM ANALYZE").unwrap();
    wrong.push_str(&ours.wrong("full", &database.small));
    wrong.push_str(&with_plans.wrong("full, and the plan is kept", &database.small));
    assert!(wrong.is_empty(), "{wrong}");
    for (_, plan) in &bad {
        assert!(!faults(plan, &database.small).is_empty(), "this is as good without our settings:\n{plan}");
    }
}

#[track_caller]
fn check_faults(plan: &str, want: usize) {
    assert_eq!(faults(plan, &BTreeSet::from(["counters".to_owned()])).len(), want, "{plan}");
}

#[test]
fn what_reads_a_table_from_end_to_end_is_seen() {
    check_faults("Seq Scan on counters", 0);
    check_faults("Aggregate\n  ->  Index Only Scan using matches_running on matches", 0);
    check_faults("Seq Scan on matches m", 1);
    check_faults("Nested Loop\n  ->  Seq Scan on matches\n  ->  Parallel Seq Scan on seats", 2);
    check_faults("Index Scan using matches_pkey on matches\n  Index Cond: (id = $1)", 0);
    check_faults("Index Scan using matches_pkey on matches\n  Filter: (id = $1)", 1);
    check_faults("Limit\n  ->  Index Scan using matches_pkey on matches", 0);
    check_faults("Limit\n  ->  Sort\n        ->  Index Scan using matches_pkey on matches", 1);
    check_faults("Nested Loop\n  ->  Limit\n        ->  Result\n  ->  Index Scan using matches_pkey on matches", 1);
    check_faults(
        "Bitmap Heap Scan on seats\n  ->  Bitmap Index Scan on seats_by_bot\n        Index Cond: (bot = $1)",
        0,
    );
    check_faults("Bitmap Heap Scan on seats\n  ->  Bitmap Index Scan on seats_by_bot", 1);
}

//! How PostgreSQL reads a page of a ranking where ladders of all sizes share the table: from the index of that order, as many entries as the
//! page has, and not all of the ladder to sort it.

use postgres::{Client, NoTls};
use store::testing::{PostgresCluster, statements};

/// Ladders, each with its number of entries, of which one of so many is ranked: one that is full, a busy one, small ones.
const LADDERS: [(u32, u32, u32); 4] = [(1, 20_000, 11), (2, 1_000, 1), (3, 100, 1), (4, 100, 1)];
/// Entries of a page, and one more that tells whether there is another.
const PAGES: [u32; 3] = [101, 501, 1_001];

fn id(number: u32) -> String {
    format!("md5('{number}')::uuid")
}

/// All tables as the store makes them, with these ladders, in a session as the store opens it.
fn ladders(cluster: &PostgresCluster) -> Client {
    let url = cluster.new_empty_database_url();
    drop(store::Database::writer(&store::postgres::PostgresDatabase::new(&url).unwrap()).unwrap());
    let mut client = Client::connect(&url, NoTls).unwrap();
    client.batch_execute(statements::SETTINGS).unwrap();
    client.batch_execute("ALTER TABLE ladder_entries SET (autovacuum_enabled = false)").unwrap();
    client.batch_execute("ALTER TABLE ladder_entries DROP CONSTRAINT ladder_entries_ladder_fkey").unwrap();
    for (ladder, entries, one_of) in LADDERS {
        let fill = format!(
            "INSERT INTO ladder_entries (ladder, season, bot, entry, account, name, is_active, joined_at, mu, sigma, score,
               is_ranked, games, first_places, food_eaten, seats)
             SELECT {}, 1, md5(g::text)::uuid, md5(g::text)::uuid, NULL, 'bot', true, 0, 25, 8, (g * 7919 % 2000) / 100.0, g % {one_of} = 0, 9, 9,
               g * 7919 % 1000, ''
             FROM generate_series(1, {entries}) AS g",
            id(ladder)
        );
        client.batch_execute(&fill).unwrap();
    }
    client
}

/// The plan of a page of this ladder behind an entry of this value.
fn plan_of(client: &mut Client, index: &str, ladder: u32, value: &str, limit: u32) -> String {
    let column = if index.ends_with("score") { "e.score" } else { "e.food_eaten" };
    let sent = statements::statements();
    let sql = sent.keys().find(|sql| sql.contains(&format!("ORDER BY {column} DESC"))).expect("a law reads a ranking");
    client.batch_execute(&format!("PREPARE page AS {sql}")).unwrap();
    let page = format!("EXPLAIN EXECUTE page ({}, 1, true, {value}, {}, {limit})", id(ladder), id(7));
    let rows = client.query(&page, &[]).unwrap();
    client.batch_execute("DEALLOCATE page").unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

fn is_walked(plan: &str, index: &str) -> bool {
    plan.contains(&format!("Index Scan Backward using {index} on ladder_entries")) && !plan.contains("Sort")
}

/// Pages of each ladder, from its beginning and from the middle.
#[track_caller]
fn check(client: &mut Client, index: &str, values: [&str; 2]) {
    for (ladder, ..) in LADDERS {
        for (value, limit) in values.into_iter().flat_map(|value| PAGES.map(|limit| (value, limit))) {
            let plan = plan_of(client, index, ladder, value, limit);
            assert!(is_walked(&plan, index), "ladder {ladder}, {limit} entries behind {value}:\n{plan}");
        }
    }
}

#[test]
fn a_page_of_a_ranking_is_walked_from_its_index() {
    let cluster = PostgresCluster::start();
    crate::ladders::rankings_are_paged(&cluster.new_database());
    let mut client = ladders(&cluster);
    client.batch_execute("VACUUM ANALYZE ladder_entries").unwrap();
    check(&mut client, "ladder_entries_by_score", ["'infinity'", "10"]);
    check(&mut client, "ladder_entries_by_food", ["9223372036854775807", "500"]);
}

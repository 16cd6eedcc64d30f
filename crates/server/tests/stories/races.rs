//! Concurrent requests: seats, and requests that are sent twice.

use crate::play::{Person, Story};
use crate::test_server::TestServer;
use futures_util::future::join_all;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn forty_concurrent_joins_share_five_seats() {
    let server = TestServer::open().await;
    let ann = Person::come(&server, "Ann").await;
    let opened = server.call("POST /api/stories/games").by(&ann.token).json(&json!({})).check("201").await;
    let line = format!("POST /api/stories/games/{}/join", opened.body["game"]["id"].as_str().unwrap());
    let people = join_all((0..40).map(|number| {
        let (server, name) = (&server, format!("guest {number}"));
        async move { Person::come(server, &name).await }
    }))
    .await;
    let joins = people.iter().map(|person| tokio::spawn(server.call(&line).by(&person.token).send()));
    let replies: Vec<_> = join_all(joins).await.into_iter().map(Result::unwrap).collect();
    let seated: Vec<_> = people.iter().zip(&replies).filter(|(_, reply)| reply.status == 200).collect();
    assert_eq!(seated.len(), 5);
    for (_, reply) in people.iter().zip(&replies).filter(|(_, reply)| reply.status != 200) {
        assert_eq!((reply.status.as_u16(), &reply.body["code"]), (409, &json!("table_full")));
    }
    let state = server.call(&line.replace("POST", "GET").replace("/join", "")).by(&ann.token).check("200").await.body;
    let players = state["game"]["players"].as_array().unwrap();
    assert_eq!(players.len(), 6);
    let mut dealt: Vec<_> = players.iter().flat_map(|seat| seat["hand"].as_array().unwrap().clone()).collect();
    dealt.sort_by_key(Value::as_u64);
    dealt.dedup();
    assert_eq!(dealt.len(), 36, "no card is in two hands");
    for (person, reply) in seated {
        assert!(players.iter().any(|seat| seat["player"] == json!(person.id)));
        assert_eq!(reply.body["game"]["own"]["hand"].as_array().unwrap().len(), 6);
    }
}

#[tokio::test]
async fn a_repeated_opening_opens_nothing() {
    let server = TestServer::open().await;
    let ann = Person::come(&server, "Ann").await;
    let open = |body| server.call("POST /api/stories/games").by(&ann.token).header("idempotency-key", "k").json(body);
    let (nothing, bots) = (json!({}), json!({ "bots": true }));
    let (one, two, three) =
        tokio::join!(open(&nothing).check("201"), open(&nothing).check("201"), open(&nothing).check("201"));
    let again = open(&nothing).check("201").await;
    for reply in [&two, &three, &again] {
        assert_eq!(reply.body["game"], one.body["game"]);
        assert_eq!(reply.headers["location"], one.headers["location"]);
    }
    open(&bots).check("422 idempotency_key_reused").await;
    let mine = server.call("GET /api/stories/my-games").by(&ann.token).check("200").await.body;
    assert_eq!(mine.as_array().unwrap().len(), 1);
    // The key is the guest's own.
    let ben = Person::come(&server, "Ben").await;
    let other = server.call("POST /api/stories/games").by(&ben.token).header("idempotency-key", "k").json(&nothing);
    assert_ne!(other.check("201").await.body["game"]["id"], one.body["game"]["id"]);
}

#[tokio::test]
async fn a_repeated_action_is_done_once() {
    let story = Story::at(crate::play::Stage::Told).await;
    let card = json!({ "card": story.hand(&story.ben).await[0] });
    let pick = || story.post(&story.ben, "pick", Some(card.clone()));
    let first = pick().check("200").await.body;
    let second = pick().check("200").await.body;
    assert!(first["committed_at_us"].is_i64());
    assert!(second["committed_at_us"].is_null(), "nothing changed, so nothing was saved");
    assert_eq!(first["seq"], second["seq"]);
    assert_eq!(first["game"], second["game"]);
}

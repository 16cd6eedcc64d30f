//! Limits on one client's share: waits, by player and by address; tables in memory.

use crate::play::{Stage, Story};
use crate::test_server::TestServer;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// What has not come after this time does not come any more.
const PATIENCE: Duration = Duration::from_secs(60);

/// A table and the polls that wait for its updates.
struct Crowd {
    server: Arc<TestServer>,
    line: String,
    polls: JoinSet<u16>,
}

impl Crowd {
    /// Starts this many polls with this token from this address.
    async fn wait(&mut self, count: usize, token: &str, address: &str) {
        for _ in 0..count {
            let poll = self.server.call(&self.line).by(token).from(address);
            self.polls.spawn(async move { poll.send().await.status.as_u16() });
        }
        let all_wait = async {
            while self.server.app.tables.totals().waiters != self.polls.len() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(PATIENCE, all_wait).await.expect("all polls wait");
    }

    async fn refused(&self, token: &str, address: &str) {
        let refused = self.server.call(&self.line).by(token).from(address).check("429 too_many_waiters").await;
        assert_eq!(refused.headers["retry-after"], "1");
    }
}

#[tokio::test]
async fn one_address_does_not_take_all_waits() {
    let story = Story::at(Stage::Told).await;
    let seq = story.state("").await["seq"].as_u64().unwrap();
    let line = format!("GET /api/stories/tables/{}/feed?after={seq}&wait=10m", story.table);
    let (eve, mine) = (story.eve.token.clone(), story.fay.token.clone());
    let settings = *story.server.app.tables.config();
    let (max, per_player) = (settings.waiters_per_address_max, settings.waiters_per_player_max);
    assert!(per_player < max && max < settings.waiters_max, "{settings:?}");
    let mut crowd = Crowd { server: Arc::new(story.server), line, polls: JoinSet::new() };
    // Visitors of an IPv6 network count as one; players count, too.
    crowd.wait(1, &mine, "2001:db8::5").await;
    crowd.wait(max - 1, "", "2001:db8::1").await;
    for address in ["2001:db8::1", "2001:db8::ffff:1"] {
        crowd.refused("", address).await;
        crowd.refused(&eve, address).await;
    }
    crowd.wait(1, "", "2001:db8:0:1::1").await;
    // A player's own limit is the same at every address.
    crowd.wait(per_player, &eve, "192.0.2.1").await;
    crowd.refused(&eve, "192.0.2.2").await;
    crowd.polls.shutdown().await;
    crowd.wait(1, "", "2001:db8::1").await;
}

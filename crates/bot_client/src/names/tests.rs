//! The resolver against a DNS server of its own.

mod dns_server;

use super::*;
use crate::{BotCall, BotClient, LimitedAddresses, Webhook};
use bytes::Bytes;
use dns_server::{DnsServer, MANY};
use engine::ids::AccountId;
use engine::limits::{NAME_ADDRESSES_MAX, NAME_FRESH_MIN};
use engine::matches::entry::AnswerClass;
use quotas::socket_budget::SocketBudget;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Long enough for every lookup on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A folder with the two files of a system.
struct Files(PathBuf);

impl Files {
    fn new(resolv_conf: Option<&str>, hosts: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = format!("gauntlet-names-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        if let Some(text) = resolv_conf {
            fs::write(folder.join("resolv.conf"), text).unwrap();
        }
        fs::write(folder.join("hosts"), hosts).unwrap();
        Self(folder)
    }

    fn names(&self, port: u16) -> (Names, Arc<Metrics>) {
        let metrics = Arc::<Metrics>::default();
        let sources = Sources::files(&self.0.join("resolv.conf"), &self.0.join("hosts"), port);
        (Names::new(sources, metrics.clone()), metrics)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn served() -> (DnsServer, Names, Arc<Metrics>) {
    let server = DnsServer::new().await;
    let files = Files::new(Some("nameserver 127.0.0.1\n"), "127.0.0.9 of-hosts\n");
    let (names, metrics) = files.names(server.address.port());
    (server, names, metrics)
}

async fn resolve(names: &Names, metrics: &Metrics, host: &str) -> Result<Vec<String>, CallFault> {
    let mut clock = CallClock::start(metrics, TIMEOUT);
    let addresses = names.addresses(host, &mut clock).await.map_err(|failure| failure.fault)?;
    Ok(addresses.iter().map(ToString::to_string).collect())
}

fn spawn(
    names: &Names,
    metrics: &Arc<Metrics>,
    host: String,
) -> tokio::task::JoinHandle<Result<Vec<String>, CallFault>> {
    let (names, metrics) = (names.clone(), metrics.clone());
    tokio::spawn(async move { resolve(&names, &metrics, &host).await })
}

#[tokio::test]
async fn every_kind_of_answer_is_told_apart() {
    let (_server, names, metrics) = served().await;
    let first = |net: u8| -> Vec<String> {
        (1..=MANY).take(NAME_ADDRESSES_MAX).map(|last| format!("127.0.{net}.{last}")).collect()
    };
    let rows = [
        ("ok.example", Ok(vec!["127.0.0.1".to_owned()])),
        ("OK.Example.", Ok(vec!["127.0.0.1".to_owned()])),
        ("of-hosts", Ok(vec!["127.0.0.9".to_owned()])),
        ("many.example", Ok(first(1))),
        ("truncated.example", Ok(first(2))),
        ("half.example", Ok(vec!["127.0.0.1".to_owned()])),
        ("none.example", Err(CallFault::NoPublicAddress)),
        ("loop.example", Err(CallFault::NoPublicAddress)),
        ("failing.example", Err(CallFault::NoPublicAddress)),
        ("refused.example", Err(CallFault::ServerFault)),
        ("dead.example", Err(CallFault::NoPublicAddress)),
        ("..", Err(CallFault::NoPublicAddress)),
    ];
    for (host, want) in rows {
        assert_eq!(resolve(&names, &metrics, host).await, want, "{host}");
    }
    let long = format!("{}example", "a.".repeat(NAME_BYTES_MAX / 2));
    assert_eq!(resolve(&names, &metrics, &long).await, Err(CallFault::NoPublicAddress));
    assert_eq!(metrics.matches.name_lookups_under_way.get(), 0);
}

#[tokio::test]
async fn many_calls_make_one_lookup_and_the_next_come_from_the_cache() {
    let (server, names, metrics) = served().await;
    let calls: Vec<_> = (0..100).map(|_| spawn(&names, &metrics, "changes.example".to_owned())).collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), Ok(vec!["127.0.0.1".to_owned()]));
    }
    assert_eq!(resolve(&names, &metrics, "changes.example").await, Ok(vec!["127.0.0.1".to_owned()]));
    assert_eq!(server.asked()["changes.example"], 1);
    let counted = &metrics.matches;
    assert_eq!(counted.name_lookups.get(), 1);
    assert!(counted.name_cache_hits.get() >= 1);
}

/// As many dead names of one domain as there are: they take that domain's turns, and no other's.
#[tokio::test]
async fn dead_names_delay_only_their_own_domain_and_leave_with_their_games() {
    let (server, names, metrics) = served().await;
    let dead: Vec<_> = (0..300).map(|bot| spawn(&names, &metrics, format!("dead{bot}.attacker.example"))).collect();
    server.wait_for_names(NAME_LOOKUPS_PER_DOMAIN).await;
    assert_eq!(resolve(&names, &metrics, "ok.honest.test").await, Ok(vec!["127.0.0.1".to_owned()]));
    let asked = server.asked();
    assert_eq!(asked.keys().filter(|name| name.starts_with("dead")).count(), NAME_LOOKUPS_PER_DOMAIN);
    assert!(names.0.state().lookups.len() > NAME_LOOKUPS_PER_DOMAIN);
    for call in &dead {
        call.abort();
    }
    while names.0.state().lookups.len() > NAME_LOOKUPS_PER_DOMAIN {
        tokio::task::yield_now().await;
    }
}

/// The only call for a name gets the stale address and goes; the lookup waits for its turn all the same, and refreshes the name.
#[tokio::test]
async fn a_stale_name_is_refreshed_without_its_callers() {
    let (server, names, metrics) = served().await;
    let turns = names.0.turns.clone().acquire_many_owned(NAME_LOOKUPS_AT_ONCE as u32).await.unwrap();
    let stale = Answer::Found { addresses: vec![[192, 0, 2, 1].into()], ttl: NAME_FRESH_MIN };
    let _ = names.0.state().cache.put("ok.example".into(), stale, Instant::now() - 2 * NAME_FRESH_MIN);
    assert_eq!(resolve(&names, &metrics, "ok.example").await, Ok(vec!["192.0.2.1".to_owned()]));
    // Time for the lookup to notice that no caller waits.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(names.0.state().lookups.contains_key("ok.example"));
    drop(turns);
    server.wait_for_names(1).await;
    while names.0.state().lookups.contains_key("ok.example") {
        tokio::task::yield_now().await;
    }
    assert_eq!(resolve(&names, &metrics, "ok.example").await, Ok(vec!["127.0.0.1".to_owned()]));
}

/// The 513th name of a domain finds no room, and that is its own domain's doing.
#[tokio::test]
async fn more_names_of_a_domain_than_may_wait_are_too_late() {
    let (_server, names, metrics) = served().await;
    let dead: Vec<_> = (0..NAME_LOOKUPS_WAITING_PER_DOMAIN)
        .map(|bot| spawn(&names, &metrics, format!("dead{bot}.attacker.example")))
        .collect();
    while names.0.state().lookups.len() < NAME_LOOKUPS_WAITING_PER_DOMAIN {
        tokio::task::yield_now().await;
    }
    assert_eq!(resolve(&names, &metrics, "ok.attacker.example").await, Err(CallFault::TooLate));
    assert!(resolve(&names, &metrics, "ok.honest.test").await.is_ok());
    dead.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn a_resolver_that_is_out_of_reach_is_not_the_bots_fault() {
    let (server, names, metrics) = served().await;
    server.silence();
    assert_eq!(resolve(&names, &metrics, "ok.example").await, Err(CallFault::ServerFault));
    // No server listens at this port.
    let closed = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let files = Files::new(Some("nameserver 127.0.0.1\n"), "");
    let (names, metrics) = files.names(closed.port());
    assert_eq!(resolve(&names, &metrics, "ok.example").await, Err(CallFault::ServerFault));
    assert_eq!(metrics.matches.name_lookups_not_made.get(), 1);
}

#[tokio::test]
async fn without_servers_the_hosts_file_still_answers_and_changes_are_read() {
    let server = DnsServer::new().await;
    let files = Files::new(None, "127.0.0.9 bot\n");
    let (names, metrics) = files.names(server.address.port());
    assert_eq!(resolve(&names, &metrics, "bot").await, Ok(vec!["127.0.0.9".to_owned()]));
    assert_eq!(resolve(&names, &metrics, "ok.example").await, Err(CallFault::ServerFault));
    fs::write(files.0.join("hosts"), "127.0.0.10 bot\n").unwrap();
    fs::write(files.0.join("resolv.conf"), "nameserver 127.0.0.1\n").unwrap();
    names.sweep();
    assert_eq!(resolve(&names, &metrics, "bot").await, Ok(vec!["127.0.0.10".to_owned()]));
    assert_eq!(resolve(&names, &metrics, "ok.example").await, Ok(vec!["127.0.0.1".to_owned()]));
}

/// A game's call: by name it reaches the bot, and the address that the name leads to is what is checked.
#[tokio::test]
async fn a_bot_is_called_by_its_name_and_its_address_is_checked() {
    let (_server, names, metrics) = served().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let call = |host: &str| BotCall {
        url: format!("http://{host}:{port}"),
        webhook: Webhook::Move,
        body: Bytes::from_static(b"{}"),
        timeout: Duration::from_secs(10),
        signer: None,
        account: AccountId(1),
        span: None,
    };
    let client = |is_private_allowed| {
        let sockets = Arc::new(SocketBudget::new(8, 8));
        let mut client = BotClient::new(8, is_private_allowed, LimitedAddresses::All, metrics.clone(), sockets);
        client.names = names.clone();
        client
    };
    let answer = tokio::spawn({
        let (client, call) = (client(true), call("ok.example"));
        async move { client.call(call).await }
    });
    let (mut stream, _) = listener.accept().await.unwrap();
    assert_ne!(stream.read(&mut [0; 1_024]).await.unwrap(), 0);
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{\"move\":\"up\"}").await.unwrap();
    assert_eq!(answer.await.unwrap().class, AnswerClass::Valid);
    for host in ["ok.example", "none.example"] {
        assert_eq!(client(false).call(call(host)).await.class, AnswerClass::Forbidden, "{host}");
    }
}

#[test]
fn registered_domains() {
    for (name, want) in [
        ("bot", "bot"),
        ("bot.example", "bot.example"),
        ("a.bot.example", "bot.example"),
        ("a.b.bot.example", "bot.example"),
        ("a.bot.co.uk", "bot.co.uk"),
        ("co.uk", "co.uk"),
        ("bot.co.uk", "bot.co.uk"),
        ("a.bot.dev", "bot.dev"),
    ] {
        assert_eq!(registered_domain(name), want, "{name}");
    }
}

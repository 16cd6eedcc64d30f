//! What a bot gets when this process has no file left: a process of its own, because the limit is the process's.

use bot_client::probe::{ProbeCall, ProbeStep};
use bot_client::{BotCall, BotClient, LimitedAddresses, Webhook};
use bytes::Bytes;
use engine::health::CallFault;
use engine::ids::AccountId;
use engine::matches::entry::AnswerClass;
use quotas::socket_budget::SocketBudget;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// As many files as the process may still open.
fn take_all_files() -> Vec<File> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: limit.maximum }).expect("a limit may be lowered");
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

#[tokio::test]
async fn a_lack_of_files_is_not_the_bots_fault() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let bots = BotClient::new(8, true, LimitedAddresses::All, Arc::default(), Arc::new(SocketBudget::new(64, 64)));
    let call = |host: &str| BotCall {
        url: format!("http://{host}:{port}/"),
        webhook: Webhook::Move,
        body: Bytes::from_static(b"{}"),
        timeout: Duration::from_secs(5),
        signer: None,
        account: AccountId(1),
        span: None,
    };
    let taken = take_all_files();
    for host in ["127.0.0.1", "localhost", "bot.example"] {
        assert_eq!(bots.call(call(host)).await.class, AnswerClass::ServerFault, "{host}");
    }
    let (url, account) = (call("127.0.0.1").url, AccountId(1));
    let probe = ProbeCall { url, step: ProbeStep::Index, body: Bytes::new(), signer: None, account, repeats: 0 };
    assert_eq!(bots.probe(probe).await.failure.unwrap().fault, CallFault::ServerFault);
    drop(taken);
    drop(listener);
    assert_eq!(
        bots.call(call("127.0.0.1")).await.class,
        AnswerClass::Unreachable,
        "with files, a closed port is the bot's"
    );
}

//! The gate as calls see it, on a clock that the test moves.

use super::*;

fn gate() -> Arc<Gate> {
    Gate::new(LimitedAddresses::OffLoopback, Arc::default())
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn subject(account: u128, url: &str) -> CallSubject<'static> {
    let target = Box::leak(Box::new(Target::parse(url).unwrap()));
    CallSubject { target, account: AccountId(account), purpose: Purpose::Move }
}

/// Calls that fail at once, until one is not made.
async fn fail_until_throttled(gate: &Arc<Gate>, address: &str, account: u128, names: usize) -> usize {
    for n in 0..10_000 {
        let url = format!("http://name{}.example/", n % names);
        match gate.admit(ip(address), subject(account, &url), Instant::now()).await {
            Ok(admission) => admission.settle(Ending::Failed),
            Err(Throttled) => return n,
        }
    }
    usize::MAX
}

#[tokio::test(start_paused = true)]
async fn all_names_of_an_address_have_one_budget_and_each_address_its_own() {
    let gate = gate();
    let of_names = fail_until_throttled(&gate, "192.0.2.1", 1, 50).await;
    assert!((1..=100).contains(&of_names), "{of_names}");
    assert_eq!(fail_until_throttled(&gate, "::ffff:192.0.2.1", 1, 50).await, 0, "the same address in IPv6");
    assert_eq!(fail_until_throttled(&gate, "192.0.2.2", 1, 50).await, of_names);
    assert_eq!(gate.metrics.matches.bot_calls_throttled.get(), 3);
    tokio::time::advance(Duration::from_secs(2 * 3_600)).await;
    gate.sweep();
    assert!(gate.lock().addresses.is_empty());
}

#[tokio::test(start_paused = true)]
async fn loopback_is_not_limited_unless_that_is_set() {
    assert_eq!(fail_until_throttled(&gate(), "127.0.0.1", 1, 1).await, usize::MAX);
    let strict = Gate::new(LimitedAddresses::All, Arc::default());
    assert!(fail_until_throttled(&strict, "127.0.0.1", 1, 1).await < 100);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_until_others_are_answered_or_its_patience_ends() {
    let gate = gate();
    let urls: Vec<_> = (0..).map(|n| format!("http://{n}.example/")).take(100).collect();
    let mut admitted = Vec::new();
    for url in &urls {
        match gate.admit(ip("192.0.2.1"), subject(1, url), Instant::now()).await {
            Ok(admission) => admitted.push(admission),
            Err(Throttled) => break,
        }
    }
    let begun = Instant::now();
    assert!(gate.admit(ip("192.0.2.1"), subject(1, &urls[99]), give_up_at(Instant::now())).await.is_err());
    let waited = begun.elapsed();
    assert!((CALL_BUDGET_WAIT_MAX..CALL_BUDGET_WAIT_MAX * 2).contains(&waited), "{waited:?}");
    let waiting = tokio::spawn({
        let (gate, url) = (gate.clone(), urls[99].clone());
        async move { gate.admit(ip("192.0.2.1"), subject(1, &url), give_up_at(Instant::now())).await.is_ok() }
    });
    tokio::task::yield_now().await;
    admitted.pop().unwrap().settle(Ending::ValidMove);
    let begun = Instant::now();
    assert!(waiting.await.unwrap());
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

/// A stranger's games call the bot of another account and give it no time to answer.
#[tokio::test(start_paused = true)]
async fn games_of_others_take_nothing_from_a_bots_standing_with_its_own_account() {
    let gate = gate();
    let url = "http://bot.example/";
    let call = async |account: u128, ending: Ending| {
        let admitted = gate.admit(ip("192.0.2.1"), subject(account, url), Instant::now()).await;
        admitted.map(|admission| admission.settle(ending)).is_ok()
    };
    for account in [1, 2] {
        assert!(call(account, Ending::ValidMove).await);
    }
    let mut failed = 0;
    while call(2, Ending::Failed).await {
        failed += 1;
    }
    assert!((1..=100).contains(&failed), "{failed}");
    for _ in 0..1_000 {
        assert!(call(1, Ending::ValidMove).await);
    }
    assert!(!call(2, Ending::Failed).await);
}

/// Two accounts' bots never answer: another one's at the same address is called at once, and theirs have their share of connections.
#[tokio::test(start_paused = true)]
async fn connections_to_an_address_are_shared_between_accounts() {
    let gate = gate();
    let address = ip("192.0.2.1");
    let mut held = Vec::new();
    for account in [1, 2] {
        let url = format!("http://{account}.example/");
        gate.admit(address, subject(account, &url), give_up_at(Instant::now()))
            .await
            .unwrap()
            .settle(Ending::ValidMove);
        for _ in 0..ACCOUNT_CONNECTIONS_PER_ADDRESS_MAX {
            held.push(gate.admit(address, subject(account, &url), give_up_at(Instant::now())).await.unwrap());
        }
        let more = tokio::time::timeout(
            Duration::from_secs(60),
            gate.admit(address, subject(account, &url), give_up_at(Instant::now())),
        );
        assert!(more.await.is_err(), "the others wait for a connection");
    }
    let begun = Instant::now();
    gate.admit(address, subject(3, "http://honest.example/"), give_up_at(Instant::now()))
        .await
        .unwrap()
        .settle(Ending::ValidMove);
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

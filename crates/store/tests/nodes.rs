//! Several nodes on one PostgreSQL: each match has one holder per epoch, stale holders are fenced, counters add up, no
//! deadlocks.

#![expect(clippy::unwrap_used, reason = "a test ends where its world does")]

use engine::commands::{
    AccountCommand, Advance, ClaimedMatch, CodeCommand, Command, CompetitionCommand, CreateMatches, MatchAppend,
    NewSession, Outcome, RedeemCode,
};
use engine::competitions::{CompetitionKind, CompetitionRow, MatchOrigin};
use engine::ids::{AccountId, BotId, CodeId, CompetitionId, MatchId, TokenId, WorkerId};
use engine::leadership::LeaderJob;
use engine::matches::archive;
use engine::matches::result::MatchResult;
use engine::matches::slots::SlotUsage;
use engine::matches::spec::{MatchSpec, SeatSpec};
use engine::rows::{Account, CodeUse, MatchLogRow, OneTimeCode, Role, Token, TokenPurpose};
use engine::time::UnixMs;
use rules::chance::Seed;
use rules::snake::Rules;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use store::postgres::PostgresDatabase;
use store::testing::PostgresCluster;
use store::{Backend, Database, Reader};

const NODES: u128 = 4;
const MATCHES: u128 = 160;
const ENTRIES: u32 = 6;
const NOW: UnixMs = UnixMs(1_700_000_000_000);

fn account(n: u128) -> AccountId {
    AccountId(1 + n % 3)
}

fn spec(n: u128) -> MatchSpec {
    let seat = SeatSpec {
        bot: BotId(1),
        name: "bot".to_owned(),
        owner: "me".to_owned(),
        url: "http://bot.example".to_owned(),
    };
    MatchSpec {
        id: MatchId(n),
        rules: Rules::default(),
        width: 11,
        height: 11,
        seed: Seed(n as u64),
        timeout_ms: 500,
        turns_max: 5_000,
        is_public: false,
        origin: None,
        seats: vec![seat.clone(), seat],
    }
}

fn creation(n: u128) -> Command {
    Command::CreateMatches(CreateMatches { account: account(n), idempotency: None, matches: vec![spec(n)], now: NOW })
}

fn entry(version: u32) -> MatchLogRow {
    MatchLogRow { version, turns: version, late_moves: 0, bytes: vec![version as u8; 20] }
}

fn append(claimed: &ClaimedMatch, version: u32) -> Command {
    let (id, epoch) = (claimed.spec.id, claimed.epoch);
    Command::AppendMatch(MatchAppend {
        id,
        epoch,
        rows: vec![entry(version)],
        expected_version: version,
        started_at: Some(NOW),
    })
}

fn finish(claimed: &ClaimedMatch) -> Command {
    let (id, epoch) = (claimed.spec.id, claimed.epoch);
    let rows: Vec<_> = (0..ENTRIES).map(entry).collect();
    let append = MatchAppend { id, epoch, rows: Vec::new(), expected_version: ENTRIES, started_at: None };
    let (turns, late_moves) = (ENTRIES - 1, 0);
    let result = MatchResult {
        winner: None,
        is_draw: true,
        placements: vec![1, 1],
        causes: vec![None, None],
        death_turns: vec![None, None],
        turns,
        late_moves,
        food_eaten: vec![3, 0],
        is_server_fault: false,
        silent_seats: Vec::new(),
    };
    Command::FinishMatch { append, result, archive: archive::pack(&rows), now: NOW }
}

/// Who got which match under which epoch, by all nodes.
type Claims = Mutex<BTreeMap<(MatchId, u32), u128>>;

/// One node: a life after the other under new worker ids, each with a lease that is given up half-way.
struct Node<'a> {
    writer: Box<dyn Backend>,
    name: u128,
    life: u128,
    claims: &'a Claims,
    finished: &'a AtomicUsize,
}

impl Node<'_> {
    fn worker(&self) -> WorkerId {
        WorkerId(1 + self.name * 1_000_000 + self.life)
    }

    fn commit(&mut self, commands: &[Command]) -> Vec<Outcome> {
        self.writer.commit(commands).expect("no deadlock reaches a caller")
    }

    /// Claims, plays a little, and dies; what was half-played is another's.
    fn live(&mut self) {
        self.life += 1;
        let (worker, until) = (self.worker(), UnixMs(NOW.0 + 5_000));
        let lease = Command::RenewLease { worker, address: "here:1".to_owned(), now: NOW, until };
        let claim = Command::ClaimMatches {
            worker,
            number: 1,
            now: NOW,
            max: 12,
            slots: SlotUsage::new(9_999),
            attempts_max: u32::MAX,
        };
        let mut outcomes = self.commit(&[lease, claim]);
        let Some(Outcome::MatchesClaimed(claimed)) = outcomes.pop() else { panic!("a new worker claims") };
        for claimed in &claimed {
            let holder = self.claims.lock().unwrap().insert((claimed.spec.id, claimed.epoch), self.name);
            assert_eq!(holder, None, "match {} has two holders in epoch {}", claimed.spec.id, claimed.epoch);
        }
        let unfinished = self.play(claimed);
        self.commit(&[Command::EndLease { worker }]);
        // All that this dead worker still tries, together and one by one, is refused as soon as another has the match.
        self.haunt(&unfinished);
    }

    fn play(&mut self, mut claimed: Vec<ClaimedMatch>) -> Vec<ClaimedMatch> {
        // Every node names the matches in another order.
        let turn = self.name as usize % claimed.len().max(1);
        claimed.rotate_left(turn);
        for round in 0..4 {
            let (done, rest): (Vec<_>, Vec<_>) = claimed.into_iter().partition(|claimed| claimed.version >= ENTRIES);
            let finishes: Vec<_> = done.iter().map(finish).collect();
            let appends: Vec<_> = rest.iter().map(|claimed| append(claimed, claimed.version)).collect();
            let outcomes = self.commit(&[finishes, appends].concat());
            assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Done), "round {round}: {outcomes:?}");
            self.finished.fetch_add(done.len(), Ordering::SeqCst);
            claimed =
                rest.into_iter().map(|claimed| ClaimedMatch { version: claimed.version + 1, ..claimed }).collect();
        }
        claimed
    }

    fn haunt(&mut self, unfinished: &[ClaimedMatch]) {
        // In the book means committed: from there on the dead must be fenced. Who is not in it yet may come before or after us.
        let is_taken_over = |claimed: &ClaimedMatch| {
            let later = (claimed.spec.id, claimed.epoch + 1);
            self.claims.lock().unwrap().contains_key(&later)
        };
        let must_be_fenced: Vec<_> = unfinished.iter().map(is_taken_over).collect();
        let appends: Vec<_> = unfinished.iter().map(|claimed| append(claimed, claimed.version)).collect();
        for (must_be_fenced, outcome) in must_be_fenced.into_iter().zip(self.commit(&appends)) {
            let is_late_but_first = outcome == Outcome::Done && !must_be_fenced;
            assert!(outcome == Outcome::Fenced || is_late_but_first, "a stale write: {outcome:?}");
        }
    }
}

/// Notifies the other nodes when one panics: they would wait for its matches for ever.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}

#[test]
fn nodes_share_the_work_without_sharing_a_match() {
    let database = PostgresCluster::shared().new_database();
    let mut writer = database.writer().unwrap();
    for n in 0..3 {
        let name = format!("account-{n}");
        writer.commit(&[Command::EnsureAccount(Account { id: account(n), name, created_at: NOW })]).unwrap();
    }
    let claims = Claims::default();
    let finished = AtomicUsize::new(0);
    let is_broken = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // One creates in small batches of mixed accounts, from both ends, while the others play.
        for from_end in [false, true] {
            let (database, is_broken) = (&database, &is_broken);
            scope.spawn(move || {
                let _alarm = Alarm(is_broken);
                let mut writer = database.writer().unwrap();
                let half = (0..MATCHES).filter(|n| (n % 2 == 0) == from_end);
                let numbers: Vec<_> = if from_end { half.rev().collect() } else { half.collect() };
                for few in numbers.chunks(5) {
                    let commands: Vec<_> = few.iter().map(|n| creation(*n)).collect();
                    assert!(writer.commit(&commands).unwrap().iter().all(|outcome| *outcome == Outcome::Done));
                }
            });
        }
        for name in 0..NODES {
            let (database, claims, finished, is_broken) = (&database, &claims, &finished, &is_broken);
            scope.spawn(move || {
                let _alarm = Alarm(is_broken);
                let mut node = Node { writer: database.writer().unwrap(), name, life: 0, claims, finished };
                while finished.load(Ordering::SeqCst) < MATCHES as usize && !is_broken.load(Ordering::SeqCst) {
                    node.live();
                }
            });
        }
    });
    check_end(&mut *database.reader().unwrap());
}

fn check_end(reader: &mut dyn Reader) {
    let stats = reader.match_stats(NOW).unwrap();
    assert_eq!((stats.counts.finished, stats.counts.total()), (MATCHES as u64, MATCHES as u64));
    assert_eq!((stats.created.last_hour, stats.finished.last_hour), (MATCHES as u64, MATCHES as u64));
    for n in 0..MATCHES {
        let page = reader.match_log(MatchId(n), 0, 100).unwrap().unwrap();
        assert!(page.rows.into_iter().eq((0..ENTRIES).map(entry)), "match {n}");
    }
}

/// Two batches that name the same matches in opposite orders, again and again.
#[test]
fn crosswise_batches_do_not_deadlock() {
    let database = PostgresCluster::shared().new_database();
    let mut writer = database.writer().unwrap();
    let named = |n| Command::EnsureAccount(Account { id: account(n), name: format!("{n}"), created_at: NOW });
    writer.commit(&(0..3).map(named).collect::<Vec<_>>()).unwrap();
    writer.commit(&(0..20).map(creation).collect::<Vec<_>>()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u128 {
            let database = &database;
            scope.spawn(move || {
                let mut writer = database.writer().unwrap();
                for round in 0..40_u128 {
                    let mut commands: Vec<_> = (0..20)
                        .map(|n| match (thread + round + n) % 3 {
                            0 => Command::CancelMatch { id: MatchId(n), account: None, now: NOW },
                            1 => Command::RequeueMatch { id: MatchId(n), now: NOW },
                            _ => creation(1_000 + thread * 100_000 + round * 100 + n),
                        })
                        .collect();
                    if thread % 2 == 1 {
                        commands.reverse();
                    }
                    writer.commit(&commands).expect("no deadlock reaches a caller");
                }
            });
        }
    });
    let stats = database.reader().unwrap().match_stats(NOW).unwrap();
    assert_eq!(stats.counts.cancelled, 20);
    assert_eq!(stats.created.last_hour, stats.counts.total());
}

/// A client signs in while the account, or a token of it, is deleted: one waits for the other, and no database has to part them.
#[test]
fn signing_in_and_deletions_do_not_deadlock() {
    const ROUNDS: u128 = 80;
    let url = PostgresCluster::shared().new_empty_database_url();
    let database = PostgresDatabase::new(&url).unwrap();
    let together = Barrier::new(2);
    let digest_of = |n: u128| {
        let mut digest = [0; 32];
        digest[..16].copy_from_slice(&n.to_be_bytes());
        digest
    };
    let mut writer = database.writer().unwrap();
    for n in 1..=ROUNDS {
        let id = AccountId(n);
        let account = Account { id, name: format!("account {n}"), created_at: NOW };
        let token = Token {
            id: TokenId(n),
            account: id,
            name: "t".to_owned(),
            role: Role::Player,
            purpose: TokenPurpose::Use,
            digest: digest_of(n),
            created_at: NOW,
            last_used_at: None,
            expires_at: None,
            is_session: false,
        };
        let link = OneTimeCode {
            id: CodeId(n),
            used_for: CodeUse::SignIn { account: id },
            role: Role::Player,
            digest: digest_of(1_000 + n),
            made_by: None,
            created_at: NOW,
            expires_at: UnixMs(NOW.0 + 5_000),
        };
        let link = Command::Code(CodeCommand::Create(link));
        writer.commit(&[Command::EnsureAccount(account), Command::CreateToken(token), link]).unwrap();
    }
    let redeem = |n: u128| {
        let session = NewSession {
            token: TokenId(5_000 + n),
            name: "browser".to_owned(),
            digest: digest_of(5_000 + n),
            expires_at: UnixMs(NOW.0 + 5_000),
        };
        let digest = digest_of(1_000 + n);
        Command::Code(CodeCommand::Redeem(RedeemCode { digest, new_account: None, session, now: NOW }))
    };
    let delete = |n: u128| match n % 2 {
        0 => Command::Account(AccountCommand::Delete { id: AccountId(n), now: NOW }),
        _ => Command::DeleteToken { id: TokenId(n), account: None, now: NOW },
    };
    let commit_all = |command: &(dyn Fn(u128) -> Command + Sync)| {
        let mut writer = database.writer().unwrap();
        for n in 1..=ROUNDS {
            together.wait();
            writer.commit(&[command(n)]).expect("no deadlock reaches a caller");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| commit_all(&redeem));
        scope.spawn(|| commit_all(&delete));
    });
    drop(writer);
    // Sessions report what they have counted when they end.
    let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
    let of_this = "SELECT deadlocks, (SELECT count(*) FROM pg_stat_activity a WHERE a.datname = d.datname) FROM pg_stat_database d
                   WHERE datname = current_database()";
    let deadlocks = loop {
        let row = client.query_one(of_this, &[]).unwrap();
        if row.get::<_, i64>(1) <= 1 {
            break client.query_one(of_this, &[]).unwrap().get::<_, i64>(0);
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert_eq!(deadlocks, 0);
}

/// However many acquire leadership at once: one leads, and all get the same leader.
#[test]
fn a_job_has_one_leader() {
    const ROUNDS: u128 = 20;
    let database = PostgresCluster::shared().new_database();
    let leaders = Mutex::new(BTreeMap::<u128, BTreeMap<WorkerId, u128>>::new());
    let together = Barrier::new(NODES as usize);
    std::thread::scope(|scope| {
        for node in 0..NODES {
            let (mut writer, leaders, together) = (database.writer().unwrap(), &leaders, &together);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let (worker, address) = (WorkerId(1 + round * NODES + node), format!("here:{node}"));
                    let lease = Command::RenewLease { worker, address, now: NOW, until: UnixMs(NOW.0 + 5_000) };
                    assert_eq!(writer.commit(&[lease]), Ok(vec![Outcome::Done]));
                    together.wait();
                    let lead = Command::AcquireLeadership { job: LeaderJob::MatchmakingQueue, worker, now: NOW };
                    let Outcome::LedBy(leader) = writer.commit(&[lead]).unwrap().remove(0) else { panic!("a lease") };
                    *leaders.lock().unwrap().entry(round).or_default().entry(leader.worker).or_default() += 1;
                    together.wait();
                    assert_eq!(writer.commit(&[Command::EndLease { worker }]), Ok(vec![Outcome::Done]));
                    together.wait();
                }
            });
        }
    });
    for (round, owners) in leaders.into_inner().unwrap() {
        assert_eq!(owners.values().copied().collect::<Vec<_>>(), [NODES], "round {round}: {owners:?}");
    }
}

/// Nodes that end matches of one competition at the same time: its results are numbered without gaps, and none is missing or doubled.
#[test]
fn results_of_one_competition_are_numbered_across_nodes() {
    let database = PostgresCluster::shared().new_database();
    let mut writer = database.writer().unwrap();
    let id = CompetitionId(1);
    let owner = account(0);
    let account = Account { id: owner, name: "owner".to_owned(), created_at: NOW };
    let row = CompetitionRow::new(id, CompetitionKind::Ladder, owner, "ladder".to_owned(), Vec::new(), NOW);
    let create = CompetitionCommand::Create { row: row.clone(), live_max: 1, idempotency: None };
    let matches = (0..MATCHES).map(|n| {
        let origin = MatchOrigin { kind: CompetitionKind::Ladder, competition: id, key: n as u64 };
        MatchSpec { origin: Some(origin), ..spec(n) }
    });
    let advance = CompetitionCommand::Advance(Advance { matches: matches.collect(), ..Advance::of(&row, NOW) });
    let commands = [Command::EnsureAccount(account), Command::Competition(create), Command::Competition(advance)];
    assert_eq!(writer.commit(&commands).unwrap()[1..], [Outcome::Done, Outcome::Done]);
    std::thread::scope(|scope| {
        for node in 0..NODES {
            let mut writer = database.writer().unwrap();
            scope.spawn(move || {
                let ids: Vec<u128> = (0..MATCHES).filter(|n| n % NODES == node).collect();
                for ids in ids.chunks(7) {
                    let cancel = |n: &u128| Command::CancelMatch { id: MatchId(*n), account: None, now: NOW };
                    let outcomes = writer.commit(&ids.iter().map(cancel).collect::<Vec<_>>()).unwrap();
                    assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Done));
                }
            });
        }
    });
    let results = database.reader().unwrap().competition_results(id, 0, usize::MAX).unwrap();
    assert!(results.iter().map(|result| result.number).eq(1..=MATCHES as u64));
    let keys: BTreeSet<u64> = results.iter().map(|result| result.key).collect();
    assert_eq!(keys.len(), MATCHES as usize);
}

//! Competitions: made once, advanced all or nothing, with results that are numbered in the order of their commits; and leaders of jobs.

use crate::fixtures::*;
use engine::commands::{AddMatches, Advance, Command, CompetitionCommand, Idempotency, Outcome};
use engine::competitions::{
    CompetitionKind, CompetitionResult, CompetitionRow, CompetitionStatus, MatchOrigin, ResultSummary,
};
use engine::ids::CompetitionId;
use engine::leadership::LeaderJob;
use engine::matches::lifecycle::MatchState;
use engine::matches::spec::MatchSpec;
use engine::rows::WorldOwner;
use engine::time::UnixMs;
use std::collections::BTreeSet;
use std::time::Duration;
use store::{CompetitionFilter, Database};

const DUEL: CompetitionKind = CompetitionKind::Duel;

pub(crate) fn competition_id(n: u128) -> CompetitionId {
    CompetitionId(0xe000 + n)
}

/// A duel of account 1.
pub(crate) fn competition(n: u128) -> CompetitionRow {
    let (id, name) = (competition_id(n), format!("duel {n}"));
    CompetitionRow::new(id, DUEL, account_id(1), name, vec![1, 2, n as u8], at(n as i64))
}

pub(crate) fn create_competition(row: &CompetitionRow) -> Command {
    Command::Competition(CompetitionCommand::Create { row: row.clone(), live_max: 3, idempotency: None })
}

fn spec_of(n: u128, competition: u128, key: u64) -> MatchSpec {
    let origin = MatchOrigin { kind: DUEL, competition: competition_id(competition), key };
    MatchSpec { origin: Some(origin), ..spec(n) }
}

pub(crate) fn advance(advance: Advance) -> Command {
    Command::Competition(CompetitionCommand::Advance(advance))
}

impl StoreFixture {
    fn competition(&mut self, n: u128) -> CompetitionRow {
        self.reader.competition(competition_id(n)).expect("the store is there").expect("it is known")
    }

    fn results(&mut self, n: u128, after: u64) -> Vec<CompetitionResult> {
        self.reader.competition_results(competition_id(n), after, 100).expect("the store is there")
    }

    /// Duel `n`, running, with these matches waiting under the keys 10, 11, 12 and so on.
    pub(crate) fn start_duel(&mut self, n: u128, matches: impl IntoIterator<Item = u128>) {
        self.assert_outcome(create_competition(&competition(n)), Outcome::Done);
        let matches = matches.into_iter().zip(10..).map(|(id, key)| spec_of(id, n, key)).collect();
        let status = CompetitionStatus::Running;
        let start = Advance { status, matches, ..Advance::of(&competition(n), at(5)) };
        self.assert_outcome(advance(start), Outcome::Done);
    }

    fn has_something_to_do(&mut self, now: UnixMs) -> Vec<u128> {
        // Each page is behind the row before it.
        let (mut rows, mut due): (Vec<CompetitionRow>, Vec<CompetitionRow>) = (Vec::new(), Vec::new());
        loop {
            let after = rows.last().map(|row| row.id);
            let page = self.reader.competitions_unapplied(DUEL, after, 1).expect("the store is there");
            if page.is_empty() {
                break;
            }
            rows.extend(page);
        }
        loop {
            let after = due.last().and_then(|row| Some((row.due_at?, row.id)));
            let page = self.reader.competitions_due(DUEL, now, after, 1).expect("the store is there");
            if page.is_empty() {
                break;
            }
            due.extend(page);
        }
        let ids: BTreeSet<u128> = rows.iter().chain(&due).map(|row| row.id.0 - 0xe000).collect();
        ids.into_iter().collect()
    }
}

pub(crate) fn a_competition_is_made_once(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let want = CompetitionRow { due_at: Some(at(9)), is_public: false, ..competition(1) };
    held.assert_outcome(create_competition(&want), Outcome::Done);
    held.assert_outcome(create_competition(&competition(1)), Outcome::Duplicate);
    assert_eq!(held.competition(1), want);
    let foreign = CompetitionRow { account: account_id(9), ..competition(2) };
    held.assert_outcome(create_competition(&foreign), Outcome::NotFound);
    assert_eq!(held.reader.competition(competition_id(2)), Ok(None));
}

pub(crate) fn matches_are_added_to_a_running_competition_once(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let add = |expected_matches_created: u64, id: u128| {
        let matches = vec![spec_of(id, 1, id as u64)];
        let add =
            AddMatches { id: competition_id(1), account: account_id(1), expected_matches_created, matches, now: at(9) };
        Command::Competition(CompetitionCommand::AddMatches(add))
    };
    held.assert_outcome(add(0, 50), Outcome::NotFound);
    held.assert_outcome(create_competition(&competition(1)), Outcome::Done);
    held.assert_outcome(add(0, 50), Outcome::NotFound);
    let running =
        |held: &mut StoreFixture| held.reader.competitions_running(DUEL, None, 10).expect("the store is there");
    assert_eq!(running(&mut held), []);
    let start = Advance { status: CompetitionStatus::Running, ..Advance::of(&competition(1), at(5)) };
    held.assert_outcome(advance(start), Outcome::Done);
    held.assert_outcome(add(0, 50), Outcome::Done);
    held.assert_outcome(add(0, 51), Outcome::VersionConflict(0));
    held.assert_outcome(add(1, 50), Outcome::Duplicate);
    held.assert_outcome(add(1, 52), Outcome::Done);
    let row = held.competition(1);
    assert_eq!(
        (row.matches_created, row.version, row.results_applied, row.status),
        (2, 0, 0, CompetitionStatus::Running)
    );
    assert_eq!(running(&mut held), [row]);
    assert_eq!(held.reader.competitions_running(DUEL, Some(competition_id(1)), 10), Ok(vec![]));
    assert_eq!(held.reader.competitions_running(CompetitionKind::Ladder, None, 10), Ok(vec![]));
    let live = held.reader.competition_matches(competition_id(1), true, None, 10).expect("the store is there");
    assert_eq!(live.iter().map(|row| row.spec.id).collect::<Vec<_>>(), [match_id(52), match_id(50)]);
}

/// Its key repeats the answer, also where nothing else could be made; keys of matches and competitions are the same keys.
pub(crate) fn a_key_makes_one_competition(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let with_key = |n: u128, key: &str, request: u8, live_max: usize| {
        let idempotency = Idempotency { key: key.to_owned(), fingerprint: [request; 32], response: vec![n as u8, 7] };
        Command::Competition(CompetitionCommand::Create {
            row: competition(n),
            live_max,
            idempotency: Some(idempotency),
        })
    };
    held.assert_outcome(with_key(1, "k", 1, 1), Outcome::Done);
    held.assert_outcome(with_key(2, "k", 1, 1), Outcome::Replayed(vec![1, 7]));
    held.assert_outcome(with_key(2, "k", 2, 1), Outcome::KeyReused);
    held.assert_outcome(with_key(2, "refused", 2, 1), Outcome::LimitReached);
    held.assert_outcome(create_with_key("k", 1, [1], at(0)), Outcome::Replayed(vec![1, 7]));
    assert_eq!(held.reader.competition(competition_id(2)), Ok(None));
    assert_eq!(held.reader.idempotent_response(account_id(1), "refused"), Ok(None), "a refusal is not an answer");
    let both = held.commit(&[with_key(3, "twice", 3, 9), with_key(4, "twice", 3, 9)]);
    assert_eq!(both, [Outcome::Done, Outcome::Replayed(vec![3, 7])], "also within one batch");
}

pub(crate) fn an_account_has_so_many_live_competitions(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    for n in 1..=3 {
        held.assert_outcome(create_competition(&competition(n)), Outcome::Done);
    }
    held.assert_outcome(create_competition(&competition(4)), Outcome::LimitReached);
    let ladder = CompetitionRow { kind: CompetitionKind::Ladder, ..competition(5) };
    held.assert_outcome(create_competition(&ladder), Outcome::Done);
    let end = Advance { status: CompetitionStatus::Cancelled, ..Advance::of(&competition(2), at(8)) };
    held.assert_outcome(advance(end), Outcome::Done);
    assert_eq!(held.competition(2).ended_at, Some(at(8)));
    held.assert_outcome(create_competition(&competition(4)), Outcome::Done);
    let listed = |account| CompetitionFilter { kind: DUEL, account, before: None, limit: 3 };
    let mut ids = |filter| -> Vec<u128> {
        held.reader.competitions(&filter).unwrap().iter().map(|row| row.id.0 - 0xe000).collect()
    };
    assert_eq!(ids(listed(None)), [4, 3, 2]);
    assert_eq!(ids(CompetitionFilter { before: Some(competition_id(3)), ..listed(Some(account_id(1))) }), [2, 1]);
    assert_eq!(ids(listed(Some(account_id(2)))), [0; 0]);
}

pub(crate) fn an_advance_is_all_or_nothing(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create_competition(&competition(1)), Outcome::Done);
    held.assert_outcome(create(1, [7], at(1)), Outcome::Done);
    let status = CompetitionStatus::Running;
    let entries = vec![vec![1], vec![], vec![3, 3]];
    let first = Advance { entries, status, due_at: Some(at(50)), ..Advance::of(&competition(1), at(5)) };
    let refused = Advance { matches: vec![spec_of(8, 1, 0), spec_of(7, 1, 1)], ..first.clone() };
    held.assert_outcome(advance(refused), Outcome::Duplicate);
    assert_eq!(held.competition(1), competition(1));
    held.assert_outcome(advance(Advance { matches: vec![spec_of(8, 1, u64::MAX)], ..first.clone() }), Outcome::Done);
    let want = CompetitionRow {
        status,
        version: 3,
        matches_created: 1,
        started_at: Some(at(5)),
        due_at: Some(at(50)),
        ..competition(1)
    };
    assert_eq!(held.competition(1), want);
    held.assert_outcome(advance(first.clone()), Outcome::VersionConflict(3));
    held.assert_outcome(
        advance(Advance { expected_version: 3, expected_results_applied: 1, ..first.clone() }),
        Outcome::VersionConflict(3),
    );
    held.assert_outcome(advance(Advance { id: competition_id(2), ..first }), Outcome::NotFound);
    let log = |held: &mut StoreFixture, from| held.reader.competition_log(competition_id(1), from, 2).unwrap();
    assert_eq!(log(&mut held, 0), [vec![1], vec![]]);
    assert_eq!(log(&mut held, 2), [vec![3, 3]]);
    let row = held.reader.match_by_id(match_id(8)).unwrap().unwrap();
    assert_eq!((row.spec, row.account), (spec_of(8, 1, u64::MAX), account_id(1)));
}

pub(crate) fn results_are_numbered_in_the_order_of_their_ends(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.start_duel(1, [21, 22, 23]);
    held.start_duel(2, [31]);
    held.assert_outcome(create(1, [41], at(1)), Outcome::Done);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    assert_eq!(held.claimed(claim(1, at(0), 9)).len(), 5);
    let ends = [finish(23, 1, 0, 3, at(90)), finish(41, 1, 0, 2, at(90)), finish(31, 1, 0, 2, at(91))];
    assert_eq!(held.commit(&ends), vec![Outcome::Done; 3]);
    held.assert_outcome(finish(21, 1, 0, 3, at(92)), Outcome::Done);
    held.assert_outcome(finish(21, 1, 0, 3, at(93)), Outcome::Fenced);
    let bots = spec(23).seats.iter().map(|seat| seat.bot).collect::<Vec<_>>();
    let want = CompetitionResult {
        number: 1,
        match_id: match_id(23),
        key: 12,
        ended_at: at(90),
        ending: MatchState::Finished,
        summary: ResultSummary::new(&bots, Some(&result(2))),
    };
    let results = held.results(1, 0);
    assert_eq!(results[0], want);
    assert_eq!(results.iter().map(|result| (result.number, result.key)).collect::<Vec<_>>(), [(1, 12), (2, 10)]);
    assert_eq!(held.results(1, 1), results[1..]);
    assert_eq!(held.results(2, 0).iter().map(|result| result.number).collect::<Vec<_>>(), [1]);
    assert_eq!((held.competition(1).results, held.competition(1).matches_under_way()), (2, 1));
    // They outlive their matches.
    let retire = Command::RetireMatches {
        now: at(1_000),
        keep_for: Some(Default::default()),
        keep_archive_bytes: None,
        keep_answers_for: Default::default(),
        max: 99,
    };
    held.assert_outcome(retire, Outcome::Retired(4));
    assert_eq!(held.results(1, 0), results);
}

pub(crate) fn every_way_to_end_is_a_result(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.start_duel(1, [1, 2, 3, 4]);
    held.assert_outcome(cancel(4, at(6)), Outcome::Done);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    assert_eq!(held.claimed(claim(1, at(0), 9)).len(), 3);
    held.assert_outcome(fail(1, 1, at(7)), Outcome::Done);
    // Its result is out: neither another attempt nor a cancellation makes a second one.
    held.assert_outcome(requeue(1, at(8)), Outcome::WrongState(MatchState::Failed));
    held.assert_outcome(cancel(1, at(8)), Outcome::Done);
    held.assert_outcome(cancel(2, at(9)), Outcome::Done);
    for worker in 2..=ATTEMPTS_MAX + 2 {
        let (now, worker) = (at(10_000 * i64::from(worker)), u128::from(worker));
        held.assert_outcome(lease(worker, now), Outcome::Done);
        held.claimed(claim(worker, now, 9));
    }
    held.is_in(3, MatchState::Failed);
    let results = held.results(1, 0);
    let want =
        [(4, MatchState::Cancelled), (1, MatchState::Failed), (2, MatchState::Cancelled), (3, MatchState::Failed)];
    let ends: Vec<_> = results.iter().map(|result| (result.match_id.0 - 0xc000, result.ending)).collect();
    assert_eq!(ends, want);
    assert!(results.iter().all(|result| !result.is_rated() && result.summary.seats.len() == 2));
}

pub(crate) fn matches_of_a_competition_are_listed(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.start_duel(1, [1, 2, 3]);
    held.start_duel(2, [4]);
    held.assert_outcome(cancel(2, at(6)), Outcome::Done);
    let mut listed = |is_live, before: Option<u128>| -> Vec<u128> {
        let rows = held.reader.competition_matches(competition_id(1), is_live, before.map(match_id), 2);
        rows.unwrap().iter().map(|row| row.spec.id.0 - 0xc000).collect()
    };
    assert_eq!(listed(false, None), [3, 2]);
    assert_eq!(listed(false, Some(2)), [1]);
    assert_eq!(listed(true, None), [3, 1]);
}

pub(crate) fn competitions_with_something_to_do_are_found(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.start_duel(1, [1, 2]);
    held.start_duel(2, [3]);
    held.assert_outcome(create_competition(&CompetitionRow { due_at: Some(at(30)), ..competition(3) }), Outcome::Done);
    assert_eq!(held.has_something_to_do(at(29)), [0; 0]);
    assert_eq!(held.has_something_to_do(at(30)), [3]);
    held.commit(&[cancel(1, at(6)), cancel(3, at(6)), cancel(2, at(7))]);
    assert_eq!(held.has_something_to_do(at(30)), [1, 2, 3]);
    let row = held.competition(1);
    let half = Advance { results_applied: 1, ..Advance::of(&row, at(8)) };
    held.assert_outcome(advance(half.clone()), Outcome::Done);
    held.assert_outcome(advance(half), Outcome::VersionConflict(0));
    assert_eq!(held.has_something_to_do(at(29)), [1, 2]);
    let all = Advance { results_applied: 2, ..Advance::of(&held.competition(1), at(8)) };
    held.assert_outcome(advance(all), Outcome::Done);
    assert_eq!(held.has_something_to_do(at(29)), [2]);
}

pub(crate) fn a_job_has_one_leader(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let job = LeaderJob::MatchmakingQueue;
    let lead = |worker, now| Command::AcquireLeadership { job, worker: worker_id(worker), now };
    let leader = |n| WorldOwner { worker: worker_id(n), address: format!("10.0.0.{n}:4000") };
    assert_eq!(held.reader.leader(job, at(0)), Ok(None));
    held.assert_outcome(lead(1, at(0)), Outcome::LeaseLost);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    assert_eq!(held.reader.leader(job, at(0)), Ok(None), "a lease alone leads nothing");
    held.assert_outcome(lead(1, at(0)), Outcome::LedBy(leader(1)));
    held.assert_outcome(lead(1, at(1)), Outcome::LedBy(leader(1)));
    held.assert_outcome(lease(2, at(4_000)), Outcome::Done);
    held.assert_outcome(lead(2, at(4_999)), Outcome::LedBy(leader(1)));
    assert_eq!(held.reader.leader(job, at(4_999)), Ok(Some(leader(1))));
    assert_eq!(held.reader.leader(job, at(5_000)), Ok(None), "the lease of its leader has ended");
    held.assert_outcome(lead(1, at(5_000)), Outcome::LeaseLost);
    held.assert_outcome(lead(2, at(5_000)), Outcome::LedBy(leader(2)));
    held.assert_outcome(Command::EndLease { worker: worker_id(2) }, Outcome::Done);
    assert_eq!(held.reader.leader(job, at(5_001)), Ok(None), "given up");
    held.assert_outcome(lease(3, at(5_001)), Outcome::Done);
    held.assert_outcome(lead(3, at(5_001)), Outcome::LedBy(leader(3)));
    for other in LeaderJob::ALL.into_iter().filter(|other| *other != job) {
        assert_eq!(held.reader.leader(other, at(5_001)), Ok(None), "{}", other.name());
        let lead = Command::AcquireLeadership { job: other, worker: worker_id(3), now: at(5_001) };
        held.assert_outcome(lead, Outcome::LedBy(leader(3)));
    }
}

pub(crate) fn what_is_due_later_is_counted(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    for (n, due_at) in [(1, None), (2, Some(50)), (3, Some(60))] {
        let row = CompetitionRow { due_at: due_at.map(at), ..competition(n) };
        held.assert_outcome(create_competition(&row), Outcome::Done);
    }
    let scheduled = [49, 50, 60].map(|now| held.stats(at(now)).scheduled);
    assert_eq!(scheduled, [2, 1, 0]);
}

/// Not those of bots that never were registered, such as a duel's that are named by their URLs; not those that have ended.
pub(crate) fn matches_of_bots_that_were_deleted_are_found(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::CreateBot(bot(1, 1)), Outcome::Done);
    held.start_duel(1, [21, 22]);
    held.start_duel(2, [31]);
    held.assert_outcome(create(1, [41], at(1)), Outcome::Done);
    let found = |held: &mut StoreFixture, kind, limit| {
        let mut found = held.reader.matches_of_deleted_bots(kind, limit).expect("the store is there");
        found.sort_unstable();
        found
    };
    assert_eq!(found(&mut held, DUEL, 9), []);
    let delete = Command::DeleteBot { id: bot_id(1), account: account_id(1) };
    held.assert_outcome(delete, Outcome::Done);
    assert_eq!(found(&mut held, DUEL, 9), [match_id(21), match_id(22), match_id(31)]);
    assert_eq!(found(&mut held, DUEL, 2).len(), 2);
    assert_eq!(found(&mut held, CompetitionKind::Ladder, 9), []);
    held.assert_outcome(cancel(21, at(6)), Outcome::Done);
    held.assert_outcome(cancel(31, at(6)), Outcome::Done);
    assert_eq!(found(&mut held, DUEL, 9), [match_id(22)]);
}

pub(crate) fn retire(now: UnixMs, keep_ms: u64, max: usize) -> Command {
    Command::Competition(CompetitionCommand::Retire { now, keep_for: Duration::from_millis(keep_ms), max })
}

pub(crate) fn ended_competitions_go_with_all_that_is_theirs(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    // 1 and 2 are over, 2 with a match that still waits; 3 runs; 4 is a ladder that is over.
    held.start_duel(1, [1]);
    held.start_duel(2, [2]);
    held.start_duel(3, [3]);
    let ladder = CompetitionRow { kind: CompetitionKind::Ladder, ..competition(4) };
    held.assert_outcome(create_competition(&ladder), Outcome::Done);
    held.assert_outcome(cancel(1, at(6)), Outcome::Done);
    for (n, results_applied, ended_at) in [(1, 1, 20), (2, 0, 10), (4, 0, 10)] {
        let (status, row) = (CompetitionStatus::Finished, held.competition(n));
        let end = Advance { status, results_applied, entries: vec![vec![7]], ..Advance::of(&row, at(ended_at)) };
        held.assert_outcome(advance(end), Outcome::Done);
    }
    held.assert_outcome(retire(at(99), 79, 9), Outcome::Retired(0));
    held.assert_outcome(retire(at(100), 79, 0), Outcome::Retired(0));
    assert_eq!(held.results(1, 0).len(), 1);
    held.assert_outcome(retire(at(100), 79, 9), Outcome::Retired(1));
    assert_eq!(held.reader.competition(competition_id(1)), Ok(None));
    assert_eq!(held.reader.competition_log(competition_id(1), 0, 9), Ok(Vec::new()));
    assert_eq!(held.results(1, 0), []);
    held.assert_outcome(cancel(2, at(6)), Outcome::Done);
    held.assert_outcome(retire(at(100), 0, 9), Outcome::Retired(1));
    held.assert_outcome(retire(at(1_000_000), 0, 9), Outcome::Retired(0));
    assert_eq!((held.competition(3).status, held.competition(4).version), (CompetitionStatus::Running, 1));
}

//! Views of duels: who sees what, and how much of a history.

use super::*;
use engine::competitions::CompetitionKind;
use engine::duels::{Entry, SilentAnswer, Sprt};
use engine::ids::{AccountId, BotId, CompetitionId};
use engine::limits::DUEL_SILENT_GAMES_MAX;
use engine::matches::entry::AnswerClass;
use engine::matches::settings::MatchSettings;
use engine::time::UnixMs;
use rules::chance::Seed;
use rules::snake::Rules;

fn duel(bots: usize, pairs: u32) -> (CompetitionRow, Duel) {
    let bot = |number: usize| DuelBot {
        bot: BotId(number as u128),
        name: format!("bot {number}"),
        owner: String::new(),
        url: "http://192.0.2.1/x".to_owned(),
        is_registered: number == 0,
    };
    let definition = DuelDefinition {
        bots: (0..bots).map(bot).collect(),
        settings: MatchSettings { rules: Rules::default(), width: 11, height: 11, timeout_ms: 500, turns_max: 100 },
        seed: Seed(77),
        test: (bots == 2).then(Sprt::default),
        pairs_max: 1_000,
        pairs_at_once: 4,
        is_public: false,
    };
    let bytes = definition.encode();
    let row = CompetitionRow::new(
        CompetitionId(1),
        CompetitionKind::Duel,
        AccountId(1),
        "a duel".to_owned(),
        bytes,
        UnixMs(0),
    );
    let mut duel = Duel::new(definition);
    let outcomes = (0..pairs).map(|pair| if pair % 7 == 3 { PairOutcome::Void } else { PairOutcome::Played([1, 2]) });
    duel.apply(&Entry::Counted { pairing: 0, pairs: outcomes.collect() }).expect("its own pairing");
    (row, duel)
}

#[track_caller]
fn check_history(pairs: u32) {
    let (row, duel) = duel(2, pairs);
    let details = details(&row, &duel, DuelAccess::Everyone);
    let played = duel.pairings()[0].counts().pairs();
    assert_eq!(details.history.last().map_or(0, |point| point.pairs), played);
    assert!(details.history.len() <= DUEL_HISTORY_POINTS_MAX, "{}", details.history.len());
    assert_eq!(details.history.last().map(|point| point.llr), details.pairings[0].llr.filter(|_| played > 0));
}

#[test]
fn a_history_is_bounded_and_ends_with_what_is_known_now() {
    [0, 1, 2, 99, 116, 117, 118, 119, 500, 1_001].into_iter().for_each(check_history);
}

#[test]
fn urls_are_the_owners_and_seeds_come_at_the_end() {
    let (row, mut duel) = duel(2, 3);
    let owner = details(&row, &duel, DuelAccess::Owner);
    assert_eq!(owner.summary.bots[0].url, None, "a registered bot's is shown to its own owner alone");
    assert_eq!(owner.summary.bots[1].url.as_deref(), Some("http://192.0.2.1/x"));
    assert_eq!(owner.seed, None);
    assert_eq!((owner.summary.bots[0].snake_id.is_some(), owner.summary.bots[1].snake_id.is_some()), (true, false));
    assert!(details(&row, &duel, DuelAccess::Everyone).summary.bots.iter().all(|bot| bot.url.is_none()));
    duel.apply(&Entry::Over { end: DuelEnd::H1Accepted }).expect("an end");
    let ended = details(&row, &duel, DuelAccess::Everyone);
    assert_eq!((ended.seed.as_deref(), ended.end.as_deref()), (Some("77"), Some("h1_accepted")));
    assert!(ended.verdict.starts_with("bot 1 is better than bot 0"), "{}", ended.verdict);
}

#[track_caller]
fn check_verdict(elo0: f64, elo1: f64, end: DuelEnd, want: &str) {
    let (row, duel) = duel(2, 0);
    let test = Some(Sprt { elo0, elo1, alpha: 0.05, beta: 0.1 });
    let mut duel = Duel::new(DuelDefinition { test, ..duel.definition().clone() });
    duel.apply(&Entry::Over { end }).expect("an end");
    assert_eq!(details(&row, &duel, DuelAccess::Everyone).verdict, want, "{elo0} {elo1} {end:?}");
}

#[test]
fn a_verdict_says_no_more_than_its_hypothesis() {
    use DuelEnd::{H0Accepted, H1Accepted};
    let better = |elo: u8| {
        format!(
            "bot 1 is better than bot 0: more than {elo} Elo stronger. Of bots that are not, 5 % at most get this verdict."
        )
    };
    let worse = |elo: u8| {
        format!(
            "bot 1 is worse than bot 0: more than {elo} Elo weaker. Of bots that are not, 10 % at most get this verdict."
        )
    };
    check_verdict(0.0, 50.0, H1Accepted, &better(0));
    check_verdict(-0.0, 50.0, H1Accepted, &better(0));
    check_verdict(10.0, 50.0, H1Accepted, &better(10));
    let not_worse = "bot 1 is not worse than bot 0 by 50 Elo. Of bots that are, 5 % at most get this verdict.";
    check_verdict(-50.0, 0.0, H1Accepted, not_worse);
    check_verdict(-50.0, 50.0, H1Accepted, not_worse);
    let not_better = "bot 1 is not better than bot 0 by 50 Elo. Of bots that are, 10 % at most get this verdict.";
    check_verdict(0.0, 50.0, H0Accepted, not_better);
    check_verdict(-50.0, 50.0, H0Accepted, not_better);
    check_verdict(-50.0, 0.0, H0Accepted, &worse(0));
    check_verdict(-50.0, -20.0, H0Accepted, &worse(20));
}

#[test]
fn numbers_without_bound_are_null() {
    let (row, duel) = duel(2, 0);
    let strength = details(&row, &duel, DuelAccess::Owner).pairings[0].strength.clone();
    assert_eq!(strength, DuelStrength { elo: None, elo_low: None, elo_high: None });
}

#[test]
fn a_league_has_a_table_and_no_test() {
    let (row, duel) = duel(3, 10);
    let details = details(&row, &duel, DuelAccess::Everyone);
    assert_eq!((details.table.len(), details.pairings.len(), details.history.len()), (3, 3, 0));
    assert!(details.test.is_none() && details.pairings.iter().all(|pairing| pairing.llr.is_none()));
    assert!(details.table[1].elo > details.table[0].elo);
}

/// A duel whose second bot answered with a web page, for its owner and for everyone.
#[test]
fn a_bot_that_did_not_play_is_named_with_its_answer() {
    let (row, mut duel) = duel(2, 0);
    let response = Some(Box::new(ResponseExcerpt::new(200, b"<html>Welcome!</html>")));
    let answer = SilentAnswer { class: AnswerClass::Malformed, response };
    for _ in 0..DUEL_SILENT_GAMES_MAX {
        duel.apply(&Entry::Silent { bot: 1, answer: answer.clone() }).expect("its own bot");
    }
    assert_eq!(details(&row, &duel, DuelAccess::Owner).silent_bot, None, "it goes on");
    duel.apply(&Entry::Over { end: DuelEnd::BotSilent }).expect("an end");
    let shown = details(&row, &duel, DuelAccess::Owner);
    for part in ["bot 1 did not play", "3 games", "(malformed)", "a web page", "check the URL"] {
        assert!(shown.verdict.contains(part), "{}", shown.verdict);
    }
    let shown_verdict = shown.verdict.clone();
    let shown = shown.silent_bot.expect("it is silent");
    assert_eq!((shown.bot, shown.status, shown.body_start.as_deref()), (1, Some(200), Some("<html>Welcome!</html>")));
    let for_all = details(&row, &duel, DuelAccess::Everyone);
    // The page of a duel is rendered once for all.
    assert_eq!(for_all.verdict, shown_verdict);
    assert!(!for_all.verdict.contains("Welcome"), "{}", for_all.verdict);
    let shown = for_all.silent_bot.expect("it is silent");
    assert_eq!((shown.class.as_str(), shown.status, shown.body_start), ("malformed", None, None));
}

//! Duels as clients see them.

use super::read::DuelAccess;
use crate::games::{game_type, time};
use crate::problem::{ApiError, ApiResult};
use engine::competitions::CompetitionRow;
use engine::duels::{
    Duel, DuelBot, DuelDefinition, DuelEnd, PairCounts, PairOutcome, PairingState, Sprt, elo_of, league_table,
    score_interval,
};
use engine::health::CallFault;
use engine::limits::DUEL_HISTORY_POINTS_MAX;
use engine::matches::response_excerpt::ResponseExcerpt;
use wire::api::{DuelDetails, DuelPairing, DuelPoint, DuelSilentBot, DuelStrength, DuelSummary, DuelTest, LeagueRow};

/// A duel as lists show it, without its log.
pub(super) fn summary_of_row(row: &CompetitionRow, access: DuelAccess) -> ApiResult<DuelSummary> {
    let definition = DuelDefinition::decode(&row.definition)
        .map_err(|error| ApiError::Internal(format!("the definition of duel {}: {error}", row.id)))?;
    Ok(summary(row, &definition, access))
}

/// The same for the account that created it.
pub(crate) fn summary_for_owner(row: &CompetitionRow) -> ApiResult<DuelSummary> {
    summary_of_row(row, DuelAccess::Owner)
}

fn summary(row: &CompetitionRow, definition: &DuelDefinition, access: DuelAccess) -> DuelSummary {
    let bot = |bot: &DuelBot| wire::api::DuelBot {
        name: bot.name.clone(),
        snake_id: bot.is_registered.then(|| bot.bot.to_string()),
        // That of a registered bot is its owner's alone, who reads it from the snake.
        url: (access == DuelAccess::Owner && !bot.is_registered).then(|| bot.url.clone()),
    };
    DuelSummary {
        id: row.id.to_string(),
        name: row.name.clone(),
        status: row.status.name().to_owned(),
        is_public: row.is_public,
        bots: definition.bots.iter().map(bot).collect(),
        games_ended: row.results,
        created_at: time(row.created_at),
        ended_at: row.ended_at.map(time),
    }
}

/// Everything about a duel.
pub(super) fn details(row: &CompetitionRow, duel: &Duel, access: DuelAccess) -> DuelDetails {
    let definition = duel.definition();
    let settings = &definition.settings;
    let pairings = definition.pairings().into_iter().zip(duel.pairings());
    let first = &duel.pairings()[0];
    DuelDetails {
        summary: summary(row, definition, access),
        is_own: access == DuelAccess::Owner,
        end: duel.end().map(|end| end.name().to_owned()),
        verdict: verdict(duel),
        silent_bot: silent_bot(duel, access),
        board: format!("{}x{}", settings.width, settings.height),
        game_type: game_type(&settings.rules).to_owned(),
        map: settings.rules.map.name().to_owned(),
        timeout_ms: settings.timeout_ms,
        // Who knew it during the duel would know where food appears.
        seed: duel.end().map(|_| definition.seed.0.to_string()),
        test: definition.test.as_ref().map(test_view),
        games_max: definition.pairs_max * 2,
        pairs_at_once: definition.pairs_at_once,
        games_in_flight: if duel.end().is_some() { 0 } else { duel.games_in_flight().len() },
        games_repeated: duel.games_repeated(),
        pairings: pairings.map(|(bots, state)| pairing(bots, state, definition.test.as_ref())).collect(),
        history: definition.test.as_ref().map(|test| history(first, test)).unwrap_or_default(),
        table: if definition.test.is_none() { table(duel) } else { Vec::new() },
    }
}

fn test_view(test: &Sprt) -> DuelTest {
    let Sprt { elo0, elo1, alpha, beta } = *test;
    DuelTest { elo0, elo1, alpha, beta, llr_lower: test.lower(), llr_upper: test.upper() }
}

fn pairing((first, second): (usize, usize), state: &PairingState, test: Option<&Sprt>) -> DuelPairing {
    let [wins, draws, losses] = state.games();
    DuelPairing {
        first,
        second,
        wins,
        draws,
        losses,
        pairs: state.counts().0,
        void_pairs: state.void_pairs(),
        llr: test.map(|test| test.llr(state.counts())),
        strength: strength(state.counts()),
    }
}

fn strength(counts: &PairCounts) -> DuelStrength {
    let bounded = |score: f64| Some(elo_of(score)).filter(|elo| elo.is_finite());
    let (low, high) = score_interval(counts);
    let elo = if counts.pairs() == 0 { None } else { bounded(counts.score()) };
    // An end that is a rounding away from 0 or 1 is no end.
    DuelStrength {
        elo,
        elo_low: bounded(low).filter(|_| low > 1e-6),
        elo_high: bounded(high).filter(|_| high < 1.0 - 1e-6),
    }
}

/// After evenly spaced pairs, the last one included.
fn history(state: &PairingState, test: &Sprt) -> Vec<DuelPoint> {
    let played = state.outcomes().iter().filter_map(|outcome| match outcome {
        PairOutcome::Played([one, other]) => Some(one + other),
        PairOutcome::Void => None,
    });
    let step = (state.counts().pairs() as usize).div_ceil(DUEL_HISTORY_POINTS_MAX).max(1);
    let (mut counts, mut points) = (PairCounts::default(), Vec::new());
    let left = state.counts().pairs() as usize % step;
    for (at, half_points) in played.enumerate() {
        counts.add(half_points);
        if (at + 1) % step == left % step {
            points.push(DuelPoint { pairs: counts.pairs(), llr: test.llr(&counts), strength: strength(&counts) });
        }
    }
    points
}

fn table(duel: &Duel) -> Vec<LeagueRow> {
    let definition = duel.definition();
    let counts = duel.pairings().iter().map(|pairing| *pairing.counts());
    let pairings: Vec<_> = definition.pairings().into_iter().zip(counts).collect();
    let table = league_table(definition.bots.len(), &pairings);
    let rows = table.standings.iter().zip(table.superiority);
    rows.map(|(standing, superiority)| LeagueRow { elo: standing.elo, elo_margin: standing.elo_margin, superiority })
        .collect()
}

/// The bot that has ended the duel by not playing, and what it answered, for those who may see that.
fn silent_bot(duel: &Duel, access: DuelAccess) -> Option<DuelSilentBot> {
    let (bot, silence) = duel.silent_bot().filter(|_| duel.end() == Some(DuelEnd::BotSilent))?;
    let answer = silence.answer.as_ref()?;
    let fault = CallFault::probable(answer.class, answer.response.as_deref())?;
    let response = answer.response.as_deref().filter(|_| access == DuelAccess::Owner);
    Some(DuelSilentBot {
        bot,
        games: silence.games,
        class: answer.class.name().to_owned(),
        problem: fault.problem().to_owned(),
        remedy: fault.remedy().to_owned(),
        status: response.map(ResponseExcerpt::status),
        body_start: response.map(|response| response.text().to_owned()),
    })
}

/// Without the answer's status and bytes: the verdict is the same for everyone.
fn silence_in_words(duel: &Duel) -> String {
    let Some(silent) = silent_bot(duel, DuelAccess::Everyone) else {
        return "Undecided: a bot did not play.".to_owned();
    };
    let DuelSilentBot { bot, games, class, problem, remedy, .. } = silent;
    let name = &duel.definition().bots[bot].name;
    format!(
        "Undecided: {name} did not play. It gave no valid move in {games} games in a row, which do not count: {problem} ({class}). What to \
         do: {remedy}."
    )
}

/// What a duel's end means.
fn verdict(duel: &Duel) -> String {
    let definition = duel.definition();
    let name = |place: usize| definition.bots[place].name.as_str();
    let (baseline, candidate) = (name(0), name(1));
    match (duel.end(), definition.test) {
        (None, _) => "It is not known yet.".to_owned(),
        (Some(DuelEnd::H1Accepted), Some(test)) => stronger_than_h0(baseline, candidate, &test),
        (Some(DuelEnd::H0Accepted), Some(test)) => weaker_than_h1(baseline, candidate, &test),
        (Some(DuelEnd::GamesPlayed), None) => "Every two bots have played all their games.".to_owned(),
        (Some(DuelEnd::GamesPlayed), Some(_)) => {
            "Undecided: all games are played, and the test knows no more than the interval says.".to_owned()
        }
        (Some(DuelEnd::TooManyVoidPairs), _) => {
            "Undecided: too many games could not be played on this server.".to_owned()
        }
        (Some(DuelEnd::BotWithdrawn), _) => {
            "Undecided: a bot was deleted, or may not be used by this account any more.".to_owned()
        }
        (Some(DuelEnd::BotSilent), _) => silence_in_words(duel),
        (Some(DuelEnd::Cancelled | DuelEnd::H0Accepted | DuelEnd::H1Accepted), _) => "It was called off.".to_owned(),
    }
}

/// What H1 says: a bound below 0 leaves open which bot is better.
fn stronger_than_h0(baseline: &str, candidate: &str, test: &Sprt) -> String {
    let (bound, error) = (test.elo0.abs(), percent(test.alpha));
    if test.elo0 >= 0.0 {
        return format!(
            "{candidate} is better than {baseline}: more than {bound} Elo stronger. Of bots that are not, {error} % at most get this verdict."
        );
    }
    format!(
        "{candidate} is not worse than {baseline} by {bound} Elo. Of bots that are, {error} % at most get this verdict."
    )
}

/// What H0 says: a bound above 0 leaves open which bot is better.
fn weaker_than_h1(baseline: &str, candidate: &str, test: &Sprt) -> String {
    let (bound, error) = (test.elo1.abs(), percent(test.beta));
    if test.elo1 <= 0.0 {
        return format!(
            "{candidate} is worse than {baseline}: more than {bound} Elo weaker. Of bots that are not, {error} % at most get this verdict."
        );
    }
    format!(
        "{candidate} is not better than {baseline} by {bound} Elo. Of bots that are, {error} % at most get this verdict."
    )
}

fn percent(rate: f64) -> f64 {
    (rate * 1_000.0).round() / 10.0
}

#[cfg(test)]
mod tests;

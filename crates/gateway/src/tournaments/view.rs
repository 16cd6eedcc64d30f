//! What is known of a tournament becomes JSON.

use crate::games::game_type;
use crate::problem::{ApiError, ApiResult};
use arena::tournaments::LoadedTournament;
use engine::competitions::CompetitionRow;
use engine::time::UnixMs;
use engine::tournaments::{
    Definition, Entrant, EntryRule, Event, Format, Game, GameEnd, LogEntry, Occupant, Pairing, PairingStage, Phase,
    Seeding, Source, Standing, TieBreak, Tournament,
};
use wire::api::{
    TournamentDetails, TournamentEnd, TournamentEntrant, TournamentEvent, TournamentFormatChoice, TournamentGame,
    TournamentPairing, TournamentPlayer, TournamentRulesView, TournamentStanding, TournamentSummary,
};
use wire::time::Timestamp;

pub(crate) fn summary_of_row(row: &CompetitionRow) -> ApiResult<TournamentSummary> {
    let definition = Definition::decode(&row.definition)
        .map_err(|error| ApiError::Internal(format!("the definition of tournament {}: {error}", row.id)))?;
    Ok(summary(row, &definition))
}

fn summary(row: &CompetitionRow, definition: &Definition) -> TournamentSummary {
    TournamentSummary {
        id: row.id.to_string(),
        name: row.name.clone(),
        status: row.status.name().to_owned(),
        organizer_id: row.account.to_string(),
        is_public: row.is_public,
        format: format(definition.format),
        entrants_min: definition.entrants_min,
        entrants_max: definition.entrants_max,
        entry: match definition.entry_rule {
            EntryRule::Open => "open",
            EntryRule::Invited => "invited",
        }
        .to_owned(),
        created_at: Timestamp(row.created_at.0),
        starts_at: definition.starts_at.map(|at| Timestamp(at.0)),
        started_at: row.started_at.map(|at| Timestamp(at.0)),
        ended_at: row.ended_at.map(|at| Timestamp(at.0)),
        games_created: row.matches_created,
    }
}

fn format(format: Format) -> TournamentFormatChoice {
    let named = |kind: &str| TournamentFormatChoice { kind: kind.to_owned(), ..TournamentFormatChoice::default() };
    match format {
        Format::SingleElimination { third_place } => {
            TournamentFormatChoice { third_place: Some(third_place), ..named("single_elimination") }
        }
        Format::Heats { size, advance } => {
            TournamentFormatChoice { size: Some(size.into()), advance: Some(advance.into()), ..named("heats") }
        }
        Format::DoubleElimination { final_reset } => {
            TournamentFormatChoice { final_reset: Some(final_reset), ..named("double_elimination") }
        }
        Format::Swiss { rounds } => TournamentFormatChoice { rounds: Some(rounds.into()), ..named("swiss") },
        Format::RoundRobin => named("round_robin"),
        Format::Groups { groups, advance, third_place } => TournamentFormatChoice {
            groups: Some(groups.into()),
            advance: Some(advance.into()),
            third_place: Some(third_place),
            ..named("groups")
        },
    }
}

pub(super) fn details(loaded: &LoadedTournament) -> TournamentDetails {
    let LoadedTournament { row, state } = loaded;
    let has_started = state.started_at().is_some();
    let groups = match state.definition().format {
        Format::Groups { groups, .. } if has_started => groups,
        _ => 0,
    };
    let cancel_reason = match state.phase() {
        Phase::Cancelled(reason) => Some(reason.name().to_owned()),
        Phase::Entries | Phase::Running | Phase::Finished => None,
    };
    let is_swiss = matches!(state.definition().format, Format::Swiss { .. });
    TournamentDetails {
        summary: summary(row, state.definition()),
        seq: last_seq(state),
        rules: rules(state),
        entrants: (0..).zip(state.entrants()).map(|(number, known)| entrant(number, known)).collect(),
        pairings: (0..).zip(state.pairings()).map(|(number, known)| pairing(number, known)).collect(),
        standings: state.standings().iter().map(standing).collect(),
        groups: (0..groups).map(|group| state.group_table(group).iter().map(standing).collect()).collect(),
        champion: state.champion(),
        cancel_reason,
        swiss_rounds: (is_swiss && has_started).then(|| state.swiss_rounds()),
    }
}

fn rules(state: &Tournament) -> TournamentRulesView {
    let definition = state.definition();
    let (rules, game) = (&definition.rules, &definition.game);
    let tie_break = |rule: &TieBreak| match rule {
        TieBreak::Food => "food".to_owned(),
        TieBreak::Seed => "seed".to_owned(),
        TieBreak::Lot => "lot".to_owned(),
    };
    let (seeding, ladder_id) = match definition.seeding {
        Seeding::Random => ("random", None),
        Seeding::Manual => ("manual", None),
        Seeding::Ladder { ladder } => ("ladder", Some(ladder.to_string())),
    };
    TournamentRulesView {
        best_of: rules.best_of,
        replays_max: rules.replays_max,
        tie_breaks: rules.tie_breaks.iter().map(tie_break).collect(),
        game_deadline_s: rules.game_deadline.as_secs(),
        games_at_once: rules.games_at_once,
        seeding: seeding.to_owned(),
        ladder_id,
        entrants_per_account_max: definition.entrants_per_account_max,
        board: format!("{}x{}", game.width, game.height),
        game_type: game_type(&game.rules).to_owned(),
        map: game.rules.map.name().to_owned(),
        timeout_ms: game.timeout_ms,
        seed: is_over(state).then(|| definition.seed.0.to_string()),
    }
}

pub(super) fn entrant(number: u16, known: &Entrant) -> TournamentEntrant {
    TournamentEntrant {
        number,
        snake_id: known.info.bot.to_string(),
        snake_name: known.info.name.clone(),
        author: known.info.author.clone(),
        entered_at: Timestamp(known.entered_at.0),
        seed: known.seed.checked_add(1),
        withdrawn: known.withdrawn.map(|reason| reason.name().to_owned()),
        absent_since: known.absent_since.filter(|_| known.is_absent()).map(|at| Timestamp(at.0)),
    }
}

fn pairing(number: u32, known: &Pairing) -> TournamentPairing {
    let status = match &known.outcome {
        Some(_) => "decided",
        None if !known.is_ready() => "waiting",
        None if known.open_games().any(|game| game.started_at.is_some()) => "running",
        None if known.open_games().next().is_some() => "queued",
        None => "ready",
    };
    let at = |at: UnixMs| Timestamp(at.0);
    let player = |(source, occupant): (&Source, &Occupant)| TournamentPlayer {
        entrant: occupant.entrant(),
        is_bye: *occupant == Occupant::Nobody,
        winner_of: if let Source::WinnerOf(number) = source { Some(*number) } else { None },
        loser_of: if let Source::LoserOf(number) = source { Some(*number) } else { None },
        games_won: occupant.entrant().map_or(0, |entrant| known.games_won(entrant)),
    };
    TournamentPairing {
        number,
        stage: known.stage.name().to_owned(),
        group: if let PairingStage::Group(group) = known.stage { Some(group) } else { None },
        round: known.round,
        status: status.to_owned(),
        created_at: known.games.iter().map(|game| game.created_at).min().map(at),
        started_at: known.games.iter().filter_map(|game| game.started_at).min().map(at),
        ended_at: known.decided_at.map(at),
        players: known.sources.iter().zip(&known.players).map(player).collect(),
        games: known.games.iter().map(game).collect(),
        winner: known.winner(),
        decision: known.outcome.as_ref().map(|outcome| outcome.decision.name().to_owned()),
    }
}

fn game(known: &Game) -> TournamentGame {
    let (status, places, void) = match &known.end {
        None if known.started_at.is_some() => ("running", None, None),
        None => ("queued", None, None),
        Some(GameEnd::Played(score)) => ("played", Some(score.places.clone()), None),
        Some(GameEnd::Void(reason)) => ("void", None, Some(reason.name().to_owned())),
    };
    TournamentGame {
        id: known.match_id.to_string(),
        seats: known.seats.clone(),
        created_at: Timestamp(known.created_at.0),
        started_at: known.started_at.map(|at| Timestamp(at.0)),
        ended_at: known.ended_at.map(|at| Timestamp(at.0)),
        status: status.to_owned(),
        places,
        void,
    }
}

fn standing(known: &Standing) -> TournamentStanding {
    TournamentStanding {
        entrant: known.entrant,
        place: known.place,
        points: known.points,
        losses: known.losses,
        byes: known.byes,
        buchholz: known.buchholz,
        sonneborn_berger: known.sonneborn_berger,
        direct_encounter: known.direct_encounter,
        games_won: known.games_won,
        games_lost: known.games_lost,
        food: known.food,
    }
}

pub(super) fn is_over(state: &Tournament) -> bool {
    matches!(state.phase(), Phase::Finished | Phase::Cancelled(_))
}

/// The number of the last event: that of the last entry of the log, or of the event behind it that says how the tournament ended. That one
/// follows from the log, and is no entry of its own.
pub(super) fn last_seq(state: &Tournament) -> u32 {
    state.version() + u32::from(is_over(state))
}

/// The last event of one that is over.
pub(super) fn ended_event(loaded: &LoadedTournament) -> TournamentEvent {
    let LoadedTournament { row, state } = loaded;
    let champion = state.champion();
    let entrant = champion.map(|number| &state.entrants()[usize::from(number)].info);
    let end = TournamentEnd {
        status: row.status.name().to_owned(),
        champion,
        champion_name: entrant.map(|entrant| entrant.name.clone()),
        standings_path: format!("/api/tournaments/{}", row.id),
    };
    let at = state.ended_at().unwrap_or(row.created_at);
    TournamentEvent {
        snake_id: entrant.map(|entrant| entrant.bot.to_string()),
        end: Some(end),
        ..plain_event(last_seq(state), at, "ended")
    }
}

fn plain_event(seq: u32, at: UnixMs, kind: &str) -> TournamentEvent {
    TournamentEvent {
        seq,
        at: Timestamp(at.0),
        kind: kind.to_owned(),
        snake_id: None,
        pairing: None,
        game_id: None,
        places: None,
        reason: None,
        end: None,
    }
}

/// An entry of the log, for everyone who may see the tournament. Its number is from 1.
pub(super) fn event(seq: u32, entry: &LogEntry) -> TournamentEvent {
    let plain = |kind: &str| plain_event(seq, entry.at, kind);
    match &entry.event {
        Event::Invited { .. } => plain("invited"),
        Event::Entered { entrant, .. } => {
            TournamentEvent { snake_id: Some(entrant.bot.to_string()), ..plain("entered") }
        }
        Event::Withdrawn { bot, reason } => TournamentEvent {
            snake_id: Some(bot.to_string()),
            reason: Some(reason.name().to_owned()),
            ..plain("withdrawn")
        },
        Event::Absent { bot } => TournamentEvent { snake_id: Some(bot.to_string()), ..plain("absent") },
        Event::Returned { bot } => TournamentEvent { snake_id: Some(bot.to_string()), ..plain("returned") },
        Event::SeedsSet { .. } => plain("seeds_set"),
        Event::Started { .. } => plain("started"),
        Event::RoundPaired { .. } => plain("round_paired"),
        Event::GameCreated { pairing, match_id, .. } => {
            TournamentEvent { pairing: Some(*pairing), game_id: Some(match_id.to_string()), ..plain("game_created") }
        }
        Event::GameStarted { pairing, match_id, .. } => {
            TournamentEvent { pairing: Some(*pairing), game_id: Some(match_id.to_string()), ..plain("game_started") }
        }
        Event::GamePlayed { pairing, match_id, score } => TournamentEvent {
            pairing: Some(*pairing),
            game_id: Some(match_id.to_string()),
            places: Some(score.places.clone()),
            ..plain("game_played")
        },
        Event::GameAdjudicated { pairing, match_id, score } => TournamentEvent {
            pairing: Some(*pairing),
            game_id: Some(match_id.to_string()),
            places: Some(score.places.clone()),
            ..plain("game_adjudicated")
        },
        Event::GameVoid { pairing, match_id, reason } => TournamentEvent {
            pairing: Some(*pairing),
            game_id: Some(match_id.to_string()),
            reason: Some(reason.name().to_owned()),
            ..plain("game_void")
        },
        Event::Cancelled { reason } => TournamentEvent { reason: Some(reason.name().to_owned()), ..plain("cancelled") },
    }
}

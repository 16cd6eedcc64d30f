//! What a table does by itself, and when. Every timer is a point in time in the state: it survives a change of the
//! owner.

use super::bots::{self, JOIN_DELAY};
use super::decide::DecisionContext;
use super::entry::Entry;
use super::game::{Game, TransitionReason};
use super::phase::{Phase, PhaseEvent};
use super::state::TableState;
use crate::ids::PlayerId;
use crate::time::UnixMs;

/// What a timer is for. Of those due at the same time, the first goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TimerKind {
    Countdown,
    Inactivity,
    StorytellerLate,
    BotActs { seat: usize },
    BotJoins,
    NextStoryteller,
}

impl TableState {
    /// The earliest timer.
    fn next_timer(&self) -> Option<(UnixMs, TimerKind)> {
        match self.live() {
            Some(game) => self.timers_of(game).min(),
            None => self.next_storyteller().until.map(|until| (until, TimerKind::NextStoryteller)),
        }
    }

    /// When something is due next.
    pub(super) fn next_due(&self) -> Option<UnixMs> {
        self.next_timer().map(|(at, _)| at)
    }

    fn timers_of<'a>(&'a self, game: &'a Game) -> impl Iterator<Item = (UnixMs, TimerKind)> + 'a {
        let bots = game.players.iter().enumerate();
        let bots = bots.filter_map(|(seat, player)| player.bot_due.map(|at| (at, TimerKind::BotActs { seat })));
        [
            Some((game.inactive_at, TimerKind::Inactivity)),
            game.countdown.map(|at| (at, TimerKind::Countdown)),
            game.tell_by.map(|at| (at, TimerKind::StorytellerLate)),
            self.bot_joins_at(game).map(|at| (at, TimerKind::BotJoins)),
        ]
        .into_iter()
        .flatten()
        .chain(bots)
    }

    fn bot_joins_at(&self, game: &Game) -> Option<UnixMs> {
        let may_join = self.has_bots && game.phase == Phase::Invitation && game.has_room(&self.settings.rules);
        let waits = may_join && bots::free_bot(game).is_some();
        waits.then(|| game.bots_since.plus(JOIN_DELAY))
    }
}

impl DecisionContext<'_> {
    /// What the table does now by itself; nothing, when nothing is due.
    ///
    /// A next storyteller who is not present is replaced at once, when another player is.
    pub(super) fn tick(self) -> Vec<Entry> {
        if let Some(other) = self.replacement_for_absent() {
            return vec![self.name_storyteller(Some(other))];
        }
        match self.state.next_timer() {
            Some((at, due)) if at <= self.now => self.fire(due),
            _ => Vec::new(),
        }
    }

    fn replacement_for_absent(self) -> Option<PlayerId> {
        let named = self.state.next_storyteller().storyteller.filter(|_| self.state.live().is_none())?;
        if (self.is_present)(named) { None } else { self.candidate_after(named) }
    }

    fn candidate_after(self, named: PlayerId) -> Option<PlayerId> {
        let passed: Vec<_> = self.state.next_storyteller().passed.iter().copied().chain([named]).collect();
        self.next_storyteller_candidate(&passed)
    }

    fn fire(self, due: TimerKind) -> Vec<Entry> {
        let Some(game) = self.state.live() else {
            let named = self.state.next_storyteller().storyteller;
            return vec![self.name_storyteller(named.and_then(|named| self.candidate_after(named)))];
        };
        match due {
            TimerKind::Countdown => self.time_up(game, TransitionReason::Countdown),
            TimerKind::Inactivity => self.time_up(game, TransitionReason::Inactivity),
            TimerKind::StorytellerLate | TimerKind::NextStoryteller => self.cancel(TransitionReason::StorytellerLate),
            TimerKind::BotJoins => self.join_bot(game).into_iter().collect(),
            TimerKind::BotActs { seat } => self.bot_entry(game, seat).into_iter().collect(),
        }
    }

    /// A game whose time is up proceeds when enough have picked, or voted; else it is canceled.
    fn time_up(self, game: &Game, because: TransitionReason) -> Vec<Entry> {
        let is_ready = game.is_ready(&self.state.settings.rules);
        match game.phase.transition(if is_ready { PhaseEvent::TimeUpReady } else { PhaseEvent::TimeUp }) {
            Some(Phase::Vote) => vec![self.open_voting(game, because)],
            Some(Phase::Complete) => self.complete(game, because),
            _ => self.cancel(because),
        }
    }

    fn bot_entry(self, game: &Game, seat: usize) -> Option<Entry> {
        let (bot, seed, version) = (&game.players[seat], self.state.seed, self.state.version);
        if game.phase == Phase::Vote {
            return bots::vote(bot, &game.board, seed, version).map(|card| self.vote_entry(game, bot, card));
        }
        bots::pick(bot, seed, version).map(|card| self.pick_entry(game, bot, card))
    }
}

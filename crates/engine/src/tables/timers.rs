//! What a table does by itself, and when. Every timer is a point in time in the state: it survives whoever held the table.

use super::bots::{self, JOIN_DELAY};
use super::decide::Scene;
use super::entry::Entry;
use super::game::{Because, Game};
use super::life::{Event, Phase};
use super::state::State;
use crate::ids::PlayerId;
use crate::time::UnixMs;

/// What a timer is for. Of those due at the same time, the first goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Countdown,
    Inactivity,
    StorytellerLate,
    BotActs { seat: usize },
    BotJoins,
    NextStoryteller,
}

impl State {
    /// The earliest timer.
    fn due(&self) -> Option<(UnixMs, Due)> {
        match self.live() {
            Some(game) => self.dues_of(game).min(),
            None => self.next().until.map(|until| (until, Due::NextStoryteller)),
        }
    }

    /// When something is due next.
    pub(super) fn next_due(&self) -> Option<UnixMs> {
        self.due().map(|(at, _)| at)
    }

    fn dues_of<'a>(&'a self, game: &'a Game) -> impl Iterator<Item = (UnixMs, Due)> + 'a {
        let bots = game.players.iter().enumerate();
        let bots = bots.filter_map(|(seat, player)| player.bot_due.map(|at| (at, Due::BotActs { seat })));
        [
            Some((game.inactive_at, Due::Inactivity)),
            game.countdown.map(|at| (at, Due::Countdown)),
            game.tell_by.map(|at| (at, Due::StorytellerLate)),
            self.bot_joins_at(game).map(|at| (at, Due::BotJoins)),
        ]
        .into_iter()
        .flatten()
        .chain(bots)
    }

    fn bot_joins_at(&self, game: &Game) -> Option<UnixMs> {
        let may_join = self.has_bots && game.phase == Phase::Invitation && game.has_room(&self.settings.rules);
        let waits = may_join && bots::free_bot(game).is_some();
        waits.then(|| game.bots_since.after(JOIN_DELAY))
    }
}

impl Scene<'_> {
    /// What the table does now by itself; nothing, when nothing is due.
    ///
    /// A next storyteller who is not here is replaced at once, when somebody else is.
    pub(super) fn tick(self) -> Vec<Entry> {
        if let Some(other) = self.instead_of_the_absent() {
            return vec![self.name(Some(other))];
        }
        match self.state.due() {
            Some((at, due)) if at <= self.now => self.carry_out(due),
            _ => Vec::new(),
        }
    }

    fn instead_of_the_absent(self) -> Option<PlayerId> {
        let named = self.state.next().storyteller.filter(|_| self.state.live().is_none())?;
        if (self.is_present)(named) { None } else { self.candidate_after(named) }
    }

    fn candidate_after(self, named: PlayerId) -> Option<PlayerId> {
        let passed: Vec<_> = self.state.next().passed.iter().copied().chain([named]).collect();
        self.candidate(&passed)
    }

    fn carry_out(self, due: Due) -> Vec<Entry> {
        let Some(game) = self.state.live() else {
            let named = self.state.next().storyteller;
            return vec![self.name(named.and_then(|named| self.candidate_after(named)))];
        };
        match due {
            Due::Countdown => self.time_up(game, Because::Countdown),
            Due::Inactivity => self.time_up(game, Because::Inactivity),
            Due::StorytellerLate | Due::NextStoryteller => self.cancel(Because::StorytellerLate),
            Due::BotJoins => self.join_bot(game).into_iter().collect(),
            Due::BotActs { seat } => self.bot_acts(game, seat).into_iter().collect(),
        }
    }

    /// A game whose time is up goes on when enough have picked, or voted; else it is canceled.
    fn time_up(self, game: &Game, because: Because) -> Vec<Entry> {
        let is_ready = game.is_ready(&self.state.settings.rules);
        match game.phase.on(if is_ready { Event::TimeUpReady } else { Event::TimeUp }) {
            Some(Phase::Vote) => vec![self.open_voting(game, because)],
            Some(Phase::Complete) => self.complete(game, because),
            _ => self.cancel(because),
        }
    }

    fn bot_acts(self, game: &Game, seat: usize) -> Option<Entry> {
        let (bot, seed, version) = (&game.players[seat], self.state.seed, self.state.version);
        if game.phase == Phase::Vote {
            return bots::vote(bot, &game.board, seed, version).map(|card| self.voted(game, bot, card));
        }
        bots::pick(bot, seed, version).map(|card| self.picked(game, bot, card))
    }
}

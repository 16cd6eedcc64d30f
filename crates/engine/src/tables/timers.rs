//! What a table does by itself, and when. Every timer is a point in time in the state: it survives a change of the
//! owner.

use super::bots::mind::{self, SeatView};
use super::bots::{self, JOIN_DELAY, MEMBERS_SEAT_DELAY};
use super::decide::DecisionContext;
use super::entry::Entry;
use super::game::{Game, TransitionReason};
use super::phase::{Phase, PhaseEvent};
use super::state::TableState;
use super::view::table_view;
use crate::ids::PlayerId;
use crate::time::UnixMs;
use rules::chance::Purpose;

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

    /// When the next bot sits down. Seats that members of the table may still take are free a while longer.
    pub(super) fn bot_joins_at(&self, game: &Game) -> Option<UnixMs> {
        let may_join = self.bots.are_on && game.phase == Phase::Invitation && game.has_room(&self.settings.rules);
        let waits = may_join && bots::free_bot(game).is_some();
        let is_for_members =
            game.players.len() + self.awaited_members(game) >= usize::from(self.settings.rules.players_max);
        waits.then(|| game.bots_since.plus(if is_for_members { MEMBERS_SEAT_DELAY } else { JOIN_DELAY }))
    }
}

impl DecisionContext<'_> {
    /// What the table does now by itself; nothing, when nothing is due.
    ///
    /// A next storyteller who is not present is replaced at once, when another player is; and a bot is named no more when no
    /// person is present.
    pub(super) fn tick(self) -> Vec<Entry> {
        if let Some(next) = self.replacement_for_absent() {
            return vec![self.name_storyteller(next)];
        }
        match self.state.next_timer() {
            Some((at, due)) if at <= self.now => self.fire(due),
            _ => Vec::new(),
        }
    }

    /// Who is named instead of one who is not present, or of a bot for which no person is: none, then.
    fn replacement_for_absent(self) -> Option<Option<PlayerId>> {
        let named = self.state.next_storyteller().storyteller.filter(|_| self.state.live().is_none())?;
        match bots::is_bot(named) {
            true => (!self.has_person_here(None)).then_some(None),
            false if (self.is_present)(named) => None,
            false => self.candidate_after(named).map(Some),
        }
    }

    fn candidate_after(self, named: PlayerId) -> Option<PlayerId> {
        let passed: Vec<_> = self.state.next_storyteller().passed.iter().copied().chain([named]).collect();
        self.next_storyteller_candidate(&passed, None)
    }

    fn fire(self, due: TimerKind) -> Vec<Entry> {
        let Some(game) = self.state.live() else {
            let named = self.state.next_storyteller().storyteller;
            // A bot that is named and not replaced begins now.
            let entry = match named.and_then(bots::newcomer) {
                Some(bot) => self.start(&bot),
                None => self.name_storyteller(named.and_then(|named| self.candidate_after(named))),
            };
            return vec![entry];
        };
        match due {
            TimerKind::Countdown => self.time_up(game, TransitionReason::Countdown),
            TimerKind::Inactivity => self.time_up(game, TransitionReason::Inactivity),
            TimerKind::StorytellerLate | TimerKind::NextStoryteller => self.cancel(TransitionReason::StorytellerLate),
            TimerKind::BotJoins => self.join_bot(game).into_iter().collect(),
            TimerKind::BotActs { seat } => self.bot_acts(game, seat).unwrap_or_default(),
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

    /// What a bot does when it has thought for long enough. It sees what a player in its seat would.
    fn bot_acts(self, game: &Game, seat: usize) -> Option<Vec<Entry>> {
        let bot = &game.players[seat];
        let view = table_view(self.state, Some(bot.id), 0);
        let sees = SeatView::of(&view)?;
        match (seat, game.phase) {
            (0, Phase::Create) => self.tell_as_bot(&sees),
            (0, Phase::Invitation) => Some(vec![self.open_voting(game, TransitionReason::Storyteller)]),
            (0, _) => Some(self.complete(game, TransitionReason::Storyteller)),
            (_, Phase::Vote) => {
                let card = mind::vote(&sees, &mut self.dice(Purpose::StoriesBotChoice))?;
                Some(vec![self.vote_entry(game, bot, card)])
            }
            (_, _) => {
                let card = mind::pick(&sees, &mut self.dice(Purpose::StoriesBotChoice))?;
                Some(vec![self.pick_entry(game, bot, card)])
            }
        }
    }

    fn tell_as_bot(self, sees: &SeatView<'_>) -> Option<Vec<Entry>> {
        let mut dice = self.dice(Purpose::StoriesBotStory);
        let (card, sentence) = mind::tell(sees, self.state.bots.difficulty, &mut dice)?;
        Some(vec![Entry::CardChosen { card, tell_by: None }, Entry::StoryTold { sentence: sentence.into() }])
    }
}

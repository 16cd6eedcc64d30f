//! What an action leads to: the entries to be written, or why it is refused. Nothing changes here.
//!
//! Every decision checks in the same order: who may do it, when, and with what.

use super::action::Action;
use super::bots::{self, BEGIN_DELAY, Delay, PICK_DELAY, TELL_DELAY, VOTE_DELAY};
use super::entry::{Entry, PlayerResult, VotingStart};
use super::game::{Game, Player, TransitionReason};
use super::people::{Newcomer, Person};
use super::phase::{Phase, PhaseEvent};
use super::refusal::Refusal;
use super::state::TableState;
use crate::ids::PlayerId;
use crate::limits::{
    CHAT_CHARS_MAX, STORY_CHANGES_MAX, STORY_CHARS_MAX, STORY_COUNTDOWN_MAX, STORY_INVITED_MAX, STORY_LEAVES_FREE,
    STORY_SEAT_MIN, STORY_TIMEOUT_MIN,
};
use crate::time::UnixMs;
use rules::chance::{Chance, Purpose};
use rules::stories::{self, Ballot, Card, CardSet};
use std::time::Duration;

/// What a decision looks at: the table, the time, and who is here.
#[derive(Clone, Copy)]
pub(super) struct DecisionContext<'a> {
    pub(super) state: &'a TableState,
    pub(super) now: UnixMs,
    pub(super) is_present: &'a dyn Fn(PlayerId) -> bool,
}

type Decided = Result<Vec<Entry>, Refusal>;

const OPEN: &[Phase] = &[Phase::Create, Phase::Invitation];
const CREATE: &[Phase] = &[Phase::Create];
const INVITATION: &[Phase] = &[Phase::Invitation];
const VOTE: &[Phase] = &[Phase::Vote];
const TIMED: &[Phase] = &[Phase::Invitation, Phase::Vote];
const LIVE: &[Phase] = &[Phase::Create, Phase::Invitation, Phase::Vote];

impl<'a> DecisionContext<'a> {
    pub(super) fn decide(self, actor: PlayerId, action: &Action) -> Decided {
        match action {
            Action::Join(newcomer) => self.join(actor, newcomer),
            Action::Leave => self.leave(actor),
            Action::ChooseCard(card) => self.choose_card(actor, *card),
            Action::TellStory(sentence) => self.tell_story(actor, sentence),
            Action::Invite(players) => self.invite(actor, players),
            Action::Pick(card) => self.pick(actor, *card),
            Action::OpenVoting => self.open_voting_requested(actor),
            Action::Vote(card) => self.vote(actor, *card),
            Action::Complete => self.complete_requested(actor),
            Action::SetCountdown(takes) => self.set_countdown(actor, *takes),
            Action::Chat(text) => self.chat(actor, text),
            Action::SetBots(are_on) => self.set_bots(actor, *are_on),
            Action::Close => Ok(self.state.live().map_or_else(Vec::new, |_| self.cancel(TransitionReason::Closed))),
            Action::NextGame(newcomer) => self.next_game(actor, newcomer),
        }
    }

    fn join(self, actor: PlayerId, newcomer: &Newcomer) -> Decided {
        let game = self.in_phase(OPEN)?;
        if game.player(actor).is_some() {
            return Err(Refusal::AlreadyJoined);
        }
        let players_max = self.state.settings.rules.players_max;
        if !game.has_room(&self.state.settings.rules) {
            return Err(Refusal::TableFull { players_max });
        }
        let who = Box::new(Newcomer { id: actor, ..newcomer.clone() });
        let hand = self.hand_for(&who, game);
        Ok(vec![Entry::Joined { who, hand, bot_due: None }])
    }

    /// A bot sits down, and will pick after a while.
    pub(super) fn join_bot(self, game: &Game) -> Option<Entry> {
        let who = Box::new(bots::newcomer(bots::free_bot(game)?)?);
        let hand = self.hand_for(&who, game);
        let bot_due = self.now.plus(PICK_DELAY.draw(&mut self.dice(Purpose::StoriesBotDelay)));
        Some(Entry::Joined { who, hand, bot_due: Some(bot_due) })
    }

    /// A player who joins takes over an abandoned hand as it is, the player's own one first; only when there is none a
    /// new one is dealt. So no more hands are ever dealt than players sat there at once, the deck has one for every
    /// seat, and joining and leaving again reveals nothing new.
    fn hand_for(self, who: &Newcomer, game: &Game) -> CardSet {
        game.abandoned_hand_for(who.id).unwrap_or_else(|| self.deal(who, game.dealt_cards()))
    }

    fn deal(self, who: &Newcomer, dealt: CardSet) -> CardSet {
        stories::deal(&self.state.settings.rules, who.standing.earned, dealt, &mut self.dice(Purpose::StoriesDeal))
    }

    /// A storyteller who goes before the vote ends the game; during the vote, everything that is on the table stays.
    fn leave(self, actor: PlayerId) -> Decided {
        if !self.state.people.is_member(actor) {
            return Err(Refusal::NotAMember);
        }
        let Some(game) = self.state.live() else { return Ok(self.leave_between_games(actor)) };
        let ends = game.storyteller() == Some(actor) && game.phase.transition(PhaseEvent::StorytellerLeft).is_some();
        if ends {
            let left = Entry::Canceled { because: TransitionReason::StorytellerLeft };
            return Ok(self.end_with(left, &[], Some(actor)));
        }
        self.check_leave_allowed(actor, game)?;
        let taken_back = game.player(actor).filter(|_| game.phase.is_open()).and_then(|player| player.picked);
        let picks = game.picks() - u8::from(taken_back.is_some());
        let stays_ready = picks >= self.state.settings.rules.picked_min;
        Ok(vec![Entry::Left { player: actor, countdown: game.countdown.filter(|_| stays_ready) }])
    }

    /// One person may appear as a new guest at any moment: what is bounded is how often seats change hands.
    fn check_leave_allowed(self, actor: PlayerId, game: &Game) -> Result<(), Refusal> {
        let seated =
            game.player(actor).filter(|_| game.phase.is_open() && game.abandoned_hands().count >= STORY_LEAVES_FREE);
        let until = seated.map(|player| player.joined_at.plus(STORY_SEAT_MIN));
        until.filter(|until| *until > self.now).map_or(Ok(()), |until| Err(Refusal::LeaveTooSoon { until }))
    }

    fn leave_between_games(self, actor: PlayerId) -> Vec<Entry> {
        let left = Entry::Left { player: actor, countdown: None };
        let named = (self.state.next_storyteller().storyteller == Some(actor)).then(|| {
            let passed: Vec<_> = self.state.next_storyteller().passed.iter().copied().chain([actor]).collect();
            self.name_storyteller(self.next_storyteller_candidate(&passed, Some(actor)))
        });
        [left].into_iter().chain(named).collect()
    }

    fn choose_card(self, actor: PlayerId, card: Card) -> Decided {
        let game = self.as_storyteller(actor, CREATE)?;
        let storyteller = &game.players[0];
        if !storyteller.hand.contains(card) {
            return Err(Refusal::NotInHand);
        }
        if storyteller.picked == Some(card) {
            return Ok(Vec::new());
        }
        check_changes_left(storyteller, storyteller.picked.is_some())?;
        let tell_by = game.tell_by.map(|_| self.step_due(actor, TELL_DELAY));
        Ok(vec![Entry::CardChosen { card, tell_by }])
    }

    fn tell_story(self, actor: PlayerId, sentence: &str) -> Decided {
        let game = self.as_storyteller(actor, CREATE)?;
        if game.winner_card().is_none() {
            return Err(Refusal::CardNotSet);
        }
        let sentence = normalize_text("sentence", sentence, STORY_CHARS_MAX)?;
        Ok(vec![Entry::StoryTold { sentence }])
    }

    fn invite(self, actor: PlayerId, players: &[PlayerId]) -> Decided {
        let game = self.as_storyteller(actor, OPEN)?;
        let too_many = Refusal::TooManyInvited { max: STORY_INVITED_MAX };
        if players.len() > STORY_INVITED_MAX {
            return Err(too_many);
        }
        let mut new: Vec<PlayerId> = Vec::new();
        for player in players {
            if game.player(*player).is_none() && !game.invited.contains(player) && !new.contains(player) {
                new.push(*player);
            }
        }
        match (new.len(), game.invited.len() + new.len()) {
            (0, _) => Ok(Vec::new()),
            (_, all) if all > STORY_INVITED_MAX => Err(too_many),
            _ => check_changes_left(&game.players[0], true).map(|()| vec![Entry::Invited { players: new }]),
        }
    }

    fn pick(self, actor: PlayerId, card: Card) -> Decided {
        let (game, player) = self.as_player(actor, INVITATION, Refusal::StorytellerMayNotPick)?;
        if !player.hand.contains(card) {
            return Err(Refusal::NotInHand);
        }
        if player.picked == Some(card) {
            return Ok(Vec::new());
        }
        check_changes_left(player, player.picked.is_some())?;
        Ok(vec![self.pick_entry(game, player, card)])
    }

    /// A player picks; with the last pick that is needed the countdown starts.
    pub(super) fn pick_entry(self, game: &Game, player: &Player, card: Card) -> Entry {
        let picks = game.picks() + u8::from(player.picked.is_none());
        let is_ready = picks >= self.state.settings.rules.picked_min;
        Entry::Picked { player: player.id, card, countdown: self.countdown(game, is_ready) }
    }

    fn vote(self, actor: PlayerId, card: Card) -> Decided {
        let (game, player) = self.as_player(actor, VOTE, Refusal::StorytellerMayNotVote)?;
        if !game.board.contains(&card) {
            return Err(Refusal::NotOnBoard);
        }
        if player.picked == Some(card) {
            return Err(Refusal::OwnCard);
        }
        if player.vote == Some(card) {
            return Ok(Vec::new());
        }
        check_changes_left(player, player.vote.is_some())?;
        Ok(vec![self.vote_entry(game, player, card)])
    }

    /// A player votes; with the last vote that is needed the countdown starts.
    pub(super) fn vote_entry(self, game: &Game, player: &Player, card: Card) -> Entry {
        let votes = game.votes() + u8::from(player.vote.is_none());
        let is_ready = votes >= self.state.settings.rules.voted_min;
        Entry::Voted { player: player.id, card, countdown: self.countdown(game, is_ready) }
    }

    /// The countdown that runs, or the one that starts now because the game has become ready.
    fn countdown(self, game: &Game, is_ready: bool) -> Option<UnixMs> {
        let takes = game.countdown_chosen.unwrap_or(self.state.settings.countdown);
        is_ready.then(|| game.countdown.unwrap_or(self.now.plus(takes)))
    }

    fn open_voting_requested(self, actor: PlayerId) -> Decided {
        let game = self.as_storyteller(actor, INVITATION)?;
        let (have, need) = (game.picks(), self.state.settings.rules.picked_min);
        if have < need {
            return Err(Refusal::TooFewPicks { have, need });
        }
        Ok(vec![self.open_voting(game, TransitionReason::Storyteller)])
    }

    /// The picked cards are laid out. Who has not picked is out of the game.
    pub(super) fn open_voting(self, game: &Game, because: TransitionReason) -> Entry {
        let picked: CardSet = game.players.iter().filter_map(|player| player.picked).collect();
        let (stay, out): (Vec<&Player>, Vec<&Player>) = game.players.iter().partition(|player| player.picked.is_some());
        let mut dice = self.dice(Purpose::StoriesBotDelay);
        let bots = stay.iter().skip(1).filter(|player| bots::is_bot(player.id));
        let opening = VotingStart {
            board: stories::board(picked, &mut self.dice(Purpose::StoriesBoard)),
            removed: out.iter().map(|player| player.id).collect(),
            bots_due: bots.map(|_| self.now.plus(VOTE_DELAY.draw(&mut dice))).collect(),
            because,
        };
        Entry::VotingOpened { opening: Box::new(opening) }
    }

    fn complete_requested(self, actor: PlayerId) -> Decided {
        let game = self.as_storyteller(actor, VOTE)?;
        let (have, need) = (game.votes(), self.state.settings.rules.voted_min);
        if have < need {
            return Err(Refusal::TooFewVotes { have, need });
        }
        Ok(self.complete(game, TransitionReason::Storyteller))
    }

    /// The votes are counted, and the next storyteller is named.
    pub(super) fn complete(self, game: &Game, because: TransitionReason) -> Vec<Entry> {
        let Some(winner) = game.winner_card() else { return self.cancel(because) };
        let ballots: Vec<Ballot> = game.players.iter().skip(1).map(ballot).collect();
        let scored = stories::score(winner, &ballots);
        let points = [scored.storyteller].into_iter().chain(scored.players);
        let results = game.players.iter().zip(points).map(|(player, got)| PlayerResult {
            player: player.id,
            picked: player.picked,
            vote: player.vote,
            points: got.points,
            has_won: got.has_won,
        });
        self.end_with(Entry::Completed { results: results.collect(), because }, &[], None)
    }

    /// The game ends without a result, and the next storyteller is named.
    pub(super) fn cancel(self, because: TransitionReason) -> Vec<Entry> {
        let late =
            self.state.live().and_then(Game::storyteller).filter(|_| because == TransitionReason::StorytellerLate);
        self.end_with(Entry::Canceled { because }, late.as_slice(), None)
    }

    fn end_with(self, end: Entry, passed: &[PlayerId], leaver: Option<PlayerId>) -> Vec<Entry> {
        let next = self.next_storyteller_candidate(passed, leaver);
        let named = next.map(|next| self.name_storyteller(Some(next)));
        [end].into_iter().chain(named).collect()
    }

    fn set_countdown(self, actor: PlayerId, takes: Duration) -> Decided {
        let game = self.as_storyteller(actor, TIMED)?;
        let allowed = STORY_TIMEOUT_MIN..=STORY_COUNTDOWN_MAX;
        if !takes.is_zero() && !allowed.contains(&takes) {
            let ms = |span: &Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
            return Err(Refusal::Countdown { min_ms: ms(allowed.start()), max_ms: ms(allowed.end()) });
        }
        let chosen = (!takes.is_zero()).then(|| Duration::from_millis(takes.as_millis() as u64));
        if game.countdown.is_none() && game.countdown_chosen == chosen {
            return Ok(Vec::new());
        }
        check_changes_left(&game.players[0], true)?;
        let takes = chosen.unwrap_or(self.state.settings.countdown);
        let countdown = game.countdown.map(|_| self.now.plus(takes));
        Ok(vec![Entry::CountdownSet { chosen, countdown }])
    }

    fn chat(self, actor: PlayerId, text: &str) -> Decided {
        let Some(person) = self.state.people.get(actor).filter(|person| person.is_member) else {
            return Err(Refusal::NotAMember);
        };
        let text = normalize_text("text", text, CHAT_CHARS_MAX)?;
        match person.chat_wait_until(self.now) {
            Some(until) => Err(Refusal::ChatTooFast { until }),
            None => Ok(vec![Entry::ChatSent { player: actor, text }]),
        }
    }

    fn set_bots(self, actor: PlayerId, are_on: bool) -> Decided {
        let game = self.as_storyteller(actor, LIVE)?;
        if self.state.bots.are_on == are_on {
            return Ok(Vec::new());
        }
        check_changes_left(&game.players[0], true)?;
        Ok(vec![Entry::BotsSet { are_on }])
    }

    fn next_game(self, actor: PlayerId, newcomer: &Newcomer) -> Decided {
        if let Some(game) = self.state.live() {
            return Err(Refusal::GameIsLive { game: game.number });
        }
        let next = self.state.next_storyteller();
        if let Some(named) = next.storyteller.filter(|named| *named != actor) {
            return Err(Refusal::NotYourTurn { next: named, until: next.until });
        }
        Ok(vec![self.start(&Newcomer { id: actor, ..newcomer.clone() })])
    }

    /// A game begins. The first storyteller has no time limit; for a later one others wait.
    pub(super) fn start(self, storyteller: &Newcomer) -> Entry {
        let played = |id: PlayerId| self.state.game.as_ref().is_some_and(|game| game.player(id).is_some());
        let stays = |id: PlayerId| id == storyteller.id || (played(id) && !bots::is_bot(id));
        Entry::Started {
            hand: self.deal(storyteller, CardSet::EMPTY),
            storyteller: Box::new(storyteller.clone()),
            unseated: self.state.people.members().map(|person| person.id).filter(|id| !stays(*id)).collect(),
            tell_by: (self.state.game_number() > 0).then(|| self.step_due(storyteller.id, TELL_DELAY)),
        }
    }

    /// The next storyteller: of those who are here and played, the one whose last turn as storyteller is longest ago, people
    /// first; none of `passed`, and not `leaver`. Bots are here as long as they may play and a person is.
    pub(super) fn next_storyteller_candidate(self, passed: &[PlayerId], leaver: Option<PlayerId>) -> Option<PlayerId> {
        let may_bots_tell = self.state.bots.are_on && self.has_person_here(leaver);
        let candidates = self.members_who_played(leaver).filter(|person| !passed.contains(&person.id));
        let here = candidates.filter(|who| if who.is_bot() { may_bots_tell } else { (self.is_present)(who.id) });
        here.min_by_key(|person| (person.last_told_game, person.is_bot())).map(|person| person.id)
    }

    /// Whether a person is here who played: bots begin no game for anyone else, so they never play two without people.
    pub(super) fn has_person_here(self, leaver: Option<PlayerId>) -> bool {
        self.members_who_played(leaver).any(|person| !person.is_bot() && (self.is_present)(person.id))
    }

    fn members_who_played(self, leaver: Option<PlayerId>) -> impl Iterator<Item = &'a Person> {
        let game = self.state.game.as_deref();
        let members = self.state.people.members().filter(move |person| Some(person.id) != leaver);
        members.filter(move |person| game.is_some_and(|game| game.player(person.id).is_some()))
    }

    pub(super) fn name_storyteller(self, next: Option<PlayerId>) -> Entry {
        Entry::NextStorytellerNamed { next, until: next.map(|next| self.step_due(next, BEGIN_DELAY)) }
    }

    /// By when a person must take the next step towards a story; for a bot, when it does.
    fn step_due(self, who: PlayerId, bot_delay: Delay) -> UnixMs {
        let timeout = self.state.settings.next_storyteller_timeout;
        let takes = match bots::is_bot(who) {
            true => bot_delay.draw(&mut self.dice(Purpose::StoriesBotDelay)).min(timeout),
            false => timeout,
        };
        self.now.plus(takes)
    }

    /// The stream of chance for what the next entry needs: none is ever used twice, because no version comes twice.
    pub(super) fn dice(self, purpose: Purpose) -> Chance {
        Chance::new(self.state.seed, self.state.version, purpose)
    }

    /// The current game, if it is in one of these phases.
    fn in_phase(self, allowed: &'static [Phase]) -> Result<&'a Game, Refusal> {
        let game = self.state.game.as_deref().ok_or(Refusal::GameNotLive { game: 0 })?;
        if allowed.contains(&game.phase) { Ok(game) } else { Err(Refusal::WrongPhase { phase: game.phase, allowed }) }
    }

    /// The same, for its storyteller.
    fn as_storyteller(self, actor: PlayerId, allowed: &'static [Phase]) -> Result<&'a Game, Refusal> {
        let game = self.state.game.as_deref().ok_or(Refusal::GameNotLive { game: 0 })?;
        if game.present_storyteller() != Some(actor) {
            return Err(Refusal::NotStoryteller);
        }
        self.in_phase(allowed)
    }

    /// The same, for a player who is not its storyteller.
    fn as_player(
        self,
        actor: PlayerId,
        allowed: &'static [Phase],
        storyteller: Refusal,
    ) -> Result<(&'a Game, &'a Player), Refusal> {
        let game = self.state.game.as_deref().ok_or(Refusal::GameNotLive { game: 0 })?;
        let player = game.player(actor).ok_or(Refusal::NotAPlayer)?;
        if game.storyteller() == Some(actor) {
            return Err(storyteller);
        }
        self.in_phase(allowed).map(|game| (game, player))
    }
}

/// The first action of each kind is no change, and always allowed.
fn check_changes_left(player: &Player, is_again: bool) -> Result<(), Refusal> {
    let is_refused = is_again && player.changes >= STORY_CHANGES_MAX;
    if is_refused { Err(Refusal::TooManyChanges { max: STORY_CHANGES_MAX }) } else { Ok(()) }
}

fn ballot(player: &Player) -> Ballot {
    Ballot { picked: player.picked, vote: player.vote }
}

/// A text as it is kept: control characters become spaces, none at the ends.
fn normalize_text(what: &'static str, text: &str, max: usize) -> Result<Box<str>, Refusal> {
    let text: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    let text = text.trim();
    match text.chars().count() {
        0 => Err(Refusal::Empty { what }),
        chars if chars > max => Err(Refusal::TooLong { what, chars, max }),
        _ => Ok(text.into()),
    }
}

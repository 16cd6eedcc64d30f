//! The state of a table after some entries of its log, and how one more entry changes it. It makes no decisions.

use super::bots::{self, ADVANCE_DELAY, BotSettings};
use super::entry::{Entry, LoggedEntry, PlayerResult, VotingStart};
use super::game::{AbandonedHand, Game, Player, TransitionReason};
use super::history;
use super::people::{Newcomer, People};
use super::phase::Phase;
use super::settings::TableSettings;
use crate::ids::{GameId, PlayerId, TableId};
use crate::limits::{CHAT_LINES_MAX, CHAT_RETENTION};
use crate::pack::{packed, packed_variants};
use crate::time::UnixMs;
use rules::chance::Seed;
use rules::stories::CardSet;

/// Who may begin the next game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NextStoryteller {
    /// `None`: any player.
    pub(super) storyteller: Option<PlayerId>,
    pub(super) until: Option<UnixMs>,
    /// Who was named for this game before, and did not begin.
    pub(super) passed: Vec<PlayerId>,
}
packed!(NextStoryteller { storyteller, until, passed });

static ANYBODY_NEXT: NextStoryteller = NextStoryteller { storyteller: None, until: None, passed: Vec::new() };

/// What a line of the chat is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChatMessageKind {
    /// Written by a player.
    Chat,
    /// Written by the server when a story was told: the text is its sentence.
    StoryTold,
}
packed_variants!(ChatMessageKind { 0 => Chat {}, 1 => StoryTold {} });

/// A line of the chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessage {
    pub at: UnixMs,
    /// During, or after, which game.
    pub game: u32,
    /// The author, or the storyteller.
    pub player: PlayerId,
    pub kind: ChatMessageKind,
    /// As it was written: the reader has to escape it.
    pub text: Box<str>,
}
packed!(ChatMessage { at, game, player, kind, text });

/// Everything that a table is, but what it remembers for readers (see `feed`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableState {
    pub(super) id: TableId,
    /// Who opened it.
    pub(super) opener: PlayerId,
    pub(super) seed: Seed,
    pub(super) settings: TableSettings,
    /// Entries so far.
    pub(super) version: u32,
    /// Public events so far.
    pub(super) public_events: u32,
    /// When the last entry was written: later ones are never earlier.
    pub(super) last_at: UnixMs,
    pub(super) people: People,
    pub(super) game: Option<Box<Game>>,
    pub(super) next_storyteller: Option<Box<NextStoryteller>>,
    pub(super) bots: BotSettings,
    pub(super) chat: Vec<ChatMessage>,
}
packed!(TableState {
    id,
    opener,
    seed,
    settings,
    version,
    public_events,
    last_at,
    people,
    game,
    next_storyteller,
    bots,
    chat
});

/// What an entry is refused for that cannot follow on this state.
type Mismatch = &'static str;

const NO_GAME: Mismatch = "it is part of a game, and there is none";
const NO_PLAYER: Mismatch = "it is about a player who does not play";

impl TableState {
    pub(super) fn new(id: TableId, opener: PlayerId, settings: TableSettings, seed: Seed, bots: BotSettings) -> Self {
        Self {
            id,
            opener,
            seed,
            settings,
            version: 0,
            public_events: 0,
            last_at: UnixMs(0),
            people: People::default(),
            game: None,
            next_storyteller: None,
            bots,
            chat: Vec::new(),
        }
    }

    /// The game that is played.
    pub(super) fn live(&self) -> Option<&Game> {
        self.game.as_deref().filter(|game| game.phase.is_live())
    }

    /// Who may begin the next game.
    pub(super) fn next_storyteller(&self) -> &NextStoryteller {
        self.next_storyteller.as_deref().unwrap_or(&ANYBODY_NEXT)
    }

    /// The number of the game that is played, or of the last one; 0 before the first.
    pub(super) fn game_number(&self) -> u32 {
        self.game.as_ref().map_or(0, |game| game.number)
    }

    pub(super) fn game_id(&self) -> GameId {
        GameId { table: self.id, number: self.game_number() }
    }

    /// The seed of what a game brings the player of this seat, should the entry of this version count its votes.
    pub(super) fn award_seed(&self, version: u32, seat: usize) -> Seed {
        Seed(self.seed.0 ^ (u64::from(version) << 8 | seat as u64))
    }

    /// The state after one more entry.
    ///
    /// # Errors
    /// When it cannot follow on this state; the state must not be used any more then.
    pub(super) fn apply(&mut self, logged: &LoggedEntry) -> Result<(), Mismatch> {
        let LoggedEntry { at, entry } = logged;
        self.last_at = *at;
        let is_progress = self.is_progress(entry);
        match entry {
            Entry::Started { storyteller, hand, unseated, tell_by } => {
                self.start(storyteller, *hand, unseated, *tell_by, *at);
            }
            Entry::Joined { who, hand, bot_due } => self.join(who, *hand, *bot_due, *at)?,
            Entry::Left { player, countdown } => self.leave(*player, *countdown),
            Entry::ChatSent { player, text } => self.add_chat(*player, text, *at),
            Entry::NextStorytellerNamed { next, until } => self.name_storyteller(*next, *until),
            Entry::Completed { results, because } => self.complete(results, *because, *at)?,
            Entry::Canceled { because } => self.cancel(*because, *at)?,
            Entry::StoryTold { sentence } => self.tell_story(sentence, *at)?,
            Entry::BotsSet { are_on } => {
                self.bots.are_on = *are_on;
                let game = self.game_mut()?;
                game.bots_since = *at;
                game.players.first_mut().ok_or(NO_PLAYER)?.count_change(true);
            }
            Entry::CardChosen { .. }
            | Entry::Invited { .. }
            | Entry::Picked { .. }
            | Entry::CountdownSet { .. }
            | Entry::VotingOpened { .. }
            | Entry::Voted { .. } => apply_to_game(self.game_mut()?, entry)?,
        }
        if entry.belongs_to_game() {
            self.schedule_bot_storyteller(*at);
        }
        self.record_in_history(logged, is_progress);
        self.version += 1;
        Ok(())
    }

    fn game_mut(&mut self) -> Result<&mut Game, Mismatch> {
        self.game.as_deref_mut().ok_or(NO_GAME)
    }

    fn start(&mut self, who: &Newcomer, hand: CardSet, unseated: &[PlayerId], tell_by: Option<UnixMs>, at: UnixMs) {
        let number = self.game_number() + 1;
        for id in unseated {
            self.people.leave(*id);
        }
        self.people.seat(who);
        if let Some(person) = self.people.get_mut(who.id) {
            person.last_told_game = number;
        }
        self.next_storyteller = None;
        // A bot is never late: what limits a person is when it tells.
        let (bot_due, tell_by) = if bots::is_bot(who.id) { (tell_by, None) } else { (None, tell_by) };
        self.game = Some(Box::new(Game {
            number,
            players: vec![Player { bot_due, ..Player::new(who.id, hand, at) }],
            inactive_at: at,
            tell_by,
            bots_since: at,
            created_at: at,
            ..Game::default()
        }));
    }

    fn join(&mut self, who: &Newcomer, hand: CardSet, bot_due: Option<UnixMs>, at: UnixMs) -> Result<(), Mismatch> {
        let game = self.game.as_deref_mut().ok_or(NO_GAME)?;
        self.people.seat(who);
        game.invited.retain(|id| *id != who.id);
        let taken = game.abandoned.as_deref_mut().and_then(|left| left.take(hand));
        let is_used = taken.is_some_and(|taken| taken.is_used);
        game.players.reserve_exact(1);
        game.players.push(Player { bot_due, is_used, ..Player::new(who.id, hand, at) });
        if bot_due.is_some() {
            game.bots_since = at;
        }
        Ok(())
    }

    /// A bot that tells goes on a moment after all have done their part. Until then the countdown limits those who let it wait.
    fn schedule_bot_storyteller(&mut self, at: UnixMs) {
        let Some(game) = self.live().filter(|game| game.phase != Phase::Create) else { return };
        if !game.storyteller().is_some_and(bots::is_bot) {
            return;
        }
        let due = self.all_have_acted(game).then(|| at.plus(ADVANCE_DELAY));
        if let Some(storyteller) = self.game.as_deref_mut().and_then(|game| game.players.first_mut()) {
            storyteller.bot_due = due;
        }
    }

    /// Whether the game could proceed and no player is left who may still pick, or vote: neither at the table, nor a bot to come.
    fn all_have_acted(&self, game: &Game) -> bool {
        let mut others = game.players.iter().skip(1).filter(|player| !player.has_left);
        let is_done = match game.phase {
            Phase::Vote => others.all(|player| player.vote.is_some()),
            _ => {
                let is_complete = self.awaited_members(game) == 0 && self.bot_joins_at(game).is_none();
                is_complete && others.all(|player| player.picked.is_some())
            }
        };
        is_done && game.is_ready(&self.settings.rules)
    }

    /// People who sit at the table and have not joined its game.
    pub(super) fn awaited_members(&self, game: &Game) -> usize {
        self.people.members().filter(|person| !person.is_bot() && game.player(person.id).is_none()).count()
    }

    fn leave(&mut self, player: PlayerId, countdown: Option<UnixMs>) {
        self.people.leave(player);
        let Some(game) = self.game.as_deref_mut().filter(|game| game.phase.is_live()) else { return };
        if game.phase.is_open() {
            if let Some(seat) = game.players.iter().position(|seat| seat.id == player) {
                let Player { id: by, hand, is_used, .. } = game.players.remove(seat);
                game.abandoned.get_or_insert_default().add(AbandonedHand { left_by: by, hand, is_used });
            }
        } else if let Some(seat) = game.player_mut(player) {
            seat.has_left = true;
        }
        game.countdown = countdown;
    }

    fn tell_story(&mut self, sentence: &str, at: UnixMs) -> Result<(), Mismatch> {
        let game = self.game.as_deref_mut().ok_or(NO_GAME)?;
        game.phase = Phase::Invitation;
        game.sentence = Some(sentence.into());
        game.tell_by = None;
        game.bots_since = at;
        let player = game.storyteller().ok_or(NO_PLAYER)?;
        let line =
            ChatMessage { at, game: game.number, player, kind: ChatMessageKind::StoryTold, text: sentence.into() };
        self.push_chat(line);
        Ok(())
    }

    fn add_chat(&mut self, player: PlayerId, text: &str, at: UnixMs) {
        if let Some(person) = self.people.get_mut(player) {
            person.record_chat(at);
        }
        self.push_chat(ChatMessage {
            at,
            game: self.game_number(),
            player,
            kind: ChatMessageKind::Chat,
            text: text.into(),
        });
    }

    fn push_chat(&mut self, line: ChatMessage) {
        let since = line.at.minus(CHAT_RETENTION);
        self.chat.retain(|line| line.at >= since);
        if self.chat.len() >= CHAT_LINES_MAX {
            self.chat.remove(0);
        }
        self.chat.push(line);
    }

    fn name_storyteller(&mut self, next: Option<PlayerId>, until: Option<UnixMs>) {
        let named = self.next_storyteller.get_or_insert_default();
        named.passed.extend(named.storyteller.take());
        named.storyteller = next;
        named.until = until;
    }

    fn complete(&mut self, results: &[PlayerResult], because: TransitionReason, at: UnixMs) -> Result<(), Mismatch> {
        let version = self.version;
        let game = self.game.as_deref().ok_or(NO_GAME)?;
        if !game.players.iter().map(|player| player.id).eq(results.iter().map(|result| result.player)) {
            return Err("it counts other players than play");
        }
        let awards: Vec<_> = (results.iter().enumerate())
            .filter_map(|(seat, result)| Some((result.player, result.points?, self.award_seed(version, seat))))
            .collect();
        for (player, points, seed) in awards {
            if let Some(person) = self.people.get_mut(player) {
                person.standing = person.standing.award(points, seed);
            }
        }
        let game = self.game_mut()?;
        for (player, result) in game.players.iter_mut().zip(results) {
            player.points = result.points;
            player.has_won = result.has_won;
        }
        self.end(Phase::Complete, because, at)
    }

    fn cancel(&mut self, because: TransitionReason, at: UnixMs) -> Result<(), Mismatch> {
        let game = self.game_mut()?;
        game.canceled_in = Some(game.phase);
        let storyteller = game.storyteller();
        self.end(Phase::Canceled, because, at)?;
        match (because, storyteller) {
            (TransitionReason::StorytellerLeft, Some(id)) => self.people.leave(id),
            (TransitionReason::StorytellerLate, Some(id)) => {
                self.next_storyteller.get_or_insert_default().passed.push(id);
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, phase: Phase, because: TransitionReason, at: UnixMs) -> Result<(), Mismatch> {
        self.next_storyteller = None;
        let game = self.game_mut()?;
        game.phase = phase;
        game.because = Some(because);
        game.ended_at = Some(at);
        game.countdown = None;
        game.tell_by = None;
        game.invited = Vec::new();
        game.abandoned = None;
        for player in &mut game.players {
            player.bot_due = None;
        }
        Ok(())
    }

    /// Whether an entry that is about to be applied is progress in a game, and so keeps it from timing out. None of it
    /// can be repeated for ever: a hand is dealt once and first picked from once, and the storyteller's changes are
    /// bounded.
    fn is_progress(&self, entry: &Entry) -> bool {
        let Some(game) = self.live() else { return true };
        match entry {
            // Only the storyteller may know of an invitation, and the end of a game is visible to all.
            Entry::Left { .. } | Entry::Invited { .. } => false,
            Entry::Joined { hand, .. } => !game.abandoned_hands().hands.iter().any(|left| left.hand == *hand),
            Entry::Picked { player, .. } => game.player(*player).is_some_and(|player| !player.is_used),
            Entry::Voted { player, .. } => game.player(*player).is_some_and(|player| player.vote.is_none()),
            _ => true,
        }
    }

    /// Progress keeps its game alive, and every action is written into its history.
    fn record_in_history(&mut self, logged: &LoggedEntry, is_progress: bool) {
        let timeout = self.settings.game_timeout;
        let Some(game) = self.game.as_deref_mut().filter(|_| logged.entry.belongs_to_game()) else { return };
        let is_live = game.phase.is_live();
        if is_live && is_progress {
            game.inactive_at = logged.at.plus(timeout);
        }
        if is_live || logged.entry.ends_game() {
            history::write(&mut game.history, logged, &game.players);
        }
    }
}

/// Entries that change nothing but the game.
fn apply_to_game(game: &mut Game, entry: &Entry) -> Result<(), Mismatch> {
    match entry {
        Entry::CardChosen { card, tell_by } => {
            let storyteller = game.players.first_mut().ok_or(NO_PLAYER)?;
            let before = storyteller.picked.replace(*card);
            storyteller.count_change(before.is_some());
            game.board = vec![*card];
            game.tell_by = *tell_by;
        }
        Entry::Invited { players } => {
            game.invited.extend(players);
            game.players.first_mut().ok_or(NO_PLAYER)?.count_change(true);
        }
        Entry::Picked { player, card, countdown } => {
            let player = game.player_mut(*player).ok_or(NO_PLAYER)?;
            let before = player.picked.replace(*card);
            player.count_change(before.is_some());
            (player.is_used, player.bot_due) = (true, None);
            game.countdown = *countdown;
        }
        Entry::CountdownSet { chosen, countdown } => {
            game.players.first_mut().ok_or(NO_PLAYER)?.count_change(true);
            game.countdown_chosen = *chosen;
            game.countdown = *countdown;
        }
        Entry::VotingOpened { opening } => open_voting(game, opening),
        Entry::Voted { player, card, countdown } => {
            let player = game.player_mut(*player).ok_or(NO_PLAYER)?;
            let before = player.vote.replace(*card);
            player.count_change(before.is_some());
            player.bot_due = None;
            game.countdown = *countdown;
        }
        _ => return Err("it is not about a game"),
    }
    Ok(())
}

fn open_voting(game: &mut Game, opening: &VotingStart) {
    game.phase = Phase::Vote;
    game.board = opening.board.clone();
    game.players.retain(|player| !opening.removed.contains(&player.id));
    game.invited = Vec::new();
    game.abandoned = None;
    game.countdown = None;
    game.countdown_chosen = None;
    let bots = game.players.iter_mut().skip(1).filter(|player| bots::is_bot(player.id));
    for (bot, due) in bots.zip(&opening.bots_due) {
        bot.bot_due = Some(*due);
    }
}

//! The only source of what leaves a table: what a viewer may know of its state, and of what happened.
//!
//! | | storyteller | player | others |
//! |---|---|---|---|
//! | hands | all | own | none |
//! | the storyteller's card, picks and votes before the end | all | own; of others, that there is one | that there is
//! one |
//! | the same at the end | all | all | all |
//! | the board before the vote | own card | nothing | nothing |
//! | the board from the vote on | all | all | all |
//! | who is invited | all | nothing | nothing |
//! | points and cards of all games | own | own | none |
//! | the chat | all | all | members of the table: all |
//!
//! A game that is canceled is seen as in the phase in which it was canceled. Players who left count as others.

use super::bots::BotSettings;
use super::entry::{Entry, PlayerResult};
use super::game::{Game, Player, TransitionReason};
use super::people::{People, Person};
use super::phase::Phase;
use super::settings::TableSettings;
use super::state::{ChatMessage, TableState};
use crate::ids::{GameId, PlayerId, TableId};
use crate::time::UnixMs;
use rules::stories::{Card, CardSet, Level, Standing};
use std::time::Duration;

/// A viewer's role at a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViewerRole {
    Storyteller,
    /// Plays.
    Player,
    /// Sits at the table, and does not play in this game.
    Member,
    /// Looks on.
    Visitor,
}

/// What a viewer may know of a chosen card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardView {
    /// None is chosen.
    Nothing,
    Hidden,
    Card(Card),
}

impl CardView {
    fn new(card: Option<Card>, is_known: bool) -> Self {
        match card {
            None => Self::Nothing,
            Some(card) if is_known => Self::Card(card),
            Some(_) => Self::Hidden,
        }
    }
}

/// A table, as one viewer may know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableView {
    pub id: TableId,
    /// The sequence of this viewer's last event: where the feed continues.
    pub seq: u64,
    /// What the viewer is here.
    pub role: ViewerRole,
    /// What is played with.
    pub settings: TableSettings,
    /// Who sits there, in the order in which they first came.
    pub members: Vec<MemberView>,
    /// The game that is played, or the last one.
    pub game: Option<GameView>,
    /// Who may begin the next game; `None` while a game is played, and when any player may.
    pub next_storyteller: Option<PlayerId>,
    pub next_storyteller_until: Option<UnixMs>,
    /// Whether bots sit down to the games, and how hard their stories are.
    pub bots: BotSettings,
    /// Recent chat; empty for those who are not members.
    pub chat: Vec<ChatMessage>,
}

/// A member of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberView {
    pub id: PlayerId,
    pub name: Box<str>,
    /// The score's level when the member last joined, or was last scored here.
    pub level: u32,
    /// Whether it is a built-in bot.
    pub is_bot: bool,
}

/// A game, as one viewer may know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameView {
    pub id: GameId,
    /// How far it is.
    pub phase: Phase,
    pub canceled_in: Option<Phase>,
    /// Why it ended.
    pub because: Option<TransitionReason>,
    /// What the viewer is in it: never [`ViewerRole::Member`].
    pub role: ViewerRole,
    /// Whose story it is.
    pub storyteller: Option<PlayerId>,
    /// The story.
    pub sentence: Option<Box<str>>,
    /// The storyteller's card.
    pub winner_card: CardView,
    /// All cards in hands; for the storyteller.
    pub dealt: Option<CardSet>,
    /// What lies open, in order; `None` when the viewer may not see it.
    pub board: Option<Vec<Card>>,
    /// Who was invited and has not joined yet; for the storyteller.
    pub invited: Option<Vec<PlayerId>>,
    /// Whether the game could proceed to its next phase.
    pub is_ready: bool,
    /// When it does so by itself.
    pub countdown: Option<UnixMs>,
    /// How long the countdown takes when it starts, or starts again, in this phase.
    pub countdown_takes: Duration,
    /// When it proceeds, or is canceled, if no player acts; `None` when it has ended.
    pub inactive_at: Option<UnixMs>,
    /// By when the storyteller of a next game must take the next step.
    pub tell_by: Option<UnixMs>,
    /// When it began.
    pub created_at: UnixMs,
    pub ended_at: Option<UnixMs>,
    /// How many may play.
    pub players_max: u8,
    /// The viewer's own cards, when playing.
    pub own: Option<OwnCards>,
    /// Who plays, the storyteller first, in the order in which they joined.
    pub players: Vec<PlayerView>,
}

/// A player's own cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnCards {
    /// The hand, the picked card included.
    pub hand: CardSet,
    pub picked: Option<Card>,
    pub vote: Option<Card>,
}

/// A player, as one viewer may know them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayerView {
    pub id: PlayerId,
    pub name: Box<str>,
    /// Whether it is a built-in bot.
    pub is_bot: bool,
    /// Whether the player left during the vote.
    pub has_left: bool,
    /// The hand, when the viewer may see it.
    pub hand: Option<CardSet>,
    pub picked: CardView,
    pub vote: CardView,
    /// False before the end.
    pub has_won: bool,
    /// Points from this game; `None` before the end, and for those who did not vote.
    pub points: Option<u32>,
    /// The score's level.
    pub level: u32,
    /// Points and cards over all games; for the player alone.
    pub standing: Option<Standing>,
}

/// Something that happened, as one viewer may know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A game began.
    Started {
        /// Whose story it will be.
        storyteller: PlayerId,
        name: Box<str>,
        /// Who sat at the table without having played in the last game, and is a visitor again.
        unseated: Vec<PlayerId>,
    },
    /// A player joined the game.
    Joined {
        player: PlayerId,
        name: Box<str>,
        /// Whether it is a built-in bot.
        is_bot: bool,
        /// The hand; for the player and the storyteller.
        hand: Option<CardSet>,
    },
    /// A player left the table.
    Left {
        player: PlayerId,
        /// When the running countdown ends.
        countdown: Option<UnixMs>,
    },
    /// The storyteller chose a card.
    CardChosen {
        /// Which; for the storyteller.
        card: Option<Card>,
    },
    StoryTold {
        sentence: Box<str>,
    },
    /// The storyteller invited players; only the storyteller gets this.
    Invited {
        players: Vec<PlayerId>,
    },
    /// A player picked a card.
    Picked {
        player: PlayerId,
        /// For the player and the storyteller.
        card: Option<Card>,
        /// When the running countdown ends.
        countdown: Option<UnixMs>,
    },
    /// The storyteller chose how long countdowns take.
    CountdownSet {
        /// So long; `None` for the table's own.
        takes: Option<Duration>,
        /// When the running countdown ends.
        countdown: Option<UnixMs>,
    },
    /// The vote is open.
    VotingOpened {
        /// The cards, in order.
        board: Vec<Card>,
        /// Who had not picked, and does not play any more.
        removed: Vec<PlayerId>,
        because: TransitionReason,
    },
    /// A player voted.
    Voted {
        player: PlayerId,
        /// For the player and the storyteller.
        card: Option<Card>,
        /// When the running countdown ends.
        countdown: Option<UnixMs>,
    },
    /// The votes were counted.
    Completed {
        /// The storyteller first, in the order in which they joined.
        results: Vec<PlayerResult>,
        because: TransitionReason,
    },
    /// The game ended without a result.
    Canceled {
        because: TransitionReason,
    },
    /// A line of chat; only members get this.
    ChatSent {
        player: PlayerId,
        /// The text as written: the reader has to escape it.
        text: Box<str>,
    },
    /// The storyteller let bots play, or no more of them.
    BotsSet {
        /// Whether they do.
        are_on: bool,
    },
    /// Who may begin the next game.
    NextStoryteller {
        /// `None` for any player.
        player: Option<PlayerId>,
        until: Option<UnixMs>,
    },
}

/// What a viewer may know of an entry that concerns them.
pub(super) fn visible_event(entry: &Entry, storyteller: Option<PlayerId>, viewer: Option<PlayerId>) -> EventKind {
    let is_storyteller = viewer.is_some() && viewer == storyteller;
    let knows = |player: &PlayerId| is_storyteller || viewer == Some(*player);
    match entry {
        Entry::Started { storyteller, unseated, .. } => EventKind::Started {
            storyteller: storyteller.id,
            name: storyteller.name.clone(),
            unseated: unseated.clone(),
        },
        Entry::Joined { who, hand, bot_due: _ } => EventKind::Joined {
            player: who.id,
            name: who.name.clone(),
            is_bot: super::bots::is_bot(who.id),
            hand: knows(&who.id).then_some(*hand),
        },
        Entry::Left { player, countdown } => EventKind::Left { player: *player, countdown: *countdown },
        Entry::CardChosen { card, .. } => EventKind::CardChosen { card: is_storyteller.then_some(*card) },
        Entry::StoryTold { sentence } => EventKind::StoryTold { sentence: sentence.clone() },
        Entry::Invited { players } => EventKind::Invited { players: players.clone() },
        Entry::Picked { player, card, countdown } => {
            EventKind::Picked { player: *player, card: knows(player).then_some(*card), countdown: *countdown }
        }
        Entry::CountdownSet { chosen, countdown } => EventKind::CountdownSet { takes: *chosen, countdown: *countdown },
        Entry::VotingOpened { opening } => EventKind::VotingOpened {
            board: opening.board.clone(),
            removed: opening.removed.clone(),
            because: opening.because,
        },
        Entry::Voted { player, card, countdown } => {
            EventKind::Voted { player: *player, card: knows(player).then_some(*card), countdown: *countdown }
        }
        Entry::Completed { results, because } => EventKind::Completed { results: results.clone(), because: *because },
        Entry::Canceled { because } => EventKind::Canceled { because: *because },
        Entry::ChatSent { player, text } => EventKind::ChatSent { player: *player, text: text.clone() },
        Entry::BotsSet { are_on } => EventKind::BotsSet { are_on: *are_on },
        Entry::NextStorytellerNamed { next, until } => EventKind::NextStoryteller { player: *next, until: *until },
    }
}

/// What a viewer may know of a table.
pub(super) fn table_view(state: &TableState, viewer: Option<PlayerId>, seq: u64) -> TableView {
    let is_member = viewer.is_some_and(|viewer| state.people.is_member(viewer));
    let game = state.game.as_ref().map(|game| game_view(state.game_id(), &state.settings, game, &state.people, viewer));
    let role = match game.as_ref().map(|game| game.role) {
        Some(role @ (ViewerRole::Storyteller | ViewerRole::Player)) if is_member => role,
        _ if is_member => ViewerRole::Member,
        _ => ViewerRole::Visitor,
    };
    TableView {
        id: state.id,
        seq,
        role,
        settings: state.settings,
        members: state.people.members().map(member_view).collect(),
        game,
        next_storyteller: state.next_storyteller().storyteller,
        next_storyteller_until: state.next_storyteller().until,
        bots: state.bots,
        chat: if is_member { state.chat.clone() } else { Vec::new() },
    }
}

fn member_view(person: &Person) -> MemberView {
    MemberView {
        id: person.id,
        name: person.name.clone(),
        level: Level::of(person.standing.score).level,
        is_bot: person.is_bot(),
    }
}

/// What a viewer may know of a game, live or archived.
pub(super) fn game_view(
    id: GameId,
    settings: &TableSettings,
    game: &Game,
    people: &People,
    viewer: Option<PlayerId>,
) -> GameView {
    let role = role_in(game, viewer);
    let me = viewer.and_then(|viewer| game.player(viewer));
    let is_storyteller = role == ViewerRole::Storyteller;
    let is_live = game.phase.is_live();
    GameView {
        id,
        phase: game.phase,
        canceled_in: game.canceled_in,
        because: game.because,
        role,
        storyteller: game.storyteller(),
        sentence: game.sentence.clone(),
        winner_card: CardView::new(game.winner_card(), is_storyteller || game.phase == Phase::Complete),
        dealt: is_storyteller.then(|| game.cards_in_hands()),
        board: (is_storyteller || !game.visible_phase().is_open()).then(|| game.board.clone()),
        invited: is_storyteller.then(|| game.invited.clone()),
        is_ready: game.is_ready(&settings.rules),
        countdown: game.countdown,
        countdown_takes: game.countdown_chosen.unwrap_or(settings.countdown),
        inactive_at: is_live.then_some(game.inactive_at),
        tell_by: game.tell_by,
        created_at: game.created_at,
        ended_at: game.ended_at,
        players_max: settings.rules.players_max,
        own: me.map(|me| OwnCards { hand: me.hand, picked: me.picked, vote: me.vote }),
        players: game.players.iter().map(|player| player_view(game, player, people, viewer)).collect(),
    }
}

fn role_in(game: &Game, viewer: Option<PlayerId>) -> ViewerRole {
    match viewer.and_then(|viewer| game.player(viewer)) {
        Some(me) if game.storyteller() == Some(me.id) => ViewerRole::Storyteller,
        Some(_) => ViewerRole::Player,
        None => ViewerRole::Visitor,
    }
}

fn player_view(game: &Game, player: &Player, people: &People, viewer: Option<PlayerId>) -> PlayerView {
    let is_storyteller = role_in(game, viewer) == ViewerRole::Storyteller;
    let is_me = viewer == Some(player.id) && !player.has_left;
    let is_over = game.phase == Phase::Complete;
    let person = people.get(player.id);
    PlayerView {
        id: player.id,
        name: person.map(|person| person.name.clone()).unwrap_or_default(),
        is_bot: super::bots::is_bot(player.id),
        has_left: player.has_left,
        hand: (is_storyteller || is_me).then_some(player.hand),
        picked: CardView::new(player.picked, is_storyteller || is_me || is_over),
        vote: CardView::new(player.vote, is_storyteller || is_me || is_over),
        has_won: player.has_won,
        points: player.points,
        level: person.map_or(1, |person| Level::of(person.standing.score).level),
        standing: person.filter(|_| is_me).map(|person| person.standing),
    }
}

//! Views as JSON. The engine has removed what the viewer may not see; nothing is hidden here, and nothing hidden is known here.

use engine::ids::{GameId, PlayerId, TableId};
use engine::tables::{
    BotSettings, CardView, ChatMessage, ChatMessageKind, GameView, MemberView, PlayerView, Standing, TableSettings,
    TableView, ViewerRole,
};
use engine::time::UnixMs;
use rules::stories::{Card, CardSet, Level};
use std::time::Duration;
use wire::api::{
    StoryChatMessage, StoryGame, StoryMember, StoryNext, StoryOwn, StoryPresence, StorySeat, StorySettings,
    StoryStanding, StoryState,
};
use wire::time::Timestamp;

/// A table as one viewer sees it, with the players present, and when the change that this responds to was saved.
pub(crate) fn state(view: &TableView, online: &[PlayerId], committed_at_us: Option<i64>) -> StoryState {
    StoryState {
        table: view.id.to_string(),
        seq: Some(view.seq),
        committed_at_us,
        game: view.game.as_ref().map(game),
        role: role(view.role),
        members: view.members.iter().map(member).collect(),
        next_storyteller: view
            .next_storyteller
            .map(|player| StoryNext { player: player.to_string(), until: timestamp(view.next_storyteller_until) }),
        bots: view.bots.are_on,
        chat: view.chat.iter().map(|message| chat_message(view.id, message)).collect(),
        settings: Some(settings(&view.settings, view.bots)),
        presence: presence(online),
    }
}

/// A game whose table has a newer one.
pub(super) fn past_game(id: GameId, view: &GameView) -> StoryState {
    StoryState { table: id.table.to_string(), game: Some(game(view)), role: role(view.role), ..StoryState::default() }
}

/// The players present at a table.
pub(crate) fn presence(online: &[PlayerId]) -> StoryPresence {
    StoryPresence { online: online.iter().map(PlayerId::to_string).collect() }
}

pub(super) fn timestamp(at: Option<UnixMs>) -> Option<Timestamp> {
    at.map(|at| Timestamp(at.0))
}

pub(super) fn ms(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn card_numbers(cards: &[Card]) -> Vec<u8> {
    cards.iter().map(|card| card.0).collect()
}

fn role(viewer_role: ViewerRole) -> String {
    let name = match viewer_role {
        ViewerRole::Storyteller => "storyteller",
        ViewerRole::Player => "player",
        ViewerRole::Member => "member",
        ViewerRole::Visitor => "visitor",
    };
    name.to_owned()
}

fn member(member: &MemberView) -> StoryMember {
    StoryMember {
        player: member.id.to_string(),
        name: member.name.to_string(),
        level: member.level,
        is_bot: member.is_bot,
    }
}

fn chat_message(table: TableId, message: &ChatMessage) -> StoryChatMessage {
    let kind = match message.kind {
        ChatMessageKind::Chat => "said",
        ChatMessageKind::StoryTold => "story_told",
    };
    StoryChatMessage {
        at: Timestamp(message.at.0),
        game: GameId { table, number: message.game }.to_string(),
        player: message.player.to_string(),
        kind: kind.to_owned(),
        text: message.text.to_string(),
    }
}

fn game(view: &GameView) -> StoryGame {
    let is_complete = view.phase == engine::tables::Phase::Complete;
    StoryGame {
        id: view.id.to_string(),
        number: view.id.number,
        phase: view.phase.name().to_owned(),
        canceled_in: view.canceled_in.map(|phase| phase.name().to_owned()),
        because: view.because.map(|because| because.name().to_owned()),
        storyteller: view.storyteller.map(|player| player.to_string()),
        sentence: view.sentence.as_deref().map(str::to_owned),
        has_winner_card: is_chosen(view.winner_card),
        winner_card: visible_card(view.winner_card),
        board: view.board.as_deref().map(card_numbers),
        dealt: view.dealt.map(card_set_numbers),
        invited: view.invited.as_ref().map(|invited| invited.iter().map(PlayerId::to_string).collect()),
        is_ready: view.is_ready,
        countdown_at: timestamp(view.countdown),
        countdown_ms: ms(view.countdown_takes),
        inactive_at: timestamp(view.inactive_at),
        tell_by: timestamp(view.tell_by),
        players_max: view.players_max,
        own: view.own.map(|own| StoryOwn {
            hand: card_set_numbers(own.hand),
            picked: own.picked.map(|card| card.0),
            vote: own.vote.map(|card| card.0),
        }),
        players: view.players.iter().map(|player| seat(player, is_complete)).collect(),
        created_at: Timestamp(view.created_at.0),
        ended_at: timestamp(view.ended_at),
    }
}

fn seat(player: &PlayerView, is_complete: bool) -> StorySeat {
    StorySeat {
        player: player.id.to_string(),
        name: player.name.to_string(),
        level: player.level,
        is_bot: player.is_bot,
        has_left: player.has_left,
        has_picked: is_chosen(player.picked),
        picked: visible_card(player.picked),
        has_voted: is_chosen(player.vote),
        vote: visible_card(player.vote),
        hand: player.hand.map(card_set_numbers),
        has_won: is_complete.then_some(player.has_won),
        points: player.points,
        standing: player.standing.as_ref().map(standing),
    }
}

fn is_chosen(card: CardView) -> bool {
    card != CardView::Nothing
}

fn visible_card(card: CardView) -> Option<u8> {
    match card {
        CardView::Card(card) => Some(card.0),
        CardView::Nothing | CardView::Hidden => None,
    }
}

fn settings(settings: &TableSettings, bots: BotSettings) -> StorySettings {
    let ms = |span| Some(ms(span));
    StorySettings {
        players_max: Some(settings.rules.players_max.into()),
        hand: Some(settings.rules.hand.into()),
        deck: Some(settings.rules.deck.into()),
        picked_min: Some(settings.rules.picked_min.into()),
        voted_min: Some(settings.rules.voted_min.into()),
        countdown_ms: ms(settings.countdown),
        game_timeout_ms: ms(settings.game_timeout),
        next_storyteller_timeout_ms: ms(settings.next_storyteller_timeout),
        bots_difficulty: Some(bots.difficulty.name().to_owned()),
    }
}

/// Points, levels and cards, for the player alone.
pub(super) fn standing(standing: &Standing) -> StoryStanding {
    let (level, before) = (Level::of(standing.score), Level::of(standing.score_prev));
    StoryStanding {
        score: standing.score,
        level: level.level,
        score_next: level.next,
        score_left: level.left,
        score_prev: standing.score_prev,
        level_prev: before.level,
        earned_cards: card_set_numbers(standing.earned),
        earned_cards_last: card_set_numbers(standing.earned_last),
    }
}

/// The numbers of these cards, in order.
pub(super) fn card_set_numbers(cards: CardSet) -> Vec<u8> {
    cards.iter().map(|card| card.0).collect()
}

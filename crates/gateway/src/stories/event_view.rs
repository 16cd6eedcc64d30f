//! Events as JSON. The engine has removed what their viewer may not see.

use super::view::{card_numbers, card_set_numbers, ms, timestamp};
use engine::ids::{GameId, PlayerId, TableId};
use engine::tables::{EventKind, PlayerResult, TableEvent};
use wire::api::{StoryEvent, StoryEventKind, StoryResult};
use wire::time::Timestamp;

/// One event of a viewer's feed of this table.
pub(crate) fn event(table: TableId, event: &TableEvent) -> StoryEvent {
    let game = (event.game > 0).then(|| GameId { table, number: event.game }.to_string());
    StoryEvent { seq: event.seq, at: Timestamp(event.at.0), game, kind: event_kind(&event.kind) }
}

fn event_kind(kind: &EventKind) -> StoryEventKind {
    match kind {
        EventKind::Started { storyteller, name, unseated } => StoryEventKind::Started {
            storyteller: storyteller.to_string(),
            name: name.to_string(),
            unseated: ids(unseated),
        },
        EventKind::Joined { player, name, is_bot, hand } => StoryEventKind::Joined {
            player: player.to_string(),
            name: name.to_string(),
            is_bot: *is_bot,
            hand: hand.map(card_set_numbers),
        },
        EventKind::Left { player, countdown } => {
            StoryEventKind::Left { player: player.to_string(), countdown_at: timestamp(*countdown) }
        }
        EventKind::CardChosen { card } => StoryEventKind::CardChosen { card: card.map(|card| card.0) },
        EventKind::StoryTold { sentence } => StoryEventKind::StoryTold { sentence: sentence.to_string() },
        EventKind::Invited { players } => StoryEventKind::Invited { players: ids(players) },
        EventKind::Picked { player, card, countdown } => StoryEventKind::Picked {
            player: player.to_string(),
            card: card.map(|card| card.0),
            countdown_at: timestamp(*countdown),
        },
        EventKind::CountdownSet { takes, countdown } => {
            StoryEventKind::CountdownSet { countdown_ms: takes.map(ms), countdown_at: timestamp(*countdown) }
        }
        EventKind::VotingOpened { board, removed, because } => StoryEventKind::VotingOpened {
            board: card_numbers(board),
            removed: ids(removed),
            because: because.name().to_owned(),
        },
        EventKind::Voted { player, card, countdown } => StoryEventKind::Voted {
            player: player.to_string(),
            card: card.map(|card| card.0),
            countdown_at: timestamp(*countdown),
        },
        EventKind::Completed { results, because } => StoryEventKind::Completed {
            results: results.iter().map(result).collect(),
            because: because.name().to_owned(),
        },
        EventKind::Canceled { because } => StoryEventKind::Canceled { because: because.name().to_owned() },
        EventKind::ChatSent { player, text } => {
            StoryEventKind::Said { player: player.to_string(), text: text.to_string() }
        }
        EventKind::BotsSet { are_on } => StoryEventKind::BotsSet { are_on: *are_on },
        EventKind::NextStoryteller { player, until } => StoryEventKind::NextStoryteller {
            player: player.map(|player| player.to_string()),
            until: timestamp(*until),
        },
    }
}

fn result(player_result: &PlayerResult) -> StoryResult {
    StoryResult {
        player: player_result.player.to_string(),
        picked: player_result.picked.map(|card| card.0),
        vote: player_result.vote.map(|card| card.0),
        points: player_result.points,
        has_won: player_result.has_won,
    }
}

fn ids(players: &[PlayerId]) -> Vec<String> {
    players.iter().map(PlayerId::to_string).collect()
}

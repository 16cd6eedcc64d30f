//! The table of targets; each file beside it has those of one kind.

mod clients;
mod frames;
mod replays;
mod stored;
mod texts;

use crate::Target;
use crate::memory::MemoryBound;

pub static TARGETS: &[Target] = &[
    // What clients, bots and services send.
    Target {
        memory: CONNECTION,
        ..target("http-connection", clients::http_connection, clients::http_connection_seeds)
    },
    target("proxy-header", clients::proxy_header, clients::proxy_header_seeds),
    target("request-head", clients::request_head, clients::request_head_seeds),
    target("reference-request", clients::reference_request, clients::reference_request_seeds),
    target("new-game", clients::new_game, clients::new_game_seeds),
    target("bot-url", clients::bot_url, clients::bot_url_seeds),
    target("bot-response", clients::bot_response, clients::response_seeds),
    target("bot-body", clients::bot_body, clients::bot_body_seeds),
    target("bot-request", clients::bot_request, clients::bot_request_seeds),
    target("lab-connection", clients::lab_connection, clients::lab_connection_seeds),
    target("json-pointer", clients::json_pointer, clients::json_pointer_seeds),
    target("metrics-text", clients::metrics_text, clients::metrics_text_seeds),
    target("websocket", frames::websocket, frames::websocket_seeds),
    target("delimited", frames::delimited, frames::delimited_seeds),
    target("world-frame-protobuf", frames::world_protobuf, frames::world_protobuf_seeds),
    target("world-frame-json", frames::world_json, frames::world_json_seeds),
    target("webhook-json", texts::webhook_json, texts::webhook_json_seeds),
    // What operators write.
    Target { memory: SETTINGS, ..target("settings-file", texts::settings_file, texts::settings_file_seeds) },
    Target { memory: SCENARIO, ..target("scenario", texts::scenario, texts::scenario_seeds) },
    Target { memory: SCENARIO, ..target("policies", texts::policies, texts::policies_seeds) },
    target("database-url", texts::database_url, texts::database_url_seeds),
    target("addresses", texts::addresses, texts::addresses_seeds),
    // What is stored.
    target("match-entry", stored::match_entry, stored::match_entry_seeds),
    target("match-archive", stored::match_archive, stored::match_archive_seeds),
    Target { memory: ARCHIVE, ..target("stored-archive", stored::stored_archive, stored::stored_archive_seeds) },
    target("records", stored::records, stored::records_seeds),
    Target { memory: REPLAY, ..target("match-replay", replays::matches, replays::match_seeds) },
    Target { memory: REPLAY, ..target("table-replay", replays::tables, replays::table_seeds) },
    Target { memory: REPLAY, ..target("world-replay", replays::worlds, replays::world_seeds) },
];

/// Two connections with all that a server and its client keep of them.
const CONNECTION: MemoryBound = MemoryBound { fixed: 1024 * 1024, per_byte: 16 * 1024 };
/// A scenario is a tree of values, then the plan that it means; its validation errors are texts.
const SCENARIO: MemoryBound = MemoryBound { fixed: 1024 * 1024, per_byte: 8 * 1024 };
/// Four bytes of a compressed archive may stand for 128 KiB (RFC 8878, section 3.1.1.2).
const ARCHIVE: MemoryBound = MemoryBound { fixed: 1024 * 1024, per_byte: 128 * 1024 };
/// A configuration has some hundred settings, each with the texts that say where it came from.
const SETTINGS: MemoryBound = MemoryBound { fixed: 1024 * 1024, per_byte: 1024 };
/// A board, a table or a world is there before the first row is read, and changes with each.
const REPLAY: MemoryBound = MemoryBound { fixed: 1024 * 1024, per_byte: 4096 };

const fn target(name: &'static str, check: fn(&[u8]), seeds: fn() -> Vec<Vec<u8>>) -> Target {
    Target { name, check, seeds, memory: MemoryBound::USUAL }
}

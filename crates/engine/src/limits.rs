//! The hard limits of the server: a name with its unit, a sentence, and the relations between them, asserted at
//! compile time.
//!
//! Configuration may choose anything below a limit; `settings` checks the same relations for chosen values.

mod accounts;
mod bot_calls;
mod competitions;
mod duels;
mod health;
mod ladders;
mod names;
mod nodes;
mod tournaments;

pub use accounts::*;
pub use bot_calls::*;
pub use competitions::*;
pub use duels::*;
pub use health::*;
pub use ladders::*;
pub use names::*;
pub use nodes::*;
pub use tournaments::*;

use std::time::Duration;

/// Seats of one match. The official maps admit at most 16 snakes.
pub const SEATS_MAX: usize = 16;
/// Games of one bulk creation: one body, one commit, one answer of a readable size.
pub const BULK_GAMES_MAX: usize = 1_000;
/// Ids of one bulk status request.
pub const STATUS_IDS_MAX: usize = 500;
/// Rows of one page of any list.
pub const PAGE_MAX: usize = 100;
/// Series of the history in one request: 32 have 46,080 points at most.
pub const HISTORY_SERIES_MAX: usize = 32;
/// Requests that read runs of trials at the same time: each may read a hundred megabytes.
pub const TRIAL_READS_AT_ONCE: usize = 2;
/// Bytes of the record of a run or a sweep, and of each of a run's files over time, that a page shows: longer runs have their `report.html`.
pub const TRIAL_RECORD_BYTES_MAX: u64 = 32 * 1024 * 1024;
pub const TRIAL_SERIES_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// Runs and sweeps in the folder of trials, and bytes that must be free on its disk, for another trial to be started by a request.
pub const TRIAL_RUNS_MAX: usize = 10_000;
pub const TRIAL_DISK_BYTES_FREE_MIN: u64 = 1024 * 1024 * 1024;
/// Time after which a trial that was started by a request is asked to end, and after that the time in which it must.
pub const TRIAL_DURATION_MAX: Duration = Duration::from_secs(3_600);
pub const TRIAL_END_MAX: Duration = Duration::from_secs(120);
/// Rows of a page when the client names no number.
pub const PAGE_DEFAULT: usize = 20;

/// Longest request body that the gateway reads: a bulk creation of 1,000 games with 16 seats each fits.
pub const REQUEST_BODY_BYTES_MAX: usize = 2 * 1024 * 1024;
/// The same of a request that is a list of ids or cells: 500 ids with room to spare, or 8,192 numbers of 4 digits.
pub const REQUEST_LIST_BYTES_MAX: usize = 64 * 1024;
/// The same of every other request: as much as the buffer of its connection holds.
pub const REQUEST_SMALL_BYTES_MAX: usize = 16 * 1024;
/// Bytes of large bodies that may be under way at once.
pub const BODIES_BYTES_MAX: usize = 64 * 1024 * 1024 * 1024;
/// Longest answer of a bot that is read; the official answer needs under 400 bytes.
pub const BOT_ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Longest head (status line and headers) of a bot's answer.
pub const BOT_ANSWER_HEAD_BYTES_MAX: usize = 8 * 1024;
/// Longest shout, in characters: the webhook API's own limit.
pub const SHOUT_CHARS_MAX: usize = 256;
/// Characters without a width of their own that a shout may have in a row: enough for every script and emoji, and no tower of accents.
pub const ZERO_WIDTH_RUN_MAX: usize = 8;
/// Longest name of a head's or a tail's drawing, in characters.
pub const FACE_NAME_CHARS_MAX: usize = 64;
/// Most bytes of the beginning of an answer that is kept where it gave no valid move.
pub const RESPONSE_EXCERPT_BYTES_MAX: usize = 512;
/// Such answers that are kept of a bot in one match, from the first. A bot that gives no valid move goes straight on, and is at a wall before.
pub const RESPONSE_EXCERPTS_PER_SEAT_MAX: u8 = 16;
/// Longest name of an account or a token, in characters.
pub const NAME_CHARS_MAX: usize = 100;
/// Longest name of a bot, in characters: it stands in every frame, and on boards and brackets.
pub const BOT_NAME_CHARS_MAX: usize = 64;
/// Longest name of a guest, in characters: it stands in the guest's token, which every request carries.
pub const GUEST_NAME_CHARS_MAX: usize = 32;
/// How long a guest's token is good.
pub const GUEST_TOKEN_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3_600);
/// How long a browser keeps the token of an account, and how long a session that a link opened lasts.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Longest URL of a bot, in bytes.
pub const URL_BYTES_MAX: usize = 500;
pub const BOTS_PER_ACCOUNT_MAX: usize = 10_000;
/// Live tokens of one account.
pub const TOKENS_PER_ACCOUNT_MAX: usize = 100;
/// The least time between two records of when a token was used last: so exact is what its owner is told.
pub const TOKEN_USE_RECORD_INTERVAL: Duration = Duration::from_secs(60);
/// Tokens of which a process remembers within that time that they were used. Uses of more are not recorded.
pub const TOKEN_USES_MAX: usize = 16_384;
/// Longest idempotency key, in bytes.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 128;
/// How long an idempotency key is remembered.
pub const IDEMPOTENCY_RETENTION: Duration = Duration::from_secs(24 * 3_600);
/// Longest description of why a match failed that is kept, in bytes.
pub const FAILURE_BYTES_MAX: usize = 1_000;

/// Checks of one batch.
pub const LIMIT_CHECKS_MAX: usize = 1_000;
/// Keys that one process's rate limiter may count at once: some gigabytes.
pub const LIMIT_KEYS_MAX: usize = 100_000_000;
/// Time stamps that its exact logs may keep at once: 8 bytes each.
pub const LIMIT_TIMESTAMPS_MAX: usize = 2_000_000_000;
/// Policies of the rate limiter that can be set while the server runs. Every decision looks at all of them.
pub const LIMIT_POLICIES_MAX: usize = 1_000;
/// Definitions that a store keeps: those policies, and what the reference API gives by default.
pub const LIMIT_POLICY_ROWS_MAX: usize = LIMIT_POLICIES_MAX + 1;
/// Keys with a quota of their own, over all policies. They are read at every start and after every change.
pub const LIMIT_OVERRIDES_MAX: usize = 100_000;
/// Longest key of a rate limit, in bytes.
pub const LIMIT_KEY_BYTES_MAX: usize = 1024;
/// Longest class of a hit in a check that a client asks for, in bytes: longer ones match no pattern but those with a
/// `*`.
pub const LIMIT_CLASS_BYTES_MAX: usize = 256;
/// Descriptors of one request over gRPC. They are decided together, under their locks.
pub const RLS_DESCRIPTORS_MAX: usize = 64;
/// Entries of one descriptor.
pub const RLS_ENTRIES_MAX: usize = 32;
/// Longest request over gRPC, in bytes: as many descriptors as may be, with the longest keys, fit.
pub const RLS_MESSAGE_BYTES_MAX: usize = 128 * 1024;
/// Connections of gRPC clients. A proxy needs one for each of its threads, and sends its requests side by side.
pub const RLS_CONNECTIONS_MAX: usize = 1_024;

/// Shortest of all times that a table of stories may be set to wait: below it, a journey over a network does not fit in.
pub const STORY_TIMEOUT_MIN: Duration = Duration::from_millis(100);
/// Longest countdown, and the default one.
pub const STORY_COUNTDOWN_MAX: Duration = Duration::from_secs(24 * 3_600);
/// See [`STORY_COUNTDOWN_MAX`].
pub const STORY_COUNTDOWN_DEFAULT: Duration = Duration::from_secs(60);
/// Longest time without an action after which a game goes on or is canceled, and the usual one.
pub const STORY_GAME_TIMEOUT_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);
/// See [`STORY_GAME_TIMEOUT_MAX`].
pub const STORY_GAME_TIMEOUT_DEFAULT: Duration = Duration::from_secs(24 * 3_600);
/// Longest time that a next storyteller may take for a step towards the story, and the usual one.
pub const STORY_NEXT_STORYTELLER_TIMEOUT_MAX: Duration = Duration::from_secs(3_600);
/// See [`STORY_NEXT_STORYTELLER_TIMEOUT_MAX`].
pub const STORY_NEXT_STORYTELLER_TIMEOUT_DEFAULT: Duration = Duration::from_secs(60);
/// Longest story, in characters: a sentence.
pub const STORY_CHARS_MAX: usize = 80;
/// Players whom a game has invited and who have not come yet.
pub const STORY_INVITED_MAX: usize = 50;
/// Changes of one player in one game: another pick, another vote; of a storyteller also invitations, countdowns and
/// bots. So no single player can push the others' steps out of the table's history.
pub const STORY_CHANGES_MAX: u8 = 64;
/// Players of one game who may leave before the vote as soon as they like …
pub const STORY_LEAVES_FREE: u8 = 16;
/// … and how long each further one must have had a seat: no game can be played while seats change hands all the time.
pub const STORY_SEAT_MIN: Duration = Duration::from_secs(10);
/// Longest line of a table's chat, in characters.
pub const CHAT_CHARS_MAX: usize = 500;
/// Lines of chat of one person: one in this time at a steady rate …
pub const CHAT_INTERVAL: Duration = Duration::from_secs(1);
/// … and so many at once after a silence.
pub const CHAT_BURST: u32 = 5;
/// How long a line of chat is kept in views.
pub const CHAT_RETENTION: Duration = Duration::from_secs(3_600);
/// Lines of chat that a view has.
pub const CHAT_LINES_MAX: usize = 50;
/// People that a table remembers: those who sit there and those who did, with how many events each got.
pub const TABLE_PEOPLE_MAX: usize = 64;
/// Entries of a table's log after which a snapshot of its state is taken, should no game end before. Two snapshots apart are
/// what a reader may be behind without needing a full view.
pub const TABLE_SNAPSHOT_ENTRIES: u32 = 256;
/// Size of one game's steps in its record, in bytes, beyond which only those are kept that still count: each player's
/// last pick and vote, and nothing of those who left before the vote. What counts always fits.
pub const GAME_HISTORY_BYTES_MAX: usize = 16 * 1024;

/// Shortest and longest time that a bot may be given for an answer.
pub const BOT_TIMEOUT_MIN: Duration = Duration::from_millis(10);
/// See [`BOT_TIMEOUT_MIN`].
pub const BOT_TIMEOUT_MAX: Duration = Duration::from_secs(10);
/// A bot's time when the creation names none: the webhook API's usual value.
pub const BOT_TIMEOUT_DEFAULT: Duration = Duration::from_millis(500);
/// A call whose time is up while this process is stalled gets what it lost again, until this many times its timeout have passed in all …
pub const BOT_STALL_TIMEOUTS_MAX: u32 = 4;
/// … or, with a timeout that is shorter than any stall, its timeout and this long.
pub const BOT_STALL_WAIT_MIN: Duration = Duration::from_secs(1);
/// Steps of a call that a stall can delay: to connect, to shake hands for TLS, to read. A call has lost at most this many times the longest
/// stall, however many there were.
pub const BOT_STALLS_PER_CALL: u32 = 4;
/// How long a bot may take to return its looks (`GET /`); after that it gets the default looks.
pub const BOT_INDEX_TIMEOUT: Duration = Duration::from_secs(1);

/// Bots whose calls one process counts between two writes; calls of further ones are not counted until the next.
pub const BOT_CALLS_BOTS_MAX: usize = 20_000;
/// How often counted calls are written.
pub const BOT_CALLS_WRITE_INTERVAL: Duration = Duration::from_secs(10);
/// Rows of counted calls in one commit.
pub const BOT_CALLS_ROWS_MAX: usize = 500;
/// How long the calls of an hour are kept.
pub const BOT_CALLS_RETENTION: Duration = Duration::from_secs(14 * 24 * 3_600);
/// How long calls are signed with the previous secret too after it was replaced.
pub const SIGNING_SECRET_OVERLAP: Duration = Duration::from_secs(24 * 3_600);

/// A match ends at the latest after this many turns, as a draw among the living.
pub const TURNS_MAX: u32 = 5_000;
/// Claims without any progress after which a match is failed and kept for study.
pub const ATTEMPTS_MAX: u32 = 5;

/// Servers under one supervisor: each takes some 20 MiB before the first client.
pub const SHARDS_MAX: usize = 256;

/// How long a worker's lease lasts from the moment it is written, where several processes share a database. Where one has it for
/// itself, a lease lasts as long as the process.
pub const LEASE_DURATION: Duration = Duration::from_secs(5);
/// How often the owner renews it.
pub const LEASE_RENEW_INTERVAL: Duration = Duration::from_secs(1);
/// The owner stops acting this long before the lease ends, by its own monotonic clock.
pub const LEASE_MARGIN: Duration = Duration::from_millis(1_500);
/// Longest time between the announcement of a drain and its beginning: a supervisor kills what does not end.
pub const DRAIN_DELAY_MAX: Duration = Duration::from_secs(300);
/// A draining process has released everything and ended after this time.
pub const DRAIN_MAX: Duration = Duration::from_secs(5);
/// A draining process goes on for so long to take the connections that the kernel has made.
pub const DRAIN_ACCEPTS_FOR: Duration = Duration::from_millis(50);
/// How long it waits on a new connection for the beginning of a request.
pub const DRAIN_FIRST_BYTES_MAX: Duration = Duration::from_millis(100);
/// Time over which a draining process spreads the answers to requests that are held, so that their clients do not come back in
/// one instant.
pub const DRAIN_JITTER_MAX: Duration = Duration::from_millis(800);

/// Commands that wait for the store's writer; one more is refused as overloaded.
pub const COMMANDS_WAITING_MAX: usize = 65_536;
/// Reads that wait for a free reader; one more is refused as overloaded.
pub const READS_WAITING_MAX: usize = 65_536;
/// Commands of one group commit.
pub const COMMIT_COMMANDS_MAX: usize = 1_024;
/// Matches that one claim may take.
pub const CLAIM_MAX: usize = 1_024;
/// The least time between two claims of a worker: a burst of creations is answered before its matches take the processor, and
/// what joins the queue in between is taken together.
pub const CLAIM_INTERVAL_MIN: Duration = Duration::from_millis(10);
/// Matches that one process may run at once.
pub const MATCHES_AT_ONCE_MAX: usize = 100_000;
/// An account may begin another match in a process while fewer than so many times the free slots are taken by its matches. One account alone
/// gets three quarters of the slots, `k` accounts together `3k / (3k + 1)` of them.
pub const SLOT_THRESHOLD_FACTOR: usize = 3;
/// Matches of one account that may wait in the queue; a creation that would exceed it is refused. Those of its competitions count, and are
/// never refused: competitions have limits of their own.
pub const MATCHES_WAITING_PER_ACCOUNT_MAX: usize = 10_000;
/// Spectators of one process.
pub const SPECTATORS_MAX: usize = 10_000;
/// Frames that one page of a game's frames holds: the viewer API's own limit.
pub const FRAMES_PAGE_MAX: usize = 100;
/// Turns of a snake that one page of its evidence has.
pub const TURNS_PAGE_MAX: u32 = 1_000;
/// Frames of a match that are kept for all who watch it while it is played; a viewer that is further behind replays by itself.
pub const LIVE_FRAMES_KEPT: usize = 4;
/// Threads that replay matches for viewers, each with a reader of the store.
pub const REPLAY_THREADS_MAX: usize = 64;
/// Turns from one state of a match that is kept in memory to the next: a page of frames is replayed from the state before it.
pub const REPLAY_CHECKPOINT_TURNS: u32 = FRAMES_PAGE_MAX as u32;
/// Entries of a log that are replayed for one viewer before others have their turn: some milliseconds' worth.
pub const REPLAY_SLICE_ENTRIES: usize = 128;
/// Bytes of entries that are kept for one viewer until they are replayed; a single entry may be longer.
pub const REPLAY_LOG_BYTES_MAX: usize = 64 * 1024;
/// Bytes of frames that are made before the client has taken those before; the last of them may lie beyond.
pub const REPLAY_CHUNK_BYTES: usize = 32 * 1024;
/// What an answer that is made piece by piece counts for, in bytes: a piece, entries and a board with their bookkeeping.
pub const REPLAY_RESPONSE_BYTES: usize = 256 * 1024;
/// States of matches that may be kept in memory to replay from, in bytes.
pub const REPLAY_CACHE_BYTES_MAX: usize = 64 * 1024 * 1024 * 1024;
/// Bytes of large answers that may be under way at once.
pub const RESPONSE_BYTES_MAX: usize = 64 * 1024 * 1024 * 1024;

/// Card tables that one process may hold in memory at once: some kilobytes each.
pub const TABLES_MAX: usize = 4_000_000;
/// Owner tasks among which a process's card tables may be divided.
pub const TABLE_OWNER_TASKS_MAX: usize = 256;
/// Clients that one process may have waiting for updates of card tables: a connection each.
pub const TABLE_WAITERS_MAX: usize = 1_000_000;
/// Tokens that one read checks for existence, of those by which feeds and connections are open.
pub const GRANTS_PER_READ_MAX: usize = 4_096;
/// Longest wait that a poll may request.
pub const POLL_WAIT_MAX: Duration = Duration::from_secs(10 * 60);
/// Longest wait of a poll that is not sent as a plain GET without a body: the server cannot see its client disconnect.
pub const POLL_UNPARKED_WAIT_MAX: Duration = Duration::from_secs(5);
/// Messages that wait for one owner task of card tables; one more is refused as busy.
pub const TABLE_MAILBOX_MAX: usize = 16_384;
/// Requests that wait at one card table for a commit under way or for the table itself; one more is refused as busy.
pub const TABLE_QUEUE_MAX: usize = 64;
/// Slots of [`TABLE_QUEUE_MAX`] that one player may use at once: what a client requests at its start. Unauthenticated
/// requests count as one player.
pub const TABLE_QUEUE_PER_PLAYER_MAX: usize = 8;
/// Slots of [`TABLE_QUEUE_MAX`] that non-members may use at once: the rest is for those who sit at the table.
pub const TABLE_QUEUE_NON_MEMBERS_MAX: usize = TABLE_QUEUE_MAX / 4 * 3;
/// One in so many of the card tables that may be in memory is kept for operators, and for tables that exist and are loaded.
pub const TABLES_RESERVED_SHARE: usize = 16;
/// Card tables in one process's memory that one player may have opened.
pub const TABLES_PER_PLAYER_MAX: usize = 1_000_000;
/// Openings of card tables of which one process does not know whether they were saved; while there are more, none is begun.
pub const TABLE_UNKNOWN_OPENINGS_MAX: usize = 1_024;
/// Strangers that count as present at one card table without a wait of theirs, those of short polls; who sits there always counts.
pub const TABLE_PRESENT_MAX: usize = 4_096;
/// Card tables without an owner that one claim may take.
pub const TABLE_CLAIM_MAX: usize = 256;
/// An idle stream or socket is sent a heartbeat after this time: proxies close silent connections.
pub const FEED_HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// Requests that one process passes on to other nodes at the same time.
pub const FORWARDS_MAX: usize = 4_096;
/// One in so many of those that may wait at a process may wait through it at another: each takes a connection more.
pub const FORWARD_WAITS_SHARE: usize = 4;
/// Longest event of another node that is passed on, in bytes.
pub const FORWARD_EVENT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long the mark of a forwarding node on a request is accepted: as far as the clocks of two nodes may differ.
pub const FORWARD_MARK_AGE_MAX: Duration = Duration::from_secs(30);
/// Longest body of a request that may be passed on, in bytes.
pub const FORWARD_BODY_BYTES_MAX: usize = 64 * 1024;
/// Time to reach another node.
pub const FORWARD_CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Time for another node to answer, in addition to a poll's own wait.
pub const FORWARD_RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// A draining process serves its card tables so long, while waiting clients are answered one after the other.
pub const TABLE_DRAIN_LINGER: Duration = Duration::from_secs(1);

/// Longest name of a world, in bytes: a prefix and an id in full fit.
pub const WORLD_NAME_BYTES_MAX: usize = 64;
/// Worlds that are not over. What is over is counted apart: see [`WORLDS_ENDED_MAX`].
pub const WORLDS_MAX: usize = 10_000;
/// Of these, worlds that players cannot take: they are for the matchmaker, for operators and for the built-in worlds.
pub const WORLDS_RESERVED: usize = 2_500;
/// Of these, worlds that the matchmaker cannot take either.
pub const WORLDS_RESERVED_FOR_OPERATORS: usize = 500;
/// Worlds that are over and not deleted yet; with more, those that ended first are deleted sooner.
pub const WORLDS_ENDED_MAX: usize = 10_000;
/// One in so many of the worlds that a process may have in memory is kept for those that players did not make.
pub const WORLDS_LOADED_RESERVED_SHARE: usize = 4;
/// Cells of worlds of players that one process may be allowed to have in memory at once: some tens of gigabytes.
pub const WORLD_CELLS_MAX: u64 = 4_000_000_000;
/// Things of one kind that the clients of one address may be allowed to have at once, or to make in an hour.
pub const QUOTA_MAX: usize = 1_000_000;
/// Addresses whose makings in the last hour one process counts, for each kind of thing; what comes from further ones is not counted.
pub const QUOTA_ADDRESSES_MAX: usize = 100_000;
/// Longest time that a hunt that no other player joined may be allowed to stay.
pub const HUNT_UNJOINED_TIMEOUT_MAX: Duration = HUNT_OPEN_MAX;
/// Worlds of one creator that are not over.
pub const WORLDS_PER_PLAYER_MAX: usize = 8;
/// Cells of a hunt that a player makes, as many as the built-in worlds have: a process that has all the worlds in
/// memory that it may (256 by default) needs about a gigabyte for their cells, and not twenty.
pub const HUNT_CELLS_MAX: u32 = 1_000_000;
/// Players who may join one hunt.
pub const HUNT_PLAYERS_MAX: u32 = 100_000;
/// Players of one party.
pub const PARTY_MAX: usize = 8;
/// Fewest players of a match that is made of tickets.
pub const TICKET_PLAYERS_MIN: u8 = 2;
/// Most players of one.
pub const TICKET_PLAYERS_MAX: u8 = 16;
/// Highest rating that a ticket may bring.
pub const RATING_MAX: u16 = 5_000;
/// Longest name of a region, in bytes.
pub const REGION_BYTES_MAX: usize = 32;
/// Tickets that wait at one process.
pub const TICKETS_MAX: usize = 10_000;
/// Tickets for which one step of the matchmaker looks for others.
pub const MATCHMAKING_SEARCHES_MAX: usize = 256;
/// Tickets among which one search chooses.
pub const MATCHMAKING_CANDIDATES_MAX: usize = 256;
/// Tickets that one search looks at, those included that do not suit: they take its own time from all others.
pub const MATCHMAKING_LOOKS_MAX: usize = 2_048;
/// Shortest time after which a ticket gives up.
pub const TICKET_WAIT_MIN: Duration = Duration::from_secs(1);
/// Longest, and the usual one.
pub const TICKET_WAIT_MAX: Duration = Duration::from_secs(10 * 60);
/// See [`TICKET_WAIT_MAX`].
pub const TICKET_WAIT_DEFAULT: Duration = Duration::from_secs(60);
/// How long the end of a ticket can be queried.
pub const TICKET_RETENTION: Duration = Duration::from_secs(5 * 60);
/// How long a request to cancel a ticket waits while its hunt is being saved.
pub const TICKET_SETTLING_MAX: Duration = Duration::from_secs(10);
/// Tickets that a process knows, including those that have ended and can still be queried.
pub const TICKETS_KNOWN_MAX: usize = 100_000;
/// Worlds of which the aggregator may be notified at once; more are found by their logs.
pub const HUNT_NOTICES_MAX: usize = 1_024;
/// How long counting may be paused: a forgotten switch must not fill a disk.
pub const HUNT_COUNT_PAUSE_MAX: Duration = Duration::from_secs(6 * 3_600);
/// Entries of claim logs, in all hunts together, that may wait while counting is stopped: a gigabyte at the most. With more it goes
/// on by itself.
pub const HUNT_CLAIMS_UNCOUNTED_MAX: u64 = 10_000_000;
/// How long ended matches are kept in a store that was made with finite periods.
pub const MATCH_RETENTION: Duration = Duration::from_secs(30 * 24 * 3_600);
/// The same of ended games of Stories.
pub const STORY_GAME_RETENTION: Duration = Duration::from_secs(90 * 24 * 3_600);
/// The same of what guests have left, from the end of their token.
pub const GUEST_RETENTION: Duration = Duration::from_secs(90 * 24 * 3_600);
/// Shortest and longest time for which a hunt is opened.
pub const HUNT_OPEN_MIN: Duration = Duration::from_secs(60);
/// See [`HUNT_OPEN_MIN`].
pub const HUNT_OPEN_MAX: Duration = Duration::from_secs(24 * 3_600);
/// Entries of a claim log that are counted in one commit.
pub const AGGREGATE_ROWS_MAX: usize = 4_096;
/// Movers of one world: a cell counts its own in 24 bits.
pub const MOVERS_MAX: usize = 8_000_000;
/// Largest radius of a view, in cells: with the margin on both sides, a row of it fits one word of 64 cells.
pub const VIEW_RADIUS_MAX: u8 = 29;
/// Cells beyond the radius in which a viewer still sees who was in sight, and knows the ground: a step or two never show a bare edge.
pub const VIEW_MARGIN_CELLS: u8 = 2;
/// Most views a second: no screen draws more.
pub const VIEW_PER_S_MAX: u8 = 60;
/// Movers that one view contains, nearest first.
pub const VIEW_MOVERS_MAX: usize = 1_024;
/// How long a mover stays whose client is gone.
pub const MOVER_GRACE: Duration = Duration::from_secs(10);
/// Moves that may come closer together than the least time between two, after a pause: networks deliver in bursts.
pub const MOVE_BURST: u32 = 4;
/// Answers to a mover's last inputs that are kept, to be given again.
pub const MOVER_ANSWERS_KEPT: usize = 4;
/// Movers that may come into a world between two snapshots: after a crash, their numbers go on so much further.
pub const MOVER_IDS_GAP: u32 = 1 << 22;
/// How late a round may begin and still count as the one that follows the last: beyond it, the hunt was waiting for a
/// player.
pub const ROUND_LATE_MAX: Duration = Duration::from_secs(5);
/// Hunters whose scores the end of a round names, best first.
pub const ROUND_SCORES_MAX: usize = 100;
/// Hunters whose scores a picture of a world has, best first.
pub const PICTURE_SCORES_MAX: usize = 10;
/// Cells of one section of a world that a reader may request.
pub const SECTION_CELLS_MAX: u32 = 65_536;
/// Bins of a density on each side.
pub const DENSITY_BINS_MAX: u16 = 128;
/// Longest name of a mover, in characters.
pub const MOVER_NAME_CHARS_MAX: usize = GUEST_NAME_CHARS_MAX;

/// Refused connections that are sent their refusal at the same time, each for [`CONNECTION_REFUSAL_TIMEOUT`] at most;
/// further ones are sent theirs without waiting for the client.
pub const CONNECTION_REFUSALS_MAX: usize = 64;
/// Time for a refused connection to receive its refusal.
pub const CONNECTION_REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Connections to the port for operators.
pub const OPS_CONNECTIONS_MAX: usize = 64;
/// Longest header of the PROXY protocol, in bytes.
pub const PROXY_HEADER_BYTES_MAX: usize = 4_096;
/// Connections that wait for their header of the PROXY protocol; for one more, the one that has waited for longest is closed.
pub const PROXY_HEADERS_AWAITED_MAX: usize = 256;
/// Files that a server must be allowed to have open at least: its own, and a few for clients.
pub const OPEN_FILES_MIN: usize = 64;
/// Worlds that one process may hold in memory at once: a thread each.
pub const WORLDS_LOADED_MAX: usize = 4_096;
/// Inputs that may wait for one world's writer; a choice below it decides how long an input may wait before it is refused.
pub const WORLD_MAILBOX_MAX: usize = 4_000_000;
/// Orders (who comes in, who watches) that wait for one world's writer; one more is refused as busy.
pub const WORLD_CONTROL_MESSAGES_MAX: usize = 65_536;
/// Pictures of worlds that are read for clients at the same time, of all worlds of a process: clients' addresses take turns.
pub const WORLD_PICTURES_READ_AT_ONCE: usize = 1;
/// Worlds beyond those that may be in memory that visitors may request at once.
pub const WORLD_LOADS_WAITING_MAX: usize = 1_024;
/// Longest time that a visitor waits until a world is in memory.
pub const WORLD_VISIT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a world that is being released waits for the store: then all its clients are disconnected, saved or not.
pub const WORLD_DRAIN_MAX: Duration = Duration::from_secs(2);
/// Least time from one round of a writer to the next, in the mean: what comes meanwhile is served together.
pub const WORLD_ROUND_INTERVAL_MIN: Duration = Duration::from_micros(500);
/// Rounds that may follow each other at once after a pause: a single mover does not wait for others that are not there.
pub const WORLD_ROUND_BURST: u32 = 4;
/// Views that a writer cuts before moves have their turn again: a few milliseconds' worth at most.
pub const WORLD_VIEWS_PER_SLICE: usize = 256;
/// Connections that are sent events before answers have their turn again: a millisecond's worth.
pub const WORLD_EVENTS_PER_SLICE: u32 = 64;
/// How many times as long as a batch of events took, no events are sent: sender threads have nine tenths of their time
/// for what clients wait for.
pub const WORLD_EVENTS_REST_FACTOR: u32 = 9;
/// How long at most a batch of events may take, and how long at most the next one then waits: a full world sends events
/// slowly, but sends them.
pub const WORLD_EVENTS_PAUSE_MAX: Duration = Duration::from_millis(100);
/// Threads that send movers their answers and events.
pub const WORLD_SENDER_THREADS_MAX: usize = 64;
/// Messages of a round that the writer sends itself: a few tens of microseconds, which is what waking a sender thread
/// costs.
pub const WORLD_INLINE_SENDS_MAX: usize = 4;
/// Messages that may wait for one sender thread: from half of it on no view is cut, beyond it no input is taken.
pub const WORLD_UNSENT_MAX: usize = 65_536;
/// The world's own tick: what others see of a move, they see within it.
pub const WORLD_TICK: Duration = Duration::from_millis(200);
/// How often a picture of a world is published while it has readers.
pub const WORLD_PICTURE_INTERVAL: Duration = WORLD_TICK;
/// How long pictures are published after the last reader.
pub const WORLD_PICTURE_DEMAND_WINDOW: Duration = Duration::from_secs(2);
/// How often a writer checks whether the world has clients.
pub const WORLD_IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Pause before claims are handed to a store again that had no room for them.
pub const WORLD_COMMIT_RETRY_DELAY: Duration = Duration::from_millis(50);
/// Movers of a snapshot that are written before moves have their turn again: a tenth of a millisecond's worth.
pub const WORLD_SNAPSHOT_MOVERS_PER_SLICE: usize = 1_024;
/// Cells on which bacteria may be put at once.
pub const WORLD_SOW_CELLS_MAX: usize = 4_096;
/// Actors that may move in one world.
pub const ACTORS_MAX: u32 = 4_000_000;
/// Shortest time from one move of an actor to its next: beyond a hundred a second it is load of another kind.
pub const ACTOR_PERIOD_MIN: Duration = Duration::from_millis(10);
/// Longest time from one move of an actor to its next.
pub const ACTOR_PERIOD_MAX: Duration = Duration::from_secs(3_600);
/// Longest pause before the next actor comes in.
pub const ACTOR_START_DELAY_MAX: Duration = Duration::from_secs(60);
/// Threads that let actors move.
pub const ACTOR_THREADS_MAX: usize = 64;
/// Actors of one worker process that may be registering at once.
pub const ACTOR_REGISTRATIONS_MAX: usize = 8_192;
/// Pause before actors whose world left memory visit it again.
pub const ACTOR_REVISIT_DELAY: Duration = Duration::from_millis(500);
/// Longest time for which an actor that rests is not looked at: so long one that is not wanted any more may stay.
pub const ACTOR_CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// How often a worker process of actors reports its counters.
pub const ACTOR_REPORT_INTERVAL: Duration = Duration::from_secs(1);

const _: () = assert!(
    2 * (VIEW_RADIUS_MAX as u32 + VIEW_MARGIN_CELLS as u32) < u64::BITS,
    "a row of the largest view, its margin included, fits one word"
);
const _: () = assert!(ACTORS_MAX as usize <= MOVERS_MAX);
const _: () =
    assert!(ACTOR_REGISTRATIONS_MAX * 2 <= WORLD_CONTROL_MESSAGES_MAX, "actors that come in leave room for all others");
const _: () = assert!(MOVERS_MAX < 1 << 24, "all movers may stand on one cell");
/// Longest first frame of a connection to worlds, in bytes: its length begins no method of HTTP, which are served on the same port.
pub const WORLD_HELLO_BYTES_MAX: usize = 64;
/// Longest other frame from a client, in bytes: a registration with a token and a world's name fits, as JSON too.
pub const WORLD_FRAME_BYTES_MAX: usize = 2 * 1024;
/// Bytes that are read at a time from such a connection, into one buffer for each thread.
pub const WORLD_READ_BYTES: usize = 16 * 1024;
/// Bytes that are buffered for a connection that does not read, before it is closed: the largest view and a burst of
/// answers behind it fit, also in JSON.
pub const WORLD_OUTBOUND_BYTES_MAX: usize = 512 * 1024;
/// Frames a second that a connection may send for long, and at once after a pause: ten times what a player's keys do.
pub const WORLD_FRAMES_PER_S_MAX: u32 = 200;
/// See [`WORLD_FRAMES_PER_S_MAX`].
pub const WORLD_FRAMES_BURST: u32 = 400;
/// Registrations that one connection tries: a refused one may be corrected.
pub const WORLD_REGISTRATIONS_MAX: u32 = 16;
/// Time in which a connection is in a world, the server's part of it included: until then it holds a timer. For what
/// the client has to send it has `http.header_timeout_ms`.
pub const WORLD_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for the last words to be taken.
pub const WORLD_LINGER_MAX: Duration = Duration::from_secs(1);
/// Longest silence on a connection to a world after which the system may be set to probe whether the other side is
/// still there. Each silent connection costs a packet in this time, and its answer.
pub const WORLD_KEEPALIVE_AFTER_MAX: Duration = Duration::from_secs(3_600);
/// How often the system then probes.
pub const WORLD_KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// How many unanswered probes end the connection.
pub const WORLD_KEEPALIVE_PROBES: u32 = 3;
/// Views a second of a viewer who names no number.
pub const VIEW_PER_S_DEFAULT: u8 = 5;

const _: () = assert!(
    LEASE_RENEW_INTERVAL.as_millis() * 2 < LEASE_DURATION.as_millis() - LEASE_MARGIN.as_millis(),
    "two renewals fit into the time that an owner trusts its lease: one lost renewal costs nothing"
);
const _: () = assert!(
    LEASE_MARGIN.as_millis() >= 1_000,
    "the owner stops well before a rival with a clock a little ahead starts"
);
const _: () = assert!(
    DRAIN_JITTER_MAX.as_millis() * 2 < DRAIN_MAX.as_millis(),
    "the last client to be disconnected has as long again to take the answer"
);
const _: () = assert!(
    TABLE_PEOPLE_MAX > 3 * rules::stories::GameSettings::PLAYERS_MAX as usize,
    "those of this game and of the one before sit there, some have just left, and there is still room for one who comes"
);
const _: () = assert!(CHAT_LINES_MAX < TABLE_SNAPSHOT_ENTRIES as usize, "what a view shows, a feed still remembers");
const _: () = assert!(BOT_TIMEOUT_MIN.as_millis() < BOT_TIMEOUT_DEFAULT.as_millis());
const _: () =
    assert!(BOT_CALLS_RETENTION.as_secs().is_multiple_of(24 * 3_600), "every hour of the day is kept as often");
const _: () = assert!(BOT_TIMEOUT_DEFAULT.as_millis() < BOT_TIMEOUT_MAX.as_millis());
const _: () = assert!(
    BOT_TIMEOUT_MAX.as_millis() <= u16::MAX as u128,
    "a measured latency fits the two bytes that the match log gives it"
);
const _: () = assert!(BULK_GAMES_MAX <= COMMIT_COMMANDS_MAX, "a bulk creation fits one group commit");
const _: () = assert!(
    BULK_GAMES_MAX * SEATS_MAX * 40 + BULK_GAMES_MAX * 256 < REQUEST_BODY_BYTES_MAX,
    "the largest bulk creation fits the largest body"
);
const _: () = assert!(STATUS_IDS_MAX * 64 < REQUEST_LIST_BYTES_MAX, "the largest question for statuses fits a list");
const _: () = assert!(FORWARD_BODY_BYTES_MAX >= REQUEST_SMALL_BYTES_MAX, "what is taken can be passed on");
const _: () = assert!(CLAIM_MAX <= MATCHES_AT_ONCE_MAX);
const _: () = assert!(COMMIT_COMMANDS_MAX < COMMANDS_WAITING_MAX);
const _: () =
    assert!(DRAIN_JITTER_MAX.as_millis() < TABLE_DRAIN_LINGER.as_millis(), "tables outlast those who wait for them");
const _: () = assert!(
    TABLE_DRAIN_LINGER.as_millis() * 2 < DRAIN_MAX.as_millis(),
    "who waits is answered, and what is under way ends"
);
const _: () =
    assert!(TABLE_QUEUE_MAX < TABLE_MAILBOX_MAX, "one table cannot fill its owner task's mailbox while it loads");
const _: () = assert!(TABLE_CLAIM_MAX < TABLE_MAILBOX_MAX);
const _: () = assert!(
    TABLE_QUEUE_PER_PLAYER_MAX <= TABLE_QUEUE_MAX - TABLE_QUEUE_NON_MEMBERS_MAX,
    "whatever strangers do, a place for a member's requests is left"
);
const _: () = assert!(TABLES_PER_PLAYER_MAX <= TABLES_MAX);
const _: () = assert!(FRAMES_PAGE_MAX <= PAGE_MAX);
const _: () = assert!(REPLAY_CHUNK_BYTES + REPLAY_LOG_BYTES_MAX < REPLAY_RESPONSE_BYTES);
const _: () = assert!(TURNS_MAX < u32::MAX / 4, "versions of a match log count turns and deliveries and never wrap");
const _: () = assert!(PARTY_MAX < TICKET_PLAYERS_MAX as usize, "the largest party finds an opponent");
const _: () = assert!(TICKETS_MAX < TICKETS_KNOWN_MAX);
const _: () = assert!(WORLDS_RESERVED_FOR_OPERATORS < WORLDS_RESERVED && WORLDS_RESERVED < WORLDS_MAX);
const _: () = assert!(TICKET_PLAYERS_MAX as u32 <= HUNT_PLAYERS_MAX);

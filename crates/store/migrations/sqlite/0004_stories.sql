-- Tables at which stories are told: their logs, who owns them, and the lists of their games.

-- The number of a worker's last claim of many tables; apart from that of its claims of matches.
ALTER TABLE workers ADD COLUMN table_claims INTEGER NOT NULL DEFAULT 0 CHECK (table_claims >= 0);

-- Small rows that an ordinary append does not write: the fence is looked up here for every one of them. A live table whose
-- worker is null, not here, or past its lease is to be taken over.
CREATE TABLE story_tables (
    id           BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    worker       BLOB    CHECK (length(worker) = 16),
    epoch        INTEGER NOT NULL CHECK (epoch > 0),
    claim        INTEGER NOT NULL DEFAULT 0 CHECK (claim >= 0), -- the number of its worker's claim of many that took it
    base_version INTEGER NOT NULL DEFAULT 0 CHECK (base_version >= 0), -- entries under its base
    is_live      INTEGER NOT NULL CHECK (is_live IN (0, 1)), -- it has something to do by itself
    is_bare      INTEGER NOT NULL CHECK (is_bare IN (0, 1))  -- no game of it was left when that was last looked at
) STRICT, WITHOUT ROWID;

CREATE INDEX story_tables_live ON story_tables (worker, id) WHERE is_live = 1;
CREATE INDEX story_tables_bare ON story_tables (id)         WHERE is_bare = 1;

-- What a load starts from, where there is one.
CREATE TABLE story_bases (
    table_id BLOB NOT NULL PRIMARY KEY CHECK (length(table_id) = 16),
    data     BLOB NOT NULL
) STRICT;

-- The entries after the base. Without a reference to `story_tables`: the fence that guards every write looks it up anyway.
CREATE TABLE story_log (
    table_id BLOB    NOT NULL,
    version  INTEGER NOT NULL CHECK (version >= 0),
    data     BLOB    NOT NULL,
    PRIMARY KEY (table_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE story_games (
    table_id    BLOB    NOT NULL CHECK (length(table_id) = 16),
    number      INTEGER NOT NULL CHECK (number >= 0),
    storyteller BLOB    NOT NULL CHECK (length(storyteller) = 16),
    phase       TEXT    NOT NULL CHECK (phase IN ('create', 'invitation', 'vote', 'complete', 'canceled')),
    sentence    TEXT,
    players     INTEGER NOT NULL CHECK (players >= 0),
    players_max INTEGER NOT NULL CHECK (players_max >= 0),
    created_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    PRIMARY KEY (table_id, number),
    CHECK ((phase IN ('complete', 'canceled')) = (ended_at IS NOT NULL))
) STRICT, WITHOUT ROWID;

-- The lobby; the history, which is also the order in which games are forgotten.
CREATE INDEX story_games_open  ON story_games (created_at, table_id, number)
    WHERE phase IN ('create', 'invitation') AND players < players_max;
CREATE INDEX story_games_ended ON story_games (ended_at, table_id, number) WHERE ended_at IS NOT NULL;

CREATE TABLE story_seats (
    table_id   BLOB    NOT NULL,
    number     INTEGER NOT NULL,
    player     BLOB    NOT NULL CHECK (length(player) = 16),
    role       TEXT    NOT NULL CHECK (role IN ('storyteller', 'player', 'invited')),
    created_at INTEGER NOT NULL, -- the game's: a player's list of games is read in this order
    is_ended   INTEGER NOT NULL CHECK (is_ended IN (0, 1)),
    is_won     INTEGER CHECK (is_won IN (0, 1)),
    PRIMARY KEY (table_id, number, player)
) STRICT, WITHOUT ROWID;

CREATE INDEX story_seats_by_player ON story_seats (player, is_ended, created_at, table_id, number);

-- Everything that may be asked about a game that has ended.
CREATE TABLE story_records (
    table_id BLOB    NOT NULL,
    number   INTEGER NOT NULL,
    data     BLOB    NOT NULL,
    PRIMARY KEY (table_id, number)
) STRICT;

-- Of players who were ever scored. A set of cards is 64 bits: bit n is card n.
CREATE TABLE story_standings (
    player      BLOB    NOT NULL PRIMARY KEY CHECK (length(player) = 16),
    score       INTEGER NOT NULL CHECK (score >= 0),
    score_prev  INTEGER NOT NULL CHECK (score_prev >= 0),
    levelups    INTEGER NOT NULL CHECK (levelups >= 0),
    earned      INTEGER NOT NULL,
    earned_last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- As `idempotency_keys`, of players: a guest has no account.
CREATE TABLE story_answers (
    player      BLOB    NOT NULL CHECK (length(player) = 16),
    key         TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL CHECK (length(fingerprint) = 32),
    answer      BLOB    NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (player, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX story_answers_by_age ON story_answers (created_at);

-- Random keys of the whole database, made by whoever needs one first.
CREATE TABLE secrets (
    name TEXT NOT NULL PRIMARY KEY,
    data BLOB NOT NULL
) STRICT, WITHOUT ROWID;

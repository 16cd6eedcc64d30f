-- Tables at which stories are told: their logs, who owns them, and the lists of their games.

-- The number of a worker's last claim of many tables; apart from that of its claims of matches.
ALTER TABLE workers ADD COLUMN table_claims BIGINT NOT NULL DEFAULT 0 CHECK (table_claims >= 0);

-- Small rows that an ordinary append does not write: the fence is looked up here for every one of them. A live table whose
-- worker is null, not here, or past its lease is to be taken over.
CREATE TABLE story_tables (
    id           UUID    NOT NULL PRIMARY KEY,
    worker       UUID,
    epoch        BIGINT  NOT NULL CHECK (epoch > 0),
    claim        BIGINT  NOT NULL DEFAULT 0 CHECK (claim >= 0), -- the number of its worker's claim of many that took it
    base_version BIGINT  NOT NULL DEFAULT 0 CHECK (base_version >= 0), -- entries under its base
    is_live      BOOLEAN NOT NULL, -- it has something to do by itself
    is_bare      BOOLEAN NOT NULL  -- no game of it was left when that was last looked at
);

CREATE INDEX story_tables_live ON story_tables (worker, id) WHERE is_live;
CREATE INDEX story_tables_bare ON story_tables (id)         WHERE is_bare;

-- What a load starts from, where there is one.
CREATE TABLE story_bases (
    table_id UUID    NOT NULL PRIMARY KEY,
    data     BYTEA   NOT NULL
);

-- The entries after the base. Without a reference to `story_tables`: the fence that guards every write looks it up anyway.
CREATE TABLE story_log (
    table_id UUID    NOT NULL,
    version  BIGINT  NOT NULL CHECK (version >= 0),
    data     BYTEA   NOT NULL,
    PRIMARY KEY (table_id, version)
);

CREATE TABLE story_games (
    table_id    UUID    NOT NULL,
    number      BIGINT  NOT NULL CHECK (number >= 0),
    storyteller UUID    NOT NULL,
    phase       TEXT    NOT NULL CHECK (phase IN ('create', 'invitation', 'vote', 'complete', 'canceled')),
    sentence    TEXT,
    players     BIGINT  NOT NULL CHECK (players >= 0),
    players_max BIGINT  NOT NULL CHECK (players_max >= 0),
    created_at  BIGINT  NOT NULL,
    ended_at    BIGINT,
    PRIMARY KEY (table_id, number),
    CHECK ((phase IN ('complete', 'canceled')) = (ended_at IS NOT NULL))
);

-- The lobby; the history, which is also the order in which games are forgotten.
CREATE INDEX story_games_open  ON story_games (created_at, table_id, number)
    WHERE phase IN ('create', 'invitation') AND players < players_max;
CREATE INDEX story_games_ended ON story_games (ended_at, table_id, number) WHERE ended_at IS NOT NULL;

CREATE TABLE story_seats (
    table_id   UUID    NOT NULL,
    number     BIGINT  NOT NULL,
    player     UUID    NOT NULL,
    role       TEXT    NOT NULL CHECK (role IN ('storyteller', 'player', 'invited')),
    created_at BIGINT  NOT NULL, -- the game's: a player's list of games is read in this order
    is_ended   BOOLEAN NOT NULL,
    is_won     BOOLEAN,
    PRIMARY KEY (table_id, number, player)
);

CREATE INDEX story_seats_by_player ON story_seats (player, is_ended, created_at, table_id, number);

-- Everything that may be asked about a game that has ended.
CREATE TABLE story_records (
    table_id UUID    NOT NULL,
    number   BIGINT  NOT NULL,
    data     BYTEA   NOT NULL,
    PRIMARY KEY (table_id, number)
);

-- Of players who were ever scored. A set of cards is 64 bits: bit n is card n.
CREATE TABLE story_standings (
    player      UUID    NOT NULL PRIMARY KEY,
    score       BIGINT  NOT NULL CHECK (score >= 0),
    score_prev  BIGINT  NOT NULL CHECK (score_prev >= 0),
    levelups    BIGINT  NOT NULL CHECK (levelups >= 0),
    earned      BIGINT  NOT NULL,
    earned_last BIGINT  NOT NULL
);

-- As `idempotency_keys`, of players: a guest has no account.
CREATE TABLE story_answers (
    player      UUID    NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint BYTEA   NOT NULL CHECK (length(fingerprint) = 32),
    answer      BYTEA   NOT NULL,
    created_at  BIGINT  NOT NULL,
    PRIMARY KEY (player, key)
);

CREATE INDEX story_answers_by_age ON story_answers (created_at);

-- Rows of these two change or live for minutes: dead ones are cleared away early.
ALTER TABLE story_tables SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE story_log    SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- Random keys of the whole database, made by whoever needs one first.
CREATE TABLE secrets (
    name TEXT    NOT NULL PRIMARY KEY,
    data BYTEA   NOT NULL
);

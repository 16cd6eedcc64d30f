-- Everything that lasts, first form. Ids are 16 bytes in network order (they sort by age); times are milliseconds since 1970.
-- The life of a match is drawn in docs/lifecycles/match.md; the CHECK constraints of `matches` repeat it.

CREATE TABLE accounts (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    name       TEXT    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    fair_tag   INTEGER NOT NULL DEFAULT 0 CHECK (fair_tag >= 0), -- of its newest match in the queue
    bots       INTEGER NOT NULL DEFAULT 0 CHECK (bots >= 0)      -- that it has registered
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    account    BLOB    NOT NULL REFERENCES accounts (id),
    name       TEXT    NOT NULL,
    role       TEXT    NOT NULL CHECK (role IN ('guest', 'player', 'operator', 'admin')),
    digest     BLOB    NOT NULL UNIQUE CHECK (length(digest) = 32), -- SHA-256 of the secret, which is nowhere
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX tokens_by_account ON tokens (account, id);

CREATE TABLE bots (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    account    BLOB    NOT NULL REFERENCES accounts (id),
    name       TEXT    NOT NULL,
    url        TEXT    NOT NULL,
    is_public  INTEGER NOT NULL CHECK (is_public IN (0, 1)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX bots_by_account ON bots (account, id);

-- One life of one runner each. A running match whose worker is null, not here, or past its lease is an orphan.
CREATE TABLE workers (
    id          BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    address     TEXT    NOT NULL,
    lease_until INTEGER NOT NULL,
    is_given_up INTEGER NOT NULL CHECK (is_given_up IN (0, 1)),
    claims      INTEGER NOT NULL DEFAULT 0 CHECK (claims >= 0) -- the highest number of its claims
) STRICT, WITHOUT ROWID;

CREATE TABLE matches (
    id               BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    account          BLOB    NOT NULL REFERENCES accounts (id),
    -- what is played
    ruleset          TEXT    NOT NULL,
    map              TEXT    NOT NULL,
    is_solo          INTEGER NOT NULL CHECK (is_solo IN (0, 1)),
    food_spawn_chance       INTEGER NOT NULL CHECK (food_spawn_chance >= 0),
    minimum_food            INTEGER NOT NULL CHECK (minimum_food >= 0),
    hazard_damage_per_turn  INTEGER NOT NULL,
    shrink_every_n_turns    INTEGER NOT NULL CHECK (shrink_every_n_turns >= 0),
    width            INTEGER NOT NULL CHECK (width BETWEEN 0 AND 255),
    height           INTEGER NOT NULL CHECK (height BETWEEN 0 AND 255),
    seed             INTEGER NOT NULL, -- the same 64 bits, read as a signed number
    timeout_ms       INTEGER NOT NULL CHECK (timeout_ms >= 0),
    turns_max        INTEGER NOT NULL CHECK (turns_max >= 0),
    -- where it is in its life
    state            TEXT    NOT NULL CHECK (state IN ('waiting', 'running', 'finished', 'failed', 'cancelled')),
    epoch            INTEGER NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    worker           BLOB    CHECK (length(worker) = 16),
    fair_tag         INTEGER CHECK (fair_tag > 0), -- its place in the queue
    attempts_charged INTEGER NOT NULL DEFAULT 0 CHECK (attempts_charged >= 0),
    claimed_version  INTEGER NOT NULL DEFAULT 0 CHECK (claimed_version >= 0), -- entries in the log at the last claim
    claim            INTEGER NOT NULL DEFAULT 0 CHECK (claim >= 0), -- the number of its worker's claim that took it
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    enqueued_at      INTEGER NOT NULL,
    started_at       INTEGER,
    ended_at         INTEGER,
    -- how it ended
    failure          TEXT,
    version          INTEGER CHECK (version >= 0), -- entries in its log; of a match that has not ended, the log itself says
    turns            INTEGER CHECK (turns >= 0),
    late_moves       INTEGER CHECK (late_moves >= 0),
    is_draw          INTEGER CHECK (is_draw IN (0, 1)),
    winner_seat      INTEGER CHECK (winner_seat >= 0),
    CHECK ((state = 'waiting') = (fair_tag IS NOT NULL)),
    CHECK (worker IS NULL OR state = 'running'),
    CHECK (state <> 'running' OR epoch > 0),
    CHECK ((state IN ('finished', 'failed', 'cancelled')) = (ended_at IS NOT NULL)),
    CHECK ((ended_at IS NULL) = (version IS NULL)),
    CHECK ((ended_at IS NULL) = (turns IS NULL)),
    CHECK ((ended_at IS NULL) = (late_moves IS NULL)),
    CHECK ((state = 'failed') = (failure IS NOT NULL)),
    CHECK ((state = 'finished') = (is_draw IS NOT NULL)),
    CHECK (winner_seat IS NULL OR state = 'finished')
) STRICT, WITHOUT ROWID;

CREATE INDEX matches_waiting    ON matches (fair_tag, id)        WHERE state = 'waiting';
CREATE INDEX matches_running    ON matches (worker, id)          WHERE state = 'running';
CREATE INDEX matches_ended      ON matches (state, ended_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX matches_by_account ON matches (account, id);

CREATE TABLE seats (
    match_id BLOB    NOT NULL REFERENCES matches (id),
    seat     INTEGER NOT NULL CHECK (seat BETWEEN 0 AND 15),
    bot      BLOB    NOT NULL, -- no reference: a match outlives its bots
    name     TEXT    NOT NULL,
    url      TEXT    NOT NULL,
    place    INTEGER CHECK (place >= 1),
    cause    TEXT,
    PRIMARY KEY (match_id, seat)
) STRICT, WITHOUT ROWID;

CREATE INDEX seats_by_bot ON seats (bot, match_id);

-- The logs of matches that have not finished. Written ten thousand times a second, so without a reference to `matches`:
-- the fence that guards every write looks the match up anyway.
CREATE TABLE match_log (
    match_id   BLOB    NOT NULL,
    version    INTEGER NOT NULL CHECK (version >= 0),
    turns      INTEGER NOT NULL,
    late_moves INTEGER NOT NULL,
    data       BLOB    NOT NULL,
    PRIMARY KEY (match_id, version)
) STRICT, WITHOUT ROWID;

-- The logs of finished matches, compressed, one row each.
CREATE TABLE match_archive (
    match_id BLOB NOT NULL PRIMARY KEY REFERENCES matches (id),
    data     BLOB NOT NULL
) STRICT;

CREATE TABLE idempotency_keys (
    account     BLOB    NOT NULL REFERENCES accounts (id),
    key         TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL CHECK (length(fingerprint) = 32),
    answer      BLOB    NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (account, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- Figures that are kept instead of counted.
CREATE TABLE tally (
    name  TEXT    NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL CHECK (value >= 0)
) STRICT, WITHOUT ROWID;

INSERT INTO tally (name, value)
VALUES ('waiting', 0), ('running', 0), ('finished', 0), ('failed', 0), ('cancelled', 0), ('archive_bytes', 0),
       ('virtual_time', 0); -- the highest fair_tag that was claimed from the queue

-- What happened in each minute since 1970.
CREATE TABLE minutes (
    minute      INTEGER NOT NULL PRIMARY KEY,
    created     INTEGER NOT NULL,
    finished    INTEGER NOT NULL,
    timed       INTEGER NOT NULL, -- finished ones of which it is known when they started
    duration_ms INTEGER NOT NULL  -- their times from start to end, together
) STRICT;

-- Written and emptied in one transaction by whoever asks whether the disk still takes a write.
CREATE TABLE probe (
    written_at INTEGER NOT NULL
) STRICT;

-- Everything that lasts, first form. Ids sort by age; times are milliseconds since 1970; every number is a BIGINT, so that it is
-- read alike everywhere.
-- The life of a match is drawn in docs/lifecycles/match.md; the CHECK constraints of `matches` repeat it.

CREATE TABLE accounts (
    id         UUID    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    fair_tag   BIGINT NOT NULL DEFAULT 0 CHECK (fair_tag >= 0), -- of its newest match in the queue
    bots       BIGINT NOT NULL DEFAULT 0 CHECK (bots >= 0)      -- that it has registered
);

CREATE TABLE tokens (
    id         UUID    NOT NULL PRIMARY KEY,
    account    UUID    NOT NULL REFERENCES accounts (id),
    name       TEXT    NOT NULL,
    role       TEXT    NOT NULL CHECK (role IN ('guest', 'player', 'operator', 'admin')),
    digest     BYTEA    NOT NULL UNIQUE CHECK (length(digest) = 32), -- SHA-256 of the secret, which is nowhere
    created_at BIGINT NOT NULL
);

CREATE INDEX tokens_by_account ON tokens (account, id);

CREATE TABLE bots (
    id         UUID    NOT NULL PRIMARY KEY,
    account    UUID    NOT NULL REFERENCES accounts (id),
    name       TEXT    NOT NULL,
    url        TEXT    NOT NULL,
    is_public  BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (account, name)
);

CREATE INDEX bots_by_account ON bots (account, id);

-- One life of one runner each. A running match whose worker is null, not here, or past its lease is an orphan.
CREATE TABLE workers (
    id          UUID    NOT NULL PRIMARY KEY,
    address     TEXT    NOT NULL,
    lease_until BIGINT NOT NULL,
    is_given_up BOOLEAN NOT NULL,
    claims      BIGINT NOT NULL DEFAULT 0 CHECK (claims >= 0) -- the highest number of its claims
);

CREATE TABLE matches (
    id               UUID    NOT NULL PRIMARY KEY,
    account          UUID    NOT NULL REFERENCES accounts (id),
    -- what is played
    ruleset          TEXT    NOT NULL,
    map              TEXT    NOT NULL,
    is_solo          BOOLEAN NOT NULL,
    food_spawn_chance       BIGINT NOT NULL CHECK (food_spawn_chance >= 0),
    minimum_food            BIGINT NOT NULL CHECK (minimum_food >= 0),
    hazard_damage_per_turn  BIGINT NOT NULL,
    shrink_every_n_turns    BIGINT NOT NULL CHECK (shrink_every_n_turns >= 0),
    width            BIGINT NOT NULL CHECK (width BETWEEN 0 AND 255),
    height           BIGINT NOT NULL CHECK (height BETWEEN 0 AND 255),
    seed             BIGINT NOT NULL, -- the same 64 bits, read as a signed number
    timeout_ms       BIGINT NOT NULL CHECK (timeout_ms >= 0),
    turns_max        BIGINT NOT NULL CHECK (turns_max >= 0),
    -- where it is in its life
    state            TEXT    NOT NULL CHECK (state IN ('waiting', 'running', 'finished', 'failed', 'cancelled')),
    epoch            BIGINT NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    worker           UUID,
    fair_tag         BIGINT CHECK (fair_tag > 0), -- its place in the queue
    attempts_charged BIGINT NOT NULL DEFAULT 0 CHECK (attempts_charged >= 0),
    claimed_version  BIGINT NOT NULL DEFAULT 0 CHECK (claimed_version >= 0), -- entries in the log at the last claim
    claim            BIGINT NOT NULL DEFAULT 0 CHECK (claim >= 0), -- the number of its worker's claim that took it
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    enqueued_at      BIGINT NOT NULL,
    started_at       BIGINT,
    ended_at         BIGINT,
    -- how it ended
    failure          TEXT,
    version          BIGINT CHECK (version >= 0), -- entries in its log; of a match that has not ended, the log itself says
    turns            BIGINT CHECK (turns >= 0),
    late_moves       BIGINT CHECK (late_moves >= 0),
    is_draw          BOOLEAN,
    winner_seat      BIGINT CHECK (winner_seat >= 0),
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
);

CREATE INDEX matches_waiting    ON matches (fair_tag, id)        WHERE state = 'waiting';
CREATE INDEX matches_running    ON matches (worker, id)          WHERE state = 'running';
CREATE INDEX matches_ended      ON matches (state, ended_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX matches_by_account ON matches (account, id);

CREATE TABLE seats (
    match_id UUID    NOT NULL REFERENCES matches (id),
    seat     BIGINT NOT NULL CHECK (seat BETWEEN 0 AND 15),
    bot      UUID    NOT NULL, -- no reference: a match outlives its bots
    name     TEXT    NOT NULL,
    url      TEXT    NOT NULL,
    place    BIGINT CHECK (place >= 1),
    cause    TEXT,
    PRIMARY KEY (match_id, seat)
);

CREATE INDEX seats_by_bot ON seats (bot, match_id);

-- The logs of matches that have not finished. Written ten thousand times a second, so without a reference to `matches`:
-- the fence that guards every write looks the match up anyway.
CREATE TABLE match_log (
    match_id   UUID    NOT NULL,
    version    BIGINT NOT NULL CHECK (version >= 0),
    turns      BIGINT NOT NULL,
    late_moves BIGINT NOT NULL,
    data       BYTEA    NOT NULL,
    PRIMARY KEY (match_id, version)
);

-- The logs of finished matches, compressed, one row each.
CREATE TABLE match_archive (
    match_id UUID  NOT NULL PRIMARY KEY REFERENCES matches (id),
    data     BYTEA NOT NULL
);

-- Compressed already.
ALTER TABLE match_archive ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE idempotency_keys (
    account     UUID    NOT NULL REFERENCES accounts (id),
    key         TEXT    NOT NULL,
    fingerprint BYTEA    NOT NULL CHECK (length(fingerprint) = 32),
    answer      BYTEA    NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (account, key)
);

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- Rows of these two live for a minute or two: dead ones are cleared away early.
ALTER TABLE matches   SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE match_log SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- A match with its figures at this moment: of one that has not ended, the last entry of its log has them.
CREATE VIEW matches_now AS
SELECT m.id, m.account, m.ruleset, m.map, m.is_solo, m.food_spawn_chance, m.minimum_food, m.hazard_damage_per_turn,
       m.shrink_every_n_turns, m.width, m.height, m.seed, m.timeout_ms, m.turns_max,
       m.state, m.epoch, m.worker, m.attempts_charged, m.created_at, m.updated_at, m.enqueued_at, m.started_at, m.ended_at,
       m.failure, m.is_draw, m.winner_seat,
       coalesce(m.version, last.version + 1, 0)  AS version,
       coalesce(m.turns, last.turns, 0)           AS turns,
       coalesce(m.late_moves, last.late_moves, 0) AS late_moves
FROM matches m
LEFT JOIN LATERAL (
    SELECT version, turns, late_moves FROM match_log WHERE match_id = m.id ORDER BY version DESC LIMIT 1
) AS last ON m.ended_at IS NULL;

-- Figures that are kept instead of counted.
CREATE TABLE tally (
    name  TEXT    NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL CHECK (value >= 0)
);

INSERT INTO tally (name, value)
VALUES ('waiting', 0), ('running', 0), ('finished', 0), ('failed', 0), ('cancelled', 0), ('archive_bytes', 0),
       ('virtual_time', 0); -- the highest fair_tag that was claimed from the queue

-- What happened in each minute since 1970.
CREATE TABLE minutes (
    minute      BIGINT NOT NULL PRIMARY KEY,
    created     BIGINT NOT NULL,
    finished    BIGINT NOT NULL,
    timed       BIGINT NOT NULL, -- finished ones of which it is known when they started
    duration_ms BIGINT NOT NULL  -- their times from start to end, together
);

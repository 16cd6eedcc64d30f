-- Competitions: ladders, tournaments and duels, with the results of the matches that are played for them; and which process leads a job
-- that is done once for all nodes.

CREATE TABLE competitions (
    id              UUID NOT NULL PRIMARY KEY,
    kind            TEXT NOT NULL CHECK (kind IN ('ladder', 'tournament', 'duel')),
    account         UUID NOT NULL REFERENCES accounts (id),
    name            TEXT NOT NULL,
    definition      BYTEA NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('scheduled', 'running', 'finished', 'cancelled')),
    is_public       BOOLEAN NOT NULL,
    created_at      BIGINT NOT NULL,
    started_at      BIGINT,
    ended_at        BIGINT,
    due_at          BIGINT, -- when it wants to be advanced without a result
    version         BIGINT NOT NULL DEFAULT 0 CHECK (version >= 0), -- entries in its log
    matches_created BIGINT NOT NULL DEFAULT 0 CHECK (matches_created >= 0),
    results         BIGINT NOT NULL DEFAULT 0 CHECK (results >= 0), -- the number of its last result
    results_applied BIGINT NOT NULL DEFAULT 0 CHECK (results_applied BETWEEN 0 AND results),
    CHECK ((status IN ('finished', 'cancelled')) = (ended_at IS NOT NULL))
);

CREATE INDEX competitions_public     ON competitions (kind, id) WHERE is_public;
CREATE INDEX competitions_by_account ON competitions (account, kind, id);
CREATE INDEX competitions_live       ON competitions (account, kind) WHERE ended_at IS NULL;
CREATE INDEX competitions_due        ON competitions (kind, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX competitions_unapplied  ON competitions (kind, id) WHERE results_applied < results;

-- What a competition decided, entry by entry, in the bytes of its kind.
CREATE TABLE competition_log (
    competition UUID NOT NULL REFERENCES competitions (id),
    version     BIGINT NOT NULL CHECK (version >= 0),
    data        BYTEA NOT NULL,
    PRIMARY KEY (competition, version)
);

-- Numbered from 1 without gaps, in the order in which they were committed. They outlive their matches.
CREATE TABLE competition_results (
    competition UUID NOT NULL REFERENCES competitions (id),
    number      BIGINT NOT NULL CHECK (number >= 1),
    match_id    UUID NOT NULL,
    key         BIGINT NOT NULL, -- the same 64 bits, read as a signed number
    ended_at    BIGINT NOT NULL,
    ending      TEXT NOT NULL CHECK (ending IN ('finished', 'failed', 'cancelled')),
    data        BYTEA NOT NULL,
    PRIMARY KEY (competition, number)
);

ALTER TABLE matches ADD COLUMN competition_kind TEXT CHECK (competition_kind IN ('ladder', 'tournament', 'duel'));
ALTER TABLE matches ADD COLUMN competition      UUID;
ALTER TABLE matches ADD COLUMN competition_key  BIGINT; -- the same 64 bits, read as a signed number
ALTER TABLE matches ADD COLUMN is_server_fault  BOOLEAN;
ALTER TABLE seats   ADD COLUMN food_eaten       BIGINT CHECK (food_eaten >= 0);

CREATE INDEX matches_by_competition ON matches (competition, id) WHERE competition IS NOT NULL;
CREATE INDEX matches_live_by_competition ON matches (competition, id) WHERE competition IS NOT NULL AND ended_at IS NULL;

-- As before, with columns more at its end.
CREATE OR REPLACE VIEW matches_now AS
SELECT m.id, m.account, m.ruleset, m.map, m.is_solo, m.food_spawn_chance, m.minimum_food, m.hazard_damage_per_turn,
       m.shrink_every_n_turns, m.width, m.height, m.seed, m.timeout_ms, m.turns_max,
       m.state, m.epoch, m.worker, m.attempts_charged, m.created_at, m.updated_at, m.enqueued_at, m.started_at, m.ended_at,
       m.failure, m.is_draw, m.winner_seat,
       coalesce(m.version, last.version + 1, 0)  AS version,
       coalesce(m.turns, last.turns, 0)           AS turns,
       coalesce(m.late_moves, last.late_moves, 0) AS late_moves,
       m.node, m.is_public, m.competition_kind, m.competition, m.competition_key, m.is_server_fault
FROM matches m
LEFT JOIN LATERAL (
    SELECT version, turns, late_moves FROM match_log WHERE match_id = m.id ORDER BY version DESC LIMIT 1
) AS last ON m.ended_at IS NULL;

-- One row for each job that was ever led. Nobody leads it any more once that worker's lease has ended.
CREATE TABLE leaders (
    job    TEXT NOT NULL PRIMARY KEY,
    worker UUID
);

INSERT INTO leaders (job, worker) SELECT 'matchmaking_queue', worker FROM matchmaking_queue;
INSERT INTO leaders (job, worker)
VALUES ('ladders', NULL), ('tournaments', NULL), ('duels', NULL), ('bot_health', NULL);
DROP TABLE matchmaking_queue;

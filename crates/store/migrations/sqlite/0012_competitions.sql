-- Competitions: ladders, tournaments and duels, with the results of the matches that are played for them; and which process leads a job
-- that is done once for all nodes.

CREATE TABLE competitions (
    id              BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    kind            TEXT NOT NULL CHECK (kind IN ('ladder', 'tournament', 'duel')),
    account         BLOB NOT NULL REFERENCES accounts (id),
    name            TEXT NOT NULL,
    definition      BLOB NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('scheduled', 'running', 'finished', 'cancelled')),
    is_public       INTEGER NOT NULL CHECK (is_public IN (0, 1)),
    created_at      INTEGER NOT NULL,
    started_at      INTEGER,
    ended_at        INTEGER,
    due_at          INTEGER, -- when it wants to be advanced without a result
    version         INTEGER NOT NULL DEFAULT 0 CHECK (version >= 0), -- entries in its log
    matches_created INTEGER NOT NULL DEFAULT 0 CHECK (matches_created >= 0),
    results         INTEGER NOT NULL DEFAULT 0 CHECK (results >= 0), -- the number of its last result
    results_applied INTEGER NOT NULL DEFAULT 0 CHECK (results_applied BETWEEN 0 AND results),
    CHECK ((status IN ('finished', 'cancelled')) = (ended_at IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX competitions_public     ON competitions (kind, id) WHERE is_public = 1;
CREATE INDEX competitions_by_account ON competitions (account, kind, id);
CREATE INDEX competitions_live       ON competitions (account, kind) WHERE ended_at IS NULL;
CREATE INDEX competitions_due        ON competitions (kind, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX competitions_unapplied  ON competitions (kind, id) WHERE results_applied < results;

-- What a competition decided, entry by entry, in the bytes of its kind.
CREATE TABLE competition_log (
    competition BLOB NOT NULL REFERENCES competitions (id),
    version     INTEGER NOT NULL CHECK (version >= 0),
    data        BLOB NOT NULL,
    PRIMARY KEY (competition, version)
) STRICT, WITHOUT ROWID;

-- Numbered from 1 without gaps, in the order in which they were committed. They outlive their matches.
CREATE TABLE competition_results (
    competition BLOB NOT NULL REFERENCES competitions (id),
    number      INTEGER NOT NULL CHECK (number >= 1),
    match_id    BLOB NOT NULL,
    key         INTEGER NOT NULL, -- the same 64 bits, read as a signed number
    ended_at    INTEGER NOT NULL,
    ending      TEXT NOT NULL CHECK (ending IN ('finished', 'failed', 'cancelled')),
    data        BLOB NOT NULL,
    PRIMARY KEY (competition, number)
) STRICT, WITHOUT ROWID;

ALTER TABLE matches ADD COLUMN competition_kind TEXT CHECK (competition_kind IN ('ladder', 'tournament', 'duel'));
ALTER TABLE matches ADD COLUMN competition      BLOB;
ALTER TABLE matches ADD COLUMN competition_key  INTEGER; -- the same 64 bits, read as a signed number
ALTER TABLE matches ADD COLUMN is_server_fault  INTEGER CHECK (is_server_fault IN (0, 1));
ALTER TABLE seats   ADD COLUMN food_eaten       INTEGER CHECK (food_eaten >= 0);

CREATE INDEX matches_by_competition ON matches (competition, id) WHERE competition IS NOT NULL;
CREATE INDEX matches_live_by_competition ON matches (competition, id) WHERE competition IS NOT NULL AND ended_at IS NULL;

-- One row for each job that was ever led. Nobody leads it any more once that worker's lease has ended.
CREATE TABLE leaders (
    job    TEXT NOT NULL PRIMARY KEY,
    worker BLOB CHECK (length(worker) = 16)
) STRICT, WITHOUT ROWID;

INSERT INTO leaders (job, worker) SELECT 'matchmaking_queue', worker FROM matchmaking_queue;
INSERT INTO leaders (job, worker)
VALUES ('ladders', NULL), ('tournaments', NULL), ('duels', NULL), ('bot_health', NULL);
DROP TABLE matchmaking_queue;

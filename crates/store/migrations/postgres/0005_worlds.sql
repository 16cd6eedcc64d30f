-- Worlds: who owns them, their claim logs, who joined, and what was counted of hunts.

CREATE TABLE worlds (
    id                 UUID    NOT NULL PRIMARY KEY,
    name               TEXT    NOT NULL UNIQUE CHECK (length(name) > 0),
    kind               TEXT    NOT NULL CHECK (kind IN ('world', 'hunt')),
    settings           BYTEA    NOT NULL,
    seed               BIGINT NOT NULL,
    creator            UUID,
    created_at         BIGINT NOT NULL,
    ends_at            BIGINT NOT NULL, -- the highest number for a world that stays
    admission          TEXT    NOT NULL CHECK (admission IN ('everybody', 'joined', 'matched')),
    players_max        BIGINT NOT NULL CHECK (players_max >= 0),
    players            BIGINT NOT NULL CHECK (players >= 0), -- rows in `world_members`
    worker             UUID,
    epoch              BIGINT NOT NULL DEFAULT 0 CHECK (epoch >= 0), -- 0: never claimed
    snapshot_version   BIGINT NOT NULL DEFAULT 0 CHECK (snapshot_version >= 0), -- entries that the snapshot holds
    aggregated_version BIGINT NOT NULL DEFAULT 0 CHECK (aggregated_version >= 0) -- entries that are counted
);

-- The lobby, and the order in which worlds are forgotten.
CREATE INDEX worlds_by_end     ON worlds (ends_at, id);
CREATE INDEX worlds_by_creator ON worlds (creator, ends_at) WHERE creator IS NOT NULL;

-- What a load starts from, where there is one.
CREATE TABLE world_snapshots (
    world_id UUID NOT NULL PRIMARY KEY,
    data     BYTEA NOT NULL
);

-- Claims: the entries after the snapshot, and those that are not counted yet.
CREATE TABLE world_log (
    world_id UUID    NOT NULL,
    version  BIGINT NOT NULL CHECK (version >= 0),
    data     BYTEA    NOT NULL,
    PRIMARY KEY (world_id, version)
);

CREATE TABLE world_members (
    world_id  UUID    NOT NULL,
    player    UUID    NOT NULL,
    joined_at BIGINT NOT NULL,
    PRIMARY KEY (world_id, player)
);

-- The leaderboard.
CREATE TABLE hunters (
    player     UUID    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    points     BIGINT NOT NULL CHECK (points >= 0),
    chests     BIGINT NOT NULL CHECK (chests >= 0),
    power_ups  BIGINT NOT NULL CHECK (power_ups >= 0),
    rounds     BIGINT NOT NULL CHECK (rounds >= 0),
    rounds_won BIGINT NOT NULL CHECK (rounds_won BETWEEN 0 AND rounds),
    last_at    BIGINT NOT NULL
);

CREATE INDEX hunters_by_points ON hunters (points, player);

CREATE TABLE hunt_rounds (
    world_id    UUID    NOT NULL,
    number      BIGINT NOT NULL CHECK (number >= 0),
    ended_at    BIGINT NOT NULL,
    winner      UUID,
    winner_name TEXT    NOT NULL,
    points      BIGINT NOT NULL CHECK (points >= 0),
    hunters     BIGINT NOT NULL CHECK (hunters >= 0),
    PRIMARY KEY (world_id, number)
);

-- One row.
CREATE TABLE hunt_totals (
    id        BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    hunters   BIGINT NOT NULL CHECK (hunters >= 0),
    points    BIGINT NOT NULL CHECK (points >= 0),
    chests    BIGINT NOT NULL CHECK (chests >= 0),
    power_ups BIGINT NOT NULL CHECK (power_ups >= 0),
    rounds    BIGINT NOT NULL CHECK (rounds >= 0)
);
INSERT INTO hunt_totals VALUES (1, 0, 0, 0, 0, 0);

-- Rows of these change or live for minutes: dead ones are cleared away early.
ALTER TABLE worlds          SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE world_log       SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE world_snapshots SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- Worlds: who owns them, their claim logs, who joined, and what was counted of hunts.

CREATE TABLE worlds (
    id                 BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    name               TEXT    NOT NULL UNIQUE CHECK (length(name) > 0),
    kind               TEXT    NOT NULL CHECK (kind IN ('world', 'hunt')),
    settings           BLOB    NOT NULL,
    seed               INTEGER NOT NULL,
    creator            BLOB    CHECK (length(creator) = 16),
    created_at         INTEGER NOT NULL,
    ends_at            INTEGER NOT NULL, -- the highest number for a world that stays
    admission          TEXT    NOT NULL CHECK (admission IN ('everybody', 'joined', 'matched')),
    players_max        INTEGER NOT NULL CHECK (players_max >= 0),
    players            INTEGER NOT NULL CHECK (players >= 0), -- rows in `world_members`
    worker             BLOB    CHECK (length(worker) = 16),
    epoch              INTEGER NOT NULL DEFAULT 0 CHECK (epoch >= 0), -- 0: never claimed
    snapshot_version   INTEGER NOT NULL DEFAULT 0 CHECK (snapshot_version >= 0), -- entries that the snapshot holds
    aggregated_version INTEGER NOT NULL DEFAULT 0 CHECK (aggregated_version >= 0) -- entries that are counted
) STRICT, WITHOUT ROWID;

-- The lobby, and the order in which worlds are forgotten.
CREATE INDEX worlds_by_end     ON worlds (ends_at, id);
CREATE INDEX worlds_by_creator ON worlds (creator, ends_at) WHERE creator IS NOT NULL;

-- What a load starts from, where there is one.
CREATE TABLE world_snapshots (
    world_id BLOB NOT NULL PRIMARY KEY CHECK (length(world_id) = 16),
    data     BLOB NOT NULL
) STRICT;

-- Claims: the entries after the snapshot, and those that are not counted yet.
CREATE TABLE world_log (
    world_id BLOB    NOT NULL CHECK (length(world_id) = 16),
    version  INTEGER NOT NULL CHECK (version >= 0),
    data     BLOB    NOT NULL,
    PRIMARY KEY (world_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE world_members (
    world_id  BLOB    NOT NULL CHECK (length(world_id) = 16),
    player    BLOB    NOT NULL CHECK (length(player) = 16),
    joined_at INTEGER NOT NULL,
    PRIMARY KEY (world_id, player)
) STRICT, WITHOUT ROWID;

-- The leaderboard.
CREATE TABLE hunters (
    player     BLOB    NOT NULL PRIMARY KEY CHECK (length(player) = 16),
    name       TEXT    NOT NULL,
    points     INTEGER NOT NULL CHECK (points >= 0),
    chests     INTEGER NOT NULL CHECK (chests >= 0),
    power_ups  INTEGER NOT NULL CHECK (power_ups >= 0),
    rounds     INTEGER NOT NULL CHECK (rounds >= 0),
    rounds_won INTEGER NOT NULL CHECK (rounds_won BETWEEN 0 AND rounds),
    last_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX hunters_by_points ON hunters (points, player);

CREATE TABLE hunt_rounds (
    world_id    BLOB    NOT NULL CHECK (length(world_id) = 16),
    number      INTEGER NOT NULL CHECK (number >= 0),
    ended_at    INTEGER NOT NULL,
    winner      BLOB    CHECK (length(winner) = 16),
    winner_name TEXT    NOT NULL,
    points      INTEGER NOT NULL CHECK (points >= 0),
    hunters     INTEGER NOT NULL CHECK (hunters >= 0),
    PRIMARY KEY (world_id, number)
) STRICT, WITHOUT ROWID;

-- One row.
CREATE TABLE hunt_totals (
    id        INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    hunters   INTEGER NOT NULL CHECK (hunters >= 0),
    points    INTEGER NOT NULL CHECK (points >= 0),
    chests    INTEGER NOT NULL CHECK (chests >= 0),
    power_ups INTEGER NOT NULL CHECK (power_ups >= 0),
    rounds    INTEGER NOT NULL CHECK (rounds >= 0)
) STRICT;
INSERT INTO hunt_totals VALUES (1, 0, 0, 0, 0, 0);

-- Beside the bots: their health, how they answered, and with which secrets their calls are signed.

CREATE TABLE bot_health (
    bot           BLOB    NOT NULL PRIMARY KEY CHECK (length(bot) = 16),
    version       INTEGER NOT NULL CHECK (version > 0), -- how often it was written
    status        TEXT    NOT NULL CHECK (status IN ('untested', 'healthy', 'failing', 'paused')),
    since         INTEGER NOT NULL,
    failures      INTEGER NOT NULL CHECK (failures BETWEEN 0 AND 255), -- in a row
    successes     INTEGER NOT NULL CHECK (successes BETWEEN 0 AND 255),
    reason        TEXT,    -- of the last failure
    next_probe_at INTEGER, -- null: only on request
    watched_until INTEGER NOT NULL,
    records       BLOB    NOT NULL -- the latest evidence
) STRICT, WITHOUT ROWID;

CREATE INDEX bot_health_due    ON bot_health (next_probe_at) WHERE next_probe_at IS NOT NULL;
CREATE INDEX bot_health_paused ON bot_health (bot)           WHERE status = 'paused';

-- Each process has rows of its own, which it writes again as it counts on.
CREATE TABLE bot_calls (
    bot     BLOB    NOT NULL CHECK (length(bot) = 16),
    hour    INTEGER NOT NULL CHECK (hour >= 0), -- since 1970
    process INTEGER NOT NULL,
    data    BLOB    NOT NULL,
    PRIMARY KEY (bot, hour, process)
) STRICT, WITHOUT ROWID;

CREATE INDEX bot_calls_by_hour ON bot_calls (hour);

-- No secret: it is derived from a secret of the database, the bot and this number.
CREATE TABLE bot_signing (
    bot            BLOB    NOT NULL PRIMARY KEY CHECK (length(bot) = 16),
    generation     INTEGER NOT NULL CHECK (generation > 0),
    is_on          INTEGER NOT NULL CHECK (is_on IN (0, 1)),
    created_at     INTEGER NOT NULL,
    previous_until INTEGER NOT NULL -- until then the secret before is used, too
) STRICT, WITHOUT ROWID;

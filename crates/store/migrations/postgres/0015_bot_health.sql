-- Beside the bots: their health, how they answered, and with which secrets their calls are signed.

CREATE TABLE bot_health (
    bot           UUID    NOT NULL PRIMARY KEY,
    version       BIGINT NOT NULL CHECK (version > 0), -- how often it was written
    status        TEXT    NOT NULL CHECK (status IN ('untested', 'healthy', 'failing', 'paused')),
    since         BIGINT NOT NULL,
    failures      BIGINT NOT NULL CHECK (failures BETWEEN 0 AND 255), -- in a row
    successes     BIGINT NOT NULL CHECK (successes BETWEEN 0 AND 255),
    reason        TEXT,    -- of the last failure
    next_probe_at BIGINT, -- null: only on request
    watched_until BIGINT NOT NULL,
    records       BYTEA   NOT NULL -- the latest evidence
);

CREATE INDEX bot_health_due    ON bot_health (next_probe_at) WHERE next_probe_at IS NOT NULL;
CREATE INDEX bot_health_paused ON bot_health (bot)           WHERE status = 'paused';

-- Each process has rows of its own, which it writes again as it counts on.
CREATE TABLE bot_calls (
    bot     UUID    NOT NULL,
    hour    BIGINT NOT NULL CHECK (hour >= 0), -- since 1970
    process BIGINT NOT NULL,
    data    BYTEA   NOT NULL,
    PRIMARY KEY (bot, hour, process)
);

CREATE INDEX bot_calls_by_hour ON bot_calls (hour);

-- No secret: it is derived from a secret of the database, the bot and this number.
CREATE TABLE bot_signing (
    bot            UUID    NOT NULL PRIMARY KEY,
    generation     BIGINT NOT NULL CHECK (generation > 0),
    is_on          BOOLEAN NOT NULL,
    created_at     BIGINT NOT NULL,
    previous_until BIGINT NOT NULL -- until then the secret before is used, too
);

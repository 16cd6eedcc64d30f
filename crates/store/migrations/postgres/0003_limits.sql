-- What a token is for, and the rules of the rate limiter that were set while the server ran.

ALTER TABLE tokens ADD COLUMN purpose TEXT NOT NULL DEFAULT 'use' CHECK (purpose IN ('use', 'load_test'));

-- What the server understands by a definition is its own business.
CREATE TABLE limit_policies (
    name       TEXT NOT NULL PRIMARY KEY,
    definition TEXT NOT NULL
);

-- No reference: a policy may stand in the server's file instead of here.
CREATE TABLE limit_overrides (
    policy    TEXT   NOT NULL,
    key       BYTEA  NOT NULL,
    quota     BIGINT NOT NULL, -- units a window: the same 64 bits, read as a signed number
    window_ms BIGINT NOT NULL, -- likewise
    PRIMARY KEY (policy, key)
);

-- One row: how often the two have changed, and how many rows they have, kept instead of counted. Whoever changes one of the two
-- locks it first.
CREATE TABLE limit_figures (
    id        BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    version   BIGINT NOT NULL CHECK (version >= 0),
    policies  BIGINT NOT NULL CHECK (policies >= 0),
    overrides BIGINT NOT NULL CHECK (overrides >= 0)
);

INSERT INTO limit_figures (id, version, policies, overrides) VALUES (1, 0, 0, 0);

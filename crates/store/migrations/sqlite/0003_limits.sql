-- What a token is for, and the rules of the rate limiter that were set while the server ran.

ALTER TABLE tokens ADD COLUMN purpose TEXT NOT NULL DEFAULT 'use' CHECK (purpose IN ('use', 'load_test'));

-- What the server understands by a definition is its own business.
CREATE TABLE limit_policies (
    name       TEXT NOT NULL PRIMARY KEY,
    definition TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- No reference: a policy may stand in the server's file instead of here.
CREATE TABLE limit_overrides (
    policy    TEXT    NOT NULL,
    key       BLOB    NOT NULL,
    quota     INTEGER NOT NULL, -- units a window: the same 64 bits, read as a signed number
    window_ms INTEGER NOT NULL, -- likewise
    PRIMARY KEY (policy, key)
) STRICT, WITHOUT ROWID;

-- One row: how often the two have changed, and how many rows they have, kept instead of counted.
CREATE TABLE limit_figures (
    id        INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    version   INTEGER NOT NULL CHECK (version >= 0),
    policies  INTEGER NOT NULL CHECK (policies >= 0),
    overrides INTEGER NOT NULL CHECK (overrides >= 0)
) STRICT;

INSERT INTO limit_figures (id, version, policies, overrides) VALUES (1, 0, 0, 0);

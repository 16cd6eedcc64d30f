-- Who may not use the server.

CREATE TABLE bans (
    id         BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    target     TEXT NOT NULL UNIQUE, -- account:ID, guest:ID, address:ADDRESS or address:NETWORK/LENGTH
    reason     TEXT NOT NULL,
    made_by    BLOB CHECK (length(made_by) = 16), -- an account; null: the command line
    created_at INTEGER NOT NULL,
    expires_at INTEGER -- null where it lasts until it is lifted
) STRICT, WITHOUT ROWID;

CREATE INDEX bans_by_expiry ON bans (expires_at, id) WHERE expires_at IS NOT NULL;

-- One row: how often bans were made and lifted.
CREATE TABLE ban_figures (
    id      INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL CHECK (version >= 0)
) STRICT;

INSERT INTO ban_figures (id, version) VALUES (1, 0);

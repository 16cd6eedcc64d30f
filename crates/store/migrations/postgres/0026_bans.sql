-- Who may not use the server.

CREATE TABLE bans (
    id         UUID NOT NULL PRIMARY KEY,
    target     TEXT NOT NULL UNIQUE, -- account:ID, guest:ID, address:ADDRESS or address:NETWORK/LENGTH
    reason     TEXT NOT NULL,
    made_by    UUID, -- an account; null: the command line
    created_at BIGINT NOT NULL,
    expires_at BIGINT -- null where it lasts until it is lifted
);

CREATE INDEX bans_by_expiry ON bans (expires_at, id) WHERE expires_at IS NOT NULL;

-- One row: how often bans were made and lifted.
CREATE TABLE ban_figures (
    id      INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    version BIGINT NOT NULL CHECK (version >= 0)
);

INSERT INTO ban_figures (id, version) VALUES (1, 0);

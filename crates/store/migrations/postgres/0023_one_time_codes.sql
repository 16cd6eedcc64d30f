-- Signing in without pasting secrets: tokens that end by themselves, and one-time codes.

-- When a token ends: that of a browser's session. Null where it lasts until it is deleted.
ALTER TABLE tokens ADD COLUMN expires_at BIGINT;
CREATE INDEX tokens_by_expiry ON tokens (expires_at, id) WHERE expires_at IS NOT NULL;

-- Invitations and sign-in links that were not used yet. Whoever made one may be any account, or none: the command line.
CREATE TABLE one_time_codes (
    id         UUID NOT NULL PRIMARY KEY,
    account    UUID REFERENCES accounts (id), -- whom a sign-in link signs in; null of an invitation
    name       TEXT, -- that an invitation suggests
    role       TEXT NOT NULL CHECK (role IN ('guest', 'player', 'operator', 'admin')), -- of the session
    digest     BYTEA NOT NULL UNIQUE CHECK (length(digest) = 32), -- SHA-256 of the code, which is nowhere
    made_by    UUID,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    CHECK (account IS NULL OR name IS NULL)
);

CREATE INDEX one_time_codes_by_account ON one_time_codes (account, id);
CREATE INDEX one_time_codes_by_expiry  ON one_time_codes (expires_at, id);

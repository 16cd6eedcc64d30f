-- What viewers and owners are shown: who owns a snake, which matches are public, and when a token was last used.

-- The name of the bot's account when the match was created. Of older matches nobody knows it any more.
ALTER TABLE seats ADD COLUMN owner TEXT NOT NULL DEFAULT '';

-- About a minute old at most. Null before the first use.
ALTER TABLE tokens ADD COLUMN last_used_at INTEGER;

-- Whether strangers may find it in a list: decided when the match is created.
ALTER TABLE matches ADD COLUMN is_public INTEGER NOT NULL DEFAULT 0 CHECK (is_public IN (0, 1));

CREATE INDEX matches_public_running ON matches (id)           WHERE is_public = 1 AND state = 'running';
CREATE INDEX matches_public_ended   ON matches (ended_at, id) WHERE is_public = 1 AND ended_at IS NOT NULL;

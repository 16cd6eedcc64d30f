-- What pages show of bots: those that strangers may find, how they look, and the public matches of one map.

CREATE INDEX bots_public ON bots (id) WHERE is_public = 1;

-- As a bot looked in its last match. Apart from the bot, whose row its owner alone changes.
CREATE TABLE bot_faces (
    bot   BLOB NOT NULL PRIMARY KEY CHECK (length(bot) = 16),
    color TEXT NOT NULL,
    head  TEXT NOT NULL,
    tail  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX matches_public_ended_by_map ON matches (map, ended_at, id) WHERE is_public = 1 AND ended_at IS NOT NULL;

-- What pages show of bots: those that strangers may find, how they look, and the public matches of one map.

CREATE INDEX bots_public ON bots (id) WHERE is_public;

-- As a bot looked in its last match. Apart from the bot, whose row its owner alone changes.
CREATE TABLE bot_faces (
    bot   UUID NOT NULL PRIMARY KEY,
    color TEXT NOT NULL,
    head  TEXT NOT NULL,
    tail  TEXT NOT NULL
);

CREATE INDEX matches_public_ended_by_map ON matches (map, ended_at, id) WHERE is_public AND ended_at IS NOT NULL;

-- Ladders: entries with their ratings by season, the games that made them, who met whom, what seats were worth, who is invited.

CREATE TABLE ladder_entries (
    ladder       BLOB NOT NULL REFERENCES competitions (id),
    season       INTEGER NOT NULL CHECK (season >= 1),
    bot          BLOB NOT NULL,
    entry        BLOB NOT NULL,
    account      BLOB, -- its owner; none where nothing but its games is known any more
    name         TEXT NOT NULL, -- the bot's last name, shown when it is gone
    is_active    INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    joined_at    INTEGER NOT NULL,
    mu           REAL NOT NULL,
    sigma        REAL NOT NULL CHECK (sigma > 0),
    score        REAL NOT NULL, -- what is shown: mu - 3 sigma
    is_ranked    INTEGER NOT NULL CHECK (is_ranked IN (0, 1)),
    games        INTEGER NOT NULL,
    first_places INTEGER NOT NULL,
    food_eaten   INTEGER NOT NULL,
    seats        BLOB NOT NULL, -- games by seat
    last_game_at INTEGER,
    PRIMARY KEY (ladder, season, bot)
) STRICT, WITHOUT ROWID;

CREATE INDEX ladder_entries_by_score   ON ladder_entries (ladder, season, is_ranked, score, bot) WHERE is_active = 1;
CREATE INDEX ladder_entries_by_food    ON ladder_entries (ladder, season, is_ranked, food_eaten, bot) WHERE is_active = 1;
CREATE INDEX ladder_entries_by_account ON ladder_entries (ladder, season, account) WHERE is_active = 1;
CREATE INDEX ladder_entries_by_bot     ON ladder_entries (bot);

-- One row for each bot in each rated game.
CREATE TABLE ladder_games (
    ladder       BLOB NOT NULL REFERENCES competitions (id),
    number       INTEGER NOT NULL, -- of the result
    seat         INTEGER NOT NULL,
    bot          BLOB NOT NULL,
    match_id     BLOB NOT NULL,
    ended_at     INTEGER NOT NULL,
    place        INTEGER NOT NULL,
    players      INTEGER NOT NULL,
    mu_before    REAL NOT NULL,
    sigma_before REAL NOT NULL,
    mu_after     REAL NOT NULL,
    sigma_after  REAL NOT NULL,
    PRIMARY KEY (ladder, number, seat)
) STRICT, WITHOUT ROWID;

CREATE INDEX ladder_games_by_bot ON ladder_games (ladder, bot, number);

-- Both ways: a bot against each of its opponents.
CREATE TABLE ladder_meetings (
    ladder   BLOB NOT NULL REFERENCES competitions (id),
    season   INTEGER NOT NULL,
    bot      BLOB NOT NULL,
    opponent BLOB NOT NULL,
    wins     INTEGER NOT NULL,
    losses   INTEGER NOT NULL,
    ties     INTEGER NOT NULL,
    PRIMARY KEY (ladder, season, bot, opponent)
) STRICT, WITHOUT ROWID;

CREATE TABLE ladder_seats (
    ladder       BLOB NOT NULL REFERENCES competitions (id),
    season       INTEGER NOT NULL,
    seat         INTEGER NOT NULL,
    games        INTEGER NOT NULL,
    first_places INTEGER NOT NULL,
    places       INTEGER NOT NULL, -- their sum
    PRIMARY KEY (ladder, season, seat)
) STRICT, WITHOUT ROWID;

CREATE TABLE ladder_invitations (
    ladder     BLOB NOT NULL REFERENCES competitions (id),
    account    BLOB NOT NULL,
    invited_at INTEGER NOT NULL,
    PRIMARY KEY (ladder, account)
) STRICT, WITHOUT ROWID;

CREATE INDEX ladder_invitations_by_account ON ladder_invitations (account, ladder);

-- Ladders: entries with their ratings by season, the games that made them, who met whom, what seats were worth, who is invited.

CREATE TABLE ladder_entries (
    ladder       UUID NOT NULL REFERENCES competitions (id),
    season       BIGINT NOT NULL CHECK (season >= 1),
    bot          UUID NOT NULL,
    entry        UUID NOT NULL,
    account      UUID, -- its owner; none where nothing but its games is known any more
    name         TEXT NOT NULL, -- the bot's last name, shown when it is gone
    is_active    BOOLEAN NOT NULL,
    joined_at    BIGINT NOT NULL,
    mu           DOUBLE PRECISION NOT NULL,
    sigma        DOUBLE PRECISION NOT NULL CHECK (sigma > 0),
    score        DOUBLE PRECISION NOT NULL, -- what is shown: mu - 3 sigma
    is_ranked    BOOLEAN NOT NULL,
    games        BIGINT NOT NULL,
    first_places BIGINT NOT NULL,
    food_eaten   BIGINT NOT NULL,
    seats        BYTEA NOT NULL, -- games by seat
    last_game_at BIGINT,
    PRIMARY KEY (ladder, season, bot)
);

CREATE INDEX ladder_entries_by_score   ON ladder_entries (ladder, season, is_ranked, score, bot) WHERE is_active;
CREATE INDEX ladder_entries_by_food    ON ladder_entries (ladder, season, is_ranked, food_eaten, bot) WHERE is_active;
CREATE INDEX ladder_entries_by_account ON ladder_entries (ladder, season, account) WHERE is_active;
CREATE INDEX ladder_entries_by_bot     ON ladder_entries (bot);

-- One row for each bot in each rated game.
CREATE TABLE ladder_games (
    ladder       UUID NOT NULL REFERENCES competitions (id),
    number       BIGINT NOT NULL, -- of the result
    seat         BIGINT NOT NULL,
    bot          UUID NOT NULL,
    match_id     UUID NOT NULL,
    ended_at     BIGINT NOT NULL,
    place        BIGINT NOT NULL,
    players      BIGINT NOT NULL,
    mu_before    DOUBLE PRECISION NOT NULL,
    sigma_before DOUBLE PRECISION NOT NULL,
    mu_after     DOUBLE PRECISION NOT NULL,
    sigma_after  DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (ladder, number, seat)
);

CREATE INDEX ladder_games_by_bot ON ladder_games (ladder, bot, number);

-- Both ways: a bot against each of its opponents.
CREATE TABLE ladder_meetings (
    ladder   UUID NOT NULL REFERENCES competitions (id),
    season   BIGINT NOT NULL,
    bot      UUID NOT NULL,
    opponent UUID NOT NULL,
    wins     BIGINT NOT NULL,
    losses   BIGINT NOT NULL,
    ties     BIGINT NOT NULL,
    PRIMARY KEY (ladder, season, bot, opponent)
);

CREATE TABLE ladder_seats (
    ladder       UUID NOT NULL REFERENCES competitions (id),
    season       BIGINT NOT NULL,
    seat         BIGINT NOT NULL,
    games        BIGINT NOT NULL,
    first_places BIGINT NOT NULL,
    places       BIGINT NOT NULL, -- their sum
    PRIMARY KEY (ladder, season, seat)
);

CREATE TABLE ladder_invitations (
    ladder     UUID NOT NULL REFERENCES competitions (id),
    account    UUID NOT NULL,
    invited_at BIGINT NOT NULL,
    PRIMARY KEY (ladder, account)
);

CREATE INDEX ladder_invitations_by_account ON ladder_invitations (account, ladder);

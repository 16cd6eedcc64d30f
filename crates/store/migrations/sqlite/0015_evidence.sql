-- Why a bot lost: whose each seat was, when its snake was out, and how the match ended for it.

-- The account that owned the bot when the match was created: who may see what it was sent. Of older matches whose bot is gone nobody.
ALTER TABLE seats ADD COLUMN account BLOB CHECK (length(account) = 16);
UPDATE seats SET account = (SELECT account FROM bots WHERE bots.id = seats.bot);

-- The turn that put the snake out; null of the living, and of older matches.
ALTER TABLE seats ADD COLUMN death_turn INTEGER CHECK (death_turn >= 0);

-- Set when the match finishes.
ALTER TABLE seats ADD COLUMN outcome TEXT CHECK (outcome IN ('won', 'drawn', 'lost'));
UPDATE seats SET outcome = CASE WHEN m.winner_seat = seats.seat THEN 'won' WHEN m.is_draw = 1 AND seats.place = 1 THEN 'drawn' ELSE 'lost' END
FROM matches m WHERE m.id = seats.match_id AND m.state = 'finished';

CREATE INDEX seats_by_outcome ON seats (bot, outcome, match_id) WHERE outcome IS NOT NULL;

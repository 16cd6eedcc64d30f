-- Lists of a snake's matches for those who do not own it: public matches, and private ones of the account that reads.

-- The account that created a private match; null of a public one.
ALTER TABLE seats ADD COLUMN private_to UUID;
UPDATE seats SET private_to = m.account FROM matches m WHERE m.id = seats.match_id AND NOT m.is_public;

CREATE INDEX seats_by_viewer             ON seats (bot, private_to, match_id);
CREATE INDEX seats_by_viewer_and_outcome ON seats (bot, private_to, outcome, match_id) WHERE outcome IS NOT NULL;

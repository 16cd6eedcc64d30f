-- Worlds of players that nobody was ever in: looked for every now and then, to be ended early.
CREATE INDEX worlds_unjoined ON worlds (ends_at) WHERE creator IS NOT NULL AND epoch = 0;

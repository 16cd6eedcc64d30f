-- Hunts that are over, were played, and may have a round that nobody has ended: an owner that ends a hunt says so when it gives it up.

ALTER TABLE worlds ADD COLUMN is_finished BOOLEAN NOT NULL DEFAULT FALSE;

CREATE INDEX worlds_unfinished ON worlds (ends_at, id) WHERE NOT is_finished AND epoch > 0 AND kind = 'hunt';

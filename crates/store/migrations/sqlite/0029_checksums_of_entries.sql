-- The checksum beside the games by seat of a ladder's entry is that of one bot in one season, as everywhere else; before, it was not bound to
-- them, because a season began with one for all entries. Now it begins with none.

UPDATE ladder_entries SET checksum = NULL WHERE checksum IS NOT NULL;

-- Commits that wrote a competition's records anew: what was computed from the records before is refused.
ALTER TABLE competitions ADD COLUMN repairs INTEGER NOT NULL DEFAULT 0 CHECK (repairs >= 0);

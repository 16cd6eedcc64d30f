-- Competitions that are due are paged through: many may be due at the same time.
DROP INDEX competitions_due;
CREATE INDEX competitions_due ON competitions (kind, due_at, id) WHERE due_at IS NOT NULL;

-- Every rated game writes its entries anew, and each version stands in the indexes of the rankings until it is vacuumed. Entries of seasons
-- that have ended are never written again: by a fifth of all rows, the rows of those that play would wait for longer with each season.

ALTER TABLE ladder_entries  SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE ladder_meetings SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

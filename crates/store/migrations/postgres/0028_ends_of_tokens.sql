-- Tokens of any kind may end by themselves. What a token is was told by its end before; null: as it was told then, by a program of the version before.

ALTER TABLE tokens ADD COLUMN is_session BOOLEAN; -- a browser's session, which signing out deletes

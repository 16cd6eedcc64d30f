-- Lists of games say who tells: a guest's name stands nowhere else that a list could read. NULL for games that were opened before.

ALTER TABLE story_games ADD COLUMN storyteller_name TEXT;

-- A match remembers the node that holds it or held it last: the address in the lease of the worker that claimed it. It stays when
-- the worker is gone, and is empty before the first claim. Of matches that ended before this step nobody knows it any more.

ALTER TABLE matches ADD COLUMN node TEXT;

UPDATE matches SET node = (SELECT address FROM workers WHERE workers.id = matches.worker)
WHERE state = 'running' AND worker IS NOT NULL;

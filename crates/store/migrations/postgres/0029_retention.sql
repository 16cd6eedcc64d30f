-- Duels and tournaments are forgotten in the order of their ends, where an operator has set a period; one node does what deletes.

CREATE INDEX competitions_ended ON competitions (ended_at, id) WHERE ended_at IS NOT NULL AND kind <> 'ladder';

INSERT INTO leaders (job, worker) VALUES ('retention', NULL);

-- Ladders that pair bots are looked for all the time.
CREATE INDEX competitions_running ON competitions (kind, id) WHERE status = 'running';

-- A match remembers the node that holds it or held it last: the address in the lease of the worker that claimed it. It stays when
-- the worker is gone, and is empty before the first claim. Of matches that ended before this step nobody knows it any more.

ALTER TABLE matches ADD COLUMN node TEXT;

UPDATE matches SET node = (SELECT address FROM workers WHERE workers.id = matches.worker)
WHERE state = 'running' AND worker IS NOT NULL;

-- As before, with one column more at its end, where nobody who knows only the others is disturbed.
CREATE OR REPLACE VIEW matches_now AS
SELECT m.id, m.account, m.ruleset, m.map, m.is_solo, m.food_spawn_chance, m.minimum_food, m.hazard_damage_per_turn,
       m.shrink_every_n_turns, m.width, m.height, m.seed, m.timeout_ms, m.turns_max,
       m.state, m.epoch, m.worker, m.attempts_charged, m.created_at, m.updated_at, m.enqueued_at, m.started_at, m.ended_at,
       m.failure, m.is_draw, m.winner_seat,
       coalesce(m.version, last.version + 1, 0)  AS version,
       coalesce(m.turns, last.turns, 0)           AS turns,
       coalesce(m.late_moves, last.late_moves, 0) AS late_moves,
       m.node
FROM matches m
LEFT JOIN LATERAL (
    SELECT version, turns, late_moves FROM match_log WHERE match_id = m.id ORDER BY version DESC LIMIT 1
) AS last ON m.ended_at IS NULL;

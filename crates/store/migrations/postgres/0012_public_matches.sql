-- What viewers and owners are shown: who owns a snake, which matches are public, and when a token was last used.

-- The name of the bot's account when the match was created. Of older matches nobody knows it any more.
ALTER TABLE seats ADD COLUMN owner TEXT NOT NULL DEFAULT '';

-- About a minute old at most. Null before the first use.
ALTER TABLE tokens ADD COLUMN last_used_at BIGINT;

-- Whether strangers may find it in a list: decided when the match is created.
ALTER TABLE matches ADD COLUMN is_public BOOLEAN NOT NULL DEFAULT false;

CREATE INDEX matches_public_running ON matches (id)           WHERE is_public AND state = 'running';
CREATE INDEX matches_public_ended   ON matches (ended_at, id) WHERE is_public AND ended_at IS NOT NULL;

-- As before, with one column more at its end.
CREATE OR REPLACE VIEW matches_now AS
SELECT m.id, m.account, m.ruleset, m.map, m.is_solo, m.food_spawn_chance, m.minimum_food, m.hazard_damage_per_turn,
       m.shrink_every_n_turns, m.width, m.height, m.seed, m.timeout_ms, m.turns_max,
       m.state, m.epoch, m.worker, m.attempts_charged, m.created_at, m.updated_at, m.enqueued_at, m.started_at, m.ended_at,
       m.failure, m.is_draw, m.winner_seat,
       coalesce(m.version, last.version + 1, 0)  AS version,
       coalesce(m.turns, last.turns, 0)           AS turns,
       coalesce(m.late_moves, last.late_moves, 0) AS late_moves,
       m.node, m.is_public
FROM matches m
LEFT JOIN LATERAL (
    SELECT version, turns, late_moves FROM match_log WHERE match_id = m.id ORDER BY version DESC LIMIT 1
) AS last ON m.ended_at IS NULL;

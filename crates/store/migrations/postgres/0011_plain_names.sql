-- Two tables under plain names: which worker owns the matchmaking queue, and the figures that are kept instead of counted.

ALTER TABLE hunt_desk RENAME TO matchmaking_queue;
ALTER TABLE matchmaking_queue RENAME CONSTRAINT hunt_desk_pkey TO matchmaking_queue_pkey;
ALTER TABLE matchmaking_queue RENAME CONSTRAINT hunt_desk_id_check TO matchmaking_queue_id_check;
ALTER TABLE tally RENAME TO counters;
ALTER TABLE counters RENAME CONSTRAINT tally_pkey TO counters_pkey;
ALTER TABLE counters RENAME CONSTRAINT tally_value_check TO counters_value_check;

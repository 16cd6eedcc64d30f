-- Two tables under plain names: which worker owns the matchmaking queue, and the figures that are kept instead of counted.

ALTER TABLE hunt_desk RENAME TO matchmaking_queue;
ALTER TABLE tally RENAME TO counters;

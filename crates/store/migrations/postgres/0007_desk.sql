-- One row: which worker keeps the matchmakers' desk, on which the tickets of all nodes lie, or kept it last. Nobody keeps it any more
-- once that worker's lease has ended.

CREATE TABLE hunt_desk (
    id     BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    worker UUID
);

INSERT INTO hunt_desk (id, worker) VALUES (1, NULL);

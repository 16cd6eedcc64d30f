-- What operators and admins changed. Ids begin with the time, so that the log is sorted by them.

CREATE TABLE audit_entries (
    id      UUID NOT NULL PRIMARY KEY,
    account UUID, -- null: the command line
    token   UUID, -- null: the bootstrap token, or the command line
    address TEXT,
    action  TEXT NOT NULL,
    target  TEXT,
    detail  TEXT,
    reason  TEXT,
    outcome TEXT NOT NULL -- done, or the code of the refusal
);

CREATE INDEX audit_entries_by_account ON audit_entries (account, id);
CREATE INDEX audit_entries_by_action ON audit_entries (action, id);
CREATE INDEX audit_entries_by_target ON audit_entries (target, id);

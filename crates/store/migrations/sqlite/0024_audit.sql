-- What operators and admins changed. Ids begin with the time, so that the log is sorted by them.

CREATE TABLE audit_entries (
    id      BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    account BLOB CHECK (length(account) = 16), -- null: the command line
    token   BLOB CHECK (length(token) = 16), -- null: the bootstrap token, or the command line
    address TEXT,
    action  TEXT NOT NULL,
    target  TEXT,
    detail  TEXT,
    reason  TEXT,
    outcome TEXT NOT NULL -- done, or the code of the refusal
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_entries_by_account ON audit_entries (account, id);
CREATE INDEX audit_entries_by_action ON audit_entries (action, id);
CREATE INDEX audit_entries_by_target ON audit_entries (target, id);

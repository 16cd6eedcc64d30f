-- Accounts can be deleted: what nobody may sign in to any more is kept as a row without a name, because results and competitions point to it.

-- When it was deleted; null: it is in use.
ALTER TABLE accounts ADD COLUMN deleted_at BIGINT;
-- When all that was its own was gone.
ALTER TABLE accounts ADD COLUMN cleared_at BIGINT;
CREATE INDEX accounts_uncleared ON accounts (deleted_at, id) WHERE deleted_at IS NOT NULL AND cleared_at IS NULL;

-- The name that an account had which was deleted while it was banned: nobody takes it while the ban holds.
ALTER TABLE bans ADD COLUMN held_name TEXT;
CREATE INDEX bans_by_held_name ON bans (held_name) WHERE held_name IS NOT NULL;

-- Few: whether an account is the last that an admin can use.
CREATE INDEX tokens_of_admins ON tokens (account, id) WHERE role = 'admin';

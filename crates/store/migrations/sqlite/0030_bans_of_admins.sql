-- The strongest role of who made a ban, who may be gone or have another one when it is to be lifted. Null: made on the command line, or by a program
-- that did not note it. Only admins lift it then.
ALTER TABLE bans ADD COLUMN made_by_role TEXT;
UPDATE bans SET made_by_role = 'operator'
    WHERE EXISTS (SELECT 1 FROM tokens WHERE account = bans.made_by AND role = 'operator')
    AND NOT EXISTS (SELECT 1 FROM tokens WHERE account = bans.made_by AND role = 'admin');

-- How far the walk has come that takes the name of a deleted account out of what others keep; null: it has not begun.
ALTER TABLE accounts ADD COLUMN names_page TEXT;
-- The name that it takes out; null where the account is not deleted, and when the walk is over.
ALTER TABLE accounts ADD COLUMN former_name TEXT;

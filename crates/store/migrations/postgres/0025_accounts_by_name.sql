-- Admins find accounts by how their names begin: in the order of their bytes, whatever the order of the database's language.

CREATE INDEX accounts_by_name ON accounts (name COLLATE "C");

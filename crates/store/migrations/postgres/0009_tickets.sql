-- By which ticket somebody came into the hunt of a match: whoever asks for the ticket is told of the hunt, also when the process that took
-- the ticket has died.

ALTER TABLE world_members ADD COLUMN ticket UUID;

CREATE INDEX world_members_matched ON world_members (player, ticket) WHERE ticket IS NOT NULL;

-- Matches of accounts that may take no further slot are passed over without reading them.
CREATE INDEX matches_waiting_by_account ON matches (account, fair_tag, id) WHERE state = 'waiting';

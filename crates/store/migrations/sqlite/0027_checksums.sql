-- A checksum beside whatever is kept as opaque bytes: CRC-32 of what it is, whose it is, and the bytes. Null: written by a program of the
-- version before, which knows nothing of it.

ALTER TABLE match_log ADD COLUMN checksum INTEGER;
ALTER TABLE match_archive ADD COLUMN checksum INTEGER;
ALTER TABLE story_log ADD COLUMN checksum INTEGER;
ALTER TABLE story_bases ADD COLUMN checksum INTEGER;
ALTER TABLE story_records ADD COLUMN checksum INTEGER;
ALTER TABLE worlds ADD COLUMN checksum INTEGER;
ALTER TABLE world_log ADD COLUMN checksum INTEGER;
ALTER TABLE world_snapshots ADD COLUMN checksum INTEGER;
ALTER TABLE competitions ADD COLUMN checksum INTEGER;
ALTER TABLE competition_log ADD COLUMN checksum INTEGER;
ALTER TABLE competition_results ADD COLUMN checksum INTEGER;
ALTER TABLE ladder_entries ADD COLUMN checksum INTEGER;
ALTER TABLE bot_health ADD COLUMN checksum INTEGER;
ALTER TABLE bot_calls ADD COLUMN checksum INTEGER;
ALTER TABLE idempotency_keys ADD COLUMN checksum INTEGER;
ALTER TABLE story_answers ADD COLUMN checksum INTEGER;
ALTER TABLE secrets ADD COLUMN checksum INTEGER;

-- A program of the version before that writes the bytes of a row anew leaves the checksum of those before: it is taken away, so that nobody
-- takes the row for damaged. These go with the last version that does not write checksums.
CREATE TRIGGER story_bases_stale_checksum AFTER UPDATE OF data ON story_bases WHEN NEW.checksum IS OLD.checksum AND NEW.data IS NOT OLD.data
BEGIN
    UPDATE story_bases SET checksum = NULL WHERE table_id = NEW.table_id;
END;
CREATE TRIGGER story_records_stale_checksum AFTER UPDATE OF data ON story_records WHEN NEW.checksum IS OLD.checksum AND NEW.data IS NOT OLD.data
BEGIN
    UPDATE story_records SET checksum = NULL WHERE table_id = NEW.table_id AND number = NEW.number;
END;
CREATE TRIGGER world_snapshots_stale_checksum AFTER UPDATE OF data ON world_snapshots WHEN NEW.checksum IS OLD.checksum AND NEW.data IS NOT OLD.data
BEGIN
    UPDATE world_snapshots SET checksum = NULL WHERE world_id = NEW.world_id;
END;
CREATE TRIGGER ladder_entries_stale_checksum AFTER UPDATE OF seats ON ladder_entries WHEN NEW.checksum IS OLD.checksum AND NEW.seats IS NOT OLD.seats
BEGIN
    UPDATE ladder_entries SET checksum = NULL WHERE ladder = NEW.ladder AND season = NEW.season AND bot = NEW.bot;
END;
CREATE TRIGGER bot_health_stale_checksum AFTER UPDATE OF records ON bot_health WHEN NEW.checksum IS OLD.checksum AND NEW.records IS NOT OLD.records
BEGIN
    UPDATE bot_health SET checksum = NULL WHERE bot = NEW.bot;
END;
CREATE TRIGGER bot_calls_stale_checksum AFTER UPDATE OF data ON bot_calls WHEN NEW.checksum IS OLD.checksum AND NEW.data IS NOT OLD.data
BEGIN
    UPDATE bot_calls SET checksum = NULL WHERE bot = NEW.bot AND hour = NEW.hour AND process = NEW.process;
END;
CREATE TRIGGER idempotency_keys_stale_checksum AFTER UPDATE OF answer ON idempotency_keys WHEN NEW.checksum IS OLD.checksum AND NEW.answer IS NOT OLD.answer
BEGIN
    UPDATE idempotency_keys SET checksum = NULL WHERE account = NEW.account AND key = NEW.key;
END;
CREATE TRIGGER story_answers_stale_checksum AFTER UPDATE OF answer ON story_answers WHEN NEW.checksum IS OLD.checksum AND NEW.answer IS NOT OLD.answer
BEGIN
    UPDATE story_answers SET checksum = NULL WHERE player = NEW.player AND key = NEW.key;
END;

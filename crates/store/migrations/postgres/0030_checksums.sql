-- A checksum beside whatever is kept as opaque bytes: CRC-32 of what it is, whose it is, and the bytes. Null: written by a program of the
-- version before, which knows nothing of it.

ALTER TABLE match_log ADD COLUMN checksum bigint;
ALTER TABLE match_archive ADD COLUMN checksum bigint;
ALTER TABLE story_log ADD COLUMN checksum bigint;
ALTER TABLE story_bases ADD COLUMN checksum bigint;
ALTER TABLE story_records ADD COLUMN checksum bigint;
ALTER TABLE worlds ADD COLUMN checksum bigint;
ALTER TABLE world_log ADD COLUMN checksum bigint;
ALTER TABLE world_snapshots ADD COLUMN checksum bigint;
ALTER TABLE competitions ADD COLUMN checksum bigint;
ALTER TABLE competition_log ADD COLUMN checksum bigint;
ALTER TABLE competition_results ADD COLUMN checksum bigint;
ALTER TABLE ladder_entries ADD COLUMN checksum bigint;
ALTER TABLE bot_health ADD COLUMN checksum bigint;
ALTER TABLE bot_calls ADD COLUMN checksum bigint;
ALTER TABLE idempotency_keys ADD COLUMN checksum bigint;
ALTER TABLE story_answers ADD COLUMN checksum bigint;
ALTER TABLE secrets ADD COLUMN checksum bigint;

-- A program of the version before that writes the bytes of a row anew leaves the checksum of those before: it is taken away, so that nobody
-- takes the row for damaged. These go with the last version that does not write checksums.
CREATE FUNCTION drop_stale_checksum() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.checksum := NULL;
    RETURN NEW;
END
$$;

CREATE TRIGGER story_bases_stale_checksum BEFORE UPDATE OF data ON story_bases FOR EACH ROW
    WHEN (NEW.checksum IS NOT DISTINCT FROM OLD.checksum AND NEW.data IS DISTINCT FROM OLD.data) EXECUTE FUNCTION drop_stale_checksum();
CREATE TRIGGER story_records_stale_checksum BEFORE UPDATE OF data ON story_records FOR EACH ROW
    WHEN (NEW.checksum IS NOT DISTINCT FROM OLD.checksum AND NEW.data IS DISTINCT FROM OLD.data) EXECUTE FUNCTION drop_stale_checksum();
CREATE TRIGGER world_snapshots_stale_checksum BEFORE UPDATE OF data ON world_snapshots FOR EACH ROW
    WHEN (NEW.checksum IS NOT DISTINCT FROM OLD.checksum AND NEW.data IS DISTINCT FROM OLD.data) EXECUTE FUNCTION drop_stale_checksum();
CREATE TRIGGER ladder_entries_stale_checksum BEFORE UPDATE OF seats ON ladder_entries FOR EACH ROW
    WHEN (NEW.checksum IS NOT DISTINCT FROM OLD.checksum AND NEW.seats IS DISTINCT FROM OLD.seats) EXECUTE FUNCTION drop_stale_checksum();
CREATE TRIGGER bot_health_stale_checksum BEFORE UPDATE OF records ON bot_health FOR EACH ROW
    WHEN (NEW.checksum IS NOT DISTINCT FROM OLD.checksum AND NEW.records IS DISTINCT FROM OLD.records) EXECUTE FUNCTION drop_stale_checksum();
CREATE TRIGGER bot_calls_stale_checksum BEFORE UPDATE OF data ON bot_calls FOR EACH ROW
    WHEN (NEW.checksum IS NOT DISTINCT FROM OLD.checksum AND NEW.data IS DISTINCT FROM OLD.data) EXECUTE FUNCTION drop_stale_checksum();
CREATE TRIGGER idempotency_keys_stale_checksum BEFORE UPDATE OF answer ON idempotency_keys FOR EACH ROW
    WHEN (NEW.checksum IS NOT DISTINCT FROM OLD.checksum AND NEW.answer IS DISTINCT FROM OLD.answer) EXECUTE FUNCTION drop_stale_checksum();
CREATE TRIGGER story_answers_stale_checksum BEFORE UPDATE OF answer ON story_answers FOR EACH ROW
    WHEN (NEW.checksum IS NOT DISTINCT FROM OLD.checksum AND NEW.answer IS DISTINCT FROM OLD.answer) EXECUTE FUNCTION drop_stale_checksum();

//! Rows about tables and their games.

use super::{Columns, damage_of, require_known, row_of_id};
use crate::checksums::{Damage, StoredKey, StoredKind};
use crate::contract::{RecordedGame, StoreError};
use engine::commands::ClaimedTable;
use engine::ids::{GameId, PlayerId, TableId, WorkerId};
use engine::rows::{GameRole, GameRow, SeatedGame, TableLogRow, TableOwner};
use engine::tables::{Phase, Standing};
use rules::stories::CardSet;

/// Of `story_games g`.
pub(crate) const GAME: &str = "g.table_id, g.number, g.storyteller, g.storyteller_name, g.phase, g.sentence, g.players, g.players_max, g.created_at, g.ended_at";
/// After [`GAME`], of `story_records r`.
pub(crate) const GAME_RECORD: &str = "r.data, r.checksum";
/// After [`GAME`], of `story_seats s`.
pub(crate) const SEATED: &str = "s.role, s.is_won";
pub(crate) const STANDING: &str = "player, score, score_prev, levelups, earned, earned_last";

pub(crate) fn game(row: &mut impl Columns) -> Result<GameRow, StoreError> {
    row_of_id(row, StoredKind::Game, |row, table| {
        let id = GameId { table: TableId(table), number: row.number()? };
        let key = StoredKey::new(StoredKind::Game, id.table.to_bytes()).number(id.number.into());
        key.whole(game_of_id(row, id))
    })
}

fn game_of_id(row: &mut impl Columns, id: GameId) -> Result<GameRow, StoreError> {
    Ok(GameRow {
        id,
        storyteller: PlayerId(row.id()?),
        storyteller_name: row.maybe_text()?,
        phase: row.named("phase", Phase::from_name)?,
        sentence: row.maybe_text()?,
        players: row.number()?,
        players_max: row.number()?,
        created_at: row.time()?,
        ended_at: row.maybe_time()?,
    })
}

pub(crate) fn game_with_record(row: &mut impl Columns) -> Result<RecordedGame, StoreError> {
    let game = game(row)?;
    let record = row.maybe_verified(game_record(game.id.table, game.id.number))?;
    Ok((game, record))
}

pub(crate) fn seated_game(row: &mut impl Columns) -> Result<SeatedGame, StoreError> {
    let game = game(row)?;
    let key = StoredKey::new(StoredKind::Game, game.id.table.to_bytes()).number(game.id.number.into());
    let (role, is_won) = seat(row, key)?;
    Ok(SeatedGame { game, role, is_won })
}

fn seat(row: &mut impl Columns, game: StoredKey<'_>) -> Result<(GameRole, Option<bool>), StoreError> {
    Ok((game.whole(row.named("role", GameRole::from_name))?, game.whole(row.maybe_flag())?))
}

/// `table_id, number` of its game, then [`SEATED`].
pub(crate) fn seat_of_game(row: &mut impl Columns) -> Result<(GameRole, Option<bool>), StoreError> {
    let game = StoredKey::new(StoredKind::Game, row.id_bytes()?).number(row.number()?);
    seat(row, game)
}

pub(crate) fn standing(row: &mut impl Columns) -> Result<(PlayerId, Standing), StoreError> {
    let (player, standing) = standing_or_damage(row)?;
    Ok((player, standing?))
}

/// The same, or what is wrong with it.
pub(crate) fn standing_or_damage(row: &mut impl Columns) -> Result<(PlayerId, Result<Standing, Damage>), StoreError> {
    let player = PlayerId(row.id()?);
    let key = StoredKey::new(StoredKind::Player, player.to_bytes());
    Ok((player, damage_of(key.whole(standing_columns(row)))?))
}

fn standing_columns(row: &mut impl Columns) -> Result<Standing, StoreError> {
    let (score, score_prev, levelups) = (row.number()?, row.number()?, row.number()?);
    let mut cards = || {
        let bits = row.bits()?;
        require_known(CardSet::from_bits(bits), "set of cards", &bits)
    };
    Ok(Standing { score, score_prev, levelups, earned: cards()?, earned_last: cards()? })
}

pub(crate) fn table_entry(id: TableId, version: u32) -> StoredKey<'static> {
    StoredKey::new(StoredKind::TableEntry, id.to_bytes()).number(version.into())
}

pub(crate) fn table_snapshot(id: TableId) -> StoredKey<'static> {
    StoredKey::new(StoredKind::TableSnapshot, id.to_bytes())
}

pub(crate) fn game_record(table: TableId, number: u32) -> StoredKey<'static> {
    StoredKey::new(StoredKind::GameRecord, table.to_bytes()).number(number.into())
}

/// `table_id, version, data, checksum`: an entry of a table's log, or what is wrong with it.
pub(crate) fn table_log_row(row: &mut impl Columns) -> Result<(TableId, Result<TableLogRow, Damage>), StoreError> {
    let (id, version) = (TableId(row.id()?), row.number()?);
    let bytes = damage_of(row.verified(table_entry(id, version)))?;
    Ok((id, bytes.map(|bytes| TableLogRow { version, bytes })))
}

/// `worker, address` of a table's owner; without an address its lease does not hold.
pub(crate) fn table_owner(row: &mut impl Columns) -> Result<TableOwner, StoreError> {
    let worker = row.maybe_id()?.map(WorkerId);
    let address = row.maybe_text()?;
    Ok(match (worker, address) {
        (Some(worker), Some(address)) => TableOwner::Leased { worker, address },
        (Some(_) | None, _) => TableOwner::Unowned,
    })
}

/// `id, epoch, base_version, base, checksum` of a claimed table, or what is wrong with it.
pub(crate) fn claimed_row(row: &mut impl Columns) -> Result<(TableId, Result<ClaimedTable, Damage>), StoreError> {
    let (id, epoch, snapshot_version) = (TableId(row.id()?), row.number()?, row.number()?);
    let snapshot = damage_of(row.maybe_verified(table_snapshot(id)))?;
    let claimed = snapshot.map(|snapshot| {
        let snapshot = snapshot.unwrap_or_default();
        ClaimedTable { id, epoch, snapshot_version, snapshot, rows: Vec::new() }
    });
    Ok((id, claimed))
}

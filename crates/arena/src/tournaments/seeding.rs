//! Seeds by a ladder: its order of these bots, as it is now.

use engine::competitions::CompetitionKind;
use engine::ids::{BotId, CompetitionId};
use engine::ladders::season::current_season;
use store::{Reader, StoreError};

/// Those of the bots that have rated games on the ladder, best first. Of a ladder that is gone, none.
pub(super) fn ladder_order(
    reader: &mut dyn Reader,
    ladder: CompetitionId,
    bots: &[BotId],
) -> Result<Vec<BotId>, StoreError> {
    let Some(row) = reader.competition(ladder)?.filter(|row| row.kind == CompetitionKind::Ladder) else {
        return Ok(Vec::new());
    };
    let mut entries = reader.ladders().ladder_entries_of(ladder, current_season(&row), bots)?;
    entries.retain(|entry| entry.record.games > 0);
    let score = |rating: engine::ratings::Rating| rating.display_score();
    entries.sort_by(|a, b| {
        let by_score = score(b.record.rating).total_cmp(&score(a.record.rating));
        by_score.then(a.entrant.bot.cmp(&b.entrant.bot))
    });
    Ok(entries.into_iter().map(|entry| entry.entrant.bot).collect())
}

//! What ladders, tournaments and duels have in common: matches are played for them, and the commit that ends such a match numbers its
//! result within its competition. A competition applies the results in that order, and saves how far it has come together with what
//! follows from them: so each result counts exactly once, whatever dies.

pub use crate::matches::origin::{CompetitionKind, MatchOrigin};

use crate::ids::{AccountId, BotId, CompetitionId, MatchId};
use crate::matches::lifecycle::MatchState;
use crate::matches::result::MatchResult;
use crate::pack::{ByteReader, DecodeError, Pack};
use crate::time::UnixMs;
use rules::snake::Cause;

/// What a summary begins with: of the first format, in which nothing said who was silent, and of the present one.
const SEATS_FORMATS: [u8; 2] = [1, 2];
const CAUSE_NONE: u8 = 0xff;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompetitionStatus {
    /// It has not begun: entries may be open.
    Scheduled,
    Running,
    /// Ended as planned. Final.
    Finished,
    /// Called off. Final.
    Cancelled,
}

impl CompetitionStatus {
    pub const ALL: [Self; 4] = [Self::Scheduled, Self::Running, Self::Finished, Self::Cancelled];

    /// The name on the wire and in the stores.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Cancelled => "cancelled",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    #[must_use]
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Finished | Self::Cancelled)
    }
}

/// A competition as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompetitionRow {
    pub id: CompetitionId,
    pub kind: CompetitionKind,
    /// Its owner. Matches of tournaments and duels wait in the queue in its name, those of ladders in the server's own.
    pub account: AccountId,
    pub name: String,
    /// What is played and how, in the bytes of its kind.
    pub definition: Vec<u8>,
    pub status: CompetitionStatus,
    /// Whether everyone may see it and its matches.
    pub is_public: bool,
    pub created_at: UnixMs,
    /// When it first was running.
    pub started_at: Option<UnixMs>,
    pub ended_at: Option<UnixMs>,
    /// When it wants to be advanced without a result: its start, a deadline. `None`: results alone advance it.
    pub due_at: Option<UnixMs>,
    /// Entries in its log.
    pub version: u32,
    pub matches_created: u64,
    /// Results that were saved: the number of the last one.
    pub results: u64,
    /// The number of the last result that was applied.
    pub results_applied: u64,
    /// Commits that wrote anew what follows from its applied results: what was computed from it before is to be computed again.
    pub repairs: u64,
}

impl CompetitionRow {
    /// One that nothing has happened to yet.
    #[must_use]
    pub fn new(
        id: CompetitionId,
        kind: CompetitionKind,
        account: AccountId,
        name: String,
        definition: Vec<u8>,
        now: UnixMs,
    ) -> Self {
        Self {
            id,
            kind,
            account,
            name,
            definition,
            status: CompetitionStatus::Scheduled,
            is_public: true,
            created_at: now,
            started_at: None,
            ended_at: None,
            due_at: None,
            version: 0,
            matches_created: 0,
            results: 0,
            results_applied: 0,
            repairs: 0,
        }
    }

    /// Matches that were created and have not ended.
    #[must_use]
    pub fn matches_under_way(&self) -> u64 {
        self.matches_created.saturating_sub(self.results)
    }

    /// Results that were saved and have not been applied.
    #[must_use]
    pub fn results_waiting(&self) -> u64 {
        self.results.saturating_sub(self.results_applied)
    }

    /// Matches whose results have not been applied: those under way, and those that have ended since.
    #[must_use]
    pub fn matches_unapplied(&self) -> u64 {
        self.matches_created.saturating_sub(self.results_applied)
    }
}

/// How a match of a competition ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompetitionResult {
    /// Its place among the results of its competition, from 1, without gaps.
    pub number: u64,
    pub match_id: MatchId,
    /// [`MatchOrigin::key`].
    pub key: u64,
    pub ended_at: UnixMs,
    /// `Finished`, `Failed` or `Cancelled`: only a finished match has places.
    pub ending: MatchState,
    pub summary: ResultSummary,
}

impl CompetitionResult {
    /// Whether the match was played to its end, and this server called every bot as it should.
    #[must_use]
    pub fn is_played(&self) -> bool {
        self.ending == MatchState::Finished && !self.summary.is_server_fault
    }

    /// Whether it says how good the bots are: it was played, and by all of them. Against a bot that was not there anybody wins.
    #[must_use]
    pub fn is_rated(&self) -> bool {
        self.is_played() && !self.summary.seats.iter().any(|seat| seat.is_silent)
    }
}

/// What is kept of a match for its competition, also when the match itself is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultSummary {
    pub is_draw: bool,
    /// Whether this server failed to call a bot in it, through no fault of the bot.
    pub is_server_fault: bool,
    pub turns: u32,
    /// By seat.
    pub seats: Vec<SeatSummary>,
}

/// One seat of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatSummary {
    pub bot: BotId,
    /// 1 is best, equals share a place; 0 where the match has no result.
    pub place: u8,
    /// Why it was eliminated; `None` for the living, and where the match has no result.
    pub cause: Option<Cause>,
    pub food_eaten: u32,
    /// Whether its bot was called and gave no valid move in the whole match.
    pub is_silent: bool,
}

/// In both formats; whether a seat was silent stands behind all of them.
impl Pack for SeatSummary {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.bot.to_bytes());
        out.push(self.place);
        let code = |cause| Cause::ALL.iter().position(|known| *known == cause).map_or(CAUSE_NONE, |at| at as u8);
        out.push(self.cause.map_or(CAUSE_NONE, code));
        self.food_eaten.put(out);
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        let bot = BotId::from_bytes(Pack::get(from)?);
        let (place, code) = (u8::get(from)?, u8::get(from)?);
        let cause = match code {
            CAUSE_NONE => None,
            code => Some(*Cause::ALL.get(usize::from(code)).ok_or(DecodeError("an unknown cause of elimination"))?),
        };
        Ok(Self { bot, place, cause, food_eaten: Pack::get(from)?, is_silent: false })
    }
}

impl ResultSummary {
    /// Of a match between these bots, by seat, that ended with a result or without.
    #[must_use]
    pub fn new(bots: &[BotId], result: Option<&MatchResult>) -> Self {
        let seat = |(seat, bot): (usize, &BotId)| SeatSummary {
            bot: *bot,
            place: result.and_then(|result| result.placements.get(seat).copied()).unwrap_or_default(),
            cause: result.and_then(|result| result.causes.get(seat).copied().flatten()),
            food_eaten: result.and_then(|result| result.food_eaten.get(seat).copied()).unwrap_or_default(),
            is_silent: result.is_some_and(|result| result.silent_seats.contains(&(seat as u8))),
        };
        Self {
            is_draw: result.is_some_and(|result| result.is_draw),
            is_server_fault: result.is_some_and(|result| result.is_server_fault),
            turns: result.map_or(0, |result| result.turns),
            seats: bots.iter().enumerate().map(seat).collect(),
        }
    }

    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![SEATS_FORMATS[1]];
        self.is_draw.put(&mut out);
        self.is_server_fault.put(&mut out);
        self.turns.put(&mut out);
        self.seats.put(&mut out);
        self.seats.iter().for_each(|seat| seat.is_silent.put(&mut out));
        out
    }

    /// # Errors
    /// [`DecodeError`], saying what is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let has_silence = bytes.first() != Some(&SEATS_FORMATS[0]);
        let mut from = ByteReader::of_format(SEATS_FORMATS[usize::from(has_silence)], bytes)?;
        let from = &mut from;
        let (is_draw, is_server_fault, turns) = (Pack::get(from)?, Pack::get(from)?, Pack::get(from)?);
        let mut seats: Vec<SeatSummary> = Pack::get(from)?;
        if has_silence {
            for seat in &mut seats {
                seat.is_silent = Pack::get(from)?;
            }
        }
        from.finish()?;
        Ok(Self { is_draw, is_server_fault, turns, seats })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(place: u8, cause: Option<Cause>) -> ResultSummary {
        let seat = SeatSummary { bot: BotId(7), place, cause, food_eaten: 300, is_silent: false };
        ResultSummary {
            is_draw: place == 1,
            is_server_fault: place == 2,
            turns: 1_000,
            seats: vec![SeatSummary { is_silent: place == 3, ..seat.clone() }, seat],
        }
    }

    #[test]
    fn a_summary_is_read_back() {
        let causes = Cause::ALL.into_iter().map(Some).chain([None]);
        for (cause, place) in causes.zip(0..) {
            let want = summary(place, cause);
            assert_eq!(ResultSummary::decode(&want.encode()), Ok(want));
        }
    }

    #[test]
    fn a_summary_of_the_first_format_is_read() {
        let want = summary(1, None);
        let mut bytes = want.encode();
        bytes[0] = SEATS_FORMATS[0];
        bytes.truncate(bytes.len() - want.seats.len());
        assert_eq!(ResultSummary::decode(&bytes), Ok(want));
    }

    #[test]
    fn bytes_of_no_summary_are_refused() {
        let mut bytes = summary(1, None).encode();
        *bytes.iter_mut().rev().nth(4).unwrap() = 0x40;
        assert_eq!(ResultSummary::decode(&bytes), Err(DecodeError("an unknown cause of elimination")));
        assert!(ResultSummary::decode(&summary(1, None).encode()[..20]).is_err());
    }

    #[test]
    fn names_are_read_back() {
        assert!(CompetitionKind::ALL.into_iter().all(|kind| CompetitionKind::from_name(kind.name()) == Some(kind)));
        assert!(
            CompetitionStatus::ALL
                .into_iter()
                .all(|status| CompetitionStatus::from_name(status.name()) == Some(status))
        );
    }
}

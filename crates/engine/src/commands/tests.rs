//! Whom calls to bots are charged to.

use super::*;
use crate::ids::CompetitionId;
use crate::matches::origin::{CompetitionKind, MatchOrigin};
use crate::matches::spec::SeatSpec;
use rules::chance::Seed;
use rules::snake::{Map, Rules, Ruleset, Settings};

const CREATOR: AccountId = AccountId(1);
const OWNER: AccountId = AccountId(2);

fn check(kind: Option<CompetitionKind>, seat_accounts: &[AccountId], want: AccountId) {
    let origin = kind.map(|kind| MatchOrigin { kind, competition: CompetitionId(1), key: 0 });
    let seat = SeatSpec { bot: BotId(1), name: String::new(), owner: String::new(), url: "http://x".into() };
    let spec = MatchSpec {
        id: MatchId(1),
        rules: Rules::for_snakes(Ruleset::Solo, Map::Standard, Settings::default(), 1),
        width: 11,
        height: 11,
        seed: Seed(1),
        timeout_ms: 500,
        turns_max: 100,
        origin,
        seats: vec![seat],
        is_public: true,
    };
    let (signing, seat_accounts) = (Vec::new(), seat_accounts.to_vec());
    let claimed =
        ClaimedMatch { account: CREATOR, spec, epoch: 1, version: 0, attempts_charged: 1, signing, seat_accounts };
    assert_eq!(claimed.calling_account(0), want, "{kind:?}");
}

#[test]
fn the_creator_of_a_match_pays_for_its_calls_and_owners_for_those_of_ladders() {
    for kind in [None, Some(CompetitionKind::Tournament), Some(CompetitionKind::Duel)] {
        check(kind, &[OWNER], CREATOR);
    }
    check(Some(CompetitionKind::Ladder), &[OWNER], OWNER);
    check(Some(CompetitionKind::Ladder), &[], CREATOR);
}

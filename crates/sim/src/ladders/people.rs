//! What people do to ladders: they enter bots, take them out, hide them and show them again, and call games off.

use super::oracle::LadderWorkload;
use crate::dice::Dice;
use crate::world::{Freeze, SimWorld};
use engine::commands::{Command, CompetitionCommand, LadderCommand, Outcome};
use engine::competitions::{CompetitionKind, CompetitionRow, CompetitionStatus};
use engine::ids::{AccountId, BotId, CompetitionId, EntryId};
use engine::ladders::definition::{STANDARD_LADDER, SYSTEM_ACCOUNT, SYSTEM_ACCOUNT_NAME};
use engine::rows::{Account, Bot};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// More than a match has players: on public ladders, bots of one owner do not meet.
const OWNERS: u16 = 5;

fn owner(number: u16) -> AccountId {
    AccountId(1 + u128::from(number % OWNERS))
}

/// All ladders of the plan besides the standard one, which a server makes itself, with all bots entered in them.
pub(super) fn create_all(world: &SimWorld<LadderWorkload>) -> Vec<CompetitionId> {
    let (now, plan) = (world.now(), &world.workload.0);
    let mut accounts: Vec<(AccountId, String)> = (0..OWNERS).map(|n| (owner(n), format!("owner {n}"))).collect();
    accounts.push((SYSTEM_ACCOUNT, SYSTEM_ACCOUNT_NAME.to_owned()));
    for (id, name) in accounts {
        assert_eq!(world.commit(&Command::EnsureAccount(Account { id, name, created_at: now })), Outcome::Account(id));
    }
    for number in 0..plan.bots {
        assert_eq!(world.commit(&Command::CreateBot(bot(world, number, true))), Outcome::Done);
    }
    let mut dice = Dice::new(plan.cluster.seed ^ 0x1d5);
    let mut ids = Vec::new();
    for (definition, is_public, is_of_server) in &plan.ladders {
        let id = CompetitionId::new(now, dice.id_bytes(ids.len() as u8));
        let account = if *is_of_server { SYSTEM_ACCOUNT } else { owner(0) };
        let (kind, name) = (CompetitionKind::Ladder, format!("ladder {}", ids.len()));
        let row = CompetitionRow {
            status: CompetitionStatus::Running,
            is_public: *is_public,
            due_at: definition.season.map(|season| now.plus(season)),
            ..CompetitionRow::new(id, kind, account, name, definition.encode(), now)
        };
        let create = CompetitionCommand::Create { row, live_max: 99, idempotency: None };
        assert_eq!(world.commit(&Command::Competition(create)), Outcome::Done);
        if !is_public {
            for account in (0..OWNERS).map(owner) {
                let invite = LadderCommand::Invite { ladder: id, account, now };
                assert_eq!(world.commit(&Command::Ladder(invite)), Outcome::Done);
            }
        }
        for number in 0..plan.bots {
            let entered = enter(world, id, number);
            assert!(matches!(entered, Outcome::LadderEntry(_)), "{entered:?}");
        }
        ids.push(id);
    }
    ids
}

fn bot(world: &SimWorld<LadderWorkload>, number: u16, is_public: bool) -> Bot {
    let (created_at, updated_at) = (world.now(), world.now());
    let (name, url) = (format!("bot {number}"), format!("http://bot-{number}.example"));
    Bot { id: BotId(u128::from(number) + 1), account: owner(number), name, url, is_public, created_at, updated_at }
}

fn enter(world: &SimWorld<LadderWorkload>, ladder: CompetitionId, number: u16) -> Outcome {
    let (bot, account, now) = (BotId(u128::from(number) + 1), owner(number), world.now());
    let entry = EntryId(bot.0);
    world.commit(&Command::Ladder(LadderCommand::Enter { ladder, entry, bot, account, now }))
}

/// One thing after the other, for ever, except while it is suspended. The standard ladder gets its bots by this alone.
pub(super) async fn meddle(
    world: Arc<SimWorld<LadderWorkload>>,
    mut ladders: Vec<CompetitionId>,
    suspended: Arc<Freeze>,
) {
    ladders.push(STANDARD_LADDER);
    let interval_ms = world.workload.0.people_interval.as_millis() as u64;
    loop {
        let pause = world.random(|dice| dice.below(2 * interval_ms));
        sleep(Duration::from_millis(pause)).await;
        suspended.thawed().await;
        let bots = u64::from(world.workload.0.bots);
        let (kind, ladder, number, is_public) = world.random(|dice| {
            let ladder = ladders[dice.below(ladders.len() as u64) as usize];
            (dice.below(10), ladder, dice.below(bots) as u16, dice.bool_per_mille(700))
        });
        let outcome = match kind {
            0 => world.commit(&Command::UpdateBot(bot(&world, number, is_public))),
            1 | 2 => {
                let (bot, account) = (BotId(u128::from(number) + 1), Some(owner(number)));
                world.commit(&Command::Ladder(LadderCommand::Leave { ladder, bot, account }))
            }
            3 | 4 => cancel_one(&world, ladder),
            _ => enter(&world, ladder, number),
        };
        let is_expected =
            matches!(outcome, Outcome::Done | Outcome::LadderEntry(_) | Outcome::NotFound | Outcome::NotOpen);
        assert!(is_expected, "{outcome:?}");
    }
}

/// Calls off a match that has not ended, as an operator may, whether or not it is being played.
fn cancel_one(world: &SimWorld<LadderWorkload>, ladder: CompetitionId) -> Outcome {
    let live = world.read(|reader| reader.competition_matches(ladder, true, None, 1));
    let Some(row) = live.first() else { return Outcome::NotFound };
    world.commit(&Command::CancelMatch { id: row.spec.id, account: None, now: world.now() })
}

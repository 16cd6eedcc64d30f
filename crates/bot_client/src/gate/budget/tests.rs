use super::*;
use engine::limits::{CALLS_PER_ACCOUNT_AND_ADDRESS_MAX, CALLS_PER_ADDRESS_MAX, CONNECTIONS_PER_BOT_ADDRESS_MAX};
use proptest::prelude::*;
use std::collections::VecDeque;

const ROOM: Room = Room { accounts: true, bots: true };

fn caller(account: u128, bot: BotKey, purpose: Purpose) -> Caller {
    Caller { account: AccountId(account), bot, purpose }
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Makes the call if it may be made; whether it was.
fn call(budget: &mut AddressBudget, caller: Caller, ending: Ending, now: Duration) -> bool {
    let Ok(grant) = budget.try_call(caller, ROOM, now) else { return false };
    budget.settle(caller, grant, ending, ROOM, now);
    true
}

/// Calls for moves until one is refused.
fn calls_until_refusal(budget: &mut AddressBudget, account: u128, bots: u64, ending: Ending, now: Duration) -> u32 {
    let next = |n: u32| caller(account, u64::from(n) % bots, Purpose::Move);
    (0..10_000).take_while(|n| call(budget, next(*n), ending, now)).count() as u32
}

#[test]
fn a_bot_that_answers_is_called_freely() {
    let mut budget = AddressBudget::new(at(0));
    assert_eq!(calls_until_refusal(&mut budget, 1, 50, Ending::ValidMove, at(0)), 10_000);
}

#[test]
fn a_host_that_never_answers_is_left_alone() {
    let mut budget = AddressBudget::new(at(0));
    let of_one = calls_until_refusal(&mut budget, 1, 1, Ending::Failed, at(0));
    assert_eq!(of_one, ACCOUNT_CALLS_BURST / 2, "a bot that fails leaves room for others of its account");
    let next = |bot: &u64| call(&mut budget, caller(1, *bot, Purpose::Move), Ending::Failed, at(0));
    let of_others = (100..1_000).take_while(next).count() as u32;
    assert!(of_others > 0 && of_one + of_others < ACCOUNT_CALLS_BURST, "{of_others}");
    let paid_back = CALL_BUDGET_PERIOD / ACCOUNT_CALLS_PAID_BACK + Duration::from_micros(1);
    assert!(!call(&mut budget, caller(1, 2_000, Purpose::Move), Ending::Failed, paid_back / 2));
    assert!(call(&mut budget, caller(1, 2_000, Purpose::Move), Ending::Failed, paid_back));
}

/// Bots of many accounts begin together at one address, each with `GET /`, `/start` and a move.
#[test]
fn bots_that_begin_together_do_not_stop_each_other_half_way() {
    let mut budget = AddressBudget::new(at(0));
    let mut steps = vec![0usize; 300];
    let order =
        [(Purpose::Index, Ending::Neutral), (Purpose::Notice, Ending::Neutral), (Purpose::Move, Ending::ValidMove)];
    for round in 0..1_000 {
        for (bot, step) in steps.iter_mut().enumerate() {
            let Some((purpose, ending)) = order.get(*step) else { continue };
            *step += usize::from(call(&mut budget, caller(1, bot as u64, *purpose), *ending, at(0)));
        }
        if steps.iter().all(|step| *step == order.len()) {
            assert!(round < 500, "{round}");
            return;
        }
    }
    panic!("no time passes, and none is needed: {steps:?}");
}

#[test]
fn bots_that_share_an_address_with_the_target_of_an_attack_are_still_called() {
    let mut budget = AddressBudget::new(at(0));
    assert!(call(&mut budget, caller(500, 500, Purpose::Move), Ending::ValidMove, at(0)));
    for account in 1..=100 {
        calls_until_refusal(&mut budget, account, 1_000, Ending::Failed, at(0));
    }
    let known = caller(500, 500, Purpose::Move);
    assert!((0..1_000).all(|_| call(&mut budget, known, Ending::ValidMove, at(0))));
    assert!((0..3).all(|_| call(&mut budget, known, Ending::Failed, at(0))), "it may be late now and then");
    let late_again = call(&mut budget, known, Ending::ValidMove, at(0));
    assert!(late_again, "and is back after the next move");
    for purpose in [Purpose::Index, Purpose::Notice] {
        assert!(call(&mut budget, caller(501, 501, purpose), Ending::Neutral, at(0)), "an account that is new there");
    }
    assert!(call(&mut budget, caller(501, 501, Purpose::Move), Ending::ValidMove, at(0)));
    let refused = calls_until_refusal(&mut budget, 1, 1, Ending::ValidMove, at(0));
    assert_eq!(refused, 0, "an attacker's");
}

/// One dead bot beside others of its owner.
#[test]
fn a_bot_that_fails_does_not_hurt_others_of_its_account() {
    let mut budget = AddressBudget::new(at(0));
    calls_until_refusal(&mut budget, 1, 1, Ending::Failed, at(0));
    for purpose in [Purpose::Index, Purpose::Notice] {
        assert!(call(&mut budget, caller(1, 7, purpose), Ending::Neutral, at(0)));
    }
    assert!(call(&mut budget, caller(1, 7, Purpose::Move), Ending::ValidMove, at(0)));
    assert!((0..100).all(|_| call(&mut budget, caller(1, 7, Purpose::Move), Ending::ValidMove, at(0))));
}

#[test]
fn what_cannot_be_remembered_is_counted_or_refused() {
    let mut budget = AddressBudget::new(at(0));
    let full = Room { accounts: true, bots: false };
    for _ in 0..1_000 {
        let grant = budget.try_call(caller(1, 1, Purpose::Move), full, at(0)).unwrap();
        budget.settle(caller(1, 1, Purpose::Move), grant, Ending::ValidMove, full, at(0));
    }
    assert_eq!(budget.len(), (1, 0));
    let full = Room { accounts: false, bots: false };
    assert!(budget.try_call(caller(2, 1, Purpose::Move), full, at(0)).is_err());
    assert!(!budget.sweep(at(0)));
    assert!(budget.sweep(at(3_600)), "and is forgotten");
}

/// What an attacker may do next.
#[derive(Clone, Copy, Debug)]
enum Act {
    Begin {
        account: u128,
        bot: u64,
        purpose: Purpose,
    },
    /// Ends the oldest call under way.
    End(Ending),
    Pass {
        seconds: u64,
    },
}

fn act(accounts: u128) -> impl Strategy<Value = Act> {
    let purpose = prop::sample::select(vec![Purpose::Index, Purpose::Notice, Purpose::Move, Purpose::Probe]);
    let ending = prop::sample::select(vec![Ending::Failed, Ending::Neutral, Ending::Failed, Ending::Failed]);
    prop_oneof![
        8 => (1..=accounts, 0..40u64, purpose).prop_map(|(account, bot, purpose)| Act::Begin { account, bot, purpose }),
        6 => ending.prop_map(Act::End),
        1 => (0..40u64).prop_map(|seconds| Act::Pass { seconds }),
    ]
}

/// One of an account's forty bots.
fn own(account: u128, bot: u64) -> BotKey {
    account as u64 * 40 + bot
}

/// The calls that were made after all bots were replaced by a host that gives no move, within the period.
fn calls_after_replacement(acts: &[Act], accounts: u128) -> (u32, u32) {
    let mut budget = AddressBudget::new(at(0));
    for account in 1..=accounts {
        for bot in 0..40 {
            let caller = caller(account, own(account, bot), Purpose::Move);
            assert!(call(&mut budget, caller, Ending::ValidMove, at(0)));
        }
    }
    let (mut now, mut of_first, mut of_all) = (at(0), 0, 0);
    let mut under_way: VecDeque<(Caller, Grant)> = VecDeque::new();
    for act in acts {
        match *act {
            Act::Begin { account, bot, purpose } => {
                let caller = caller(account, own(account, bot), purpose);
                let of_account = under_way.iter().filter(|(other, _)| other.account == caller.account).count();
                if under_way.len() >= CONNECTIONS_PER_BOT_ADDRESS_MAX as usize
                    || of_account >= ACCOUNT_CONNECTIONS_PER_ADDRESS_MAX as usize
                {
                    continue;
                }
                if let Ok(grant) = budget.try_call(caller, ROOM, now) {
                    under_way.push_back((caller, grant));
                    of_first += u32::from(account == 1);
                    of_all += 1;
                }
            }
            Act::End(ending) => {
                if let Some((caller, grant)) = under_way.pop_front() {
                    let is_move = caller.purpose == Purpose::Move;
                    let ending = if is_move { Ending::Failed } else { ending };
                    budget.settle(caller, grant, ending, ROOM, now);
                }
            }
            Act::Pass { seconds } => now += at(seconds),
        }
        if now > CALL_BUDGET_PERIOD {
            break;
        }
    }
    (of_first, of_all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn one_account_causes_no_more_calls_than_promised(acts in prop::collection::vec(act(1), 0..3_000)) {
        let (of_first, _) = calls_after_replacement(&acts, 1);
        prop_assert!(of_first <= CALLS_PER_ACCOUNT_AND_ADDRESS_MAX, "{of_first}");
    }

    #[test]
    fn a_hundred_accounts_cause_no_more_calls_than_promised(acts in prop::collection::vec(act(100), 0..6_000)) {
        let (of_first, of_all) = calls_after_replacement(&acts, 100);
        prop_assert!(of_first <= CALLS_PER_ACCOUNT_AND_ADDRESS_MAX && of_all <= CALLS_PER_ADDRESS_MAX, "{of_first} {of_all}");
    }
}

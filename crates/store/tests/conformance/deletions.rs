//! Accounts that are deleted: they lose their holder at once, and what was theirs a little at a time; what others share stays, without a
//! name.

use crate::codes::{code, code_id, create_code, redeem};
use crate::fixtures::*;
use crate::stories::{entry_with, game, game_id, open_with_key, player_id};
use crate::world_fixtures::{aggregate, claims, delta, ensure, hunt, round, world_id, world_is};
use engine::commands::{
    AccountCommand, Aggregate, BanCommand, CodeCommand, Command, CompetitionCommand, CreateMatches, HunterDelta,
    IndexChange, LadderCommand, NamesPage, Outcome, WorldCommand,
};
use engine::competitions::{CompetitionKind, CompetitionRow};
use engine::ids::{AccountId, BanId, CompetitionId, TableId, WorldId};
use engine::matches::spec::{MatchSpec, SeatSpec};
use engine::rows::{
    Account, AccountCounts, AccountHoldings, Ban, BanTarget, Bot, CodeUse, DELETED_ACCOUNT_NAME, OneTimeCode, Role,
    Token,
};
use engine::time::UnixMs;
use rules::chance::Seed;
use store::{AccountFilter, BotFilter, Database};

/// Player 1, with an account.
pub(crate) const ANN: AccountId = AccountId(0xf001);

pub(crate) fn ann() -> Account {
    Account { id: ANN, name: "Änn".to_owned(), created_at: at(1) }
}

pub(crate) fn delete(id: AccountId, ms: i64) -> Command {
    Command::Account(AccountCommand::Delete { id, now: at(ms) })
}

fn forget(max: usize) -> Command {
    Command::Account(AccountCommand::ForgetNames { id: ANN, max, now: at(8) })
}

pub(crate) fn token_of(n: u128, account: AccountId, role: Role, expires_at: Option<UnixMs>) -> Command {
    Command::CreateToken(Token { account, role, expires_at, ..token(n, 1) })
}

/// A link that signs Ann in.
fn link_of(n: u128) -> OneTimeCode {
    OneTimeCode { used_for: CodeUse::SignIn { account: ANN }, ..code(n, Some(1), 0) }
}

fn create_link(link: &OneTimeCode) -> Command {
    Command::Code(CodeCommand::Create(link.clone()))
}

pub(crate) fn ban_of(n: u128, target: BanTarget, end_ms: Option<i64>) -> Command {
    Command::Ban(BanCommand::Create(Ban {
        id: BanId(n),
        target,
        reason: "spam".to_owned(),
        made_by: None,
        made_by_role: None,
        created_at: at(0),
        expires_at: end_ms.map(at),
    }))
}

fn competition(n: u128, kind: CompetitionKind, account: AccountId) -> CompetitionRow {
    CompetitionRow::new(CompetitionId(0xe000 + n), kind, account, format!("no. {n}"), vec![1], at(0))
}

fn create_competition(row: CompetitionRow) -> Command {
    Command::Competition(CompetitionCommand::Create { row, live_max: 9, idempotency: None })
}

/// With accounts 1 and Ann.
pub(crate) fn with_ann(database: &dyn Database) -> StoreFixture {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(Command::EnsureAccount(ann()), Outcome::Account(ANN));
    held
}

fn uncleared(held: &mut StoreFixture) -> Vec<AccountId> {
    held.reader.deletions().uncleared_accounts(UnixMs::MAX, 9).unwrap()
}

pub(crate) fn a_deleted_account_has_no_holder(database: &dyn Database) {
    let mut held = with_ann(database);
    held.assert_outcome(delete(AccountId(7), 5), Outcome::NotFound);
    held.assert_outcome(token_of(1, ANN, Role::Operator, None), Outcome::Done);
    held.assert_outcome(token_of(2, ANN, Role::Player, Some(at(9_999))), Outcome::Done);
    held.assert_outcome(token_of(3, account_id(1), Role::Player, None), Outcome::Done);
    // A link of Ann's, an invitation that she made, and one that account 1 made.
    let link = link_of(2);
    held.assert_outcome(create_link(&link), Outcome::Done);
    held.assert_outcome(create_link(&OneTimeCode { made_by: Some(ANN), ..code(3, None, 0) }), Outcome::Done);
    held.assert_outcome(create_code(4, None, 0), Outcome::Done);

    let Outcome::AccountDeleted(mut tokens) = held.commit_one(delete(ANN, 5)) else { panic!("it is not deleted") };
    tokens.sort_unstable();
    assert_eq!(tokens, [token_id(1), token_id(2)]);
    held.assert_outcome(delete(ANN, 6), Outcome::NotFound);
    assert_eq!(uncleared(&mut held), [ANN]);
    assert_eq!(held.reader.deletions().uncleared_accounts(at(4), 9), Ok(Vec::new()), "it was deleted later");
    assert_eq!(held.reader.deletions().uncleared_accounts(at(5), 9), Ok(vec![ANN]));
    assert_eq!(held.reader.deletions().deleted_among(&[account_id(1), ANN, AccountId(7)]), Ok(vec![ANN]));
    assert_eq!(held.reader.existing_tokens(&[token_id(1), token_id(2), token_id(3)]), Ok(vec![token_id(3)]));
    assert_eq!(held.reader.one_time_code(&link.digest, at(1)), Ok(None));
    let invites = held.reader.invites(None, 9, at(1)).unwrap();
    assert_eq!(invites.iter().map(|invite| invite.code.id).collect::<Vec<_>>(), [code_id(4)]);
    let row = held.reader.account(ANN).unwrap().expect("results point to it");
    assert_eq!(row.name.trim_end(), format!("{DELETED_ACCOUNT_NAME} {ANN}"));
    assert_eq!(held.reader.account_named(row.name.trim_end()), Ok(None), "nobody means it by a name");
    let all = AccountFilter { limit: 9, ..AccountFilter::default() };
    let listed = held.reader.accounts(&all).unwrap().into_iter();
    assert_eq!(listed.map(|listed| listed.account).collect::<Vec<_>>(), [account(1)]);
    assert_eq!(held.reader.deletions().account_holdings(ANN, at(6)), Ok(None));

    // Nothing more is made for it, and its name is free.
    let matches = vec![spec(1)];
    for refused in [
        token_of(4, ANN, Role::Player, None),
        create_link(&link_of(9)),
        Command::CreateBot(Bot { account: ANN, ..bot(1, 1) }),
        Command::CreateMatches(CreateMatches { account: ANN, idempotency: None, matches, now: at(6) }),
        create_competition(competition(1, CompetitionKind::Duel, ANN)),
        create_link(&OneTimeCode { made_by: Some(ANN), ..code(8, None, 0) }),
        ban_of(1, BanTarget::Account(ANN), None),
        ban_of(1, BanTarget::Disabled(ANN), None),
    ] {
        held.assert_outcome(refused, Outcome::NotFound);
    }
    let next = Account { id: AccountId(0xf777), ..ann() };
    held.assert_outcome(Command::EnsureAccount(next.clone()), Outcome::Account(next.id));
    assert_eq!(held.reader.account_named(&next.name), Ok(Some(next)));
}

pub(crate) fn a_name_stays_with_a_ban(database: &dyn Database) {
    let mut held = with_ann(database);
    held.assert_outcome(ban_of(1, BanTarget::Account(ANN), Some(100)), Outcome::Done);
    held.assert_outcome(delete(ANN, 5), Outcome::AccountDeleted(vec![]));
    held.assert_outcome(create_code(2, None, 0), Outcome::Done);
    let again = |ms| Account { id: AccountId(0xf777), created_at: at(ms), ..ann() };
    held.assert_outcome(Command::EnsureAccount(again(99)), Outcome::Duplicate);
    let mut redeem = redeem(2, Some(5), 1, at(99));
    if let Command::Code(CodeCommand::Redeem(redeem)) = &mut redeem {
        redeem.new_account = Some(again(99));
    }
    held.assert_outcome(redeem, Outcome::Duplicate);
    assert_eq!(held.reader.bans().ban_page(None, 9, at(99)).unwrap().len(), 1, "the ban holds");
    held.assert_outcome(Command::EnsureAccount(again(100)), Outcome::Account(AccountId(0xf777)));
}

pub(crate) fn what_an_account_has_is_counted(database: &dyn Database) {
    let mut held = with_ann(database);
    let count = |held: &mut StoreFixture, ms| held.reader.deletions().account_holdings(ANN, at(ms)).unwrap();
    assert_eq!(count(&mut held, 1), Some(AccountHoldings::default()));
    held.assert_outcome(token_of(1, ANN, Role::Player, None), Outcome::Done);
    held.assert_outcome(Command::CreateBot(Bot { account: ANN, ..bot(1, 1) }), Outcome::Done);
    let matches = vec![spec(1), spec(2)];
    let create = CreateMatches { account: ANN, idempotency: None, matches, now: at(1) };
    held.assert_outcome(Command::CreateMatches(create), Outcome::Done);
    held.assert_outcome(cancel(2, at(2)), Outcome::Done);
    for (n, kind) in [(1, CompetitionKind::Duel), (2, CompetitionKind::Tournament), (3, CompetitionKind::Ladder)] {
        held.assert_outcome(create_competition(competition(n, kind, ANN)), Outcome::Done);
        held.assert_outcome(create_competition(competition(n + 10, kind, account_id(1))), Outcome::Done);
    }
    let made = hunt(1, Some(at(50)));
    held.assert_outcome(ensure(&made, &[]), world_is(&made));
    let all = AccountHoldings {
        counts: AccountCounts { bots: 1, tokens: 1 },
        waiting_matches: 1,
        duels: 1,
        tournaments: 1,
        ladders: 1,
        hunts: 1,
    };
    assert_eq!(count(&mut held, 49), Some(all));
    assert_eq!(count(&mut held, 50), Some(AccountHoldings { hunts: 0, ..all }));
    assert_eq!(held.reader.deletions().live_hunts(ANN, at(49)), Ok(vec![made.name]));
    let mut live = held.reader.deletions().live_competitions(ANN).unwrap();
    live.sort_unstable_by_key(|(_, id)| *id);
    let ids = [1, 2, 3].map(|n| CompetitionId(0xe000 + n));
    let kinds = [CompetitionKind::Duel, CompetitionKind::Tournament, CompetitionKind::Ladder];
    assert_eq!(live, kinds.into_iter().zip(ids).collect::<Vec<_>>());
}

pub(crate) fn a_deleted_account_is_cleared_in_portions(database: &dyn Database) {
    let mut held = with_ann(database);
    let clear = |max| Command::Account(AccountCommand::Clear { id: ANN, max });
    for early in [clear(9), forget(9)] {
        held.assert_outcome(early, Outcome::NotFound);
    }
    // Three answers to requests, one opening of a table, points at the table, points of a hunt, an invitation, a bot.
    held.assert_outcome(Command::CreateBot(Bot { account: ANN, ..bot(1, 1) }), Outcome::Done);
    for n in 1..=3 {
        let Command::CreateMatches(mut create) = create_with_key(&format!("key {n}"), 7, [n], at(0)) else { return };
        create.account = ANN;
        held.assert_outcome(Command::CreateMatches(create), Outcome::Done);
    }
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    held.assert_outcome(open_with_key(1, "key", 7, 1, at(0)), Outcome::Done);
    let award = |player| IndexChange::Award { player: player_id(player), points: 12, seed: Seed(1) };
    held.assert_outcome(entry_with(1, 2, vec![award(1), award(2)]), Outcome::Done);
    held.assert_outcome(ensure(&hunt(1, None), &[]), world_is(&hunt(1, None)));
    held.own_world(1, 1);
    held.assert_outcome(claims(1, 1, 0, 1), Outcome::Done);
    let hunters: Vec<HunterDelta> = vec![delta(1, "Änn", 5, 1), delta(2, "bob", 5, 1)];
    let counted = Aggregate { hunters, ..aggregate(1, 0, 1) };
    held.assert_outcome(Command::World(WorldCommand::Aggregate(counted)), Outcome::Done);
    let ladder = competition(1, CompetitionKind::Ladder, account_id(1));
    let invite = LadderCommand::Invite { ladder: ladder.id, account: ANN, now: at(1) };
    held.assert_outcome(create_competition(ladder.clone()), Outcome::Done);
    held.assert_outcome(Command::Ladder(invite), Outcome::Done);

    held.assert_outcome(delete(ANN, 5), Outcome::AccountDeleted(vec![]));
    held.assert_outcome(clear(2), Outcome::Retired(2));
    held.assert_outcome(clear(2), Outcome::Retired(1));
    held.assert_outcome(clear(2), Outcome::Retired(0));
    for n in 1..=3 {
        assert_eq!(held.reader.idempotent_response(ANN, &format!("key {n}")), Ok(None));
    }
    assert_eq!(held.reader.story_idempotent_response(player_id(1), "key"), Ok(None));
    assert_eq!(held.reader.ladders().ladder_invitations(ladder.id, None, 9).unwrap(), Vec::new());
    let standings = held.reader.standings(&[player_id(1), player_id(2)]).unwrap();
    assert_eq!(standings.into_iter().map(|(player, _)| player).collect::<Vec<_>>(), [player_id(2)]);
    assert_eq!(held.reader.hunter(player_id(1)), Ok(None));
    assert!(held.reader.hunter(player_id(2)).unwrap().is_some(), "others keep theirs");
    // Its bots go as their owner would delete them.
    let bots = BotFilter { account: ANN, before: None, limit: 9 };
    assert_eq!(held.reader.bots(&bots).unwrap().len(), 1);
    held.assert_outcome(Command::DeleteBot { id: bot_id(1), account: ANN }, Outcome::Done);
    // A hunt of others that still has its score brings nothing back.
    held.assert_outcome(claims(1, 1, 1, 1), Outcome::Done);
    let hunters = vec![delta(1, "Änn", 5, 1), delta(2, "bob", 5, 1)];
    let aggregate = Aggregate { hunters, rounds: vec![round(1, Some(1)), round(2, Some(2))], ..aggregate(1, 1, 2) };
    held.assert_outcome(Command::World(WorldCommand::Aggregate(aggregate)), Outcome::Done);
    assert_eq!(held.reader.hunter(player_id(1)), Ok(None));
    assert_eq!(held.reader.hunter(player_id(2)).unwrap().unwrap().points, 10);
    let rounds = held.reader.hunt_rounds(world_id(1), None, 9).unwrap();
    let winners: Vec<_> = rounds.iter().map(|round| round.winner_name.as_str()).collect();
    assert_eq!(winners, ["hünter-2", DELETED_ACCOUNT_NAME]);

    for next in [NamesPage::StoryGames(TableId(0)), NamesPage::HuntRounds(WorldId(0))] {
        assert_eq!(uncleared(&mut held), [ANN]);
        held.assert_outcome(forget(9), Outcome::NamesForgotten(Some(next)));
    }
    held.assert_outcome(forget(9), Outcome::NamesForgotten(None));
    assert_eq!(uncleared(&mut held), []);
    held.assert_outcome(forget(9), Outcome::NotFound);
}

pub(crate) fn names_are_taken_out_in_pages(database: &dyn Database) {
    let mut held = with_ann(database);
    held.assert_outcome(Command::CreateBot(Bot { account: ANN, ..bot(1, 1) }), Outcome::Done);
    // Bot 1 is in the first seat of each; that of match 4 is another one's.
    let mut specs: Vec<MatchSpec> = (1..=5).map(spec).collect();
    specs[3].seats[0].bot = bot_id(9);
    let create = CreateMatches { account: account_id(1), idempotency: None, matches: specs, now: at(0) };
    held.assert_outcome(Command::CreateMatches(create), Outcome::Done);
    // In match 6, which is hers, a bot that is not registered is hers, too, but not that of another one which is gone.
    let mut hers = spec(6);
    hers.seats.push(SeatSpec { owner: ann().name, ..hers.seats[1].clone() });
    let create = CreateMatches { account: ANN, idempotency: None, matches: vec![hers], now: at(0) };
    held.assert_outcome(Command::CreateMatches(create), Outcome::Done);
    held.open_tables_of_ann();
    held.assert_outcome(ensure(&hunt(1, None), &[]), world_is(&hunt(1, None)));
    held.own_world(1, 1);
    held.assert_outcome(claims(1, 1, 0, 1), Outcome::Done);
    let aggregate = Aggregate { rounds: vec![round(1, Some(1)), round(2, Some(2))], ..aggregate(1, 0, 1) };
    held.assert_outcome(Command::World(WorldCommand::Aggregate(aggregate)), Outcome::Done);
    held.assert_outcome(delete(ANN, 5), Outcome::AccountDeleted(vec![]));
    assert_eq!(held.reader.deletions().has_live_seats(ANN), Ok(true));
    assert_eq!(held.reader.deletions().has_live_seats(account_id(2)), Ok(false));
    for n in 1..=6 {
        held.assert_outcome(cancel(n, at(6)), Outcome::Done);
    }
    assert_eq!(held.reader.deletions().has_live_seats(ANN), Ok(false));

    // A page ends with whole matches: three seats are those of two matches. A process that continues begins where the last one has ended.
    let after = |n: u128| Outcome::NamesForgotten(Some(NamesPage::Seats(match_id(n))));
    held.assert_outcome(forget(3), after(2));
    held = StoreFixture::new(database);
    held.assert_outcome(forget(3), after(4));
    held.assert_outcome(forget(3), after(6));
    held.assert_outcome(forget(3), Outcome::NamesForgotten(Some(NamesPage::StoryGames(TableId(0)))));
    for n in 1..=6 {
        let seats = held.reader.match_by_id(match_id(n)).unwrap().unwrap().spec.seats;
        let is_hers = n != 4;
        assert_eq!(seats[0].owner == DELETED_ACCOUNT_NAME, is_hers, "match {n}");
        assert_eq!(seats[0].url.is_empty(), is_hers, "match {n}");
        assert_ne!(seats[1].owner, DELETED_ACCOUNT_NAME, "match {n}");
        assert!(seats.get(2).is_none_or(|seat| seat.owner == DELETED_ACCOUNT_NAME), "match {n}");
    }
    held.assert_outcome(forget(9), Outcome::NamesForgotten(Some(NamesPage::HuntRounds(WorldId(0)))));
    let told = held.reader.story_game(game_id(1, 1)).unwrap().unwrap().0;
    assert_eq!(told.storyteller_name.as_deref(), Some(DELETED_ACCOUNT_NAME));
    held.assert_outcome(forget(9), Outcome::NamesForgotten(None));
    let names = held.reader.hunt_rounds(world_id(1), None, 9).unwrap().into_iter().map(|round| round.winner_name);
    assert_eq!(names.collect::<Vec<_>>(), [round(2, Some(2)).winner_name.as_str(), DELETED_ACCOUNT_NAME]);
}

/// A failed match is not played again for an account that is gone, or with a bot of one.
pub(crate) fn nothing_of_a_deleted_account_is_requeued(database: &dyn Database) {
    let mut held = with_ann(database);
    held.assert_outcome(Command::CreateBot(Bot { account: ANN, ..bot(1, 1) }), Outcome::Done);
    let others = MatchSpec { seats: spec(2).seats.split_off(1), ..spec(3) };
    for (account, spec) in
        [(ANN, MatchSpec { seats: others.seats.clone(), ..spec(1) }), (account_id(1), spec(2)), (account_id(1), others)]
    {
        let create = CreateMatches { account, idempotency: None, matches: vec![spec], now: at(0) };
        held.assert_outcome(Command::CreateMatches(create), Outcome::Done);
    }
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    assert_eq!(held.claimed(claim(1, at(1), 9)).len(), 3);
    for n in 1..=3 {
        held.assert_outcome(fail(n, 1, at(2)), Outcome::Done);
    }
    held.assert_outcome(delete(ANN, 5), Outcome::AccountDeleted(vec![]));
    for (n, want) in [(1, Outcome::OwnerDeleted), (2, Outcome::OwnerDeleted), (3, Outcome::Done)] {
        held.assert_outcome(requeue(n, at(6)), want);
    }
}

impl StoreFixture {
    /// A table with a game of which Ann is the storyteller.
    fn open_tables_of_ann(&mut self) {
        self.open_tables(&[1]);
        self.assert_outcome(entry_with(1, 2, vec![IndexChange::UpsertGame(game(1, 1))]), Outcome::Done);
    }
}

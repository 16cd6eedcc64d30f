//! The bytes of entries: stored logs depend on them, so they may never change.

use super::super::entry::{Entry, LoggedEntry, PlayerResult, VotingStart};
use super::super::*;
use crate::ids::PlayerId;
use crate::time::UnixMs;
use rules::stories::{Card, CardSet};
use std::time::Duration;

/// The bytes stand in hexadecimal digits; spaces are for the reader: format, time, kind, fields.
#[track_caller]
fn check(entry: Entry, want: &str) {
    let logged = LoggedEntry { at: UnixMs(258), entry };
    let bytes = logged.encode();
    let have: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(have, want.replace(' ', ""));
    assert_eq!(LoggedEntry::decode(&bytes).as_ref(), Ok(&logged));
    for cut in 0..bytes.len() {
        assert!(LoggedEntry::decode(&bytes[..cut]).is_err(), "cut after {cut} bytes");
    }
    assert!(LoggedEntry::decode(&[&bytes[..], &[0]].concat()).is_err(), "with one byte more");
}

fn who() -> Box<Newcomer> {
    let standing =
        Standing { score: 300, score_prev: 12, levelups: 2, earned: set(&[37, 40]), earned_last: set(&[40]) };
    Box::new(Newcomer { id: PlayerId(258), name: "Zoë".into(), standing })
}

fn set(cards: &[u8]) -> CardSet {
    cards.iter().copied().map(Card).collect()
}

fn opening() -> Box<VotingStart> {
    Box::new(VotingStart {
        board: vec![Card(5), Card(1)],
        removed: vec![PlayerId(6)],
        bots_due: vec![UnixMs(11)],
        because: TransitionReason::Inactivity,
    })
}

fn counted() -> PlayerResult {
    PlayerResult { player: PlayerId(4), picked: Some(Card(7)), vote: None, points: Some(300), has_won: true }
}

#[test]
fn entries_are_golden() {
    check(
        Entry::Started {
            storyteller: who(),
            hand: set(&[1, 36]),
            unseated: vec![PlayerId(9)],
            tell_by: Some(UnixMs(-2)),
        },
        "01 0201000000000000 01 00000000000000000000000000000102045a6fc3ab2c010000000000000c0000000000000002000000002001000000000000000100000200000010000000010000000000000000000000000000000901feffffffffffffff",
    );
    check(
        Entry::Joined { who: who(), hand: set(&[2, 43]), bot_due: None },
        "01 0201000000000000 02 00000000000000000000000000000102045a6fc3ab2c010000000000000c000000000000000200000000200100000000000000010000040000000008000000",
    );
    check(
        Entry::Left { player: PlayerId(3), countdown: None },
        "01 0201000000000000 03 0000000000000000000000000000000300",
    );
    check(
        Entry::CardChosen { card: Card(36), tell_by: Some(UnixMs(300)) },
        "01 0201000000000000 04 24012c01000000000000",
    );
    check(Entry::StoryTold { sentence: "ä b".into() }, "01 0201000000000000 05 04c3a42062");
    check(
        Entry::Invited { players: vec![PlayerId(4), PlayerId(5)] },
        "01 0201000000000000 06 020000000000000000000000000000000400000000000000000000000000000005",
    );
    check(
        Entry::Picked { player: PlayerId(4), card: Card(7), countdown: None },
        "01 0201000000000000 07 000000000000000000000000000000040700",
    );
    check(
        Entry::CountdownSet { chosen: Some(Duration::from_millis(100)), countdown: None },
        "01 0201000000000000 08 01640000000000000000",
    );
    check(
        Entry::VotingOpened { opening: opening() },
        "01 0201000000000000 09 0205010100000000000000000000000000000006010b0000000000000002",
    );
    check(
        Entry::Voted { player: PlayerId(4), card: Card(5), countdown: Some(UnixMs(400)) },
        "01 0201000000000000 0a 0000000000000000000000000000000405019001000000000000",
    );
    check(
        Entry::Completed { results: vec![counted()], because: TransitionReason::Storyteller },
        "01 0201000000000000 0b 010000000000000000000000000000000401070001ac020100",
    );
    check(Entry::Canceled { because: TransitionReason::StorytellerLate }, "01 0201000000000000 0c 04");
    check(Entry::Canceled { because: TransitionReason::Closed }, "01 0201000000000000 0c 05");
    check(
        Entry::ChatSent { player: PlayerId(4), text: "hi".into() },
        "01 0201000000000000 0d 00000000000000000000000000000004026869",
    );
    check(Entry::BotsSet { are_on: true }, "01 0201000000000000 0e 01");
    check(
        Entry::NextStorytellerNamed { next: Some(PlayerId(4)), until: None },
        "01 0201000000000000 0f 010000000000000000000000000000000400",
    );
}

#[test]
fn what_is_not_canonical_is_refused() {
    let check = |hex: &str| {
        let digits = hex.replace(' ', "");
        let bytes: Vec<u8> =
            (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap()).collect();
        assert!(LoggedEntry::decode(&bytes).is_err(), "{hex}");
    };
    check("02 0201000000000000 0e 01");
    check("01 0201000000000000 00");
    check("01 0201000000000000 10");
    check("01 0201000000000000 0e 02");
    check("01 0201000000000000 04 00 00");
    check("01 0201000000000000 04 2c 00");
    check("01 0201000000000000 0c 06");
    check("01 0201000000000000 05 8000");
    check("01 0201000000000000 05 02ff61");
    check("01 0201000000000000 06 ffffffff0f");
}

/// A table as it was stored before bots told: five bots sit there, three cards are picked. The first line is the snapshot that it was
/// opened with, each further one an entry.
const STORED_TABLE: &str = include_str!("stored_table.txt");

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

#[test]
fn a_table_from_before_bots_told_goes_on() {
    let mut lines = STORED_TABLE.lines().map(bytes_of);
    let snapshot = lines.next().unwrap();
    let rows: Vec<_> = (0..).zip(lines).map(|(version, bytes)| TableLogRow { version, bytes }).collect();
    let mut table = Table::restore(&snapshot, &rows).expect("what was stored is read");
    let written: Vec<Vec<u8>> =
        rows.iter().map(|row| LoggedEntry::decode(&row.bytes).expect("it is read").encode()).collect();
    assert!(written.iter().eq(rows.iter().map(|row| &row.bytes)), "and would be written as it was");
    assert_eq!(table.view(None).bots, BotSettings { are_on: true, ..BotSettings::default() });
    // The countdowns bring the game to its end, and a bot tells next.
    let opener = table.opener();
    for _ in 0..100 {
        let game = table.view(None).game.unwrap();
        if game.id.number == 2 && game.phase == Phase::Invitation {
            assert!(game.storyteller.is_some_and(is_bot) && game.sentence.is_some());
            return;
        }
        let change = table.tick(table.next_due().expect("it goes on"), &|who| who == opener).expect("it is due");
        table.apply(&change, 0);
    }
    panic!("no bot tells: {:?}", table.view(None).game);
}

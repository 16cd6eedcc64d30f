//! What a table keeps in memory: the snapshot that follows the log, cursors that are too old, people that are dropped.

use super::super::*;
use super::fixture::newcomer;
use super::{ScriptedAction, TableFixture, player};
use crate::limits::{CHAT_INTERVAL, STORY_SEAT_MIN, TABLE_PEOPLE_MAX, TABLE_SNAPSHOT_ENTRIES};
use crate::rows::TableLogRow;
use proptest::prelude::*;

fn end_a_game(fixture: &mut TableFixture, teller: u8) {
    fixture.play_allowed(teller, ScriptedAction::Choose(0));
    fixture.play_allowed(teller, ScriptedAction::Tell);
    fixture.play_allowed(teller, ScriptedAction::Leave);
}

#[test]
fn the_last_game_is_always_remembered() {
    let mut fixture = TableFixture::with_defaults();
    let mut bases = vec![fixture.base_version];
    for game in 0..5 {
        let begun_at = fixture.table.seq(None) - 1;
        end_a_game(&mut fixture, game);
        fixture.play_allowed(game + 1, ScriptedAction::Next);
        assert!(fixture.table.feed(None, begun_at).is_some(), "who saw the game begin may read on");
        bases.push(fixture.base_version);
    }
    assert_eq!(bases, [0, 0, 4, 8, 12, 16], "the base is the end of the game before the last");
    assert_eq!(fixture.table.feed(None, 0), None);
    assert_eq!(fixture.table.feed(None, fixture.table.seq(None) + 1), None, "a cursor from the future");
    assert_eq!(fixture.table.feed(None, u64::MAX), None);
}

#[test]
fn a_long_game_moves_the_base_too() {
    let mut fixture = TableFixture::with_defaults();
    for turn in 0..TABLE_SNAPSHOT_ENTRIES as usize * 3 {
        fixture.now = fixture.now.plus(CHAT_INTERVAL);
        fixture.act(player(0), &Action::Chat(format!("line {turn}"))).unwrap();
        let kept = fixture.rows.len() as u32;
        assert!(kept <= 2 * TABLE_SNAPSHOT_ENTRIES, "{kept} rows");
        assert!(fixture.base_version == 0 || kept >= TABLE_SNAPSHOT_ENTRIES, "{kept} rows");
    }
    assert!(fixture.base_version >= TABLE_SNAPSHOT_ENTRIES);
}

#[test]
fn the_forgotten_start_again() {
    let mut fixture = TableFixture::with_defaults();
    fixture.viewers.truncate(5);
    for n in 1..=200 {
        fixture.play_allowed(n, ScriptedAction::Join);
        fixture.act(player(n), &Action::Chat("hello".to_owned())).unwrap();
        fixture.now = fixture.now.plus(STORY_SEAT_MIN);
        fixture.play_allowed(n, ScriptedAction::Leave);
    }
    assert_eq!(fixture.table.seq(Some(player(200))), fixture.table.seq(None) + 1);
    assert_eq!(
        fixture.table.seq(Some(player(1))),
        fixture.table.seq(None),
        "forgotten among {TABLE_PEOPLE_MAX} others"
    );
    assert_eq!(fixture.table.seq(Some(player(0))), fixture.table.seq(None) + 200, "a member never is");
}

#[test]
fn a_log_that_does_not_follow_is_refused() {
    let fixture = TableFixture::up_to_vote(2);
    let check = |rows: &[TableLogRow], version: u32| match Table::restore(&fixture.base, rows) {
        Err(TableLoadError::Log { version: at, .. } | TableLoadError::Entry { version: at, .. }) => {
            assert_eq!(at, version);
        }
        other => panic!("{:?}", other.map(|table| table.version())),
    };
    let mut swapped = fixture.rows.clone();
    swapped.swap(1, 2);
    check(&swapped, 2);
    let mut broken = fixture.rows.clone();
    broken[3].bytes.push(0);
    check(&broken, 3);
    let unfounded = TableLogRow { version: 0, bytes: fixture.rows[1].bytes.clone() };
    check(&[unfounded], 0);
    assert!(matches!(Table::restore(&[], &fixture.rows), Err(TableLoadError::Snapshot(_))));
    assert!(matches!(Table::restore(&[2, 0, 0], &fixture.rows), Err(TableLoadError::Snapshot(_))));
}

proptest! {
    /// Any bytes: a load returns a result, and what it accepts as an entry, it writes in the same bytes.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in any::<prop::sample::Index>()) {
        let fixture = TableFixture::up_to_vote(2);
        let row = |bytes: Vec<u8>| TableLogRow { version: 0, bytes };
        let _ = Table::restore(&bytes, &[]);
        let _ = Table::restore(&fixture.base, &[row(bytes.clone())]);
        let _ = GameRecord::from_bytes(&bytes);
        for (at, have) in fixture.rows.iter().enumerate() {
            let mut bent = have.bytes.clone();
            let place = cut.index(bent.len());
            bent[place] ^= 1 << (place % 8);
            let rows: Vec<_> = fixture.rows[..at].iter().cloned().chain([TableLogRow { version: at as u32, bytes: bent.clone() }]).collect();
            let _ = Table::restore(&fixture.base, &rows);
            if let Ok(read) = entry::LoggedEntry::decode(&bent) {
                prop_assert_eq!(read.encode(), bent, "one entry, one byte string");
            }
        }
    }
}

#[test]
fn a_guest_list_is_only_the_tellers() {
    let mut fixture = TableFixture::with_defaults();
    let before = fixture.table.seq(Some(player(0)));
    fixture.act(player(0), &Action::Invite(vec![player(1)])).unwrap();
    assert_eq!(fixture.table.seq(Some(player(0))), before + 1);
    assert_eq!(fixture.table.seq(Some(player(1))), before, "his list of games says it");
    fixture.act(player(1), &Action::Join(newcomer(player(1)))).unwrap();
    let Some(update) = fixture.table.feed(Some(player(0)), before) else { panic!("remembered") };
    assert_eq!(update.events.len(), 2);
}

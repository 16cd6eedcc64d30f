//! Players: each looks, does something that might be allowed, and polls, as clients do; asks elsewhere when told so, and again
//! when nobody answers.

use super::seen::{Heard, Sight};
use super::touch::{AtTables, Door};
use crate::chance::Dice;
use crate::world::World;
use engine::ids::{PlayerId, TableId};
use engine::tables::{Action, GameView, Newcomer, Part, Phase, TableView};
use rules::stories::{Card, CardSet};
use server::tables::{Feed, FeedAnswer, Opened, Opening, TableError};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// A client gives a silent server up after this time.
const PATIENCE: Duration = Duration::from_secs(10);

/// One client.
pub(super) struct Player {
    world: Arc<World<AtTables>>,
    /// `None`: somebody who does not say who he is, and only looks on.
    id: Option<PlayerId>,
    /// Where he last was told to ask.
    address: BTreeMap<TableId, String>,
    cursors: BTreeMap<TableId, u64>,
    said: u32,
}

/// How an attempt to ask somebody ended.
enum Asked<T> {
    Answered(Result<T, TableError>),
    /// Nobody was there, or nobody answered in time.
    Silence,
}

impl Player {
    pub(super) fn new(world: Arc<World<AtTables>>, number: Option<u128>) -> Self {
        let id = number.map(|number| PlayerId(0x0190_0000_0000_7000_8000_0000_0000_0000 | number));
        Self { world, id, address: BTreeMap::new(), cursors: BTreeMap::new(), said: 0 }
    }

    fn newcomer(&self, id: PlayerId) -> Newcomer {
        Newcomer { id, name: format!("{}", id.0 & 0xff).into(), standing: Default::default() }
    }

    fn roll(&self, n: u64) -> u64 {
        self.world.roll(|dice: &mut Dice| dice.below(n))
    }

    /// Opens a table, however often it takes.
    pub(super) async fn open(&mut self, table: TableId) {
        let Some(id) = self.id else { return };
        let (settings, bots) = (self.world.story.plan.settings, self.world.story.plan.bots);
        loop {
            let opening = Opening {
                id: table,
                opener: self.newcomer(id),
                address: None,
                is_operator: false,
                settings,
                bots,
                idempotency: None,
            };
            match self.ask(table, async |door| door.tables.open(opening).await).await {
                Asked::Answered(Ok(Opened::New { .. })) => return,
                // It may have been opened by an earlier attempt.
                _ if self.world.oracle(|log| log.tables.get(&table).is_some_and(|story| !story.rows.is_empty())) => {
                    return;
                }
                _ => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Goes on until it is told to stop.
    pub(super) async fn live(mut self, until: Duration) {
        while self.world.elapsed() < until {
            let tables = &self.world.story.ids;
            let table = tables[self.roll(tables.len() as u64) as usize];
            match self.roll(10) {
                0..4 => self.poll(table).await,
                4..5 => drop(self.look(table).await),
                _ => self.act(table).await,
            }
            sleep(Duration::from_millis(self.roll(800))).await;
        }
    }

    /// Asks the process where he last found the table; remembers where he is sent.
    async fn ask<T>(&mut self, table: TableId, question: impl AsyncFnOnce(Door) -> Result<T, TableError>) -> Asked<T> {
        let any = self.roll(64);
        let Some(door) = self.world.story.door(self.address.get(&table).map(String::as_str), any) else {
            return Asked::Silence;
        };
        match timeout(PATIENCE, question(door)).await {
            Err(_) => {
                self.address.remove(&table);
                Asked::Silence
            }
            Ok(answer) => {
                match &answer {
                    Err(TableError::Elsewhere { address }) => drop(self.address.insert(table, address.clone())),
                    Err(_) => drop(self.address.remove(&table)),
                    Ok(_) => {}
                }
                Asked::Answered(answer)
            }
        }
    }

    fn saw(&self, table: TableId, asked: Duration, what: Heard) {
        let heard = self.world.elapsed();
        self.world.story.saw(Sight { table, viewer: self.id, asked, heard, what });
    }

    async fn look(&mut self, table: TableId) -> Option<Box<TableView>> {
        let (asked, viewer) = (self.world.elapsed(), self.id);
        match self.ask(table, async |door| door.tables.view(table, viewer).await).await {
            Asked::Answered(Ok(seen)) => {
                self.saw(table, asked, Heard::View(seen.view.clone()));
                Some(seen.view)
            }
            Asked::Answered(Err(_)) | Asked::Silence => None,
        }
    }

    async fn poll(&mut self, table: TableId) {
        let (asked, viewer, after) = (self.world.elapsed(), self.id, self.cursors.get(&table).copied().unwrap_or(0));
        let patience = Duration::from_millis(self.roll(6_000));
        let poll = async |door: Door| {
            let mut wait = door.tables.wait(table, viewer, after).await?;
            match timeout(patience, &mut wait).await {
                Ok(answer) => answer.map(Some),
                Err(_) => Ok(wait.so_far()),
            }
        };
        if let Asked::Answered(Ok(Some(answer))) = self.ask(table, poll).await {
            self.heard(table, asked, after, &answer);
        }
    }

    fn heard(&mut self, table: TableId, asked: Duration, after: u64, answer: &FeedAnswer) {
        match &answer.feed {
            Feed::News(news) => {
                self.cursors.insert(table, news.seq);
                self.saw(table, asked, Heard::News { after, events: news.events.clone() });
            }
            Feed::TooOld(view) => {
                self.cursors.insert(table, view.seq);
                self.saw(table, asked, Heard::TooOld { view: view.clone() });
            }
        }
    }

    async fn act(&mut self, table: TableId) {
        let Some(id) = self.id else { return };
        let Some(view) = self.look(table).await else { return };
        let action = self.choose(id, &view);
        let said = match &action {
            Action::Chat(text) => Some(text.clone()),
            _ => None,
        };
        let asked = self.world.elapsed();
        let what = match self.ask(table, async |door| door.tables.act(table, None, id, action).await).await {
            Asked::Answered(Ok(acted)) => Heard::Done { view: acted.view, said },
            Asked::Answered(Err(TableError::NotServing | TableError::Store(store::StoreError::Unavailable { .. })))
            | Asked::Silence => Heard::Unknown { said },
            Asked::Answered(Err(TableError::Broken)) => panic!("a table broke"),
            Asked::Answered(Err(_)) => Heard::NotDone { said },
        };
        self.saw(table, asked, what);
    }

    /// Something that might be allowed.
    fn choose(&mut self, id: PlayerId, view: &TableView) -> Action {
        if self.roll(4) == 0 {
            self.said += 1;
            return Action::Chat(format!("{id} {}", self.said));
        }
        match &view.game {
            Some(game) if game.phase.is_live() => self.play(id, game),
            _ => Action::NextGame(self.newcomer(id)),
        }
    }

    fn play(&mut self, id: PlayerId, game: &GameView) -> Action {
        let hand = game.mine.map(|mine| mine.hand).unwrap_or_default();
        let storyteller = game.part == Part::Storyteller;
        match (game.part, game.phase) {
            _ if self.roll(60) == 0 => Action::Leave,
            (Part::Storyteller, Phase::Create) if self.roll(2) == 0 => Action::Tell("a story".to_owned()),
            (Part::Storyteller, Phase::Create) => Action::ChooseCard(self.card(hand)),
            (Part::Storyteller, Phase::Invitation) => match self.roll(5) {
                0 => Action::SetBots(self.roll(2) == 0),
                1 => Action::SetCountdown(Duration::from_millis(500 + self.roll(4_000))),
                2 => Action::Invite(vec![PlayerId(u128::from(self.roll(1_000) + 5_000))]),
                _ => Action::OpenVoting,
            },
            (Part::Storyteller, _) if storyteller => Action::Complete,
            (Part::Player, Phase::Vote) => {
                let board = game.board.clone().unwrap_or_default();
                Action::Vote(board.get(self.roll(board.len().max(1) as u64) as usize).copied().unwrap_or(Card(1)))
            }
            (Part::Player, _) => Action::Pick(self.card(hand)),
            _ => Action::Join(self.newcomer(id)),
        }
    }

    fn card(&self, hand: CardSet) -> Card {
        let cards: Vec<Card> = hand.iter().collect();
        cards.get(self.roll(cards.len().max(1) as u64) as usize).copied().unwrap_or(Card(1))
    }
}

//! Players: each reads the table, does something that might be allowed, and polls, as clients do; follows redirects,
//! and retries without a response.

use super::observations::{Observation, ObservedKind};
use super::workload::{NodeEndpoint, TableWorkload};
use crate::dice::Dice;
use crate::fault_counts::FaultKind;
use crate::world::SimWorld;
use engine::ids::{PlayerId, TableId};
use engine::tables::{Action, GameView, Newcomer, Phase, TableView, ViewerRole};
use rules::stories::{Card, CardSet};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tables::{Feed, FeedResponse, NewTable, OpenResult, TableError};
use tokio::time::{sleep, timeout};

/// A client gives a silent server up after this time.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// One client.
pub(super) struct Player {
    world: Arc<SimWorld<TableWorkload>>,
    /// `None`: an unauthenticated viewer.
    id: Option<PlayerId>,
    /// The last known address of each table.
    address: BTreeMap<TableId, String>,
    cursors: BTreeMap<TableId, u64>,
    chats_sent: u32,
}

/// The result of a call.
enum CallResult<T> {
    Response(Result<T, TableError>),
    /// The process was unreachable, or did not answer in time.
    Timeout,
}

impl Player {
    pub(super) fn new(world: Arc<SimWorld<TableWorkload>>, number: Option<u128>) -> Self {
        let id = number.map(|number| PlayerId(0x0190_0000_0000_7000_8000_0000_0000_0000 | number));
        Self { world, id, address: BTreeMap::new(), cursors: BTreeMap::new(), chats_sent: 0 }
    }

    fn newcomer(&self, id: PlayerId) -> Newcomer {
        Newcomer { id, name: format!("{}", id.0 & 0xff).into(), standing: Default::default() }
    }

    fn random_below(&self, n: u64) -> u64 {
        self.world.random(|dice: &mut Dice| dice.below(n))
    }

    /// Opens a table, however often it takes.
    pub(super) async fn open(&mut self, table: TableId) {
        let Some(id) = self.id else { return };
        let (settings, bots) = (self.world.workload.plan.settings, self.world.workload.plan.bots);
        loop {
            let opening = NewTable {
                id: table,
                opener: self.newcomer(id),
                address: None,
                is_operator: false,
                settings,
                bots,
                idempotency: None,
            };
            match self.call(table, async |endpoint| endpoint.tables.open(opening).await).await {
                CallResult::Response(Ok(OpenResult::New { .. })) => return,
                // It may have been opened by an earlier attempt.
                _ if self
                    .world
                    .with_oracle(|log| log.tables.get(&table).is_some_and(|history| !history.rows.is_empty())) =>
                {
                    return;
                }
                _ => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Plays until the stop signal.
    pub(super) async fn run(mut self, until: Duration) {
        while self.world.elapsed() < until {
            let tables = &self.world.workload.ids;
            let table = tables[self.random_below(tables.len() as u64) as usize];
            match self.random_below(10) {
                0..4 => self.poll(table).await,
                4..5 => drop(self.fetch_view(table).await),
                _ => self.act(table).await,
            }
            sleep(Duration::from_millis(self.random_below(800))).await;
        }
    }

    /// Calls the process at the table's last known address; remembers redirects.
    async fn call<T>(
        &mut self,
        table: TableId,
        question: impl AsyncFnOnce(NodeEndpoint) -> Result<T, TableError>,
    ) -> CallResult<T> {
        let any = self.random_below(64);
        let Some(endpoint) = self.world.workload.endpoint(self.address.get(&table).map(String::as_str), any) else {
            return CallResult::Timeout;
        };
        let lost_per_mille = self.world.cluster().faults.request_lost_per_mille;
        if self.world.happens(FaultKind::RequestLost, lost_per_mille / 2) {
            return CallResult::Timeout;
        }
        match timeout(REQUEST_TIMEOUT, question(endpoint)).await {
            Err(_) => {
                self.address.remove(&table);
                CallResult::Timeout
            }
            Ok(_) if self.world.happens(FaultKind::RequestLost, lost_per_mille / 2) => CallResult::Timeout,
            Ok(answer) => {
                match &answer {
                    Err(TableError::Elsewhere { address }) => drop(self.address.insert(table, address.clone())),
                    Err(_) => drop(self.address.remove(&table)),
                    Ok(_) => {}
                }
                CallResult::Response(answer)
            }
        }
    }

    fn observe(&self, table: TableId, sent_at: Duration, what: ObservedKind) {
        let received_at = self.world.elapsed();
        self.world.workload.record(Observation { table, viewer: self.id, sent_at, received_at, kind: what });
    }

    async fn fetch_view(&mut self, table: TableId) -> Option<Box<TableView>> {
        let (sent_at, viewer) = (self.world.elapsed(), self.id);
        match self.call(table, async |endpoint| endpoint.tables.view(table, viewer).await).await {
            CallResult::Response(Ok(seen)) => {
                self.observe(table, sent_at, ObservedKind::View(seen.view.clone()));
                Some(seen.view)
            }
            CallResult::Response(Err(_)) | CallResult::Timeout => None,
        }
    }

    async fn poll(&mut self, table: TableId) {
        let (sent_at, viewer, after) = (self.world.elapsed(), self.id, self.cursors.get(&table).copied().unwrap_or(0));
        let patience = Duration::from_millis(self.random_below(6_000));
        let poll = async |endpoint: NodeEndpoint| {
            let mut wait = endpoint.tables.wait(table, viewer, after).await?;
            match timeout(patience, &mut wait).await {
                Ok(answer) => answer.map(Some),
                Err(_) => Ok(wait.so_far()),
            }
        };
        if let CallResult::Response(Ok(Some(answer))) = self.call(table, poll).await {
            self.record_feed(table, sent_at, after, &answer);
        }
    }

    fn record_feed(&mut self, table: TableId, sent_at: Duration, after: u64, answer: &FeedResponse) {
        match &answer.feed {
            Feed::News(update) => {
                self.cursors.insert(table, update.seq);
                self.observe(table, sent_at, ObservedKind::Update { after, events: update.events.clone() });
            }
            Feed::TooOld(view) => {
                self.cursors.insert(table, view.seq);
                self.observe(table, sent_at, ObservedKind::TooOld { view: view.clone() });
            }
        }
    }

    async fn act(&mut self, table: TableId) {
        let Some(id) = self.id else { return };
        let Some(view) = self.fetch_view(table).await else { return };
        let action = self.choose(id, &view);
        let chat_line = match &action {
            Action::Chat(text) => Some(text.clone()),
            _ => None,
        };
        let sent_at = self.world.elapsed();
        let what = match self.call(table, async |endpoint| endpoint.tables.act(table, None, id, action).await).await {
            CallResult::Response(Ok(acted)) => ObservedKind::ActionDone { view: acted.view, chat_line },
            CallResult::Response(Err(
                TableError::NotServing | TableError::Store(store::StoreError::Unavailable { .. }),
            ))
            | CallResult::Timeout => ObservedKind::ActionUnknown { chat_line },
            CallResult::Response(Err(TableError::Broken)) => panic!("a table broke"),
            CallResult::Response(Err(_)) => ObservedKind::ActionRejected { chat_line },
        };
        self.observe(table, sent_at, what);
    }

    /// Something that might be allowed.
    fn choose(&mut self, id: PlayerId, view: &TableView) -> Action {
        if self.random_below(4) == 0 {
            self.chats_sent += 1;
            return Action::Chat(format!("{id} {}", self.chats_sent));
        }
        match &view.game {
            Some(game) if game.phase.is_live() => self.play(id, game),
            _ => Action::NextGame(self.newcomer(id)),
        }
    }

    fn play(&mut self, id: PlayerId, game: &GameView) -> Action {
        let hand = game.own.map(|mine| mine.hand).unwrap_or_default();
        let storyteller = game.role == ViewerRole::Storyteller;
        match (game.role, game.phase) {
            _ if self.random_below(60) == 0 => Action::Leave,
            (ViewerRole::Storyteller, Phase::Create) if self.random_below(2) == 0 => {
                Action::TellStory("a story".to_owned())
            }
            (ViewerRole::Storyteller, Phase::Create) => Action::ChooseCard(self.card(hand)),
            (ViewerRole::Storyteller, Phase::Invitation) => match self.random_below(5) {
                0 => Action::SetBots(self.random_below(2) == 0),
                1 => Action::SetCountdown(Duration::from_millis(500 + self.random_below(4_000))),
                2 => Action::Invite(vec![PlayerId(u128::from(self.random_below(1_000) + 5_000))]),
                _ => Action::OpenVoting,
            },
            (ViewerRole::Storyteller, _) if storyteller => Action::Complete,
            (ViewerRole::Player, Phase::Vote) => {
                let board = game.board.clone().unwrap_or_default();
                Action::Vote(
                    board.get(self.random_below(board.len().max(1) as u64) as usize).copied().unwrap_or(Card(1)),
                )
            }
            (ViewerRole::Player, _) => Action::Pick(self.card(hand)),
            _ => Action::Join(self.newcomer(id)),
        }
    }

    fn card(&self, hand: CardSet) -> Card {
        let cards: Vec<Card> = hand.iter().collect();
        cards.get(self.random_below(cards.len().max(1) as u64) as usize).copied().unwrap_or(Card(1))
    }
}

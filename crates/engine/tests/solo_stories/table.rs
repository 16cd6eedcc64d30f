//! A table of Stories with one person and bots, in memory: the person is the guesser, who plays as an attentive client does.

use super::guesser::guess;
use engine::ids::{PlayerId, TableId};
use engine::tables::{
    Action, BotSettings, CardView, Difficulty, GameView, Newcomer, Phase, Standing, Table, TableSettings, is_bot,
};
use engine::time::UnixMs;
use rules::chance::Seed;
use rules::stories::Card;
use std::time::Duration;

/// The person.
const PERSON: PlayerId = PlayerId(0x0190_0000_0000_7000_8000_0000_0000_0001);
/// How long the person looks before doing anything.
const LOOK: Duration = Duration::from_secs(4);

/// How the votes of games were that bots told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Votes {
    pub(crate) games: u32,
    /// Games whose vote the person won.
    pub(crate) right: u32,
    /// Games that a random vote would have won, in thousandths of a game.
    pub(crate) random_permille: u32,
    pub(crate) bots: u32,
    pub(crate) bots_right: u32,
    /// From the end of one game to the end of the next, in all.
    pub(crate) played: Duration,
}

impl Votes {
    /// Adds those of another table.
    pub(crate) fn add(&mut self, other: Self) {
        self.games += other.games;
        self.right += other.right;
        self.random_permille += other.random_permille;
        self.bots += other.bots;
        self.bots_right += other.bots_right;
        self.played += other.played;
    }

    pub(crate) fn right_percent(&self) -> f64 {
        f64::from(self.right) * 100.0 / f64::from(self.games.max(1))
    }

    pub(crate) fn random_percent(&self) -> f64 {
        f64::from(self.random_permille) / 10.0 / f64::from(self.games.max(1))
    }

    pub(crate) fn bots_percent(&self) -> f64 {
        f64::from(self.bots_right) * 100.0 / f64::from(self.bots.max(1))
    }
}

/// A table that a person opened, and the sentences that bots told there.
pub(crate) struct SoloTable {
    table: Table,
    now: UnixMs,
    pub(crate) sentences: Vec<String>,
}

impl SoloTable {
    pub(crate) fn open(seed: u64, difficulty: Difficulty) -> Self {
        let bots = BotSettings { are_on: true, difficulty };
        let now = UnixMs(1_800_000_000_000);
        let person = person();
        let (mut table, change) =
            Table::open(TableId(1), TableSettings::default(), Seed(seed), bots, &person, now).expect("good settings");
        table.apply(&change, 0);
        Self { table, now, sentences: Vec::new() }
    }

    /// Plays until bots have told so many games: how they went.
    pub(crate) fn play(&mut self, games: u32) -> Votes {
        let mut votes = Votes::default();
        let mut ended_at = self.now;
        while votes.games < games {
            let game = self.play_one();
            if game.storyteller.is_some_and(is_bot) {
                self.count(&game, &mut votes);
                votes.played += self.now.since(ended_at);
            }
            ended_at = self.now;
        }
        votes
    }

    fn count(&mut self, game: &GameView, votes: &mut Votes) {
        let CardView::Card(winner) = game.winner_card else { panic!("a game ends complete: {game:?}") };
        self.sentences.extend(game.sentence.as_deref().map(str::to_owned));
        votes.games += 1;
        for player in game.players.iter().skip(1) {
            let CardView::Card(vote) = player.vote else { panic!("all vote: {game:?}") };
            if is_bot(player.id) {
                votes.bots += 1;
                votes.bots_right += u32::from(vote == winner);
            } else {
                votes.right += u32::from(vote == winner);
                votes.random_permille += 1_000 / (game.players.len() as u32 - 1);
            }
        }
    }

    /// The next game, up to its end.
    fn play_one(&mut self) -> GameView {
        let before = self.view().id.number - u32::from(self.view().phase.is_live());
        for _ in 0..10_000 {
            let game = self.view();
            if game.id.number > before && !game.phase.is_live() {
                return game;
            }
            if let Some(action) = self.next_action(&game) {
                self.wait(LOOK);
                let is_the_same = self.view().phase == game.phase && self.view().id == game.id;
                if is_the_same {
                    self.act(&action);
                }
            } else {
                let due = self.table.next_due().expect("somebody does something");
                self.wait(due.since(self.now));
            }
        }
        panic!("a game without an end: {:?}", self.view());
    }

    /// What the person does now, if it is up to them.
    fn next_action(&self, game: &GameView) -> Option<Action> {
        let own = game.own;
        let is_mine = game.storyteller == Some(PERSON);
        let sentence = game.sentence.as_deref().unwrap_or_default();
        match game.phase {
            Phase::Create if is_mine => match game.winner_card {
                CardView::Card(card) => Some(Action::TellStory(cards::title(card.0)?.to_owned())),
                _ => Some(Action::ChooseCard(own?.hand.iter().next()?)),
            },
            Phase::Create | Phase::Invitation if own.is_none() => Some(Action::Join(person())),
            Phase::Invitation if is_mine => (all_bots(game, |player| player.picked)).then_some(Action::OpenVoting),
            Phase::Invitation if own?.picked.is_none() => {
                let hand: Vec<u8> = own?.hand.iter().map(|card| card.0).collect();
                guess(sentence, &hand).map(|card| Action::Pick(Card(card)))
            }
            Phase::Vote if is_mine => all_bots(game, |player| player.vote).then_some(Action::Complete),
            Phase::Vote if own?.vote.is_none() => {
                let others =
                    game.board.iter().flatten().filter(|card| own.is_some_and(|own| own.picked != Some(**card)));
                let others: Vec<u8> = others.map(|card| card.0).collect();
                guess(sentence, &others).map(|card| Action::Vote(Card(card)))
            }
            Phase::Complete | Phase::Canceled => {
                let is_next = self.table.view(None).next_storyteller == Some(PERSON);
                is_next.then(|| Action::NextGame(person()))
            }
            Phase::Create | Phase::Invitation | Phase::Vote => None,
        }
    }

    fn act(&mut self, action: &Action) {
        let change = self.table.decide(PERSON, None, action, self.now, &|_| true).expect("it was possible");
        self.table.apply(&change, 0);
    }

    /// Time passes, and what is due happens.
    fn wait(&mut self, span: Duration) {
        let until = self.now.plus(span);
        while let Some(due) = self.table.next_due().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            let change = self.table.tick(self.now, &|who| who == PERSON).expect("what is due happens");
            self.table.apply(&change, 0);
        }
        self.now = until;
    }

    /// The game, as the person sees it.
    fn view(&self) -> GameView {
        self.table.view(Some(PERSON)).game.expect("an open table has a game")
    }
}

fn person() -> Newcomer {
    Newcomer { id: PERSON, name: "Ann".into(), standing: Standing::default() }
}

/// Whether five bots sit there, and all have done this.
fn all_bots(game: &GameView, what: impl Fn(&engine::tables::PlayerView) -> CardView) -> bool {
    game.players.len() == 6 && game.players.iter().skip(1).all(|player| what(player) != CardView::Nothing)
}

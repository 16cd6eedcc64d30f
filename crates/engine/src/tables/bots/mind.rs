//! What a bot tells, picks and votes for. It knows what a player in its seat knows and nothing else: everything here takes a
//! [`SeatView`], and the only way to one is the view of the table that was cut for the bot.

use super::super::state::ChatMessageKind;
use super::super::view::TableView;
use cards::Difficulty;
use rules::chance::Dice;
use rules::stories::{Card, CardSet};

/// What a card counts besides its fit when a bot picks: the more, the less the sentence decides.
const PICK_DOUBT: u32 = 2;
/// The same when it votes. Others have picked cards that fit as well, and a sentence may mean something else.
const VOTE_DOUBT: u32 = 8;

/// What a bot sees from its seat.
pub(in super::super) struct SeatView<'a> {
    hand: CardSet,
    picked: Option<Card>,
    board: &'a [Card],
    sentence: &'a str,
    /// Sentences that it heard at this table.
    heard: Vec<&'a str>,
}

impl<'a> SeatView<'a> {
    /// What there is for the player of this view; `None` when the viewer does not play.
    pub(in super::super) fn of(view: &'a TableView) -> Option<Self> {
        let game = view.game.as_ref()?;
        let own = game.own?;
        let stories = view.chat.iter().filter(|line| line.kind == ChatMessageKind::StoryTold);
        Some(Self {
            hand: own.hand,
            picked: own.picked,
            board: game.board.as_deref().unwrap_or_default(),
            sentence: game.sentence.as_deref().unwrap_or_default(),
            heard: stories.map(|line| &*line.text).collect(),
        })
    }
}

/// The card that a bot tells about, and what it tells: something that it has not heard here lately, where there is a choice.
pub(in super::super) fn tell(
    seat: &SeatView<'_>,
    difficulty: Difficulty,
    dice: &mut impl Dice,
) -> Option<(Card, String)> {
    let card = draw(&seat.hand.iter().collect::<Vec<_>>(), dice)?;
    let sentences = cards::sentences(card.0, difficulty);
    let new: Vec<String> = sentences.iter().filter(|told| !seat.heard.contains(&told.as_str())).cloned().collect();
    let sentence = draw(if new.is_empty() { &sentences } else { &new }, dice)?;
    Some((card, sentence))
}

/// What a bot adds to the storyteller's card: most likely a card of its hand that fits the sentence.
pub(in super::super) fn pick(seat: &SeatView<'_>, dice: &mut impl Dice) -> Option<Card> {
    draw_by_fit(&seat.hand.iter().collect::<Vec<_>>(), seat.sentence, PICK_DOUBT, dice)
}

/// What a bot votes for: any card of the board but its own, more likely one that fits the sentence.
pub(in super::super) fn vote(seat: &SeatView<'_>, dice: &mut impl Dice) -> Option<Card> {
    let others: Vec<Card> = seat.board.iter().copied().filter(|card| seat.picked != Some(*card)).collect();
    draw_by_fit(&others, seat.sentence, VOTE_DOUBT, dice)
}

fn draw<T: Clone>(from: &[T], dice: &mut impl Dice) -> Option<T> {
    from.get(dice.below(from.len() as u32) as usize).cloned()
}

/// One of the cards, each as likely as its fit and the doubt. All are equally likely where no word is known.
fn draw_by_fit(cards: &[Card], sentence: &str, doubt: u32, dice: &mut impl Dice) -> Option<Card> {
    let fits = cards::fit(sentence);
    let weight = |card: &Card| doubt + fits.get(usize::from(card.0) - 1).copied().unwrap_or(0);
    let mut left = dice.below(cards.iter().map(weight).sum());
    cards.iter().copied().find(|card| {
        let is_drawn = left < weight(card);
        left = left.saturating_sub(weight(card));
        is_drawn
    })
}

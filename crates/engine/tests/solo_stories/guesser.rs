//! A stand-in for a person who plays alone: it knows what words mean, roughly, and looks at the titles of cards, as a person
//! looks at pictures. It shares nothing with the bots: neither their vocabulary nor how they count.

use std::sync::LazyLock;

/// Words that make each other think of: what any speaker knows, not what the deck says. Their beginnings are enough.
const TOPICS: &[&str] = &[
    "sea wave water shore tide ocean ship boat whale fish octopus island beach swim sail captain current oar drift harbour \
     wet dive anchor bottle crew deck flood",
    "sky cloud star moon planet comet heaven universe astronom world space",
    "night dark moon star lamp lantern candle evening midnight asleep sleep dream",
    "light lit shine bright glow lighthouse lamp lantern candle flame star moon burn beacon spark",
    "home house village town castle live door window roof street address neighbour rent tenant landlord room mayor citizen doorstep",
    "fly air balloon kite bird wing feather ground gravity weight float lift wind breez airy buoyant lofty flight",
    "book read page chapter letter library wisdom learn stud plot word quill write poet",
    "music piano play song tune concert hum melod note sing",
    "stage curtain mask juggl audience trick applause theat act perform rehears practis watch circus ticket line",
    "rain storm snow winter weather umbrella forecast coat wind thunder frost cold dry cloud pour shower soak",
    "clock time hour minute late hourglass day last appointment hurry slow punctual fleet candle ending sooner",
    "fire flame hot burn smoke dragon spark candle ash hearth smoulder cook roast",
    "sleep bed wake dream night morning drows nap asleep close pillow alarm pray purr",
    "toy horse swing balloon kite rock child birthday play nursery playground grown party train ball",
    "grow garden tree plant water mushroom cactus green seed sow care tend orchard spring flower",
    "road bridge train ladder staircase way travel journey arrive pack map ride track visit go carry cross step river",
    "door gate keyhole window mirror ladder staircase curtain enter open key lock other knock side way beyond start come",
    "high up tower tall cloud ladder giraffe long top climb above down look view stair sky hang",
    "large giant big small great elephant whale giraffe hill tower size enormous little heavy weigh",
    "rope cliff bridge balance elephant fall careful wrong breath net courage light tread",
    "cage jar glass bottle ball hourglass keep kept inside safe wall touch shut lid captive free shelter seal cork",
    "crown king castle rule noble gold treasure finder worth pride power subject princess royal shine",
    "alone rock island desert lonely one miles quiet wait drift nobody company anybody aloof",
    "shadow mirror mask smoke seem judge side twice truth really reflect disguise fish else two",
    "egg bird new born first shell ending start begin breath",
    "cat mouse whisker purr dog stretch animal fox rabbit turtle snail bear",
    "tea pot drink breakfast host cup lid river pour guest",
    "needle knit stitch wool grandmother thread loop soft warm",
    "fear brave courage timid daring plucky fearless frighten afraid dare",
    "desert sand dust dry cactus hourglass thorn prick hug",
    "storm anger fur rest sea thunder jar bottl",
    "chair seat sit table tower throne furniture leg",
];

/// What a word itself counts beside one that it makes think of.
const SAME: u32 = 6;

fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|char: char| !char.is_alphabetic())
        .filter(|word| word.len() > 2)
        .map(str::to_owned)
        .collect()
}

/// Words that say nothing about a picture.
fn is_common(word: &str) -> bool {
    const COMMON: &str = "the and that with for its but you not all who was his her has have had been this they them there their \
                          what where when which will would could about into from out never every some something somebody look";
    COMMON.split_whitespace().any(|common| common == word)
}

fn is_same(a: &str, b: &str) -> bool {
    let short = a.len().min(b.len());
    short >= 3 && a[..a.len().min(4)] == b[..b.len().min(4)] && a.len().abs_diff(b.len()) <= 3
}

/// A text as the guesser takes it in.
struct Impression {
    words: Vec<String>,
    /// What it makes think of: bit n is topic n.
    topics: u64,
}

impl Impression {
    fn of(text: &str) -> Self {
        let words: Vec<String> = words(text).into_iter().filter(|word| !is_common(word)).collect();
        let topics = words.iter().fold(0, |all, word| all | topics(word));
        Self { words, topics }
    }

    /// How much it makes think of the other.
    fn likeness(&self, other: &Self) -> u32 {
        let same = self.words.iter().filter(|word| other.words.iter().any(|other| is_same(word, other)));
        same.count() as u32 * SAME + (self.topics & other.topics).count_ones()
    }
}

fn topics(word: &str) -> u64 {
    let belongs = |topic: &&str| topic.split_whitespace().any(|known| word.starts_with(known));
    TOPICS.iter().enumerate().filter(|(_, topic)| belongs(topic)).fold(0, |all, (at, _)| all | 1 << at)
}

/// The titles, in the order of the deck.
static TITLES: LazyLock<Vec<Impression>> =
    LazyLock::new(|| (1..).map_while(cards::title).map(Impression::of).collect());

/// The most like of these cards; the first of several, which on a shuffled board is any.
pub(crate) fn guess(sentence: &str, cards: &[u8]) -> Option<u8> {
    let told = Impression::of(sentence);
    let like = |card: &u8| told.likeness(&TITLES[usize::from(*card) - 1]);
    let best = cards.iter().map(like).max()?;
    cards.iter().copied().find(|card| like(card) == best)
}

//! Ideas that several cards share, and what may be said of each without a word about what is seen.

/// An idea that several cards share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Idea {
    Above,
    Alone,
    Balance,
    Dream,
    Drifting,
    Flame,
    Flight,
    Growing,
    Home,
    Journey,
    KeptInside,
    LightInTheDark,
    OutOfPlace,
    Performance,
    Sizes,
    Threshold,
    Time,
    Toys,
    Treasure,
    TwoThings,
    Weather,
}

impl Idea {
    /// Riddles, which fit every card that has the idea; separated by ` | `.
    pub(crate) fn riddles(self) -> &'static str {
        match self {
            Self::Above => {
                "It is a long way down. | Do not look down. | The air is thinner here. | \
                 From here everything is tiny. | Higher than anybody needs to go."
            }
            Self::Alone => {
                "Nobody for miles. | One is company enough. | Is anybody there? | Quiet, at last. | I will wait here."
            }
            Self::Balance => {
                "One wrong move, and it is over. | Careful now. | Hold your breath. | \
                 It works as long as you believe. | The trick is not to think about it."
            }
            Self::Dream => {
                "Do not wake me yet. | It made sense until morning. | Close your eyes, and look again. | \
                 I was here last night. | Softly, softly."
            }
            Self::Drifting => {
                "No oars, no map, no hurry. | The current knows the way. | Let it take you. | \
                 Somewhere between two shores. | Wherever the water goes."
            }
            Self::Flame => {
                "Too hot to hold. | It came from almost nothing. | Something is burning. | \
                 Do not stand too close. | A spark is enough."
            }
            Self::Flight => {
                "Some things were never meant to stay on the ground. | Weight is only a habit. | \
                 Let go, and see. | Gravity took the day off. | Off it goes."
            }
            Self::Growing => {
                "Give it time, and it will grow. | A little every day. | Green fingers, they say. | \
                 Somebody looks after it. | It only needs a little care."
            }
            Self::Home => {
                "Home is where you least expect it. | The neighbours will never believe it. | \
                 Who lives here, I wonder? | Mind the doorstep. | My address is hard to explain."
            }
            Self::Journey => {
                "We are nearly there. | Not the shortest way, but ours. | I packed too little. | \
                 Send word when you arrive. | Every way leads somewhere."
            }
            Self::KeptInside => {
                "Safe in there, and it cannot leave. | Look, but do not touch. | The whole world, and a wall around it. | \
                 Somebody wanted to keep this forever. | What if it got out?"
            }
            Self::LightInTheDark => {
                "Somebody left it burning. | It glows, so I am not afraid. | A small glow is enough. | \
                 The night has one kind corner. | Follow the glow."
            }
            Self::OutOfPlace => {
                "How did this get here? | Somebody has lost something. | It does not belong, and it stays. | \
                 Wrong place, right time. | Nobody ordered this."
            }
            Self::Performance => {
                "And now, for my next trick. | The audience holds its breath. | Applause, please. | \
                 I practised this for years. | Everybody is watching."
            }
            Self::Sizes => {
                "Size is a matter of opinion. | Bigger than anybody dared to say. | The little one and the great one. | \
                 Somebody here is much too big. | I used to be smaller."
            }
            Self::Threshold => {
                "What is on the other side? | You only have to go in. | Knock, and somebody may answer. | \
                 One more step. | Not everybody finds the way in."
            }
            Self::Time => {
                "It will not last. | Every hour counts. | Sooner or later. | There is less of it every day. | \
                 Later than you think."
            }
            Self::Toys => {
                "I had one like it when I was six. | Whose birthday was it? | Grown-ups do not see it. | \
                 Nobody is too old for this. | We were allowed to play until late."
            }
            Self::Treasure => {
                "Worth more than it looks. | Finders keepers. | Somebody is searching for this. | \
                 It still shines. | Do not tell anyone where it is."
            }
            Self::TwoThings => {
                "Things are not what they seem. | Look twice. | It is two things at once. | \
                 Once it was something else. | What is it really?"
            }
            Self::Weather => {
                "They said the weather would change. | Out there it gets worse. | You should have brought a coat. | \
                 The forecast was right after all. | It will pass, it always does."
            }
        }
    }
}

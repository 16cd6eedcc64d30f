//! The requests of a checkup: a match of two on an empty board, rendered as matches are. Each checkup has a match of its own, since bots
//! keep what they know of a match under its id.

use bot_client::probe::ProbeStep;
use bot_client::view::View;
use bytes::Bytes;
use engine::ids::{BotId, MatchId};
use engine::limits::BOT_TIMEOUT_DEFAULT;
use engine::matches::machine::MatchMachine;
use engine::matches::spec::{MatchSpec, SeatSpec};
use engine::rows::Bot;
use rules::chance::Seed;
use rules::snake::{Map, Rules, Ruleset, Settings};

const SIDE: u8 = 11;
/// Where the snakes start and what lies on the board follows from it.
const SEED: Seed = Seed(7);

/// The bodies of a checkup of this bot.
pub(super) struct CannedMatch(MatchMachine);

impl CannedMatch {
    pub(super) fn new(bot: &Bot, id: MatchId) -> Self {
        let seat = |bot: BotId, name: &str, url: &str| SeatSpec {
            bot,
            name: name.to_owned(),
            owner: String::new(),
            url: url.to_owned(),
        };
        let spec = MatchSpec {
            id,
            rules: Rules::for_snakes(Ruleset::Standard, Map::Standard, Settings::default(), 2),
            width: SIDE,
            height: SIDE,
            seed: SEED,
            timeout_ms: BOT_TIMEOUT_DEFAULT.as_millis() as u16,
            turns_max: 1,
            origin: None,
            is_public: false,
            seats: vec![seat(bot.id, &bot.name, &bot.url), seat(BotId(0), "Health check", "")],
        };
        Self(MatchMachine::new(spec).expect("two snakes fit on the standard board"))
    }

    /// The body of a call; empty for GET /.
    pub(super) fn body(&self, step: ProbeStep) -> Bytes {
        match step {
            ProbeStep::Index => Bytes::new(),
            ProbeStep::Start | ProbeStep::Move | ProbeStep::End => View::new(&self.0).body(0),
        }
    }
}

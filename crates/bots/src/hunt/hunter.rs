//! One hunter: connects, registers, acts at its rate, and reconnects when the connection is lost. Its brain decides
//! what it does.

use super::brain::HunterBrain;
use super::cli::HuntConfig;
use super::counters::HuntCounters;
use super::frames::FrameConnection;

use crate::characters::Chance;
use crate::counters::count;
use crate::limits::{
    HUNT_RESPONSE_TIMEOUT, HUNT_RETRY_DELAY_MAX, HUNT_RETRY_DELAY_MIN, HUNT_SIGHT_CELLS, HUNT_VIEWS_PER_S,
};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, sleep_until, timeout};
use wire::world::{ClientMessage, Hello, Leave, Register, Registered, Resume, ServerMessage, VERSION, ViewOptions};

/// What other people see.
const INDICATOR: &str = "🤖";

pub(super) struct Hunter {
    config: Arc<HuntConfig>,
    counters: Arc<HuntCounters>,
    chance: Chance,
    brain: HunterBrain,
    resume: Option<Resume>,
}

impl Hunter {
    pub(super) fn new(config: Arc<HuntConfig>, counters: Arc<HuntCounters>, mut chance: Chance) -> Self {
        let mind = HunterBrain::new(chance.split(), config.has_views);
        Self { config, counters, chance, brain: mind, resume: None }
    }

    /// Hunts until the shutdown signal.
    pub(super) async fn run(mut self, mut left: watch::Receiver<bool>) {
        let mut failures = 0;
        // Not all at once.
        let mut pause = self.config.act_interval.mul_f64(self.chance.unit_f64());
        loop {
            tokio::select! {
                () = sleep(pause) => {}
                () = shutdown_requested(&mut left) => return,
            }
            match self.run_connection(&mut left).await {
                Ok(()) => return,
                Err((error, has_played)) => {
                    self.counters.count_lost(&error);
                    failures = if has_played { 1 } else { failures + 1 };
                    tracing::debug!(%error, failures, "a hunter's connection was lost");
                    pause = retry_delay(failures, self.chance.unit_f64());
                }
            }
        }
    }

    /// One connection, from its first frame to its last. `Ok` after the shutdown signal; otherwise why it ended, and
    /// whether the hunter was registered.
    async fn run_connection(&mut self, left: &mut watch::Receiver<bool>) -> Result<(), (io::Error, bool)> {
        let opening = async {
            let stream = names::connect(&self.config.server).await?;
            stream.set_nodelay(true)?;
            let mut connection = FrameConnection::new(stream);
            let registered = register(&mut connection, &self.config, self.resume).await?;
            Ok::<_, io::Error>((connection, registered))
        };
        let opened = tokio::select! {
            opened = timeout(HUNT_RESPONSE_TIMEOUT, opening) => opened,
            () = shutdown_requested(left) => return Ok(()),
        };
        let opened = opened.unwrap_or_else(|_| Err(no_answer()));
        let (mut connection, registered) = opened.map_err(|error| {
            // Should it be the mover that is not taken back, the next try is a new one.
            self.resume = None;
            (error, false)
        })?;
        self.resume = Some(Resume { id: registered.id, key: registered.key });
        self.brain.registered(&registered);
        self.counters.registered.fetch_add(1, Relaxed);
        self.play(&mut connection, left).await.map_err(|error| {
            self.counters.registered.fetch_sub(1, Relaxed);
            (error, true)
        })
    }

    async fn play<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        connection: &mut FrameConnection<S>,
        left: &mut watch::Receiver<bool>,
    ) -> io::Result<()> {
        let phase = self.config.act_interval.mul_f64(self.chance.unit_f64());
        let mut ticks = interval_at(Instant::now() + phase, self.config.act_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        // Until when the act before must be answered, while it is not.
        let mut answer_until = None;
        loop {
            tokio::select! {
                message = connection.next() => {
                    let message = message?;
                    if let ServerMessage::Error(error) = message {
                        return Err(io::Error::other(format!("{}: {}", error.code, error.reason)));
                    }
                    if matches!(message, ServerMessage::Moved(_) | ServerMessage::Dug(_) | ServerMessage::Grabbed(_) | ServerMessage::Refused(_)) {
                        answer_until = None;
                    }
                    self.counters.count_message(&message);
                    self.brain.observe(&message);
                }
                _ = ticks.tick() => {
                    if answer_until.is_some() {
                        count(&self.counters.late);
                        continue;
                    }
                    connection.send([self.brain.next_input()]).await?;
                    answer_until = Some(Instant::now() + HUNT_RESPONSE_TIMEOUT);
                }
                () = deadline(answer_until) => return Err(no_answer()),
                () = shutdown_requested(left) => return connection.send([ClientMessage::Leave(Leave {})]).await,
            }
        }
    }
}

/// Ends at the shutdown signal, or when its sender is gone.
async fn shutdown_requested(left: &mut watch::Receiver<bool>) {
    let _ = left.wait_for(|left| *left).await.map(drop);
}

/// When the time for an answer is over; never, while none is due.
async fn deadline(answer_until: Option<Instant>) {
    match answer_until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// A silent server may be gone without closing the connection.
fn no_answer() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no answer in time")
}

/// Introduces itself and comes into the world.
async fn register<S: AsyncRead + AsyncWrite + Unpin>(
    connection: &mut FrameConnection<S>,
    config: &HuntConfig,
    resume: Option<Resume>,
) -> io::Result<Registered> {
    connection.send([ClientMessage::Hello(Hello { version: VERSION, capabilities: Vec::new() })]).await?;
    loop {
        match connection.next().await? {
            ServerMessage::Welcome(welcome) => {
                let look = welcome.indicators.iter().position(|emoji| emoji == INDICATOR).unwrap_or(0);
                let sight = HUNT_SIGHT_CELLS;
                let view = ViewOptions { radius_x: sight, radius_y: sight, per_s: HUNT_VIEWS_PER_S };
                let register = Register {
                    world: config.world.clone(),
                    indicator: look as u32,
                    view: config.has_views.then_some(view),
                    resume,
                    ..Register::default()
                };
                connection.send([ClientMessage::Register(register)]).await?;
            }
            ServerMessage::Registered(registered) => return Ok(registered),
            ServerMessage::Refused(refused) => return Err(io::Error::other(format!("not let in: {}", refused.code))),
            ServerMessage::Error(error) => return Err(io::Error::other(format!("{}: {}", error.code, error.reason))),
            ServerMessage::Moved(_)
            | ServerMessage::Dug(_)
            | ServerMessage::Grabbed(_)
            | ServerMessage::View(_)
            | ServerMessage::Round(_)
            | ServerMessage::Watched(_) => {}
        }
    }
}

/// Longer after each failure, and never for all of them at once.
fn retry_delay(failures: u32, share: f64) -> Duration {
    let whole =
        HUNT_RETRY_DELAY_MIN.saturating_mul(1 << (failures.saturating_sub(1)).min(10)).min(HUNT_RETRY_DELAY_MAX);
    whole.mul_f64(0.5 + share / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
    use wire::world::{ClientFrame, Dug, Item, Moved, ServerFrame, View, Welcome};

    fn config(every_ms: u64) -> HuntConfig {
        let every = Duration::from_millis(every_ms);
        HuntConfig {
            server: String::new(),
            world: "hunt".into(),
            count: 1,
            act_interval: every,
            has_views: true,
            duration: None,
            seed: 1,
        }
    }

    /// A server of one hunter that has one chest, one cell to the east.
    async fn serve(mut stream: DuplexStream, received: &mut Vec<ClientMessage>) {
        let mut bytes = Vec::new();
        while stream.read_buf(&mut bytes).await.unwrap() > 0 {
            while let Some(place) = wire::delimited::first_frame(&bytes, 1_000).unwrap() {
                let end = place.end;
                let request = ClientFrame::decode(&bytes[place]).unwrap().what.unwrap();
                bytes.drain(..end);
                let mut out = Vec::new();
                for message in answers(&request) {
                    ServerFrame { what: Some(message) }.encode_length_delimited(&mut out).unwrap();
                }
                stream.write_all(&out).await.unwrap();
                received.push(request);
            }
        }
    }

    fn answers(request: &ClientMessage) -> Vec<ServerMessage> {
        match request {
            ClientMessage::Hello(_) => {
                vec![ServerMessage::Welcome(Welcome {
                    indicators: vec!["😁".into(), INDICATOR.into()],
                    ..Welcome::default()
                })]
            }
            ClientMessage::Register(register) => {
                let registered =
                    Registered { id: 1, x: 5, y: 5, next_seq: 1, view: register.view, ..Registered::default() };
                let chest = Item { x: 6, y: 5, kind: 0 };
                let view = View { is_full: true, x: 5, y: 5, items: vec![chest], ..View::default() };
                vec![ServerMessage::Registered(registered), ServerMessage::View(Box::new(view))]
            }
            ClientMessage::Move(step) => vec![ServerMessage::Moved(Moved { seq: step.seq, x: 6, y: 5 })],
            ClientMessage::Dig(dig) => vec![ServerMessage::Dug(Dug { seq: dig.seq, points: 5, score: 5 })],
            ClientMessage::Watch(_) | ClientMessage::Grab(_) | ClientMessage::Leave(_) => Vec::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hunter_comes_in_finds_a_chest_and_leaves() {
        let (ours, theirs) = tokio::io::duplex(64);
        let mut received = Vec::new();
        let counters = Arc::new(HuntCounters::default());
        let (leave, mut left) = watch::channel(false);
        let hunting = async {
            let mut connection = FrameConnection::new(ours);
            let config = Arc::new(config(1_000));
            let registered = register(&mut connection, &config, None).await.unwrap();
            let mut hunter = Hunter::new(config, counters.clone(), Chance::from_seed(3));
            hunter.brain.registered(&registered);
            let stop = async {
                while counters.points.load(Relaxed) == 0 {
                    sleep(Duration::from_millis(100)).await;
                }
                leave.send_replace(true);
                std::future::pending::<()>().await;
            };
            tokio::select! {
                played = hunter.play(&mut connection, &mut left) => played.unwrap(),
                () = stop => {}
            }
        };
        tokio::join!(hunting, serve(theirs, &mut received));
        let HuntCounters { moved, dug, points, views, late, .. } = &*counters;
        let counted = [moved, dug, points, views, late].map(|counter| counter.load(Relaxed));
        assert_eq!(counted, [1, 1, 5, 1, 0], "{counters}");
        assert!(
            matches!(&received[1], ClientMessage::Register(register) if register.indicator == 1 && register.world == "hunt")
        );
        assert!(matches!(received.last(), Some(ClientMessage::Leave(_))));
    }

    /// The server may have lost power without closing the connection: the hunter must not wait for ever.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_falls_silent_is_left() {
        let (ours, _theirs) = tokio::io::duplex(64 * 1024);
        let counters = Arc::new(HuntCounters::default());
        let (_leave, mut left) = watch::channel(false);
        let mut hunter = Hunter::new(Arc::new(config(1_000)), counters.clone(), Chance::from_seed(3));
        let began = Instant::now();
        let lost = hunter.play(&mut FrameConnection::new(ours), &mut left).await.unwrap_err();
        assert_eq!(lost.to_string(), "no answer in time");
        assert!(began.elapsed() <= HUNT_RESPONSE_TIMEOUT + Duration::from_secs(3), "{:?}", began.elapsed());
        assert!(counters.late.load(Relaxed) > 0, "acts were left out meanwhile");
    }

    #[test]
    fn waits_grow_to_an_end() {
        let ms = |failures| retry_delay(failures, 1.0).as_millis();
        assert_eq!([ms(1), ms(2), ms(3), ms(40)], [500, 1_000, 2_000, 15_000]);
        assert_eq!(retry_delay(1, 0.0).as_millis(), 250);
    }
}

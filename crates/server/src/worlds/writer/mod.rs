//! The writer of a world, which alone changes it: on a thread of its own, or, for a few inputs that come while that sleeps, on the thread
//! that brought them. It takes what has come, in batches, lets the world decide, hands answers and views to those who tell them, and
//! claims to the store; it never waits for any of them.
//!
//! Save, then tell: a claim is held by the world until its commit is heard of here. When that fails, or somebody else has the
//! world, it leaves memory at once and everybody is told to come again: nothing was shown that is not saved, and nothing is shown
//! by who is not sure of owning the world. A process may stand still between any two lines, for longer than its lease.

mod beat;
mod bulletin;
pub(super) mod crews;
mod obey;
mod rhythm;
mod saving;

use super::door::{Inside, Order};
use super::lending::Rounds;
use super::life::{Ended, Message};
use super::outlet::Ending;
use super::outside::Outside;
use super::pictures::Exposure;
use super::posts::Posts;
use super::teller::Pen;
use beat::Beat;
use bulletin::Bulletin;
use crews::Crews;
use engine::limits::{WORLD_IDLE_CHECK_INTERVAL, WORLD_TICK, WORLD_VIEWS_PER_SLICE};
use engine::worlds::{Answer, HuntEvent, Input, MoverRef, World};
use rhythm::Rhythm;
use saving::Saving;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;

/// What a writer is given to begin with.
pub(super) struct Charge<O> {
    pub(super) outside: O,
    pub(super) world: World,
    pub(super) epoch: u32,
    pub(super) inside: Arc<Inside>,
    pub(super) life: UnboundedSender<Message>,
    pub(super) runtime: Handle,
    pub(super) snapshot_every: Duration,
    pub(super) idle: Duration,
    /// How long to wait for the store when everybody leaves.
    pub(super) leave_max: Duration,
    /// Whether the world may leave memory now: nobody holds a door. From then on nobody finds it here.
    pub(super) retire: Box<dyn Fn() -> bool + Send>,
}

/// How a writer goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    Serving,
    /// Takes nothing new; ends when nothing is under way to the store, or at this moment without it.
    Leaving {
        by: Instant,
        why: Ending,
    },
    /// Over, in order: what is here is what is so.
    Ended(Ending),
    /// Over, and nobody knows whether what is here is so.
    Lost(Ending),
}

pub(super) struct Writer<O: Outside> {
    outside: O,
    world: World,
    inside: Arc<Inside>,
    posts: Posts,
    crews: Crews,
    pen: Pen,
    saving: Saving,
    exposure: Exposure,
    inputs: Vec<Input>,
    orders: Vec<Order>,
    answers: Vec<Answer>,
    news: Vec<HuntEvent>,
    bulletin: Bulletin<Arc<HuntEvent>>,
    course: Course,
    /// The epoch of our clock.
    began: Instant,
    /// When its thread wakes by itself.
    sleeps_until: Instant,
    rhythm: Rhythm,
    /// When this round began.
    round: Instant,
    /// When the world ticked last.
    ticked: Instant,
    now_us: i64,
    gone: Vec<MoverRef>,
    idle: Idle,
    /// What the metrics know of.
    exposed: People,
    life: UnboundedSender<Message>,
    runtime: Handle,
    leave_max: Duration,
    retire: Box<dyn Fn() -> bool + Send>,
}

/// Since when nobody is here.
struct Idle {
    after: Duration,
    since: Option<Instant>,
    look_at: Instant,
}

/// How many are here.
#[derive(Clone, Copy, Default)]
struct People {
    movers: usize,
    outlets: usize,
    viewers: usize,
}

impl<O: Outside> Writer<O> {
    pub(super) fn new(charge: Charge<O>) -> Self {
        let began = Instant::now();
        let pen = charge.inside.tellers.pen();
        let idle = Idle { after: charge.idle, since: Some(began), look_at: began + WORLD_IDLE_CHECK_INTERVAL };
        charge.inside.metrics.worlds().loaded.inc();
        Self {
            saving: Saving::new(charge.epoch, Beat::new(charge.inside.facts.id, charge.snapshot_every, began)),
            outside: charge.outside,
            world: charge.world,
            inside: charge.inside,
            posts: Posts::new(0),
            crews: Crews::default(),
            pen,
            exposure: Exposure::new(),
            inputs: Vec::new(),
            orders: Vec::new(),
            answers: Vec::new(),
            news: Vec::new(),
            bulletin: Bulletin::new(began),
            course: Course::Serving,
            began,
            sleeps_until: began,
            rhythm: Rhythm::new(began),
            round: began,
            ticked: began,
            now_us: 0,
            gone: Vec::new(),
            idle,
            exposed: People::default(),
            life: charge.life,
            runtime: charge.runtime,
            leave_max: charge.leave_max,
            retire: charge.retire,
        }
    }

    fn is_going_on(&self) -> bool {
        matches!(self.course, Course::Serving | Course::Leaving { .. })
    }

    /// Takes what there is.
    fn take(&mut self) {
        self.inside.mailbox.tray.take_now(&mut self.inputs, &mut self.orders);
        self.round = Instant::now();
        self.rhythm.begin(self.round);
        self.now_us = self.outside.now_us();
    }

    /// Whether somebody else may have the world by now, or nobody knows what is so: then nothing more is heard or shown here.
    fn has_lost(&mut self) -> bool {
        if !self.inside.lease.holds() && !matches!(self.course, Course::Lost(_)) {
            self.course = Course::Lost(Ending::WorldMoved);
        }
        matches!(self.course, Course::Lost(_))
    }

    /// When there is something to do by itself.
    fn wake_at(&self) -> Instant {
        let turn = self.posts.next_us().map(|due_us| self.began + Duration::from_micros(due_us));
        let own = self.world.next_due().map(|due_us| {
            self.round + Duration::from_micros(u64::try_from(due_us.saturating_sub(self.now_us)).unwrap_or(0))
        });
        let news = self.bulletin.due(self.round);
        let leave = if let Course::Leaving { by, .. } = self.course { Some(by) } else { None };
        let dues = [turn, own, news, leave, self.saving.due(), self.exposure.due(), Some(self.idle.look_at)];
        dues.into_iter().flatten().min().unwrap_or(self.idle.look_at)
    }

    fn apply(&mut self) {
        if self.inputs.is_empty() {
            return;
        }
        self.active();
        let figures = self.inside.metrics.worlds();
        figures.batches.inc();
        figures.inputs.add(self.inputs.len() as u64);
        figures.mailbox.observe(self.inputs.len());
        self.world.apply(&self.inputs, self.now_us, &mut self.answers);
        self.inputs.clear();
        figures.apply.observe(self.round.elapsed());
    }

    /// Somebody does something here.
    fn active(&self) {
        self.inside.active_at_us.store(self.now_us, Ordering::Relaxed);
    }

    /// What time brings. Movers that are gone with it are told nothing more.
    fn tick(&mut self) {
        let is_due = self.world.next_due().is_some_and(|due_us| due_us <= self.now_us);
        if !is_due && self.round.duration_since(self.ticked) < WORLD_TICK {
            return;
        }
        self.ticked = self.round;
        self.world.tick(self.now_us, &mut self.gone);
        for seat in self.gone.drain(..) {
            if let Some((line, post)) = self.posts.drop_seat(seat) {
                self.pen.end(line, &post.outlet, Ending::Gone);
            }
        }
        let begun = Instant::now();
        if self.world.advance_generation(self.now_us) {
            self.inside.metrics.worlds().generation.observe(begun.elapsed());
        }
    }

    /// Hands answers to those who tell them. A mover without an outlet hears of nothing.
    fn tell_answers(&mut self) {
        for answer in self.answers.drain(..) {
            if self.crews.answer(&answer) {
                continue;
            }
            if let Some(line) = self.posts.line(answer.mover) {
                catch_up(line, &mut self.posts, &self.bulletin, &mut self.pen);
                if let Some(post) = self.posts.post(line) {
                    self.pen.answer(line, &post.outlet, answer);
                }
            }
        }
    }

    /// What everybody is told, a portion at a time.
    fn tell_news(&mut self) {
        self.world.take_events(&mut self.news);
        self.news.drain(..).for_each(|news| self.bulletin.publish(Arc::new(news)));
        if let Some(portion) = self.bulletin.portion(self.posts.lines(), self.pen.is_ready(), self.round) {
            portion.clone().for_each(|line| catch_up(line, &mut self.posts, &self.bulletin, &mut self.pen));
            self.bulletin.handed(&portion, self.round);
        }
    }

    /// Shows those around whose turn has come, a bounded number of them before moves have their turn again.
    fn show_around(&mut self) {
        let now_us = self.elapsed_us();
        for _ in 0..WORLD_VIEWS_PER_SLICE {
            let Some((line, late_us)) = self.posts.next_turn(now_us) else { return };
            let Some(post) = self.posts.post(line) else { continue };
            let figures = self.inside.metrics.worlds();
            figures.view_late.observe(Duration::from_micros(late_us));
            if post.outlet.is_behind() || self.pen.is_behind(line) {
                figures.views_skipped.inc();
                self.posts.skip(line);
                continue;
            }
            catch_up(line, &mut self.posts, &self.bulletin, &mut self.pen);
            let Some(post) = self.posts.post(line) else { continue };
            let (seat, skipped) = (post.hold.seat, post.skipped);
            let (world, now_us) = (&mut self.world, self.now_us);
            let is_told = self.pen.view(line, &post.outlet, |delta| {
                let is_news = world.view(seat, now_us, delta);
                delta.skipped = skipped;
                is_news
            });
            figures.views.add(u64::from(is_told));
            self.posts.caught_up(line);
        }
    }

    /// What is done now and then: pictures, snapshots, and leaving memory.
    fn look_after(&mut self) {
        if self.exposure.is_due(self.round, &self.inside.pictures) {
            self.inside.pictures.publish(&self.world);
        }
        self.save_snapshot();
        match self.course {
            Course::Leaving { by, why } => self.leave_by(by, why),
            // Also the last snapshot waits for one that is under way.
            Course::Serving if self.world.is_over() && self.saving.is_settled() => {
                self.course = Course::Ended(Ending::Over);
            }
            Course::Serving | Course::Ended(_) | Course::Lost(_) => {}
        }
        if self.round >= self.idle.look_at {
            self.look_for_idleness();
        }
    }

    /// Whoever waits for a store that does not answer is told to go in time, and of what is not saved he is told nothing.
    fn leave_by(&mut self, by: Instant, why: Ending) {
        if self.saving.is_settled() {
            self.course = Course::Ended(why);
        } else if self.round >= by {
            tracing::warn!(world = %self.inside.facts.name, "a world is left without its last snapshot: the store does not answer");
            self.course = Course::Lost(why);
        }
    }

    fn look_for_idleness(&mut self) {
        self.idle.look_at = self.round + WORLD_IDLE_CHECK_INTERVAL.min(self.idle.after.max(Duration::from_millis(1)));
        self.crews.sweep();
        let (movers, outlets, viewers) = (self.world.stats().movers, self.posts.len(), self.posts.viewers());
        self.expose(People { movers, outlets, viewers });
        let is_empty = !self.world.has_movers() && self.posts.len() == 0 && self.crews.is_empty();
        if !is_empty || !self.saving.is_settled() || self.course != Course::Serving {
            self.idle.since = None;
            return;
        }
        let since = *self.idle.since.get_or_insert(self.round);
        if self.round.duration_since(since) >= self.idle.after && (self.retire)() {
            self.course = Course::Ended(Ending::WorldMoved);
        }
    }

    /// Shows in the metrics how many are here.
    fn expose(&mut self, people: People) {
        let (figures, before) = (self.inside.metrics.worlds(), std::mem::replace(&mut self.exposed, people));
        figures.movers.change(before.movers, people.movers);
        figures.outlets.change(before.outlets, people.outlets);
        figures.viewers.change(before.viewers, people.viewers);
    }

    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.round.duration_since(self.began).as_micros()).unwrap_or(u64::MAX)
    }

    /// Everybody is told that it is over, and the life is given what is to be kept.
    fn finish(&mut self, snapshot: Option<(u32, Vec<u8>)>) {
        let why = match self.course {
            Course::Ended(why) | Course::Lost(why) => why,
            Course::Serving | Course::Leaving { .. } => Ending::Broken,
        };
        self.say_goodbye(why);
        self.expose(People::default());
        // A life that is gone has told the store so, or will be found out by its lease.
        let _ = self.life.send(Message::Ended(Ended {
            id: self.inside.facts.id,
            name: self.inside.facts.name.clone(),
            epoch: self.saving.epoch(),
            is_finished: snapshot.is_some() && self.world.is_over(),
            snapshot,
        }));
        self.inside.metrics.worlds().loaded.dec();
    }

    fn say_goodbye(&mut self, why: Ending) {
        self.inside.mailbox.close(why);
        self.inside.pictures.end();
        for line in 0..self.posts.lines() {
            catch_up(line, &mut self.posts, &self.bulletin, &mut self.pen);
            if let Some(post) = self.posts.post(line) {
                self.pen.end(line, &post.outlet, why);
            }
        }
        self.pen.flush();
        // What was taken out and not heard, and what nobody will take out any more.
        self.inputs.clear();
        let mut unheard = std::mem::take(&mut self.orders);
        self.inside.mailbox.tray.take_now(&mut self.inputs, &mut self.orders);
        unheard.append(&mut self.orders);
        for order in unheard {
            // A crew waits for a word; whoever else asked for something is told with the drop of what he asked.
            if let Order::Crew(desk) = order {
                self.crews.seat(desk);
            }
        }
        self.crews.end(why);
    }
}

impl<O: Outside> Rounds for Writer<O> {
    fn rest(&mut self) -> Instant {
        let pause = self.rhythm.pause(Instant::now());
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
        self.sleeps_until = self.wake_at();
        self.sleeps_until
    }

    fn round(&mut self) -> bool {
        if !self.is_going_on() {
            return false;
        }
        self.take();
        if self.has_lost() {
            return false;
        }
        self.apply();
        self.obey();
        self.tick();
        if self.has_lost() {
            return false;
        }
        self.save_claims();
        self.tell_answers();
        self.tell_news();
        self.show_around();
        self.pen.flush();
        self.crews.flush();
        self.look_after();
        self.inside.metrics.worlds().round.observe(self.round.elapsed());
        self.is_going_on()
    }

    /// Short because nothing is due but a few inputs: no views, no picture, no snapshot.
    fn round_aside(&mut self) -> bool {
        let now = Instant::now();
        if now >= self.sleeps_until || !self.rhythm.pause(now).is_zero() {
            return true;
        }
        self.inside.metrics.worlds().rounds_aside.inc();
        !self.round() || self.wake_at() < self.sleeps_until
    }

    fn end(mut self: Box<Self>) {
        let snapshot = self.last_snapshot();
        self.finish(snapshot);
    }
}

/// Tells somebody the news that he has not heard.
fn catch_up(line: u32, posts: &mut Posts, bulletin: &Bulletin<Arc<HuntEvent>>, pen: &mut Pen) {
    let Some(heard) = posts.hear(line, bulletin.end()) else { return };
    if let Some(post) = posts.post(line) {
        bulletin.unheard(heard).for_each(|news| pen.news(line, &post.outlet, news));
    }
}

/// A writer that breaks down on its way ends like any other, but that it keeps nothing.
impl<O: Outside> Drop for Writer<O> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.finish(None);
        }
    }
}

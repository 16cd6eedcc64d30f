//! A worker: one thread, one epoll set, its own connections, histograms and share of the plan. It never waits for an
//! answer before the next arrival of an open loop, takes no lock and asks for no memory for a request. Workers share
//! nothing but the setting, and need no master: each computes its own segment of every leg.

mod beside;
mod course;
mod exchange;
mod flights;
mod held;
mod holding;
mod journey;
mod links;
mod parts;
mod pauses;
mod secure;
mod speaking;
#[cfg(test)]
mod tests;
mod wire;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::book::Book;
use super::call::{self, Route, Scratch, Shared};
use super::crew::{Begun, Dials, Gauges, Order, Report, Setting};
use super::moment::Moment;
use super::poller::{Bell, Poller};
use super::slab::Key;
use super::speech::opening;
use super::tls::{Tls, Trust};
use crate::limits::{LAUNCHES_PER_TURN, NEWS_WAIT_MAX, READ_BYTES};
use crate::scenario::{Grammar, Scope};
use course::{Course, Load};
use flights::{Flight, Flights, Stage};
use links::{Host, Links, Routes, Speech};
use parts::Over;
use pauses::{Pause, Pauses};

/// How late the kernel may wake a worker: the usual 50 microseconds would be lag.
const TIMER_SLACK_NS: NonZeroU64 = NonZeroU64::MIN;

/// One worker.
pub(crate) struct Worker {
    number: u32,
    of: u32,
    setting: Arc<Setting>,
    calls: Rc<[Route]>,
    poller: Poller,
    orders: Receiver<Order>,
    reports: UnboundedSender<Report>,
    dials: Arc<Dials>,

    courses: Vec<Course>,
    /// The courses that are not over.
    active: Vec<usize>,
    flights: Flights,
    links: Links,
    routes: Routes,
    timers: BinaryHeap<Reverse<(Moment, Wake)>>,
    /// Connections that wait for the other side to close them, the oldest first.
    lingering: VecDeque<(Moment, Key)>,
    book: Book,
    news: Vec<Begun>,
    news_due: Option<Moment>,
    overs: Vec<Over>,
    scratch: Scratch,
    read: Vec<u8>,
    /// Memory for what TLS unwraps.
    plain: Vec<u8>,
    /// Draws of keys and masks so far.
    nonces: u64,

    /// This moment, as far as what is being handled is concerned.
    now: Moment,
    /// When the worker was woken last: whatever is handled now was ready by then.
    woke: Moment,
    /// When it did not run.
    pauses: Pauses,
    /// What was under way or waited when it had done what there was to do.
    load: u64,
    under_way: u64,
    due: u64,
    over: u64,
    held: u64,
    /// When what is still under way is given up.
    stopping: Option<Moment>,
}

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wake {
    /// A flight goes on: after a pause, a backoff or a rest.
    Flight(Key),
    /// What a flight has said is with the kernel, and nothing answers it.
    Said(Key),
}

impl Worker {
    /// A worker without legs.
    ///
    /// # Errors
    /// No descriptors are left, or a request cannot be put together.
    pub(crate) fn new(
        setting: Arc<Setting>,
        number: u32,
        of: u32,
        orders: Receiver<Order>,
        reports: UnboundedSender<Report>,
        dials: Arc<Dials>,
    ) -> io::Result<Self> {
        let target = &setting.scenario.target;
        let shared = Shared { authority: &target.url.authority, headers: &setting.headers, globals: &setting.globals };
        let (calls, timeouts) = call::routes(&setting.scenario, shared).map_err(io::Error::other)?;
        let now = Moment::now();
        Ok(Self {
            number,
            of,
            calls: calls.into(),
            poller: Poller::new()?,
            orders,
            reports,
            dials,
            courses: Vec::new(),
            active: Vec::new(),
            flights: Flights::new(&timeouts),
            links: Links::default(),
            routes: Routes::new(hosts(&setting).map_err(io::Error::other)?, setting.sources.clone(), number),
            timers: BinaryHeap::new(),
            lingering: VecDeque::new(),
            book: Book::new(number, of, setting.samples),
            news: Vec::new(),
            news_due: None,
            overs: Vec::new(),
            scratch: Scratch::default(),
            read: vec![0; READ_BYTES],
            plain: Vec::new(),
            nonces: 0,
            now,
            woke: now,
            pauses: Pauses::new(of),
            load: 0,
            under_way: 0,
            due: 0,
            over: 0,
            held: 0,
            stopping: None,
            setting,
        })
    }

    /// What wakes it after an order was sent.
    pub(crate) fn bell(&self) -> Bell {
        self.poller.bell()
    }

    /// Works until it is told to stop.
    pub(crate) fn run(mut self) {
        // A kernel that refuses wakes it a little later.
        let _ = rustix::thread::set_current_timer_slack(Some(TIMER_SLACK_NS));
        let worked = catch_unwind(AssertUnwindSafe(|| self.work()));
        let message = match worked {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(format!("a load worker cannot wait for its connections: {error}")),
            Err(_) => Some("a load worker has a defect and ended; its message is on standard error".to_owned()),
        };
        let last = match message {
            Some(message) => Report::Broken { worker: self.number, message },
            None => Report::Ended { worker: self.number },
        };
        let _ = self.reports.send(last);
    }

    fn work(&mut self) -> io::Result<()> {
        while !self.is_finished() {
            self.turn()?;
        }
        self.finish();
        Ok(())
    }

    /// Waits until something is to be done, and does it.
    fn turn(&mut self) -> io::Result<()> {
        let events = self.wait()?;
        self.handle(events);
        Ok(())
    }

    /// Waits until something is to be done; gives the number of events.
    fn wait(&mut self) -> io::Result<usize> {
        // A turn that took too long is a pause as well.
        self.read_clock();
        self.pauses.skip(self.at());
        let (began, works) = (self.now, !self.active.is_empty());
        let mut due = self.next_due();
        if works {
            let latest = began + self.pauses.every();
            due = Some(due.map_or(latest, |due| due.min(latest)));
        }
        let events = self.poller.wait(due.map(|due| due.since(began)))?;
        self.now = Moment::now();
        self.woke = self.now;
        match due.filter(|_| works) {
            Some(due) => {
                let due = due.max(began).since(self.setting.start);
                let pause = self.pauses.look(self.at(), due, self.load);
                self.note_pause(pause);
            }
            None => self.pauses.skip(self.at()),
        }
        Ok(events)
    }

    /// Does what there is to do.
    fn handle(&mut self, events: usize) {
        for at in 0..events {
            match self.poller.event(at) {
                Some(ready) => self.on_ready(ready),
                None => self.take_orders(),
            }
        }
        self.read_clock();
        self.run_timers();
        self.expire();
        self.launch_due();
        self.say_what_is_new();
    }

    /// Reads the clock while it works. A pause that ends here is known before anything is concluded from the time: what
    /// comes next may be the end of an exchange, or of the time that it had.
    fn read_clock(&mut self) {
        self.now = Moment::now();
        if !self.active.is_empty() {
            let pause = self.pauses.glance(self.at(), self.load);
            self.note_pause(pause);
        }
    }

    /// Time in which nobody could read an answer is not the target's: timeouts go on where they were.
    fn note_pause(&mut self, pause: Option<Pause>) {
        let Some(pause) = pause else { return };
        self.flights.delay(pause.to - pause.from, self.now);
        self.book.paused(pause.from, pause.to);
    }

    /// The next moment at which something is to be done by itself.
    fn next_due(&self) -> Option<Moment> {
        let plan = |moment: Duration| self.setting.start + moment;
        let arrivals = self.active.iter().filter_map(|at| self.courses[*at].next_due()).map(plan);
        let timer = self.timers.peek().map(|Reverse((moment, _))| *moment);
        let timeout = self.flights.first_to_expire().map(|(moment, _)| moment);
        let lingering = self.lingering.front().map(|(moment, _)| *moment);
        let page = self.book.due().map(plan);
        let others = [timer, timeout, lingering, page, self.news_due, self.stopping];
        arrivals.chain(others.into_iter().flatten()).min()
    }

    /// This moment, from the start of the plan.
    fn at(&self) -> Duration {
        self.now.since(self.setting.start)
    }

    fn take_orders(&mut self) {
        loop {
            match self.orders.try_recv() {
                Ok(Order::Leg(leg)) => self.begin_course(leg),
                Ok(Order::Ask { part, at }) => self.ask(part, at),
                Ok(Order::Cut(part)) => self.cut(part),
                Ok(Order::Stop(grace)) => self.stop(grace),
                Err(TryRecvError::Empty) => return,
                // Nobody is left to give orders.
                Err(TryRecvError::Disconnected) => return self.stop(Duration::ZERO),
            }
        }
    }

    fn begin_course(&mut self, leg: crate::plan::Leg) {
        // An order that comes too late is the lab's doing, too.
        let (start, now) = (leg.start, self.at());
        if now.saturating_sub(start) >= self.pauses.every()
            && let Some(pause) = self.pauses.add(start, now, self.load)
        {
            self.book.paused(pause.from, pause.to);
        }
        let mut course = Course::new(leg, self.number, self.of);
        course.closing = self.stopping.is_some();
        self.courses.push(course);
        self.active.push(self.courses.len() - 1);
        let at = self.courses.len() - 1;
        self.go_on_with(at);
        self.say_opened(at);
        self.close_parts(at);
    }

    fn find_course(&self, part: u32) -> Option<usize> {
        self.active.iter().copied().find(|at| {
            let course = &self.courses[*at];
            course.parts.contain(course.leg.part, part)
        })
    }

    fn ask(&mut self, part: u32, at: Duration) {
        if let Some(course) = self.find_course(part)
            && let Load::Held(held) = &mut self.courses[course].load
        {
            held.ask_from(at);
        }
    }

    fn cut(&mut self, part: u32) {
        if let Some(at) = self.find_course(part) {
            self.courses[at].cut = true;
            self.close_course(at);
        }
    }

    /// Nothing new of a course begins any more, and what has not begun never will.
    fn close_course(&mut self, at: usize) {
        let now = self.at();
        let course = &mut self.courses[at];
        let (journey, opening) = (course.leg.journey, course.leg.opening);
        let (journeys, openings) = course.close(now);
        self.due += journeys + openings;
        self.over += journeys + openings;
        if self.pauses.behind_since().is_some() {
            self.book.not_sent_behind_a_pause(journey, journeys);
        }
        self.book.not_sent(journey, journeys);
        self.book.not_sent(opening.unwrap_or(journey), openings);
        self.release_waiting(at);
        self.close_parts(at);
    }

    fn stop(&mut self, grace: Duration) {
        let deadline = self.now + grace;
        self.stopping = Some(self.stopping.map_or(deadline, |before| before.min(deadline)));
        for at in self.active.clone() {
            self.close_course(at);
        }
    }

    fn is_finished(&self) -> bool {
        self.stopping.is_some_and(|deadline| self.under_way == 0 || self.now >= deadline)
    }

    /// Gives up what is still under way, and says the last word.
    fn finish(&mut self) {
        for key in self.flights.keys() {
            self.abandon(key);
        }
        for at in self.active.clone() {
            while matches!(self.courses[at].load, Load::Held(_)) {
                self.wind_down(at);
            }
        }
        self.close_left();
        self.say_news();
        self.book.tear();
        self.say_pages();
        self.show_gauges();
    }

    fn close_parts(&mut self, at: usize) {
        self.courses[at].close_parts(&mut self.overs);
        self.say_overs(at);
    }

    /// Says which parts are over, behind everything that is known of them: whoever hears it from all workers has every
    /// figure of the part.
    fn say_overs(&mut self, at: usize) {
        self.put_away(at);
        if !self.overs.is_empty() {
            self.say_news();
            self.book.tear();
            self.say_pages();
        }
        let now = self.now.since(self.setting.start);
        for over in self.overs.drain(..) {
            let own = self.courses[at].own_time(&over, now, (self.number, self.of), &self.pauses);
            let Over { part, not_sent, .. } = over;
            let over = Report::Over { worker: self.number, part, at: now, not_sent, own };
            let _ = self.reports.send(over);
        }
    }

    /// What a course that is over leaves behind: nothing, or the connections that stay for a later one.
    fn put_away(&mut self, at: usize) {
        let now = self.at();
        let course = &mut self.courses[at];
        if !course.parts.are_over() {
            return;
        }
        course.load = match std::mem::replace(&mut course.load, Load::Nothing) {
            Load::Held(held) if course.leg.leaves => {
                if self.stopping.is_none() {
                    self.book.left(course.leg.part, held.links().count() as u64, now);
                }
                Load::Left(held)
            }
            Load::Left(held) => Load::Left(held),
            _ => Load::Nothing,
        };
        self.active.retain(|active| *active != at);
    }

    fn run_timers(&mut self) {
        // What is set for this very moment meanwhile has its turn after everything else.
        let until = self.now;
        while let Some(Reverse((moment, wake))) = self.timers.peek().copied() {
            if moment > until {
                return;
            }
            self.timers.pop();
            match wake {
                Wake::Flight(key) => self.resume(key),
                Wake::Said(key) => self.said(key),
            }
        }
    }

    fn wake_at(&mut self, moment: Moment, wake: Wake) {
        self.timers.push(Reverse((moment, wake)));
    }

    /// Sends what is due, a few arrivals of every course: answers are looked at in between.
    fn launch_due(&mut self) {
        if self.now < self.setting.start {
            return;
        }
        let now = self.at();
        for turn in 0..self.active.len() {
            let Some(&at) = self.active.get(turn) else { return };
            let all = (0..LAUNCHES_PER_TURN).any(|_| !self.launch_next(at, now));
            // Not before: what was due in time is sent, also where the worker itself is late.
            if all {
                self.end_hold(at, now);
            }
            // As of now, which is later where the worker was stopped on the way.
            let now = self.at();
            if let Load::Open(open) = &mut self.courses[at].load {
                open.count_due(now);
            }
        }
    }

    /// Ends a hold whose time is over, and goes on closing its connections.
    fn end_hold(&mut self, at: usize, now: Duration) {
        let Load::Held(held) = &self.courses[at].load else { return };
        if let Some(end) = held.end().filter(|end| !self.courses[at].closing && *end <= now) {
            let course = &mut self.courses[at];
            course.parts.takes_until(course.leg.part, end);
            self.close_course(at);
        }
        if self.courses[at].closing {
            self.wind_down(at);
        }
    }

    /// Everything that has waited long enough to be said.
    fn say_what_is_new(&mut self) {
        self.book.turn(self.at());
        self.say_pages();
        if self.news_due.is_some_and(|due| due <= self.now) {
            self.say_news();
        }
        self.show_gauges();
    }

    fn say_pages(&mut self) {
        while let Some(page) = self.book.full() {
            let _ = self.reports.send(Report::Interval(page));
        }
    }

    fn note_news(&mut self, begun: Begun) {
        self.news.push(begun);
        self.news_due.get_or_insert(self.now + NEWS_WAIT_MAX);
    }

    fn say_news(&mut self) {
        self.news_due = None;
        if !self.news.is_empty() {
            let _ = self.reports.send(Report::Started(std::mem::take(&mut self.news)));
        }
    }

    fn show_gauges(&mut self) {
        let queued: u64 = self.active.iter().map(|at| self.courses[*at].queued()).sum();
        self.load = self.flights.exchanging() + queued;
        self.pauses.settle(self.load);
        self.dials.show(Gauges {
            in_flight: self.under_way,
            queued,
            connections: self.links.len() as u64,
            due: self.due + queued,
            over: self.over,
            held: self.held,
            waiting: self.flights.waiting(),
            exchanging: self.flights.exchanging(),
            exchanged: self.flights.exchanged(),
        });
    }
}

/// Where connections lead to: the target's own host first, and behind it the doors for messages.
fn hosts(setting: &Setting) -> Result<Vec<Host>, String> {
    let target = &setting.scenario.target;
    let trust = Trust::of(target);
    let own = Host::new(setting.addresses.clone(), Tls::with(&target.url, trust)?, Speech::Requests);
    let mut hosts = vec![own];
    let doors = target.socket.iter().flat_map(|socket| &socket.doors);
    for (door, addresses) in doors.zip(&setting.doors) {
        let speech = match &door.grammar {
            Grammar::Lengths => Speech::Lengths,
            Grammar::WebSocket(path) => {
                let path = path.render(&Scope::of_run(&setting.globals))?;
                Speech::WebSocket(Arc::new(opening(&door.base.authority, &path, &setting.headers)?))
            }
        };
        hosts.push(Host::new(addresses.clone(), Tls::with(&door.base, trust)?, speech));
    }
    Ok(hosts)
}

//! A ladder in memory: bots whose strength is known are paired by the matchmaker's own function, play games whose ends chance draws from
//! their strengths, and are rated by the server's own function. Of a server it has nothing.

use engine::ids::{AccountId, BotId};
use engine::ladders::pairing::{PairingEntry, PairingHistory, PairingRules, plan};
use engine::ratings::{BETA, Rating, SIGMA_START, rate};
use rules::chance::{Chance, Dice, Purpose, Seed};
use std::time::Duration;

/// Of a ladder and of its games.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LadderParams {
    pub(crate) bots: usize,
    pub(crate) seats: usize,
    /// Matches under way at once.
    pub(crate) matches_at_once: usize,
    /// What the first seat is worth, in units of [`BETA`].
    pub(crate) first_seat_bonus: f64,
    pub(crate) seed: u64,
}

pub(crate) struct Ladder {
    params: LadderParams,
    rules: PairingRules,
    pub(crate) entries: Vec<PairingEntry>,
    /// By the number that is a bot's id.
    pub(crate) strengths: Vec<f64>,
    history: PairingHistory,
    under_way: Vec<(u64, Vec<usize>)>,
    chance: Chance,
    /// Matches that were created.
    pub(crate) created: u64,
    /// Matches that ended.
    pub(crate) ended: u64,
    /// Processor time that the plans took, and the longest of them.
    pub(crate) planning: Duration,
    pub(crate) planning_max: Duration,
    /// First places by seat.
    pub(crate) firsts: Vec<u64>,
}

impl Ladder {
    /// Strengths are drawn from the distribution that a rating begins with: N(25, 25/3).
    pub(crate) fn new(params: LadderParams) -> Self {
        let mut chance = Chance::new(Seed(params.seed), 0, Purpose::LadderPairing);
        let strengths = (0..params.bots).map(|_| Rating::START.mu + SIGMA_START * normal(&mut chance)).collect();
        let entry = |number: usize| PairingEntry {
            bot: BotId(number as u128),
            account: AccountId(number as u128),
            url_digest: number as u64,
            rating: Rating::START,
            seats: vec![0; params.seats],
        };
        let rules = PairingRules { seats: params.seats, may_relatives_meet: false, games_at_once_max: 2 };
        Self {
            params,
            rules,
            entries: (0..params.bots).map(entry).collect(),
            strengths,
            history: PairingHistory::default(),
            under_way: Vec::new(),
            chance,
            created: 0,
            ended: 0,
            planning: Duration::ZERO,
            planning_max: Duration::ZERO,
            firsts: vec![0; params.seats],
        }
    }

    /// One look of the matchmaker, after which half of the matches under way end in any order. The new line-ups.
    pub(crate) fn step(&mut self) -> Vec<Vec<usize>> {
        self.history.trim(self.params.bots, self.params.seats);
        let wanted = self.params.matches_at_once - self.under_way.len();
        let mut chance = Chance::new(Seed(self.params.seed), self.created as u32 + 1, Purpose::LadderPairing);
        let before = cpu_time();
        let line_ups = plan(&self.rules, &self.entries, &self.history, wanted, &mut chance);
        let took = cpu_time().saturating_sub(before);
        self.planning += took;
        self.planning_max = self.planning_max.max(took);
        let line_ups: Vec<Vec<usize>> =
            line_ups.iter().map(|seats| seats.iter().map(|bot| bot.0 as usize).collect()).collect();
        for line_up in &line_ups {
            self.created += 1;
            self.history.start(self.created, &ids(line_up));
            self.under_way.push((self.created, line_up.clone()));
        }
        for _ in 0..self.under_way.len().div_ceil(2) {
            let at = self.chance.below(self.under_way.len() as u32) as usize;
            let (key, line_up) = self.under_way.swap_remove(at);
            self.finish(key, &line_up);
        }
        line_ups
    }

    fn finish(&mut self, key: u64, line_up: &[usize]) {
        let places = self.play(line_up);
        let players: Vec<(Rating, u8)> =
            line_up.iter().zip(&places).map(|(&bot, &place)| (self.entries[bot].rating, place)).collect();
        for ((seat, &bot), rating) in line_up.iter().enumerate().zip(rate(&players)) {
            self.entries[bot].rating = rating;
            self.entries[bot].seats[seat] += 1;
            self.firsts[seat] += u64::from(places[seat] == 1);
        }
        self.history.end(key, &ids(line_up));
        self.ended += 1;
    }

    /// Everybody performs by strength and luck, N(strength, beta): the best is first. No ties.
    fn play(&mut self, line_up: &[usize]) -> Vec<u8> {
        let bonus = |seat: usize| if seat == 0 { self.params.first_seat_bonus * BETA } else { 0.0 };
        let performances: Vec<f64> = line_up
            .iter()
            .enumerate()
            .map(|(seat, &bot)| self.strengths[bot] + bonus(seat) + BETA * normal(&mut self.chance))
            .collect();
        let better = |own: f64| performances.iter().filter(|other| **other > own).count() as u8;
        performances.iter().map(|&own| 1 + better(own)).collect()
    }

    /// Games of each bot that were rated.
    pub(crate) fn games(&self) -> Vec<u32> {
        self.entries.iter().map(|entry| entry.seats.iter().sum()).collect()
    }

    /// Spearman's coefficient of the shown scores and the true strengths.
    pub(crate) fn spearman(&self) -> f64 {
        let scores: Vec<f64> = self.entries.iter().map(|entry| entry.rating.display_score()).collect();
        pearson(&ranks(&scores), &ranks(&self.strengths))
    }
}

fn ids(line_up: &[usize]) -> Vec<BotId> {
    line_up.iter().map(|bot| BotId(*bot as u128)).collect()
}

/// The rank of each value, from 0. No two are equal here.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    order.into_iter().enumerate().for_each(|(rank, at)| ranks[at] = rank as f64);
    ranks
}

fn pearson(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let product: f64 = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum();
    let square = |values: &[f64], mean: f64| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    product / (square(a, mean_a) * square(b, mean_b)).sqrt()
}

/// A draw from N(0, 1) by Box and Muller's method.
fn normal(chance: &mut Chance) -> f64 {
    let mut uniform = || (f64::from(chance.below(u32::MAX)) + 0.5) / f64::from(u32::MAX);
    let (radius, angle) = (uniform(), uniform());
    (-2.0 * libm::log(radius)).sqrt() * libm::cos(2.0 * std::f64::consts::PI * angle)
}

/// Of this thread: other work on the machine counts in a clock on the wall.
pub(crate) fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

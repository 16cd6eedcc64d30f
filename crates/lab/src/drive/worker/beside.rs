//! What runs beside a journey: loops over connections of their own, begun after one of its steps, ended with it. What
//! goes wrong in one of them goes wrong with the journey. Refuses to know what their requests are for.

use super::flights::Role;
use super::journey::Outcome;
use super::{Key, Stage, Worker};

impl Worker {
    /// Begins what is to run beside a journey from the end of a step on.
    pub(super) fn begin_beside(&mut self, key: Key, step: usize) {
        let calls = self.calls.clone();
        let Some(flight) = self.flights.get(key) else { return };
        for (place, loops) in calls[flight.journey].beside.iter().enumerate() {
            if loops.beside.after == step {
                (0..loops.beside.each.len()).for_each(|number| self.begin_loop(key, place, number));
            }
        }
    }

    fn begin_loop(&mut self, of: Key, place: usize, number: usize) {
        let (calls, now) = (self.calls.clone(), self.at());
        let Some(journey) = self.flights.get(of) else { return };
        let (leg, arrival, route) = (journey.leg, journey.arrival, &calls[journey.journey]);
        let loops = &route.beside[place];
        let carried = loops.carried.iter().map(|name| (name, name));
        let own = loops.beside.each[number].iter().map(|(own, kept)| (own, kept));
        let value = |(name, kept): (&String, &String)| Some((name.clone(), journey.kept.get(kept)?.to_owned()));
        let values: Vec<(String, String)> = carried.chain(own).filter_map(value).collect();
        let number = journey.journey;
        let key = self.flights.add(leg, number, arrival);
        if let Some(flight) = self.flights.get_mut(key) {
            flight.begin(arrival, now, (loops.beside.steps.end, route.repeats.len()));
            (flight.step, flight.role) = (loops.beside.steps.start, Role::Beside { of });
            values.iter().for_each(|(name, value)| flight.kept.keep(name, value));
        }
        if let Some(journey) = self.flights.get_mut(of) {
            journey.beside.push(key);
        }
        self.courses[leg].parts.began(arrival.part);
        self.come_to_step(key, now);
    }

    /// A step of a loop has ended.
    pub(super) fn go_on_beside(&mut self, key: Key, outcome: &Outcome) {
        let next = match outcome {
            Outcome::Ok => self.next_step(key).map_err(Outcome::Failed),
            Outcome::Denied | Outcome::Failed(_) => Err(outcome.clone()),
        };
        let now = self.at();
        let Some(flight) = self.flights.get_mut(key) else { return };
        let Role::Beside { of } = flight.role else { return };
        match next {
            Ok(Some(step)) => {
                flight.step = step;
                return self.come_to_step(key, now);
            }
            Ok(None) => {}
            Err(outcome) => {
                if let Some(journey) = self.flights.get_mut(of) {
                    journey.spoilt.get_or_insert(outcome);
                }
            }
        }
        self.release(key);
    }

    /// Ends what runs beside a journey.
    pub(super) fn end_beside(&mut self, key: Key) {
        while let Some(beside) = self.flights.get_mut(key).and_then(|flight| flight.beside.pop()) {
            self.end_loop(beside);
        }
    }

    /// Ends a loop. An answer that it waits for will never be read, so its connection is closed: that is how users
    /// leave, and nobody's failure.
    pub(super) fn end_loop(&mut self, key: Key) {
        self.flights.disarm(key);
        let Some(flight) = self.flights.get_mut(key) else { return };
        let link = if flight.stage == Stage::Exchanging { flight.link.take() } else { None };
        if let Some(link) = link {
            self.close_link(link);
        }
        self.release(key);
    }
}

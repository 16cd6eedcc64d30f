//! Background loops: they run next to a journey over connections of their own, start after one of its steps and end
//! with it. A failure in one of them fails the journey. Does not know what their requests are for.

use super::Worker;
use super::exchange::StepOutcome;
use super::pacer::Purpose;
use crate::generator::keys::JourneyKey;

impl Worker {
    /// Starts the loops that run from the end of a step on.
    pub(super) fn start_background_loops(&mut self, key: JourneyKey, step: usize) {
        let Some(journey_index) = self.running.get(key).map(|running| running.journey_index) else { return };
        for index in 0..self.journeys[journey_index].spec.background.len() {
            let loops = &self.journeys[journey_index].spec.background[index];
            if loops.after_step == step {
                (0..loops.loop_bindings.len()).for_each(|number| self.start_loop(key, index, number));
            }
        }
    }

    fn start_loop(&mut self, of: JourneyKey, index: usize, number: usize) {
        let now = self.clock.now();
        let Some(journey) = self.running.get(of) else { return };
        let (load_index, journey_index, arrival) = (journey.load_index, journey.journey_index, journey.arrival);
        let prepared = &self.journeys[journey_index];
        let loops = &prepared.spec.background[index];
        let carried = prepared.carried_names[index].iter().map(|name| (name, name));
        let bound = loops.loop_bindings[number].iter().map(|(bound, kept)| (bound, kept));
        let value = |(name, kept): (&String, &String)| Some((name.clone(), journey.kept.get(kept)?.to_owned()));
        let values: Vec<(String, String)> = carried.chain(bound).filter_map(value).collect();
        let key = self.running.add(load_index, journey_index);
        if let Some(running) = self.running.get_mut(key) {
            let steps = loops.steps.clone();
            running.restart(Purpose::Journey, arrival, now, (steps, prepared.spec.repeats.len()));
            running.parent = Some(of);
            values.iter().for_each(|(name, value)| running.kept.insert(name, value));
        }
        if let Some(journey) = self.running.get_mut(of) {
            journey.background.push(key);
        }
        self.pacer.count_started(load_index, arrival.load_step);
        self.enter_step(key, now);
    }

    /// Continues after a step of a loop.
    pub(super) fn continue_loop(&mut self, key: JourneyKey, outcome: &StepOutcome) {
        let next = match outcome {
            StepOutcome::Ok => self.next_step(key).map_err(StepOutcome::Failed),
            StepOutcome::Denied | StepOutcome::Failed(_) => Err(outcome.clone()),
        };
        let Some(running) = self.running.get_mut(key) else { return };
        match next {
            Ok(Some(step)) => {
                running.step = step;
                return self.enter_step(key, self.clock.now());
            }
            Ok(None) => {}
            Err(outcome) => {
                if let Some(journey) = running.parent.and_then(|of| self.running.get_mut(of)) {
                    journey.background_outcome.get_or_insert(outcome);
                }
            }
        }
        self.release(key);
    }

    pub(super) fn stop_background_loops(&mut self, key: JourneyKey) {
        while let Some(background_key) = self.running.get_mut(key).and_then(|running| running.background.pop()) {
            self.stop_loop(background_key);
        }
    }

    /// Ends a loop. A response that it waits for will never be read, so its connection is closed: real users leave that
    /// way, and it is no failure.
    pub(super) fn stop_loop(&mut self, key: JourneyKey) {
        self.running.disarm(key);
        let Some(running) = self.running.get_mut(key) else { return };
        if let Some(connection) = running.take_busy_connection() {
            self.close_connection(connection);
        }
        self.release(key);
    }
}

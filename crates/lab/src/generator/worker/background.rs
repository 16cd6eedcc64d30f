//! Background loops: they run next to a journey over connections of their own, start after one of its steps and end
//! with it. A failure in one of them fails the journey. Does not know what their requests are for.

use super::journey::StepOutcome;
use super::running_journeys::Role;
use super::{SlabKey, StepState, Worker};

impl Worker {
    /// Starts the loops that run from the end of a step on.
    pub(super) fn start_background_loops(&mut self, key: SlabKey, step: usize) {
        let journeys = self.journeys.clone();
        let Some(running) = self.running.get(key) else { return };
        for (index, loops) in journeys[running.journey_index].background.iter().enumerate() {
            if loops.spec.after_step == step {
                (0..loops.spec.loop_bindings.len()).for_each(|number| self.start_loop(key, index, number));
            }
        }
    }

    fn start_loop(&mut self, of: SlabKey, index: usize, number: usize) {
        let (journeys, now) = (self.journeys.clone(), self.plan_time());
        let Some(journey) = self.running.get(of) else { return };
        let (load_index, arrival, prepared_journey) =
            (journey.load_index, journey.arrival, &journeys[journey.journey_index]);
        let loops = &prepared_journey.background[index];
        let carried = loops.carried_names.iter().map(|name| (name, name));
        let bound = loops.spec.loop_bindings[number].iter().map(|(bound, kept)| (bound, kept));
        let value = |(name, kept): (&String, &String)| Some((name.clone(), journey.kept.get(kept)?.to_owned()));
        let values: Vec<(String, String)> = carried.chain(bound).filter_map(value).collect();
        let number = journey.journey_index;
        let key = self.running.add(load_index, number, arrival);
        if let Some(running) = self.running.get_mut(key) {
            running.restart(arrival, now, (loops.spec.steps.end, prepared_journey.repeats.len()));
            (running.step, running.role) = (loops.spec.steps.start, Role::Background { of });
            values.iter().for_each(|(name, value)| running.kept.insert(name, value));
        }
        if let Some(journey) = self.running.get_mut(of) {
            journey.background.push(key);
        }
        self.loads[load_index].load_steps.count_started(arrival.load_step);
        self.enter_step(key, now);
    }

    /// Continues after a step of a loop.
    pub(super) fn continue_loop(&mut self, key: SlabKey, outcome: &StepOutcome) {
        let next = match outcome {
            StepOutcome::Ok => self.next_step(key).map_err(StepOutcome::Failed),
            StepOutcome::Denied | StepOutcome::Failed(_) => Err(outcome.clone()),
        };
        let now = self.plan_time();
        let Some(running) = self.running.get_mut(key) else { return };
        let Role::Background { of } = running.role else { return };
        match next {
            Ok(Some(step)) => {
                running.step = step;
                return self.enter_step(key, now);
            }
            Ok(None) => {}
            Err(outcome) => {
                if let Some(journey) = self.running.get_mut(of) {
                    journey.background_outcome.get_or_insert(outcome);
                }
            }
        }
        self.release(key);
    }

    pub(super) fn stop_background_loops(&mut self, key: SlabKey) {
        while let Some(background_key) = self.running.get_mut(key).and_then(|running| running.background.pop()) {
            self.stop_loop(background_key);
        }
    }

    /// Ends a loop. A response that it waits for will never be read, so its connection is closed: real users leave that
    /// way, and it is no failure.
    pub(super) fn stop_loop(&mut self, key: SlabKey) {
        self.running.disarm(key);
        let Some(running) = self.running.get_mut(key) else { return };
        let connection = if running.step_state == StepState::Exchanging { running.connection.take() } else { None };
        if let Some(connection) = connection {
            self.close_connection(connection);
        }
        self.release(key);
    }
}

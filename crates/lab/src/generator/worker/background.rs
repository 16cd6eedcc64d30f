//! What runs beside a journey: loops over connections of their own, begun after one of its steps, ended with it. What
//! goes wrong in one of them goes wrong with the journey. Refuses to know what their requests are for.

use super::journey::StepOutcome;
use super::running_journeys::Role;
use super::{SlabKey, StepState, Worker};

impl Worker {
    /// Begins what is to run beside a journey from the end of a step on.
    pub(super) fn start_background_loops(&mut self, key: SlabKey, step: usize) {
        let calls = self.journeys.clone();
        let Some(flight) = self.running.get(key) else { return };
        for (place, loops) in calls[flight.journey_index].background.iter().enumerate() {
            if loops.spec.after_step == step {
                (0..loops.spec.loop_bindings.len()).for_each(|number| self.start_loop(key, place, number));
            }
        }
    }

    fn start_loop(&mut self, of: SlabKey, place: usize, number: usize) {
        let (calls, now) = (self.journeys.clone(), self.plan_time());
        let Some(journey) = self.running.get(of) else { return };
        let (leg, arrival, route) = (journey.load_index, journey.arrival, &calls[journey.journey_index]);
        let loops = &route.background[place];
        let carried = loops.carried_names.iter().map(|name| (name, name));
        let own = loops.spec.loop_bindings[number].iter().map(|(own, kept)| (own, kept));
        let value = |(name, kept): (&String, &String)| Some((name.clone(), journey.kept.get(kept)?.to_owned()));
        let values: Vec<(String, String)> = carried.chain(own).filter_map(value).collect();
        let number = journey.journey_index;
        let key = self.running.add(leg, number, arrival);
        if let Some(flight) = self.running.get_mut(key) {
            flight.restart(arrival, now, (loops.spec.steps.end, route.repeats.len()));
            (flight.step, flight.role) = (loops.spec.steps.start, Role::Background { of });
            values.iter().for_each(|(name, value)| flight.kept.insert(name, value));
        }
        if let Some(journey) = self.running.get_mut(of) {
            journey.background.push(key);
        }
        self.loads[leg].load_steps.count_started(arrival.load_step);
        self.enter_step(key, now);
    }

    /// A step of a loop has ended.
    pub(super) fn continue_loop(&mut self, key: SlabKey, outcome: &StepOutcome) {
        let next = match outcome {
            StepOutcome::Ok => self.next_step(key).map_err(StepOutcome::Failed),
            StepOutcome::Denied | StepOutcome::Failed(_) => Err(outcome.clone()),
        };
        let now = self.plan_time();
        let Some(flight) = self.running.get_mut(key) else { return };
        let Role::Background { of } = flight.role else { return };
        match next {
            Ok(Some(step)) => {
                flight.step = step;
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

    /// Ends what runs beside a journey.
    pub(super) fn stop_background_loops(&mut self, key: SlabKey) {
        while let Some(beside) = self.running.get_mut(key).and_then(|flight| flight.background.pop()) {
            self.stop_loop(beside);
        }
    }

    /// Ends a loop. An answer that it waits for will never be read, so its connection is closed: that is how users
    /// leave, and nobody's failure.
    pub(super) fn stop_loop(&mut self, key: SlabKey) {
        self.running.disarm(key);
        let Some(flight) = self.running.get_mut(key) else { return };
        let link = if flight.step_state == StepState::Exchanging { flight.connection.take() } else { None };
        if let Some(link) = link {
            self.close_connection(link);
        }
        self.release(key);
    }
}

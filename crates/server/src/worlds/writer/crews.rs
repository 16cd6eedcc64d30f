//! Crews of actors as a writer sees them: answers with a crew's number in their tag go to its desk, in batches.

use crate::worlds::actors::desk::{Desk, Word};
use crate::worlds::outlet::Ending;
use engine::worlds::Answer;
use std::sync::Arc;

/// Bits of a tag below the crew's number.
const CREW_SHIFT: u32 = 48;

/// The tag of an actor's inputs. Tags of connections lie below 2^48: those of no crew.
pub(in crate::worlds) fn tag(crew: u16, actor: u32) -> u64 {
    u64::from(crew) << CREW_SHIFT | u64::from(actor)
}

/// Which actor an answer is for.
pub(in crate::worlds) fn actor_of(tag: u64) -> u32 {
    tag as u32
}

#[derive(Default)]
pub(super) struct Crews {
    /// By number, from 1.
    crews: Vec<Option<Crew>>,
}

struct Crew {
    desk: Arc<Desk>,
    answers: Vec<Answer>,
}

impl Crews {
    /// Whether no crew is here.
    pub(super) fn is_empty(&self) -> bool {
        self.crews.iter().all(Option::is_none)
    }

    /// Lets a crew sit down.
    pub(super) fn seat(&mut self, desk: Arc<Desk>) {
        let at = self.crews.iter().position(Option::is_none).unwrap_or(self.crews.len());
        let Ok(number) = u16::try_from(at + 1) else {
            let _ = desk.tray.order(Word::Ended(Ending::Gone));
            return;
        };
        if at == self.crews.len() {
            self.crews.push(None);
        }
        if desk.tray.order(Word::Seated(number)).is_ok() {
            self.crews[at] = Some(Crew { desk, answers: Vec::new() });
        }
    }

    /// Takes an answer if it is a crew's.
    pub(super) fn answer(&mut self, answer: &Answer) -> bool {
        let number = (answer.tag >> CREW_SHIFT) as usize;
        if number == 0 {
            return false;
        }
        if let Some(Some(crew)) = self.crews.get_mut(number - 1) {
            crew.answers.push(*answer);
        }
        true
    }

    /// Tells a crew something. Whether it is there.
    pub(super) fn tell(&mut self, number: u16, word: Word) -> bool {
        let crew = usize::from(number).checked_sub(1).and_then(|at| self.crews.get(at)?.as_ref());
        crew.is_some_and(|crew| crew.desk.tray.order(word).is_ok())
    }

    /// Hands over what was answered. A crew that is gone leaves its place.
    pub(super) fn flush(&mut self) {
        for place in &mut self.crews {
            if let Some(crew) = place
                && !crew.answers.is_empty()
                && crew.desk.tray.put(&mut crew.answers).is_err()
            {
                *place = None;
            }
        }
    }

    /// Forgets crews that are gone.
    pub(super) fn sweep(&mut self) {
        for place in &mut self.crews {
            if place.as_ref().is_some_and(|crew| crew.desk.tray.is_closed()) {
                *place = None;
            }
        }
    }

    /// All crews are told that it is over.
    pub(super) fn end(&mut self, why: Ending) {
        self.flush();
        for crew in self.crews.drain(..).flatten() {
            let _ = crew.desk.tray.order(Word::Ended(why));
        }
    }
}

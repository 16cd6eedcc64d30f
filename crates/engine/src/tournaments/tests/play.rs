//! Plays tournaments: keeps their logs, and lets a rule decide each game.

use super::*;

/// A tournament with its log.
pub(super) struct Player {
    pub(super) tournament: Tournament,
    pub(super) log: Vec<LogEntry>,
    pub(super) matches: u128,
}

impl Player {
    pub(super) fn new(definition: Definition) -> Self {
        Self { tournament: Tournament::new(definition), log: Vec::new(), matches: 0 }
    }

    #[track_caller]
    pub(super) fn happen(&mut self, event: Event) {
        let entry = entry(event);
        self.tournament.apply(&entry).unwrap();
        self.log.push(entry);
    }

    /// Nothing may have changed by what is refused.
    #[track_caller]
    pub(super) fn refused(&mut self, event: Event, want: Refusal) {
        let before = self.tournament.clone();
        assert_eq!(self.tournament.apply(&entry(event)), Err(want));
        assert_eq!(self.tournament, before);
    }

    #[track_caller]
    pub(super) fn start(&mut self) {
        self.happen(Event::Started { seeds: self.tournament.seeds(&[]) });
    }

    /// Puts all games that are due into the queue.
    #[track_caller]
    pub(super) fn queue(&mut self) {
        while let Some(event) = self.tournament.next_round() {
            self.happen(event);
        }
        for order in self.tournament.next_games() {
            self.matches += 1;
            let GameOrder { pairing, seats, .. } = order;
            self.happen(Event::GameCreated { pairing, match_id: match_id(self.matches), seats });
        }
    }

    /// The queued game with the lowest number, if there is one.
    pub(super) fn open_game(&self) -> Option<(u32, Game)> {
        self.tournament
            .open_games()
            .map(|(pairing, game)| (pairing, game.clone()))
            .min_by_key(|(_, game)| game.match_id)
    }

    /// Plays to the end; `end` decides each game by its seats.
    #[track_caller]
    pub(super) fn play(&mut self, mut end: impl FnMut(&[u16]) -> GameEnd) {
        loop {
            self.queue();
            let Some((pairing, Game { match_id, seats, .. })) = self.open_game() else { return };
            self.happen(match end(&seats) {
                GameEnd::Played(score) => Event::GamePlayed { pairing, match_id, score },
                GameEnd::Void(reason) => Event::GameVoid { pairing, match_id, reason },
            });
        }
    }

    /// Plays to the end; the lower number always wins.
    #[track_caller]
    pub(super) fn play_by_number(&mut self) {
        self.play(|seats| GameEnd::Played(by_number(seats)));
    }

    /// Every pairing of a stage as text: round, who met, and who won.
    pub(super) fn pairings(&self, stage: PairingStage) -> Vec<String> {
        let of_stage = self.tournament.pairings().iter().filter(|pairing| pairing.stage == stage);
        of_stage.map(pairing_text).collect()
    }
}

/// The lower the number, the better the place.
pub(super) fn by_number(seats: &[u16]) -> GameScore {
    let place = |own: &u16| 1 + seats.iter().filter(|other| *other < own).count() as u8;
    score(&seats.iter().map(place).collect::<Vec<_>>())
}

/// Seeds from 1, as brackets are written; `-` where no entrant comes.
fn pairing_text(pairing: &Pairing) -> String {
    let name = |player: &Occupant| match player {
        Occupant::Entrant(entrant) => (entrant + 1).to_string(),
        Occupant::Nobody => "-".to_owned(),
        Occupant::Open => "?".to_owned(),
    };
    let players: Vec<_> = pairing.players.iter().map(name).collect();
    let winner = pairing.winner().map_or("-".to_owned(), |winner| (winner + 1).to_string());
    format!("{}: {} > {winner}", pairing.round, players.join(" v "))
}

// What the pages of tournaments say in words: formats, rounds, why a pairing ended as it did, what has happened. English; pure.
import type { TournamentDetails, TournamentEvent, TournamentFormat, TournamentGame, TournamentPairing, TournamentSummary } from '../../api/client.ts';
import { count, ordinal, type Standing } from '../words.ts';

export const FORMATS: readonly (readonly [name: string, text: string, explained: string])[] = [
  ['single_elimination', 'Single elimination', 'One defeat is the end.'],
  ['double_elimination', 'Double elimination', 'Two defeats are the end: who loses once goes on in the losers’ bracket.'],
  ['swiss', 'Swiss', 'Everyone plays every round, against others with about as many points.'],
  ['round_robin', 'Round robin', 'Everyone plays everyone once. 64 bots at most.'],
  ['groups', 'Groups, then a bracket', 'Round robins in groups; the best of each play a single elimination.'],
  ['heats', 'Heats', 'Games of more than two. The best of each heat meet again, until one heat is left.'],
];

export function formatText(format: TournamentFormat): string {
  const name = FORMATS.find(([name]) => name === format.type)?.[1] ?? format.type;
  const facts: string[] = [];
  if (format.third_place) facts.push('with a match for the third place');
  if (format.type === 'double_elimination' && format.final_reset !== false) facts.push('the unbeaten must lose the final twice');
  if (format.rounds) facts.push(count(format.rounds, 'round'));
  if (format.groups) facts.push(count(format.groups, 'group'));
  if (format.size) facts.push(`${format.size} in a heat`);
  if (format.advance) facts.push(`the best ${format.advance === 1 ? 'one' : format.advance} of each ${format.type === 'heats' ? 'heat' : 'group'} go${format.advance === 1 ? 'es' : ''} on`);
  return [name, ...facts].join(', ');
}

export function standingOf({ status }: Pick<TournamentSummary, 'status'>): Standing {
  switch (status) {
    case 'scheduled':
      return { kind: 'open', text: 'Entries open' };
    case 'running':
      return { kind: 'live', text: 'Playing' };
    case 'finished':
      return { kind: 'over', text: 'Finished' };
    default:
      return { kind: 'over', text: status === 'cancelled' ? 'Called off' : status };
  }
}

/** Games of a pairing, and what decides it after them. */
export function rulesFacts({ best_of, replays_max, tie_breaks, seeding, games_at_once }: TournamentDetails['rules']): readonly string[] {
  const first = best_of === 1 ? 'one game decides' : `best of ${best_of}`;
  const draws = replays_max === 0 ? 'draws are not played again' : `up to ${count(replays_max, 'drawn game')} played again`;
  const then = `then ${tie_breaks.map((rule) => TIE_BREAKS[rule] ?? rule).join(', then ')}`;
  return [first, draws, then, `seeded ${SEEDINGS[seeding] ?? seeding}`, `${count(games_at_once, 'game')} at once`];
}

const TIE_BREAKS: Readonly<Record<string, string>> = { food: 'more food eaten', seed: 'the better seed', lot: 'a lot' };
const SEEDINGS: Readonly<Record<string, string>> = { random: 'by lot', manual: 'by the organizer', ladder: 'by a ladder' };

/** A part of a bracket. */
export function sectionTitle(section: string, isDouble: boolean): string {
  if (section === 'losers') return 'Losers’ bracket';
  if (section === 'final') return 'Final';
  return isDouble ? 'Winners’ bracket' : 'Bracket';
}

/** What a round is called, of so many in its part. */
export function roundTitle({ stage, round }: Pick<TournamentPairing, 'stage' | 'round'>, rounds: number, isDouble: boolean): string {
  switch (stage) {
    case 'winners':
      if (isDouble) return round === rounds ? 'Winners’ final' : `Winners’ round ${round}`;
      return ['Final', 'Semifinals', 'Quarterfinals'][rounds - round] ?? `Round ${round}`;
    case 'losers':
      return round === rounds ? 'Losers’ final' : `Losers’ round ${round}`;
    case 'third_place':
      return 'Third place';
    case 'grand_final':
      return 'Grand final';
    case 'final_reset':
      return 'Second final';
    case 'group':
      return `Groups, round ${round}`;
    case 'heat':
      return `Heats, round ${round}`;
    default:
      return `Round ${round}`;
  }
}

/** Groups have letters. */
export function groupName(group: number): string {
  const letter = String.fromCharCode(65 + (group % 26));
  return `Group ${group < 26 ? letter : `${String.fromCharCode(64 + Math.floor(group / 26))}${letter}`}`;
}

type Named = Pick<TournamentDetails, 'entrants' | 'pairings'>;

export const nameOf = ({ entrants }: Pick<TournamentDetails, 'entrants'>, entrant: number | null | undefined): string | null =>
  typeof entrant === 'number' ? (entrants[entrant]?.snake_name ?? null) : null;

/** Who takes this place, or where the entrant that takes it comes from. */
export function playerText(named: Named, player: TournamentPairing['players'][number]): string {
  const name = nameOf(named, player.entrant);
  if (name !== null) return name;
  if (player.is_bye) return 'Nobody';
  if (typeof player.winner_of === 'number') return `Winner of ${pairingName(named, player.winner_of)}`;
  if (typeof player.loser_of === 'number') return `Loser of ${pairingName(named, player.loser_of)}`;
  return 'Not known yet';
}

/** How texts name a pairing. */
export const pairingNumber = (number: number) => `match ${number + 1}`;

function pairingName(named: Named, number: number): string {
  const names = (named.pairings[number]?.players ?? []).map(({ entrant }) => nameOf(named, entrant));
  return names.length > 0 && names.every((name) => name !== null) ? `${names.join(' – ')}` : pairingNumber(number);
}

/** How a pairing stands, or why it ended as it did. */
export function pairingText(named: Named, pairing: TournamentPairing): string {
  const winner = nameOf(named, pairing.winner);
  switch (pairing.decision) {
    case 'games':
      return pairing.players.length > 2 ? `${winner} was the best of the heat.` : `${winner} won more games.`;
    case 'tie_break_food':
      return `As many games won on both sides: ${winner} ate more in them.`;
    case 'tie_break_seed':
      return `Equal in games: ${winner} has the better seed.`;
    case 'tie_break_lot':
      return `Equal in games: ${winner} was drawn by lot, out of the tournament’s own seed.`;
    case 'walkover':
      return `${winner} went on by walkover: the other side had left, or was not there.`;
    case 'double_walkover':
      return 'Nobody goes on: no side was there, or all had left.';
    case 'bye':
      return `${winner ?? 'Whoever comes'} had a bye: no opponent in this round.`;
    case 'empty':
      return 'Nobody came up to here.';
    case 'not_needed':
      return 'Not needed: the one without a defeat won the first final.';
  }
  if (pairing.status === 'running') return 'Being played.';
  if (pairing.status === 'queued') return 'Waits in the queue.';
  if (pairing.status === 'ready') return 'Its first game is about to be put into the queue.';
  const absent = pairing.players.some(({ entrant }) => typeof entrant === 'number' && named.entrants[entrant]?.absent_since);
  return absent ? 'Waits for a bot that does not answer.' : 'Waits for other matches.';
}

const VOIDS: Readonly<Record<string, string>> = {
  failed: 'the game failed',
  cancelled: 'it was cancelled',
  server_fault: 'this server failed to call a bot',
  late: 'it never began',
};

/** How a game of a pairing ended. */
export function gameText(named: Named, game: TournamentGame, isAdjudicated: boolean): string {
  if (game.status === 'running') return 'Being played';
  if (game.status === 'queued') return 'In the queue';
  if (game.status === 'void') return `Does not count: ${VOIDS[game.void ?? ''] ?? game.void ?? 'void'}`;
  const first = game.seats.filter((_, seat) => game.places?.[seat] === 1).map((entrant) => nameOf(named, entrant) ?? '?');
  const result = first.length === 1 ? `${first[0]} won` : first.length === game.seats.length ? 'Drawn' : `${first.join(' and ')} shared the first place`;
  return isAdjudicated ? `${result}, by the board: it was not over at its deadline` : result;
}

const LEFT: Readonly<Record<string, string>> = {
  owner: 'withdrawn by its owner',
  organizer: 'taken out by the organizer',
  bot_deleted: 'deleted by its owner',
  bot_private: 'made private by its owner',
  bot_absent: 'gone: it did not answer when it should play',
};

/** Why an entrant left. */
export const leftText = (reason: string) => LEFT[reason] ?? reason;

const CANCELLED: Readonly<Record<string, string>> = {
  organizer: 'It was called off by its organizer.',
  too_few_entrants: 'It was called off: too few bots had entered when it was to start.',
  not_playable: 'It was called off: what it was to play can no longer be played.',
};

export const cancelText = (reason: string | null | undefined) => CANCELLED[reason ?? ''] ?? 'It was called off.';

/** What happened, as a sentence. */
export function eventText(named: Named, event: TournamentEvent): string {
  const bot = named.entrants.find(({ snake_id }) => snake_id === event.snake_id)?.snake_name ?? 'A bot';
  const pairing = typeof event.pairing === 'number' ? pairingName(named, event.pairing) : 'a match';
  const game = named.pairings[event.pairing ?? -1]?.games.find(({ id }) => id === event.game_id);
  const result = game ? `: ${gameText(named, { ...game, status: 'played', places: event.places ?? game.places ?? [] }, false)}` : '';
  switch (event.type) {
    case 'invited':
      return 'An account was invited.';
    case 'entered':
      return `${bot} entered.`;
    case 'withdrawn':
      return `${bot} left: ${leftText(event.reason ?? '')}. What it had not played is lost; its opponents go on by walkover.`;
    case 'absent':
      return `${bot} does not answer: its games wait.`;
    case 'returned':
      return `${bot} answers again, and plays.`;
    case 'seeds_set':
      return 'The organizer set the seeds.';
    case 'started':
      return 'The tournament started.';
    case 'round_paired':
      return 'A round was paired.';
    case 'game_created':
      return `A game of ${pairing} was put into the queue.`;
    case 'game_started':
      return `A game of ${pairing} began.`;
    case 'game_played':
      return `A game of ${pairing} ended${result}.`;
    case 'game_adjudicated':
      return `A game of ${pairing} had not ended at its deadline, and was decided by its board${result}.`;
    case 'game_void':
      return `A game of ${pairing} does not count, and is played again: ${VOIDS[event.reason ?? ''] ?? event.reason ?? 'void'}.`;
    case 'cancelled':
      return cancelText(event.reason);
    case 'ended':
      return event.end?.champion_name ? `The tournament is over: ${event.end.champion_name} has won.` : 'The tournament is over. Nobody has won.';
    default:
      return event.type;
  }
}

/** The place in the standings, those who share it included. */
export const placeText = (place: number | null) => (place === null ? '–' : ordinal(place));
